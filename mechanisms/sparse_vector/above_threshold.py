"""AboveThreshold and the sparse vector technique, Dwork and Roth (2014), section 3.6.

Stated as Algorithm 7 of Lyu, Su and Li (2017), which keeps one noisy threshold for up to a number
of positive answers and shares the privacy budget out freely; AboveThreshold is the case of one.

Its exact law comes first. Given the noise of the threshold the queries are independent, so the
probability of a transcript is the integral of a Laplace density times Laplace distribution
functions. Between the points where these have a kink the integrand is analytic and Gauss-Legendre
quadrature is exact to rounding. Everything is in logarithms: far in the tails 1 - F is lost by
subtraction.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations, pairwise
from math import ceil, comb, exp, inf, log, log1p, prod
from typing import TypedDict

import numpy as np

from .._checks import (
    require_listable,
    require_number,
    require_positive,
    require_whole,
    sample_shape,
)
from ..accounting.privacy_loss import log_laplace_cdf
from ..model import (
    Array,
    Claim,
    Database,
    Domain,
    FiniteLaw,
    Histogram,
    Mechanism,
    Output,
    PrivacyClaim,
    Relation,
    Size,
    UtilityClaim,
)

BELOW, ABOVE, HALTED = 0, 1, 2
"""Kinds of an answer: below the threshold, above it, and none because the run had ended."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)
"""Gauss-Legendre quadrature on [-1, 1], for one panel."""
REACH = 45.0
"""How far panels go beyond the last kink, in scales of the threshold's noise: by each of these the
integrand falls by a factor e."""
PIECE = 2**21
"""Numbers held at a time."""


def log_bits(
    below: Sequence[float],
    above: Sequence[float],
    *,
    threshold_scale: float,
    query_scale: float,
    limit: float = inf,
) -> float:
    """Log-probability that the queries `below` stay below the noisy threshold and `above` reach it.

    Both hold query value minus threshold. The threshold has Laplace noise of `threshold_scale`,
    common to all, and every query its own of `query_scale`, which may be 0. With `limit` the
    event is also that the threshold's noise is at most `limit`.
    """
    if query_scale == 0:
        low, high = max(below, default=-inf), min([*above, limit])
        return _log_between(low / threshold_scale, high / threshold_scale)
    edges = _panels([0.0, *below, *above], threshold_scale, query_scale, limit)
    half = np.diff(edges)[:, None] / 2
    noise = (edges[:-1, None] + half) + half * NODES
    logs = np.log(half * WEIGHTS) - np.abs(noise) / threshold_scale - log(2 * threshold_scale)
    # Queries that are asked again have the same margin.
    for margin, times in Counter(below).items():
        logs = logs + times * log_laplace_cdf((noise - margin) / query_scale)
    for margin, times in Counter(above).items():
        logs = logs + times * log_laplace_cdf((margin - noise) / query_scale)
    top = logs.max()
    return float(top + np.log(np.exp(logs - top).sum()))


def transcripts(queries: int, positives: float) -> Array:
    """Every transcript of `queries` answers that ends at the `positives`-th ABOVE, one a row.

    In the order of their rows. Raises NotListable where they are too many.
    """
    most = int(min(positives, queries))
    require_listable(sum(comb(queries, k) for k in range(most + 1)) * queries, "answers")
    rows = []
    for number in range(most + 1):
        for places in combinations(range(queries), number):
            row = np.zeros(queries, dtype=np.int64)
            row[list(places)] = ABOVE
            if number == positives:
                row[places[-1] + 1 :] = HALTED
            rows.append(row)
    return np.array(sorted(rows, key=tuple))


def log_transcripts(
    kinds: Array,
    margins: Sequence[float],
    *,
    threshold_scale: float,
    query_scale: float,
    positives: float,
) -> Array:
    """Log-probability of each transcript, a row of `kinds`; -inf for one that no run can give.

    `margins` are query value minus threshold. At every node the integrand of a transcript is that
    of all its answers BELOW, a running sum that transcripts share, and what each ABOVE changes.
    """
    above, over = kinds == ABOVE, kinds == HALTED
    before = np.cumsum(above, axis=1) - above
    possible = ((before >= positives) == over).all(axis=1)
    logs = np.full(len(kinds), -inf)
    if query_scale == 0:
        values = np.asarray(margins)
        for place in np.flatnonzero(possible):
            low, high = values[kinds[place] == BELOW], values[above[place]]
            logs[place] = log_bits(low.tolist(), high.tolist(), threshold_scale=threshold_scale,
                                   query_scale=0)  # fmt: skip
        return logs
    edges = _panels([0.0, *margins], threshold_scale, query_scale, inf)
    half = np.diff(edges)[:, None] / 2
    noise = ((edges[:-1, None] + half) + half * NODES).ravel()
    start = np.log(half * WEIGHTS).ravel() - np.abs(noise) / threshold_scale
    start -= log(2 * threshold_scale)
    answered = (~over).sum(axis=1)[possible]
    # The places of ABOVE, one column for each, and beyond them a place that changes nothing.
    order = np.argsort(~above[possible], axis=1, kind="stable")
    many = above[possible].sum(axis=1)
    places = [np.where(many > j, order[:, j], len(margins)) for j in range(many.max(initial=0))]
    centres, found = np.asarray(margins)[:, None], logs[possible]
    for part in np.array_split(np.arange(noise.size), len(kinds) * noise.size // PIECE + 1):
        scores = (noise[part] - centres) / query_scale
        below, changes = np.zeros((2, len(margins) + 1, part.size))
        np.cumsum(log_laplace_cdf(scores), axis=0, out=below[1:])
        changes[:-1] = log_laplace_cdf(-scores) - log_laplace_cdf(scores)
        terms = below[answered] + start[part]
        for columns in places:
            terms += changes[columns]
        top = terms.max(axis=1, initial=-inf)
        found = np.logaddexp(found, top + np.log(np.exp(terms - top[:, None]).sum(axis=1)))
    logs[possible] = found
    return logs


def _panels(
    kinks: Sequence[float], threshold_scale: float, query_scale: float, limit: float
) -> Array:
    """Edges of short panels with every kink among them, wide enough for all but e^-45."""
    kinks = sorted({kink for kink in kinks if kink < limit})
    reach = REACH * threshold_scale
    last = kinks[-1] + reach if kinks else limit
    marks = [(kinks[0] if kinks else limit) - reach, *kinks, min(last, limit)]
    width = 2 * min(threshold_scale, query_scale)
    pieces = []
    for low, high in pairwise(marks):
        if high > low:
            count = ceil((high - low) / width)
            pieces.append(low + np.arange(count) * ((high - low) / count))
    return np.concatenate([*pieces, marks[-1:]])


def _log_between(low: float, high: float) -> float:
    """Log-probability that Laplace noise of scale 1 lies in (low, high]."""
    if high <= low:
        return -inf
    if high <= 0:
        return high - log(2) + log1p(-exp(low - high))
    if low >= 0:
        return -low - log(2) + log1p(-exp(low - high))
    return log1p(-(exp(low) + exp(-high)) / 2)


class BoundScales(TypedDict):
    """The noises of a run, and after how many positives it is over."""

    threshold_scale: float
    query_scale: float
    positives: float


class BoundComparison(BoundScales):
    """What `above_threshold` and its law are bound to."""

    queries: Callable[[Database], Array]
    threshold: float


def above_threshold(
    database: Database,
    rng: np.random.Generator,
    *,
    queries: Callable[[Database], Array],
    threshold: float,
    threshold_scale: float,
    query_scale: float,
    positives: float,
    size: Size = None,
) -> Array:
    """Say of each query whether it reaches the threshold, with noise on both, until enough did.

    `queries` maps a database to k numbers. The threshold gets Laplace noise of `threshold_scale`
    once, every query its own of `query_scale`; the run ends with the `positives`-th ABOVE
    (inf: never). A scale of 0 means no noise.
    Returns whole numbers of shape `size` + (k,): 0 below, 1 above, 2 halted.
    """
    kinds, _ = compare(
        np.asarray(queries(database), dtype=float),
        rng,
        threshold=threshold,
        threshold_scale=threshold_scale,
        query_scale=query_scale,
        positives=positives,
        shape=sample_shape(size),
    )
    return kinds


def compare(
    values: Array,
    rng: np.random.Generator,
    *,
    threshold: float,
    threshold_scale: float,
    query_scale: float,
    positives: float,
    shape: tuple[int, ...],
) -> tuple[Array, Array]:
    """Compare k values with a noisy threshold in many runs side by side.

    Returns the kinds and the noisy values compared (NaN once halted), each `shape` + (k,).
    """
    runs = prod(shape)
    kinds = np.full((len(values), runs), HALTED)
    compared = np.full((len(values), runs), np.nan)
    limit = threshold + rng.laplace(scale=threshold_scale, size=runs)
    left = np.full(runs, float(positives))
    alive = np.arange(runs)
    for step, value in enumerate(values):
        # A run that has ended costs no more noise.
        noisy = value + rng.laplace(scale=query_scale, size=alive.size)
        above = noisy >= limit[alive]
        kinds[step, alive] = above
        compared[step, alive] = noisy
        left[alive] -= above
        alive = alive[left[alive] > 0]
    whole = (*shape, len(values))
    return kinds.T.reshape(whole), compared.T.reshape(whole)


def above_threshold_law(
    database: Database,
    *,
    queries: Callable[[Database], Array],
    threshold: float,
    threshold_scale: float,
    query_scale: float,
    positives: float,
) -> FiniteLaw:
    """Exact law of `above_threshold`, one integral for each possible transcript.

    Raises NotListable where there are too many of them.
    """
    margins = np.asarray(queries(database), dtype=float) - threshold
    outcomes = transcripts(len(margins), positives)
    logs = log_transcripts(
        outcomes,
        margins.tolist(),
        threshold_scale=threshold_scale,
        query_scale=query_scale,
        positives=positives,
    )
    return FiniteLaw(outcomes=outcomes, log_probabilities=logs)


def above_threshold_mechanism(
    *,
    queries: Callable[[Database], Array],
    length: int,
    threshold: float,
    sensitivity: float,
    threshold_epsilon: float,
    query_epsilon: float,
    relation: Relation,
    databases: Domain,
    positives: int = 1,
    name: str = "above-threshold",
    identifier: str = "",
) -> Mechanism:
    """`above_threshold` with noise of scale sensitivity / threshold_epsilon on the threshold.

    The noise of the queries has scale 2 positives sensitivity / query_epsilon, and the whole run
    loses at most threshold_epsilon + query_epsilon nats. `length` is the number of queries, each
    of which moves by at most `sensitivity` under `relation`.
    """
    require_whole(length=length, positives=positives)
    require_number(threshold=threshold)
    scales = noise_scales(
        sensitivity=sensitivity,
        threshold_epsilon=threshold_epsilon,
        query_epsilon=query_epsilon,
        positives=positives,
    )
    bound: BoundComparison = {"queries": queries, "threshold": threshold, **scales}
    return Mechanism(
        trust_rows=True,
        name=name,
        identifier=identifier,
        run=partial(above_threshold, **bound),
        databases=databases,
        claims=bit_claims(
            epsilon=threshold_epsilon + query_epsilon,
            relation=relation,
            queries=queries,
            length=length,
            threshold=threshold,
            threshold_scale=scales["threshold_scale"],
            query_scale=scales["query_scale"],
        ),
        reference="Dwork and Roth (2014), Algorithm 1; Lyu, Su and Li (2017), Algorithm 7",
        law=partial(above_threshold_law, **bound),
    )


def noise_scales(
    *, sensitivity: float, threshold_epsilon: float, query_epsilon: float, positives: float
) -> BoundScales:
    """The arguments of `above_threshold` that make it threshold_epsilon + query_epsilon private."""
    require_positive(
        sensitivity=sensitivity,
        threshold_epsilon=threshold_epsilon,
        query_epsilon=query_epsilon,
        positives=positives,
    )
    return {
        "threshold_scale": sensitivity / threshold_epsilon,
        "query_scale": 2 * positives * sensitivity / query_epsilon,
        "positives": positives,
    }


def bit_claims(
    *,
    epsilon: float,
    relation: Relation,
    queries: Callable[[Database], Array],
    length: int,
    threshold: float,
    threshold_scale: float,
    query_scale: float,
) -> tuple[Claim, ...]:
    """What a sparse vector promises of its privacy and of its bits.

    The loss of the utility claim is how far the worst answered query lies on the wrong side of
    the threshold; outputs are kinds, or pairs that begin with one.
    """

    def wrong_side(database: Database, output: Output) -> Array:
        margins = np.asarray(queries(database), dtype=float) - threshold
        kinds = np.asarray(output)
        kinds = kinds[..., 0] if kinds.dtype.kind == "f" else kinds
        wrong = np.where(kinds == BELOW, margins, np.where(kinds == ABOVE, -margins, 0.0))
        return wrong.max(axis=-1, initial=0.0)

    def bound(beta: float) -> float:
        return threshold_scale * log(2 / beta) + query_scale * log(2 * length / beta)

    book = "Dwork and Roth (2014)"
    return (
        PrivacyClaim(
            epsilon=epsilon,
            relation=relation,
            statement="the noisy threshold and the noisy comparisons share the loss",
            reference=f"{book}, Theorem 3.23; Lyu, Su and Li (2017), Theorem 4",
        ),
        UtilityClaim(
            loss=wrong_side,
            bound=bound,
            statement="no answered query lies far on the wrong side of the threshold",
            reference=f"{book}, Theorem 3.24",
        ),
    )


def take(database: Database, *, bins: tuple[int, ...]) -> Array:
    """The counts of the named bins, in order: floats of shape (len(bins),), sensitivity 1."""
    return np.asarray(database, dtype=float)[list(bins)]


# The counts of a bin that a record leaves, then of the one it enters: both noises are needed.
ABOVE_THRESHOLD = above_threshold_mechanism(
    queries=partial(take, bins=(1, 1, 1, 1, 1, 0)),
    length=6,
    threshold=10.0,
    sensitivity=1.0,
    threshold_epsilon=0.5,
    query_epsilon=0.5,
    relation=Relation.REPLACE_ONE,
    databases=Histogram(bins=2, total=20),
)
SPARSE_VECTOR = above_threshold_mechanism(
    queries=partial(take, bins=(1, 1, 1, 0, 0, 0)),
    length=6,
    threshold=10.0,
    sensitivity=1.0,
    threshold_epsilon=0.5,
    query_epsilon=1.0,
    relation=Relation.REPLACE_ONE,
    databases=Histogram(bins=2, total=20),
    positives=3,
    name="sparse-vector",
)
