"""Whether the steps of a mechanism spend its budget: no more, and no less.

An exact law is at hand on small instances only, where a mechanism may lose far less than it could.
A calibration is arithmetic: its steps, composed again, must give the budget back.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..model import IdentityClaim, Mechanism
from .composition import bounded_range_to_zcdp, pure_to_zcdp, zcdp_to_epsilon


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """The epsilons, in nats, of pure steps and of steps whose loss has a range of epsilon."""

    pure: Sequence[float] = ()
    ranged: Sequence[float] = ()
    delta: float = 0.0

    @property
    def epsilon(self) -> float:
        """What all steps lose together: their sum without delta, else by zero concentration."""
        if self.delta == 0:
            return sum(self.pure) + sum(self.ranged)
        rho = sum(map(pure_to_zcdp, self.pure)) + sum(map(bounded_range_to_zcdp, self.ranged))
        return zcdp_to_epsilon(rho, self.delta)


def bound(mechanism: Mechanism) -> Mapping[str, Any]:
    """The parameters that the mechanism's function is bound to, as it ships."""
    assert isinstance(mechanism.run, partial)
    return mechanism.run.keywords


def spends(spendings: Callable[[], Sequence[Spending]], *, epsilon: float) -> IdentityClaim:
    """That each of these, made when the claim is checked, loses just `epsilon`."""
    return IdentityClaim(
        compute=lambda: max(
            (one.epsilon for one in spendings()), key=lambda found: abs(found - epsilon)
        ),
        stated=epsilon,
        tolerance=1e-9,
    )
