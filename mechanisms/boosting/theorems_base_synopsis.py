"""Base synopsis generator: how many sampled queries are enough, and how small a database."""

from collections.abc import Callable
from functools import partial
from math import comb, inf, log, sqrt
from typing import Any

import numpy as np

from .._checks import sample_shape
from ..model import (
    Array,
    Database,
    FiniteLaw,
    Histogram,
    Interval,
    InvariantClaim,
    Mechanism,
    Record,
    Rows,
    Size,
    Subject,
    Theorem,
    UtilityClaim,
    number,
    whole,
)
from .base_synopsis import (
    SOURCE,
    answer_table,
    base_scale,
    coverage,
    nearest_synopsis,
    samples_needed,
)
from .boosting import BOOK, boosting_mechanism, draw_queries
from .query_weights import indicator_queries, linear_answers, rounds_needed

BINS, SMALL = 3, 4
WEIGHTS = indicator_queries(BINS)
ADVANTAGE = 0.25
UNIFORM = (1 / len(WEIGHTS),) * len(WEIGHTS)
TWO_QUERIES = tuple(0.5 * (place in (1, 2)) for place in range(len(WEIGHTS)))

RECORDS = whole(200_000, 1000, 10**7, "records, n")
EPSILON = number(0.1, 0.01, 1, "loss of one synopsis, in nats")
BETA = number(0.05, 0.001, 0.5, "failure probability")


def misleading_sample(
    database: Database,
    rng: np.random.Generator,
    *,
    synopses: int,
    bad_share: float,
    samples: int,
    size: Size = None,
) -> Array:
    """Whether none of `samples` draws shows some synopsis to be bad.

    Each of the synopses is wrong on a part of the queries of its own, of weight `bad_share`.
    The data plays no part. Returns booleans of shape `size`.
    """
    drawn = rng.random((*sample_shape(size), samples))
    shown = np.floor(drawn / bad_share)
    unnoticed = [(shown != part).all(axis=-1) for part in range(synopses)]
    found: Array = np.any(unnoticed, axis=0)
    return found[()]


def _misleading_law(database: Database, *, bad: float, synopses: int, samples: int) -> FiniteLaw:
    # Inclusion and exclusion over the sets of synopses that all go unnoticed.
    chance = sum(
        (-1) ** (many + 1) * comb(synopses, many) * (1 - many * bad) ** samples
        for many in range(1, synopses + 1)
    )
    return FiniteLaw(
        outcomes=np.array([False, True]), log_probabilities=np.log([1 - chance, chance])
    )


def _generalisation(synopses: int, beta: float) -> Subject:
    samples = samples_needed(synopses=synopses, advantage=ADVANTAGE, beta=beta)
    # Just over the weight that a synopsis may be wrong on.
    shape: dict[str, Any] = {"synopses": synopses, "samples": samples}
    bad = 0.5 - ADVANTAGE + 1e-4
    claim = UtilityClaim(
        loss=lambda database, output: np.asarray(output, dtype=float),
        bound=lambda level: 0.5 if level >= beta else inf,
        levels=(beta,),
        databases=([0],),
    )
    return Subject(
        claim=claim,
        mechanism=Mechanism(
            trust_rows=True,
            name="misleading-sample",
            run=partial(misleading_sample, bad_share=bad, **shape),
            claims=(claim,),
            reference=SOURCE,
            law=partial(_misleading_law, bad=bad, **shape),
        ),
    )


def _cover_margin(case: Any, *, bins: int, records: int, gamma: float) -> float:
    """`gamma` less the largest error of the best small database."""
    weights = indicator_queries(bins)
    counts = np.bincount(np.asarray(case["rows"], dtype=np.int64), minlength=bins)
    errors = answer_table(weights, records=records) - linear_answers(counts, weights=weights)
    return float(gamma - np.abs(errors).max(axis=1).min())


def _sampled_cover(bins: int, records: int) -> float:
    return sqrt(log(2 * 2**bins) / (2 * records))


def _rounded_cover(bins: int, records: int) -> float:
    return coverage(bins=bins, records=records)


def _cover(cover: Callable[[int, int], float], bins: int, small: int) -> InvariantClaim:
    gamma = cover(bins, small)
    row = Interval(low=0, high=bins - 1, integer=True)
    return InvariantClaim(
        cases=Record(fields={"rows": Rows(row=row, least=1, most=40)}),
        margin=partial(_cover_margin, bins=bins, records=small, gamma=gamma),
        # Half of the shares with a remainder of one half, and all of them.
        examples=({"rows": [0] * (2 * small - 1) + [1]}, {"rows": list(range(bins))}),
    )


def generate(
    database: Database,
    rng: np.random.Generator,
    *,
    distribution: tuple[float, ...],
    samples: int,
    scale: float,
    size: Size = None,
) -> Array:
    """Sample queries, and search the synopsis that fits noisy answers to them.

    The queries ask for the shares of all sets of elements, in the order of
    `indicator_queries`. Returns rows of the table of small databases, whole numbers of shape
    `size`.
    """
    shape = sample_shape(size)
    law = np.broadcast_to(np.asarray(distribution), (int(np.prod(shape)), len(distribution)))
    sampled = draw_queries(rng, law, samples)
    noisy = linear_answers(database, weights=WEIGHTS)[sampled]
    noisy = noisy + rng.laplace(scale=scale, size=noisy.shape)
    return nearest_synopsis(noisy, sampled, answer_table(WEIGHTS, records=SMALL)).reshape(shape)[()]


def _generator(law: tuple[float, ...], records: int, epsilon: float, beta: float) -> Subject:
    table = answer_table(WEIGHTS, records=SMALL)
    samples = samples_needed(synopses=len(table), advantage=ADVANTAGE, beta=beta / 2)
    scale = base_scale(samples=samples, sensitivity=1 / records, epsilon=epsilon)
    accuracy = coverage(bins=BINS, records=SMALL) + 2 * scale * log(2 * samples / beta)

    def loss(database: Database, output: Any) -> Array:
        errors = np.abs(table - linear_answers(database, weights=WEIGHTS))
        served = (errors <= accuracy) @ np.asarray(law)
        return np.asarray((served < 0.5 + ADVANTAGE - 1e-12)[np.asarray(output)], dtype=float)

    claim = UtilityClaim(
        loss=loss,
        bound=lambda level: 0.5 if level >= beta else inf,
        levels=(beta,),
        databases=([records // 8, records // 8, records - 2 * (records // 8)],),
    )
    return Subject(
        claim=claim,
        mechanism=Mechanism(
            trust_rows=True,
            name="base-generator",
            run=partial(generate, distribution=law, samples=samples, scale=scale),
            databases=Histogram(bins=BINS, total=records),
            claims=(claim,),
            reference=SOURCE,
        ),
    )


def _boosted(records: int, epsilon: float, beta: float) -> Subject:
    queries = indicator_queries(2)
    rounds = rounds_needed(queries=len(queries), advantage=ADVANTAGE)
    synopses = SMALL + 1
    samples = samples_needed(synopses=synopses, advantage=ADVANTAGE, beta=beta / (2 * rounds))
    scale = base_scale(samples=samples, sensitivity=1 / records, epsilon=epsilon)
    slack = 2 * scale * log(2 * rounds * samples / beta)
    mechanism = boosting_mechanism(
        weights=queries,
        small=SMALL,
        records=records,
        samples=samples,
        rounds=rounds,
        accuracy=coverage(bins=2, records=SMALL) + slack,
        sample_epsilon=1.0,
        sample_delta=1e-6,
        base_epsilon=epsilon,
        identifier="BQ-6.1-ACC",
    )
    (accurate,) = (claim for claim in mechanism.claims if isinstance(claim, UtilityClaim))
    return Subject(claim=accurate, mechanism=mechanism)


SEARCHED = (
    "the search takes the synopsis that fits best, and the bound counts on the worst that fits; "
    "BQ-GEN reaches the bound on misleading samples, T-LAP-1 the one on the noise"
)

THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="BQ-6.1",
        statement="a distribution of two queries too is served to lambda on 1/2 + eta, "
        "but for beta",
        reference=f"{BOOK}, Definition 6.1",
        subject=partial(_generator, TWO_QUERIES),
        parameters={"records": RECORDS, "epsilon": EPSILON, "beta": BETA},
        weak=SEARCHED,
    ),
    Theorem(
        identifier="BQ-GEN",
        statement="ln(|Y| / beta) / -ln(1/2 + eta) samples speak for all queries, but for beta",
        reference=SOURCE,
        subject=_generalisation,
        parameters={
            "synopses": whole(3, 1, 3, "bad synopses"),
            "beta": BETA,
        },
    ),
    Theorem(
        identifier="BQ-COVER",
        statement="every data has m records that answer all queries to sqrt(ln(2 |Q|) / (2 m))",
        reference=SOURCE,
        subject=partial(_cover, _sampled_cover),
        parameters=(
            sizes := {
                "bins": whole(4, 2, 5, "elements of the domain"),
                "small": whole(4, 1, 8, "records of a small database, m"),
            }
        ),
    ),
    Theorem(
        identifier="BQ-COVER-ROUNDING",
        statement="every data has m records that answer all queries to bins / (4 m)",
        reference=SOURCE,
        subject=partial(_cover, _rounded_cover),
        parameters=sizes,
    ),
    Theorem(
        identifier="BQ-BASE-ACC",
        statement="the synopsis serves 1/2 + eta of the distribution to lambda, but for beta",
        reference=SOURCE,
        subject=partial(_generator, UNIFORM),
        parameters={"records": RECORDS, "epsilon": EPSILON, "beta": BETA},
        weak=SEARCHED,
    ),
    Theorem(
        identifier="BQ-6.1-ACC",
        statement="but for T beta no answer errs by more than lambda + mu",
        reference=f"{BOOK}, Theorem 6.1(1)",
        subject=_boosted,
        parameters={"records": RECORDS, "epsilon": EPSILON, "beta": BETA},
        weak="the real generator serves all queries, not 1/2 + eta of them; BQ-6.1-ACC-EVENT runs "
        "the same boosting on one that errs as often as it may, up to the edge",
    ),
)
