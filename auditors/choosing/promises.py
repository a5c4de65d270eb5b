"""What an event promises: where to cut a family, the bound foreseen there, and which event is best.

A family is a nested sequence of events; the counts of each on the cut sample are known. The aim
is the lower bound that the event will give at the size of the test, never a fixed tail mass. There
are two rules for where to cut, and the cut is chosen on one fold and counted on the other.
"""

from dataclasses import dataclass, replace
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from ..events.estimates import NO_WALK, log_ratios, smooth_counts
from ..events.events import Family, HalfLine

Floats = NDArray[np.float64]

TAU = 2.0
"""Standard errors by which a smaller cut must beat a larger one."""
FEWEST_SLICES = 8
"""Slices that a line is fitted through, at least."""
FEWEST_HITS = 12
"""Draws of both sides in a slice that tells something."""
FIRST_SLICE = 0.7
"""Where the middle of the outermost slice is taken to lie, in widths of the next one."""
FITS = 1.6
"""Squared distance from a line, in variances of its slices, beyond which it is none."""
SLOPES = np.array([0.0, 0.4, 0.6, 0.8, 1.0, 1.25])
"""Slopes tried from a score to the log-ratio: 1 if the score is a log-likelihood ratio, 0 if it is
worth nothing."""
FINALISTS = 6
"""Families that are valued whole, after a rough look at all."""
GAIN = 0.005
"""Part of its value by which an event must be better to be taken in place of a plainer one."""
SLACK = 0.5
"""Standard errors of the best event within which another counts as equally good."""
LUCKIEST = 2.0
"""Standard errors of their difference within which a rarer event is no better than a likelier one:
of a dozen rare events with one loss, the luckiest stands out by two."""
WAGER = 0.2
"""Part of its value that is given up at most for that: of few draws everything may be luck."""
RICHER = 3.0
"""Standard errors by which an event of a richer kind has to promise more than a simpler one."""
CURVE_SPREAD = 0.6
"""Standard error of a log-ratio that the curve along a score supports, as a part of the counts'."""
LINE_SPREAD = 0.3
"""The same, where the log-ratios are a line in the threshold."""
NEVER = 9.0
"""Hits that the other side had to have, if an event lost no more than the one it is to replace,
for their absence to be no luck: among thousands of events one is missed by chance so often."""
FAR_BEHIND = 4.0
"""Standard errors added to what a column may promise, before it counts as hopeless."""


@dataclass(frozen=True, slots=True)
class Aim:
    """The test to come: its draws a side, delta and the quantile of its level."""

    trials: int
    delta: float
    quantile: float


def predicted_bound(x: Floats, y: Floats, sizes: Floats, aim: Aim) -> tuple[Floats, Floats]:
    """(bound foreseen, log-ratio foreseen) for x and y hits; -inf where p <= delta."""
    p, q = x / sizes[0], np.minimum((y + 1) / sizes[1], 1.0)
    excess = p - aim.delta
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(excess > 0, np.log(np.maximum(excess, 1e-300) / q), -np.inf)
        variance = p * (1 - p) / np.maximum(excess, 1e-300) ** 2 + (1 - q) / q
        bound = ratio - aim.quantile * np.sqrt(np.maximum(variance, 0) / aim.trials)
    return np.where(excess > 0, bound, -np.inf), ratio


def lepski(x: Floats, y: Floats, sizes: Floats, aim: Aim) -> int:
    """The largest cut that no smaller one beats by more than TAU standard errors.

    The standard error is that of the difference of two nested cuts, Lepski (1990).
    """
    bound, _ = predicted_bound(x, y, sizes, aim)
    with np.errstate(divide="ignore", invalid="ignore"):
        first = x / np.maximum(x - aim.delta * sizes[0], 1e-9) ** 2
        noise = first + 1 / np.maximum(y, 1)
        spread = TAU * np.sqrt(np.maximum(noise[:, None] - noise[None, :], 0))
        beaten = (bound[:, None] - spread > bound[None, :]) & _smaller(len(x))
    good = np.flatnonzero(~beaten.any(axis=0) & np.isfinite(bound))
    return int(good[-1]) if len(good) else int(np.argmax(bound))


def _smaller(size: int) -> NDArray[np.bool_]:
    return np.arange(size)[:, None] < np.arange(size)[None, :]


def straight(family: Family) -> Floats | None:
    """The log-ratio of each slice as a line in the threshold of half-lines; None if none fits."""
    size = family.hits.shape[-1]
    if size < FEWEST_SLICES or not isinstance(family.event(0), HalfLine):
        return None
    ends = [family.event(cut) for cut in range(size)]
    thresholds = np.array([end.threshold for end in ends if isinstance(end, HalfLine)])
    if len(thresholds) < size or not np.isfinite(thresholds).all():
        return None
    # Neither the sum of two doubles nor the square of one need be a double.
    thresholds = np.ldexp(thresholds, -int(np.frexp(thresholds)[1].max()))
    slices = np.diff(family.hits.sum(axis=0).astype(float), prepend=0, axis=-1)
    ratio, noise = log_ratios(*slices)
    # The first slice has no other end.
    places = np.concatenate([thresholds[:1], (thresholds[1:] + thresholds[:-1]) / 2])
    places[0] += FIRST_SLICE * (thresholds[0] - thresholds[1])
    told = slices.sum(axis=0) >= FEWEST_HITS
    if told.sum() < FEWEST_SLICES:
        return None
    weight = told / noise
    places = places - np.average(places, weights=weight)
    steep = (weight * places * ratio).sum() / max((weight * places**2).sum(), 1e-300)
    line = np.average(ratio, weights=weight) + steep * places
    misfit = (weight * (ratio - line) ** 2).sum() / (told.sum() - 2)
    return line if misfit < FITS else None


def smoothed(hits: Floats, scores: Floats | None) -> Floats:
    """Hits of shape (..., 2 sides, cuts) as a smooth curve of log-ratios foresees them.

    The log-ratio of each slice between cuts is a slope times the score plus a random walk; slope
    and step are those of largest marginal likelihood, so the curve borrows the shape of a score
    that is a log-likelihood ratio where the counts are few.
    """
    slices = np.diff(hits, prepend=0, axis=-1)
    a, b = slices[..., 0, :], slices[..., 1, :]
    curve = smooth_counts(a, b, scores, SLOPES if scores is not None else NO_WALK)
    share = 1 / (1 + np.exp(-curve))
    total = a + b
    return np.cumsum(np.stack([total * share, total * (1 - share)], axis=-2), axis=-1)


@dataclass(frozen=True, slots=True)
class Trial:
    """A family with the cut that a rule chose, its cross-validated counts, and its worth.

    `value` is the bound foreseen and `ratio` the log-ratio, both halfway between what held-out
    counts and a smooth curve say; `error` is the standard error of the log-ratio of the counts.
    """

    family: Family
    cut: int
    value: float
    ratio: float
    error: float
    hits: tuple[int, int]
    sizes: tuple[int, int]
    spread: float = 1.0
    """How far the error is known better than by counts, where a curve holds them together."""


def _rough(families: list[Family], aim: Aim) -> list[float]:
    """Of each the bound that its best cut promises, less its standard error; for a first ranking.

    Cheap: the cuts of all of them are looked at in one go.
    """
    if not families:
        return []
    cuts = np.array([family.hits.shape[-1] for family in families])
    starts = cuts.cumsum() - cuts
    x, y = np.concatenate([f.hits for f in families], axis=-1).sum(axis=0).astype(float)
    sizes = np.stack([f.sizes for f in families], axis=-1).sum(axis=0).astype(float)
    bound, _ = predicted_bound(x, y, sizes.repeat(cuts, axis=-1), aim)
    noise = np.sqrt(1 / np.maximum(x, 0.5) + 1 / np.maximum(y, 0.5))
    found: list[float] = np.maximum.reduceat(bound - noise, starts).tolist()
    for place in np.flatnonzero((cuts == 1) & (y[starts] == 0)).tolist():
        value, error = promised_bound(x[starts[place]], 0.0, sizes[:, place], aim)
        found[place] = value - error
    return found


def finalists(families: list[Family], aim: Aim) -> list[Trial]:
    """The few families of one column that promise most, each cut by both rules."""
    rough = list(zip(_rough(families, aim), families, strict=True))
    rough.sort(key=lambda pair: (-pair[0], pair[1].simplicity, pair[1].reversed))
    best = [family for _, family in rough[:FINALISTS]]
    best += [f for _, f in rough[FINALISTS:] if f.hits.shape[-1] == 1][:2]
    return valued(best, aim)


def promised_bound(x: float, y: float, sizes: Floats, aim: Aim) -> tuple[float, float]:
    """(bound foreseen, standard error of the log-ratio) for held-out counts."""
    if x <= 0 or x / sizes[0] <= aim.delta:
        return -np.inf, 1.0
    if y == 0:
        # No hit at all: the exact bound, ln of (p - delta) n / ln(1 / level), but for no more
        # draws than were seen to have none.
        needed = aim.quantile**2 / 2 + 1
        spare = max(x - sqrt(x), 0.5) / sizes[0] - aim.delta
        if spare <= 0:
            return -np.inf, 1.0
        return log(max(spare * min(aim.trials, sizes[1]) / needed, 1e-9)), 1 / sqrt(x)
    bound, _ = predicted_bound(np.array([x]), np.array([y - 0.0]), sizes, aim)
    return float(bound[0]), sqrt(1 / x + 1 / y)


def valued(families: list[Family], aim: Aim) -> list[Trial]:
    """The families cut by Lepski's rule and by the best place of a smooth curve.

    A curve is believed as far as it fits: most where the log-ratios lie on a line in the threshold,
    not at all where nothing but their order held them together.
    """
    found = [_uncut(family, aim) for family in families if family.hits.shape[-1] == 1]
    nested = [family for family in families if family.hits.shape[-1] > 1]
    joint = [family for family in nested if family.scores is not None]
    lines = [(family, straight(family)) for family in nested if family.scores is None]
    fitted = [replace(family, scores=line) for family, line in lines if line is not None]
    rest = [family for family, line in lines if line is None]
    for alike, spread in ((joint, CURVE_SPREAD), (fitted, LINE_SPREAD), (rest, 1.0)):
        if alike:
            found += _along_curves(alike, spread, aim)
    return found


def _along_curves(nested: list[Family], spread: float, aim: Aim) -> list[Trial]:
    """The families, all with scores or all without, cut by both rules."""
    parts = [np.stack([*f.hits, f.hits.sum(axis=0)]).astype(float) for f in nested]
    # Curves are smoothed at once; cuts that add nothing fill up the shorter families.
    longest = max(part.shape[-1] for part in parts)
    filled = np.stack([_filled(part, longest) for part in parts])
    scored = nested[0].scores is not None
    scores = np.stack([_filled(f.scores, longest) for f in nested]) if scored else None
    curves = smoothed(filled, None if scores is None else scores[:, None, :])
    found = []
    for family, part, curve in zip(nested, parts, curves, strict=True):
        found += _cut(family, part, curve[..., : part.shape[-1]], spread, aim)
    return found


def _filled(values: Floats | None, size: int) -> Floats:
    assert values is not None
    spare = [(0, 0)] * (values.ndim - 1) + [(0, size - values.shape[-1])]
    return np.pad(values, spare, mode="edge")


def _uncut(family: Family, aim: Aim) -> Trial:
    hits, total = family.hits.sum(axis=0), family.sizes.sum(axis=0).astype(float)
    x, y = hits[:, 0].astype(float).tolist()
    value, error = promised_bound(x, y, total, aim)
    return Trial(family, 0, value, _ratio(x, y, total, aim), error, *_whole(x, y, total))


def _cut(family: Family, parts: Floats, curves: Floats, spread: float, aim: Aim) -> list[Trial]:
    sizes = np.stack([*family.sizes, family.sizes.sum(axis=0)]).astype(float)
    total = sizes[2]
    foreseen = [predicted_bound(c[0], c[1], s, aim) for c, s in zip(curves, sizes, strict=True)]
    by_rule = (
        [lepski(x[0], x[1], size, aim) for x, size in zip(parts, sizes, strict=True)],
        [int(np.argmax(bound)) for bound, _ in foreseen],
    )
    found = []
    for zero, one, cut in by_rule:
        x, y = (parts[1][:, zero] + parts[0][:, one]).tolist()
        value, error = promised_bound(x, y, total, aim)
        ratio = _ratio(x, y, total, aim)
        bound, curve = float(foreseen[2][0][cut]), float(foreseen[2][1][cut])
        if np.isfinite(bound) and np.isfinite(value) and y > 0:
            value, ratio = (value + bound) / 2, (ratio + curve) / 2
            # The cut of both folds together may be rarer than those that were held out.
            error = max(error, _noise(*parts[2][:, cut].tolist()))
            error *= spread
        found.append(Trial(family, cut, value, ratio, error, *_whole(x, y, total), spread))
    return found


def _noise(x: float, y: float) -> float:
    """The standard error of the log-ratio of two counts."""
    return sqrt(1 / max(x, 0.5) + 1 / max(y, 0.5))


def _whole(x: float, y: float, total: Floats) -> tuple[tuple[int, int], tuple[int, int]]:
    return (int(x), int(y)), (int(total[0]), int(total[1]))


def _ratio(x: float, y: float, sizes: Floats, aim: Aim) -> float:
    excess = min((x + 0.5) / (sizes[0] + 1), 1.0) - aim.delta
    return log(excess / ((y + 1) / (sizes[1] + 1))) if excess > 0 else -np.inf


def sure_winner(
    joint: list[Trial], alone: list[Trial], aim: Aim, *, several: bool
) -> tuple[Trial, float]:
    """The chosen one, and the bound foreseen of the one that it, or what comes, has to replace.

    Of thousands of events that lose alike, a rare one is always missed by one side. So an event
    without a hit there takes part only if it would have had some, did it lose no more than the best
    of the others.
    """
    told = [[t for t in trials if t.hits[1]] for trials in (joint, alone)]
    if not any(told):
        return winner(joint, alone, several=several), -np.inf
    held = winner(told[0], told[1], several=several)
    sure = [
        [t for t in trials
         if t.hits[1] or surely_missed(t.hits[0], np.array(t.sizes, float), held.value, aim)]
        for trials in (joint, alone)
    ]  # fmt: skip
    chosen = winner(sure[0], sure[1], several=several)
    return chosen, held.value if chosen.hits[1] else -np.inf


def surely_missed(hits: float, sizes: Floats, bound: float, aim: Aim) -> bool:
    """Whether it is no luck that an event of the bound foreseen was hit so often and then never."""
    spare = hits / sizes[0] - aim.delta
    return bool(spare * sizes[1] * np.exp(-max(bound, 0.0)) >= NEVER)


def winner(joint: list[Trial], alone: list[Trial], *, several: bool) -> Trial:
    """The score's best cut, unless an event of one column promises more by a margin.

    The log-loss that named the score is a mean over all draws, so luck had no part in it; among
    many events of one column the luckiest stands out. A readable event that is foreseen as well
    and as surely takes the score's place too.
    """
    if not several or not joint or not alone:
        return _best([*joint, *alone])
    score = max(joint, key=lambda t: t.value - t.error)
    rival = max(alone, key=margin)
    if margin(rival) > score.value:
        return _best([trial for trial in alone if margin(trial) > score.value])
    rival = _best(alone)
    as_good = rival.value >= (1 - GAIN) * score.value and rival.error <= score.error
    return rival if as_good else score


def margin(trial: Trial) -> float:
    """What an event of one column promises at least, as one of those of all columns.

    A line that fits the luckiest of many columns says no more of its error than a curve does.
    """
    if trial.hits[1] == 0:
        return trial.value - trial.error
    return trial.value - 2.0 * trial.error * max(1.0, CURVE_SPREAD / trial.spread)


def _best(trials: list[Trial]) -> Trial:
    """The best value less its standard error, the simpler events first.

    Among those nearly as good the likeliest is taken. An event of a richer kind takes the place of
    a simpler one only if it promises more than the best of these by a margin: among many sets of
    intervals the luckiest stands out, while a half-line has one number to be lucky with.
    """
    simple, *richer = sorted({trial.family.simplicity for trial in trials})
    held, bar = _likeliest([trial for trial in trials if trial.family.simplicity == simple])
    for kind in richer:
        rival, value = _likeliest([trial for trial in trials if trial.family.simplicity == kind])
        sure = 1.0 if rival.hits[1] == 0 else RICHER
        if rival.value - sure * rival.error > bar:
            held, bar = rival, value
    return held


def _likeliest(trials: list[Trial]) -> tuple[Trial, float]:
    """The likeliest of those that are as good as the best but for luck, and the best's value."""
    best = max(trials, key=lambda t: t.value - t.error)
    close = [t for t in trials if t.value - t.error >= best.value - best.error - _luck(best, t)]
    return max(close, key=lambda t: (t.hits[0], not t.family.reversed)), best.value


def _luck(best: Trial, other: Trial) -> float:
    """By how much one event may seem better than another that is as good.

    The log-ratio of a part of an event has the error of the event's own and one of its own beside.
    A curve that holds the counts together has no such luck, nor has an event that one side misses.
    """
    slack = max(GAIN * abs(best.value), SLACK * best.error)
    if best.spread < 1 or best.hits[1] == 0:
        return slack
    luck = LUCKIEST * sqrt(max(best.error**2 - other.error**2, 0.0))
    return max(slack, min(luck, WAGER * abs(best.value)))


def hope(family: Family, aim: Aim) -> float:
    """More than the family can be thought to promise."""
    hits, sizes = family.hits.sum(axis=0).astype(float), family.sizes.sum(axis=0).astype(float)
    bound, _ = predicted_bound(hits[0], hits[1], sizes, aim)
    noise = np.sqrt(1 / np.maximum(hits[0], 0.5) + 1 / np.maximum(hits[1], 0.5))
    return float(np.max(bound + FAR_BEHIND * noise))
