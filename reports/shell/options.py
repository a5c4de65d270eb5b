"""Options of the command line, made of what `ASKED` declares, and the types of their values."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import click

from ...auditors.asked import ASKED
from .shell import meant

Command = Callable[..., None]
Decorator = Callable[[Command], Command]


class Near(click.Choice[str]):
    """One of a few words; what is almost one of them is answered with it."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The word; a usage error for anything else."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            near = meant(str(value), self.choices)
            self.fail(f"{error.message.rstrip('.')}{near}.", param, ctx)


class Whole(click.ParamType[int]):
    """A whole number, also written 1e6 or 1_000_000."""

    name = "integer"
    expected = "a whole number"

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """The number; a usage error for anything else."""
        try:
            return int(value)
        except ValueError:
            with suppress(ValueError, OverflowError):
                number = float(value)
                if number == int(number) and abs(number) < 2**53:
                    return int(number)
        self.fail(f"{value!r} is not {self.expected}.", param, ctx)


WHOLE = Whole()


class Seed(Whole):
    """A whole number, or the word random."""

    name = "seed"
    expected = "a whole number or the word random"

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """The number, or "random"."""
        return value if value == "random" else super().convert(value, param, ctx)


SEED = Seed()


class Precision(click.ParamType[float | str]):
    """A share of the bound, or the word none."""

    name = "share"

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | str:
        """The number, or "none"."""
        if value == "none":
            return "none"
        with suppress(ValueError):
            if ASKED["precision"].allows(number := float(value)):
                return number
        expected = ASKED["precision"].expected
        self.fail(f"{value!r} is not {expected}, such as 0.05 for 5 %.", param, ctx)


PRECISION = Precision()


TYPES: dict[str, dict[str, object]] = {
    "number": {"type": float},
    "whole": {"type": WHOLE},
    "precision": {"type": PRECISION},
    "text": {},
    "texts": {"multiple": True},
    "word": {},
    "words": {"multiple": True},
    "pair": {"nargs": 2, "metavar": "JSON JSON"},
    "flag": {"is_flag": True},
}
"""What an option of each kind takes, in the words of click."""
SHORT = {"workers": ("-j",)}
"""Options that are typed often."""
LISTS = {"attacker": "attackers"}
"""Options that may be repeated, with the name of all their values."""


def option_of(name: str, told: str = "", *, filled: bool = False, **changes: object) -> Decorator:
    """The option of one argument of `ASKED`.

    The help tells its default; what nobody typed is None, or the default if it is `filled`. `told`
    and `changes` are what a command says or takes otherwise.
    """
    known = ASKED[name]
    made: dict[str, Any] = {**TYPES[known.kind], "help": told or known.option}
    if known.words:
        made["type"] = Near(known.words)
    if known.metavar:
        made["metavar"] = known.metavar
    default = changes.pop("default", known.default)
    if default is not None and default is not False:
        shown = f"{default:g}" if isinstance(default, float) else default
        made["help"] += f"  [default: {shown}]"
        if filled:
            made["default"] = default
    words = (*SHORT.get(name, ()), f"--{name.replace('_', '-')}")
    return click.option(*words, LISTS.get(name, name), **{**made, **changes})


def together(*options: Decorator) -> Decorator:
    """Several options, in the order in which the help shows them."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def options_of(names: str, *, filled: bool = False) -> Decorator:
    """The options of several arguments, as they are declared."""
    return together(*(option_of(name, filled=filled) for name in names.split()))
