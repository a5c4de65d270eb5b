"""Outputs that one side gives and the other never does.

Such an event needs no cut. It is the union of all bins that were hit often on one side and not
once on the other; and, since a rare value is seldom seen among the few draws that fix the bins, the
values themselves of the latest draws: those that came back on one side only, and those beyond
all of the other side. What one fold shows, the other counts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...bounds.two_sample import at_least
from ...outputs.features import ABSENT, Column, Feature
from ...outputs.outputs import Outputs
from ..bins import MINUS_ZERO, numbers_of, tidy
from ..cuts import Family
from ..events import Among, Event, HalfLine
from ..ledger import Counted, Ledger
from .half_lines import half_line
from .ordered_bins import event_of_bins

FEWEST = 7
"""Hits on one side that make none on the other worth a test."""

MOST_NAMED = 64
"""Values that an event names, at most."""
FEW_NAMED = 12
"""An event that names no more counts as a plain one."""
SPARED = 4
"""One part in so many of the values beyond the other side may be cut off at a wider gap."""

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


def impossible(ledger: Ledger) -> Iterator[Family]:
    """Families of a single event: a half-line from either end, or any set of bins."""
    for place in sorted(ledger.coded):
        for reverse in (False, True):
            yield from _of_column(ledger.columns[place], reverse)


def _of_column(column: Counted, reverse: bool) -> Iterator[Family]:
    bins, counts = column.bins, column.counts[:, ::-1] if reverse else column.counts
    whole = counts.sum(axis=0)
    for upper in (False, True):
        found = _free_end(whole, bins.numeric, upper)
        if len(found):
            sets = [*(_free_end(part, bins.numeric, upper) for part in counts), found]
            event = half_line(bins, len(found) - 1, upper)
            yield _single(
                bins.feature, counts, reverse, sets, event, 1 + (bins.feature.kind != "value")
            )
    found = _never_missed(whole)
    if len(found):
        sets = [*map(_never_missed, counts), found]
        simplicity = (0 if bins.discrete else 3) + (bins.feature.kind != "value")
        event = event_of_bins(bins, found)
        yield _single(bins.feature, counts, reverse, sets, event, simplicity)


def _never_missed(counts: Counts) -> Counts:
    """The bins, but for the rest, that the second side never hit and the first often."""
    hit, missed = counts[:, :-1]
    return np.flatnonzero((hit >= FEWEST) & (missed == 0))


def _free_end(counts: Counts, numeric: int, upper: bool) -> Counts:
    """The bins from one end that the second side never hit and the first often."""
    hit, missed = counts[:, :numeric]
    taken = np.flatnonzero(missed)
    if not len(taken):
        return np.zeros(0, dtype=np.int64)
    found = np.arange(int(taken[-1]) + 1, numeric) if upper else np.arange(int(taken[0]))
    return found if hit[found].sum() >= FEWEST else found[:0]


def _single(
    feature: Feature,
    counts: Counts,
    reverse: bool,
    sets: list[Counts],
    event: Event,
    simplicity: int,
) -> Family:
    hits = np.array([counts[fold][:, sets[1 - fold]].sum(axis=-1) for fold in (0, 1)])
    return Family(
        reversed=reverse,
        hits=hits[..., None],
        sizes=counts.sum(axis=-1),
        feature=feature,
        event=lambda cut: event,
        simplicity=simplicity,
    )


@dataclass(frozen=True)
class Noticing:
    """What it takes for a value that one side never gives to be proposed and chosen.

    Of `draws` draws of a side it must be seen `FEWEST` times in one fold to be counted in the
    other, and counted `least` times in all to promise more than the event it is to replace.
    """

    draws: int
    least: int

    def chance(self, p: float) -> float:
        """The probability that a value of probability p is chosen."""
        sizes = (self.draws + 1) // 2, self.draws // 2
        if min(sizes) < 1:
            return 0.0
        least = max(self.least, 1)
        one, two = sizes
        enough = at_least(np.array([FEWEST, min(least, FEWEST)]), two, p)
        # Of i hits in one fold and j in the other, j are counted if i >= FEWEST, i if j is.
        i = np.arange(FEWEST, max(least, FEWEST) + 1)
        tail = at_least(i, one, p)
        exactly = tail - np.append(tail[1:], 0.0)
        both = float(exactly @ at_least(np.maximum(FEWEST, least - i), two, p))
        seen_once = float(tail[0] * (enough[1] - enough[0]))
        few = at_least(np.array([min(least, FEWEST), FEWEST]), one, p)
        return both + seen_once + float((few[0] - few[1]) * enough[0])


def impossible_values(features: list[Feature], first: Outputs, second: Outputs) -> Iterator[Family]:
    """Families of a single event: values of a feature on one side only, or beyond the other."""
    for feature in features:
        columns = [Values(side.column(feature)) for side in (first, second)]
        for reverse in (False, True):
            hit, missed = columns[::-1] if reverse else columns
            yield from _beyond(feature, hit, missed, reverse)
            yield from _repeated(feature, hit, missed, reverse)


@dataclass(frozen=True)
class Values:
    """A column of one side: its numbers and labels, by fold."""

    column: Column

    @cached_property
    def folds(self) -> tuple[Floats, Floats]:
        """The numbers of each fold in order, NaN last."""
        column = self.column
        found = []
        for fold in (0, 1):
            codes = None if column.codes is None else column.codes[fold::2]
            found.append(np.sort(numbers_of(Column(column.values[fold::2], codes, column.names))))
        return found[0], found[1]

    @cached_property
    def known(self) -> tuple[Floats, Floats]:
        """The same without NaN."""
        zero, one = (fold[: np.searchsorted(fold, np.inf, side="right")] for fold in self.folds)
        return zero, one

    @property
    def sizes(self) -> tuple[int, int]:
        """Entries of each fold."""
        size = len(self.column.values)
        return (size + 1) // 2, size // 2

    def counts(self, values: Floats, labels: tuple[str, ...]) -> Counts:
        """How often each fold has the values, NaN and the labels, shape (2, one for each)."""
        column, places = self.column, {name: i for i, name in enumerate(labels)}
        found = np.zeros((2, len(values) + 1 + len(labels)), dtype=np.int64)
        for fold, (numbers, known) in enumerate(zip(self.folds, self.known, strict=True)):
            found[fold, : len(values)] = np.searchsorted(
                known, values, side="right"
            ) - np.searchsorted(known, values)
            found[fold, len(values)] = len(numbers) - len(known)
            if column.codes is not None and labels:
                codes = column.codes[fold::2]
                times = np.bincount(codes[codes >= 0], minlength=len(column.names))
                for name, number in zip(column.names, times.tolist(), strict=False):
                    if name in places:
                        found[fold, len(values) + 1 + places[name]] = number
        return found


def _beyond(feature: Feature, hit: Values, missed: Values, reverse: bool) -> Iterator[Family]:
    for upper in (False, True):
        ours, theirs = (
            [fold if upper else -fold[::-1] for fold in side.known] for side in (hit, missed)
        )
        ends = [float(fold[-1]) if len(fold) else -np.inf for fold in theirs]
        if sum(_above(fold, np.nextafter(max(ends), np.inf)) for fold in ours) < FEWEST:
            continue
        cuts = [_cut(ours[fold], ends[fold]) for fold in (0, 1)]
        cuts.append(_cut(np.sort(np.concatenate(ours)), max(ends)))
        hits = np.array([[_above(side[f], cuts[1 - f]) for side in (ours, theirs)] for f in (0, 1)])
        threshold = cuts[2] if upper else -cuts[2]
        event = HalfLine(feature, 0.0 if threshold == 0 else threshold, upper)
        yield alone(feature, hits, (hit, missed), reverse, event, 1 + (feature.kind != "value"))


def _above(ordered: Floats, threshold: float) -> int:
    return len(ordered) - int(np.searchsorted(ordered, threshold))


def _cut(ordered: Floats, end: float) -> float:
    """Where to cut off the values beyond `end`: at the widest gap that spares nearly all of them.

    A few of them may be no more than the tail of what both sides give; infinite for too few.
    """
    beyond = ordered[np.searchsorted(ordered, end, side="right") :]
    if len(beyond) < FEWEST:
        return np.inf
    lows = np.concatenate([[end], beyond[: len(beyond) // SPARED]])
    highs = beyond[: len(lows)]
    with np.errstate(invalid="ignore", over="ignore"):
        gaps = np.nan_to_num(highs - lows, nan=0.0, posinf=np.finfo(float).max)
    widest = int(gaps.argmax())
    if lows[widest] == -np.inf:
        return float(highs[widest])
    return tidy(float(lows[widest]), float(highs[widest]))


def _repeated(feature: Feature, hit: Values, missed: Values, reverse: bool) -> Iterator[Family]:
    ordered = np.sort(np.concatenate(hit.known))
    again = ordered[FEWEST - 1 :][ordered[FEWEST - 1 :] == ordered[: 1 - FEWEST]]
    values = np.unique(again)
    labels = hit.column.names if hit.column.codes is not None else ()
    if not len(values) and not labels and len(ordered) == len(hit.column.values):
        return
    counts = np.stack([hit.counts(values, labels), missed.counts(values, labels)], axis=1)
    sets = [
        np.flatnonzero((hits >= FEWEST) & (misses == 0))
        for hits, misses in (*counts, counts.sum(axis=0))
    ]
    if not len(sets[2]):
        return
    often = counts.sum(axis=0)[0]
    sets = [np.sort(part[np.argsort(-often[part], kind="stable")][:MOST_NAMED]) for part in sets]
    hits = np.array([counts[fold][:, sets[1 - fold]].sum(axis=-1) for fold in (0, 1)])
    names: list[float | str] = [-0.0 if v == MINUS_ZERO else v for v in values.tolist()]
    names += [float("nan"), *labels]
    event = Among(feature, tuple(names[place] for place in sets[2].tolist()))
    # That an entry is there is said of the output, as a feature says it, and not of the entry.
    plain = feature.kind == "value" and ABSENT not in event.values
    simplicity = (0 if len(sets[2]) <= FEW_NAMED else 2) + (not plain)
    yield alone(feature, hits, (hit, missed), reverse, event, simplicity)


def alone(
    feature: Feature,
    hits: Counts,
    sides: tuple[Values, Values],
    reverse: bool,
    event: Event,
    simplicity: int,
) -> Family:
    """The family of one event, from its `hits` of (fold, side), the likelier side first."""
    return Family(
        reversed=reverse,
        hits=hits[..., None],
        sizes=np.array([side.sizes for side in sides]).T,
        feature=feature,
        event=lambda cut: event,
        simplicity=simplicity,
    )
