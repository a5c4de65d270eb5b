"""A mechanism as an attacker sees it: the same claims, its outputs with what else is seen.

The attacker who reads the bits: for every number in an output this attacker adds the place of its
last bit, how many bits it spends, its exponent, its lowest bits, and so on. All of these are
functions of the output alone, so a verdict on them is a verdict on the mechanism, by the same
theorem and at the same error probability. The claim was about real numbers. In floating point
`x + noise` lies on the coarser grid of its two terms, and that grid can tell what x was (Mironov,
2012; Haney and others, 2022).

The attacker who sees the Python object: of which type every part of an output is. `sum` of an empty
array is the int 0 and of any other a float, `max(0, x)` is an int where it clamps. Who gets the
object, pickled or in the same program, reads the type; who reads the released number does not. So
values are judged apart from types, and this attacker judges both together: a type that tells more
than its value does breaks the claim for it.
"""

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Array, Mechanism, Output
from ..errors import InvalidArgument
from ..looking import attribute
from ..outputs.features import Feature, path_name
from ..outputs.outputs import Outputs
from ..workers.door import CLIENT, accepts_size

MOST_NUMBERS = 12
"""Numbers of an output whose bits are read; each adds a few columns to learn from."""
LOW = 16
"""The column "low bits" is the remainder by this: the four lowest bits of a number."""

Bits = Mapping[str, NDArray[np.int64]]
Beside = Callable[[Output, int], dict[str, Output]]
"""What stands beside the outputs of a call with size=, as a dict whose "value" they are."""

SAID = ("block", CLIENT)
"""What a client says of itself, by which it is known as one."""


def bits_of(values: Array) -> Bits:
    """What the bits of numbers of shape (n,) show, by name; every array has shape (n,).

    For a number odd * 2^k: `last bit` is k, `bits used` how many lie from its first to its last,
    `exponent` the place of the first, `low bits` the last four of all that the format has. Zero
    and what is not finite have a place beyond all others.
    """
    if values.dtype.kind == "b":
        values = values.astype(np.int64)
    if values.dtype.kind in "iu":
        whole = values.astype(np.int64)
        last = np.where(whole == 0, 64, _trailing(whole.view(np.uint64)))
        return {"last bit": last, "low bits": whole % LOW}
    digits = {2: 11, 4: 24, 8: 53}.get(values.dtype.itemsize, 53)
    numbers = values.astype(np.float64)
    usable = np.isfinite(numbers) & (numbers != 0)
    fraction, exponent = np.frexp(np.where(usable, numbers, 1.0))
    mantissa = np.abs(fraction * 2.0**digits).astype(np.uint64)
    trailing = _trailing(mantissa)
    first = exponent.astype(np.int64) - 1
    return {
        "last bit": np.where(usable, first - digits + 1 + trailing, 2048),
        "bits used": np.where(usable, digits - trailing, 0),
        "exponent": np.where(usable, first, 2048),
        "low bits": np.where(usable, (mantissa % np.uint64(LOW)).astype(np.int64), 0),
    }


def _trailing(whole: NDArray[np.uint64]) -> NDArray[np.int64]:
    """How many zeros end each number in binary; 0 for zero."""
    lowest = whole & (~whole + np.uint64(1))
    return np.where(whole == 0, 0, np.frexp(lowest.astype(np.float64))[1] - 1).astype(np.int64)


def with_bits(raw: Output, count: int) -> dict[str, Output]:
    """What run(database, rng, size=count) returned, with the bits of its numbers beside it."""
    outputs = Outputs.of(raw, count)
    found: dict[str, Output] = {"value": raw}
    for path in outputs.paths()[:MOST_NUMBERS]:
        column = outputs.column(Feature("value", path))
        if not column.labelled().any():
            # A number has the same bits to show whether an int or a float holds it.
            numbers = np.asarray(column.values)
            numbers = numbers if numbers.dtype.kind == "f" else numbers.astype(np.float64)
            for name, bits in bits_of(numbers).items():
                found[name if not path else f"{name} of {path_name(path)}"] = bits
    return found


def with_types(raw: Output, count: int) -> dict[str, Output]:
    """What run(database, rng, size=count) returned, with the types of each output beside it."""
    types = Outputs.of(raw, count).types
    assert types is not None
    return {"value": raw, "types": [types.names[code] for code in types.codes.tolist()]}


ATTACKERS: dict[str, tuple[Beside, str]] = {
    "bits": (with_bits, "its bits"),
    "types": (with_types, "its Python types"),
}


def seen_by(attacker: str, mechanism: Mechanism) -> Mechanism:
    """The mechanism as the attacker sees it; itself for "values", or where it is seen so already.

    Raises InvalidArgument for an attacker that is none.
    """
    run = mechanism.run
    if attacker == "values" or attribute(run, "attacker", "") == attacker:
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
        if (said := attribute(run, name)) is not None:
            setattr(wrapped, name, said)
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


class _Watched(partial[Output]):
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


def _first(found: dict[str, Output]) -> dict[str, object]:
    return {
        key: part[0] if key == "value" or isinstance(part, list) else int(part[0])
        for key, part in found.items()
    }
