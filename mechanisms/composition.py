"""What compositions of differentially private mechanisms promise, as arithmetic in nats."""

from math import log, sqrt

__all__ = ["zcdp_root"]


def zcdp_root(epsilon: float, delta: float) -> float:
    """Square root of the largest rho that Bun and Steinke's conversion turns into (epsilon, delta).

    It is s = sqrt(L + epsilon) - sqrt(L) with L = ln(1 / delta), the positive root of
    s**2 + 2 s sqrt(L) = epsilon, so that s**2-zCDP implies (epsilon, delta)-differential
    privacy. Raises ValueError unless epsilon is positive and 0 < delta < 1.
    Source: Bun and Steinke (2016), Proposition 1.3.
    """
    if not 0 < epsilon < float("inf"):
        raise ValueError(f"epsilon must be positive and finite, got {epsilon}")
    if not 0 < delta < 1:
        raise ValueError(f"delta must be between 0 and 1, got {delta}")
    logarithm = log(1 / delta)
    # The difference of the two roots, without its cancellation.
    return epsilon / (sqrt(logarithm + epsilon) + sqrt(logarithm))
