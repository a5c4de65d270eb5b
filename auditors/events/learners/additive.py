"""Scores over many columns: sums of smoothed tables of log-ratios, and of the shape of the output.

Seven kinds compete: a table of its own for each value, one table for all values that look alike
(coordinates that carry the same small shift), tables for the first value and the steps between
neighbours (cumulative releases), tables for entries of lists by their labels, the shape of the
whole output with tables for its numbers, and weights for all numbers at once, by logistic
regression (numbers that depend on each other, and the letters of a chain). Where draws count for
both sides, tables of all values and of the shape are fitted at once. Tables are fitted on
one fold and score the other.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...outputs.features import PLACED
from ..bins import LARGEST, MANY, Bins, PointTable
from ..estimates import Believed, believed, likeliest_odds, log_ratios, regressed, smooth
from ..events import AdditiveScore, Family, Shape
from ..ledger import BUCKETS, Counted, Ledger

Floats = NDArray[np.float64]

FEWEST = 100
"""Draws a side below which no score is learnt."""
THIN = 6.0
"""Draws a bin of the scarcer side below which neighbours are joined."""
OFTEN = 16
"""Times that a shape must be seen on average."""
DECIDED = 60_000
"""Draws a side after which shapes that are too rare are counted no more."""
RETIRED_FROM = 30_000
"""Draws a side from which on scores that are too far behind are given up."""
BEHIND = 3.0
"""Standard errors of the log-loss behind the best score that rule a score out."""
AGAINST = 4.0
"""Standard errors by which columns of a group must pull both ways for it to be split."""
MOST_SHAPES = 2000
"""Shapes that a score lists, those that weigh most."""
MOST_FITTED = 1024
"""Shapes fitted together with values, the most common ones."""
SEEN = 12
"""Shapes that are fitted together with values, and draws that have each of them."""
GRAIN = 8192
"""Steps between the smallest and the largest score, by which draws are sorted."""
RATIO = 1.12
"""By how much the draws beyond one cut exceed those beyond the one before."""
FIRST_CUT = 8
"""Draws of both sides beyond the outermost cut."""
DIGITS = 5
"""Digits after the point of a weight, so that it is written as it was used."""
SILENT = 0.02
"""Part of the span of a score that the columns left out may move it by."""
MOST_NUMBERS = 128
"""Numbers that a linear score is fitted on, at most."""
MOST_ROWS = 262_144
"""Draws of a side and fold that weights are fitted on: of 65,536 the weights of 64 numbers with
Gaussian noise point so far off that .8 % of the loss is not seen."""
CURVED = 4096
"""Draws of a side whose products of two numbers are summed, about, for the curve of the fit."""
STEEPER = 1.3
"""The curve over that of so many draws: of 128 Gaussian numbers it is about .77 of it at least."""
RIDGE = 20.0
"""Strength of the prior that holds weights at 0, in draws."""
STEPS = 12
"""Steps of Newton, at most."""
SETTLED = 1e-3
"""The last step of Newton is no longer than this."""
WIDEST = 8.0
"""Standard deviations from the mean beyond which a number weighs no more."""


@dataclass(slots=True)
class Fitted:
    """A score fitted on some draws: points for each code of its columns, and for each bucket."""

    tables: dict[int, Floats]
    buckets: Floats | None = None
    symbols: dict[int, Floats] | None = None
    """What the buckets would be were all values independent, by column."""
    belief: Believed | None = None

    def points(self, ledger: Ledger, rows: slice) -> tuple[Floats, Floats]:
        """The score of kept draws, both sides."""
        found = []
        for side in (0, 1):
            total = np.zeros(len(range(ledger.rows)[rows]))
            for place, table in self.tables.items():
                total += table.take(ledger.codes(place)[side][rows])
            if self.buckets is not None:
                total += self.buckets.take(ledger.keys()[side][rows])
            found.append(total)
        return found[0], found[1]


@dataclass(slots=True)
class Scored:
    """A kind of score with the histograms of its held-out points."""

    kind: str
    low: float
    step: float
    counts: NDArray[np.int64]
    """Shape (2 folds, 2 sides, GRAIN)."""
    gain: float
    """Mean held-out log-loss below that of a coin, and its standard error."""
    error: float
    final: Fitted | None
    """The score fitted on both folds, where anybody needed it."""
    shares: tuple[float, Floats] = (0.0, np.zeros(0))
    useless: set[int] = field(default_factory=set)
    """Columns that were left out of the score."""


def scores(ledger: Ledger, retired: set[str]) -> list[Scored]:
    """All kinds of scores that the ledger's columns allow, the best held-out log-loss first."""
    if ledger.draws < FEWEST:
        return []
    found = [_cross_fitted(ledger, kind) for kind in _kinds(ledger) if kind not in retired]
    found.sort(key=lambda scored: -scored.gain)
    if found and ledger.draws >= RETIRED_FROM:
        best = found[0]
        for other in found[1:]:
            if other.gain + BEHIND * max(other.error, best.error) < best.gain:
                retired.add(other.kind)
    return found


def _values(ledger: Ledger) -> list[int]:
    return [i for i in sorted(ledger.wanted) if ledger.columns[i].bins.feature.kind == "value"]


def _steps(ledger: Ledger) -> list[int]:
    return [i for i in sorted(ledger.wanted) if ledger.columns[i].bins.feature.kind == "difference"]


def _kinds(ledger: Ledger) -> list[str]:
    values, steps = _values(ledger), _steps(ledger)
    linear = ["linear"] * (2 <= len(_numbers(ledger)) <= MOST_NUMBERS)
    if not values:
        return linear
    patterns = ledger.patterns
    if patterns is not None:
        seen = int((patterns.counts.sum(axis=(0, 1)) > 0).sum())
        if 2 * ledger.draws < OFTEN * seen:
            if ledger.draws >= DECIDED:
                ledger.forget_patterns()
            patterns = None
    if len(values) == 1 and ledger.columns[values[0]].bins.discrete:
        return linear
    shared = any(ledger.columns[i].group >= 0 for i in values)
    if patterns is not None:
        found = ["pattern"] + ["pattern-pooled"] * (shared and not _all_discrete(ledger, values))
    else:
        found = ["own"] + ["pooled"] * shared
    if steps:
        found += ["steps"] + ["steps-pooled"] * any(ledger.columns[i].group >= 0 for i in steps)
    found += ["joint"] * (ledger.weights is not None)
    return found + ["labelled"] * (len(_labelled(ledger)) > 1) + linear


def _labelled(ledger: Ledger) -> list[int]:
    """Columns of entries with a label; the last of them may be the first, so it is left out."""
    return [
        i for i in sorted(ledger.wanted)
        if (asked := ledger.columns[i].bins.feature).kind in PLACED and asked.place >= 0
    ]  # fmt: skip


def _numbers(ledger: Ledger) -> list[int]:
    """The columns with numbers that a weight may be given to."""
    return [
        i
        for i in sorted(ledger.wanted)
        if ledger.columns[i].bins.feature.kind in ("value", "count", "labelled", "after")
        and ledger.columns[i].bins.numeric > 1
    ]


def _all_discrete(ledger: Ledger, places: list[int]) -> bool:
    return all(ledger.columns[i].bins.discrete for i in places)


def _columns_of(ledger: Ledger, kind: str) -> list[int]:
    if kind == "linear":
        return _numbers(ledger)
    if kind == "labelled":
        return _labelled(ledger)
    values = _values(ledger)
    return values[:1] + _steps(ledger) if kind.startswith("steps") else values


def needed(ledger: Ledger, kinds: set[str]) -> set[int]:
    """The columns that scores of these kinds are made of."""
    found = {place for kind in kinds for place in _columns_of(ledger, kind)}
    return found | set(ledger.patterns.columns if ledger.patterns is not None else ())


def _cross_fitted(ledger: Ledger, kind: str) -> Scored:
    # Of most kinds no event is ever asked for, which is what both folds together are fitted for.
    final = _fit(ledger, kind, 2) if kind.startswith("pattern") else None
    belief = None if final is None else final.belief
    zero, one = (_fit(ledger, kind, fold, belief) for fold in (0, 1))
    useless = _useless(ledger, zero, one) if kind in ("own", "labelled") else set()
    scored = _scored(ledger, kind, _without(zero, useless), _without(one, useless), final)
    scored.useless = useless
    return scored


def _useless(ledger: Ledger, zero: Fitted, one: Fitted) -> set[int]:
    """Columns whose table makes the held-out log-loss no better, such as numbers of a request.

    All of them together may tell something where each by itself does not, and then all stay.
    """
    found = set()
    for place in zero.tables:
        counts = ledger.columns[place].counts
        gain = 0.0
        for fitted, held in ((zero, counts[1]), (one, counts[0])):
            points = fitted.tables[place]
            losses = np.log(2) - np.array([np.logaddexp(0, -points), np.logaddexp(0, points)])
            gain += float((held * losses).sum())
        if gain <= 0:
            found.add(place)
    return found if len(found) < len(zero.tables) else set()


def _without(fitted: Fitted, places: set[int]) -> Fitted:
    fitted.tables = {i: table for i, table in fitted.tables.items() if i not in places}
    return fitted


def _fit(ledger: Ledger, kind: str, part: int, belief: Believed | None = None) -> Fitted:
    """The score of one kind from fold 0, fold 1, or (2) both.

    How far shapes are believed to depart from their values is learnt from both folds at once.
    """
    places = _columns_of(ledger, kind)
    if kind == "linear":
        return Fitted(_weighted(ledger, places, part))
    if kind == "joint":
        return _jointly(ledger, places, part)
    counts = {i: _part(ledger.columns[i].counts, part) for i in places}
    symbols, numbers = _tables(ledger, places, counts, pooled=kind.endswith("pooled"))
    if not kind.startswith("pattern"):
        return Fitted({i: np.round(symbols[i] + numbers[i], DIGITS) for i in places})
    patterns = ledger.patterns
    assert patterns is not None
    a, b = _part(patterns.counts, part).astype(float)
    seen = np.flatnonzero(a + b > 0)
    rows, sides = _examples(ledger)
    prior = np.zeros(BUCKETS)
    for place in places:
        for side in (0, 1):
            mine = seen[(sides[seen] == side) & (rows[seen] >= 0)]
            prior[mine] += symbols[place].take(ledger.codes(place)[side][rows[mine]])
    belief = belief or believed(a[seen], b[seen], prior[seen])
    odds = likeliest_odds(a[seen], b[seen], prior[seen], belief)
    buckets = np.round(belief.share * prior, DIGITS)
    buckets[seen] = np.round(odds, DIGITS)
    numeric = {i: np.round(numbers[i], DIGITS) for i in places if numbers[i].any()}
    apart = {i: np.round(belief.share * symbols[i], DIGITS) for i in places}
    return Fitted(numeric, buckets, apart, belief)


def _weighted(ledger: Ledger, places: list[int], part: int) -> dict[int, Floats]:
    """Log-odds of the first side by logistic regression on the numbers, with a ridge."""
    levels = [_levels(ledger.columns[i]) for i in places]
    rows = slice(None) if part == 2 else slice(part, None, 2)
    blocks = []
    for side in (0, 1):
        codes = [ledger.codes(i)[side][rows][:MOST_ROWS] for i in places]
        found = [level.take(code) for level, code in zip(levels, codes, strict=True)]
        every = np.ones(len(codes[0]))
        times = every if ledger.weights is None else ledger.weights[side][rows][:MOST_ROWS]
        blocks.append((np.stack([*found, every]), 1.0 - side, times))
    # No row is curved more than where both sides are as likely, so that each step with that curve
    # makes the fit better. Sums are numpy's own: those of a linear algebra library differ by
    # machine and by threads. How numbers hang together is read off some of the rows, which may
    # say too little of it by a part, so that the curve is taken for `STEEPER`.
    curve = RIDGE * np.eye(len(places) + 1)
    for numbers, _, times in blocks:
        some = slice(None, None, 1 + numbers.shape[1] // CURVED)
        part = np.einsum("in,jn->ij", numbers[:, some] * times[some], numbers[:, some])
        whole = np.einsum("in,in,n->i", numbers, numbers, times)
        scale = np.sqrt(whole / np.maximum(np.diag(part), 1e-300))
        curve += part * np.outer(scale, scale) * (1.0 if some.step == 1 else STEEPER) / 4
    inverse = np.linalg.inv(curve)
    weights = np.zeros(len(places) + 1)
    for _ in range(STEPS):
        slope = -RIDGE * weights
        for numbers, target, times in blocks:
            odds = np.einsum("i,in->n", weights, numbers)
            # Beyond 700 the share is 0 or 1 to the last bit.
            share = 1 / (1 + np.exp(-np.maximum(odds, -700.0)))
            slope += np.einsum("in,n->i", numbers, times * (target - share))
        step = np.einsum("ij,j->i", inverse, slope)
        weights += step
        if np.abs(step).max() < SETTLED:
            break
    return {
        i: np.round(weight * level + (i == places[0]) * weights[-1], DIGITS)
        for i, weight, level in zip(places, weights[:-1].tolist(), levels, strict=True)
    }


def _jointly(ledger: Ledger, places: list[int], part: int) -> Fitted:
    """Log-odds of the first side by the regression of labels on all values and the shape."""
    assert ledger.weights is not None
    rows = slice(None) if part == 2 else slice(part, None, 2)
    a, b = ledger.weights[:, rows]
    labels = (a - b) / (a + b)
    codes = [ledger.codes(i)[0][rows].astype(np.intp) for i in places]
    sizes = [ledger.columns[i].bins.size for i in places]
    shapes = np.zeros(0, dtype=np.intp)
    if ledger.patterns is not None:
        keys = ledger.keys()[0]
        known, times = np.unique(keys, return_counts=True)
        often = np.argsort(-times, kind="stable")[:MOST_FITTED]
        shapes = known[often[times[often] >= SEEN]].astype(np.intp)
        place = np.full(BUCKETS, len(shapes), dtype=np.intp)
        place[shapes] = np.arange(len(shapes))
        codes.append(place[keys[rows]])
        sizes.append(len(shapes) + 1)
    tables = regressed(codes, sizes, labels, a + b, float(np.average(labels**2, weights=a + b)))
    # A label of mean t is a log-ratio of 2 atanh(t), and t is small where draws count for both.
    found = [np.round(2 * table, DIGITS) for table in tables]
    values = dict(zip(places, found[: len(places)], strict=True))
    if ledger.patterns is None:
        return Fitted(values)
    buckets = np.zeros(BUCKETS)
    buckets[shapes] = found[-1][:-1]
    return Fitted(values, buckets, {})


def _levels(column: Counted) -> Floats:
    """A number for each bin of a column, of mean 0 and variance 1; what is no number is 0.

    Whole numbers that were not seen when bins were fixed are taken for the farthest of those that
    were.
    """
    bins, counts = column.bins, column.counts.sum(axis=(0, 1)).astype(float)
    edges = np.array(bins.edges)
    middle = np.zeros(bins.numeric)
    if bins.discrete:
        middle = np.array([0.0 if atom is None else atom for atom in bins.atoms])
    elif len(edges) > 1:
        with np.errstate(over="ignore"):
            ends = np.array([2 * edges[0] - edges[1], 2 * edges[-1] - edges[-2]])
        bounds = np.clip(np.concatenate([ends[:1], edges, ends[1:]]), -LARGEST, LARGEST)
        middle = bounds[1:] / 2 + bounds[:-1] / 2
    weight = counts[: bins.numeric]
    if not weight.sum() or not np.isfinite(middle).all():
        return np.zeros(bins.size)
    # Neither the sum of two doubles nor the square of one need be a double.
    middle = np.ldexp(middle, -int(np.frexp(middle)[1].max()))
    middle -= np.average(middle, weights=weight)
    spread = np.sqrt(np.average(middle**2, weights=weight))
    found = np.zeros(bins.size)
    found[: bins.numeric] = middle / max(spread, 1e-300)
    if bins.discrete and not bins.labels:
        found[-1] = found[np.abs(found).argmax()]
    return found if bins.discrete else np.clip(found, -WIDEST, WIDEST)


def _part(counts: NDArray[np.int64], part: int) -> NDArray[np.int64]:
    return counts.sum(axis=0) if part == 2 else counts[part]


def _examples(ledger: Ledger) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For every bucket a kept draw that has it, and its side; -1 for none."""
    rows, sides = np.full(BUCKETS, -1), np.zeros(BUCKETS, dtype=np.int64)
    for side, keys in enumerate(ledger.keys()):
        rows[keys[::-1]] = np.arange(len(keys))[::-1]
        sides[keys] = side
    return rows, sides


def _tables(
    ledger: Ledger, places: list[int], counts: dict[int, NDArray[np.int64]], *, pooled: bool
) -> tuple[dict[int, Floats], dict[int, Floats]]:
    """For each column the points of its symbols, and those of numbers given that it is one."""
    families = _families_of(ledger, places, counts) if pooled else [[i] for i in places]
    totals = [np.sum([counts[i] for i in members], axis=0).astype(float) for members in families]
    scales = [_scale(ledger.columns[members[0]].bins) for members in families]
    curves = _smoothed([total[:, scale] for total, scale in zip(totals, scales, strict=True)])
    every = np.concatenate(totals, axis=1)
    ratio, noise = log_ratios(*every)
    shrunk = np.where(every.sum(axis=0) > 0, ratio / (1 + noise), 0.0)
    symbols: dict[int, Floats] = {}
    numbers: dict[int, Floats] = {}
    end = 0
    for members, total, scale, curve in zip(families, totals, scales, curves, strict=True):
        bins = ledger.columns[members[0]].bins
        start, end = end, end + bins.size
        symbol, number = shrunk[start:end], np.zeros(bins.size)
        if bins.discrete:
            symbol[scale] = curve
        elif len(scale):
            a, b = total[:, scale].sum(axis=1)
            level = np.log((a + 0.5) / (b + 0.5))
            number[scale] = curve - level
            symbol[scale] = level / (1 + 1 / (a + 0.5) + 1 / (b + 0.5))
        for i in members:
            symbols[i], numbers[i] = symbol, number
    return symbols, numbers


def _scale(bins: Bins) -> NDArray[np.int64]:
    """The bins along which neighbours are alike."""
    if bins.discrete:
        return np.arange(bins.numeric if bins.numeric >= MANY else 0)
    return np.array([i for i, atom in enumerate(bins.atoms) if atom is None], dtype=np.int64)


def _smoothed(counts: list[Floats]) -> list[Floats]:
    """Curves of log-ratios for several columns at once, thin bins joined first."""
    joined, places = [], []
    for count in counts:
        size = count.shape[1]
        scarce = max(min(count.sum(axis=1), default=0.0), 1.0)
        width = max(1, min(size, int(np.ceil(THIN * size / scarce)))) if size else 1
        place = np.arange(size) // width
        places.append(place)
        most = int(place[-1]) + 1 if size else 0
        joined.append(np.array([np.bincount(place, side, minlength=most) for side in count]))
    longest = max((part.shape[1] for part in joined), default=0)
    if not longest:
        return [np.zeros(0) for _ in counts]
    padded = np.zeros((len(joined), 2, longest))
    for row, part in zip(padded, joined, strict=True):
        row[:, : part.shape[1]] = part
    curves = smooth(*log_ratios(padded[:, 0], padded[:, 1]))
    return [curve[place] for curve, place in zip(curves, places, strict=True)]


def _families_of(
    ledger: Ledger, places: list[int], counts: dict[int, NDArray[np.int64]]
) -> list[list[int]]:
    """Columns that share a table: of like values, and not against each other."""
    groups: dict[int, list[int]] = {}
    alone = []
    for i in places:
        group = ledger.columns[i].group
        if group < 0:
            alone.append([i])
        else:
            groups.setdefault(group, []).append(i)
    found = alone
    for members in groups.values():
        ratio, noise = log_ratios(*np.moveaxis(np.array([counts[i] for i in members], float), 1, 0))
        signals = ratio / np.sqrt(noise)
        left, strength, _ = np.linalg.svd(signals, full_matrices=False)
        size = np.sqrt(signals.shape[0]) + np.sqrt(signals.shape[1])
        along = left[:, 0] * strength[0]
        along *= 1.0 if along.sum() >= 0 else -1.0
        split = strength[0] > 1.5 * size and along.min() < -AGAINST and along.max() > AGAINST
        if split:
            found.append([i for i, sign in zip(members, along, strict=True) if sign >= 0])
            found.append([i for i, sign in zip(members, along, strict=True) if sign < 0])
        else:
            found.append(members)
    return found


def _scored(ledger: Ledger, kind: str, zero: Fitted, one: Fitted, final: Fitted | None) -> Scored:
    """Held-out points: what fold 0 teaches scores fold 1, and the other way round."""
    held = [one.points(ledger, slice(0, None, 2)), zero.points(ledger, slice(1, None, 2))]
    low = min(float(side.min(initial=0.0)) for fold in held for side in fold)
    high = max(float(side.max(initial=0.0)) for fold in held for side in fold)
    step = max(high - low, 1e-9) / (GRAIN - 1)
    none = None, None
    counts = np.array([
        [_histogram(side, low, step, weights)
         for side, weights in zip(points, none if ledger.weights is None
                                  else ledger.weights[:, fold::2], strict=True)]
        for fold, points in enumerate(held)
    ])  # fmt: skip
    grid = low + step * np.arange(GRAIN)
    total = counts.sum(axis=0)
    gains = np.log(2) - np.array([np.logaddexp(0, -grid), np.logaddexp(0, grid)])
    mean = float((total * gains).sum() / total.sum())
    square = float((total * gains**2).sum() / total.sum())
    error = np.sqrt(max(square - mean**2, 0.0) / total.sum())
    return Scored(kind, low, step, counts, mean, float(error), final)


def _histogram(
    points: Floats, low: float, step: float, weights: Floats | None
) -> NDArray[np.int64]:
    places = ((points - low) / step + 0.5).astype(np.intp)
    found = np.bincount(places, weights, minlength=GRAIN)
    return found if weights is None else np.rint(found).astype(np.int64)


def families(ledger: Ledger, scored: Scored) -> Iterator[Family]:
    """Thresholds of the score, in both directions."""
    for reverse in (False, True):
        counts = scored.counts[..., :] if reverse else scored.counts[..., ::-1]
        nested = np.cumsum(counts, axis=-1)
        pooled = nested.sum(axis=(0, 1))
        wanted = FIRST_CUT * RATIO ** np.arange(200)
        wanted = wanted[wanted < 0.97 * pooled[-1]]
        cuts = np.unique(np.searchsorted(pooled, wanted))
        cuts = cuts[pooled[cuts] < pooled[-1]]
        if not len(cuts):
            continue
        hits = nested[..., cuts]
        points = scored.low + scored.step * np.arange(GRAIN)
        points = points if reverse else points[::-1]
        sums = np.cumsum(points * counts.sum(axis=(0, 1)))[cuts]
        means = np.diff(sums, prepend=0) / np.maximum(np.diff(pooled[cuts], prepend=0), 1)
        shares = pooled[cuts] / pooled[-1]
        yield Family(
            reversed=reverse,
            hits=hits[:, ::-1] if reverse else hits,
            sizes=nested[:, :: -1 if reverse else 1, -1],
            event=lambda cut, shares=shares, reverse=reverse: _event(  # type: ignore[misc]
                ledger, scored, float(shares[cut]), reverse
            ),
            scores=-means if reverse else means,
            simplicity=5,
        )


def _event(ledger: Ledger, scored: Scored, share: float, reverse: bool) -> AdditiveScore:
    """The score fitted on all draws, cut where the same share of kept draws lies above."""
    tables, shapes, points = _final(ledger, scored)
    sign = -1.0 if reverse else 1.0
    order = np.argsort(sign * points)
    pooled = (sign * points)[order]
    if ledger.weights is not None:
        below = np.cumsum(ledger.weights.reshape(-1)[order])
        share = 1 - np.searchsorted(below, (1 - share) * below[-1]) / len(pooled)
    rank = len(pooled) - max(1, min(round(share * len(pooled)), len(pooled) - 1))
    cut = _between(pooled, rank)
    if reverse:
        tables = tuple(table.negated() for table in tables)
        shapes = tuple(Shape(shape.symbols, -shape.points) for shape in shapes)
    return AdditiveScore(tables, cut, shapes)


def _between(ordered: Floats, rank: int) -> float:
    """A threshold near the rank that no rounding of sums crosses: in the nearest gap of points."""
    gaps = np.flatnonzero(np.diff(ordered) > 1e-6) + 1
    if not len(gaps):
        return float(ordered[0])
    near = gaps[np.argmin(np.abs(gaps - rank))]
    low, high = float(ordered[near - 1]), float(ordered[near])
    for digits in range(1, 17):
        rounded = float(f"{(low + high) / 2:.{digits}g}")
        if low + (high - low) / 4 < rounded < high - (high - low) / 4:
            return rounded
    return (low + high) / 2


def _final(
    ledger: Ledger, scored: Scored
) -> tuple[tuple[PointTable, ...], tuple[Shape, ...], Floats]:
    """Tables and shapes of the event, and the points they give the kept draws."""
    final = scored.final = scored.final or _without(_fit(ledger, scored.kind, 2), scored.useless)
    if final.buckets is None:
        told = Fitted(_telling(final.tables))
        tables = tuple(_table(ledger.columns[i], points) for i, points in told.tables.items())
        return tables, (), np.concatenate(told.points(ledger, slice(None)))
    patterns = ledger.patterns
    assert patterns is not None
    assert final.symbols is not None
    rows, sides = _examples(ledger)
    places = _columns_of(ledger, scored.kind)
    seen = np.flatnonzero(rows >= 0)
    # Too many shapes are listed only where they say other things than their values.
    apart = final.symbols if len(seen) > MOST_SHAPES else {}
    nothing = {i: np.zeros(ledger.columns[i].bins.size) for i in places}
    symbols = {i: ledger.columns[i].bins.symbols() for i in places}
    codes = {
        i: np.where(
            sides[seen] == 0,
            *(ledger.codes(i)[side].take(rows[seen], mode="clip") for side in (0, 1)),
        )
        for i in places
    }
    told = np.sum([apart.get(i, nothing[i]).take(codes[i]) for i in places], axis=0)
    extra = np.round(final.buckets[seen] - told, DIGITS)
    weight = np.abs(extra) * np.sqrt(patterns.counts.sum(axis=(0, 1))[seen])
    listed = np.argsort(-weight, kind="stable")[:MOST_SHAPES]
    kept = np.zeros(BUCKETS)
    kept[seen] = told
    kept[seen[listed]] += extra[listed]
    shapes = tuple(
        Shape(tuple(int(symbols[i][codes[i][k]]) for i in places), float(extra[k]))
        for k in listed.tolist()
        if extra[k]
    )
    tables = tuple(
        _table(
            ledger.columns[i],
            np.round(final.tables.get(i, nothing[i]) + apart.get(i, nothing[i]), DIGITS),
        )
        for i in places
    )
    points = Fitted(final.tables, kept).points(ledger, slice(None))
    return tables, shapes, np.concatenate(points)


def _table(column: Counted, points: Floats) -> PointTable:
    return PointTable(column.bins, tuple(points.tolist()))


def _telling(tables: dict[int, Floats]) -> dict[int, Floats]:
    """The tables without those that hardly move the score, so that the event is a shorter sentence.

    Together they move it by at most SILENT of what the others do.
    """
    ranges = sorted((float(np.ptp(points)), place) for place, points in tables.items())
    silent, moved = set(), 0.0
    for span, place in ranges[:-1]:
        moved += span
        if moved > SILENT * ranges[-1][0]:
            break
        silent.add(place)
    return {place: points for place, points in tables.items() if place not in silent}
