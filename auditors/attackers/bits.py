"""The attacker who reads the bits of every number in an output.

For every number in an output this attacker adds the place of its last bit, how many bits it
spends, its exponent, its lowest bits, and so on. All of these are functions of the output alone,
so a verdict on them is a verdict on the mechanism, by the same theorem and at the same error
probability. The claim was about real numbers. In floating point `x + noise` lies on the coarser
grid of its two terms, and that grid can tell what x was (Mironov, 2012; Haney and others, 2022).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..outputs.features import Feature, path_name
from ..outputs.outputs import Outputs

MOST_NUMBERS = 12
"""Numbers of an output whose bits are read; each adds a few columns to learn from."""
LOW = 16

Bits = Mapping[str, NDArray[np.int64]]


def bits_of(values: NDArray[Any]) -> Bits:
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


def with_bits(raw: object, count: int) -> dict[str, object]:
    """What run(database, rng, size=count) returned, with the bits of its numbers beside it."""
    outputs = Outputs.of(raw, count)
    found: dict[str, Any] = {"value": raw}
    for path in outputs.paths()[:MOST_NUMBERS]:
        column = outputs.column(Feature("value", path))
        if not column.labelled().any():
            # A number has the same bits to show whether an int or a float holds it.
            numbers = np.asarray(column.values)
            numbers = numbers if numbers.dtype.kind == "f" else numbers.astype(np.float64)
            for name, bits in bits_of(numbers).items():
                found[name if not path else f"{name} of {path_name(path)}"] = bits
    return found
