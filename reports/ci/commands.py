"""What `dpwitness gate` and `dpwitness init` do, apart from reading their options."""

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...auditors.errors import InvalidArgument
from ...auditors.evidence.read import revived
from ...auditors.evidence.record import ResultRecord
from .. import files, targets
from ..console import FAILED, INCONCLUSIVE, REFUTED, UNUSABLE, Console, count
from ..delivering import annotate
from ..faces.as_text import command_lines, wrapped
from ..formats import table
from ..formats.audited import judged, judged_beside
from ..formats.told import Case, Reason, Told
from ..record import evidence
from ..terminal import one_line
from . import witnesses
from .baseline import BaselineError, baseline_text, compare, read_baseline, remarks
from .entries import read_entries
from .gate import Gated, run_gate
from .scaffold import PIPELINES, pipelines, scaffold
from .settings import SettingsError, read_settings


def gate(
    console: Console,
    given: Mapping[str, Any],
    *,
    baseline: str | None,
    accept: bool,
    rise: float,
    jobs: int,
    paths: Mapping[str, str | None],
    github: bool,
) -> int:
    """Audit what the project lists, compare, tell and write; the exit status.

    `given` are settings from the command line, `paths` the files to write, by kind.
    """
    root = Path.cwd()
    if accept and baseline is None:
        raise InvalidArgument("--accept rewrites a baseline; name it with --baseline FILE")
    if accept and baseline is not None:
        files.require_writable(baseline)
    table.require_places(paths)
    try:
        settings = read_settings(root, given)
        entries = read_entries(root)
        known = read_baseline(Path(baseline)) if baseline and not _first(baseline, accept) else None
    except (SettingsError, BaselineError) as error:
        raise InvalidArgument(str(error)) from None
    seed = secrets.randbits(48) if settings.seed is None else settings.seed

    def tell(one: Gated) -> None:
        if not console.quiet:
            console.line(_line(one))

    gated = run_gate(
        entries, settings, root, seed=seed, jobs=jobs, done=tell,
        pairs=known.results if known and not accept else None,
    )  # fmt: skip
    gated = tuple(_replayable(console, one, root, settings.directory, paths) for one in gated)
    _record(console, root / settings.directory, gated, seed)
    worse = compare(gated, known, rise=rise, strict=settings.inconclusive == "fail")
    if accept and baseline is not None:
        return _accept(console, baseline, gated, worse)
    for sentence in remarks(gated, known, worse):
        console.warn(one_line(sentence))
    told = told_of(gated, worse, alpha=settings.alpha, seed=seed)
    _tell(console, told)
    if github:
        annotate(console, told)
    return _status(worse) if table.write(console, told, paths) else UNUSABLE


def _replayable(
    console: Console, one: Gated, root: Path, directory: str, paths: Mapping[str, str | None]
) -> Gated:
    """The same with replay commands that work here: the folder it was audited in is gone.

    The evidence of a refutation is kept with the project's witnesses; of other results it is in
    the JSON file if one is asked for, and else the whole audit is the replay.
    """
    json_path = paths.get("json")
    results: list[ResultRecord] = []
    for index, result in enumerate(one.results):
        again = (
            one.rerun if json_path is None else targets.replay_command(json_path, result["target"])
        )
        if result["verdict"] == "refuted":
            name = f"{one.entry.name} #{index + 1}"
            path = witnesses.place(root / directory, name)
            again = targets.replay_command(os.path.relpath(path, root), result["target"])
            data = {
                "schema": evidence.SCHEMA,
                "results": [{**result, "replay": again}],
                "environment": dict(one.environment or evidence.environment()),
            }
            try:
                witnesses.keep(path, evidence.to_text(data))
            except OSError as error:
                console.warn(f"the witness was not kept: {error}; the verdict stands")
                again = one.rerun
        results.append({**result, "replay": again})
    return replace(one, results=tuple(results))


def _record(console: Console, directory: Path, gated: Sequence[Gated], seed: int) -> None:
    from ..history.recorder import new_run, record

    found = [(result, one.entry.name) for one in gated for result in one.results]
    if found:
        results, names = zip(*found, strict=True)
        for sentence in record(directory, new_run(), results, names, seed):
            console.warn(sentence)


def _first(baseline: str, accept: bool) -> bool:
    return accept and not Path(baseline).exists()


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


def _line(one: Gated) -> str:
    word = {"not_refuted": "not refuted"}.get(one.verdict, one.verdict)
    figures = "; ".join(
        f"epsilon >= {max(float(r['epsilon_lower']), 0.0):.3f} of {r['claim']['epsilon']:g}, "
        f"{r['draws']:,} draws, {r['seconds']:.1f} s"
        for r in one.results
    )
    figures = "; ".join(
        [*filter(None, [figures]),
         *(f"{c['kind']} {c['verdict'].replace('_', ' ')}"
           + (f" (only here: {c.get('scope', '')})" if c["verdict"] == "proved" else "")
           for c in one.claims)]
    )  # fmt: skip
    return one_line(f"{word:<13} {one.entry.name}: {figures or one.problem}")


def _tell(console: Console, told: Told) -> None:
    for reason in told.reasons:
        console.line(f"{reason.kind}: {reason.name}: {reason.sentence}")
        if console.quiet:
            continue
        for label, text in told.story_of(reason):
            if label == "replay":
                # Whole words only, so that it can be pasted.
                console.say("\n".join(["  Replay it:", *command_lines(text, console.width)]))
                continue
            head = f"  {label}".ljust(12)
            console.say("\n".join(wrapped(one_line(text), console.width, " " * 12, head)))
    word = "Stopped" if told.reasons else "Nothing stands against the change"
    console.line(f"{word}: {count(len(told.cases), 'entry', 'entries')}, {told.closing}")


def told_of(gated: Sequence[Gated], worse: Sequence[Reason], *, alpha: float, seed: int) -> Told:
    """The gate as every format tells it."""
    document = _document(gated, worse, seed)

    def page() -> str:
        from ..faces.as_html import render

        reruns = [one.rerun for one in gated for _ in one.results]
        return render([revived(record) for record in document["results"]], document, reruns)

    return Told(
        command="gate",
        cases=tuple(_case(one) for one in gated),
        reasons=tuple(worse),
        closing=f"alpha {alpha:g} for all of them, seed {seed}. Not refuted is not proved.",
        document=document,
        page=page,
    )


def _case(one: Gated) -> Case:
    # What was judged on the pairs of the baseline is told by the reasons, and costs time too.
    return Case(
        name=one.entry.name,
        target=one.entry.target,
        judged=tuple(
            judged(revived(result), replay=result["replay"], rerun=one.rerun)
            for result in one.results
        )
        + tuple(judged_beside(claim, rerun=one.rerun) for claim in one.claims),
        problem=one.problem,
        source=one.source,
    )


def _document(gated: Sequence[Gated], worse: Sequence[Reason], seed: int) -> dict[str, Any]:
    environment = next((one.environment for one in gated if one.environment), None)
    claims = [dict(claim) for one in gated for claim in one.claims]
    return {
        "schema": evidence.SCHEMA,
        "results": [dict(result) for one in gated for result in one.results],
        **({"claims": claims} if claims else {}),
        "environment": dict(environment or evidence.environment()),
        "gate": {
            "seed": seed,
            "reasons": [
                {"kind": reason.kind, "entry": reason.name, "sentence": reason.sentence}
                for reason in worse
            ],
        },
    }


def _status(worse: Sequence[Reason]) -> int:
    kinds = {reason.kind for reason in worse}
    if kinds & {"refuted", "rose", "vanished"}:
        return REFUTED
    if "failed" in kinds:
        return FAILED
    return INCONCLUSIVE if kinds else 0


def init(console: Console, target: str, services: Sequence[str] = ()) -> int:
    """Write a table of settings, a first test and pipelines of services, overwriting nothing."""
    root = Path.cwd()
    targets.find_target(target)
    if ":" not in target:
        raise InvalidArgument(
            f"init takes your own mechanism as module:function or file.py:function, got {target!r}"
        )
    try:
        made = scaffold(target, root)
    except SettingsError as error:
        raise InvalidArgument(str(error)) from None
    made += pipelines(services, root)
    kept = [PIPELINES[name][0] for name in services]
    for name in kept:
        if (root / name).exists():
            console.warn(
                f"{name} is there already and was kept; docs/continuous-integration.md has what "
                "to put into it"
            )
    for path, text in made:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_atomically(str(path), text)
        console.say(f"Wrote {path.relative_to(root)}.")
    if not made:
        console.say(f"{target} is listed and has its test already; nothing was written.")
        return 0
    console.line(
        "Now put in what the mechanism promises and its databases, then run `dpwitness gate` or "
        "`pytest`."
    )
    return 0
