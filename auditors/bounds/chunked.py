"""One test from several chunks of draws, each with an event chosen from the chunks before it.

Chunk k gives a score z_k that is dominated by a standard normal given everything before it,
whatever the event, the direction and the pair of databases were chosen to be. The statistic is
the sum of w_k z_k with weights w_k >= 0 known before the chunk and squares that add up to 1 on
*every* path; it is then dominated by a standard normal too, so looking for the event costs no
error probability. The last planned chunk takes all the weight that is left: if unused weight
could be dropped the level would grow by up to a half (`docs/statistics.md`).
"""

from collections.abc import Callable, Iterable, Sequence
from math import inf, sqrt
from typing import Protocol

from scipy.special import ndtri

from ..errors import InvalidArgument
from .binomial_tails import Box, confidence_box
from .block_bound import cells_for, lower_bound_z
from .grid import STEP, epsilon_grid, initial_segment
from .two_sample import TIE, at_distance, combined_z, normal_z, z_in_box

__all__ = [
    "Chunk",
    "epsilon_lower",
    "rejects",
    "statistic",
    "weights",
]

_BETA_SHARE = 500
_FEWEST = 20.0
"""Predicted hits, and misses on the other side, below which a score may be minus infinity."""


class Chunk(Protocol):
    """Counts of one event and what was foreseen, the side bounded from above by the null first.

    `predicted` and `spread` are the log-ratio ln((p - delta) / q) of the two *databases* (not
    per step of distance) and its standard error, `rates` the foreseen (p, q); all three must be
    functions of earlier chunks.
    """

    @property
    def hits(self) -> tuple[int, int]:
        """Hits on the two sides."""

    @property
    def trials(self) -> tuple[int, int]:
        """Draws of the two sides, fixed before the chunk."""

    @property
    def predicted(self) -> float:
        """Log-ratio foreseen, nats."""

    @property
    def spread(self) -> float:
        """Its standard error."""

    @property
    def rates(self) -> tuple[float, float]:
        """Probabilities foreseen."""


def weights(
    sizes: Sequence[tuple[int, int]],
    predicted: Sequence[float],
    spreads: Sequence[float],
    rates: Sequence[tuple[float, float]],
    epsilon: float,
) -> tuple[float, ...]:
    """Weights of all planned chunks at `epsilon` (nats between the two databases).

    A chunk gets the share of the remaining squared weight that its size has in the remaining
    draws if its event is foreseen to beat epsilon by a standard error and to be hit at least 20
    times (and missed as often on the other side), else none; the last gets the remainder.
    Each weight uses only what is known before its chunk.
    """
    strengths = [n * m / (n + m) for n, m in sizes]
    left, found = 1.0, []
    for k, (n, m) in enumerate(sizes[:-1]):
        p, q = rates[k]
        good = predicted[k] - spreads[k] > epsilon and n * p >= _FEWEST and m * (1 - q) >= _FEWEST
        share = left * strengths[k] / sum(strengths[k:]) if good else 0.0
        left -= share
        found.append(sqrt(share))
    return (*found, sqrt(left))


def _weights(chunks: Sequence[Chunk], epsilon: float) -> tuple[float, ...]:
    return weights(
        [chunk.trials for chunk in chunks],
        [chunk.predicted for chunk in chunks],
        [chunk.spread for chunk in chunks],
        [chunk.rates for chunk in chunks],
        epsilon,
    )


def _complete(chunks: Sequence[Chunk], planned: Sequence[tuple[int, int]] | None) -> bool:
    """Whether no planned chunk is missing; the last one always has weight."""
    if planned is None:
        planned = [chunk.trials for chunk in chunks]
    if not planned or len(chunks) > len(planned):
        raise InvalidArgument(
            f"expected at least one planned chunk and no chunk beyond the plan, got {len(chunks)} "
            f"chunks for {len(planned)} planned; plan every chunk before the first is drawn"
        )
    if len(chunks) < len(planned):
        return False
    if any(tuple(chunk.trials) != tuple(size) for chunk, size in zip(chunks, planned, strict=True)):
        raise InvalidArgument(
            f"the chunks have sizes {[chunk.trials for chunk in chunks]} but {list(planned)} were "
            "planned; draw every chunk in full, the sizes may not depend on the outcome"
        )
    return True


def _sum(parts: Iterable[tuple[float, float]]) -> float:
    """Sum of weight * score, where a weight of 0 silences even an infinite score."""
    return sum((weight * score for weight, score in parts if weight > 0), 0.0)


def statistic(
    chunks: Sequence[Chunk],
    *,
    epsilon: float,
    delta: float,
    level: float,
    distance: int = 1,
    beta: float | None = None,
    planned: Sequence[tuple[int, int]] | None = None,
) -> float:
    """The weighted sum T at base `epsilon` and `delta`; reject when T >= Phi^-1(1 - level).

    `planned` has the sizes of all chunks that were to be drawn (default: those given). A chunk
    that is missing counts as -inf: an interrupted audit rejects nothing. `beta` (default level /
    500) is the error of each chunk's confidence box, already paid for in its score.
    """
    if not _complete(chunks, planned):
        return -inf
    share = level / _BETA_SHARE if beta is None else beta
    total, group_delta = at_distance(epsilon, delta, distance)
    return _sum(
        (weight, _chunk_score(chunk, confidence_box(chunk.hits, chunk.trials, share), share,
                              total, group_delta))
        for weight, chunk in zip(_weights(chunks, total), chunks, strict=True)
        if weight > 0
    )  # fmt: skip


def _chunk_score(chunk: Chunk, box: Box, beta: float, epsilon: float, delta: float) -> float:
    z = z_in_box(chunk.hits, chunk.trials, box, epsilon=epsilon, delta=delta)
    return combined_z(z, beta)


def rejects(
    chunks: Sequence[Chunk],
    *,
    epsilon: float,
    delta: float,
    level: float,
    distance: int = 1,
    beta: float | None = None,
    planned: Sequence[tuple[int, int]] | None = None,
) -> bool:
    """Whether the claim at base `epsilon` is rejected; wrong with probability <= `level`."""
    value = statistic(
        chunks, epsilon=epsilon, delta=delta, level=level, distance=distance, beta=beta,
        planned=planned,
    )  # fmt: skip
    return value >= -float(ndtri(level)) + TIE


def epsilon_lower(
    chunks: Sequence[Chunk],
    *,
    delta: float,
    level: float,
    distance: int = 1,
    beta: float | None = None,
    planned: Sequence[tuple[int, int]] | None = None,
    grid_step: float = STEP,
    also: Iterable[float] = (),
) -> float:
    """Lower bound on the base epsilon (nats), above the truth with probability <= `level`.

    The last point of the rejected initial segment of `epsilon_grid` for the planned draws, to
    which `also` adds points fixed before the data. -inf when epsilon = 0 is not rejected or a
    planned chunk is missing.
    """
    if not 0 < level < 0.5:
        raise InvalidArgument(f"level must be in (0, 0.5), got {level!r}; 0.001 is usual")
    if not _complete(chunks, planned):
        return -inf
    grid = epsilon_grid(
        sum(chunk.trials[1] for chunk in chunks),
        distance=distance, step=grid_step, also=also,
    ).tolist()  # fmt: skip
    share = level / _BETA_SHARE if beta is None else beta
    search = _Search(chunks, [at_distance(point, delta, distance) for point in grid], level, share)
    count = initial_segment(len(grid), search.rejected, search.certified, search.likely)
    return grid[count - 1] if count else -inf


class _Search:
    """Verdicts of the combined test along a grid of nulls (epsilon, delta)."""

    def __init__(
        self,
        chunks: Sequence[Chunk],
        nulls: Sequence[tuple[float, float]],
        level: float,
        beta: float,
    ) -> None:
        self.chunks, self.nulls, self.beta = chunks, nulls, beta
        self.boxes = [confidence_box(chunk.hits, chunk.trials, beta) for chunk in chunks]
        self.needed = -float(ndtri(level))

    def rejected(self, i: int) -> bool:
        """The verdict at point i."""
        epsilon, delta = self.nulls[i]
        return self._total(i, lambda k: _chunk_score(
            self.chunks[k], self.boxes[k], self.beta, epsilon, delta
        )) >= self.needed + TIE  # fmt: skip

    def certified(self, i: int, j: int) -> bool:
        """Whether lower bounds show points i to j all rejected; weights must not change there."""
        if _weights(self.chunks, self.nulls[i][0]) != _weights(self.chunks, self.nulls[j][0]):
            return False
        (low, small), (high, large) = self.nulls[i], self.nulls[j]

        def bound(k: int) -> float:
            chunk = self.chunks[k]
            z = lower_bound_z(
                chunk.hits,
                chunk.trials,
                self.boxes[k],
                epsilons=(low, high),
                deltas=(small, large),
                cells=cells_for(j - i),
            )
            return combined_z(z - TIE, self.beta)

        return self._total(i, bound) >= self.needed + 10 * TIE

    def likely(self, i: int) -> bool:
        """A normal approximation of the verdict at point i."""
        cap = combined_z(inf, self.beta)
        return self._total(i, lambda k: min(
            normal_z(self.chunks[k].hits, self.chunks[k].trials, *self.nulls[i]), cap
        )) >= self.needed  # fmt: skip

    def _total(self, i: int, score: Callable[[int], float]) -> float:
        found = _weights(self.chunks, self.nulls[i][0])
        return _sum((weight, score(k)) for k, weight in enumerate(found) if weight > 0)
