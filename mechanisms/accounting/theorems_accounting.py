"""Theorems on composition, on concentrated privacy, and on the curves that audits use.

- Composition at all parameters at once: the exact delta, which is that of leaky randomized
  responses (Kairouz, Oh and Viswanath, 2015), against what is promised.
- Zero-concentrated differential privacy: what implies it, how it adds up, what it implies. Each
  statement is tested on the pair of laws for which it is tight: losses with two values, and
  shifted Gaussians.
- Curves: their lines, what holds for groups, moments, and the accountants. Whoever refutes a line
  has refuted the curve only if no line promises less than the curve allows. Two Gaussians a shift
  s apart keep mu = s and rho = s^2 / 2 exactly, and a Renyi divergence of alpha s^2 / 2 at every
  order alpha; databases k steps apart are k shifts apart. With a chance of delta to say which
  database it is they keep rho approximately. What these laws lose is worked out here from the
  normal distribution and from nothing that the curves are made of.
"""

from collections.abc import Callable, Mapping
from functools import partial
from math import erfc, exp, expm1, log, nan, sqrt
from statistics import NormalDist

import numpy as np

from .._checks import refuses
from ..model import (
    Array,
    Choices,
    ConcentratedCurve,
    Curve,
    GaussianCurve,
    IdentityClaim,
    Interval,
    InvariantCase,
    InvariantClaim,
    LossLaw,
    PointsCurve,
    Record,
    RenyiCurve,
    Row,
    Rows,
    Theorem,
    curve_of,
    grouped_line,
    moments_of,
    number,
)
from ..queries import counts
from .composition import (
    advanced_composition,
    bounded_range_to_zcdp,
    heterogeneous_composition,
    optimal_delta,
    pure_to_zcdp,
    response_delta,
    zcdp_composition,
    zcdp_root,
    zcdp_to_epsilon,
)
from .privacy_loss import compose_losses, renyi_divergence

BUN = "Bun and Steinke (2016)"
DRV = "Dwork, Rothblum and Vadhan (2010), Theorem III.3"
STEMMER = "Stemmer, lecture notes on differential privacy, lecture 10"
ADVANCED_CASES = Record(
    fields={
        "rounds": Interval(low=1, high=1000, integer=True),
        "epsilon": Interval(low=0.01, high=1),
        "digits": Interval(low=0.35, high=12),
    }
)


def advanced_margin(case: InvariantCase, **constants: float) -> float:
    """1 - (exact delta) / (2 k delta) at the epsilon of the advanced theorem; at least 0 if true.

    `case` is one of `ADVANCED_CASES`, whose delta is 10**-digits / rounds; `constants` are
    other values of `root` and `linear`, with which the statement is seen to fail.
    """
    rounds, delta = int(case["rounds"]), 10 ** -case["digits"] / case["rounds"]
    epsilon = float(case["epsilon"])
    level, whole = advanced_composition(epsilon=epsilon, delta=delta, rounds=rounds, **constants)
    return 1 - optimal_delta(epsilon=epsilon, delta=delta, rounds=rounds, level=level) / whole


def _advanced_everywhere() -> InvariantClaim:
    return InvariantClaim(
        cases=ADVANCED_CASES,
        margin=advanced_margin,
        examples=(
            {"rounds": 1000, "epsilon": 0.1, "digits": 3},
            {"rounds": 1000, "epsilon": 0.0158, "digits": 9},
            {"rounds": 100, "epsilon": 0.05, "digits": 9},
            {"rounds": 1, "epsilon": 1, "digits": 0.35},
        ),
    )


def _heterogeneous_everywhere() -> InvariantClaim:
    def margin(case: InvariantCase) -> float:
        delta = 10 ** -case["digits"]
        level = zcdp_composition(case["epsilons"], delta)
        return 1 - response_delta(case["epsilons"], level) / delta

    return InvariantClaim(
        cases=Record(
            fields={
                "epsilons": Rows(row=Interval(low=0.01, high=2), min_size=1, max_size=12),
                "digits": Interval(low=0.1, high=12),
            }
        ),
        margin=margin,
        examples=(
            {"epsilons": [0.05] * 12, "digits": 0.1},
            {"epsilons": [0.1] * 11 + [0.4], "digits": 1},
        ),
    )


def alike_margin(case: InvariantCase) -> float:
    """Of many equal pure parts 1 - (exact delta) / delta, at the epsilon that is taught."""
    delta, rounds = 10 ** -case["digits"], int(case["rounds"])
    level = heterogeneous_composition([case["epsilon"]] * rounds, delta)
    exact = optimal_delta(epsilon=case["epsilon"], delta=0.0, rounds=rounds, level=level)
    return 1 - exact / delta


def _alike_everywhere() -> InvariantClaim:
    return InvariantClaim(
        cases=Record(
            fields={
                "rounds": Interval(low=1, high=1000, integer=True),
                "epsilon": Interval(low=0.01, high=1),
                "digits": Interval(low=0.1, high=12),
            }
        ),
        margin=alike_margin,
        examples=(
            {"rounds": 1000, "epsilon": 0.01, "digits": 12},
            {"rounds": 1, "epsilon": 1, "digits": 0.1},
        ),
    )


def _domain_as_printed() -> InvariantClaim:
    def radicand(case: InvariantCase) -> float:
        return 2 * case["rounds"] * log(1 / (case["rounds"] * case["delta"]))

    return InvariantClaim(
        cases=Record(
            fields={
                "rounds": Interval(low=1, high=1000, integer=True),
                "delta": Interval(low=1e-6, high=1),
            }
        ),
        margin=radicand,
        examples=({"rounds": 1, "delta": 1.0}, {"rounds": 2, "delta": 1.0}),
    )


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
NORMAL = NormalDist()
MANY = 1 + np.geomspace(1e-3, 1e4, 7000)
"""Orders at which the divergence of two events is worked out. Between these it was larger by 1.3e-6
of itself at most in 1,490 events, a hundredth of what is added; with 700 orders by 1.1e-4."""
DONG = "Dong, Roth and Su (2022)"
MIRONOV = "Mironov (2017)"
ORDERS = (1.5, 3.0, 9.0, 40.0)
"""Orders at which a Renyi curve claims the divergence."""
KNOWN = 1e-5
"""The delta above which an accountant knows an epsilon."""


def _normal(z: float) -> float:
    return erfc(-z / sqrt(2)) / 2


def _excess(epsilon: float, shift: float) -> float:
    """The exact delta at epsilon of two normal laws a shift apart."""
    middle = epsilon / shift
    return _normal(shift / 2 - middle) - exp(epsilon) * _normal(-shift / 2 - middle)


def _curve(case: InvariantCase) -> tuple[Curve, float]:
    """The curve that the two laws keep, and the chance that they tell which they are."""
    shift, leaked = case["shift"], case["leaked"]
    match case["kind"]:
        case "mu":
            return GaussianCurve(shift), 0.0
        case "renyi":
            return RenyiCurve(tuple((a, a * shift**2 / 2) for a in ORDERS)), 0.0
        case _:
            return ConcentratedCurve(shift**2 / 2, leaked), leaked


CASES: Mapping[str, Row] = {
    "kind": Choices(values=("mu", "rho", "renyi")),
    "shift": Interval(low=0.05, high=3),
    "leaked": Choices(values=(0.0, 1e-6, 0.01, 0.2)),
    "steps": Choices(values=(1, 2, 3)),
}


def _lines() -> InvariantClaim:
    def margin(case: InvariantCase) -> float:
        curve, leaked = _curve(case)
        epsilon, delta = grouped_line(curve, 10 ** -case["digits"], case["steps"])
        lost = leaked + (1 - leaked) * _excess(epsilon, case["steps"] * case["shift"])
        return (delta - lost) / max(delta, 1e-9)

    return InvariantClaim(
        cases=Record(fields={**CASES, "digits": Interval(low=0.31, high=6)}),
        margin=margin,
        examples=tuple(
            {"kind": kind, "shift": 1, "leaked": leaked, "steps": steps, "digits": digits}
            for kind, leaked in (("mu", 0.0), ("rho", 0.0), ("rho", 0.01), ("renyi", 0.0))
            for steps in (1, 2)
            for digits in (1, 3)
        ),
    )


def _divergences(p: float, q: float, orders: Array) -> Array:
    """The larger of the two Renyi divergences of an event's chances p and q, at each order."""
    logs = np.log(np.array([[p, q], [1 - p, 1 - q]]))[:, :, None]
    there = np.logaddexp(*(orders * logs[:, 0] + (1 - orders) * logs[:, 1]))
    back = np.logaddexp(*(orders * logs[:, 1] + (1 - orders) * logs[:, 0]))
    found: Array = np.maximum(there, back) / (orders - 1)
    return found


def _least_rho(p: float, q: float) -> float:
    """The rho that just allows an event of chances p and q, rounded up.

    At orders that fall to 1 the divergence over the order is that of Kullback and Leibler.
    """
    sides = ((p, q), (1 - p, 1 - q))
    there = sum(a * log(a / b) for a, b in sides)
    back = sum(b * log(b / a) for a, b in sides)
    above = float((_divergences(p, q, MANY) / MANY).max())
    return max(there, back, above) * (1 + 1e-4)


def _events() -> InvariantClaim:
    """An event with chances p and q on the curve that just allows it, at lines near q and far."""

    def margin(case: InvariantCase) -> float:
        q = 10 ** -case["digits"]
        p = q + case["share"] * (0.9999 - q)
        curve: Curve
        if case["kind"] == "mu":
            curve = GaussianCurve(NORMAL.inv_cdf(p) - NORMAL.inv_cdf(q))
        elif case["kind"] == "rho":
            curve = ConcentratedCurve(_least_rho(p, q))
        else:
            order = np.array([case["order"]])
            curve = RenyiCurve(((case["order"], float(_divergences(p, q, order)[0])),))
        epsilon, delta = curve.line(min(q * 10 ** case["beside"], 0.5))
        return (exp(min(epsilon, 600.0)) * q + delta) / p - 1

    return InvariantClaim(
        cases=Record(
            fields={
                "kind": Choices(values=("mu", "rho", "renyi")),
                "digits": Interval(low=0.31, high=5),
                "share": Interval(low=0.001, high=1),
                "order": Interval(low=1.05, high=50),
                "beside": Choices(values=(0, -1, 1)),
            }
        ),
        margin=margin,
        examples=tuple(
            {"kind": kind, "digits": digits, "share": 0.1, "order": order, "beside": 0}
            for kind, order in (("mu", 2), ("rho", 2), ("renyi", 2), ("renyi", 20))
            for digits in (0.5, 1, 3)
        ),
    )


def _moments() -> InvariantClaim:
    def margin(case: InvariantCase) -> float:
        curve, leaked = _curve(case)
        spread = (case["steps"] * case["shift"]) ** 2 / 2
        margins = [1.0]
        if case["steps"] > 1 and (leaked or case["kind"] == "renyi"):
            # Nothing is known of these.
            return float(-len(moments_of(curve, case["steps"])))
        for moment in moments_of(curve, case["steps"]):
            if moment.delta < leaked:
                return moment.delta - leaked
            # E t^a = exp(a (a - 1) s^2 / 2), and the KL divergence is s^2 / 2.
            a = moment.order
            lost = spread if a == 1 else a * (a - 1) * spread
            margins.append((moment.bound if a == 1 else log(moment.bound)) / lost - 1)
        return min(margins)

    return InvariantClaim(
        cases=Record(fields=CASES),
        margin=margin,
        examples=tuple(
            {"kind": kind, "shift": 0.5, "leaked": leaked, "steps": steps}
            for kind, leaked in (("mu", 0.0), ("rho", 0.0), ("rho", 0.01), ("renyi", 0.0))
            for steps in (1, 2)
        ),
    )


def _read() -> IdentityClaim:
    """How much is promised that is not known, and how many numbers are taken for counts.

    NaN from an accountant is no bound; a delta at which it knows one is a point of the curve.
    """
    unfit = ([-1, 0], [2, -3], [1.5, 0], [nan, 1])

    def knows(delta: float) -> float:
        return 0.7 if delta > KNOWN else nan

    def taken() -> float:
        asked: list[Callable[[], object]] = [partial(counts, one) for one in unfit]
        asked.append(partial(curve_of, points=lambda delta: nan))
        read = curve_of(points=knows)
        assert isinstance(read, PointsCurve)
        wrong = [point for point in read.points if point[0] != 0.7 or point[1] <= KNOWN]
        return [refuses(ask) for ask in asked].count(False) + len(wrong)

    return IdentityClaim(compute=taken, stated=0.0)


THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="T-COMP-ADV-OPT",
        statement="the exact delta of k parts stays below that of the advanced theorem everywhere",
        reference=DRV,
        subject=_advanced_everywhere,
    ),
    Theorem(
        identifier="T-COMP-HET-OPT",
        statement="the exact delta of pure parts stays below that of zCDP for any epsilons",
        reference=BUN,
        subject=_heterogeneous_everywhere,
    ),
    Theorem(
        identifier="T-COMP-HET-ALIKE",
        statement="k pure parts are k 2 eps^2 + sqrt(2 k ln(1/delta)) eps at delta, for many too",
        reference=STEMMER,
        subject=_alike_everywhere,
    ),
    Theorem(
        identifier="ERR-GD-7",
        statement="the root in the advanced theorem is real for all k and 0 < epsilon, delta <= 1",
        reference=STEMMER,
        subject=_domain_as_printed,
        corrected="T-COMP-ADV",
        remark="the logarithm is negative where k delta > 1: the theorem needs k delta < 1",
        part="Gradient descent and vector noise",
    ),
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
    Theorem(
        identifier="CURVE-LINES",
        statement="no line of mu, rho or Renyi promises less than the curve allows, nor does one "
        "for databases several steps apart",
        reference=f"{DONG}, Section 2; {BUN}, Definitions 1.1 and 8.1, Proposition 1.9; {MIRONOV}",
        subject=_lines,
    ),
    Theorem(
        identifier="CURVE-EVENTS",
        statement="an event that mu, rho or Renyi just allows lies under every line of the curve",
        reference=f"{DONG}, Section 2; {BUN}, Definition 1.1; {MIRONOV}, Definition 4",
        subject=_events,
    ),
    Theorem(
        identifier="CURVE-MOMENTS",
        statement="E_Q t^a <= exp((a - 1) a k^2 rho) for t = dP/dQ of databases k steps apart, and "
        "the KL divergence is at most k^2 rho",
        reference=f"{BUN}, Definitions 1.1 and 8.1, Proposition 1.9",
        subject=_moments,
    ),
    Theorem(
        identifier="CURVE-READ",
        statement="an accountant that knows no epsilon promises nothing, and a number below 0 "
        "or between whole numbers is not taken for a count",
        reference="the documentation of points_of and counts",
        subject=_read,
    ),
)
