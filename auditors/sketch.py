"""A picture's worth of two output distributions: counts per bin of the event's main feature."""

import numpy as np
from numpy.typing import NDArray

from .events import AnyOf, Event
from .features import Feature
from .outputs import Outputs
from .results import Sketch
from .scores import AdditiveScore

__all__ = ["sketch"]

Floats = NDArray[np.float64]
Values = tuple[Floats, NDArray[np.object_] | None]

BINS = 48
MOST_CATEGORIES = 20


def sketch(event: Event, first: Outputs, second: Outputs) -> Sketch | None:
    """Frequencies of both sides on the feature the event is about; None without draws."""
    if not len(first) or not len(second):
        return None
    feature = _feature(event)
    columns = [_values(event, feature, side) for side in (first, second)]
    inside = [event.contains(side) for side in (first, second)]
    texts = [["" if t is None else t for t in c[1]] if c[1] is not None else None for c in columns]
    pooled = np.concatenate([c[0] for c in columns])
    finite = pooled[np.isfinite(pooled)]
    distinct = np.unique(finite[:100_000])
    if texts[0] is None and texts[1] is None and len(distinct) > MOST_CATEGORIES:
        return _numeric(_name(event, feature), finite, columns, inside)
    return _categories(_name(event, feature), columns, inside)


def _feature(event: Event) -> Feature | None:
    match event:
        case AdditiveScore():
            return None
        case AnyOf():
            return _feature(event.events[0])
        case _:
            return event.feature


def _name(event: Event, feature: Feature | None) -> str:
    return "sum of learnt log-ratios" if feature is None else str(feature)


def _values(event: Event, feature: Feature | None, side: Outputs) -> Values:
    if feature is None:
        assert isinstance(event, AdditiveScore)
        return event.score(side), None
    column = side.column(feature)
    return np.asarray(column.values, dtype=float), column.labels


def _numeric(
    name: str, finite: Floats, columns: list[Values], inside: list[NDArray[np.bool_]]
) -> Sketch:
    low, high = np.quantile(finite, [0.002, 0.998])
    if low == high:
        low, high = finite.min(), finite.max()
    edges = np.linspace(low, high, BINS + 1)
    counts, within = [], np.zeros(BINS)
    for (values, _), mask in zip(columns, inside, strict=True):
        counts.append(np.histogram(values, edges)[0])
        within += np.histogram(values[mask], edges)[0]
    total = np.sum(counts, axis=0)
    return Sketch(
        feature=name,
        edges=tuple(edges.tolist()),
        labels=(),
        counts=(tuple(counts[0].tolist()), tuple(counts[1].tolist())),
        inside=tuple((within > 0.5 * np.maximum(total, 1)).tolist()),
    )


def _categories(name: str, columns: list[Values], inside: list[NDArray[np.bool_]]) -> Sketch:
    tallies: dict[str, list[int]] = {}
    hit: dict[str, int] = {}
    for side, ((values, labels), mask) in enumerate(zip(columns, inside, strict=True)):
        shown = [
            f"{v:g}" if labels is None or labels[i] is None else labels[i]
            for i, v in enumerate(values.tolist())
        ]
        for text, inner in zip(shown, mask.tolist(), strict=True):
            tallies.setdefault(text, [0, 0])[side] += 1
            hit[text] = hit.get(text, 0) + inner
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


def _order(text: str) -> tuple[int, float, str]:
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text
