"""Zero-concentrated differential privacy: what implies it, how it adds up, what it implies.

Each statement is tested on the pair of laws for which it is tight: losses with two values, and
shifted Gaussians.
"""

from math import erfc, exp, expm1, log, sqrt

import numpy as np

from ..model import (
    IdentityClaim,
    Interval,
    InvariantCase,
    InvariantClaim,
    LossLaw,
    Record,
    Theorem,
    number,
)
from .composition import bounded_range_to_zcdp, pure_to_zcdp, zcdp_root, zcdp_to_epsilon
from .privacy_loss import compose_losses, renyi_divergence

BUN = "Bun and Steinke (2016)"


def _root(*, epsilon: float, digits: float) -> IdentityClaim:
    delta = 10**-digits
    return IdentityClaim(
        compute=lambda: zcdp_to_epsilon(zcdp_root(epsilon, delta) ** 2, delta),
        stated=epsilon,
        tolerance=1e-12 * (1 + epsilon),
    )


def _bounded_loss(high: float, width: float) -> LossLaw:
    """The loss that is `high` or `high` - `width`; the two laws' being laws fixes how often."""
    likely = (exp(width) - exp(high)) / expm1(width)
    return LossLaw(
        losses=np.array([high, high - width]), probabilities=np.array([likely, 1 - likely])
    )


def _z1() -> InvariantClaim:
    def margin(case: InvariantCase) -> float:
        law = _bounded_loss(case["epsilon"], 2 * case["epsilon"])
        return case["order"] * pure_to_zcdp(case["epsilon"]) - renyi_divergence(law, case["order"])

    return InvariantClaim(
        cases=Record(
            fields={
                "epsilon": Interval(low=0.01, high=5),
                "order": Interval(low=1.001, high=64),
            }
        ),
        margin=margin,
        examples=({"epsilon": 0.01, "order": 1.001}, {"epsilon": 5, "order": 1.001}),
    )


def _z2() -> InvariantClaim:
    def margin(case: InvariantCase) -> float:
        law = _bounded_loss(case["share"] * case["width"], case["width"])
        rho = bounded_range_to_zcdp(case["width"])
        return case["order"] * rho - renyi_divergence(law, case["order"])

    return InvariantClaim(
        cases=Record(
            fields={
                "width": Interval(low=0.01, high=5),
                "share": Interval(low=0.001, high=0.999),
                "order": Interval(low=1.001, high=64),
            }
        ),
        margin=margin,
        examples=({"width": 0.01, "share": 0.5, "order": 1.001},),
    )


def _divergence(*, epsilon: float, order: float) -> IdentityClaim:
    """Of one randomized response, by its two probabilities."""
    right = exp(epsilon) / (1 + exp(epsilon))
    powers = right**order * (1 - right) ** (1 - order) + (1 - right) ** order * right ** (1 - order)
    return IdentityClaim(
        compute=lambda: renyi_divergence(_bounded_loss(epsilon, 2 * epsilon), order),
        stated=log(powers) / (order - 1),
        tolerance=1e-10,
    )


def _z3(*, order: float, first: float, second: float) -> IdentityClaim:
    laws = [_bounded_loss(epsilon, 2 * epsilon) for epsilon in (first, second)]
    return IdentityClaim(
        compute=lambda: renyi_divergence(compose_losses(laws), order),
        stated=sum(renyi_divergence(law, order) for law in laws),
        tolerance=1e-10,
    )


def _z4() -> InvariantClaim:
    def margin(case: InvariantCase) -> float:
        # A shift of the Gaussian whose every Renyi divergence is exactly rho * order.
        shift, delta = sqrt(2 * case["rho"]), 10 ** -case["digits"]
        level = zcdp_to_epsilon(case["rho"], delta)
        above = erfc((level / shift - shift / 2) / sqrt(2)) / 2
        below = erfc((level / shift + shift / 2) / sqrt(2)) / 2
        return 1 - (above - exp(level) * below) / delta

    return InvariantClaim(
        cases=Record(
            fields={
                "rho": Interval(low=0.001, high=5),
                "digits": Interval(low=0.1, high=12),
            }
        ),
        margin=margin,
        examples=({"rho": 5, "digits": 0.1},),
    )


EPSILON = number(1.0, 0.01, 10, "in nats")

THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="C-6",
        statement="s = sqrt(L + eps) - sqrt(L), L = ln(1/delta), solves s^2 + 2 s sqrt(L) = eps",
        reference=f"{BUN}, Proposition 1.3",
        subject=_root,
        parameters={
            "epsilon": EPSILON,
            "digits": number(6, 0.01, 15, "delta is 10**-digits"),
        },
    ),
    Theorem(
        identifier="Z-DEF",
        statement="the Renyi divergence of order a is ln(sum p^a q^(1 - a)) / (a - 1)",
        reference="Mironov (2017), Definition 3",
        subject=_divergence,
        parameters={"epsilon": EPSILON, "order": number(8, 1.01, 64, "of the divergence")},
    ),
    Theorem(
        identifier="Z1",
        statement="eps-differential privacy implies (eps^2 / 2)-zCDP",
        reference=f"{BUN}, Proposition 1.4",
        subject=_z1,
    ),
    Theorem(
        identifier="Z2",
        statement="a privacy loss in an interval of width r implies (r^2 / 8)-zCDP",
        reference="Cesar and Rogers (2021), Lemma 3.4",
        subject=_z2,
    ),
    Theorem(
        identifier="Z3",
        statement="Renyi divergences of independent parts add up, and so does rho",
        reference=f"{BUN}, Lemma 1.7",
        subject=_z3,
        parameters={
            "order": number(8, 1.01, 64, "of the divergence"),
            "first": EPSILON,
            "second": EPSILON,
        },
    ),
    Theorem(
        identifier="Z4",
        statement="rho-zCDP implies (rho + 2 sqrt(rho ln(1/delta)), delta) for every delta",
        reference=f"{BUN}, Proposition 1.3",
        subject=_z4,
    ),
)
