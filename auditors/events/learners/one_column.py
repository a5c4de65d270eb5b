"""Families of events of one feature, each from the counts or the values of that feature alone.

Half-lines come from both ends and in both directions. Sets of values or of intervals are taken in
the order of their learnt log-ratios: atoms and categories come one by one, and bins of a continuous
feature that touch become intervals. The order is learnt on one fold and counted on the other.

What one side gives and the other never does needs no cut. It is the union of all bins that were hit
often on one side and not once on the other; and, since a rare value is seldom seen among the few
draws that fix the bins, the values themselves of the latest draws: those that came back on one side
only, and those beyond all of the other side.

Rounding, clamping and default values put atoms into continuous noise. The bins that are fixed on
the first draws hold such a number apart only if it has a share of them; here numbers, NaN and
labels count that came back so many times among the latest draws, whatever their share, and speak
for one side. What one fold shows, the other counts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np
from numpy.typing import NDArray

from ...bounds.two_sample import at_least
from ...outputs.features import ABSENT, Column, Feature
from ...outputs.outputs import Outputs
from ..bins import LARGEST, MANY, MINUS_ZERO, MOST_DISTINCT, Bins, numbers_of, tidy
from ..events import Among, AnyOf, Event, Family, HalfLine, Intervals
from ..ledger import Counted, Ledger

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

BACK = 8
"""Times that a number has to come back."""
MOST = 4096
"""Numbers and labels that come back, beyond which a column is passed over."""
LEVELS = (0.0, 0.4, 0.8, 1.2, 1.8, 2.5)
"""Log-ratios that the numbers of a set are sure to exceed, by as many errors as caution asks."""
CAUTION = (1.0, 2.0)
"""Standard errors taken off a log-ratio, at least and at most; between them as many as the luckiest
of so many values is above 0. Of one atom of .001 against .0001, 16,384 draws a side show some 16
against 2, half of them in a fold: two errors took these for luck in 2 audits of 10, and what the
other fold had seen of it was lost."""


def half_lines(ledger: Ledger) -> Iterator[Family]:
    """One family for each column, end and direction."""
    for place in sorted(ledger.coded):
        yield from _ends_of_column(ledger.columns[place])


def _ends_of_column(column: Counted) -> Iterator[Family]:
    bins = column.bins
    if bins.numeric < 2:
        return
    counts = column.counts[..., : bins.numeric]
    sizes = column.counts.sum(axis=-1)
    for upper in (False, True):
        ordered = counts[..., ::-1] if upper else counts
        hits = np.cumsum(ordered, axis=-1)[..., :-1]
        for reverse in (False, True):
            yield Family(
                reversed=reverse,
                hits=hits[:, ::-1] if reverse else hits,
                sizes=sizes[:, :: -1 if reverse else 1],
                feature=bins.feature,
                event=lambda cut, upper=upper: half_line(bins, cut, upper),  # type: ignore[misc]
                simplicity=1 + (bins.feature.kind != "value"),
            )


def half_line(bins: Bins, cut: int, upper: bool) -> Event:
    """The half-line made of the first `cut` + 1 bins from one end."""
    if upper:
        first = bins.numeric - 1 - cut
        edge = bins.atoms[first] if bins.discrete else bins.edges[first - 1]
        if edge == -LARGEST:
            return HalfLine(bins.feature, -inf, True, strict=True)
        return HalfLine(bins.feature, _plain(edge), True)
    atom = bins.atoms[cut]
    if atom is not None:
        return HalfLine(bins.feature, _plain(atom), False)
    # Bins are half open, [edge, next edge).
    return HalfLine(bins.feature, _plain(bins.edges[cut]), False, strict=True)


def _plain(edge: float | None) -> float:
    # Infinite values begin at the largest number, which is in no bin of numbers: see `Bins.codes`.
    if edge == LARGEST:
        return inf
    return 0.0 if edge is None or edge == MINUS_ZERO else float(edge)


def ordered_bins(ledger: Ledger) -> Iterator[Family]:
    """One family for each column and direction."""
    for place in sorted(ledger.coded):
        for reverse in (False, True):
            yield from _sets_of_column(ledger.columns[place], reverse)


def _sets_of_column(column: Counted, reverse: bool) -> Iterator[Family]:
    bins, counts = column.bins, column.counts[:, ::-1] if reverse else column.counts
    seen = np.flatnonzero(counts.sum(axis=(0, 1))[:-1] > 0)
    if len(seen) < 2:
        return
    orders = _order(np.concatenate([counts, counts.sum(axis=0, keepdims=True)])[..., seen])
    hits = np.array(
        [np.cumsum(counts[fold][:, seen[orders[1 - fold]]], axis=-1)[:, :-1] for fold in (0, 1)]
    )
    order = seen[orders[2]]
    yield Family(
        reversed=reverse,
        hits=hits,
        sizes=counts.sum(axis=-1),
        feature=bins.feature,
        event=lambda cut: event_of_bins(bins, order[: cut + 1]),
        simplicity=(3 if not bins.discrete else 0 if bins.numeric < MANY else 2)
        + (bins.feature.kind != "value"),
    )


def _order(counts: NDArray[np.int64]) -> NDArray[np.intp]:
    """Bins from the one that speaks most for the first side, few draws saying little, a row each.

    `counts` has shape (rows, 2 sides, bins).
    """
    a, b = counts[:, 0] + 0.5, counts[:, 1] + 0.5
    return (-np.log(a / b) / (1 + 1 / a + 1 / b)).argsort(axis=-1, kind="stable")


def event_of_bins(bins: Bins, places: NDArray[np.int64]) -> Event:
    """The event that the feature falls in one of the bins."""
    end = _as_half_line(bins, set(places.tolist()))
    if end is not None:
        return end
    values: list[float | str] = []
    spans: list[tuple[float, float]] = []
    for index in sorted(int(b) for b in places):
        if index == bins.numeric:
            values.append(float("nan"))
        elif index > bins.numeric:
            values.append(bins.labels[index - bins.numeric - 1])
        elif bins.atoms[index] is not None:
            atom = float(bins.atoms[index] or 0.0)
            values.append(-0.0 if atom == MINUS_ZERO else atom)
        else:
            spans.append(_span(bins, index))
    parts: list[Event] = []
    if spans:
        parts.append(Intervals(bins.feature, _merged(spans)))
    if values:
        parts.append(Among(bins.feature, tuple(values)))
    return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))


def _as_half_line(bins: Bins, places: set[int]) -> Event | None:
    """The same set as a half-line, where a column of many whole values makes it one."""
    size, numeric = len(places), bins.numeric
    if not bins.discrete or numeric < MANY or not 1 < size < numeric:
        return None
    if places == set(range(size)):
        return HalfLine(bins.feature, float(bins.atoms[size - 1] or 0.0), False)
    if places == set(range(numeric - size, numeric)):
        return HalfLine(bins.feature, float(bins.atoms[numeric - size] or 0.0), True)
    return None


def _span(bins: Bins, index: int) -> tuple[float, float]:
    low = -inf if index == 0 else float(bins.edges[index - 1])
    return low, inf if index == len(bins.edges) else float(bins.edges[index])


def _merged(spans: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    merged = spans[:1]
    for low, high in spans[1:]:
        if merged[-1][1] >= low:
            merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return tuple(merged)


def impossible(ledger: Ledger) -> Iterator[Family]:
    """Families of a single event: a half-line from either end, or any set of bins."""
    for place in sorted(ledger.coded):
        for reverse in (False, True):
            yield from _missed_of_column(ledger.columns[place], reverse)


def _missed_of_column(column: Counted, reverse: bool) -> Iterator[Family]:
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


def recurring_values(features: list[Feature], first: Outputs, second: Outputs) -> Iterator[Family]:
    """Families of a single event: the feature is one of the numbers that speak for one side."""
    for feature in features:
        columns = [Values(side.column(feature)) for side in (first, second)]
        folds = [fold for column in columns for fold in column.known]
        labels = tuple(sorted({name for one in columns for name in one.column.names} - {ABSENT}))
        gaps = any(len(one) < size for column in columns
                   for one, size in zip(column.known, column.sizes, strict=True))  # fmt: skip
        if not gaps and not any((fold[1:] == fold[:-1]).any() for fold in folds):
            continue  # What comes back BACK times in all comes back in one of four folds.
        known = np.concatenate(folds)
        values, times = np.unique(known, return_counts=True)
        if len(values) <= MOST_DISTINCT:
            continue  # A few numbers and nothing else have bins of their own.
        values = values[times >= BACK]
        if len(values) + len(labels) > MOST:
            continue
        counts = np.stack([column.counts(values, labels) for column in columns], axis=1)
        names: list[float | str] = [-0.0 if v == MINUS_ZERO else v for v in values.tolist()]
        names += [float("nan"), *labels]
        for reverse in (False, True):
            ours = counts[:, ::-1] if reverse else counts
            sides = (columns[1], columns[0]) if reverse else (columns[0], columns[1])
            yield from _sets(feature, names, ours, sides, reverse)


def _sets(
    feature: Feature,
    names: list[float | str],
    counts: Counts,
    sides: tuple[Values, Values],
    reverse: bool,
) -> Iterator[Family]:
    luck = float(np.sqrt(2 * np.log(max(counts.shape[-1], 1))))
    caution = min(max(luck, CAUTION[0]), CAUTION[1])
    sure = [_surely(part, caution) for part in (*counts, counts.sum(axis=0))]
    seen: list[int] = []
    for level in LEVELS:
        sets = [np.flatnonzero(part > level) for part in sure]
        named = sets[2].tolist()
        if not 0 < len(named) <= MOST_NAMED or named == seen:
            continue
        seen = named
        hits = np.array([counts[fold][:, sets[1 - fold]].sum(axis=-1) for fold in (0, 1)])
        values = tuple(names[place] for place in named)
        simplicity = (0 if len(named) <= FEW_NAMED else 2) + (feature.kind != "value")
        yield alone(feature, hits, sides, reverse, Among(feature, values), simplicity)


def _surely(counts: Counts, caution: float) -> NDArray[np.float64]:
    """Log-ratios less so many standard errors."""
    a, b = counts + 0.5
    found: NDArray[np.float64] = np.log(a / b) - caution * np.sqrt(1 / a + 1 / b)
    return found
