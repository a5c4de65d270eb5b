"""The exponential mechanism: how good a candidate it selects, and its examples."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import exp
from typing import Any

from ..model import (
    Claim,
    EqualityClaim,
    Histogram,
    IdentityClaim,
    Interval,
    Parameter,
    Relation,
    Subject,
    Theorem,
)
from ..queries import counts, revenue
from .exponential import exponential_by_weights, exponential_mechanism, log_probabilities
from .selection import candidate_law, regret_claim

BOOK = "Dwork and Roth (2014)"
BIDS = (1.0, 1.0, 1.0, 3.01)
LEVELS = (0.5, 0.2, 0.1, 0.05, 0.01)

EPSILON = Parameter(default=1.0, within=Interval(low=0.1, high=4), meaning="nats")
CANDIDATES = Parameter(
    default=50, within=Interval(low=10, high=200, integer=True), meaning="their number"
)
GAP = Parameter(
    default=10,
    within=Interval(low=1, high=30, integer=True),
    meaning="by how much the best candidates are ahead of all others",
)
STATEMENTS = {
    "EM-3.4": "the argmax of scores with Gumbel noise falls as the weights exp(epsilon u / 2 Du)",
    "EM-3.5": "four bids of 1, 1, 1 and 3.01: the revenue at a price is price times buyers",
    "EM-3.6": "two counts, 0 and c: P[the worse one] <= 2 exp(-c epsilon / 2)",
    "EM-3.11": "P[u <= best - (2 Du / epsilon) (ln(candidates / best ones) + t)] <= exp(-t)",
    "EM-3.12": "P[u <= best - (2 Du / epsilon) (ln(candidates) + t)] <= exp(-t)",
    "ERR-EM-1": "four bids of 1, 1, 1 and 3.01: the revenue at 1.00 is 3.00",
}


def _about_counts(claim: Claim, epsilon: float, bins: int) -> Subject:
    mechanism = exponential_mechanism(
        score=counts,
        candidates=bins,
        sensitivity=1.0,
        epsilon=epsilon,
        relation=Relation.ADD_REMOVE,
        databases=Histogram(bins=bins, most=40),
        name="exponential-of-counts",
    )
    return Subject(claim=claim, mechanism=replace(mechanism, claims=(claim,)))


def _regret(
    identifier: str, reference: str, epsilon: float, candidates: float, best: float, gap: float
) -> Subject:
    """The best candidates are `gap` ahead of all others, which are as good as each other."""
    m, ahead = round(candidates), round(best)
    level = m * exp(-gap * epsilon / 2) / ahead * (1 + 1e-9)
    claim = regret_claim(
        score=counts,
        scale=2 / epsilon,
        candidates=m,
        ties=ahead > 1,
        reference=f"{BOOK}, {reference}",
        identifier=identifier,
        statement=STATEMENTS[identifier],
        # At this level the bound is just the regret of all candidates but the best.
        levels=(level, *LEVELS) if level < 1 else LEVELS,
        databases=([0] * (m - ahead) + [round(gap)] * ahead,),
    )
    return _about_counts(claim, epsilon, m)


def _regret_with_ties(
    epsilon: float = 1.0, candidates: float = 50, best: float = 5, gap: float = 10
) -> Subject:
    return _regret("EM-3.11", "Theorem 3.11", epsilon, candidates, best, gap)


def _regret_of_one(epsilon: float = 1.0, candidates: float = 50, gap: float = 10) -> Subject:
    return _regret("EM-3.12", "Corollary 3.12", epsilon, candidates, 1, gap)


def _regret_of_two(epsilon: float = 1.0, gap: float = 4) -> Subject:
    return _regret("EM-3.6", "Example 3.6", epsilon, 2, 1, gap)


def _gumbel_sampler(epsilon: float = 1.0, gap: float = 1) -> Subject:
    bound: dict[str, Any] = {"score": counts, "sensitivity": 1.0, "epsilon": epsilon}
    claim = EqualityClaim(
        identifier="EM-3.4",
        statement=STATEMENTS["EM-3.4"],
        reference=f"{BOOK}, Definition 3.4",
        other=partial(exponential_by_weights, **bound),
        law=partial(candidate_law, log_probabilities=log_probabilities, **bound),
        databases=([step * round(gap) for step in range(4)],),
    )
    return _about_counts(claim, epsilon, 4)


def _price(price: float = 1.0) -> Subject:
    def compute() -> float:
        return float(revenue(BIDS, prices=(price,))[0])

    buyers = 4 if price <= 1 else 1 if price <= 3.01 else 0
    return _revenue("EM-3.5", compute, stated=price * buyers)


def _price_printed() -> Subject:
    return _revenue("ERR-EM-1", lambda: float(revenue(BIDS, prices=(1.0,))[0]), stated=3.0)


def _revenue(identifier: str, compute: Any, stated: float) -> Subject:
    return Subject(
        claim=IdentityClaim(
            identifier=identifier,
            statement=STATEMENTS[identifier],
            reference=f"{BOOK}, Example 3.5",
            compute=compute,
            stated=stated,
        )
    )


def _theorem(
    identifier: str, subject: Callable[..., Subject], reference: str, **fields: Any
) -> Theorem:
    return Theorem(
        identifier=identifier,
        statement=STATEMENTS[identifier],
        reference=f"{BOOK}, {reference}",
        subject=subject,
        **fields,
    )


THEOREMS: tuple[Theorem, ...] = (
    _theorem(
        "EM-3.4",
        _gumbel_sampler,
        "Definition 3.4",
        parameters={
            "epsilon": EPSILON,
            "gap": Parameter(
                default=1,
                within=Interval(low=0, high=10, integer=True),
                meaning="between one count and the next",
            ),
        },
    ),
    _theorem(
        "EM-3.5",
        _price,
        "Example 3.5",
        parameters={
            "price": Parameter(default=1.0, within=Interval(low=0.01, high=5), meaning="price")
        },
    ),
    _theorem(
        "EM-3.6",
        _regret_of_two,
        "Example 3.6",
        parameters={"epsilon": EPSILON, "gap": replace(GAP, default=4, meaning="c")},
    ),
    _theorem(
        "EM-3.11",
        _regret_with_ties,
        "Theorem 3.11",
        parameters={
            "epsilon": EPSILON,
            "candidates": CANDIDATES,
            "best": Parameter(
                default=5,
                within=Interval(low=1, high=9, integer=True),
                meaning="candidates that share the best score",
            ),
            "gap": GAP,
        },
    ),
    _theorem(
        "EM-3.12",
        _regret_of_one,
        "Corollary 3.12",
        parameters={"epsilon": EPSILON, "candidates": CANDIDATES, "gap": GAP},
    ),
    _theorem(
        "ERR-EM-1",
        _price_printed,
        "Example 3.5",
        holds=False,
        corrected="EM-3.5",
        remark="at 1.00 all four buy: 4.00, the best revenue",
    ),
)
