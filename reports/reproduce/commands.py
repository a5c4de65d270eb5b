"""What `dpwitness reproduce` does, apart from reading its options."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic

from ...auditors.asked import Budget
from ...auditors.engines import Engine
from ...auditors.errors import InvalidArgument
from ..auditing.delivering import annotate
from ..formats import table
from ..record.evidence import to_text
from ..shell.computed import UNUSABLE
from ..shell.console import Console, save
from ..statements.statements import Gallery, Section, style_from
from . import as_table
from .as_table import told_of
from .run import run, select

NOT_AS_EXPECTED = 1
"""The exit status if a statement did not come out as expected."""


def reproduce(
    console: Console,
    names: Sequence[str],
    assignments: Sequence[str],
    *,
    controls: bool,
    out: str | None,
    paths: Mapping[str, str | None],
    github: bool,
    seed: int,
    trials: int,
    alpha: float,
    workers: int,
    engine: Engine | None = None,
    style: str = "",
) -> int:
    """Check the statements, show the table as it grows, write what was asked for; the status."""
    allowed = Budget(trials=trials, alpha=alpha, seed=seed)
    look = style_from(style)
    chosen = select(names, assignments, with_controls=controls)
    _require_places(out, paths)
    started = monotonic()
    sections: list[Section] = []
    checks = sum(len(one.settings) for one in chosen)
    for section in run(
        chosen,
        allowed,
        workers=workers,
        pictures=out is not None or paths.get("html") is not None,
        style=look,
        started=lambda done: console.progress("reproduce", done, checks),
        engine=engine,
    ):
        if not sections and not console.quiet:
            console.say(as_table.heading(console.width))
        sections.append(section)
        if not console.quiet:
            console.say(
                as_table.rows(section, console.width, console.paint, detail=console.verbose)
            )
    gallery = Gallery(
        sections=tuple(sections),
        alpha=alpha,
        seed=seed,
        trials=trials,
        seconds=monotonic() - started,
        command=_command(names, assignments, controls, seed, trials, alpha),
        style=look,
    )
    saved = _write(console, gallery, out, paths, github)
    console.say(("" if console.quiet else "\n") + as_table.summary(gallery, console.width))
    if not saved:
        return UNUSABLE
    kept = all(one.as_expected for section in sections for one in section.reproductions)
    return 0 if kept else NOT_AS_EXPECTED


def _require_places(out: str | None, paths: Mapping[str, str | None]) -> None:
    if out is not None:
        folder = Path(out)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            reason = (getattr(error, "strerror", None) or str(error)).lower()
            raise InvalidArgument(
                f"cannot make the folder {out!r}: {reason}; nothing was run"
            ) from None
        table.require_place(str(folder / "index.html"))
    table.require_places(paths)


def _write(
    console: Console,
    gallery: Gallery,
    out: str | None,
    paths: Mapping[str, str | None],
    github: bool,
) -> bool:
    """Write the numbers first, so that nothing after them can lose them."""
    told = told_of(gallery)
    saved = table.write(console, told, paths)
    if github:
        annotate(console, told)
    if out is None:
        return saved
    from ..gallery.gallery import write_gallery

    text = to_text(told.document)
    saved = save(console, str(Path(out) / "results.json"), text, ".json") and saved
    try:
        write_gallery(gallery, Path(out))
    except OSError as error:
        console.warn(f"could not write the gallery to {out}: {(error.strerror or str(error))}")
        return False
    console.say(f"\nThe gallery is {Path(out) / 'index.html'}.")
    return saved


def _command(
    names: Sequence[str],
    assignments: Sequence[str],
    controls: bool,
    seed: int,
    trials: int,
    alpha: float,
) -> str:
    words = ["dpwitness", "reproduce", *names]
    for assignment in assignments:
        words += ["--set", assignment]
    words += ["--controls"] if controls else []
    return shlex.join(
        [*words, "--seed", str(seed), "--trials", str(trials), "--alpha", f"{alpha!r}"]
    )
