"""Boosting for queries: what the sampled queries and the synopses reveal, and what they cost."""

from dataclasses import replace
from functools import partial
from math import tanh

import numpy as np

from ..accounting.spending import Spending, bound, spends
from ..model import (
    Histogram,
    IdentityClaim,
    Interval,
    InvariantCase,
    InvariantClaim,
    Mechanism,
    Parameter,
    PrivacyClaim,
    Product,
    Record,
    Rows,
    Theorem,
    number,
    whole,
)
from .base_synopsis import SOURCE as BASE
from .base_synopsis import base_mechanism, coverage
from .boosting import BOOK, SOURCE, boosting_mechanism, every_synopsis
from .boosting_pictures import ratios_plot
from .query_weights import attenuation_for, indicator_queries, log_ratios, sampling_loss
from .sampled_queries import sampled_query_counts_mechanism, sampled_query_mechanism

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
        reference=BASE,
        subject=_base,
        parameters={
            "epsilon": EPSILON,
            "sampled": whole(1, 1, 14, "sampled queries, k"),
        },
    ),
    Theorem(
        identifier="BQ-BASE-ADVANCED",
        statement="noise of scale rho sqrt(k / 2) / s(epsilon, delta) on k answers suffices",
        reference=f"{BASE}, with constants",
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
        reference=f"{BASE}, with constants",
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
)
