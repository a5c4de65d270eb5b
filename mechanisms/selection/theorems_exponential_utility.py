"""The exponential mechanism: how good a candidate it selects, and its examples."""

from dataclasses import replace
from functools import partial
from math import exp, log, log1p

import numpy as np

from ..model import (
    EqualityClaim,
    IdentityClaim,
    Interval,
    Mechanism,
    Subject,
    Theorem,
    number,
    whole,
)
from ..queries import revenue
from .exponential import exponential_by_weights, exponential_mechanism, log_probabilities
from .selection import ROUNDING, Selection, by_counts

BOOK = "Dwork and Roth (2014)"
BIDS = (1.0, 1.0, 1.0, 3.01)
LEVELS = (0.5, 0.2, 0.1, 0.05, 0.01)

EPSILON = number(1.0, 0.1, 4, "nats")
CANDIDATES = whole(50, 10, 200, "their number")
GAP = whole(10, 1, 30, "by how much the best candidates are ahead of all others")


NEARLY = 10
"""Candidates that are one behind the best, and do not share its score."""


def _regret(epsilon: float, candidates: int, best: int, gap: int) -> Subject:
    """The best candidates are `gap` ahead of all others, which are as good as each other.

    If several are, a second database has a single best one and others that are nearly as good.
    """
    ties = best > 1
    nearly = min(NEARLY, candidates - 2) if ties else 0
    level = candidates * exp(-gap * epsilon / 2) / best * (1 + 1e-9)
    problem = by_counts(candidates, max_count=40)
    alike = [0] * (candidates - best) + [gap] * best
    apart = [0] * (candidates - 1 - nearly) + [gap - 1] * nearly + [gap]
    # At these levels the bound is just the regret of all candidates but the best; the second would
    # be that of the second database if those nearly as good were counted among the best.
    reached = (level, level * best / (1 + nearly)) if ties else (level,)
    claim = problem.regret_claim(
        epsilon,
        ties=ties,
        levels=(*(one for one in reached if one < 1), *LEVELS),
        databases=(alike, apart) if ties else (alike,),
    )
    return Subject(claim=claim, mechanism=_of(problem, epsilon))


def _reached(epsilon: float, candidates: int) -> IdentityClaim:
    """How far, in logarithms, a claim is asked at other levels than those at which it is hard."""

    def apart() -> float:
        claim = by_counts(candidates, max_count=40).regret_claim(epsilon)
        asked = np.log(claim.levels)
        # The first candidate is ahead; each other one is selected with chance exp(-lead / scale).
        most = log(candidates) + log1p(ROUNDING)
        hard = [most - database[0] * epsilon / 2 for database in claim.databases]
        return max(float(np.abs(asked - one).min()) for one in hard if one < 0)

    return IdentityClaim(compute=apart, stated=0.0)


def _gumbel_sampler(epsilon: float, gap: int) -> Subject:
    problem = by_counts(4, max_count=40)
    claim = EqualityClaim(
        other=partial(exponential_by_weights, **problem.given(epsilon)),
        law=problem.law(log_probabilities, epsilon),
        databases=([step * gap for step in range(4)],),
    )
    return Subject(claim=claim, mechanism=_of(problem, epsilon))


def _of(problem: Selection, epsilon: float) -> Mechanism:
    return exponential_mechanism(problem, epsilon=epsilon, name="exponential-of-counts")


def _price(price: float) -> IdentityClaim:
    def compute() -> float:
        return float(revenue(BIDS, prices=(price,))[0])

    buyers = 4 if price <= 1 else 1 if price <= 3.01 else 0
    return IdentityClaim(compute=compute, stated=price * buyers)


def _price_printed() -> IdentityClaim:
    return IdentityClaim(compute=lambda: float(revenue(BIDS, prices=(1.0,))[0]), stated=3.0)


THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="EM-3.4",
        statement="the argmax of scores with Gumbel noise falls as the weights "
        "exp(epsilon u / 2 Du)",
        reference=f"{BOOK}, Definition 3.4",
        subject=_gumbel_sampler,
        parameters={
            "epsilon": replace(EPSILON, default=0.7),
            "gap": whole(1, 0, 10, "between one count and the next"),
        },
    ),
    Theorem(
        identifier="EM-3.5",
        statement="four bids of 1, 1, 1 and 3.01: the revenue at a price is price times buyers",
        reference=f"{BOOK}, Example 3.5",
        subject=_price,
        parameters={"price": number(1.0, 0.01, 5, "price")},
    ),
    Theorem(
        identifier="EM-3.6",
        statement="two counts, 0 and c: P[the worse one] <= 2 exp(-c epsilon / 2)",
        reference=f"{BOOK}, Example 3.6",
        subject=partial(_regret, candidates=2, best=1),
        parameters={"epsilon": EPSILON, "gap": replace(GAP, default=4, meaning="c")},
    ),
    Theorem(
        identifier="EM-3.11",
        statement="P[u <= best - (2 Du / epsilon) (ln(candidates / best ones) + t)] <= exp(-t)",
        reference=f"{BOOK}, Theorem 3.11",
        subject=_regret,
        parameters={
            "epsilon": EPSILON,
            "candidates": CANDIDATES,
            "best": whole(5, 1, 9, "candidates that share the best score"),
            "gap": GAP,
        },
    ),
    Theorem(
        identifier="EM-3.12",
        statement="P[u <= best - (2 Du / epsilon) (ln(candidates) + t)] <= exp(-t)",
        reference=f"{BOOK}, Corollary 3.12",
        subject=partial(_regret, best=1),
        parameters={"epsilon": EPSILON, "candidates": CANDIDATES, "gap": GAP},
    ),
    Theorem(
        identifier="EM-3.12-LEVELS",
        statement="the regret of the worst candidates is asked for at N exp(-lead epsilon / 2 Du)",
        reference=f"{BOOK}, Corollary 3.12",
        subject=_reached,
        parameters={
            "epsilon": EPSILON,
            "candidates": replace(
                CANDIDATES, default=5, within=Interval(low=2, high=200, integer=True)
            ),
        },
    ),
    Theorem(
        identifier="ERR-EM-1",
        statement="four bids of 1, 1, 1 and 3.01: the revenue at 1.00 is 3.00",
        reference=f"{BOOK}, Example 3.5",
        subject=_price_printed,
        corrected="EM-3.5",
        remark="at 1.00 all four buy: 4.00, the best revenue",
    ),
)
