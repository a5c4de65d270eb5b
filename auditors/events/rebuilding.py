"""Events, and all that they are made of, back from the JSON of a file.

A file may be damaged or come from anybody. What is read is checked before it is used, and whatever
is not as the `to_json` of events, partitions, scores, bins and features writes it is refused with
an EvidenceFormatError.
"""

from collections.abc import Mapping
from itertools import pairwise
from math import inf, nan
from typing import Any

import numpy as np

from ..errors import EvidenceFormatError
from ..outputs.decoding import from_json
from ..outputs.features import KINDS, PLACED, PLACES, Feature, is_counted
from ..outputs.nodes import Path, Step
from .bins import MOST_BINS, Bins, PointTable
from .events import (
    MOST_CUTS,
    AdditiveScore,
    Among,
    AnyOf,
    ByBins,
    ByEvent,
    ByScore,
    Event,
    HalfLine,
    Intervals,
    NoneOf,
    Outcomes,
    Partition,
    Shape,
)

MOST_ITEMS = 5000
"""Items of a list that a file may give a score."""
DEEPEST = 64
"""Steps of a path; values nested beyond 60 levels are refused as outputs."""


def event_from_json(data: object, depth: int = 0) -> Event:
    """The event that `to_json` wrote; EvidenceFormatError for anything else."""
    if depth > 3:
        raise EvidenceFormatError("events may be nested 3 deep; this one is deeper")
    if not isinstance(data, Mapping):
        raise EvidenceFormatError(f"expected an event, got a {type(data).__name__}")
    try:
        match data.get("kind"):
            case "half-line":
                feature = feature_from_json(data["feature"])
                upper, strict = data["upper"] is True, data["strict"] is True
                return HalfLine(feature, read_number(data["threshold"]), upper, strict)
            case "intervals":
                pairs = tuple(
                    (read_number(a), read_number(b)) for a, b in read_items(data["intervals"])
                )
                return Intervals(feature_from_json(data["feature"]), pairs)
            case "among" | "none-of":
                values = tuple(
                    v if isinstance(v, str) else read_number(v) for v in read_items(data["values"])
                )
                kind = Among if data["kind"] == "among" else NoneOf
                return kind(feature_from_json(data["feature"]), values)
            case "additive-score":
                return score_from_json(data)
            case "outcomes":
                return Outcomes(tuple(from_json(row) for row in read_items(data["rows"])))
            case "any-of":
                return AnyOf(
                    tuple(event_from_json(e, depth + 1) for e in read_items(data["events"]))
                )
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, EvidenceFormatError):
            raise
        raise EvidenceFormatError(f"an event is malformed: {error!r:.120}") from None
    raise EvidenceFormatError(f"no event is of kind {data.get('kind')!r:.60}")


def partition_from_json(data: object) -> Partition:
    """The partition that `to_json` wrote; EvidenceFormatError for anything else."""
    if isinstance(data, Mapping):
        match data.get("kind"):
            case "bins":
                return ByBins(bins_from_json(data))
            case "event":
                return ByEvent(event_from_json(data["event"]))
            case "score":
                cuts = tuple(read_number(cut) for cut in data["cuts"])
                if len(cuts) <= MOST_CUTS and all(a < b for a, b in pairwise(cuts)):
                    return ByScore(score_from_json(data["score"]), cuts)
    raise EvidenceFormatError("a partition of outputs is by bins, by a score with cuts or an event")


def read_items(data: object) -> list[Any]:
    """The data as a list of 1 to 5000 items."""
    if not isinstance(data, list) or not 0 < len(data) <= MOST_ITEMS:
        raise EvidenceFormatError(f"expected a list of 1 to {MOST_ITEMS} items, got {data!r:.60}")
    return data


def score_from_json(data: Any) -> AdditiveScore:
    """The score that `AdditiveScore.to_json` wrote; EvidenceFormatError for anything else."""
    tables = tuple(_table(table) for table in read_items(data["tables"]))
    shapes = data.get("shapes", [])
    if not isinstance(shapes, list) or len(shapes) > MOST_ITEMS:
        raise EvidenceFormatError(f"expected at most {MOST_ITEMS} shapes, got {shapes!r:.60}")
    return AdditiveScore(
        tables, read_number(data["threshold"]), tuple(_shape(shape, tables) for shape in shapes)
    )


def _table(data: Any) -> PointTable:
    bins = bins_from_json(data)
    values = tuple(read_number(value) for value in read_items(data["values"]))
    if len(values) != bins.size or not np.isfinite(values).all():
        raise EvidenceFormatError(
            f"expected a finite number of points for each of {bins.size} bins, got {len(values)}"
        )
    return PointTable(bins, values)


def _shape(data: Any, tables: tuple[PointTable, ...]) -> Shape:
    symbols, points = data
    if len(symbols) != len(tables) or not all(
        isinstance(symbol, int) and 0 <= symbol <= int(table.bins.symbols().max())
        for symbol, table in zip(symbols, tables, strict=True)
    ):
        raise EvidenceFormatError(f"expected one symbol for each table, got {symbols!r:.60}")
    return Shape(tuple(symbols), read_number(points))


def bins_from_json(data: Any) -> Bins:
    """The bins that `Bins.to_json` wrote; EvidenceFormatError for anything else."""
    edges = tuple(read_number(edge) for edge in _items(data["edges"]))
    atoms = tuple(None if a is None else read_number(a) for a in _items(data["atoms"]))
    labels = tuple(str(text) for text in _items(data["labels"]))
    bins = Bins(feature_from_json(data["feature"]), edges, atoms, labels, data["discrete"] is True)
    if (
        len(atoms) not in (len(edges) + 1, 0)
        or (edges and not atoms)
        or not np.isfinite(edges).all()
        or (np.diff(edges) <= 0).any()
        or (bins.discrete and None in atoms)
        or bins.size > MOST_BINS
    ):
        raise EvidenceFormatError(
            "a table needs finite edges that rise, one value more than edges for its atoms, and "
            f"at most {MOST_BINS} bins"
        )
    return bins


def _items(data: object) -> list[object]:
    if not isinstance(data, list) or len(data) > MOST_BINS:
        raise EvidenceFormatError(f"expected a list of at most {MOST_BINS} items, got {data!r:.60}")
    return data


def read_number(data: object) -> float:
    """The data as a number."""
    value = from_json(data)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise EvidenceFormatError(f"expected a number, got {data!r:.60}")
    return float(value)


def feature_from_json(data: object) -> Feature:
    """The feature that `Feature.to_json` wrote; EvidenceFormatError for anything else."""
    if not isinstance(data, Mapping) or data.get("kind") not in KINDS:
        raise EvidenceFormatError(
            f"expected a feature of kind {', '.join(KINDS)}, got {data!r:.80}"
        )
    argument = data.get("argument")
    if isinstance(argument, Mapping):
        argument = {"nan": nan, "inf": inf, "-inf": -inf}.get(str(argument.get("$float")))
    kind = data["kind"]
    wanted = {
        "residue": (int, float),
        "first": (int, float, str),
        "count": (str,),
        "after": (str,),
        "labelled": (int, float, str),
    }.get(kind, (type(None),))
    if not isinstance(argument, wanted) or isinstance(argument, bool):
        raise EvidenceFormatError(f"a feature of kind {kind} cannot have {argument!r:.40}")
    other = data.get("other", [])
    if (kind == "count" and not is_counted(str(argument))) or (kind == "labelled" and not other):
        raise EvidenceFormatError(f"a feature of kind {kind} cannot have {argument!r:.40}")
    place = data.get("place", 0)
    if place not in PLACES or isinstance(place, bool) or (place and kind not in PLACED):
        raise EvidenceFormatError(f"a feature of kind {kind} cannot have the place {place!r:.40}")
    return Feature(kind, _path_from_json(data.get("path")), _path_from_json(other), argument, place)


def _path_from_json(data: object) -> Path:
    if not isinstance(data, list) or len(data) > DEEPEST:
        raise EvidenceFormatError(f"expected a path of at most {DEEPEST} steps, got {data!r:.80}")
    steps: list[Step] = []
    for step in data:
        if isinstance(step, int) and not isinstance(step, bool) and 0 <= step < 2**31:
            steps.append(step)
        elif (
            isinstance(step, Mapping)
            and len(step) == 1
            and all(
                k in ("key", "field", "member", "read") and isinstance(v, str)
                for k, v in step.items()
            )
        ):
            steps.extend(step.items())
        else:
            raise EvidenceFormatError(f"expected an index, a key or a field, got {step!r:.80}")
    return tuple(steps)
