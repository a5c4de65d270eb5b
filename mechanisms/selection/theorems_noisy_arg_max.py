"""Noisy arg-max: what each kind of noise costs, and which mechanism it makes."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import exp
from typing import Any

import numpy as np

from .._checks import sample_shape
from ..model import (
    Array,
    Database,
    EqualityClaim,
    FiniteLaw,
    IdentityClaim,
    Interval,
    InvariantCase,
    InvariantClaim,
    Mechanism,
    PrivacyClaim,
    Relation,
    Rows,
    Size,
    Subject,
    Theorem,
    number,
    whole,
)
from .exponential import exponential, exponential_by_weights, log_probabilities, probabilities
from .one_sided_noisy_arg_max import one_sided_log_probabilities, one_sided_noisy_arg_max_mechanism
from .permute_and_flip import (
    permute_and_flip,
    permute_and_flip_log_probabilities,
    permute_and_flip_mechanism,
)
from .report_noisy_max import (
    laplace_max_one_by_one,
    report_gumbel_max_mechanism,
    report_noisy_max_mechanism,
)
from .selection import by_counts, by_votes

BOOK = "Dwork and Roth (2014)"
DING = "Ding et al. (2021)"

EPSILON = number(1.0, 0.1, 2, "nats")
GAP = whole(1, 0, 10, "between one count and the next")
AHEAD = whole(2, 1, 20, "c, the greater count")
MONOTONE = whole(
    1, 0, 1, "1 for votes from 0 on, add-remove, and half the noise; 0 for votes of either sign"
)
OTHERS = whole(2, 1, 12, "candidates but one")
VOTE = 2.0
"""What a vote counts, so that no sensitivity is 1."""


def _of_voters(
    build: Callable[..., Mechanism], epsilon: float, others: int, monotone: int
) -> Subject:
    candidates = others + 1
    problem = by_votes(candidates, least_vote=0 if monotone else -1, monotone=bool(monotone))
    problem = problem.times(VOTE)
    ahead, behind = [1] + [0] * others, [0] + [1] * others
    # One voter more for all but the first candidate, who is behind; or who is ahead, and loses.
    example = [behind] * 3 if monotone else [ahead]
    one_more = behind if monotone else [-1] + [1] * others
    claim = PrivacyClaim(
        epsilon=epsilon, relation=Relation.ADD_REMOVE, examples=((example, [*example, one_more]),)
    )
    return Subject(claim=claim, mechanism=build(problem, epsilon=epsilon))


def _same_law(
    build: Callable[..., Mechanism],
    other: Callable[..., Any],
    other_log_probabilities: Callable[..., Array],
    epsilon: float,
    database: list[int],
) -> Subject:
    """The law that `build`'s mechanism has on `database` is that of `other`."""
    problem = by_counts(len(database), max_count=30).times(VOTE)
    claim = EqualityClaim(
        other=partial(other, **problem.given(epsilon)),
        law=problem.law(other_log_probabilities, epsilon),
        databases=(database,),
    )
    return Subject(claim=claim, mechanism=build(problem, epsilon=epsilon))


def _regret(build: Callable[..., Mechanism], epsilon: float, candidates: int) -> Subject:
    """What the mechanism claims of its regret, where all candidates but the best are alike."""
    made = build(by_counts(candidates, max_count=4), epsilon=epsilon)
    return Subject(claim=made.claims[1], mechanism=made)


def _steps(gap: int) -> list[int]:
    """Four counts, each `gap` above the one before."""
    return [step * gap for step in range(4)]


def _gumbel(epsilon: float, gap: int) -> Subject:
    return _same_law(
        report_gumbel_max_mechanism,
        exponential_by_weights,
        log_probabilities,
        epsilon,
        _steps(gap),
    )


def _one_sided(epsilon: float, gap: int) -> Subject:
    return _same_law(
        one_sided_noisy_arg_max_mechanism,
        permute_and_flip,
        permute_and_flip_log_probabilities,
        epsilon,
        _steps(gap),
    )


def _one_sided_printed(epsilon: float, ahead: int) -> Subject:
    return _same_law(
        one_sided_noisy_arg_max_mechanism, exponential, log_probabilities, epsilon, [0, ahead]
    )


def _exponential_differences(
    database: Database,
    rng: np.random.Generator,
    *,
    counts: list[int],
    epsilon: float,
    size: Size = None,
) -> Array:
    """The arg-max of counts with Laplace noise of scale 2 / epsilon, made in another way."""
    noise = rng.exponential(2 / epsilon, size=(2, *sample_shape(size), len(counts)))
    return np.argmax(noise[0] - noise[1] + counts, axis=-1)


def _two_halves(epsilon: float, candidates: int) -> Subject:
    counts = [place % 5 for place in range(candidates)]
    logs = laplace_max_one_by_one(np.array(counts) * epsilon / 2)
    claim = EqualityClaim(
        other=partial(_exponential_differences, counts=counts, epsilon=epsilon),
        law=lambda _: FiniteLaw(outcomes=np.arange(candidates), log_probabilities=logs),
        databases=(counts,),
    )
    problem = by_counts(candidates, max_count=4)
    return Subject(claim=claim, mechanism=report_noisy_max_mechanism(problem, epsilon=epsilon))


def _less_regret(epsilon: float) -> InvariantClaim:
    def margin(case: InvariantCase) -> float:
        scores = np.asarray(case, dtype=float)
        behind = scores.max() - scores
        flips = np.exp(permute_and_flip_log_probabilities(scores, sensitivity=1, epsilon=epsilon))
        return float((probabilities(scores, sensitivity=1, epsilon=epsilon) - flips) @ behind)

    return InvariantClaim(
        cases=Rows(row=Interval(low=0, high=20), min_size=1, max_size=12),
        margin=margin,
        examples=([0, 1, 2, 3], [5, 5, 5], [0, 20], [0] * 11 + [1]),
    )


def _worse_of_two(factor: float, rate: float, ahead: float) -> IdentityClaim:
    def compute() -> float:
        logs = one_sided_log_probabilities(
            np.array([0.0, ahead]), sensitivity=1.0, epsilon=2 * rate
        )
        return float(np.exp(logs[0]))

    return IdentityClaim(compute=compute, stated=factor * exp(-rate * ahead))


_RATE = {
    "rate": number(0.5, 0.05, 2, "1 / mean of the noise"),
    "ahead": AHEAD,
}
_VOTERS = {"epsilon": EPSILON, "others": OTHERS, "monotone": MONOTONE}
# No default is 1 here: what is multiplied by 1, or is its own square, would not be looked at.
_ODD = replace(EPSILON, default=0.7)
_MANY = {"epsilon": EPSILON, "candidates": whole(20, 2, 40, "candidates, m")}

THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="EM-RNM",
        statement="Laplace noise of scale 2 Du / epsilon, half of it if monotone, loses epsilon",
        reference=f"{BOOK}, Claim 3.9",
        subject=partial(_of_voters, report_noisy_max_mechanism),
        parameters=_VOTERS,
    ),
    Theorem(
        identifier="EM-RNM-LAW",
        statement="Laplace noise of scale b selects like differences of two noises of mean b",
        reference="Kotz, Kozubowski and Podgorski (2001), Section 2.2",
        subject=_two_halves,
        parameters={"epsilon": _ODD, "candidates": whole(40, 21, 200, "candidates")},
    ),
    Theorem(
        identifier="EM-RNM-ACC",
        statement="P[Laplace noise of scale b selects one that is b x behind] <= "
        "m (2 + x) exp(-x) / 4",
        reference="Kotz, Kozubowski and Podgorski (2001), chapter 2, and a union bound",
        subject=partial(_regret, report_noisy_max_mechanism),
        parameters=_MANY,
    ),
    Theorem(
        identifier="EM-PF-ACC",
        statement="P[permute-and-flip selects one that is b ln(m / beta) behind] <= beta",
        reference="McKenna and Sheldon (2020), with Dwork and Roth (2014), Corollary 3.12",
        subject=partial(_regret, permute_and_flip_mechanism),
        parameters={**_MANY, "epsilon": _ODD},
    ),
    Theorem(
        identifier="EM-OSNM-ACC",
        statement="P[exponential noise of mean b selects one that is b ln(m / beta) behind] <= "
        "beta",
        reference=f"{BOOK}, Section 3.4, and a union bound",
        subject=partial(_regret, one_sided_noisy_arg_max_mechanism),
        parameters=_MANY,
    ),
    Theorem(
        identifier="EM-OSNM",
        statement="exponential noise of mean 2 Du / epsilon, half of it if monotone, loses epsilon",
        reference=f"{BOOK}, Section 3.4",
        subject=partial(_of_voters, one_sided_noisy_arg_max_mechanism),
        parameters=_VOTERS,
    ),
    Theorem(
        identifier="EM-OSNM-3.6",
        statement="counts 0 and c, noise of rate l: the worse one is selected with exp(-l c) / 2",
        reference=f"{BOOK}, after Example 3.6",
        subject=partial(_worse_of_two, 0.5),
        parameters=_RATE,
    ),
    Theorem(
        identifier="EM-3.13a",
        statement="report noisy max with Gumbel(2 Du / epsilon) noise is the exponential mechanism",
        reference="Durfee and Rogers (2019)",
        subject=_gumbel,
        parameters={"epsilon": _ODD, "gap": GAP},
    ),
    Theorem(
        identifier="EM-3.13b",
        statement="noisy arg-max with exponential noise of mean 2 Du / epsilon is permute-and-flip",
        reference=DING,
        subject=_one_sided,
        parameters={"epsilon": _ODD, "gap": GAP},
    ),
    Theorem(
        identifier="EM-3.13c",
        statement="permute-and-flip has no more expected regret than the exponential mechanism",
        reference="McKenna and Sheldon (2020)",
        subject=_less_regret,
        parameters={"epsilon": EPSILON},
    ),
    Theorem(
        identifier="ERR-EM-3",
        statement="counts 0 and c, noise of rate l: the worse one is selected with exp(-l c)",
        reference=f"{BOOK}, after Example 3.6",
        subject=partial(_worse_of_two, 1.0),
        parameters=_RATE,
        corrected="EM-OSNM-3.6",
        remark="the difference of two such noises is Laplace, whose tail has half that weight",
    ),
    Theorem(
        identifier="ERR-EM-4",
        statement="noisy arg-max with exponential noise is the exponential mechanism",
        reference=f"{BOOK}, Theorem 3.13",
        subject=_one_sided_printed,
        parameters={
            "epsilon": replace(EPSILON, within=Interval(low=0.5, high=2)),
            "ahead": replace(AHEAD, within=Interval(low=1, high=4, integer=True)),
        },
        corrected="EM-3.13b",
        remark="exponential noise makes permute-and-flip; Gumbel noise makes this one",
    ),
)
