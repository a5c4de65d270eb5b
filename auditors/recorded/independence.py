"""What in a recorded sample speaks against independent draws of one law.

That outputs are independent is the word of whoever recorded them, and the error probability of a
verdict rests on it. Some of what goes wrong shows in the files: a column that only rises is a row
number, a time or a sorted file; a run of outputs that comes again was copied or drawn with one seed
twice; whole numbers of a range of which none comes twice are row numbers in any order; numbers of a
continuous law that come again are answers that were kept. The first three have probability below
`CHANCE` where outputs are independent, whatever their law, so they are `sure`. A law may have a few
dozen odd numbers as its values, so the last is only a doubt; so is a column that holds one text in
all of one sample and another in all of the other, as the name of a file does.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from math import ceil, log

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ...mechanisms.model import Array
from ..outputs.encoding import canonical
from ..outputs.features import Feature, path_name
from ..outputs.outputs import Outputs

CHANCE = 1e-9
"""Bounds the probability that independent outputs are called dependent."""
LOOKED_AT = 20_000
"""Outputs of a sample, from the first on."""
COLUMNS = 64
"""Columns of outputs that are looked at."""
FEWEST_AGAIN = 10
"""Numbers that must come again: a clamped law has two, and one that rounds to 0 a third."""
SHARE_AGAIN = 0.05
"""Part of the different numbers that must come again."""
DIGITS = 12
"""Of a decimal; what a continuous law gives has some sixteen."""
HALF = 65_000
"""Below it a number may be one of half precision, whose values are few."""
FINEST, NEAR = 1e-9, 0.02
"""The part of the range to which numbers are told apart, and of a step to which they are on it."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A sentence; `sure` where independent draws would show this with probability below 1e-9."""

    sentence: str
    sure: bool


def doubts(first: Outputs, second: Outputs) -> list[Doubt]:
    """What in either sample, or in both together, speaks against independent draws."""
    parts = [outputs[: min(len(outputs), LOOKED_AT)] for outputs in (first, second)]
    found: list[Doubt] = []
    for name, part in zip(("first", "second"), parts, strict=True):
        risen = _monotone(part)
        if risen:
            found.append(Doubt(
                f"in the {name} sample {risen} never goes back from one output to the next, as row "
                "numbers, times and sorted files do and independent draws do not; leave that out, "
                "or record the outputs in the order in which they were drawn",
                sure=True,
            ))  # fmt: skip
        elif numbered := _row_numbers(part):
            found.append(Doubt(
                f"in the {name} sample {numbered} holds whole numbers of one range and none of "
                "them twice, as row numbers do and independent draws do not; leave that out",
                sure=True,
            ))  # fmt: skip
        elif _copied(part):
            found.append(Doubt(
                f"in the {name} sample the same outputs come again in the same order: they were "
                "copied or drawn with one seed twice, so they are not independent draws",
                sure=True,
            ))  # fmt: skip
        elif again := _again(part):
            place, repeated, distinct = again
            found.append(Doubt(
                f"in the {name} sample {repeated:,} of {distinct:,} different numbers that {place} "
                f"has in {len(part):,} outputs come more than once, and they lie on no grid: if "
                "these are answers that were kept and given again, the outputs are not independent "
                "draws and the error probability stated here does not hold",
                sure=False,
            ))  # fmt: skip
    if named := _one_text(*parts):
        place, one, two = named
        found.append(Doubt(
            f"{place} is {one:.60} in all of the first sample and {two:.60} in all of the "
            "second: if the mechanism did not release it and the recording program wrote it beside "
            "the outputs, it tells the files apart and not the databases; leave it out",
            sure=False,
        ))  # fmt: skip
    if not found and (shared := _shared(*parts)):
        place, number = shared
        found.append(Doubt(
            f"{number:,} numbers that {place} has, which lie on no grid, stand in both samples: if "
            "one was made from the other, they are not independent of each other and the error "
            "probability stated here does not hold",
            sure=False,
        ))  # fmt: skip
    return found


def _columns(outputs: Outputs) -> list[tuple[str, Array]]:
    """The places that hold a number in every output, and these numbers."""
    found = []
    for path in outputs.paths()[:COLUMNS]:
        column = outputs.column(Feature(path=path))
        values = np.asarray(column.values, dtype=float)
        if not column.labelled().any() and np.isfinite(values).all():
            found.append((path_name(path), values))
    return found


def _monotone(outputs: Outputs) -> str:
    """The place whose numbers or labels never go back, "" for none."""
    for place, values in [*_columns(outputs), *_labels(outputs)]:
        steps = np.diff(values)
        if (steps >= 0).all() or (steps <= 0).all():
            _, counts = np.unique(values, return_counts=True)
            # All orders of these values are as likely as each other, and two of them are sorted.
            arrangements = gammaln(len(values) + 1) - gammaln(counts + 1).sum()
            if arrangements > log(4 * COLUMNS / CHANCE):
                return place
    return ""


def _row_numbers(outputs: Outputs) -> str:
    """The place of row numbers in any order, "" for none.

    Independent draws that lie in a range of r whole numbers all differ with probability at most
    r! / ((r - n)! r**n), reached by the uniform law, and that is at most exp(-n (n - 1) / 2r). The
    range begins at the least of them, which may be each of the n.
    """
    for place, values in _columns(outputs):
        n = len(values)
        if n < 2 or not (values == np.round(values)).all() or len(np.unique(values)) < n:
            continue
        span = float(values.max() - values.min()) + 1
        if log(n) - n * (n - 1) / (2 * span) < log(CHANCE / (2 * COLUMNS)):
            return place
    return ""


def _one_text(first: Outputs, second: Outputs) -> tuple[str, str, str] | None:
    """(place, text, text) where a part beside others is one text in each sample, and two in all."""
    if min(len(first.paths()), len(second.paths())) < 2:
        return None
    for path in first.paths()[:COLUMNS]:
        columns = [outputs.column(Feature(path=path)) for outputs in (first, second)]
        used = [set(column.codes[column.labelled()]) if column.codes is not None else set()
                for column in columns]  # fmt: skip
        if all(len(some) == 1 and column.labelled().all()
               for some, column in zip(used, columns, strict=True)):  # fmt: skip
            one, two = (column.names[next(iter(some))]
                        for some, column in zip(used, columns, strict=True))  # fmt: skip
            if one != two:
                return path_name(path), one, two
    return None


def _labels(outputs: Outputs) -> list[tuple[str, Array]]:
    """The places that hold a label in every output, and its rank among them."""
    found = []
    for path in outputs.paths()[:COLUMNS]:
        column = outputs.column(Feature(path=path))
        if column.codes is not None and column.labelled().all():
            ranks = np.argsort(np.argsort(np.array(column.names)))
            found.append((path_name(path), ranks[column.codes]))
    return found


def _copied(outputs: Outputs) -> bool:
    """Whether a run of outputs comes twice that is too long for chance.

    Where two independent outputs are equal with probability q, two runs of length k that do not
    overlap are equal with probability q**k, and there are fewer than n*n/2 such pairs.
    """
    rows = _numbered(outputs)
    n, (_, counts) = len(rows), np.unique(rows, return_counts=True)
    equal = max(float((counts * (counts - 1.0)).sum()) / (n * (n - 1.0)), 1 / n)
    if equal >= 1:
        return False
    length = ceil((2 * log(n) + log(1 / CHANCE)) / -log(equal))
    if 2 * length > n:
        return False
    runs, covered = rows, 1
    while covered < length:
        step = min(covered, length - covered)
        runs = np.unique(runs[:-step] * n + runs[step:], return_inverse=True)[1]
        covered += step
    order = np.argsort(runs, kind="stable")
    begins = np.flatnonzero(np.diff(runs[order], prepend=-1))
    ends = np.append(begins[1:], len(order)) - 1
    return bool((order[ends] - order[begins] >= length).any())


def _numbered(outputs: Outputs) -> NDArray[np.int64]:
    """Each output as a number, equal where the outputs are equal."""
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(_key(row), len(known)) for row in outputs.rows()])


def _key(row: object) -> Hashable:
    return row if isinstance(row, (int, float, str)) else canonical(row)


def _again(outputs: Outputs) -> tuple[str, int, int] | None:
    """(place, numbers that come again, different numbers) of a column of kept answers."""
    for place, values in _columns(outputs):
        distinct, counts = np.unique(values, return_counts=True)
        repeated = int((counts > 1).sum())
        if repeated >= max(FEWEST_AGAIN, SHARE_AGAIN * len(distinct)) and not _on_grid(distinct):
            return place, repeated, len(distinct)
    return None


def _shared(first: Outputs, second: Outputs) -> tuple[str, int] | None:
    """(place, numbers that both samples have there) of a continuous column."""
    others = dict(_columns(second))
    for place, values in _columns(first):
        if place in others:
            one, two = np.unique(values), np.unique(others[place])
            both = np.intersect1d(one, two)
            least = max(FEWEST_AGAIN, SHARE_AGAIN * min(len(one), len(two)))
            if len(both) >= least and not _on_grid(np.union1d(one, two)):
                return place, len(both)
    return None


def _on_grid(distinct: Array) -> bool:
    """Whether sorted numbers have few digits, are half floats, or lie whole steps apart."""
    span = distinct[-1] - distinct[0]
    if not span > 0 or not np.isfinite(span):
        return True
    if all(float(f"{value:.{DIGITS}g}") == value for value in distinct.tolist()):
        return True
    if np.abs(distinct).max() < HALF and (distinct.astype(np.float16) == distinct).all():
        return True
    fine = np.unique(np.round((distinct - distinct[0]) / span / FINEST))
    if len(fine) < 3:
        return False
    nearest = int(np.argmin(np.diff(fine)))
    step = float(fine[nearest + 1] - fine[nearest])
    away = np.sort(np.abs(fine - fine[nearest]))[1:]
    # The step is known to a unit, and better with every number that is farther away.
    reach = 8 * step
    while True:
        near = away[away <= reach]
        places = np.round(near / step)
        step = float(near @ places / (places @ places))
        if reach >= away[-1]:
            break
        reach *= 8
    return bool((np.abs(away / step - np.round(away / step)) < NEAR).all())
