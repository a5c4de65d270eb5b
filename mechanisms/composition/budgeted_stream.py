"""A stream of mechanisms under one budget: the analyst chooses what to run after each answer.

What a mechanism costs may depend on the answers so far; the session refuses whatever would exceed
the budget. For pure privacy such a filter loses no more than the budget, Rogers, Roth, Ullman and
Vadhan (2016).
"""

from dataclasses import dataclass, replace
from functools import partial
from math import fsum
from typing import Any

import numpy as np

from .._checks import require_positive
from ..model import Database, Interaction, Mechanism, PrivacyClaim, Relation, SessionOver

ROUNDING = 1e-9
"""Sums of a budget's parts differ from it by rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamState:
    """The data and the epsilons that were spent, in nats."""

    data: Database
    spent: tuple[float, ...] = ()


def budgeted_stream(*, epsilon: float) -> Interaction:
    """Run the mechanisms asked for, one after another, for `epsilon` nats in all.

    A query is a `Mechanism` with one pure privacy claim, its answer the mechanism's output.
    Raises ValueError on an `epsilon` that is not positive; asking raises it for a mechanism whose
    loss is not known to be pure, and SessionOver where the budget does not pay for it.
    """
    require_positive(epsilon=epsilon)
    return Interaction(start=_start, answer=partial(_answer, epsilon=epsilon))


def cost_of(mechanism: Mechanism) -> float:
    """The epsilon that one run loses; ValueError where no single pure claim says it."""
    claims = [claim for claim in mechanism.claims if isinstance(claim, PrivacyClaim)]
    fits = [claim for claim in claims if claim.delta == 0 and claim.distance == 1]
    if len(claims) != 1 or not fits or fits[0].relation is Relation.DECLARED:
        raise ValueError(
            f"{mechanism.name} must have one privacy claim, of delta 0 and distance 1 under "
            "add-remove or replace-one, to be charged for"
        )
    return claims[0].epsilon


def _start(database: Database, rng: np.random.Generator) -> StreamState:
    return StreamState(data=database)


def _answer(
    state: StreamState, query: Mechanism, rng: np.random.Generator, *, epsilon: float
) -> tuple[StreamState, Any]:
    spent = (*state.spent, cost_of(query))
    if fsum(spent) > epsilon * (1 + ROUNDING):
        left = epsilon - fsum(state.spent)
        raise SessionOver(
            f"{query.name} costs {spent[-1]:g} and {max(left, 0):.4g} of {epsilon:g} are left"
        )
    return replace(state, spent=spent), query(state.data, rng)
