"""Boosting for queries: what is revealed, and what re-weighting does.

What the sampled queries and the synopses reveal, and what they cost; then the agreement of answers,
the rate of re-weighting, and the rounds needed.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count
from math import ceil, e, exp, floor, log, tanh
from typing import Unpack

import numpy as np

from ..accounting.composition import Spending, bound, spends
from ..model import (
    Array,
    Histogram,
    IdentityClaim,
    Interval,
    InvariantCase,
    InvariantClaim,
    Mechanism,
    Parameter,
    Plot,
    PrivacyClaim,
    Product,
    Record,
    Remarks,
    Rows,
    Theorem,
    number,
    whole,
)
from .boosting import (
    BOOK,
    SECTION_6_2,
    SOURCE,
    base_mechanism,
    boosting_mechanism,
    coverage,
    every_synopsis,
)
from .boosting_cases import ADVANTAGE, QUERIES, agreement_plot, ratios_plot
from .query_weights import (
    Agreement,
    attenuated_agreement,
    attenuation_for,
    exponential_weights,
    indicator_queries,
    log_ratios,
    lower_agreement,
    rounds_needed,
    sampled_query_counts_mechanism,
    sampled_query_mechanism,
    sampling_loss,
    upper_agreement,
    weight_rate,
)

EPSILON = number(1.0, 0.1, 4, "privacy parameter, in nats")
DELTA = number(1e-3, 1e-9, 0.1, "privacy parameter delta")
EARLIER = Interval(low=1, high=12, integer=True)


def one_against_many(queries: int) -> tuple[tuple[int, int], ...]:
    """The share of the first element, and `queries` - 1 times that of the second.

    A replaced record moves the first answer one way and all others the other way.
    """
    return ((1, 0), *[(0, 1)] * (queries - 1))


# --- one sampled query -----------------------------------------------------------------------


def _one_sample(queries: int, earlier: int, ratio: float) -> Mechanism:
    records = max(2, round(1 / ratio))
    return sampled_query_mechanism(
        weights=one_against_many(queries),
        synopses=((0.0,) * queries,) * earlier,
        records=records,
        accuracy=0.0,
        # Errors up to 1, all of them where the agreement falls.
        attenuation=1 / (records * ratio),
        advantage=tanh(1) / 2,
        identifier="BQ-6.4",
    )


SHIFTS = Interval(low=-1, high=1)
ANSWERS = Interval(low=0, high=1)
CASES = Record(
    fields={
        "answers": Rows(row=Product(parts=(ANSWERS, SHIFTS)), min_size=2, max_size=6),
        "synopses": Rows(row=Interval(low=0, high=2), min_size=1, max_size=4),
        "sensitivity": Interval(low=0, high=0.2),
        "advantage": Interval(low=0.05, high=0.45),
    }
)


def _range_margin(case: InvariantCase) -> float:
    """The bound less the width of the interval of log-ratios, and less each of them."""
    answers = np.asarray(case["answers"], dtype=float)
    moved = answers[:, 0] + case["sensitivity"] * answers[:, 1]
    synopses = np.repeat(np.asarray(case["synopses"], dtype=float)[:, None], len(answers), axis=1)
    found = log_ratios(answers[:, 0], moved, synopses, advantage=case["advantage"])[-1]
    bound = sampling_loss(
        advantage=case["advantage"],
        sensitivity=case["sensitivity"],
        attenuation=1.0,
        earlier=len(synopses),
    )
    return float(min(bound - np.ptp(found), bound - np.abs(found).max()))


def _range() -> InvariantClaim:
    edge = {"synopses": [0.0] * 4, "sensitivity": 0.1, "advantage": 0.25}
    return InvariantClaim(
        cases=CASES,
        margin=_range_margin,
        examples=tuple(
            {"answers": [[0.5, 1.0], *[[0.5, -1.0]] * others], **edge} for others in (1, 9)
        ),
    )


# --- all samples, all synopses ---------------------------------------------------------------


def _samples(
    samples: int, earlier: int, epsilon: float, digits: float, calibrated: float | None = None
) -> Mechanism:
    """Counts of two queries, of which one moves up where the other moves down.

    There are so many records that errors up to 1 just fit into the attenuation: wherever the
    answers are, they move the weights.
    """
    rounds, delta = earlier + 1, 10**-digits
    records = attenuation_for(
        advantage=0.25,
        sensitivity=1.0,
        samples=samples,
        rounds=rounds,
        epsilon=epsilon,
        delta=calibrated or delta,
    )
    return sampled_query_counts_mechanism(
        weights=one_against_many(2),
        synopses=((0.0,) * 2,) * (rounds - 1),
        records=max(2, int(records)),
        samples=samples,
        epsilon=epsilon,
        delta=delta,
        accuracy=0.0,
        calibration_delta=calibrated,
        identifier="BQ-MU" if calibrated is None else "ERR-BQ-2",
    )


def _all_samples(samples: int, earlier: int, epsilon: float, digits: float) -> Mechanism:
    return _samples(samples, earlier, epsilon, digits)


def _wrong_delta(samples: int, beta: float, digits: float) -> Mechanism:
    return _samples(samples, 1, 1.0, digits, calibrated=beta)


def _whole(
    epsilon: float,
    delta: float,
    base_epsilon: float,
    rounds: int,
    samples: int = 1,
    base_delta: float = 0.0,
) -> Mechanism:
    return boosting_mechanism(
        weights=((1, 0, 0, 0), (1, 1, 0, 0), (1, 1, 1, 0)),
        small=2,
        records=10,
        samples=samples,
        rounds=rounds,
        accuracy=2 * coverage(bins=4, records=2),
        sample_epsilon=epsilon,
        sample_delta=delta,
        base_epsilon=base_epsilon,
        base_delta=base_delta,
        # What is stated is what all synopses lose; their median loses less.
        combine=every_synopsis,
        identifier="BQ-6.1-PRIV",
    )


def _apart(base_epsilon: float, samples: int) -> Mechanism:
    """One round, whose queries are drawn before the data are looked at.

    A replaced record moves the two answers apart, which noise common to both would not hide.
    """
    return boosting_mechanism(
        weights=one_against_many(2),
        small=2,
        records=6,
        samples=samples,
        rounds=1,
        accuracy=0.25,
        attenuation=0.1,
        sample_epsilon=1e-3,
        sample_delta=1e-9,
        base_epsilon=base_epsilon,
        combine=every_synopsis,
        identifier="BQ-6.1-PRIV-APART",
    )


def _whole_spends(delta: float, base_delta: float, rounds: int) -> IdentityClaim:
    """What the samples lose and leak, and once a round what a synopsis loses and leaks."""

    def amiss() -> float:
        made = _whole(1.0, delta, 0.5, rounds, base_delta=base_delta)
        promised = next(one for one in made.claims if isinstance(one, PrivacyClaim))
        lost = 1.0 + sum([0.5] * rounds)
        leaked = delta + sum([base_delta] * rounds)
        return max(abs(promised.epsilon - lost), abs(promised.delta - leaked))

    return IdentityClaim(compute=amiss, stated=0.0, tolerance=1e-12)


def _samples_spend(samples: int, earlier: int, epsilon: float, digits: float) -> IdentityClaim:
    """The samples of a round after t others have losses in an interval of 4 alpha t rho / mu."""
    made = _samples(samples, earlier, epsilon, digits)
    assert isinstance(made.databases, Histogram)
    assert made.databases.total is not None
    of_a_round = partial(
        sampling_loss,
        advantage=bound(made)["advantage"],
        sensitivity=1 / made.databases.total,
        attenuation=bound(made)["attenuation"],
    )
    ranged = [of_a_round(earlier=t + 1) for t in range(earlier)] * samples
    return spends(lambda: [Spending(ranged=ranged, delta=10**-digits)], epsilon=epsilon)


def _answers_spend(epsilon: float, delta: float, pairs: int) -> IdentityClaim:
    def answers(slack: float) -> Spending:
        made = _noisy(epsilon, slack, pairs)
        return Spending(pure=[1 / 20 / bound(made)["scale"]] * 2 * pairs, delta=slack)

    return spends(lambda: [answers(0.0), answers(delta)], epsilon=epsilon)


def _base(epsilon: float, sampled: int) -> Mechanism:
    queries = indicator_queries(4)
    return base_mechanism(
        weights=queries,
        sampled=tuple(place % (len(queries) - 2) + 1 for place in range(sampled)),
        small=4,
        records=20,
        epsilon=epsilon,
        identifier="BQ-BASE-PRIV",
    )


def _noisy(epsilon: float, delta: float, pairs: int) -> Mechanism:
    """Answers to two queries, each drawn `pairs` times: a record moves every one of them."""
    return base_mechanism(
        weights=((1, 0), (0, 1)),
        sampled=(0, 1) * pairs,
        small=4,
        records=20,
        epsilon=epsilon,
        delta=delta,
        search=False,
        identifier="BQ-BASE-ADVANCED",
    )


def accurate_as_inaccurate(errors: Array, *, accuracy: float, attenuation: float) -> Array:
    """The upper agreement with its two cases exchanged: -1 where the answer is accurate."""
    return -upper_agreement(errors, accuracy=accuracy, attenuation=attenuation)


# --- the agreement ---------------------------------------------------------------------------

ERRORS = Record(
    fields={
        "errors": Interval(low=0, high=3),
        "other": Interval(low=0, high=3),
        "accuracy": Interval(low=0, high=1),
        "attenuation": Interval(low=0.01, high=2),
    }
)
EDGES = tuple(
    {"errors": one, "other": two, "accuracy": 0.25, "attenuation": 0.5}
    for one in (0.0, 0.25, 0.5, 0.75, 3.0)
    for two in (0.25, 0.75)
)


def _agreed(case: InvariantCase, which: Agreement, key: str = "errors") -> float:
    levels = {"accuracy": case["accuracy"], "attenuation": case["attenuation"]}
    return float(which(np.asarray(case[key]), **levels))


def _attenuation_margin(case: InvariantCase) -> float:
    near, far = sorted((case["errors"], case["other"]))
    high = _agreed({**case, "errors": near}, attenuated_agreement)
    low = _agreed({**case, "errors": far}, attenuated_agreement)
    middle = case["accuracy"] + case["attenuation"] / 2
    balance = abs(_agreed({**case, "errors": middle}, attenuated_agreement))
    steepest = 2 * (far - near) / case["attenuation"]
    return min(1 - abs(high), 1 - abs(low), high - low, steepest - (high - low), -balance)


def agreements_margin(case: InvariantCase, *, upper: Agreement = upper_agreement) -> float:
    """The least slack in lower <= attenuated <= upper agreement."""
    middle = _agreed(case, attenuated_agreement)
    return min(middle - _agreed(case, lower_agreement), _agreed(case, upper) - middle)


def _about_errors(
    identifier: str,
    statement: str,
    margin: Callable[[InvariantCase], float],
    plot: Callable[..., Plot],
    **rest: Unpack[Remarks],
) -> Theorem:
    claim = InvariantClaim(cases=ERRORS, margin=margin, examples=EDGES)
    return Theorem(
        identifier=identifier,
        statement=statement,
        reference=BOOK,
        subject=lambda: claim,
        plot=plot,
        **rest,
    )


# --- numbers ---------------------------------------------------------------------------------


def _rate(advantage: float) -> IdentityClaim:
    return IdentityClaim(
        compute=partial(weight_rate, advantage),
        stated=log((1 + 2 * advantage) / (1 - 2 * advantage)) / 2,
    )


def _rounds(queries: int, advantage: float) -> IdentityClaim:
    bound = 1 - 4 * advantage**2
    return IdentityClaim(
        compute=lambda: float(rounds_needed(queries=queries, advantage=advantage)),
        # Counted up, where the formula takes logarithms.
        stated=float(next(t for t in count(1) if bound ** (t / 2) < 1 / queries)),
    )


def _printed_rounds_margin(case: InvariantCase) -> float:
    queries, advantage = case["queries"], case["advantage"]
    exact = rounds_needed(queries=queries, advantage=advantage)
    sharp = floor(log(queries) / (2 * advantage**2)) + 1
    book = ceil(log(queries) / advantage**2)
    return float(min(sharp - exact, book - exact))


def _printed_rounds() -> InvariantClaim:
    return InvariantClaim(
        cases=Record(
            fields={
                "queries": Interval(low=2, high=10**6, integer=True),
                "advantage": Interval(low=0.01, high=0.49),
            }
        ),
        margin=_printed_rounds_margin,
        examples=({"queries": 2, "advantage": 0.49}, {"queries": 64, "advantage": 0.25}),
    )


def _unhappy(share: float, queries: int = 1000) -> tuple[float, float]:
    """Weight of a query served badly under one database only: beside it, and on its own.

    The rate is 1; a `share` of the queries is served badly under the first database.
    """
    agreed = np.where(np.arange(queries) < round(share * queries), -1.0, 1.0)
    ours = float(exponential_weights(agreed, 1.0)[0])
    theirs = float(exponential_weights(np.ones(queries), 1.0)[0])
    return ours / theirs, ours * queries


def _factor(share: float) -> IdentityClaim:
    return IdentityClaim(
        compute=lambda: log(_unhappy(round(share * 1000) / 1000)[0]),
        stated=-log((used := round(share * 1000) / 1000) + (1 - used) * exp(-2)),
        tolerance=1e-10,
    )


def _printed_weight(queries: int) -> IdentityClaim:
    printed = (e / queries) / (0.9 / (e * queries) + 0.1 * e / queries)
    return IdentityClaim(
        compute=lambda: _unhappy(0.1, queries)[1] / queries, stated=printed, tolerance=1e-10
    )


THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="BQ-6.4",
        statement="a query sampled after t rounds loses at most 4 alpha t rho / mu",
        reference=f"{BOOK}, Claim 6.4 with its constant",
        subject=_one_sample,
        parameters={
            "queries": whole(1000, 2, 2000, "queries, one of which moves up and the rest down"),
            "earlier": Parameter(default=5, within=EARLIER, meaning="rounds before, t"),
            "ratio": number(0.02, 0.01, 0.1, "rho / mu"),
        },
        plot=lambda **_: ratios_plot(),
    ),
    Theorem(
        identifier="BQ-6.4-RANGE",
        statement="log-ratios of the weights of all queries lie in an interval of length "
        "4 alpha t rho / mu",
        reference=f"{BOOK}, Claim 6.4 with its constant",
        subject=_range,
    ),
    Theorem(
        identifier="BQ-MU",
        statement="mu = alpha rho sqrt(k (T-1) T (2T-1) / 3) / s makes all samples "
        "private together",
        reference=f"{BOOK}, with constants",
        subject=_all_samples,
        parameters={
            "samples": whole(42, 1, 1000, "queries sampled in a round, k"),
            "earlier": whole(2, 1, 4, "rounds before the last, T - 1"),
            "epsilon": EPSILON,
            "digits": number(3, 1, 10, "-log10 of delta"),
        },
    ),
    Theorem(
        identifier="BQ-MU-SPENT",
        statement="with that mu the samples of all rounds lose just epsilon by zero concentration",
        reference=f"{BOOK}, with constants",
        subject=_samples_spend,
        parameters={
            "samples": whole(42, 1, 1000, "queries sampled in a round, k"),
            "earlier": whole(5, 1, 100, "rounds before the last, T - 1"),
            "epsilon": EPSILON,
            "digits": number(3, 1, 10, "-log10 of delta"),
        },
    ),
    Theorem(
        identifier="BQ-6.1-SPENT",
        statement="all synopses promise what the samples lose and leak, and T times the base",
        reference=f"{SOURCE}(2), with constants",
        subject=_whole_spends,
        parameters={
            "delta": number(0.01, 1e-9, 0.1, "of all samples"),
            "base_delta": number(0.001, 0, 0.01, "of one synopsis"),
            "rounds": whole(4, 1, 50, "T"),
        },
    ),
    Theorem(
        identifier="BQ-6.1-PRIV",
        statement="all synopses together lose epsilon_sample + T epsilon_base, but for "
        "delta_sample + T delta_base",
        reference=f"{SOURCE}(2), with constants",
        subject=_whole,
        parameters={
            "epsilon": EPSILON,
            "delta": replace(DELTA, default=0.01),
            "base_epsilon": number(0.5, 0.1, 2, "loss of one synopsis"),
            "base_delta": number(0, 0, 0.1, "delta of one synopsis"),
            "rounds": whole(4, 1, 4, "rounds, T"),
            "samples": whole(2, 1, 4, "queries sampled in a round, k"),
        },
    ),
    Theorem(
        identifier="BQ-6.1-PRIV-ONE",
        statement="so they do with one sampled query a round, by the exact law of all synopses",
        reference=f"{SOURCE}(2), with constants",
        subject=_whole,
        parameters={
            "epsilon": EPSILON,
            "delta": replace(DELTA, default=0.01),
            "base_epsilon": number(0.5, 0.1, 2, "loss of one synopsis"),
            "rounds": whole(4, 1, 4, "rounds, T"),
        },
    ),
    Theorem(
        identifier="BQ-6.1-PRIV-APART",
        statement="one synopsis of queries that a record moves apart loses epsilon_sample + "
        "epsilon_base: each answer has noise of its own",
        reference=f"{SOURCE}(2), with constants",
        subject=_apart,
        parameters={
            "base_epsilon": number(1.0, 0.1, 2, "loss of one synopsis"),
            "samples": whole(2, 1, 4, "queries sampled in a round, k"),
        },
    ),
    Theorem(
        identifier="BQ-BASE-PRIV",
        statement="noise of scale k rho / epsilon on each of k answers, then a search, is private",
        reference=SECTION_6_2,
        subject=_base,
        parameters={
            "epsilon": EPSILON,
            "sampled": whole(1, 1, 14, "sampled queries, k"),
        },
    ),
    Theorem(
        identifier="BQ-BASE-ADVANCED",
        statement="noise of scale rho sqrt(k / 2) / s(epsilon, delta) on k answers suffices",
        reference=f"{SECTION_6_2}, with constants",
        subject=_noisy,
        parameters={
            "epsilon": EPSILON,
            "delta": replace(DELTA, default=0.01),
            "pairs": whole(8, 1, 50, "answers to either of two queries, k / 2"),
        },
    ),
    Theorem(
        identifier="BQ-BASE-SPENT",
        statement="k noisy answers lose just epsilon together, with delta and without",
        reference=f"{SECTION_6_2}, with constants",
        subject=_answers_spend,
        parameters={
            "epsilon": EPSILON,
            "delta": replace(DELTA, default=0.01),
            "pairs": whole(8, 1, 50, "answers to either of two queries, k / 2"),
        },
    ),
    Theorem(
        identifier="ERR-BQ-2",
        statement="mu may be calculated from the failure probability beta in the place of delta",
        reference=f"{BOOK}, equation (6.2)",
        subject=_wrong_delta,
        parameters={
            "samples": whole(1000, 1000, 1000, "queries sampled in a round, k"),
            "beta": number(0.05, 0.01, 0.1, "failure probability"),
            "digits": number(6, 5, 9, "-log10 of delta"),
        },
        corrected="BQ-MU",
        remark="mu must be calculated from delta, which otherwise does not enter it at all",
    ),
    Theorem(
        identifier="BQ-ALPHA",
        statement="the rate ln((1 + 2 eta) / (1 - 2 eta)) / 2 is artanh(2 eta)",
        reference=BOOK,
        subject=_rate,
        parameters={"advantage": ADVANTAGE},
    ),
    _about_errors(
        "BQ-ATT",
        "agreement falls from 1 to -1, 2/mu-Lipschitz in the error, and is 0 at lambda + mu/2",
        _attenuation_margin,
        agreement_plot,
    ),
    _about_errors(
        "BQ-APM", "lower <= attenuated <= upper agreement", agreements_margin, agreement_plot
    ),
    Theorem(
        identifier="BQ-T",
        statement="floor(2 ln|Q| / -ln(1 - 4 eta^2)) + 1 is the least T with (1 - 4 "
        "eta^2)^(T/2) < 1/|Q|",
        reference=BOOK,
        subject=_rounds,
        parameters={"queries": QUERIES, "advantage": ADVANTAGE},
    ),
    Theorem(
        identifier="BQ-T-BOOK",
        statement="ln|Q| / eta^2 rounds are enough, and so are ln|Q| / (2 eta^2) and one more",
        reference=BOOK,
        subject=_printed_rounds,
    ),
    Theorem(
        identifier="BQ-EX-F",
        statement="without attenuation one record moves ln D_2[q] by -ln(p + (1 - p) / e^2)",
        reference=BOOK,
        subject=_factor,
        parameters={
            "share": number(
                0.1, 0.001, 0.999, "share of the queries served badly under one database"
            )
        },
    ),
    _about_errors(
        "ERR-BQ-1",
        "attenuated agreement <= upper agreement, -1 where the answer is accurate",
        partial(agreements_margin, upper=accurate_as_inaccurate),
        partial(agreement_plot, upper=accurate_as_inaccurate),
        corrected="BQ-APM",
        remark="the upper agreement is -1 where the answer is NOT (lambda + mu)-accurate",
    ),
    Theorem(
        identifier="ERR-BQ-5",
        statement="the displayed weight of an unhappy query, without |Q| in its denominator",
        reference=BOOK,
        subject=_printed_weight,
        parameters={"queries": whole(1000, 1000, 1000, "size of the query set")},
        corrected="BQ-EX-F",
        remark="it is 4.5085, no probability: the denominator lacks a factor |Q|",
    ),
)
