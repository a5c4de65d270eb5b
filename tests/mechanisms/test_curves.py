"""Curves of privacy: every line lies above the curve, and the lines are the curve's own."""

from itertools import pairwise
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from scipy.stats import norm

from dpwitness import (
    ConcentratedCurve,
    GaussianCurve,
    PointsCurve,
    PrivacyClaim,
    Relation,
    RenyiCurve,
)
from dpwitness.auditors.bounds.two_sample import at_distance
from dpwitness.mechanisms.gradient_descent.vector_sum import gaussian_delta
from dpwitness.mechanisms.model.curves import (
    ORDERS,
    curve_from_json,
    curve_of,
    grouped_line,
    lines_of,
    size_lower,
    size_upper,
)

CURVES = [
    GaussianCurve(1.0),
    GaussianCurve(0.02),
    GaussianCurve(4.0),
    ConcentratedCurve(0.5),
    ConcentratedCurve(0.002),
    ConcentratedCurve(0.5, 0.05),
    RenyiCurve(((2.0, 1.0),)),
    RenyiCurve(((1.5, 0.3), (20.0, 4.0))),
    PointsCurve(((1.0, 1e-5), (0.5, 1e-2), (0.0, 0.2))),
]


def divergence(p, q, order):
    """Renyi divergence of two Bernoulli laws, in nats."""
    with np.errstate(divide="ignore"):
        one = order * np.log(p) + (1 - order) * np.log(q)
        two = order * np.log1p(-p) + (1 - order) * np.log1p(-q)
    return np.logaddexp(one, two) / (order - 1)


def kept(curve, p, q):
    """Whether the definition of the curve, and nothing that was worked out from it, allows p."""
    if isinstance(curve, GaussianCurve):
        return p <= ndtr(ndtri(q) + curve.mu)
    if isinstance(curve, PointsCurve):
        return np.all([p <= np.exp(e) * q + d for e, d in curve.points], axis=0)
    if isinstance(curve, RenyiCurve):
        return np.all([divergence(p, q, a) <= e for a, e in curve.bounds], axis=0)
    # The largest p that a part of probability delta on either side explains.
    inner = (p - curve.delta) / (1 - curve.delta)
    other = np.minimum(q / (1 - curve.delta), 1.0)
    with np.errstate(invalid="ignore"):
        near = np.all([divergence(inner, other, a) <= curve.rho * a for a in ORDERS], axis=0)
    return (inner <= other) | near


@pytest.mark.parametrize("curve", CURVES, ids=str)
def test_no_line_cuts_into_what_the_curve_allows(curve):
    rng = np.random.default_rng(60)
    q = np.concatenate([rng.random(4000), np.exp(rng.uniform(-16, 0, 4000))])
    p = q ** rng.random(q.size)  # from q up to 1
    inside = kept(curve, p, q)
    assert 100 < inside.sum() < q.size
    lines = lines_of(curve)
    for epsilon, delta in lines:
        assert (p[inside] <= exp(epsilon) * q[inside] + delta).all()
    # And they leave out nearly all that it does not allow.
    outside = ~kept(curve, np.minimum(p / 1.05, 1), q) & (p < 0.6)
    allowed = np.min([np.exp(e) * q + d for e, d in lines], axis=0)
    assert (p > allowed)[outside].mean() > 0.95
    assert all(one[0] < two[0] for one, two in pairwise(lines))


@given(st.floats(0.05, 5), st.floats(1e-6, 0.5))
def test_the_lines_of_mu_are_its_privacy_profile(mu, q):
    epsilon, delta = GaussianCurve(mu).line(q)
    if epsilon > 0:
        assert delta == pytest.approx(gaussian_delta(epsilon=epsilon, shift=mu), abs=1e-9)


def test_a_group_is_the_curve_applied_again_and_again():
    for q in (0.2, 0.01, 1e-5):
        for steps in (2, 3):
            several = grouped_line(GaussianCurve(0.5), q, steps)
            assert several == pytest.approx(GaussianCurve(0.5 * steps).line(q), abs=1e-9)
    point = PointsCurve(((0.4, 1e-3),))
    assert grouped_line(point, 0.1, 3) == pytest.approx(at_distance(0.4, 1e-3, 3))


@pytest.mark.long
@pytest.mark.parametrize("curve", CURVES, ids=str)
def test_what_a_point_denies_is_a_size_that_denies_it(curve):
    lines = lines_of(curve)
    for epsilon, delta in (lines[0], lines[-1]):
        assert size_lower(curve, epsilon, delta) >= curve.size
        more = epsilon + 0.1 * max(epsilon, 0.1)
        larger = size_lower(curve, more, delta)
        assert larger > curve.size
        # The curve of that size stays below the line that was shown to be broken.
        touched = [(q, *curve.scaled(larger).line(q)) for q in np.geomspace(1e-9, 0.6, 150)]
        excess = max(min(exp(e) * q + d, 1.0) - exp(more) * q for q, e, d in touched)
        assert excess <= delta + 1e-9
    assert size_lower(curve, -np.inf, 0.1) == size_lower(curve, 0.0, 0.0) == 0


@pytest.mark.parametrize("curve", CURVES[:8], ids=str)
def test_an_event_on_the_curve_is_allowed_from_its_size_on(curve):
    for q in (0.3, 0.02):
        epsilon, delta = curve.line(q)
        p = exp(epsilon) * q + delta
        assert size_upper(curve, p, q) == pytest.approx(curve.size, rel=2e-3)
        assert size_upper(curve, 0.9 * p, q) < curve.size
    assert size_upper(GaussianCurve(1.0), 1.0, 0.0) == np.inf


def test_a_claim_of_a_curve_is_a_true_point_of_it():
    claim = PrivacyClaim.of_curve(GaussianCurve(1.0), Relation.ADD_REMOVE)
    assert (claim.epsilon, claim.delta) in lines_of(GaussianCurve(1.0))
    assert (claim.distance, claim.steps) == (1, 1)
    plain = PrivacyClaim(epsilon=1, relation=Relation.ADD_REMOVE, distance=3)
    assert plain.steps == 3


@pytest.mark.parametrize("curve", CURVES, ids=str)
def test_curves_survive_json(curve):
    assert curve_from_json(curve.to_json()) == curve


@pytest.mark.parametrize(
    "given",
    [{"mu": 0.0}, {"mu": True}, {"mu": float("inf")}, {"rho": -1}, {"rho": 1, "delta": 1.0},
     {"renyi": []}, {"renyi": [[1, 1]]}, {"renyi": [[2, 0]]}, {"renyi": 3}, {"points": []},
     {"points": [[1, 2]]}, {"points": [[-1, 0.1]]}, {"points": [["a", 0.1]]}, {"mu": 1, "rho": 1},
     {"mu": 1, "delta": 0.1}, {}, {"sigma": 1}, [], None],
)  # fmt: skip
def test_what_is_no_curve_is_refused_in_a_sentence(given):
    with pytest.raises(ValueError, match=r"must|takes|give|goes|is mu"):
        curve_from_json(given)


def test_nothing_claimed_is_no_curve():
    assert curve_of() is None


def test_the_gaussian_curve_is_gaussian_differential_privacy():
    q = 0.1
    epsilon, delta = GaussianCurve(1.0).line(q)
    assert exp(epsilon) * q + delta == pytest.approx(norm.cdf(norm.ppf(q) + 1))
    assert epsilon == pytest.approx(log(norm.pdf(norm.ppf(q) + 1) / norm.pdf(norm.ppf(q))))


@pytest.mark.slow
def test_a_curve_that_allows_nearly_everything_still_has_lines_and_each_is_kept():
    for curve in (GaussianCurve(20.0), ConcentratedCurve(50.0), RenyiCurve(((2.0, 60.0),))):
        lines = lines_of(curve)
        assert min(epsilon for epsilon, _ in lines) > 20
        for epsilon, delta in lines:
            assert size_lower(curve, epsilon, delta) >= curve.size
        # A mechanism that gives its input away with certainty breaks each of them.
        assert all(delta < 1 for _, delta in lines)
