"""Theorems on composition at all parameters at once: exact delta against what is promised.

The exact delta of a composition is that of leaky randomized responses, which lose the most of
all; Kairouz, Oh and Viswanath (2015).
"""

from math import log

from ..model import Interval, InvariantCase, InvariantClaim, Record, Rows, Theorem
from .composition import (
    advanced_composition,
    heterogeneous_composition,
    optimal_delta,
    response_delta,
    zcdp_composition,
)

BUN = "Bun and Steinke (2016)"
DRV = "Dwork, Rothblum and Vadhan (2010), Theorem III.3"
STEMMER = "Stemmer, lecture notes on differential privacy, lecture 10"

ADVANCED_CASES = Record(
    fields={
        "rounds": Interval(low=1, high=1000, integer=True),
        "epsilon": Interval(low=0.01, high=1),
        "digits": Interval(low=0.35, high=12),
    }
)


def advanced_margin(case: InvariantCase, **constants: float) -> float:
    """1 - (exact delta) / (2 k delta) at the epsilon of the advanced theorem; at least 0 if true.

    `case` is one of `ADVANCED_CASES`, whose delta is 10**-digits / rounds; `constants` are
    other values of `root` and `linear`, with which the statement is seen to fail.
    """
    rounds, delta = int(case["rounds"]), 10 ** -case["digits"] / case["rounds"]
    epsilon = float(case["epsilon"])
    level, whole = advanced_composition(epsilon=epsilon, delta=delta, rounds=rounds, **constants)
    return 1 - optimal_delta(epsilon=epsilon, delta=delta, rounds=rounds, level=level) / whole


def _advanced_everywhere() -> InvariantClaim:
    return InvariantClaim(
        cases=ADVANCED_CASES,
        margin=advanced_margin,
        examples=(
            {"rounds": 1000, "epsilon": 0.1, "digits": 3},
            {"rounds": 1000, "epsilon": 0.0158, "digits": 9},
            {"rounds": 100, "epsilon": 0.05, "digits": 9},
            {"rounds": 1, "epsilon": 1, "digits": 0.35},
        ),
    )


def _heterogeneous_everywhere() -> InvariantClaim:
    def margin(case: InvariantCase) -> float:
        delta = 10 ** -case["digits"]
        level = zcdp_composition(case["epsilons"], delta)
        return 1 - response_delta(case["epsilons"], level) / delta

    return InvariantClaim(
        cases=Record(
            fields={
                "epsilons": Rows(row=Interval(low=0.01, high=2), min_size=1, max_size=12),
                "digits": Interval(low=0.1, high=12),
            }
        ),
        margin=margin,
        examples=(
            {"epsilons": [0.05] * 12, "digits": 0.1},
            {"epsilons": [0.1] * 11 + [0.4], "digits": 1},
        ),
    )


def alike_margin(case: InvariantCase) -> float:
    """Of many equal pure parts 1 - (exact delta) / delta, at the epsilon that is taught."""
    delta, rounds = 10 ** -case["digits"], int(case["rounds"])
    level = heterogeneous_composition([case["epsilon"]] * rounds, delta)
    exact = optimal_delta(epsilon=case["epsilon"], delta=0.0, rounds=rounds, level=level)
    return 1 - exact / delta


def _alike_everywhere() -> InvariantClaim:
    return InvariantClaim(
        cases=Record(
            fields={
                "rounds": Interval(low=1, high=1000, integer=True),
                "epsilon": Interval(low=0.01, high=1),
                "digits": Interval(low=0.1, high=12),
            }
        ),
        margin=alike_margin,
        examples=(
            {"rounds": 1000, "epsilon": 0.01, "digits": 12},
            {"rounds": 1, "epsilon": 1, "digits": 0.1},
        ),
    )


def _domain_as_printed() -> InvariantClaim:
    def radicand(case: InvariantCase) -> float:
        return 2 * case["rounds"] * log(1 / (case["rounds"] * case["delta"]))

    return InvariantClaim(
        cases=Record(
            fields={
                "rounds": Interval(low=1, high=1000, integer=True),
                "delta": Interval(low=1e-6, high=1),
            }
        ),
        margin=radicand,
        examples=({"rounds": 1, "delta": 1.0}, {"rounds": 2, "delta": 1.0}),
    )


THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="T-COMP-ADV-OPT",
        statement="the exact delta of k parts stays below that of the advanced theorem everywhere",
        reference=DRV,
        subject=_advanced_everywhere,
    ),
    Theorem(
        identifier="T-COMP-HET-OPT",
        statement="the exact delta of pure parts stays below that of zCDP for any epsilons",
        reference=BUN,
        subject=_heterogeneous_everywhere,
    ),
    Theorem(
        identifier="T-COMP-HET-ALIKE",
        statement="k pure parts are k 2 eps^2 + sqrt(2 k ln(1/delta)) eps at delta, for many too",
        reference=STEMMER,
        subject=_alike_everywhere,
    ),
    Theorem(
        identifier="ERR-GD-7",
        statement="the root in the advanced theorem is real for all k and 0 < epsilon, delta <= 1",
        reference=STEMMER,
        subject=_domain_as_printed,
        corrected="T-COMP-ADV",
        remark="the logarithm is negative where k delta > 1: the theorem needs k delta < 1",
        part="Gradient descent and vector noise",
    ),
)
