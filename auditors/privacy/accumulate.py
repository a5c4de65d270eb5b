"""Evidence on one claim that grows from run to run, with one error probability for all of them.

A `Capital` is what the runs so far have won by betting against "the mechanism keeps (epsilon,
delta)", for every epsilon of a grid that is fixed by the claim. It starts at 1, and each run
starts with what the one before it left.

Theorem. Let every run use draws independent of those before, and let a run be recorded, and in
its place in the order, whatever its draws were. If the mechanism keeps (epsilon, delta) at a grid
point, the capital there reaches 1 / alpha in any of infinitely many runs with probability at most
alpha.

Proof. Let F_t be all draws up to and with the t-th count, over all runs. The event of a count, its
direction, the rates foreseen of it and the pair it is made on are functions of F_(t-1), and its
hits are counted on fresh draws; so by what is said below its e-value has E[e_t | F_(t-1)] <= 1,
once for each of the experts, which differ in what of F_(t-1) they take the rates from. Hence each
expert's product of e-values is a nonnegative supermartingale from 1, and so is the average of the
experts. There is one such product over all counts, and one for each (pair, event, direction) that
takes only its own counts, with rates learnt from its own past, and is 1 up to its first. The
capital is their average with the weights 1/2 for the first and 1 / (2 k (k + 1)) for the k-th
(pair, event, direction) in the order of appearance; the weights sum to 1, and what is not allotted
yet keeps its 1. At the time t the k-th strand is opened its value is 1, so opening it changes
nothing. A weighted sum of supermartingales is one, and Ville's inequality (1939) bounds the chance
that it ever reaches 1 / alpha. []

The bound on epsilon is the last point of the initial segment of the grid where the capital was
ever that high. It exceeds the truth only if the capital was so high at the first grid point from
the truth on, which has probability at most alpha, again for all runs together.

What the theorem leaves to its user. Draws are independent across runs if their seeds differ: a
seed that is in the evidence already is refused, since its draws would be counted twice. Runs of
one claim that overlap in time must not be recorded in an order that their outcomes decide. If the
mechanism changed between runs unnoticed, the statement is about all its versions: while every one
of them kept the claim, it holds as it stands.

**E-values.** An e-value has expectation at most 1 under the null whatever the past was, so the
product over disjoint batches exceeds 1 / alpha at any time with probability at most alpha (Ville
1939). Each one here is the likelihood ratio of a foreseen alternative against its reverse
information projection on the null, the point of the null nearest in Kullback-Leibler divergence
(Grunwald, de Heide and Koolen; for two samples Turner, Ly and Grunwald, arXiv 2106.02693).
Everything foreseen must come from earlier batches. A certificate that bounds the expectation from
above, rounding of the projection included, is subtracted from every logarithm (natural).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...mechanisms.model import PrivacyClaim
from ..bounds.two_sample import at_distance
from ..errors import EvidenceFormatError, InvalidArgument

_HALVINGS = 200
"""More than a double has bits, so that the root is exact to rounding."""
_LARGEST_EPSILON = 600.0
"""Nats; its exponential is still a double."""
ALPHA = 1e-3
"""Error probability of accumulated evidence on one claim of one version, over all its runs."""
EXPERTS = ((False, 0.0), (False, 0.1), (True, 0.0), (True, 0.02))
"""Whether an expert takes the ratio of the rates from its strand's past, where there is one, and
how far it shrinks the rates towards equality."""
MOST_STRANDS = 12
"""Places of bets that have a strand of their own."""


# E-values of one batch. --------------------------------------------------------------------------


def event_log_es(
    hits: tuple[int, int],
    trials: tuple[int, int],
    rates: ArrayLike,
    nulls: ArrayLike,
) -> NDArray[np.float64]:
    """Log e-values of one batch for the nulls p <= exp(epsilon) q + delta of one event.

    `hits` and `trials` of the two sides, the one bounded from above first. `rates` has the
    foreseen (p, q) in shape (E, 2), moved inside (0, 1) if need be; `nulls` holds (epsilon, delta)
    in shape (G, 2). The result has shape (E, G), and 0 where the foreseen rates are in the null.
    """
    (x, y), (n, m) = hits, trials
    foreseen, null = np.asarray(rates, dtype=np.float64), np.asarray(nulls, dtype=np.float64)
    found = np.zeros((len(foreseen), len(null)))
    if n == 0 or m == 0:
        return found
    least = 1 / (4 * (n + m))
    inside = np.clip(foreseen, least, 1 - least)
    ratios, deltas = np.exp(np.minimum(null[:, 0], _LARGEST_EPSILON)), null[:, 1]
    p1, q1 = (np.broadcast_to(inside[:, [side]], found.shape) for side in (0, 1))
    possible = np.all((foreseen >= 0) & (foreseen <= 1), axis=1, keepdims=True)
    usable = possible & (deltas < 1)
    chosen = usable & (p1 > ratios * q1 + deltas)
    if not chosen.any():
        return found
    ratio, delta = (np.broadcast_to(part, found.shape)[chosen] for part in (ratios, deltas))
    p1, q1 = p1[chosen], q1[chosen]
    # The nearest null, of least n KL(p1 | p0) + m KL(q1 | q0), lies on p = ratio q + delta, where
    # the divergence is convex in q.
    low, high = q1.copy(), (p1 - delta) / ratio
    for _ in range(_HALVINGS):
        q = (low + high) / 2
        p = ratio * q + delta
        slope = n * ratio * (p - p1) / (p * (1 - p)) + m * (q - q1) / (q * (1 - q))
        moves = (low < q) & (q < high)
        if not moves.any():
            break
        low, high = np.where(moves & (slope < 0), q, low), np.where(moves & (slope >= 0), q, high)
    q0 = (low + high) / 2
    p0 = ratio * q0 + delta
    gain = (
        x * np.log1p((p1 - p0) / p0)
        + (n - x) * np.log1p((p0 - p1) / (1 - p0))
        + y * np.log1p((q1 - q0) / q0)
        + (m - y) * np.log1p((q0 - q1) / (1 - q0))
    )
    # The log of the expectation at (p, q) is at most u (p - p0) + v (q - q0), which is linear and
    # so largest at a corner of the null.
    u, v = n * (p1 - p0) / (p0 * (1 - p0)), m * (q1 - q0) / (q0 * (1 - q0))
    corners = [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (delta, 0.0), (1.0, (1 - delta) / ratio)]
    excess = np.max([u * (p - p0) + v * (q - q0) for p, q in corners], axis=0)
    found[chosen] = gain - np.maximum(excess, 0.0)
    return found


# Capital over many runs. -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedCount:
    """One count with all that was fixed before it, the side bounded from above first.

    `place` names the pair, the event and the direction. `hits` and `trials` are those of the two
    sides, `rates` the probabilities foreseen from earlier draws.
    """

    place: str
    hits: tuple[int, int]
    trials: tuple[int, int]
    rates: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Strand:
    """One product of e-values: log wealth of each expert at each grid point.

    `place` is empty for the strand of all counts; `hits` and `trials` are sums of its counts.
    """

    place: str
    logs: tuple[tuple[float, ...], ...]
    hits: tuple[int, int] = (0, 0)
    trials: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capital:
    """The evidence so far on (epsilon, delta) of one mechanism; see the module's theorem.

    `grid` holds base epsilons (nats) in ascending order, the claim's among them; `highest` the
    largest log capital there was at each; `seeds` those whose draws are in it.
    """

    epsilon: float
    delta: float
    distance: int
    grid: tuple[float, ...]
    highest: tuple[float, ...]
    strands: tuple[Strand, ...]
    seeds: tuple[str, ...] = ()
    runs: int = 0

    def to_json(self) -> dict[str, object]:
        """Plain data that `capital_from_json` rebuilds it from."""
        names = ("epsilon", "delta", "distance", "grid", "highest", "seeds", "runs")
        data = {name: getattr(self, name) for name in names}
        strands = [{name: getattr(s, name) for name in Strand.__slots__} for s in self.strands]
        return {**data, "strands": strands}


def start(claim: PrivacyClaim) -> Capital:
    """The capital of 1 with which the first run of a claim starts."""
    points = np.round(np.concatenate([np.arange(0, 2, 0.02), np.arange(2, 10.01, 0.1)]), 9)
    grid = tuple(np.unique(np.append(points, float(claim.epsilon))).tolist())
    return Capital(
        epsilon=float(claim.epsilon),
        delta=claim.delta,
        distance=claim.steps,
        grid=grid,
        highest=(0.0,) * len(grid),
        strands=(_strand("", len(grid)),),
    )


def _strand(place: str, points: int) -> Strand:
    return Strand(place=place, logs=((0.0,) * points,) * len(EXPERTS))


def carried(capital: Capital, bets: Iterable[FixedCount], *, seed: str) -> Capital:
    """The capital after one more run, whose counts come in the order they were made.

    `seed` names the run's entropy; empty for a mechanism that draws from the operating system.
    Raises InvalidArgument for a seed whose draws are in the capital already.
    """
    if seed and seed in capital.seeds:
        raise InvalidArgument(
            f"draws of seed {seed} are in the evidence on this claim already and would be counted "
            'twice; give every run a seed of its own (seed = "random", or the profile nightly)'
        )
    nulls = [at_distance(point, capital.delta, capital.distance) for point in capital.grid]
    strands, highest = list(capital.strands), np.asarray(capital.highest)
    for bet in bets:
        strands[0] = _won(strands[0], bet, bet.rates, nulls)
        places = [strand.place for strand in strands]
        if bet.place not in places and len(strands) <= MOST_STRANDS:
            strands.append(_strand(bet.place, len(nulls)))
            places.append(bet.place)
        if bet.place in places:
            own = places.index(bet.place)
            strands[own] = _won(strands[own], bet, _foreseen(strands[own], bet), nulls)
        highest = np.maximum(highest, _mixed(strands, len(nulls)))
    return replace(
        capital,
        highest=tuple(highest.tolist()),
        strands=tuple(strands),
        seeds=(*capital.seeds, seed) if seed else capital.seeds,
        runs=capital.runs + 1,
    )


def _foreseen(strand: Strand, bet: FixedCount) -> tuple[float, float]:
    """Rates from the strand's own past, or those that came with its first count."""
    if not all(strand.trials):
        return bet.rates
    (x, y), (n, m) = strand.hits, strand.trials
    return (x + 0.5) / (n + 1), (y + 0.5) / (m + 1)


def _pooled(strand: Strand, rates: tuple[float, float]) -> tuple[float, float]:
    """The foreseen rate of the likelier side, and the other by the ratio of all earlier counts.

    The events of many runs differ a little and their rates with them, while the ratio that gives
    a mechanism away is nearly that of all of them, and known far better than from one run.
    """
    (x, y), (n, m) = strand.hits, strand.trials
    if not (n and m and x):
        return rates
    return rates[0], min(1.0, rates[0] * ((y + 0.5) / m) / (x / n))


def _won(
    strand: Strand,
    bet: FixedCount,
    rates: tuple[float, float],
    nulls: Sequence[tuple[float, float]],
) -> Strand:
    foreseen = []
    for pooled, caution in EXPERTS:
        p, q = _pooled(strand, rates) if pooled else rates
        middle = (p + q) / 2
        foreseen.append((p + caution * (middle - p), q + caution * (middle - q)))
    won = np.asarray(strand.logs) + event_log_es(bet.hits, bet.trials, foreseen, nulls)
    logs = [tuple(expert) for expert in won.tolist()]
    (x, y), (n, m) = strand.hits, strand.trials
    return replace(
        strand,
        logs=tuple(logs),
        hits=(x + bet.hits[0], y + bet.hits[1]),
        trials=(n + bet.trials[0], m + bet.trials[1]),
    )


def _mixed(strands: Sequence[Strand], points: int) -> NDArray[np.float64]:
    """Log capital at every grid point."""
    weights = [0.5] + [0.5 / (k * (k + 1)) for k in range(1, len(strands))]
    spare = 1 - sum(weights)
    parts = np.empty((len(strands) + 1, points))
    for row, (weight, strand) in enumerate(zip(weights, strands, strict=True)):
        experts = np.asarray(strand.logs)
        parts[row] = log(weight) + np.logaddexp.reduce(experts, axis=0) - log(len(experts))
    parts[-1] = log(spare)
    mixed: NDArray[np.float64] = np.logaddexp.reduce(parts, axis=0)
    return mixed


def log_wealth(capital: Capital) -> float:
    """Largest log capital there was against the claim itself (natural)."""
    return capital.highest[capital.grid.index(capital.epsilon)]


def refutes(capital: Capital, alpha: float = ALPHA) -> bool:
    """Whether the runs together refute the claim, at error probability `alpha` for all of them."""
    return log_wealth(capital) >= log(1 / alpha)


def epsilon_lower(capital: Capital, alpha: float = ALPHA) -> float:
    """Lower bound on epsilon (nats), -inf for none; too high in any run with chance <= `alpha`."""
    bound = -inf
    for point, highest in zip(capital.grid, capital.highest, strict=True):
        if highest < log(1 / alpha):
            break
        bound = point
    return bound


def capital_from_json(data: Any) -> Capital:
    """The capital that `to_json` wrote; EvidenceFormatError for anything else."""
    try:
        strands = tuple(
            Strand(
                place=str(strand["place"]),
                logs=tuple(tuple(map(float, expert)) for expert in strand["logs"]),
                hits=(int(strand["hits"][0]), int(strand["hits"][1])),
                trials=(int(strand["trials"][0]), int(strand["trials"][1])),
            )
            for strand in data["strands"]
        )
        return Capital(
            epsilon=float(data["epsilon"]),
            delta=float(data["delta"]),
            distance=int(data["distance"]),
            grid=tuple(map(float, data["grid"])),
            highest=tuple(map(float, data["highest"])),
            strands=strands,
            seeds=tuple(map(str, data["seeds"])),
            runs=int(data["runs"]),
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise EvidenceFormatError(f"accumulated evidence is malformed: {error!r:.120}") from None
