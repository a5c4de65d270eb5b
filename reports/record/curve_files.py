"""Curves as they are typed: a file of points (epsilon, delta), and order:epsilon of Renyi."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ...auditors.errors import EvidenceFormatError, InvalidArgument
from ..writing.files import read_limited
from .reading import parse_json

LARGEST = 1 << 20
"""Bytes of a file of points, at most."""
Pairs = tuple[tuple[float, float], ...]


def points_from(given: Any) -> Pairs:
    """The points of a file, JSON [[epsilon, delta], ..] or CSV with a pair on a line.

    What is a list of points already is taken as it is. Raises InvalidArgument, which names the
    file and what it should hold.
    """
    if not isinstance(given, str):
        return tuple((one, two) for one, two in given)
    text = read_limited(given, LARGEST, "a file of points")
    try:
        if text.lstrip().startswith("["):
            rows = parse_json(text, repr(given))
        else:
            rows = [line.split(",") for line in text.splitlines() if line.strip()]
            rows = rows[1:] if rows and rows[0][0].strip().casefold() == "epsilon" else rows
        return tuple(_pair(row, number) for number, row in enumerate(rows, 1))
    except (ValueError, EvidenceFormatError) as error:
        raise InvalidArgument(
            f"--curve {given!r} must hold pairs of numbers, epsilon and delta, as JSON "
            f"[[1, 1e-5], [2, 1e-9]] or as lines 1,1e-5; {error!s:.100}"
        ) from None


def _pair(row: object, number: int) -> tuple[float, float]:
    """A row of the file; ValueError, which shows it, if it is none."""
    shown: Any = row
    if isinstance(row, list):
        shown = ",".join(map(str, row))
        with suppress(ValueError, TypeError):
            one, two = row
            return float(one), float(two)
    raise ValueError(f"pair {number} is {shown!r:.60}")


def renyi_from(given: Sequence[Any]) -> Pairs:
    """The (alpha, epsilon) of texts such as "2:0.5"; InvalidArgument for another text."""
    found = []
    for text in given:
        one, _, two = str(text).partition(":")
        try:
            found.append((float(one), float(two)))
        except ValueError:
            raise InvalidArgument(
                f"--renyi takes ALPHA:EPSILON, the order and its epsilon, as 2:0.5, got {text!r}"
            ) from None
    return tuple(found)
