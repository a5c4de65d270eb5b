"""What `dpwitness gate` and `dpwitness init` do, apart from reading their options."""

import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...auditors.errors import InvalidArgument
from .. import files, targets
from ..commands import FAILED, INCONCLUSIVE, REFUTED, UNUSABLE, Console, save
from ..record import evidence
from ..record.revive import revived
from ..terminal import printable
from .as_junit import junit
from .as_markdown import annotations, markdown
from .as_sarif import sarif
from .baseline import BaselineError, Worse, baseline_text, compare, read_baseline
from .entries import read_entries
from .gate import Gated, run_gate
from .scaffold import scaffold
from .settings import SettingsError, read_settings

__all__ = ["gate", "init"]


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
    for path in (baseline if accept else None, *paths.values()):
        if path is not None:
            files.require_writable(path)
    try:
        settings = read_settings(root, given)
        entries = read_entries(root)
        known = read_baseline(Path(baseline)) if baseline and not _first(baseline, accept) else None
    except (SettingsError, BaselineError) as error:
        raise InvalidArgument(str(error)) from None
    seed = secrets.randbits(48) if settings.seed is None else settings.seed

    def tell(one: Gated) -> None:
        if not console.quiet:
            console.say(_line(one))

    gated = run_gate(
        entries, settings, root, seed=seed, jobs=jobs, done=tell,
        pairs=known.results if known and not accept else None,
    )  # fmt: skip
    _record(console, root / settings.directory, gated, seed)
    worse = compare(gated, known, rise=rise, strict=settings.inconclusive == "fail")
    if accept and baseline is not None:
        return _accept(console, baseline, gated, worse)
    _tell(console, gated, worse, settings.alpha, seed)
    if github:
        _to_github(console, gated, worse, settings.alpha, seed)
    texts = {
        "junit": lambda: junit(gated, worse),
        "sarif": lambda: sarif(gated, worse),
        "markdown": lambda: markdown(gated, worse, alpha=settings.alpha, seed=seed),
        "json": lambda: evidence.to_text(_document(gated, worse, seed)),
        "html": lambda: _page(_document(gated, worse, seed)),
    }
    saved = [
        save(console, path, texts[kind](), f".{kind}")
        for kind, path in paths.items()
        if path is not None
    ]
    return _status(worse) if all(saved) else UNUSABLE


def _record(console: Console, directory: Path, gated: Sequence[Gated], seed: int) -> None:
    from ..history.recorder import new_run, record

    found = [(result, one.entry.name) for one in gated for result in one.results]
    if found:
        results, names = zip(*found, strict=True)
        for sentence in record(directory, new_run(), results, names, seed):
            console.warn(sentence)


def _first(baseline: str, accept: bool) -> bool:
    return accept and not Path(baseline).exists()


def _accept(console: Console, path: str, gated: Sequence[Gated], worse: Sequence[Worse]) -> int:
    failed = [reason for reason in worse if reason.kind == "failed"]
    for reason in failed:
        console.warn(f"{reason.name}: {reason.sentence}; it is not in the baseline")
    files.write_atomically(path, baseline_text(gated))
    for one in gated:
        if one.verdict == "refuted":
            console.warn(f"{one.entry.name} is refuted, and accepted as it is")
    console.say(f"Accepted {len(gated) - len(failed)} of {len(gated)} entries in {path}.")
    return FAILED if failed else 0


def _line(one: Gated) -> str:
    word = {"not_refuted": "not refuted"}.get(one.verdict, one.verdict)
    figures = "; ".join(
        f"epsilon >= {max(float(r['epsilon_lower']), 0.0):.3f} of {r['claim']['epsilon']:g}, "
        f"{r['draws']:,} draws, {r['seconds']:.1f} s"
        for r in one.results
    )
    return printable(f"{word:<13} {one.entry.name}: {figures or one.problem}")


def _tell(
    console: Console, gated: Sequence[Gated], worse: Sequence[Worse], alpha: float, seed: int
) -> None:
    for reason in worse:
        console.say(printable(f"{reason.kind}: {reason.name}: {reason.sentence}"))
    word = "Stopped" if worse else "Nothing stands against the change"
    console.say(
        f"{word}: {len(gated)} entries, alpha {alpha:g} for all of them, seed {seed}. "
        "Not refuted is not proved."
    )


def _to_github(
    console: Console, gated: Sequence[Gated], worse: Sequence[Worse], alpha: float, seed: int
) -> None:
    text = annotations(gated, worse)
    if text:
        console.say(text)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(markdown(gated, worse, alpha=alpha, seed=seed))


def _document(gated: Sequence[Gated], worse: Sequence[Worse], seed: int) -> dict[str, Any]:
    environment = next((one.environment for one in gated if one.environment), None)
    return {
        "schema": evidence.SCHEMA,
        "results": [dict(result) for one in gated for result in one.results],
        "environment": dict(environment or evidence.environment()),
        "gate": {
            "seed": seed,
            "reasons": [
                {"kind": reason.kind, "entry": reason.name, "sentence": reason.sentence}
                for reason in worse
            ],
        },
    }


def _page(document: Mapping[str, Any]) -> str:
    from ..faces.as_html import render

    return render([revived(record) for record in document["results"]], document)


def _status(worse: Sequence[Worse]) -> int:
    kinds = {reason.kind for reason in worse}
    if kinds & {"refuted", "rose", "vanished"}:
        return REFUTED
    if "failed" in kinds:
        return FAILED
    return INCONCLUSIVE if kinds else 0


def init(console: Console, target: str) -> int:
    """Write a table of settings and a first test for `target`, overwriting nothing."""
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
    for path, text in made:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_atomically(str(path), text)
        console.say(f"Wrote {path.relative_to(root)}.")
    console.say(
        "Now put in what the mechanism promises and its databases, then run `dpwitness gate` or "
        "`pytest`."
    )
    return 0
