"""The entry of the command line: `main` of `cli`, loaded in the process that works."""

from functools import partial
from time import monotonic
from typing import NoReturn

from .shell import guardian


def run() -> NoReturn:
    """The command line, watched; never returns."""
    # Loading what follows may take a second, which is of the time that a command is given.
    guardian.run(partial(_main, monotonic()))


def _main(begun: float) -> None:
    from .cli import main

    main(prog_name="dpwitness", obj=begun)
