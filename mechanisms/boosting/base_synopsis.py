"""Base synopsis generator: noisy answers to sampled queries and a small database that fits them.

Dwork and Roth (2014), section 6.2; Blum, Ligett and Roth (2008) for the small databases. A
synopsis is one of finitely many small databases, fixed before the data is seen, and stands for
its answers to all queries: a row of a table of shape (synopses, queries).
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from math import comb, log, sqrt
from typing import Any

import numpy as np

from .._checks import require_delta, require_listable, require_positive, require_whole, sample_shape
from ..accounting.composition import zcdp_root
from ..model import (
    Array,
    Database,
    FiniteLaw,
    Histogram,
    LaplaceLaw,
    Mechanism,
    Output,
    PrivacyClaim,
    Relation,
    Size,
    UtilityClaim,
)
from .query_weights import indicator_queries, linear_answers

SOURCE = "Dwork and Roth (2014), section 6.2"
BLOCK = 1024
"""Runs searched at a time: their scores stay in the cache."""


def histograms(bins: int, records: int) -> Array:
    """All ways to put `records` records into `bins` bins: whole numbers, shape (ways, bins).

    Raises ValueError where there are more than fit into memory.
    """
    require_listable(comb(records + bins - 1, bins - 1) * bins, "counts of small databases")
    cuts = np.array(list(combinations(range(records + bins - 1), bins - 1)), dtype=np.int64)
    cuts = cuts.reshape(-1, bins - 1)
    ends = np.pad(cuts, ((0, 0), (1, 0)), constant_values=-1)
    starts = np.pad(cuts, ((0, 0), (0, 1)), constant_values=records + bins - 1)
    return starts - ends - 1


def answer_table(weights: Sequence[Sequence[float]], *, records: int) -> Array:
    """Answers of all small databases of `records` records to linear queries."""
    matrix = np.asarray(weights, dtype=float)
    return histograms(matrix.shape[1], records) @ matrix.T / records


def coverage(*, bins: int, records: int) -> float:
    """The largest error of the best database of `records` records, on queries in [0, 1].

    The maximum is over all data and all such queries; the best database may depend on the data.

    Shares rounded to multiples of 1 / records, the largest remainders up, move at most so much.
    """
    return bins / (4 * records)


def base_scale(*, samples: int, sensitivity: float, epsilon: float, delta: float = 0.0) -> float:
    """Scale of the noise on each of `samples` answers; pure composition if `delta` is 0."""
    require_positive(samples=samples, sensitivity=sensitivity, epsilon=epsilon)
    if delta == 0:
        return samples * sensitivity / epsilon
    return sensitivity * sqrt(samples / 2) / zcdp_root(epsilon, delta)


def samples_needed(*, synopses: int, advantage: float, beta: float) -> int:
    """How many sampled queries are enough, except with probability `beta`, for all queries.

    Every synopsis accurate on all of them is accurate on a share 1/2 + `advantage` of the
    distribution they are drawn from.
    """
    return int(np.ceil(log(synopses / beta) / -log(0.5 + advantage)))


def noisy_answers(
    database: Database,
    rng: np.random.Generator,
    *,
    queries: Callable[[Database], Array],
    sampled: Sequence[int],
    scale: float,
    size: Size = None,
) -> Array:
    """Answer the sampled queries with fresh Laplace noise of the given scale.

    `queries` maps a database to the answers of all queries; `sampled` are k of their numbers.
    Returns floats of shape `size` + (k,). Raises ValueError on a scale that is not positive.
    """
    require_positive(scale=scale)
    answers = queries(database)[np.asarray(sampled)]
    return answers + rng.laplace(scale=scale, size=sample_shape(size) + answers.shape)


def nearest_synopsis(noisy: Array, sampled: Array, table: Array) -> Array:
    """The first synopsis whose largest distance from the noisy answers is least.

    `noisy` and `sampled`, shape (runs, k) each, are answers and the queries they are for.
    Returns rows of `table`, whole numbers of shape (runs,).
    """
    by_query = np.ascontiguousarray(table.T)
    found = np.empty(len(noisy), dtype=np.int64)
    for start in range(0, len(noisy), BLOCK):
        block = slice(start, start + BLOCK)
        worst = np.zeros((len(noisy[block]), len(table)))
        for answers, asked in zip(noisy[block].T, sampled[block].T, strict=True):
            distance = by_query[asked]
            distance -= answers[:, None]
            np.abs(distance, out=distance)
            np.maximum(worst, distance, out=worst)
        found[block] = worst.argmin(axis=1)
    return found


def base_synopsis(
    database: Database,
    rng: np.random.Generator,
    *,
    queries: Callable[[Database], Array],
    table: Array,
    sampled: Sequence[int],
    scale: float,
    size: Size = None,
) -> Array:
    """Search the table for the synopsis that fits noisy answers to the sampled queries best.

    Arguments as in `noisy_answers` and `nearest_synopsis`.
    Returns rows of the table, whole numbers of shape `size`. Raises ValueError on a scale that
    is not positive.
    """
    shape = sample_shape(size)
    noisy = noisy_answers(
        database, rng, queries=queries, sampled=sampled, scale=scale, size=shape
    ).reshape(-1, len(sampled))
    asked = np.broadcast_to(np.asarray(sampled), noisy.shape)
    return nearest_synopsis(noisy, asked, table).reshape(shape)[()]


def one_sample_law(truth: Array, *, table: Array, scale: float) -> Array:
    """Log-probability of every synopsis, for each query sampled alone; (queries, synopses).

    The first synopses with each answer divide the line between them half-way.
    """
    logs = np.full(table.shape[::-1], -np.inf)
    for query, answers in enumerate(table.T):
        values, first = np.unique(answers, return_index=True)
        middles = (values[1:] + values[:-1]) / 2
        edges = (np.concatenate([[-np.inf], middles, [np.inf]]) - truth[query]) / scale
        logs[query, first] = np.log(_laplace_masses(edges[:-1], edges[1:]))
    return logs


def _laplace_masses(low: Array, high: Array) -> Array:
    """Probability that Laplace noise of scale 1 falls between; exact in both tails."""
    # A cell on the negative side has the mass of its mirror image.
    negative = high <= 0
    low, high = np.where(negative, -high, low), np.where(negative, -low, high)
    beside = np.exp(-np.maximum(low, 0)) / 2 - np.exp(-high) / 2
    astride = 1 - np.exp(np.minimum(low, 0)) / 2 - np.exp(-high) / 2
    return np.where(low >= 0, beside, astride)


def base_mechanism(
    *,
    weights: Sequence[Sequence[float]],
    sampled: Sequence[int],
    small: int,
    records: int,
    epsilon: float,
    delta: float = 0.0,
    scale: float | None = None,
    search: bool = True,
    name: str = "base-synopsis",
    identifier: str = "",
) -> Mechanism:
    """`base_synopsis`, or without `search` the `noisy_answers`, for fixed sampled queries.

    `weights`, in [0, 1] and of shape (queries, bins), are the queries; synopses have `small`
    records. The scale of the noise follows from (epsilon, delta) unless it is given.
    """
    require_whole(small=small, records=records)
    require_positive(epsilon=epsilon)
    require_delta(delta=delta)
    if scale is None:
        scale = base_scale(
            samples=len(sampled), sensitivity=1 / records, epsilon=epsilon, delta=delta
        )
    answers = partial(linear_answers, weights=weights)
    table = answer_table(weights, records=small)
    noise: dict[str, Any] = {"queries": answers, "sampled": tuple(sampled), "scale": scale}

    def answers_law(database: Database) -> LaplaceLaw:
        return LaplaceLaw(centres=answers(database)[np.asarray(sampled)], scale=scale)

    def worst_error(database: Database, output: Output) -> Array:
        given = table[np.asarray(output)] if search else np.asarray(output)
        given = given[..., list(sampled)] if search else given
        return np.abs(given - answers(database)[list(sampled)]).max(axis=-1)

    # The synopsis that is best for the data is within the coverage of it, and one that fits the
    # noisy answers as well is off by the noise twice.
    covered, noises = (coverage(bins=len(weights[0]), records=small), 2) if search else (0.0, 1)

    def synopsis_law(database: Database) -> FiniteLaw:
        logs = one_sample_law(answers(database), table=table, scale=scale)[sampled[0]]
        return FiniteLaw(outcomes=np.arange(len(table)), log_probabilities=logs)

    law: Any = answers_law
    if search:
        # With several answers the cells of the table have no closed form.
        law = synopsis_law if len(sampled) == 1 else None
    return Mechanism(
        trust_rows=True,
        name=name,
        identifier=identifier,
        run=partial(base_synopsis, table=table, **noise)
        if search
        else partial(noisy_answers, **noise),
        databases=Histogram(bins=len(weights[0]), total=records),
        claims=(
            PrivacyClaim(
                epsilon=epsilon,
                delta=delta,
                relation=Relation.REPLACE_ONE,
                identifier="BQ-BASE-PRIV",
                statement="noise for every sampled answer makes the synopsis private",
                reference=SOURCE,
            ),
            UtilityClaim(
                loss=worst_error,
                bound=lambda beta: covered + noises * scale * log(len(sampled) / beta),
                identifier="BQ-BASE-ERR",
                statement="no sampled answer errs by more than the coverage and the noise twice",
                reference=SOURCE,
            ),
        ),
        reference=SOURCE,
        law=law,
    )


BASE_SYNOPSIS = base_mechanism(
    weights=indicator_queries(4),
    sampled=(1, 6),
    small=4,
    records=20,
    epsilon=1.0,
    identifier="BQ-BASE-PRIV",
)

NOISY_ANSWERS = base_mechanism(
    weights=indicator_queries(4),
    sampled=(1, 6, 3),
    small=4,
    records=20,
    epsilon=1.0,
    search=False,
    name="noisy-sampled-answers",
)
