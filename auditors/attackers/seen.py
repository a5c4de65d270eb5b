"""A mechanism as an attacker sees it: the same claims, its outputs with what else is seen."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...mechanisms.model import Mechanism
from ..errors import InvalidArgument
from ..sampling.calls import accepts_size
from ..workers.door import CLIENT
from .bits import with_bits
from .python_types import with_types

Beside = Callable[[Any, int], dict[str, Any]]
"""What stands beside the outputs of a call with size=, as a dict whose "value" they are."""

SAID = ("block", CLIENT)
"""What a client says of itself, by which it is known as one."""
ATTACKERS: dict[str, tuple[Beside, str]] = {
    "bits": (with_bits, "its bits"),
    "types": (with_types, "its Python types"),
}


def seen_by(attacker: str, mechanism: Mechanism) -> Mechanism:
    """The mechanism as the attacker sees it; itself for "values", or where it is seen so already.

    Raises InvalidArgument for an attacker that is none.
    """
    run = mechanism.run
    if attacker == "values" or getattr(run, "attacker", None) == attacker:
        return mechanism
    if attacker not in ATTACKERS:
        raise InvalidArgument(
            f"attacker must be values, {' or '.join(ATTACKERS)}, got {attacker!r:.40}; the command "
            "`dpwitness audit --attacker clock` times calls",
            keywords=("attacker",),
        )
    beside, words = ATTACKERS[attacker]
    wrapped = _Watched(_many if accepts_size(run) else _one, run, beside)
    wrapped.attacker = attacker  # type: ignore[attr-defined]
    for name in SAID:
        if hasattr(run, name):
            setattr(wrapped, name, getattr(run, name))
    seen = f" seen through {words}"
    return replace(
        mechanism,
        name=mechanism.name.removesuffix(seen) + seen,
        run=wrapped,
        law=None,
        privacy_loss=None,
        log_probability=None,
    )


def through_bits(mechanism: Mechanism) -> Mechanism:
    """The mechanism as the attacker of bits sees it."""
    return seen_by("bits", mechanism)


def through_types(mechanism: Mechanism) -> Mechanism:
    """The mechanism as the attacker of types sees it."""
    return seen_by("types", mechanism)


class _Watched(partial[Any]):
    """A function with what is seen beside its outputs; of a client the copy is one of its own."""

    def __copy__(self) -> object:
        run, beside = self.args
        made = type(self)(self.func, copy(run), beside)
        made.__dict__.update(self.__dict__)
        return made


def _one(
    run: Callable[..., object], beside: Beside, database: object, rng: np.random.Generator
) -> object:
    return _first(beside([run(database, rng)], 1))


def _many(
    run: Callable[..., object],
    beside: Beside,
    database: object,
    rng: np.random.Generator,
    *,
    size: int | None = None,
) -> object:
    if size is None:
        return _one(run, beside, database, rng)
    return beside(run(database, rng, size=size), size)


def _first(found: dict[str, Any]) -> dict[str, object]:
    return {
        key: part[0] if key == "value" or isinstance(part, list) else int(part[0])
        for key, part in found.items()
    }
