"""Noisy arg-max: what each kind of noise costs, and which mechanism it makes."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import exp
from typing import Any

import numpy as np

from ..model import (
    Array,
    EqualityClaim,
    Histogram,
    IdentityClaim,
    Interval,
    InvariantClaim,
    Mechanism,
    Parameter,
    PrivacyClaim,
    Relation,
    Rows,
    Subject,
    Theorem,
)
from ..queries import column_totals, counts
from .exponential import exponential, exponential_by_weights, log_probabilities, probabilities
from .one_sided_noisy_arg_max import one_sided_log_probabilities, one_sided_noisy_arg_max_mechanism
from .permute_and_flip import permute_and_flip, permute_and_flip_log_probabilities
from .report_noisy_max import report_gumbel_max_mechanism, report_noisy_max_mechanism
from .selection import candidate_law, voters

BOOK = "Dwork and Roth (2014)"
DING = "Ding et al. (2021)"

EPSILON = Parameter(default=1.0, within=Interval(low=0.1, high=2), meaning="nats")
GAP = Parameter(
    default=1,
    within=Interval(low=0, high=10, integer=True),
    meaning="between one count and the next",
)
AHEAD = Parameter(
    default=2, within=Interval(low=1, high=20, integer=True), meaning="c, the greater count"
)
MONOTONE = Parameter(
    default=1,
    within=Interval(low=0, high=1, integer=True),
    meaning="1 for votes from 0 on, add-remove, and half the noise; 0 for votes of either sign",
)
OTHERS = Parameter(
    default=2, within=Interval(low=1, high=12, integer=True), meaning="candidates but one"
)
STATEMENTS = {
    "EM-3.13a": "report noisy max with Gumbel(2 Du / epsilon) noise is the exponential mechanism",
    "EM-3.13b": "noisy arg-max with exponential noise of mean 2 Du / epsilon is permute-and-flip",
    "EM-3.13c": "permute-and-flip has no more expected regret than the exponential mechanism",
    "EM-OSNM": "exponential noise of mean 2 Du / epsilon, half of it if monotone, loses epsilon",
    "EM-OSNM-3.6": "counts 0 and c, noise of rate l: the worse one is selected with exp(-l c) / 2",
    "EM-RNM": "Laplace noise of scale 2 Du / epsilon, half of it if monotone, loses epsilon",
    "ERR-EM-3": "counts 0 and c, noise of rate l: the worse one is selected with exp(-l c)",
    "ERR-EM-4": "noisy arg-max with exponential noise is the exponential mechanism",
}


def _of_voters(
    identifier: str,
    build: Callable[..., Mechanism],
    reference: str,
    epsilon: float = 1.0,
    others: float = 2,
    monotone: float = 1,
) -> Subject:
    candidates = round(others) + 1
    mechanism = build(
        score=partial(column_totals, columns=candidates),
        candidates=candidates,
        sensitivity=1.0,
        epsilon=epsilon,
        relation=Relation.ADD_REMOVE,
        databases=voters(candidates=candidates, least_vote=0 if monotone else -1),
        monotone=bool(monotone),
    )
    ahead, behind = [1] + [0] * (candidates - 1), [0] + [1] * (candidates - 1)
    # One voter more for all but the first candidate, who is behind; or who is ahead, and loses.
    example = [behind] * 3 if monotone else [ahead]
    one_more = behind if monotone else [-1] + [1] * (candidates - 1)
    claim = PrivacyClaim(
        identifier=identifier,
        statement=STATEMENTS[identifier],
        reference=reference,
        epsilon=epsilon,
        relation=Relation.ADD_REMOVE,
        examples=((example, [*example, one_more]),),
    )
    return Subject(claim=claim, mechanism=replace(mechanism, claims=(claim,)))


def _same_law(
    identifier: str,
    build: Callable[..., Mechanism],
    other: Callable[..., Any],
    other_log_probabilities: Callable[..., Array],
    reference: str,
    database: list[int],
    epsilon: float,
) -> Subject:
    """The law that `build`'s mechanism has on `database` is that of `other`."""
    bound: dict[str, Any] = {"score": counts, "sensitivity": 1.0, "epsilon": epsilon}
    claim = EqualityClaim(
        identifier=identifier,
        statement=STATEMENTS[identifier],
        reference=reference,
        other=partial(other, **bound),
        law=partial(candidate_law, log_probabilities=other_log_probabilities, **bound),
        databases=(database,),
    )
    mechanism = build(
        **bound,
        candidates=len(database),
        relation=Relation.ADD_REMOVE,
        databases=Histogram(bins=len(database), most=30),
    )
    return Subject(claim=claim, mechanism=replace(mechanism, claims=(claim,)))


def _gumbel(epsilon: float = 1.0, gap: float = 1) -> Subject:
    return _same_law(
        "EM-3.13a",
        report_gumbel_max_mechanism,
        exponential_by_weights,
        log_probabilities,
        "Durfee and Rogers (2019)",
        [step * round(gap) for step in range(4)],
        epsilon,
    )


def _one_sided(epsilon: float = 1.0, gap: float = 1) -> Subject:
    return _same_law(
        "EM-3.13b",
        one_sided_noisy_arg_max_mechanism,
        permute_and_flip,
        permute_and_flip_log_probabilities,
        DING,
        [step * round(gap) for step in range(4)],
        epsilon,
    )


def _one_sided_printed(epsilon: float = 1.0, ahead: float = 2) -> Subject:
    return _same_law(
        "ERR-EM-4",
        one_sided_noisy_arg_max_mechanism,
        exponential,
        log_probabilities,
        f"{BOOK}, Theorem 3.13",
        [0, round(ahead)],
        epsilon,
    )


def _less_regret(epsilon: float = 1.0) -> Subject:
    def margin(case: Any) -> float:
        scores = np.asarray(case, dtype=float)
        behind = scores.max() - scores
        flips = np.exp(permute_and_flip_log_probabilities(scores, sensitivity=1, epsilon=epsilon))
        return float((probabilities(scores, sensitivity=1, epsilon=epsilon) - flips) @ behind)

    return Subject(
        claim=InvariantClaim(
            identifier="EM-3.13c",
            statement=STATEMENTS["EM-3.13c"],
            reference="McKenna and Sheldon (2020)",
            cases=Rows(row=Interval(low=0, high=20), least=1, most=12),
            margin=margin,
            examples=([0, 1, 2, 3], [5, 5, 5], [0, 20], [0] * 11 + [1]),
        )
    )


def _worse_of_two(identifier: str, factor: float, rate: float = 0.5, ahead: float = 2) -> Subject:
    def compute() -> float:
        logs = one_sided_log_probabilities(
            np.array([0.0, ahead]), sensitivity=1.0, epsilon=2 * rate
        )
        return float(np.exp(logs[0]))

    return Subject(
        claim=IdentityClaim(
            identifier=identifier,
            statement=STATEMENTS[identifier],
            reference=f"{BOOK}, after Example 3.6",
            compute=compute,
            stated=factor * exp(-rate * ahead),
        )
    )


def _theorem(
    identifier: str, subject: Callable[..., Subject], reference: str, **fields: Any
) -> Theorem:
    return Theorem(
        identifier=identifier,
        statement=STATEMENTS[identifier],
        reference=reference,
        subject=subject,
        **fields,
    )


_RATE = {
    "rate": Parameter(
        default=0.5, within=Interval(low=0.05, high=2), meaning="1 / mean of the noise"
    ),
    "ahead": AHEAD,
}
_VOTERS = {"epsilon": EPSILON, "others": OTHERS, "monotone": MONOTONE}

THEOREMS: tuple[Theorem, ...] = (
    _theorem(
        "EM-RNM",
        partial(_of_voters, "EM-RNM", report_noisy_max_mechanism, f"{BOOK}, Claim 3.9"),
        f"{BOOK}, Claim 3.9",
        parameters=_VOTERS,
    ),
    _theorem(
        "EM-OSNM",
        partial(_of_voters, "EM-OSNM", one_sided_noisy_arg_max_mechanism, f"{BOOK}, Section 3.4"),
        f"{BOOK}, Section 3.4",
        parameters=_VOTERS,
    ),
    _theorem(
        "EM-OSNM-3.6",
        partial(_worse_of_two, "EM-OSNM-3.6", 0.5),
        f"{BOOK}, after Example 3.6",
        parameters=_RATE,
    ),
    _theorem(
        "EM-3.13a",
        _gumbel,
        "Durfee and Rogers (2019)",
        parameters={"epsilon": EPSILON, "gap": GAP},
    ),
    _theorem("EM-3.13b", _one_sided, DING, parameters={"epsilon": EPSILON, "gap": GAP}),
    _theorem(
        "EM-3.13c", _less_regret, "McKenna and Sheldon (2020)", parameters={"epsilon": EPSILON}
    ),
    _theorem(
        "ERR-EM-3",
        partial(_worse_of_two, "ERR-EM-3", 1.0),
        f"{BOOK}, after Example 3.6",
        parameters=_RATE,
        holds=False,
        corrected="EM-OSNM-3.6",
        remark="the difference of two such noises is Laplace, whose tail has half that weight",
    ),
    _theorem(
        "ERR-EM-4",
        _one_sided_printed,
        f"{BOOK}, Theorem 3.13",
        parameters={
            "epsilon": replace(EPSILON, within=Interval(low=0.5, high=2)),
            "ahead": replace(AHEAD, within=Interval(low=1, high=4, integer=True)),
        },
        holds=False,
        corrected="EM-3.13b",
        remark="exponential noise makes permute-and-flip; Gumbel noise makes this one",
    ),
)
