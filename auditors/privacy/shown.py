"""What is shown beside a result: a picture of the two laws, and the lines that spend the loss.

The picture is worth two output distributions: counts per bin of the event's main feature. The lines
are those of the pair that a result shows. Neither changes a result.
"""

import os
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..errors import ContractError
from ..events.events import AdditiveScore, AnyOf, Event, HalfLine, Outcomes
from ..outputs.features import Column, Feature
from ..outputs.outputs import Outputs
from ..results.results import AuditResult, Cause, CauseLine, Sketch
from ..sampling.sampling import Sampler

Floats = NDArray[np.float64]
LEAST_BINS, MOST_BINS = 12, 48
"""Between them as many as Rice's rule gives, 2 n^(1/3): with few outputs 48 would be all noise."""
MOST_CATEGORIES = 20
"""Values with a bar each; of more, the most common ones."""
ELSEWHERE = "the code that draws runs in another process, so none of its lines can be named"
VALUES = "lines are named for attackers who see values"
HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
"""Where the rooms of this package lie, in a clone and where it is installed."""


# The picture. ------------------------------------------------------------------------------------


def sketch(event: Event, first: Outputs, second: Outputs) -> Sketch | None:
    """Frequencies of both sides on the feature the event is about; None without draws."""
    if not len(first) or not len(second):
        return None
    feature = _feature(event)
    columns = [_column(event, feature, side) for side in (first, second)]
    inside = [event.contains(side) for side in (first, second)]
    pooled = np.concatenate([np.asarray(c.values, dtype=float) for c in columns])
    finite = pooled[np.isfinite(pooled)]
    distinct = np.unique(finite[:100_000])
    if len(distinct) > MOST_CATEGORIES and not any(c.labelled().any() for c in columns):
        return _numeric(_name(event, feature), finite, columns, inside, _cut(event))
    return _categories(_name(event, feature), columns, inside)


def _feature(event: Event) -> Feature | None:
    match event:
        case AdditiveScore():
            return None
        case AnyOf():
            return _feature(event.events[0])
        case Outcomes():
            return Feature()
        case _:
            return event.feature


def _name(event: Event, feature: Feature | None) -> str:
    return "sum of learnt log-ratios" if feature is None else str(feature)


def _column(event: Event, feature: Feature | None, side: Outputs) -> Column:
    if feature is None:
        assert isinstance(event, AdditiveScore)
        return Column(event.score(side))
    return side.column(feature)


def _cut(event: Event) -> float | None:
    """The number at which an event begins or ends, if there is one such number."""
    return event.threshold if isinstance(event, HalfLine | AdditiveScore) else None


def _numeric(
    name: str,
    finite: Floats,
    columns: list[Column],
    inside: list[NDArray[np.bool_]],
    cut: float | None,
) -> Sketch:
    low, high = np.quantile(finite, [0.002, 0.998])
    if low == high:
        low, high = finite.min(), finite.max()
    bins = min(max(round(2 * len(finite) ** (1 / 3)), LEAST_BINS), MOST_BINS)
    edges = np.linspace(low, high, bins + 1)
    if cut is not None and low < cut < high:
        # The bins begin where the event does, so that it is shaded to its end.
        edges += cut - edges[np.abs(edges - cut).argmin()]
    counts, within = [], np.zeros(bins)
    for column, mask in zip(columns, inside, strict=True):
        values = np.asarray(column.values, dtype=float)
        counts.append(np.histogram(values, edges)[0])
        within += np.histogram(values[mask], edges)[0]
    total = np.sum(counts, axis=0)
    # An empty bin is shaded as the nearest one before it, and beyond the cut as the one after it.
    filled = np.maximum.accumulate(np.where(total > 0, np.arange(bins), 0))
    if cut is not None:
        after = np.where(total > 0, np.arange(bins), bins - 1)[::-1]
        beyond = (edges[:-1] + edges[1:]) / 2 > cut
        filled = np.where(beyond, np.minimum.accumulate(after)[::-1], filled)
    shaded = (within > 0.5 * np.maximum(total, 1))[filled]
    return Sketch(
        feature=name,
        edges=tuple(edges.tolist()),
        labels=(),
        counts=(tuple(counts[0].tolist()), tuple(counts[1].tolist())),
        inside=tuple(shaded.tolist()),
    )


def _categories(name: str, columns: list[Column], inside: list[NDArray[np.bool_]]) -> Sketch:
    tallies: dict[str, list[int]] = {}
    hit: dict[str, int] = {}
    for side, (column, mask) in enumerate(zip(columns, inside, strict=True)):
        for text, total, within in _tally(column, mask):
            tallies.setdefault(text, [0, 0])[side] += total
            hit[text] = hit.get(text, 0) + within
    common = sorted(tallies, key=lambda t: -sum(tallies[t]))[:MOST_CATEGORIES]
    common.sort(key=_order)
    return Sketch(
        feature=name,
        edges=(),
        labels=tuple(common),
        counts=(
            tuple(tallies[t][0] for t in common),
            tuple(tallies[t][1] for t in common),
        ),
        inside=tuple(hit[t] * 2 > sum(tallies[t]) for t in common),
    )


def _tally(column: Column, mask: NDArray[np.bool_]) -> Iterator[tuple[str, int, int]]:
    """Each different entry as text, how often it occurs, and how often inside the mask."""
    numbers = np.ones(len(mask), dtype=bool)
    for code, name in enumerate(column.names):
        here = column.codes == code
        numbers &= ~here
        yield name, int(np.count_nonzero(here)), int(np.count_nonzero(mask & here))
    values = np.asarray(column.values, dtype=float)[numbers]
    distinct, places = np.unique(values, return_inverse=True)
    totals = np.bincount(places, minlength=len(distinct)).tolist()
    within = np.bincount(places[mask[numbers]], minlength=len(distinct)).tolist()
    for value, total, inner in zip(distinct.tolist(), totals, within, strict=True):
        yield f"{value:g}", total, inner


def _order(text: str) -> tuple[int, float, str]:
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text


# The lines. --------------------------------------------------------------------------------------


def cause_of(
    result: AuditResult, null: tuple[float, float], sampler: Sampler, explain: bool | None
) -> Cause | None:
    """What `auditors/tape/explain` says of the pair of the headline; None if nobody asked for it.

    `explain` None asks for it where a seeded mechanism is refuted.
    The mechanism is called where it always is. Nothing that goes wrong changes the result.
    """
    wanted = result.refuted and result.seeded if explain is None else explain
    if not wanted:
        return None
    if sampler.requests:
        return _unsaid(ELSEWHERE)
    if result.target.startswith(("bits=", "types=")):
        return _unsaid(VALUES)
    from ..tape.explain import explained  # most audits are asked for no cause

    shown = result.worst or result.witness or result.pair
    epsilon, delta = null
    try:
        lines, summary, accused = sampler.door.ask(
            explained, (shown.database, shown.neighbour), epsilon, delta, result.refuted,
            result.seed, _stated(result),
        )  # fmt: skip
    except ContractError as error:
        return _unsaid(f"no line can be named: {error}")
    return Cause(
        lines=tuple(
            CauseLine(file=_near(file), line=line, source=source, reason=reason)
            for file, line, source, reason in lines
        ),
        summary=summary,
        accused=accused,
    )


def _stated(result: AuditResult) -> str:
    """The claim beside which a loss is told: a curve is not the epsilon of its point."""
    claim = result.claim
    if claim.curve is not None:
        return str(claim.curve)
    return f"epsilon {claim.epsilon:g} at delta {claim.delta:g}" if claim.delta else ""


def _unsaid(why: str) -> Cause:
    return Cause(lines=(), summary=why, accused=False)


def _near(file: str) -> str:
    """A file as people know it: from here, or else its last two names; of ours the module."""
    if file.startswith(os.path.join(HOME, "mechanisms") + os.sep):
        own = os.path.relpath(file, HOME).removesuffix(".py")
        return ".".join(("dpwitness", *own.split(os.sep)))
    inside = os.path.relpath(file)
    return os.sep.join(file.split(os.sep)[-2:]) if inside.startswith(os.pardir) else inside
