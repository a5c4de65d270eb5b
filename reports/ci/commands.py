"""What `dpwitness gate` and `dpwitness init` do, apart from reading their options."""

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import Any

from ...auditors.asked import RELATIONS
from ...auditors.errors import InvalidArgument
from ...auditors.looking import is_a
from ...auditors.privacy.request import claims, require_one, subject
from ...mechanisms.model import Mechanism, Relation
from ..adapters.marked import marked_in
from ..auditing.commands import Request, database_of
from ..auditing.delivering import annotate, judged, judged_beside
from ..faces import as_text
from ..faces.claim_faces import claims_part
from ..formats import table
from ..formats.told import Case, Reason, Told
from ..history import witnesses
from ..history.recorder import Last, last_of
from ..record import evidence
from ..settings.settings import Settings, SettingsError, read_settings
from ..shell.computed import FAILED, INCONCLUSIVE, REFUTED, UNUSABLE
from ..shell.console import Console, count
from ..targets import targets
from ..writing import files
from ..writing.terminal import one_line, wrapped
from .baseline import BaselineError, baseline_text, compare, read_baseline, remarks
from .gate import (
    Entry,
    Gated,
    by_verdict,
    changes,
    commit_of,
    page_rows,
    read_entries,
    run_gate,
    table_head,
    table_rows,
)
from .scaffold import PIPELINES, Promise, origin, pipelines, require_place, scaffold

MOST_NAMED = 5
"""Functions that are named of those which nothing audits."""


def gate(
    console: Console,
    given: Mapping[str, object],
    *,
    baseline: str | None,
    accept: bool,
    rise: float,
    paths: Mapping[str, str | None],
    github: bool,
) -> int:
    """Audit what the project lists, compare, tell and write; the exit status.

    `given` are settings from the command line, `paths` the files to write, by kind.
    """
    root = Path.cwd()
    if not (isfinite(rise) and rise >= 0):
        raise InvalidArgument(f"--rise must be finite and at least 0, got {rise:g}")
    if accept and baseline is None:
        raise InvalidArgument("--accept rewrites a baseline; name it with --baseline FILE")
    if accept and baseline is not None:
        table.require_place(baseline, baseline=True)
    table.require_places(paths)
    try:
        settings = read_settings(root, given)
        entries = read_entries(root)
        known = read_baseline(Path(baseline)) if baseline and not _first(baseline, accept) else None
    except (SettingsError, BaselineError) as error:
        raise InvalidArgument(str(error)) from None
    seed = secrets.randbits(48) if settings.seed is None else settings.seed
    last = last_of(root / settings.directory)
    width = console.width if console.sized else 0
    if not console.quiet:
        console.say(table_head(width=width))

    noted = set[str]()

    def tell(one: Gated) -> None:
        if not console.quiet:
            for line, _ in table_rows(_case(one, last), width=width):
                console.say(line)
            for note in dict.fromkeys(r.note for r in one.results if not r.refuted):
                if note and note not in noted:
                    noted.add(note)
                    console.say("\n".join(wrapped(one_line(note), console.width, "    ", "    ")))

    gated = run_gate(
        entries, settings, root, seed=seed, done=tell,
        pairs=known.results if known and not accept else None,
    )  # fmt: skip
    gated = tuple(_replayable(console, one, root, settings.directory, paths) for one in gated)
    _record(console, root / settings.directory, gated, seed)
    worse = compare(gated, known, rise=rise, strict=settings.inconclusive == "fail")
    if accept and baseline is not None:
        return _accept(console, baseline, gated, worse)
    for sentence in (*remarks(gated, known, worse), *unlisted(entries, root)):
        console.warn(one_line(sentence))
    told = told_of(
        gated, worse, alpha=settings.alpha, seed=seed, settings=settings, last=last,
        commit=commit_of(root),
    )  # fmt: skip
    _tell(console, told)
    if github:
        annotate(console, told)
    return _status(worse, gated) if table.write(console, told, paths) else UNUSABLE


def unlisted(entries: Sequence[Entry], root: Path) -> list[str]:
    """The marked functions of the project that no entry names, in a sentence; else nothing."""
    listed = {_place(entry.target, root) for entry in entries}
    left = [one for one in marked_in(".", root) if _place(one, root) not in listed]
    if not left:
        return []
    named = ", ".join(left[:MOST_NAMED]) + (
        f" and {len(left) - MOST_NAMED} more" if len(left) > MOST_NAMED else ""
    )
    return [
        f"marked with @dpwitness.claims and not audited, since no entry of gate names it: {named}; "
        f"`dpwitness init {left[0]}` adds one"
    ]


def _place(target: str, root: Path) -> tuple[Path, str]:
    """The file and the name of a target, however it is spelled."""
    place, _, name = target.rpartition(":")
    path = root / place
    if not place.endswith(".py"):
        path = root.joinpath(*place.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return path.resolve(), name


def _replayable(
    console: Console, one: Gated, root: Path, directory: str, paths: Mapping[str, str | None]
) -> Gated:
    """The same with replay commands that work here: the folder it was audited in is gone.

    The evidence of a refutation is kept with the project's witnesses; of other results it is in
    the JSON file if one is asked for, and else the whole audit is the replay.
    """
    json_path = table.evidence_file(paths)
    replays: list[str] = []
    for index, result in enumerate(one.results):
        again = one.rerun if json_path is None else targets.replay_command(json_path, result.target)
        if result.refuted:
            name = f"{one.entry.name} #{index + 1}"
            path = witnesses.place(root / directory, name)
            again = targets.replay_command(os.path.relpath(path, root), result.target)
            data = {
                **evidence.document([result], replay=again),
                "environment": dict(one.environment or evidence.environment()),
            }
            try:
                witnesses.keep(path, evidence.to_text(data))
            except OSError as error:
                console.warn(f"the witness was not kept: {error}; the verdict stands")
                again = one.rerun
        replays.append(again)
    return replace(one, replays=tuple(replays))


def _record(console: Console, directory: Path, gated: Sequence[Gated], seed: int) -> None:
    from ..history.recorder import new_run, record

    found = [(result, one.entry.name) for one in gated for result in one.results]
    if found:
        results, names = zip(*found, strict=True)
        for sentence in record(directory, new_run(), results, names, seed):
            console.warn(sentence)


def _first(baseline: str, accept: bool) -> bool:
    path = Path(baseline)
    return accept and not (path.exists() and path.stat().st_size)


def _accept(console: Console, path: str, gated: Sequence[Gated], worse: Sequence[Reason]) -> int:
    failed = [reason for reason in worse if reason.kind == "failed"]
    for reason in failed:
        console.warn(one_line(f"{reason.name}: {reason.sentence}; it is not in the baseline"))
    files.write_atomically(path, baseline_text(gated))
    for one in gated:
        if one.verdict == "refuted":
            console.warn(one_line(f"{one.entry.name} is refuted, and accepted as it is"))
    console.say(f"Accepted {len(gated) - len(failed)} of {len(gated)} entries in {path}.")
    return FAILED if failed else 0


def _tell(console: Console, told: Told) -> None:
    for reason in told.reasons:
        sentence = reason.sentence.removeprefix(f"{reason.name}: ")
        console.line(f"{reason.kind}: {reason.name}: {sentence}")
        if console.quiet:
            continue
        if story := told.story_of(reason):
            console.say(as_text.lines_of(story, console.width))
    console.line(f"{_outcome(told.cases, told.reasons)}; {told.closing}")


def _outcome(cases: Sequence[Case], reasons: Sequence[Reason]) -> str:
    audits = count(len(cases), "entry", "entries")
    stopped = len({reason.name for reason in reasons})
    if stopped:
        return f"Gate failed: {stopped} of {audits}"
    accepted = sum(any(one.verdict == "refuted" for one in case.judged) for case in cases)
    if accepted:
        return f"No new violation: {accepted} of {audits} refuted, as the baseline accepts"
    return f"No violation found in {audits}"


def told_of(
    gated: Sequence[Gated],
    worse: Sequence[Reason],
    *,
    alpha: float,
    seed: int,
    settings: Settings | None = None,
    last: Mapping[str, Last] | None = None,
    commit: str = "",
) -> Told:
    """The gate as every format tells it; `settings` say what the bounds depend on."""
    budget = f", {settings.budget}" if settings is not None else ""
    of = f"commit {commit}, " if commit else ""
    closing = (
        f"{of}alpha {alpha:g} for the whole gate, seed {seed}{budget}. Not refuted is not proved."
    )
    cases = tuple(_case(one, last) for one in gated)
    document = _document(gated, worse, seed, commit, cases)

    def page() -> str:
        from ..faces.as_html import Summary, render

        reruns = [one.rerun for one in gated for _ in one.results]
        results = [result for one in gated for result in one.results]
        told = [*zip(results, document["results"], document["findings"], reruns, strict=True)]
        told.sort(key=lambda each: by_verdict(each[0].verdict.value))
        return render(
            [result for result, *_ in told],
            {
                **document,
                "results": [record for _, record, _, _ in told],
                "findings": [finding for _, _, finding, _ in told],
            },
            [rerun for *_, rerun in told],
            beside=[claim for one in gated for claim in one.claims],
            summary=Summary(
                head=f"{_outcome(cases, worse)}.",
                failed=bool(worse),
                closing=closing,
                reasons=tuple((why.kind, why.name, why.sentence) for why in worse),
                rows=page_rows(cases),
            ),
        )

    return Told(
        command="gate",
        cases=cases,
        reasons=tuple(worse),
        closing=closing,
        document=document,
        page=page,
    )


def _case(one: Gated, last: Mapping[str, Last] | None) -> Case:
    # What was judged on the pairs of the baseline is told by the reasons, and costs time too.
    return Case(
        name=one.entry.name,
        target=one.entry.target,
        judged=tuple(
            judged(result, replay=replay, rerun=one.rerun, change=change)
            for result, replay, change in zip(
                one.results, one.replays, changes(one, last), strict=True
            )
        )
        + tuple(judged_beside(claim, rerun=one.rerun) for claim in one.claims),
        problem=one.problem,
        source=one.source,
    )


def _document(
    gated: Sequence[Gated],
    worse: Sequence[Reason],
    seed: int,
    commit: str,
    cases: Sequence[Case],
) -> dict[str, Any]:
    environment = next((one.environment for one in gated if one.environment), None)
    claims = [claim for one in gated for claim in one.claims]
    results = [result for one in gated for result in one.results]
    replays = [replay for one in gated for replay in one.replays]
    return {
        **evidence.document(results, replay=replays),
        **claims_part(claims),
        "environment": dict(environment or evidence.environment()),
        "gate": {
            "seed": seed,
            "commit": commit,
            "entries": [
                {
                    "entry": one.entry.name,
                    "verdict": one.verdict,
                    "changes": [found.change for found in case.judged if found.change],
                }
                for one, case in zip(gated, cases, strict=True)
            ],
            "reasons": [
                {"kind": reason.kind, "entry": reason.name, "sentence": reason.sentence}
                for reason in worse
            ],
        },
    }


def _status(worse: Sequence[Reason], gated: Sequence[Gated]) -> int:
    kinds = {reason.kind for reason in worse}
    if kinds & {"refuted", "rose", "vanished"}:
        return REFUTED
    if any(one.unusable for one in gated):
        return UNUSABLE
    if "failed" in kinds:
        return FAILED
    return INCONCLUSIVE if kinds else 0


def init(
    console: Console,
    target: str,
    services: Sequence[str],
    given: Mapping[str, object],
    *,
    ask: Callable[[str], str] | None = None,
) -> int:
    """Write a table of settings, a first test and pipelines of services, overwriting nothing.

    `given` are epsilon, delta, relation, databases and pair as they were typed; `ask` puts a
    question about what is missing where there is somebody to answer.
    """
    root = Path.cwd()
    wanted = (target,) if ":" in target else marked_in(target, root)
    if not wanted:
        targets.find_target(target)
        raise InvalidArgument(
            "init takes your own mechanism as module:function or file.py:function, or a file whose "
            f"functions are marked with @dpwitness.claims, got {target!r}"
        )
    try:
        new = pipelines(services, root)
        for path, _ in new:
            require_place(path, root)
    except SettingsError as error:
        raise InvalidArgument(str(error)) from None
    said = {key: one for key, one in given.items() if one is not None}
    made = list[tuple[Path, str]]()
    promises = []
    for one in wanted:
        promises.append(_promise(one, targets.find_target(one), dict(said), ask))
        try:
            written = scaffold(one, root, promises[-1])
        except SettingsError as error:
            raise InvalidArgument(str(error)) from None
        for path, text in written:
            path.parent.mkdir(parents=True, exist_ok=True)
            # What follows adds to it.
            files.write_atomically(str(path), text)
        made = [*(old for old in made if old[0] not in dict(written)), *written]
    promise = max(promises, key=lambda one: len(one.missing))
    for path, text in new:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_atomically(str(path), text)
    made += new
    for name in services:
        if root / PIPELINES[name][0] not in [path for path, _ in new]:
            console.warn(
                f"{PIPELINES[name][0]} is there already and was kept; what it has to run is: "
                "dpwitness gate -o privacy.html -o privacy.json"
            )
    for path, _ in made:
        console.say(f"Wrote {path.relative_to(root)}.")
    if not made:
        console.say(f"{target} is listed and has its test already; nothing was written.")
        return 0
    if new and not origin():
        console.line(
            "dpwitness is in no package index and was installed from this machine alone: put the "
            f"address of its repository into {', '.join(str(p.relative_to(root)) for p, _ in new)}."
        )
    if promise.missing:
        beside = ", ".join(promise.offered)
        console.line(
            f"Not finished: say which {' and which '.join(promise.missing)}, in the settings and "
            "in the test."
            + (f" Databases that stand beside it: {beside}." if beside else "")
            + " Until then `dpwitness gate` ends with status 2 and the test fails."
        )
    else:
        tests = "`pytest`" if find_spec("pytest") else "`pytest`, once it is installed"
        collected = "every marked function" if promise.marked else "the test"
        console.line(
            f"Now run `dpwitness gate` (the entries of the settings) or {tests} ({collected})."
        )
    return 0


QUESTIONS = {
    "databases": "Databases, as file.py:NAME of a strategy{}; empty: later",
    "epsilon": "The epsilon that it promises, in nats; empty: later",
    "relation": f"Neighbours differ by {' or '.join(RELATIONS)}; empty: later",
}


def _promise(
    target: str, found: targets.Target, given: Request, ask: Callable[[str], str] | None
) -> Promise:
    """What was given or answered, checked as an audit would check it."""
    mechanism = found.mechanism
    own = is_a(mechanism, Mechanism) and bool(mechanism.claims)
    own = own and mechanism.databases is not None and not given
    offered = () if own else targets.databases_beside(found.text)
    missing = () if own else Promise(**given).missing
    if ask is not None:
        for name in missing:
            if answer := ask(QUESTIONS[name].format(f" such as {offered[0]}" if offered else "")):
                given[name] = _number(answer) if name == "epsilon" else answer
    require_one(given.get("pair"), given.get("databases"))
    if "databases" in given:
        targets.find_databases(given["databases"])
    pair = None
    if "pair" in given:
        pair = tuple(
            database_of(one, which)
            for one, which in zip(given["pair"], ("first", "second"), strict=True)
        )
    if "epsilon" in given:
        bare = subject(mechanism, found.name, found.text, None)
        relation = given.get("relation") or Relation.DECLARED
        claims(bare, given["epsilon"], given.get("delta"), relation, None, pair)
    marked = own and target in marked_in(target.rpartition(":")[0], Path.cwd())
    return Promise(**given, own=own, marked=marked, offered=offered)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidArgument(f"epsilon must be a number, got {text!r}; nothing was done") from None
