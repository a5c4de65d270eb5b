"""Base synopses and boosting: how many samples, how small a database, why the median is right.

The statements about runs of boosting hold whenever the base generator keeps its promise in every
round. They are tested against a generator that promises no more than it must and follows a script
of errors.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import comb, exp, inf, log, sqrt
from typing import TypedDict, Unpack

import numpy as np

from .._checks import sample_shape
from ..model import (
    Array,
    Database,
    FiniteLaw,
    IdentityClaim,
    Interval,
    InvariantCase,
    InvariantClaim,
    Mechanism,
    Output,
    Plot,
    Record,
    Remarks,
    Rows,
    Size,
    Subject,
    Theorem,
    ThresholdClaim,
    UtilityClaim,
    number,
    whole,
)
from .boosting import (
    BOOK,
    SECTION_6_2,
    SOURCE,
    answer_table,
    base_mechanism,
    base_scale,
    boosting_mechanism,
    coverage,
    draw_queries,
    nearest_synopsis,
    samples_needed,
)
from .boosting_cases import (
    ADVANTAGE,
    QUERIES,
    advantage_margin,
    answer_margin,
    case_domain,
    majority_margin,
    near_edge,
    normaliser_margin,
    potential_margin,
    potential_plot,
)
from .query_weights import (
    attenuation_for,
    exponential_weights,
    indicator_queries,
    linear_answers,
    rounds_needed,
)

GENERATOR_ADVANTAGE = 0.25
BAD = 0.5 - GENERATOR_ADVANTAGE + 1e-4
"""Just over the weight that a synopsis may be wrong on."""
BOOSTED_ADVANTAGE = 0.36
"""With two queries two rounds are enough, and the median of two is spoilt by one of them."""
RECORDS = whole(200_000, 1000, 10**7, "records, n")
EPSILON = number(0.1, 0.01, 1, "loss of one synopsis, in nats")
BETA = number(0.05, 0.001, 0.5, "failure probability")


class SampleShape(TypedDict):
    """How many synopses there are, and how many samples of the queries."""

    synopses: int
    samples: int


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
    samples = samples_needed(synopses=synopses, advantage=GENERATOR_ADVANTAGE, beta=beta)
    shape: SampleShape = {"synopses": synopses, "samples": samples}
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
            run=partial(misleading_sample, bad_share=BAD, **shape),
            claims=(claim,),
            reference=SECTION_6_2,
            law=partial(_misleading_law, bad=BAD, **shape),
        ),
    )


def _cover_margin(case: InvariantCase, *, bins: int, records: int, gamma: float) -> float:
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
    # Shares with a remainder of one half in as many bins as can have one: half of them round up.
    odd = min(bins - bins % 2, 2 * small)
    halves = [0] * (2 * small - odd) + list(range(odd))
    row = Interval(low=0, high=bins - 1, integer=True)
    return InvariantClaim(
        cases=Record(fields={"rows": Rows(row=row, min_size=1, max_size=40)}),
        margin=partial(_cover_margin, bins=bins, records=small, gamma=gamma),
        examples=({"rows": halves}, {"rows": list(range(bins))}),
    )


def generate(
    database: Database,
    rng: np.random.Generator,
    *,
    weights: Sequence[Sequence[float]],
    small: int,
    distribution: Sequence[float],
    samples: int,
    scale: float,
    size: Size = None,
) -> Array:
    """Sample queries, and search the synopsis that fits noisy answers to them.

    Returns rows of the table of small databases, whole numbers of shape `size`.
    """
    shape = sample_shape(size)
    law = np.broadcast_to(np.asarray(distribution), (int(np.prod(shape)), len(distribution)))
    sampled = draw_queries(rng, law, samples)
    noisy = linear_answers(database, weights=weights)[sampled]
    noisy = noisy + rng.laplace(scale=scale, size=noisy.shape)
    return nearest_synopsis(noisy, sampled, answer_table(weights, records=small)).reshape(shape)[()]


def _shares_of_single_bins(bins: int) -> tuple[tuple[float, ...], ...]:
    """The shares of the last bin, of the one before, .., of bin 1, and of none.

    With all records in bin 0 every answer is 0. A synopsis with a record in another bin errs on
    the share of that bin, and of the synopses that agree on what was sampled it stands first.
    """
    asked = (*range(bins - 1, 0, -1), None)
    return tuple(tuple(float(place == own) for place in range(bins)) for own in asked)


def _generator(bins: int, records: int, epsilon: float, beta: float) -> ThresholdClaim:
    """Each bin but one has a synopsis of its own, which errs on just too much weight."""
    weights = _shares_of_single_bins(bins)
    law = np.full(bins, BAD)
    law[-1] -= law.sum() - 1
    table = answer_table(weights, records=1)
    needed = samples_needed(synopses=len(table), advantage=GENERATOR_ADVANTAGE, beta=beta / 2)
    noise = partial(base_scale, sensitivity=1 / records, epsilon=epsilon)
    accuracy = coverage(bins=bins, records=1) + 2 * noise(samples=needed) * log(2 * needed / beta)

    def instance(samples: int) -> tuple[Callable[..., Output], Database]:
        run = partial(
            generate,
            weights=weights,
            small=1,
            distribution=tuple(law),
            samples=samples,
            scale=noise(samples=samples),
        )
        return run, [records] + [0] * (bins - 1)

    def unserved(database: Database, output: Output) -> Array:
        errors = np.abs(table - linear_answers(database, weights=weights))
        return np.asarray(((errors > accuracy) @ law)[np.asarray(output)], dtype=float)

    return ThresholdClaim(
        trust_rows=True,
        needed=needed,
        counted="samples",
        instance=instance,
        loss=unserved,
        level=0.5 - GENERATOR_ADVANTAGE,
        beta=beta,
    )


def _boosted(records: int, epsilon: float, beta: float) -> ThresholdClaim:
    bins, small = 3, 2
    weights = _shares_of_single_bins(bins)[:-1]
    rounds = rounds_needed(queries=len(weights), advantage=BOOSTED_ADVANTAGE)
    synopses = len(answer_table(weights, records=small))
    needed = samples_needed(
        synopses=synopses, advantage=BOOSTED_ADVANTAGE, beta=beta / (2 * rounds)
    )
    scale = base_scale(samples=needed, sensitivity=1 / records, epsilon=epsilon)
    slack = 2 * scale * log(2 * rounds * needed / beta)
    accuracy = coverage(bins=bins, records=small) + slack
    privacy: dict[str, float] = {"epsilon": 1.0, "delta": 1e-6}

    def instance(samples: int) -> tuple[Callable[..., Output], Database]:
        made = boosting_mechanism(
            weights=weights,
            small=small,
            records=records,
            samples=samples,
            rounds=rounds,
            accuracy=accuracy,
            advantage=BOOSTED_ADVANTAGE,
            sample_epsilon=privacy["epsilon"],
            sample_delta=privacy["delta"],
            base_epsilon=epsilon,
        )
        return made.run, [records] + [0] * (bins - 1)

    def worst_error(database: Database, output: Output) -> Array:
        return np.abs(output - linear_answers(database, weights=weights)).max(axis=-1)

    attenuation = attenuation_for(
        advantage=BOOSTED_ADVANTAGE,
        sensitivity=1 / records,
        samples=needed,
        rounds=rounds,
        **privacy,
    )
    return ThresholdClaim(
        trust_rows=True,
        needed=needed,
        counted="samples",
        instance=instance,
        loss=worst_error,
        level=accuracy + attenuation,
        beta=beta,
    )


def _promised(records: int, epsilon: float, beta: float) -> IdentityClaim:
    """The chance of failure that the mechanism claims, over what its rounds' failures add up to."""
    weights = _shares_of_single_bins(3)[:-1]

    def ratio() -> float:
        worst = 1.0
        for rounds in (2, 5):
            made = boosting_mechanism(
                weights=weights, rounds=rounds, advantage=BOOSTED_ADVANTAGE, sample_epsilon=1.0,
                sample_delta=1e-6, base_epsilon=epsilon, small=2, records=records, samples=60,
                accuracy=0.9,
            )  # fmt: skip
            claims = [one for one in made.claims if isinstance(one, UtilityClaim)]
            noise = base_scale(samples=60, sensitivity=1 / records, epsilon=epsilon)
            # Of 6 synopses, each a way to put 2 records into 3 bins.
            luck = 6 * (1 / 2 + BOOSTED_ADVANTAGE) ** 60
            far = exp(-(0.9 - coverage(bins=3, records=2)) / (2 * noise))
            found = claims[0].levels[0] / (rounds * (60 * far + luck))
            worst = max(worst, found, 1 / found)
        return worst

    return IdentityClaim(compute=ratio, stated=1.0, tolerance=1e-9)


def _level_promised(accuracy: float, attenuation: float) -> IdentityClaim:
    """How far the mechanism claims to err, where it claims anything."""

    def level() -> float:
        made = boosting_mechanism(
            weights=_shares_of_single_bins(3)[:-1], small=2, records=20_000, samples=60, rounds=9,
            accuracy=accuracy, attenuation=attenuation, advantage=BOOSTED_ADVANTAGE,
            sample_epsilon=1.0, sample_delta=1e-6, base_epsilon=1.0,
        )  # fmt: skip
        claim = made.claims[-1]
        assert isinstance(claim, UtilityClaim)
        return claim.bound(claim.levels[0])

    return IdentityClaim(compute=level, stated=accuracy + attenuation)


def _errors_claimed(epsilon: float, beta: float) -> IdentityClaim:
    """What the mechanism claims, over what coverage and noise add up to; either may be more."""

    def ratio() -> float:
        worst = 1.0
        for bins, small, records, queries in ((4, 4, 1000, 3), (3, 6, 50, 5)):
            made = base_mechanism(
                weights=indicator_queries(bins), sampled=tuple(range(1, queries + 1)), small=small,
                records=records, epsilon=epsilon,
            )  # fmt: skip
            claim = made.claims[-1]
            assert isinstance(claim, UtilityClaim)
            noise = queries / (records * epsilon)
            found = claim.bound(beta) / (bins / (4 * small) + 2 * noise * log(queries / beta))
            worst = max(worst, found, 1 / found)
        return worst

    return IdentityClaim(compute=ratio, stated=1.0, tolerance=1e-9)


def _sampled_answers(epsilon: float, queries: int, searched: int) -> Subject:
    made = base_mechanism(
        weights=indicator_queries(4),
        sampled=tuple(range(1, queries + 1)),
        small=4,
        records=1000,
        epsilon=epsilon,
        search=bool(searched),
    )
    claim = made.claims[1]
    assert isinstance(claim, UtilityClaim)
    hard = ([125, 125, 375, 375], [1000, 0, 0, 0])
    return Subject(claim=replace(claim, databases=hard), mechanism=made)


ROUNDS = whole(15, 1, 60, "rounds, T")


def favouring_weights(agreed: Array, rate: float) -> Array:
    """Weights that grow where the synopses agree with the data."""
    return exponential_weights(-agreed, rate)


def _about_runs(
    identifier: str,
    statement: str,
    margin: Callable[..., float],
    *,
    parameters: tuple[str, ...] = ("queries", "advantage", "rounds"),
    queries: int = 16,
    plot: Callable[..., Plot] | None = None,
    **rest: Unpack[Remarks],
) -> Theorem:
    """A statement about runs; `margin(case, **parameters)` is that of a script."""

    def subject(queries: int, **given: float) -> InvariantClaim:
        return InvariantClaim(
            cases=case_domain(queries=queries),
            margin=partial(margin, queries=queries, **given),
            examples=near_edge(queries=queries),
        )

    known = {"queries": replace(QUERIES, default=queries), "advantage": ADVANTAGE, "rounds": ROUNDS}
    return Theorem(
        identifier=identifier,
        statement=statement,
        reference=SOURCE,
        subject=subject,
        parameters={name: known[name] for name in parameters},
        plot=plot,
        **rest,
    )


THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="BQ-BASE-ERR",
        statement="P[one of k noisy answers errs by b ln(k / beta)] <= beta, and the best synopsis "
        "for them by the coverage and twice as much",
        reference=SECTION_6_2,
        subject=_sampled_answers,
        parameters={
            "epsilon": number(1.0, 0.01, 4, "loss of the answers, in nats"),
            "queries": whole(3, 1, 12, "sampled queries, k"),
            "searched": whole(0, 0, 1, "1 for the synopsis, 0 for the noisy answers"),
        },
    ),
    Theorem(
        identifier="BQ-BASE-ERR-CLAIM",
        statement="the synopsis claims to err by bins / (4 m) + 2 b ln(k / beta), b = k / (n e)",
        reference=SECTION_6_2,
        subject=_errors_claimed,
        parameters={
            "epsilon": number(1.0, 0.01, 4, "loss of the answers, e, in nats"),
            "beta": BETA,
        },
    ),
    Theorem(
        identifier="BQ-6.1-BETA",
        statement="T rounds claim to fail with chance T (k exp(-tau / b) + |Y| (1/2 + eta)^k)",
        reference=f"{BOOK}, Theorem 6.1(1)",
        subject=_promised,
        parameters={
            "records": replace(RECORDS, default=20_000),
            "epsilon": EPSILON,
            "beta": BETA,
        },
    ),
    Theorem(
        identifier="BQ-6.1-LEVEL",
        statement="the answers claim to err by lambda + mu",
        reference=f"{BOOK}, Theorem 6.1(1)",
        subject=_level_promised,
        parameters={
            "accuracy": number(0.9, 0.5, 1, "on most queries in each round, lambda"),
            "attenuation": number(0.3, 0.01, 1, "errors between count as partly wrong, mu"),
        },
    ),
    Theorem(
        identifier="BQ-6.1",
        statement="ln(2 |Y| / beta) / -ln(1/2 + eta) samples serve two queries too to lambda on "
        "1/2 + eta, but for beta",
        reference=f"{BOOK}, Definition 6.1",
        subject=partial(_generator, 2),
        parameters={"records": RECORDS, "epsilon": EPSILON, "beta": BETA},
    ),
    Theorem(
        identifier="BQ-GEN",
        statement="ln(|Y| / beta) / -ln(1/2 + eta) samples speak for all queries, but for beta",
        reference=SECTION_6_2,
        subject=_generalisation,
        parameters={
            "synopses": whole(3, 1, 3, "bad synopses"),
            "beta": BETA,
        },
    ),
    Theorem(
        identifier="BQ-COVER",
        statement="every data has m records that answer all queries to sqrt(ln(2 |Q|) / (2 m))",
        reference=SECTION_6_2,
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
        reference=SECTION_6_2,
        subject=partial(_cover, _rounded_cover),
        parameters=sizes,
    ),
    Theorem(
        identifier="BQ-BASE-ACC",
        statement="with ln(2 |Y| / beta) / -ln(1/2 + eta) samples the synopsis serves 1/2 + eta of "
        "the distribution to lambda, but for beta",
        reference=SECTION_6_2,
        subject=partial(_generator, 3),
        parameters={"records": RECORDS, "epsilon": EPSILON, "beta": BETA},
    ),
    Theorem(
        identifier="BQ-6.1-ACC",
        statement="with ln(2 T |Y| / beta) / -ln(1/2 + eta) samples a round no answer errs by more "
        "than lambda + mu, but for beta",
        reference=f"{BOOK}, Theorem 6.1(1)",
        subject=_boosted,
        parameters={"records": RECORDS, "epsilon": EPSILON, "beta": BETA},
        weak="no samples can: T rounds fail a query only if they miss 1/2 - eta of the weight on "
        "average, by BQ-POT and the inequality of the means, and all together that has chance "
        "(beta / 2 T)^T; T-LAP-1 reaches the bound on the noise, BQ-6.1-ACC-EVENT that on errors",
    ),
    _about_runs(
        "BQ-6.3",
        "in every round the weighted lower agreement is 2 eta or more",
        advantage_margin,
    ),
    _about_runs(
        "BQ-Z",
        "in every round the normaliser is at most sqrt(1 - 4 eta^2)",
        normaliser_margin,
    ),
    _about_runs(
        "BQ-POT",
        "bad queries <= potential = product of normalisers <= (1 - 4 eta^2)^(T/2)",
        potential_margin,
        queries=64,
        plot=potential_plot,
    ),
    _about_runs(
        "BQ-MAJ",
        "where upper agreements add up to more than 0 the median errs by less than lambda + mu",
        majority_margin,
    ),
    _about_runs(
        "BQ-6.1-ACC-EVENT",
        "after T rounds no median errs by more than lambda + mu",
        answer_margin,
        parameters=("queries", "advantage"),
        queries=64,
    ),
    _about_runs(
        "ERR-BQ-4",
        "a query's weight is increased when its answer is accurate, decreased when it is not",
        partial(potential_margin, reweight=favouring_weights),
        plot=partial(potential_plot, reweight=favouring_weights),
        corrected="BQ-POT",
        remark="the words are exchanged: inaccurate queries gain weight, accurate ones lose it",
    ),
)
