"""Compositions that lose more than they claim: constants dropped, and a budget not split."""

from dataclasses import replace
from functools import partial
from math import fsum

import numpy as np

from ..accounting.composition import advanced_composition
from ..accounting.theorems_accounting import ADVANCED_CASES, advanced_margin
from ..model import (
    BrokenStatement,
    Interaction,
    InvariantClaim,
    Mechanism,
    NegativeControl,
    Output,
    SessionOver,
)
from ..noise.randomized_response import leaky_response_mechanism
from .composed import (
    DRILL_DOWN,
    StreamState,
    budgeted_counts,
    budgeted_stream,
    drill_down_mechanism,
)

REFERENCE = "Dwork, Rothblum and Vadhan (2010), Theorem III.3, printed wrongly"


def _promising(
    identifier: str,
    name: str,
    defect: str,
    *,
    epsilon: float,
    delta: float,
    rounds: int,
    root: float,
    linear: float,
    detectable: bool = True,
) -> NegativeControl:
    """The mechanism that loses the most, with what the theorem says at other constants than 2."""
    promised = advanced_composition(
        epsilon=epsilon, delta=delta, rounds=rounds, root=root, linear=linear
    )
    mechanism = leaky_response_mechanism(
        epsilon=epsilon,
        delta=delta,
        rounds=rounds,
        promised=promised,
        reference=REFERENCE,
        name=f"advanced-composition-{name}",
    )
    return NegativeControl(
        identifier=identifier, mechanism=mechanism, defect=defect, detectable=detectable
    )


NO_LINEAR_TERM_AND_HALF_ROOT = _promising(
    "MUT-COMP-1",
    "no-linear-term-and-half-root",
    "no factor 2 under the root and no term in epsilon squared: delta is 0.119, not 0.02",
    epsilon=0.25,
    delta=1e-4,
    rounds=100,
    root=1.0,
    linear=0.0,
)

NO_LINEAR_TERM = _promising(
    "MUT-COMP-2",
    "no-linear-term",
    "no term in epsilon squared: delta is 0.0097, not 0.002, at epsilon 11.8",
    epsilon=0.1,
    delta=1e-6,
    rounds=1000,
    root=2.0,
    linear=0.0,
    detectable=False,
)

ONES_FOR_TWOS = _promising(
    "MUT-COMP-3",
    "ones-for-twos",
    "1 for both constants 2: delta is 3.7e-8, not 2e-9, events no sampling audit sees",
    epsilon=0.05,
    delta=1e-11,
    rounds=100,
    root=1.0,
    linear=1.0,
    detectable=False,
)

ONES_FOR_TWOS_EVERYWHERE = BrokenStatement(
    identifier="MUT-COMP-3-OPT",
    claim=InvariantClaim(
        cases=ADVANCED_CASES,
        margin=partial(advanced_margin, root=1.0, linear=1.0),
        identifier="T-COMP-ADV-OPT",
        reference=REFERENCE,
    ),
    defect="1 for both constants 2, which fails only where rounds * delta is very small",
)

BUDGET_NOT_SPLIT = NegativeControl(
    mechanism=replace(
        drill_down_mechanism(epsilons=(1.0, 1.0), name="drill-down-budget-not-split"),
        claims=DRILL_DOWN.claims,
    ),
    defect="either step spends the whole budget of 1: the loss is 2",
)


def charged_afterwards(*, epsilon: float) -> Interaction:
    """A filter that looks at what was spent before, and not at the price of what is asked for."""
    sound = budgeted_stream(epsilon=10 * epsilon)

    def answer(
        state: StreamState, query: Mechanism, rng: np.random.Generator
    ) -> tuple[StreamState, Output]:
        if fsum(state.spent) >= epsilon:
            raise SessionOver("the budget is spent")
        return sound.answer(state, query, rng)

    return Interaction(start=sound.start, answer=answer)


CHARGED_AFTERWARDS = NegativeControl(
    identifier="MUT-COMP-4",
    mechanism=replace(
        budgeted_counts(
            epsilon=1.0,
            prices=(0.2, 0.9),
            filter_of=charged_afterwards,
            name="budgeted-stream-charged-afterwards",
        ),
        log_probability=None,
    ),
    defect="a filter answers what the rest of the budget does not pay for, once",
)
