"""Boosting for queries, Dwork, Rothblum and Vadhan (2010), and the base synopses it makes strong.

A base generator gives noisy answers to sampled queries and a small database that fits them: Dwork
and Roth (2014), section 6.2; Blum, Ligett and Roth (2008) for the small databases. A synopsis is
one of finitely many small databases, fixed before the data is seen, and stands for its answers to
all queries: a row of a table of shape (synopses, queries).

Boosting is as in Dwork and Roth (2014), section 6.1, with the constants made explicit. Every round
samples queries, asks a base generator for a synopsis that is accurate on most of them, and
re-weights the queries; the median of the synopses is then accurate on all. With one sample a round
its exact law goes through all sequences of synopses.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations, product
from math import comb, exp, inf, log, prod, sqrt
from typing import TypedDict

import numpy as np

from .._checks import (
    require_delta,
    require_listable,
    require_number,
    require_positive,
    require_whole,
    sample_shape,
)
from ..accounting.composition import zcdp_root
from ..model import (
    Array,
    Database,
    FiniteLaw,
    Histogram,
    LaplaceLaw,
    Law,
    Mechanism,
    Output,
    PrivacyClaim,
    Relation,
    Size,
    UtilityClaim,
)
from .query_weights import (
    Agreement,
    AgreementLevels,
    Reweighting,
    attenuated_agreement,
    attenuation_for,
    exponential_weights,
    indicator_queries,
    linear_answers,
    log_weights,
    rounds_needed,
    weight_rate,
)

SECTION_6_2 = "Dwork and Roth (2014), section 6.2"
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


class BoundAnswers(TypedDict):
    """What noisy answers are bound to."""

    queries: Callable[[Database], Array]
    sampled: Sequence[int]
    scale: float


class AdvantagedLevels(AgreementLevels):
    """By what the weights of the queries change from round to round."""

    advantage: float


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
    noise: BoundAnswers = {"queries": answers, "sampled": tuple(sampled), "scale": scale}

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

    law: Callable[[Database], Law] | None = answers_law
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
                reference=SECTION_6_2,
            ),
            UtilityClaim(
                loss=worst_error,
                bound=lambda beta: covered + noises * scale * log(len(sampled) / beta),
                identifier="BQ-BASE-ERR",
                statement="no sampled answer errs by more than the coverage and the noise twice",
                reference=SECTION_6_2,
            ),
        ),
        reference=SECTION_6_2,
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


def one_sample_boosting_law(
    truth: Array,
    *,
    table: Array,
    scale: float,
    rounds: int,
    accuracy: float,
    attenuation: float,
    advantage: float,
    combine: Callable[[Array], Array],
) -> FiniteLaw:
    """Law of what `combine` makes of the synopses when a round samples one query.

    Parameters as in `boosting`. A synopsis depends on the past through the weights alone, and
    the weights on the earlier synopses alone, so the law is a product along each sequence.
    """
    logs = one_sample_law(truth, table=table, scale=scale)
    # Which synopses can occur depends on the table alone, hence not on the data.
    possible = np.flatnonzero((logs > -np.inf).any(axis=0))
    sequences = possible[np.array(list(product(range(len(possible)), repeat=rounds)))].T
    agreed = np.zeros((sequences.shape[1], len(truth)))
    total = np.zeros(len(agreed))
    for chosen in sequences:
        weights = log_weights(agreed, weight_rate(advantage))
        total += np.logaddexp.reduce(weights + logs[:, chosen].T, axis=-1)
        errors = np.abs(table[chosen] - truth)
        agreed += attenuated_agreement(errors, accuracy=accuracy, attenuation=attenuation)
    return _merged(combine(table[sequences]), total)


def _merged(outcomes: Array, logs: Array) -> FiniteLaw:
    """The same law with every outcome once."""
    flat = outcomes.reshape(len(outcomes), -1)
    _, first, place = np.unique(flat, axis=0, return_index=True, return_inverse=True)
    merged = np.full(len(first), -np.inf)
    np.logaddexp.at(merged, np.ravel(place), logs)
    return FiniteLaw(outcomes=outcomes[first], log_probabilities=merged)


SOURCE = "Dwork and Roth (2014), Theorem 6.1"
BOOK = "Dwork and Roth (2014), section 6.1"
Base = Callable[..., Array]
"""(rng, truth, sampled, distribution, earlier) -> answers of the synopses, (runs, queries).

`sampled` has shape (runs, k), `distribution` (runs, queries) and `earlier` (t, runs, queries).
A generator promises privacy if it looks at `truth` through noise, on the sampled queries only.
"""
Combination = Callable[[Array], Array]
"""Synopses (rounds, runs, queries) -> what is released, (runs, ...)."""


def boosting(
    database: Database,
    rng: np.random.Generator,
    *,
    queries: Callable[[Database], Array],
    base: Base,
    samples: int,
    accuracy: float,
    attenuation: float,
    advantage: float,
    rounds: int,
    agreement: Agreement = attenuated_agreement,
    reweight: Reweighting = exponential_weights,
    combine: Combination | None = None,
    size: Size = None,
) -> Array:
    """Boost synopses that answer most queries to within `accuracy` into one that answers all.

    `queries` maps a database to the answers of all queries, shape (m,). An error between
    `accuracy` and `accuracy` + `attenuation` counts as partly wrong. `advantage`, in (0, 1/2),
    is by how much more than half of any distribution the base generator serves. `agreement`,
    `reweight` and `combine`, the median if None, are the parts of the algorithm, to be replaced
    in experiments.
    Returns floats of shape `size` + (m,), the answers to all queries, or what `combine` makes
    of each run. Raises ValueError on a parameter out of range.
    """
    require_positive(samples=samples, attenuation=attenuation, rounds=rounds)
    rate = weight_rate(advantage)
    truth = np.asarray(queries(database), dtype=float)
    shape = sample_shape(size)
    agreed = np.zeros((prod(shape), len(truth)))
    synopses = np.empty((rounds, *agreed.shape))
    for step in range(rounds):
        distribution = reweight(agreed, rate)
        sampled = draw_queries(rng, distribution, samples)
        synopses[step] = base(rng, truth, sampled, distribution, synopses[:step])
        errors = np.abs(synopses[step] - truth)
        agreed += agreement(errors, accuracy=accuracy, attenuation=attenuation)
    released = (combine or median_answers)(synopses)
    return released.reshape(*shape, *released.shape[1:])


def draw_queries(rng: np.random.Generator, distribution: Array, samples: int) -> Array:
    """Independent queries from each distribution, (runs, queries); shape (runs, samples)."""
    # The last step of the distribution function is left out: no rounding can pass it.
    steps = np.cumsum(distribution, axis=-1)[:, :-1]
    uniform = rng.random((len(distribution), samples))
    if 0 < len(steps) < steps.shape[1]:
        rows = zip(steps, uniform, strict=True)
        return np.stack([own.searchsorted(drawn, side="right") for own, drawn in rows])
    sampled = np.zeros(uniform.shape, dtype=np.int64)
    for step in steps.T:
        sampled += uniform >= step[:, None]
    return sampled


def synopsis_base(
    rng: np.random.Generator,
    truth: Array,
    sampled: Array,
    distribution: Array,
    earlier: Array,
    *,
    table: Array,
    scale: float,
) -> Array:
    """The generator of `base_synopsis`, each run with its own sampled queries."""
    noisy = truth[sampled] + rng.laplace(scale=scale, size=sampled.shape)
    return table[nearest_synopsis(noisy, sampled, table)]


def median_answers(synopses: Array) -> Array:
    """Median answer to each query, half-way between the middle two of an even number."""
    return np.median(synopses, axis=0)


def mean_answers(synopses: Array) -> Array:
    """Mean answer to each query, which one wild synopsis can spoil."""
    return synopses.mean(axis=0)


def every_synopsis(synopses: Array) -> Array:
    """The synopses of all rounds, (runs, rounds, queries): more than the median reveals."""
    return np.moveaxis(synopses, 0, 1)


def boosting_mechanism(
    *,
    weights: Sequence[Sequence[float]],
    small: int,
    records: int,
    samples: int,
    rounds: int,
    accuracy: float,
    sample_epsilon: float,
    sample_delta: float,
    base_epsilon: float,
    base_delta: float = 0.0,
    advantage: float = 0.25,
    combine: Combination = median_answers,
    attenuation: float | None = None,
    name: str = "boosting",
    identifier: str = "",
) -> Mechanism:
    """`boosting` of the base generator over all databases of `small` records.

    `weights`, in [0, 1] and of shape (queries, bins), are the queries. The samples of all rounds
    lose (sample_epsilon, sample_delta) and each synopsis (base_epsilon, base_delta), whether all
    synopses are released or what `combine` makes of them. The attenuation follows unless it is
    given. The promised accuracy is vacuous if the samples or the rounds are too few for it.
    """
    require_positive(base_epsilon=base_epsilon, sample_epsilon=sample_epsilon)
    require_whole(records=records, small=small, samples=samples, rounds=rounds)
    require_number(accuracy=accuracy)
    require_delta(sample_delta=sample_delta, base_delta=base_delta)
    if attenuation is None:
        attenuation = attenuation_for(
            advantage=advantage,
            sensitivity=1 / records,
            samples=samples,
            rounds=rounds,
            epsilon=sample_epsilon,
            delta=sample_delta,
        )
    answers = partial(linear_answers, weights=weights)
    table = answer_table(weights, records=small)
    scale = base_scale(
        samples=samples, sensitivity=1 / records, epsilon=base_epsilon, delta=base_delta
    )
    reweighting: AdvantagedLevels = {
        "accuracy": accuracy,
        "attenuation": attenuation,
        "advantage": advantage,
    }
    privacy = PrivacyClaim(
        epsilon=sample_epsilon + rounds * base_epsilon,
        delta=sample_delta + rounds * base_delta,
        relation=Relation.REPLACE_ONE,
        identifier="BQ-6.1-PRIV",
        statement="the losses of all samples and of all synopses add up",
        reference=f"{SOURCE}(2), with constants",
    )
    # Noise above this, or samples that do not speak for the rest, spoil a round.
    slack = (accuracy - coverage(bins=len(weights[0]), records=small)) / 2
    unlucky = len(table) * (0.5 + advantage) ** samples
    failure = rounds * (samples * exp(-max(slack, 0) / scale) + unlucky)
    if rounds < rounds_needed(queries=len(weights), advantage=advantage):
        failure = 1.0
    accurate = _accuracy(answers, combine, failure, accuracy + attenuation)

    def law(database: Database) -> FiniteLaw:
        return one_sample_boosting_law(
            answers(database),
            table=table,
            scale=scale,
            rounds=rounds,
            combine=combine,
            **reweighting,
        )

    return Mechanism(
        trust_rows=True,
        name=name,
        identifier=identifier,
        run=partial(
            boosting,
            queries=answers,
            base=partial(synopsis_base, table=table, scale=scale),
            samples=samples,
            rounds=rounds,
            combine=combine,
            **reweighting,
        ),
        databases=Histogram(bins=len(weights[0]), total=records),
        claims=(privacy, accurate),
        reference="Dwork, Rothblum and Vadhan (2010)",
        law=law if samples == 1 else None,
    )


def _accuracy(
    answers: Callable[[Database], Array], combine: Combination, failure: float, level: float
) -> UtilityClaim:
    def worst_error(database: Database, output: Output) -> Array:
        released = np.asarray(output)
        if combine is every_synopsis:
            released = np.median(released, axis=-2)
        return np.abs(released - answers(database)).max(axis=-1)

    return UtilityClaim(
        loss=worst_error,
        bound=lambda beta: level if beta >= failure else inf,
        levels=(failure,),
        identifier="BQ-6.1-ACC",
        statement="but for chance T beta no answer errs by more than accuracy + attenuation",
        reference=f"{SOURCE}(1)",
    )


BOOSTING = boosting_mechanism(
    weights=((1, 0, 0, 0), (1, 1, 0, 0), (1, 1, 1, 0)),
    small=2,
    records=10,
    samples=1,
    rounds=3,
    accuracy=0.25,
    sample_epsilon=1.0,
    sample_delta=0.1,
    base_epsilon=0.5,
    identifier="BQ-6.1-PRIV",
)
"""With a smaller delta three samples lose less than sample_epsilon by plain addition."""
