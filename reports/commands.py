"""What each subcommand does, apart from reading its options and printing."""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os.path import realpath
from typing import Any

from ..auditors.errors import EvidenceFormatError, InvalidArgument
from ..auditors.outputs.encoding import from_json
from ..auditors.privacy import run
from ..auditors.privacy.replay import Replay
from ..auditors.results import AuditResult, Verdict
from ..mechanisms.model import PrivacyClaim
from . import files, listing, targets
from .faces import as_text, wording
from .record import evidence, reading
from .replaying import replayed
from .terminal import printable

__all__ = [
    "DEMO",
    "FAILED",
    "INCONCLUSIVE",
    "REFUTED",
    "UNUSABLE",
    "Console",
    "audit",
    "catalogue",
    "demo",
    "replay",
    "save",
]

REFUTED = 1
UNUSABLE = 2
INCONCLUSIVE = 3
FAILED = 4
DEMO = ("laplace", "EM-NAIVE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """Where a command speaks: results with `say`, remarks with `warn`."""

    say: Callable[[str], None]
    warn: Callable[[str], None]
    progress: Callable[[str, int, int], None]
    paint: as_text.Paint
    width: int
    quiet: bool = False


def audit(
    console: Console,
    target: str,
    options: Mapping[str, Any],
    *,
    json_path: str | None,
    html_path: str | None,
) -> int:
    """Audit the target, write the files asked for, tell the result; the exit status.

    `options` are those of `audit_claims` as typed: `databases` still a name, `pair` still two
    JSON texts.
    """
    _require_places(json_path, html_path)
    given = {key: value for key, value in options.items() if value is not None}
    found = targets.find_target(target, given.get("timeout", 10.0))
    if "pair" in given and "databases" in given:
        raise InvalidArgument("--pair and --databases exclude each other; give one of them")
    engine = dict(given)
    if "databases" in given:
        engine["databases"] = targets.find_databases(given["databases"])
    if "pair" in given:
        one, two = given["pair"]
        engine["pair"] = (_database(one, "first"), _database(two, "second"))
    again = _command(target, given) if json_path is None else _replay_command(json_path, target)
    results = run.audit_claims(
        found.mechanism,
        **engine,
        progress=console.progress,
        target=target,
        name=found.name,
    )
    return _deliver(console, results, again, json_path=json_path, html_path=html_path)


def _require_places(json_path: str | None, html_path: str | None) -> None:
    for path in (json_path, html_path):
        if path is not None:
            files.require_writable(path)
    if json_path and html_path and realpath(json_path) == realpath(html_path):
        raise InvalidArgument("--json and --html name the same file; give them different names")


def _database(text: str, which: str) -> Any:
    label = f"the {which} database of --pair"
    try:
        return from_json(reading.parse_json(text, label))
    except EvidenceFormatError as error:
        hint = "" if "is not JSON" not in str(error) else "; strings need quotes, as in '\"yes\"'"
        raise InvalidArgument(f"{error}{hint}") from None


def _replay_command(path: str, target: str = "") -> str:
    allowed = targets.program_of(target)
    words = ["dpwitness", "replay", *allowed, *(["--"] if path.startswith("-") else []), path]
    return shlex.join(words)


def _command(target: str, given: Mapping[str, Any]) -> str:
    words = ["dpwitness", "audit", *targets.words_of(target)]
    for key, value in given.items():
        if key == "seeded":
            words.append("--unseeded")
        else:
            values = value if key == "pair" else (value,)
            words += [f"--{key}", *(v if isinstance(v, str) else f"{v!r}" for v in values)]
    return shlex.join(words)


def _deliver(
    console: Console,
    results: Sequence[AuditResult],
    again: str,
    *,
    json_path: str | None,
    html_path: str | None,
) -> int:
    """Write and tell. The numbers come first, so that nothing after them can lose them."""
    data = evidence.document(results, replay=again)
    saved = True
    if json_path is not None:
        saved = save(console, json_path, evidence.to_text(data), ".json")
    parts = [
        wording.headline(result)
        if console.quiet
        else as_text.render(result, replay=again, width=console.width, paint=console.paint)
        for result in results
    ]
    console.say(("\n" if console.quiet else "\n\n").join(parts))
    if html_path is not None:
        from .faces.as_html import render

        saved = save(console, html_path, render(results, data), ".html") and saved
    return _status([result.verdict for result in results]) if saved else UNUSABLE


def save(console: Console, path: str, text: str, suffix: str) -> bool:
    """Write a file; where that fails keep its text elsewhere, say so, and return False."""
    try:
        files.write_atomically(path, text)
    except OSError as error:
        kept = files.keep_elsewhere(text, suffix)
        reason = (error.strerror or str(error)).lower()
        console.warn(
            f"could not write {path}: {reason}; "
            + (f"the result was kept in {kept}" if kept else "nothing could be kept on disk")
        )
        if kept is None and suffix == ".json":
            console.say(text)
        return False
    return True


def _status(verdicts: Sequence[Verdict]) -> int:
    if Verdict.REFUTED in verdicts:
        return REFUTED
    return INCONCLUSIVE if Verdict.INCONCLUSIVE in verdicts else 0


def replay(
    console: Console, path: str, *, workers: int, timeout: float, program: str | None = None
) -> int:
    """Count again what an evidence file records and say whether it is the same.

    `program` is the command or the interpreter that the user allows to be run.
    """
    verdicts, differs = [], False
    for record, outcome in replayed(
        reading.load_evidence(path),
        workers=workers,
        timeout=timeout,
        tell=lambda target: console.warn(f"running {target}"),
        program=program,
    ):
        console.say("\n".join(_replayed(record, outcome, console.width)))
        verdicts.append(outcome.verdict)
        differs = differs or not outcome.same
    return FAILED if differs else _status(verdicts)


def _replayed(record: Mapping[str, Any], outcome: Replay, width: int) -> list[str]:
    name = printable(record["mechanism"])
    claim = f"epsilon {float(record['claim']['epsilon']):g} ({record['claim']['relation']})"
    word = wording.verdict_word(outcome.verdict)
    subject = printable(f"{word}: {name}, {claim}.")
    if not outcome.seeded:
        new, old = outcome.counts[-1].hits, record["evidence"]["counts"][-1]["hits"]
        return as_text.wrapped(
            f"{subject} The experiment was repeated with new randomness, because the mechanism is "
            f"not seeded: in the last count {new[0]:,} and {new[1]:,} hits, recorded {old[0]:,} "
            f"and {old[1]:,}.",
            width,
        )
    if outcome.same:
        draws = sum(sum(count.trials) for count in outcome.counts)
        return as_text.wrapped(
            f"{subject} The same counts, bit for bit, over {draws:,} draws.", width
        )
    lines = as_text.wrapped(f"Differs from the record: {name}, {claim}.", width)
    for difference in outcome.differences:
        lines += as_text.wrapped(printable(difference), width, "    ", "  - ")
    return lines


def catalogue(console: Console, *, as_json: bool) -> int:
    """List what can be audited by name, every theorem and what is broken on purpose."""
    if as_json:
        console.say(json.dumps(listing.as_data(), indent=2, allow_nan=False))
    else:
        console.say(listing.render(console.width))
    return 0


def demo(console: Console) -> int:
    """Audit one sound and one broken mechanism and write dpwitness-demo.html and .json."""
    json_path, html_path = "dpwitness-demo.json", "dpwitness-demo.html"
    _require_places(json_path, html_path)
    results: list[AuditResult] = []
    for name in DEMO:
        mechanism = targets.find_target(name).mechanism
        claims = [claim for claim in mechanism.claims if isinstance(claim, PrivacyClaim)]
        console.warn(f"auditing {name} ({', '.join(map(wording.claim_phrase, claims))}) ...")
        results += run.audit_claims(mechanism, progress=console.progress, target=name)
    status = _deliver(
        console, results, _replay_command(json_path), json_path=json_path, html_path=html_path
    )
    if status == UNUSABLE:
        return status
    console.say(f"\nThe report is {html_path}; the evidence is {json_path}.")
    verdicts = [result.verdict for result in results]
    expected = verdicts == [Verdict.NOT_REFUTED, Verdict.REFUTED]
    if not expected:
        console.warn("the demo did not go as it should: the first is sound, the second is broken")
    return 0 if expected else FAILED
