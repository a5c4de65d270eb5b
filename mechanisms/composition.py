"""Composition of private steps by zero-concentrated differential privacy.

Bun and Steinke (2016): epsilon-DP implies (epsilon^2 / 2)-zCDP, zCDP adds up under adaptive
composition, and rho-zCDP implies (rho + 2 sqrt(rho ln(1 / delta)), delta)-DP.
"""

from math import log, sqrt

from ._checks import require_positive

__all__ = ["zcdp_root"]


def zcdp_root(epsilon: float, delta: float) -> float:
    """The s for which s^2-zCDP implies (epsilon, delta)-DP: s^2 + 2 s sqrt(ln(1/delta)) = epsilon.

    `epsilon` is in nats, `delta` in (0, 1). Raises ValueError outside these ranges.
    """
    require_positive(epsilon=epsilon, delta=delta)
    if delta >= 1:
        raise ValueError(f"delta must be below 1, got {delta}")
    slack = log(1 / delta)
    # The same as sqrt(slack + epsilon) - sqrt(slack), without the cancellation.
    return epsilon / (sqrt(slack + epsilon) + sqrt(slack))
