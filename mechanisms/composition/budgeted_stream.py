"""A stream of mechanisms under one budget: the analyst chooses what to run after each answer.

What a mechanism costs may depend on the answers so far; the session refuses whatever would exceed
the budget. For pure privacy such a filter loses no more than the budget, Rogers, Roth, Ullman and
Vadhan (2016).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import fsum, inf, log

import numpy as np

from .._checks import require_positive, require_whole
from ..model import (
    Analyst,
    Array,
    Database,
    Interaction,
    Interval,
    Mechanism,
    PrivacyClaim,
    Relation,
    Rows,
    SessionOver,
    asked_mechanism,
)
from ..noise.laplace import laplace_mechanism
from ..queries import total

ROGERS = "Rogers, Roth, Ullman and Vadhan (2016), Theorem 4.1"
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
) -> tuple[StreamState, object]:
    spent = (*state.spent, cost_of(query))
    if fsum(spent) > epsilon * (1 + ROUNDING):
        left = epsilon - fsum(state.spent)
        raise SessionOver(
            f"{query.name} costs {spent[-1]:g} and {max(left, 0):.4g} of {epsilon:g} are left"
        )
    return replace(state, spent=spent), query(state.data, rng)


BITS = Rows(row=Interval(low=0, high=1, integer=True), max_size=8)


def budgeted_counts(
    *,
    epsilon: float,
    prices: Sequence[float],
    length: int = 5,
    filter_of: Callable[..., Interaction] = budgeted_stream,
    name: str = "budgeted-stream",
    identifier: str = "",
) -> Mechanism:
    """Noisy counts under one budget: an analyst buys the next at a price that answers decide.

    A count costs one of `prices`, in nats, and has Laplace noise of scale 1 / price.
    `filter_of(epsilon=...)` is the session, to be replaced by a broken one.
    """
    require_positive(epsilon=epsilon)
    require_whole(length=length)
    counts = tuple(
        laplace_mechanism(
            query=total,
            sensitivity=1.0,
            epsilon=price,
            relation=Relation.ADD_REMOVE,
            databases=BITS,
        )
        for price in prices
    )

    def density(data: Database, steps: Array, refused: int | None) -> float:
        """Each count by its Laplace density, until the budget does not pay for the next."""
        bought = [prices[int(asked)] for asked in steps[:, 0]]
        most = epsilon * (1 + ROUNDING)
        if fsum(bought) > most or (
            refused is not None and fsum([*bought, prices[refused]]) <= most
        ):
            return -inf
        errors = np.abs(steps[:, 1] - sum(data))
        return fsum(log(e / 2) - e * far for e, far in zip(bought, errors.tolist(), strict=True))

    # The dearest as long as answers are low, the cheapest once one was high.
    greedy = Analyst(asks=(len(prices) - 1, 0), moves=((0, 1), (0, 1)))
    return asked_mechanism(
        filter_of(epsilon=epsilon),
        data=BITS,
        relation=Relation.ADD_REMOVE,
        queries=counts,
        epsilon=epsilon,
        length=length,
        cuts=(0.5,),
        states=2,
        name=name,
        trust_rows=True,
        identifier=identifier,
        reference=ROGERS,
        examples=(([[], greedy.written()], [[1], greedy.written()]),),
        density=density,
    )


BUDGETED_STREAM = budgeted_counts(epsilon=1.0, prices=(0.2, 0.5), identifier="COMP-FILTER")
