"""Outputs in finitely many cells: those of one column's bins, of a score, or of an event.

A partition is fixed by draws that teach. What is bet on later draws depends on their cells alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import EvidenceFormatError
from ..outputs.features import Feature
from ..outputs.outputs import Outputs
from .bins import Bins, bins_from_json, bins_of_group, read_number
from .events import AnyOf, Event, event_from_json
from .scores import AdditiveScore, score_from_json
from .smoothing import log_ratios, smooth

Cells = NDArray[np.integer]
Binned = Mapping[Feature, tuple[Bins, NDArray[np.int64]]]
"""The bins of a column, and the draws (side, bin)."""
MANY = 40
"""A column with more different numbers is a scale, whose neighbours are alike."""
MOST_CUTS = 64
"""Cuts of a score, at most."""


@dataclass(frozen=True, slots=True)
class ByBins:
    """The cells are the bins of one column."""

    bins: Bins

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.bins.size

    @property
    def scale(self) -> NDArray[np.intp]:
        """The cells along which neighbours are alike."""
        bins = self.bins
        if bins.discrete:
            return np.arange(bins.numeric if bins.numeric > MANY else 0)
        return np.array([i for i, atom in enumerate(bins.atoms) if atom is None], dtype=np.intp)

    def cells(self, outputs: Outputs) -> Cells:
        """The cell of every output, shape (n,)."""
        return self.bins.codes(outputs.column(self.bins.feature))

    def counts(self, outputs: Outputs) -> NDArray[np.int64]:
        """How many outputs lie in each cell."""
        return np.bincount(self.cells(outputs), minlength=self.size)

    def to_json(self) -> dict[str, object]:
        """Plain data that `partition_from_json` rebuilds it from."""
        return {"kind": "bins", **self.bins.to_json()}


@dataclass(frozen=True, slots=True)
class ByScore:
    """The cells are those between `cuts`, in rising order, of the points that a score gives."""

    score: AdditiveScore
    cuts: tuple[float, ...]

    @property
    def size(self) -> int:
        """How many cells there are."""
        return len(self.cuts) + 1

    @property
    def scale(self) -> NDArray[np.intp]:
        """The cells along which neighbours are alike: all of them."""
        return np.arange(self.size)

    def cells(self, outputs: Outputs) -> Cells:
        """The cell of every output, shape (n,)."""
        return np.searchsorted(self.cuts, self.score.score(outputs), side="right")

    def counts(self, outputs: Outputs) -> NDArray[np.int64]:
        """How many outputs lie in each cell."""
        return np.bincount(self.cells(outputs), minlength=self.size)

    def to_json(self) -> dict[str, object]:
        """Plain data that `partition_from_json` rebuilds it from."""
        return {"kind": "score", "score": self.score.to_json(), "cuts": list(self.cuts)}


@dataclass(frozen=True, slots=True)
class ByEvent:
    """Two cells: outside the event, and in it."""

    event: Event

    @property
    def size(self) -> int:
        """How many cells there are."""
        return 2

    @property
    def scale(self) -> NDArray[np.intp]:
        """The cells along which neighbours are alike: none."""
        return np.arange(0)

    def cells(self, outputs: Outputs) -> Cells:
        """The cell of every output, shape (n,)."""
        return self.event.contains(outputs).astype(np.int64)

    def counts(self, outputs: Outputs) -> NDArray[np.int64]:
        """How many outputs lie in each cell."""
        return np.bincount(self.cells(outputs), minlength=self.size)

    def to_json(self) -> dict[str, object]:
        """Plain data that `partition_from_json` rebuilds it from."""
        return {"kind": "event", "event": self.event.to_json()}


Partition = ByBins | ByScore | ByEvent


def partition_from_json(data: Any) -> Partition:
    """The partition that `to_json` wrote; EvidenceFormatError for anything else."""
    match data.get("kind") if isinstance(data, Mapping) else None:
        case "bins":
            return ByBins(bins_from_json(data))
        case "event":
            return ByEvent(event_from_json(data["event"]))
        case "score":
            cuts = tuple(read_number(cut) for cut in data["cuts"])
            if len(cuts) <= MOST_CUTS and all(a < b for a, b in pairwise(cuts)):
                return ByScore(score_from_json(data["score"]), cuts)
    raise EvidenceFormatError("a partition of outputs is by bins, by a score with cuts or an event")


def binned(event: Event, sides: tuple[Outputs, Outputs]) -> Binned:
    """Bins of the columns that an event asks for, fixed on these draws, and the draws in them."""
    found = {}
    for feature in {part.feature for part in _parts(event)}:
        columns = sides[0].column(feature), sides[1].column(feature)
        for bins in bins_of_group((feature,), [columns], len(sides[0][:1].paths()) == 1):
            counts = [np.bincount(bins.codes(side), minlength=bins.size) for side in columns]
            found[feature] = bins, np.array(counts)
    return found


def partition_of(
    event: Event, known: Binned, latest: tuple[Outputs, Outputs]
) -> tuple[Partition, NDArray[np.int64]]:
    """The partition that goes with an event, and the earlier draws by (side, cell).

    `known` has the bins of the columns that are counted and their counts, `latest` the latest
    draws of both sides.
    """
    features = {part.feature for part in _parts(event)}
    if len(features) == 1 and (found := known.get(features.pop())) is not None:
        bins, counts = found
        return ByBins(bins), counts
    made: Partition = ByEvent(event)
    if isinstance(event, AdditiveScore):
        made = ByScore(event, _cuts(np.concatenate([event.score(side) for side in latest])))
    return made, np.array([made.counts(side) for side in latest])


def _parts(event: Event) -> list[Any]:
    if isinstance(event, AnyOf):
        return [part for one in event.events for part in _parts(one)]
    return [] if isinstance(event, AdditiveScore) else [event]


def _cuts(points: NDArray[np.float64]) -> tuple[float, ...]:
    """Cuts in gaps between points, which no rounding of sums crosses: even, and in the tails."""
    ordered = np.sort(points)
    gaps = np.flatnonzero(np.diff(ordered) > 1e-6) + 1
    size = len(ordered)
    tails = [t for t in (int(8 * 2**k) for k in range(30)) if t < size // 40]
    wanted = {*tails, *(size - t for t in tails), *(size * k // 40 for k in range(1, 40))}
    if not len(gaps):
        return ()
    near = {int(gaps[np.argmin(np.abs(gaps - rank))]) for rank in wanted}
    return tuple(sorted(float(ordered[i - 1] + ordered[i]) / 2 for i in near))[:MOST_CUTS]


def promised(made: Partition, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The log-ratio that each cell promises, where few draws promise little."""
    a, b = counts.astype(float)
    ratio, noise = log_ratios(a, b)
    odds = np.where(a + b > 0, ratio / (1 + noise), 0.0)
    scale = made.scale
    if len(scale) > 1:
        odds[scale] = smooth(ratio[scale], noise[scale])
    return odds
