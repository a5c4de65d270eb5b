"""Curves as audits use them: their lines, what holds for groups, moments, and the accountants.

Whoever refutes a line has refuted the curve only if no line promises less than the curve allows.
Two Gaussians a shift s apart keep mu = s and rho = s^2 / 2 exactly, and a Renyi divergence of
alpha s^2 / 2 at every order alpha; databases k steps apart are k shifts apart. With a chance of
delta to say which database it is they keep rho approximately. What these laws lose is worked out
here from the normal distribution and from nothing that the curves are made of.
"""

from collections.abc import Callable, Mapping
from functools import partial
from math import erfc, exp, log, nan, sqrt
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
    PointsCurve,
    Record,
    RenyiCurve,
    Row,
    Theorem,
    curve_of,
    grouped_line,
    moments_of,
)
from ..queries import counts

NORMAL = NormalDist()
MANY = 1 + np.geomspace(1e-3, 1e4, 7000)
"""Orders at which the divergence of two events is worked out. Between these it was larger by 1.3e-6
of itself at most in 1,490 events, a hundredth of what is added; with 700 orders by 1.1e-4."""
BUN = "Bun and Steinke (2016)"
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
