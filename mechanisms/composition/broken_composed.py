"""Compositions that lose more than they claim: constants dropped, and a budget not split."""

from functools import partial

from ..accounting.composition import advanced_composition
from ..accounting.theorems_accounting import ADVANCED_CASES, advanced_margin
from ..model import BrokenStatement, InvariantClaim, Mechanism, NegativeControl
from ..noise.leaky_response import leaky_response_mechanism
from .drill_down import DRILL_DOWN, drill_down_mechanism

REFERENCE = "Dwork, Rothblum and Vadhan (2010), Theorem III.3, printed wrongly"


def _promising(
    *, name: str, epsilon: float, delta: float, rounds: int, root: float, linear: float
) -> Mechanism:
    """The mechanism that loses the most, with what the theorem says at other constants than 2."""
    promised = advanced_composition(
        epsilon=epsilon, delta=delta, rounds=rounds, root=root, linear=linear
    )
    return leaky_response_mechanism(
        epsilon=epsilon,
        delta=delta,
        rounds=rounds,
        promised=promised,
        reference=REFERENCE,
        name=name,
    )


_half_root = _promising(
    name="advanced-composition-no-linear-term-and-half-root",
    epsilon=0.25,
    delta=1e-4,
    rounds=100,
    root=1.0,
    linear=0.0,
)

NO_LINEAR_TERM_AND_HALF_ROOT = NegativeControl(
    identifier="MUT-COMP-1",
    mechanism=_half_root,
    breaks=_half_root.claims[0],
    defect="no factor 2 under the root and no term in epsilon squared: delta is 0.119, not 0.02",
)

_no_linear = _promising(
    name="advanced-composition-no-linear-term",
    epsilon=0.1,
    delta=1e-6,
    rounds=1000,
    root=2.0,
    linear=0.0,
)

NO_LINEAR_TERM = NegativeControl(
    identifier="MUT-COMP-2",
    mechanism=_no_linear,
    breaks=_no_linear.claims[0],
    defect="no term in epsilon squared: delta is 0.0097, not 0.002, at epsilon 11.8",
    detectable=False,
)

_ones = _promising(
    name="advanced-composition-ones-for-twos",
    epsilon=0.05,
    delta=1e-11,
    rounds=100,
    root=1.0,
    linear=1.0,
)

ONES_FOR_TWOS = NegativeControl(
    identifier="MUT-COMP-3",
    mechanism=_ones,
    breaks=_ones.claims[0],
    defect="1 for both constants 2: delta is 3.7e-8, not 2e-9, events no sampling audit sees",
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

_not_split = drill_down_mechanism(epsilons=(1.0, 1.0), name="drill-down-budget-not-split")

BUDGET_NOT_SPLIT = NegativeControl(
    mechanism=Mechanism(
        name=_not_split.name,
        run=_not_split.run,
        claims=DRILL_DOWN.claims,
        databases=_not_split.databases,
        reference=_not_split.reference,
        log_probability=_not_split.log_probability,
    ),
    breaks=DRILL_DOWN.claims[0],
    defect="either step spends the whole budget of 1: the loss is 2",
)
