"""What `audit`, `replay`, `list` and `demo` do, apart from reading their options and printing.

`audit --attacker clock` says whether running time tells two databases apart. The draws of an audit
that ended before its verdict are kept as a file that `judge` takes.
"""

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from ...auditors.asked import Budget, require
from ...auditors.claims.check import check_within, claims_beside
from ...auditors.claims.claim_results import ClaimCheck
from ...auditors.claims.follows_law import contradicted
from ...auditors.databases.distance import HISTOGRAMS, require_neighbours
from ...auditors.errors import EvidenceFormatError, InvalidArgument
from ...auditors.evidence.conversion import read_claim, revived
from ...auditors.evidence.record import ResultRecord
from ...auditors.looking import is_a
from ...auditors.outputs.decoding import from_json
from ...auditors.privacy import request, run
from ...auditors.privacy.replay import Replay
from ...auditors.privacy.request import require_one
from ...auditors.results.results import AuditResult, Verdict
from ...auditors.sampling.kept import KeptDraws
from ...auditors.shards import running
from ...mechanisms.catalogue import DEMO
from ...mechanisms.model import Mechanism, Pair, PrivacyClaim, Subject
from ..adapters.marked import named_by
from ..faces import wording
from ..formats import table
from ..formats.plain import plain, tell
from ..record import reading
from ..record.reading import renyi_from
from ..sharding import pieces
from ..sharding.options import engine_of
from ..shell.computed import FAILED, INCONCLUSIVE, REFUTED, UNUSABLE
from ..shell.console import Console
from ..targets import targets, trust
from ..writing import files
from ..writing.terminal import printable, wrapped
from . import listing
from .delivering import Audited, deliver, status_of
from .replaying import (
    ClaimReplay,
    claims_of,
    claims_replayed,
    made_by_this_version,
    replayed,
    unread,
)

MOST_TIMED = 20_000
"""Draws a side that a clock times by default: a call is timed alone, which takes
longer than sampling."""
LONGEST = 40
"""Characters of a mechanism's name in the name of the file of its draws."""
SUFFIX = ".jsonl"
LEAKS = {
    "bits": "It may hold in real arithmetic and leaks through the bits of its floating-point "
    "outputs",
    "types": "It leaks through the Python types of its outputs: return one type, as float(x) does",
}

Request = dict[str, Any]
"""Options of an audit, as keywords: each was given the type that `ASKED` declares when it was
typed, or read from a file and checked."""


def audit(
    console: Console,
    target: str,
    options: Mapping[str, object],
    *,
    paths: Mapping[str, str | None],
    github: bool = False,
    book: running.Opening | None = None,
) -> int:
    """Audit the target, write the files asked for, tell the result; the exit status.

    `options` are those of `audit_claims` as typed: `databases` still a name, `pair` still two
    JSON texts. `paths` are the files to write, by format. `book` has the blocks that were counted
    before, where there are any.
    """
    given: Request = {key: value for key, value in options.items() if value not in (None, ())}
    checkpoint, shard = given.pop("checkpoint", None), given.pop("shard", None)
    if "notice" in given and (shard is not None or checkpoint or book):
        raise InvalidArgument(
            "what is drawn in pieces needs its trials as a number; dpwitness tools plan tells it"
        )
    if {"notice", "trials"} <= given.keys():
        raise InvalidArgument("--notice says how many trials there are; give it or --trials")
    part = pieces.shard_for(shard, paths) if shard is not None else None
    explain = given.pop("explain", None)
    # A page of a refuted claim tells the cause by itself.
    cause = {"explain": explain} if explain or paths.get("html") else {}
    table.require_places(paths)
    where = engine_of(given)
    texts = named_by(target, Path.cwd())
    Budget(alpha=given.get("alpha", 1e-3))  # before it is shared out, so that it is named as given
    if len(texts) > 1:
        if part or checkpoint or book:
            raise InvalidArgument(
                f"{target} has {len(texts)} marked functions, and a shard or checkpoint is of one; "
                f"name it, as in {texts[0]}"
            )
        # One alpha covers everything that one command may say.
        given["alpha"] = given.get("alpha", 1e-3) / len(texts)
    statuses: list[int] = []
    audited: list[Audited] = []
    for number, text in enumerate(texts):
        found, engine = asked(text, given)
        if part or checkpoint or book:
            pieces.require_one_attacker(engine.get("attackers", ()))
        rerun, json_path = _command(text, given), table.evidence_file(paths)
        replay = rerun if json_path is None else targets.replay_command(json_path, text)
        attackers, others = shared_out(found, engine)
        results: list[AuditResult] = []
        for place, attacker in enumerate(attackers):
            if "seconds" in given:
                require(seconds=given["seconds"])
                parts = (len(texts) - number) * len(attackers) - place
                engine["seconds"] = console.left_of(given["seconds"], parts)
            if attacker == "clock":
                statuses.append(tell_times(console, found, engine))
                continue
            seen = targets.seen_by(attacker, found)
            request = {**engine, **cause, "target": seen.text, "name": seen.name}
            if where is not None:
                request["engine"] = where
            if part is not None:
                return pieces.draw(
                    console, part, seen.mechanism, request, given=given, target=text,
                    path=str(paths["json"]), checkpoint=checkpoint,
                )  # fmt: skip
            told = {**request, "news": console.news, "kept": partial(keep_draws, console)}
            opening = book or (pieces.opening(console, checkpoint) if checkpoint else None)
            if opening is not None:
                results += running.audit_in(
                    opening, seen.mechanism, progress=console.progress, **told
                )
            else:
                results += run.audit_claims(seen.mechanism, progress=console.progress, **told)
        budget = Budget(**{k: engine[k] for k in ("alpha", "trials", "seed") if k in engine})
        beside = tuple(
            ClaimCheck(
                mechanism=found.name,
                target=found.text,
                budget=budget,
                result=check_within(budget, one),
            )
            for one in others
        )
        if results or beside:
            audited.append(Audited(tuple(results), beside, replay, rerun))
        every = given.get("claims", "all") == "all" and "values" in attackers
        if every and is_a(found.mechanism, Mechanism):
            seed = engine.get("seed", 0)
            wrong = contradicted(found.mechanism, trials=budget.trials, seed=seed)
            if wrong:
                console.warn(wrong)
                statuses.append(FAILED)
    if audited:
        statuses.append(deliver(console, audited, paths=paths, github=github))
    for one in audited:
        if console.width and (remark := _leak(one.results)):
            console.say("\n" + "\n".join(wrapped(remark, console.width)))
    return next((one for one in (UNUSABLE, REFUTED, FAILED, INCONCLUSIVE) if one in statuses), 0)


def shared_out(
    found: targets.Target, engine: Request
) -> tuple[tuple[str, ...], tuple[Subject, ...]]:
    """Who looks, and the claims beside privacy; `engine` is left with the share of one of them.

    One alpha covers everything that one command may say.
    """
    attackers = tuple(dict.fromkeys(engine.pop("attackers", ()) or ("values",)))
    # What another attacker sees is a matter of privacy alone.
    every = engine.pop("claims", "all") == "all" and "values" in attackers
    carried = found.mechanism if is_a(found.mechanism, Mechanism) else None
    others = claims_beside(carried) if every and carried is not None else ()
    if (
        others
        and not engine.keys() & {"epsilon", "mu", "rho", "renyi", "curve"}
        and carried is not None
        and len(others) == len(carried.claims)
    ):
        attackers = ()  # it claims no privacy
    parts = len(attackers) + len(others)
    if parts > 1:
        engine["alpha"] = engine.get("alpha", 1e-3) / parts
    return attackers, others


def asked(target: str, given: Request) -> tuple[targets.Target, Request]:
    """What the target names, and what was typed as `audit_claims` takes it."""
    found = targets.find_target(target, given.get("timeout", 10.0))
    require_one(given.get("pair"), given.get("databases"))
    engine = dict(given)
    if "databases" in given:
        engine["databases"] = targets.find_databases(given["databases"])
    if "pair" in given:
        one, two = given["pair"]
        engine["pair"] = (database_of(one, "first"), database_of(two, "second"))
    if given.get("precision") == "none":
        engine["precision"] = None
    if "renyi" in given:
        engine["renyi"] = renyi_from(given["renyi"])
    if "curve" in given:
        engine["curve"] = targets.find_curve(given["curve"])
    return found, engine


def _leak(results: Sequence[AuditResult]) -> str:
    """What attackers say together, where they differ."""
    seen = [(targets.attacked(result.target)[0], result.refuted) for result in results]
    broken = {attacker for attacker, refuted in seen if refuted}
    if "" in broken or "" not in dict(seen):
        return ""
    found = [words for attacker, words in LEAKS.items() if attacker in broken]
    said = "No violation found in its values"
    return ". ".join([said, *found]) + "." if found else ""


def database_of(text: str, which: str) -> object:
    """A database of --pair from its JSON text; InvalidArgument says what is wrong with it."""
    label = f"the {which} database of --pair"
    try:
        return from_json(reading.parse_json(text, label, reading.LONGEST))
    except EvidenceFormatError as error:
        hint = ""
        if "is not JSON" in str(error):
            hint = f" (it is {text!r:.60}); write lists as [1, 2], texts as '\"yes\"', and true, "
            hint += "false, null"
            if set(text) & set("“”„‘’"):
                hint += ', with the straight quotes " and not typographic ones'
            elif text.endswith((".json", ".csv")):
                hint += "; --pair takes the databases themselves and no file"
        raise InvalidArgument(f"{error}{hint}") from None


def _command(target: str, given: Request) -> str:
    words = ["dpwitness", "audit", *targets.words_of(target)]
    for key, value in given.items():
        if key == "attackers":
            words += [word for attacker in value for word in ("--attacker", attacker)]
        elif key == "renyi":
            words += [word for one in value for word in ("--renyi", one)]
        elif key == "seeded":
            words.append("--unseeded")
        elif key == "exact":
            words.append("--exact" if value else "--no-exact")
        elif key in ("show_output", "histogram", "trust_rows", "in_process"):
            words.append(f"--{key.replace('_', '-')}")
        else:
            values = value if key == "pair" else (value,)
            words += [f"--{key}", *(v if isinstance(v, str) else f"{v!r}" for v in values)]
    return shlex.join(words)


def replay(
    console: Console,
    path: str,
    *,
    named: Sequence[str] = (),
    workers: int,
    timeout: float,
    program: str | None = None,
    ask: Callable[[str], bool] | None = None,
) -> int:
    """Count again what an evidence file records and say whether it is the same.

    `named` are the targets, `program` the command or the interpreter that the user allows to be
    run; `ask` puts a question where there is somebody to answer it.
    """
    require(workers=workers, timeout=timeout)
    verdicts, differs = [], False
    if named and ":" in path and not os.path.isfile(path) and os.path.isfile(named[0]):
        raise InvalidArgument(f"the evidence comes first: dpwitness replay {named[0]} {path}")
    data = reading.load_document(path)
    records, claims = reading.entries_of(data, repr(path)), claims_of(data)
    recorded = [str(one["target"]) for one in (*records, *claims)]
    trust.require_named(named, recorded, program, path)
    ran: list[str] = []

    def run(target: str) -> None:
        console.warn(f"running {target}")
        ran.append(target)

    for record, outcome in replayed(
        records,
        workers=workers,
        timeout=timeout,
        tell=run,
        named=named,
        program=program,
        ask=ask,
        path=path,
        findings=data.get("findings"),
        whole=made_by_this_version(data),
    ):
        lines = _replayed(record, outcome, console.width, detail=console.verbose)
        console.say(_headed(lines) if console.quiet else "\n".join(lines))
        verdicts.append(outcome.verdict)
        differs = differs or not outcome.same
    if left := len(records) - len(verdicts):
        console.warn(f"{left} of {len(records)} results are of targets not named; left out")
    for again in claims_replayed(
        claims, told=data.get("claim_findings"), whole=made_by_this_version(data),
        warn=console.warn, ran=ran, named=named,
        program=program, ask=ask, path=path, timeout=timeout,
    ):  # fmt: skip
        lines = _claim_replayed(again, console.width)
        console.say(_headed(lines) if console.quiet else "\n".join(lines))
        verdicts.append(again.verdict)
        differs = differs or bool(again.differences)
    if not verdicts:
        raise InvalidArgument(
            f"nothing of {path!r} was counted again, so nothing was compared; name a target of it, "
            "or replay it with the versions that wrote it"
        )
    if sentence := unread(data):
        console.say("\n".join(wrapped(printable(sentence), console.width)))
    return FAILED if differs else status_of(verdicts)


def _headed(lines: Sequence[str]) -> str:
    """The first sentence of what was found."""
    return " ".join(" ".join(lines).split()).partition(". ")[0].rstrip(".") + "."


def _replayed(record: ResultRecord, outcome: Replay, width: int, *, detail: bool) -> list[str]:
    name = printable(record["mechanism"])
    claim = wording.claim_phrase(read_claim(record["claim"]))
    word = wording.verdict_word(outcome.verdict)
    subject = printable(f"{word}: {name}, {claim}.")
    confidence = f"alpha {float(record['evidence']['alpha']):.3g}"
    believed = (
        wrapped(f"Not compared: {', '.join(outcome.believed)}.", width, "  ", "  ")
        if detail
        else []
    )
    if outcome.same and not outcome.seeded:
        new, old = outcome.counts[-1].hits, revived(record).evidence.counts[-1].hits
        return wrapped(
            f"{subject} The experiment was repeated with new randomness, because the mechanism is "
            f"not seeded: in the last count {new[0]:,} and {new[1]:,} hits, recorded {old[0]:,} "
            f"and {old[1]:,}; {confidence}.",
            width,
        ) + believed  # fmt: skip
    if outcome.same:
        draws = sum(sum(count.trials) for count in outcome.counts)
        return wrapped(
            f"{subject} The same counts, bit for bit, over {draws:,} runs, and the same "
            f"bounds; {confidence}.",
            width,
        ) + believed  # fmt: skip
    lines = wrapped(f"Differs from the record: {name}, {claim}.", width)
    # Another mechanism or another version of its code is why the counts differ: it comes first.
    reasons = [one for one in outcome.differences if one.startswith(("mechanism:", "source:"))]
    others = [one for one in outcome.differences if one not in reasons]
    for difference in (*reasons, *(others[:1] if reasons and not detail else others)):
        lines += wrapped(printable(difference), width, "    ", "  - ")
    if reasons and others[1:] and not detail:
        lines.append(f"  and {len(others) - 1} more that follow from it (-v has all)")
    return lines


def _claim_replayed(again: ClaimReplay, width: int) -> list[str]:
    name = printable(f"{again.record['mechanism']}, {again.record['identifier']}")
    if not again.differences:
        word = wording.verdict_word(again.verdict)
        return wrapped(
            f"{word}: {name} ({again.record['kind']}). The same finding, made again.", width
        )
    lines = wrapped(f"Differs from the record: {name}.", width)
    for difference in again.differences:
        lines += wrapped(printable(difference), width, "    ", "  - ")
    return lines


def catalogue(
    console: Console,
    words: Sequence[str],
    *,
    kind: str | None,
    system: str | None,
    everything: bool,
    paths: Mapping[str, str | None],
) -> int:
    """List what can be audited by name, every theorem and what is broken on purpose."""
    table.require_places(paths)
    filtered = bool(words) or kind is not None or system is not None
    chosen = listing.select(words, kind=kind, system=system) if filtered else listing.EVERYTHING
    whole = filtered or everything
    text = (
        listing.render(console.width, chosen, detail=console.verbose)
        if whole
        else listing.overview(console.width)
    )
    return tell(console, paths, plain("list", text, listing.as_data(chosen)), text)


def demo(console: Console) -> int:
    """Audit one sound and one broken mechanism and write dpwitness-demo.html and .json."""
    json_path, html_path = "dpwitness-demo.json", "dpwitness-demo.html"
    paths = {"json": json_path, "html": html_path}
    table.require_places(paths)
    results: list[AuditResult] = []
    for name in DEMO:
        mechanism = targets.find_target(name).mechanism
        # One claim of each: who sees this for the first time reads two reports and not four.
        claim = next(claim for claim in mechanism.claims if isinstance(claim, PrivacyClaim))
        mechanism = replace(mechanism, claims=(claim,))
        console.warn(f"auditing {name} ({wording.claim_phrase(claim)}) ...")
        results += run.audit_claims(mechanism, progress=console.progress, target=name, explain=None)
    found = Audited(tuple(results), (), targets.replay_command(json_path), "dpwitness demo")
    status = deliver(console, [found], paths=paths)
    if status == UNUSABLE:
        return status
    console.say(f"\nThe report is {html_path}; the evidence is {json_path}.")
    verdicts = [result.verdict for result in results]
    expected = verdicts == [Verdict.NOT_REFUTED, Verdict.REFUTED]
    if not expected:
        console.warn("the demo did not go as it should: the first is sound, the second is broken")
    return 0 if expected else FAILED


def tell_times(console: Console, found: targets.Target, engine: Request) -> int:
    """Time the mechanism on the one pair given and tell each claim's verdict; the exit status."""
    from ...auditors.recorded.clock import judge_times

    if "pair" not in engine:
        raise InvalidArgument(
            "the clock times two databases and searches for none; give them with --pair"
        )
    pair = Pair(*engine["pair"])
    subject = request.subject(found.mechanism, found.name, found.text, engine.get("seeded"))
    epsilon, delta = engine.get("epsilon"), engine.get("delta")
    relation, distance = engine.get("relation"), engine.get("distance")
    domain = HISTOGRAMS if engine.get("histogram") else subject.databases
    claims = request.claims(subject, epsilon, delta, relation, distance, pair, domain=domain)
    for claim in claims:
        require_neighbours(pair, claim.relation, claim.distance, domain)
    statuses = []
    for claim in claims:
        timed = judge_times(
            subject.run,
            pair,
            epsilon=claim.epsilon,
            delta=claim.delta,
            distance=claim.steps,
            trials=min(engine.get("trials", MOST_TIMED), MOST_TIMED),
            alpha=engine.get("alpha", 1e-3) / len(claims),
            seed=engine.get("seed", 0),
            limit=engine.get("timeout", 10.0),
            seeded=subject.seeded,
        )
        name, phrase = printable(subject.name), wording.claim_phrase(claim)
        count = timed.judged.count
        head = {
            Verdict.REFUTED: f"Refuted: the running time of {name} does not keep {phrase}: "
            f"privacy loss >= {wording.at_least(timed.judged.epsilon_lower, claim.epsilon)}.",
            Verdict.NOT_REFUTED: f"Not refuted: no violation of {phrase} found in the running "
            f"time of {name}.",
        }.get(
            timed.verdict,
            f"Inconclusive: the clock cannot say whether {name} keeps {phrase} in its "
            "running time.",
        )
        lines = wrapped(head, console.width)
        if not console.quiet:
            event = count.event.describe().replace("output", "nanoseconds")
            lines += wrapped(
                f"{event}: {count.hits[0]:,} of {count.trials[0]:,} calls on D, "
                f"{count.hits[1]:,} of {count.trials[1]:,} on D'; typical times "
                f"{timed.typical[0] / 1e3:.3g} and {timed.typical[1] / 1e3:.3g} microseconds; "
                "calls in random order.",
                console.width, "    ", "  ",
            )  # fmt: skip
        if timed.warning:
            lines += wrapped(f"Beware: {timed.warning}.", console.width)
        console.say("\n".join(lines))
        statuses.append(timed.verdict)
    if Verdict.REFUTED in statuses:
        return REFUTED
    return INCONCLUSIVE if Verdict.INCONCLUSIVE in statuses else 0


def keep_draws(console: Console, draws: KeptDraws) -> None:
    """Write the draws to a new file of this folder, or where that cannot be, and say where."""
    name = re.sub(r"[^A-Za-z0-9_]+", "-", draws.mechanism).strip("-")[:LONGEST] or "mechanism"
    names = (f"draws-of-{name}{f'-{n}' if n > 1 else ''}{SUFFIX}" for n in count(1))
    path: str | None = next(one for one in names if not os.path.lexists(one))
    text = draws.text()
    try:
        files.write_atomically(path or "", text)
    except OSError:
        path = files.keep_elsewhere(text, SUFFIX)
    if path is None:
        console.warn("the draws that were made could not be kept: no folder can be written to")
        return
    console.warn(
        f"{len(draws.pairs):,} runs per database of one pair were made before the end and are "
        f"kept: dpwitness judge {shlex.quote(path)}"
    )
