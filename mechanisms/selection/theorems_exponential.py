"""The exponential mechanism: what it loses, and where the factor 2 in its weights is needed."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..model import (
    Claim,
    Database,
    Histogram,
    Interval,
    InvariantClaim,
    Mechanism,
    Parameter,
    PrivacyClaim,
    Product,
    Record,
    Relation,
    Rows,
    Subject,
    Theorem,
)
from ..queries import column_totals, counts, revenue
from .broken_exponential import data_dependent_range
from .exponential import AUCTION, exponential_mechanism, log_probabilities
from .selection import voters

BOOK = "Dwork and Roth (2014)"
ADD_REMOVE, REPLACE_ONE = Relation.ADD_REMOVE, Relation.REPLACE_ONE

EPSILON = Parameter(default=1.0, within=Interval(low=0.1, high=2), meaning="nats, of the claim")
OTHERS = Parameter(
    default=9,
    within=Interval(low=2, high=30, integer=True),
    meaning="candidates beside the one that a voter moves against them",
)

STATEMENTS = {
    "EM-3.10": "weights exp(epsilon u / (2 Du)) lose at most epsilon",
    "EM-3.10-BR": "the log-ratios of two neighbouring laws lie in an interval of length epsilon",
    "EM-DDR": "candidates may be read off the data: the prices are the bids",
    "EM-MONO": "for monotone scores, add-remove, weights exp(epsilon u / Du) lose epsilon",
    "EM-MONO-DEF": "revenue at fixed prices is monotone: a further bid lowers it at none",
    "EM-NAIVE": "weights exp(epsilon u / Du) lose at most 2 epsilon",
    "ERR-EM-2": "weights exp(epsilon u / Du) lose at most epsilon",
    "ERR-EM-6": "for monotone scores, replace-one, weights exp(epsilon u / Du) lose epsilon",
}


def _subject(claim: Claim, mechanism: Mechanism, **changed: Any) -> Subject:
    return Subject(claim=claim, mechanism=replace(mechanism, claims=(claim,), **changed))


def _of_voters(epsilon: float, others: float, **weights: Any) -> Mechanism:
    candidates = round(others) + 1
    mechanism = exponential_mechanism(
        score=partial(column_totals, columns=candidates),
        candidates=candidates,
        sensitivity=1.0,
        epsilon=epsilon,
        relation=ADD_REMOVE,
        databases=voters(candidates=candidates, least_vote=-1),
        name="exponential-of-voters",
    )
    return _reweighed(mechanism, **weights)


def _reweighed(mechanism: Mechanism, **weights: Any) -> Mechanism:
    """The mechanism, and its law, with other weights than its factory allows."""
    assert isinstance(mechanism.law, partial)
    law = partial(mechanism.law, **weights)
    return replace(mechanism, run=partial(mechanism.run, **weights), law=law)


def _privacy(identifier: str, epsilon: float, **fields: Any) -> PrivacyClaim:
    described = {"reference": f"{BOOK}, Theorem 3.10", "relation": ADD_REMOVE, **fields}
    return PrivacyClaim(
        identifier=identifier, statement=STATEMENTS[identifier], epsilon=epsilon, **described
    )


def _opposed(others: float) -> tuple[tuple[Database, Database], ...]:
    """One candidate a vote ahead of all others, and a vote behind after one voter more."""
    ahead = [1] + [0] * round(others)
    return (([ahead], [ahead, [-1] + [1] * round(others)]),)


def _private(epsilon: float = 1.0, others: float = 9) -> Subject:
    claim = _privacy("EM-3.10", epsilon, examples=_opposed(others))
    return _subject(claim, _of_voters(epsilon, others))


def _naive(identifier: str, multiple: float, epsilon: float = 1.0, others: float = 9) -> Subject:
    described = {"reference": f"{BOOK}, Section 3.4", "examples": _opposed(others)}
    claim = _privacy(identifier, multiple * epsilon, **described)
    return _subject(claim, _of_voters(epsilon, others, monotone=True))


def _of_counts(epsilon: float, bins: float, **fields: Any) -> Mechanism:
    described = {"relation": ADD_REMOVE, "databases": Histogram(bins=round(bins)), **fields}
    return exponential_mechanism(
        score=counts,
        candidates=round(bins),
        sensitivity=1.0,
        epsilon=epsilon,
        name="exponential-of-counts",
        **described,
    )


def _monotone(epsilon: float = 1.0, candidates: float = 4) -> Subject:
    claim = _privacy("EM-MONO", epsilon)
    return _subject(claim, _of_counts(epsilon, candidates, monotone=True))


def _monotone_replaced(epsilon: float = 1.0, records: float = 3) -> Subject:
    claim = _privacy("ERR-EM-6", epsilon, relation=REPLACE_ONE)
    mechanism = _of_counts(
        epsilon,
        2,
        relation=REPLACE_ONE,
        databases=Histogram(bins=2, total=round(records)),
    )
    return _subject(claim, _reweighed(mechanism, monotone=True))


def _bids_offered(database: Database, *, values: tuple[float, ...]) -> Any:
    return revenue(database, prices=values)


def _prices_from_bids(epsilon: float = 1.0) -> Subject:
    claim = _privacy("EM-DDR", epsilon)
    run = partial(data_dependent_range, epsilon=epsilon, sensitivity=3.01, score=_bids_offered)
    return _subject(claim, AUCTION, run=run, law=None, identifier="", name="auction-at-bids")


def _bounded_range(epsilon: float = 1.0) -> Subject:
    def margin(case: Any) -> float:
        scores, moves = np.array(case, dtype=float).T
        logs = log_probabilities(
            np.array([scores, scores + moves]), sensitivity=1.0, epsilon=epsilon
        )
        return float(epsilon - np.ptp(logs[1] - logs[0]))

    pair = Product(parts=(Interval(low=0, high=20), Interval(low=-1, high=1)))
    return Subject(
        claim=InvariantClaim(
            identifier="EM-3.10-BR",
            statement=STATEMENTS["EM-3.10-BR"],
            reference="Dong, Durfee and Rogers (2020)",
            cases=Rows(row=pair, least=2, most=12),
            margin=margin,
            examples=([[1, -1]] + [[0, 1]] * 9, [[0, 1], [0, -1]], [[3, 1], [0, -1], [9, 0]]),
        )
    )


def _never_lower() -> Subject:
    prices = tuple(np.linspace(0.25, 4, 16))

    def margin(case: Any) -> float:
        more = [*case["bids"], case["bid"]]
        return float(np.min(revenue(more, prices=prices) - revenue(case["bids"], prices=prices)))

    bid = Interval(low=0, high=4)
    return Subject(
        claim=InvariantClaim(
            identifier="EM-MONO-DEF",
            statement=STATEMENTS["EM-MONO-DEF"],
            reference=f"{BOOK}, Section 3.4",
            cases=Record(fields={"bids": Rows(row=bid, most=8), "bid": bid}),
            margin=margin,
            examples=({"bids": [], "bid": 0.0}, {"bids": [1.0, 1.0], "bid": 3.01}),
        )
    )


def _theorem(identifier: str, subject: Callable[..., Subject], **fields: Any) -> Theorem:
    described = {"reference": f"{BOOK}, Section 3.4", **fields}
    return Theorem(
        identifier=identifier, statement=STATEMENTS[identifier], subject=subject, **described
    )


THEOREMS: tuple[Theorem, ...] = (
    _theorem(
        "EM-3.10",
        _private,
        reference=f"{BOOK}, Theorem 3.10",
        parameters={"epsilon": EPSILON, "others": OTHERS},
    ),
    _theorem(
        "EM-3.10-BR",
        _bounded_range,
        reference="Dong, Durfee and Rogers (2020)",
        parameters={"epsilon": EPSILON},
    ),
    _theorem(
        "EM-DDR",
        _prices_from_bids,
        parameters={"epsilon": EPSILON},
        holds=False,
        corrected="EM-3.10",
        remark="the candidates must not depend on the data: a bid only one database has shows",
    ),
    _theorem(
        "EM-MONO",
        _monotone,
        parameters={
            "epsilon": EPSILON,
            "candidates": Parameter(
                default=4, within=Interval(low=2, high=20, integer=True), meaning="bins"
            ),
        },
    ),
    _theorem("EM-MONO-DEF", _never_lower),
    _theorem(
        "EM-NAIVE",
        partial(_naive, "EM-NAIVE", 2),
        parameters={"epsilon": EPSILON, "others": OTHERS},
    ),
    _theorem(
        "ERR-EM-2",
        partial(_naive, "ERR-EM-2", 1),
        parameters={"epsilon": EPSILON, "others": OTHERS},
        holds=False,
        corrected="EM-NAIVE",
        remark="the normaliser, which the heuristic leaves out, loses epsilon as well",
    ),
    _theorem(
        "ERR-EM-6",
        _monotone_replaced,
        parameters={
            "epsilon": EPSILON,
            "records": Parameter(
                default=3, within=Interval(low=2, high=40, integer=True), meaning="their number"
            ),
        },
        holds=False,
        corrected="EM-MONO",
        remark="the saving is for add-remove: replacing a record raises one score, lowers another",
    ),
)
