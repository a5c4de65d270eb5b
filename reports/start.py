"""The entry of the command line: `main` of `cli`, loaded in the process that works."""

from typing import NoReturn

from .shell import guardian


def run() -> NoReturn:
    """The command line, watched; never returns."""
    guardian.run(_main)


def _main() -> None:
    from .cli import main

    main(prog_name="dpwitness")
