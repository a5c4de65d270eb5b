"""The formats, once for all commands.

A format is one file beside this one, `as_NAME.py` with `render(told) -> str`, and one line of
`FORMATS`; every command that judges something then takes `--NAME PATH`.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..shell.console import Console
    from .told import Told


PRINTED = "-"
"""The path that is standard output."""


@dataclass(frozen=True, slots=True)
class Format:
    """The option that asks for a format, what `--help` says of it, and the ending of its files.

    `mark` stands near the beginning or the end of each of them, and tells a later run, which writes
    there again, that it replaces its own; it is the first line where `render` writes it nowhere.
    """

    name: str
    what: str
    ending: str
    mark: str
    note: str = ""
    others: tuple[str, ...] = ()

    @property
    def endings(self) -> tuple[str, ...]:
        """All endings that its files may have; `ending` is the one that is told."""
        return (self.ending, *self.others)

    def render(self, told: "Told") -> str:
        """The run in this format; its module is loaded now and not before."""
        home = import_module(f".as_{self.name.replace('-', '_')}", __package__)
        text = str(home.render(told))
        return text if self.mark in text else f"{self.mark}\n{text}"


FORMATS = (
    Format("json", "all numbers as JSON", ".json", "dpwitness"),
    Format("html", "a report page", ".html", "dpwitness", others=(".htm",)),
    Format("junit", "JUnit XML", ".xml", "dpwitness", " (JUnit)"),
    Format("sarif", "SARIF 2.1.0", ".sarif", "dpwitness"),
    Format("markdown", "a summary in Markdown", ".md", "## Differential privacy"),
)


def outputs(command: Callable[..., None]) -> Callable[..., None]:
    """Options for every format; the command gets `paths`, a path or None by name of format."""
    return outputs_in(*(one.name for one in FORMATS))(command)


def outputs_in(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """-o and --json, and the hidden option of each other format, of a command that has these."""
    known = tuple(one for one in FORMATS if one.name in names)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_paths(*args: Any, **given: Any) -> None:
            paths = {one.name: given.pop(f"to_{one.name}") for one in known}
            command(*args, paths=_by_ending(given.pop("written"), paths), **given)

        for one in reversed(known):
            with_paths = click.option(
                f"--{one.name}", f"to_{one.name}", metavar="PATH", hidden=one.name != "json",
                help=f"Write {one.what} here, whatever the ending{_PRINTED[one.name == 'json']}.",
            )(with_paths)  # fmt: skip
        return click.option(
            "-o",
            "written", multiple=True, metavar="FILE",
            help="Write a file by its ending; repeatable: "
            f"{', '.join(one.ending + one.note for one in known)}.",
        )(with_paths)  # fmt: skip

    return decorate


_PRINTED = ("", "; - prints them in place of the text")


def _by_ending(files: tuple[str, ...], paths: Mapping[str, str | None]) -> Mapping[str, str | None]:
    """The paths by format, those of -o among them; UsageError for an ending that is none."""
    found = dict(paths)
    mine = [one for one in FORMATS if one.name in paths]
    for path in files:
        ending = ".json" if path == "-" else os.path.splitext(path)[1].lower()
        name = next((one.name for one in mine if ending in one.endings), None)
        if name is None:
            known = ", ".join(one.ending for one in mine)
            raise click.UsageError(f"-o takes a file that ends in one of {known}; got {path!r}.")
        if found[name] is not None:
            raise click.UsageError(
                f"-o {path} and --{name} {found[name]} are one format; give one."
            )
        found[name] = path
    return found


def evidence_file(paths: Mapping[str, str | None]) -> str | None:
    """The file that will hold the evidence, which a replay can name; None if there is none."""
    path = paths.get("json")
    return None if path == PRINTED else path


def require_place(path: str, *others: Format, baseline: bool = False) -> None:
    """Raise InvalidArgument for a path that cannot be written, or holds what is none of ours.

    `others` are formats that the table does not have and the command writes too.
    """
    from ..writing import files

    known = (*FORMATS, *others)
    endings = tuple(ending for one in known for ending in one.endings)
    files.require_writable(path, endings, tuple(one.mark for one in known), baseline=baseline)


def require_places(paths: Mapping[str, str | None], *others: Format) -> None:
    """Raise InvalidArgument, before anything runs, for a path that `require_place` refuses."""
    from ...auditors.errors import InvalidArgument

    places: dict[str, str] = {}
    for name, path in paths.items():
        if path is None or path == PRINTED:
            continue
        require_place(path, *others)
        real = os.path.realpath(path)
        # A device such as /dev/null may stand for many.
        if real in places and (Path(real).is_file() or not Path(real).exists()):
            raise InvalidArgument(
                f"--{places[real]} and --{name} name the same file; give them different names"
            )
        places[real] = name


def write(console: "Console", told: "Told", paths: Mapping[str, str | None]) -> bool:
    """Write what was asked for; False when something could not be written, which is told."""
    from ..shell.console import save

    kept = [
        save(console, path, one.render(told), f".{one.name}")
        for one in FORMATS
        if (path := paths.get(one.name)) is not None
    ]
    return all(kept)
