"""The exponential mechanism: what it loses, and where the factor 2 in its weights is needed."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .._checks import refuses
from ..model import (
    Database,
    IdentityClaim,
    Interval,
    InvariantCase,
    InvariantClaim,
    PrivacyClaim,
    Product,
    Record,
    Relation,
    Rows,
    Subject,
    Theorem,
    number,
    whole,
)
from ..queries import revenue
from .broken_exponential import data_dependent_range, reweighed
from .exponential import AUCTION, exponential_mechanism, log_probabilities
from .selection import by_counts, by_votes

BOOK = "Dwork and Roth (2014)"
ADD_REMOVE, REPLACE_ONE = Relation.ADD_REMOVE, Relation.REPLACE_ONE

EPSILON = number(1.0, 0.1, 2, "nats, of the claim")
OTHERS = whole(9, 2, 30, "candidates beside the one that a voter moves against them")


def _opposed(others: int) -> tuple[tuple[Database, Database], ...]:
    """One candidate a vote ahead of all others, and a vote behind after one voter more."""
    ahead = [1] + [0] * others
    return (([ahead], [ahead, [-1] + [1] * others]),)


def _private(epsilon: float, others: int) -> Subject:
    """Votes count 2, so that the sensitivity is not 1."""
    made = exponential_mechanism(
        by_votes(others + 1).times(2.0), epsilon=epsilon, name="exponential-of-voters"
    )
    claim = PrivacyClaim(epsilon=epsilon, relation=ADD_REMOVE, examples=_opposed(others))
    return Subject(claim=claim, mechanism=made)


def _concentrated(epsilon: float, others: int) -> Subject:
    """One vote moves one candidate against all others, from half the weight to a little less."""
    made = exponential_mechanism(
        by_votes(others + 1), epsilon=epsilon, name="exponential-of-voters"
    )
    claim = next(
        one for one in made.claims if isinstance(one, PrivacyClaim) and one.curve is not None
    )
    return Subject(claim=replace(claim, examples=_opposed(others)), mechanism=made)


def _naive(multiple: float, epsilon: float, others: int) -> Subject:
    claim = PrivacyClaim(epsilon=multiple * epsilon, relation=ADD_REMOVE, examples=_opposed(others))
    mechanism = exponential_mechanism(
        by_votes(others + 1), epsilon=epsilon, name="exponential-of-voters"
    )
    return Subject(claim=claim, mechanism=reweighed(mechanism, monotone=True))


def _monotone(epsilon: float, candidates: int) -> Subject:
    problem = replace(by_counts(candidates), monotone=True)
    return Subject(
        claim=PrivacyClaim(epsilon=epsilon, relation=ADD_REMOVE),
        mechanism=exponential_mechanism(problem, epsilon=epsilon, name="exponential-of-counts"),
    )


def _monotone_replaced(epsilon: float, records: int) -> Subject:
    problem = by_counts(2, relation=REPLACE_ONE, total=records)
    mechanism = exponential_mechanism(problem, epsilon=epsilon, name="exponential-of-counts")
    return Subject(
        claim=PrivacyClaim(epsilon=epsilon, relation=REPLACE_ONE),
        mechanism=reweighed(mechanism, monotone=True),
    )


def _bids_offered(database: Database, *, values: tuple[float, ...]) -> Any:
    return revenue(database, prices=values)


def _prices_from_bids(epsilon: float) -> Subject:
    claim = PrivacyClaim(epsilon=epsilon, relation=ADD_REMOVE)
    run = partial(data_dependent_range, epsilon=epsilon, sensitivity=3.01, score=_bids_offered)
    mechanism = replace(AUCTION, run=run, law=None, identifier="", name="auction-at-bids")
    return Subject(claim=claim, mechanism=mechanism)


def _bounded_range(epsilon: float) -> InvariantClaim:
    def margin(case: InvariantCase) -> float:
        scores, moves = np.array(case, dtype=float).T
        logs = log_probabilities(
            np.array([scores, scores + moves]), sensitivity=1.0, epsilon=epsilon
        )
        return float(epsilon - np.ptp(logs[1] - logs[0]))

    pair = Product(parts=(Interval(low=0, high=20), Interval(low=-1, high=1)))
    return InvariantClaim(
        cases=Rows(row=pair, min_size=2, max_size=12),
        margin=margin,
        examples=([[1, -1]] + [[0, 1]] * 9, [[0, 1], [0, -1]], [[3, 1], [0, -1], [9, 0]]),
    )


def _never_lower() -> InvariantClaim:
    prices = tuple(np.linspace(0.25, 4, 16))

    def margin(case: InvariantCase) -> float:
        more = [*case["bids"], case["bid"]]
        return float(np.min(revenue(more, prices=prices) - revenue(case["bids"], prices=prices)))

    bid = Interval(low=0, high=4)
    return InvariantClaim(
        cases=Record(fields={"bids": Rows(row=bid, max_size=8), "bid": bid}),
        margin=margin,
        examples=({"bids": [], "bid": 0.0}, {"bids": [1.0, 1.0], "bid": 3.01}),
    )


def _half_elsewhere() -> IdentityClaim:
    """How many relations but add-remove take monotone scores, and with them half of the noise."""

    def taken() -> float:
        made = by_votes(2, least_vote=0, monotone=True)
        others = [one for one in Relation if one is not ADD_REMOVE]
        return [refuses(partial(replace, made, relation=one)) for one in others].count(False)

    return IdentityClaim(compute=taken, stated=0.0)


THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="EM-3.10",
        statement="weights exp(epsilon u / (2 Du)) lose at most epsilon",
        reference=f"{BOOK}, Theorem 3.10",
        subject=_private,
        parameters={"epsilon": EPSILON, "others": OTHERS},
    ),
    Theorem(
        identifier="EM-3.10-BR",
        statement="the log-ratios of two neighbouring laws lie in an interval of length epsilon",
        reference="Dong, Durfee and Rogers (2020)",
        subject=_bounded_range,
        parameters={"epsilon": EPSILON},
    ),
    Theorem(
        identifier="EM-RHO",
        statement="weights exp(epsilon u / (2 Du)) are (epsilon^2 / 8)-zCDP",
        reference="Cesar and Rogers (2021), Lemma 3.4",
        subject=_concentrated,
        parameters={"epsilon": EPSILON, "others": replace(OTHERS, default=2)},
    ),
    Theorem(
        identifier="EM-DDR",
        statement="candidates may be read off the data: the prices are the bids",
        reference=f"{BOOK}, Section 3.4",
        subject=_prices_from_bids,
        parameters={"epsilon": EPSILON},
        corrected="EM-3.10",
        remark="the candidates must not depend on the data: a bid only one database has shows",
    ),
    Theorem(
        identifier="EM-MONO",
        statement="for monotone scores, add-remove, weights exp(epsilon u / Du) lose epsilon",
        reference=f"{BOOK}, Section 3.4",
        subject=_monotone,
        parameters={
            "epsilon": EPSILON,
            "candidates": whole(4, 2, 20, "bins"),
        },
    ),
    Theorem(
        identifier="EM-MONO-DEF",
        statement="revenue at fixed prices is monotone: a further bid lowers it at none",
        reference=f"{BOOK}, Section 3.4",
        subject=_never_lower,
    ),
    Theorem(
        identifier="EM-MONO-ONLY",
        statement="half of the noise is given to monotone scores under add-remove, and under no "
        "other relation: a replaced record lowers one score and raises another",
        reference=f"{BOOK}, Section 3.4",
        subject=_half_elsewhere,
    ),
    Theorem(
        identifier="EM-NAIVE",
        statement="weights exp(epsilon u / Du) lose at most 2 epsilon",
        reference=f"{BOOK}, Section 3.4",
        subject=partial(_naive, 2),
        parameters={"epsilon": EPSILON, "others": OTHERS},
    ),
    Theorem(
        identifier="ERR-EM-2",
        slow=True,
        statement="weights exp(epsilon u / Du) lose at most epsilon",
        reference=f"{BOOK}, Section 3.4",
        subject=partial(_naive, 1),
        parameters={"epsilon": EPSILON, "others": OTHERS},
        corrected="EM-NAIVE",
        remark="the normaliser, which the heuristic leaves out, loses epsilon as well",
    ),
    Theorem(
        identifier="ERR-EM-6",
        statement="for monotone scores, replace-one, weights exp(epsilon u / Du) lose epsilon",
        reference=f"{BOOK}, Section 3.4",
        subject=_monotone_replaced,
        parameters={
            "epsilon": EPSILON,
            "records": whole(3, 2, 40, "their number"),
        },
        corrected="EM-MONO",
        remark="the saving is for add-remove: replacing a record raises one score, lowers another",
    ),
)
