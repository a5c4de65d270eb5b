"""Guesses about canaries: formulas of the papers, sizes computed, bounds that are nested."""

import numpy as np
import pytest
from scipy.stats import binom

from dpwitness.auditors.bounds.ranks import (
    epsilon_p_value,
    inverse_by_lines,
    inverse_of,
    largest,
    of_curve,
    of_epsilon,
    refutes,
)
from dpwitness.mechanisms.model import ConcentratedCurve, GaussianCurve


def by_sums(canaries, guesses, right, epsilon, delta):
    """The formula of the paper, term by term."""
    q = 1 / (1 + np.exp(-epsilon))
    total, most = 0.0, 0.0
    for i in range(1, right + 1):
        total += binom.pmf(right - i, guesses, q)
        most = max(most, total / i)
    return min(1, binom.sf(right - 1, guesses, q) + 2 * canaries * delta * most)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-4, 1e-2])
def test_the_p_value_is_that_of_the_paper_or_more(epsilon, delta):
    for canaries, guesses in ((100, 10), (1000, 100), (1000, 1000)):
        for right in sorted({1, guesses // 2, guesses - 3, guesses}):
            found = epsilon_p_value(canaries, guesses, right, epsilon=epsilon, delta=delta)
            known = by_sums(canaries, guesses, right, epsilon, delta)
            if 2 * canaries * delta <= 1:
                assert found == pytest.approx(known, rel=1e-9)
            else:
                assert found >= known * (1 - 1e-9)


def test_a_larger_claim_has_a_larger_p_value():
    for delta in (0.0, 1e-4, 1e-2):
        for guesses, right in ((100, 80), (100, 100), (500, 300)):
            found = [
                epsilon_p_value(500, guesses, right, epsilon=e, delta=delta)
                for e in np.linspace(0, 4, 200)
            ]
            assert (np.diff(found) >= -1e-15).all()


def test_randomised_response_at_its_epsilon_has_exactly_its_size():
    for guesses in (50, 200):
        for level in (0.2, 0.05, 1e-3):
            right = next(
                v for v in range(guesses + 1)
                if epsilon_p_value(guesses, guesses, v, epsilon=1.0, delta=0.0) <= level
            )  # fmt: skip
            size = binom.sf(right - 1, guesses, 1 / (1 + np.exp(-1)))
            assert level / 3 < size <= level
            # The test for curves is refuted by no fewer: its lines know no better law.
            inverse = inverse_by_lines(of_epsilon(0.0), 1.0)
            assert not refutes(guesses, guesses, right - 1, inverse, level)


@pytest.mark.parametrize("curve", [GaussianCurve(1.0), ConcentratedCurve(0.5)])
def test_the_inverse_of_a_curve_undoes_it_and_is_never_more(curve):
    slopes, intercepts = of_curve(curve)(curve.size)
    inverse = inverse_of(curve)
    for q in (1e-6, 1e-3, 0.1, 0.4):
        p = min(float((slopes * q + intercepts).min()), 1.0)
        # Lines of the other order may demand more of q than those of this one.
        assert q * (1 - 0.02) <= inverse(p) <= p
        if isinstance(curve, GaussianCurve):
            assert inverse(p) == pytest.approx(q, rel=0.05)
    assert inverse(0.0) == 0.0
    assert all(inverse(p) <= p for p in np.linspace(0, 1, 50))


def test_what_a_curve_refutes_every_smaller_one_refutes():
    for guesses, right in ((100, 90), (400, 300), (400, 399)):
        found = [
            refutes(1000, guesses, right, inverse_of(GaussianCurve(mu)), 0.01)
            for mu in np.linspace(0.05, 4, 60)
        ]
        assert found == sorted(found, reverse=True)
        bound = largest(
            lambda mu, g=guesses, v=right: refutes(1000, g, v, inverse_of(GaussianCurve(mu)), 0.01),
            0.0,
        )
        assert found == [mu <= bound + 2e-4 for mu in np.linspace(0.05, 4, 60)]
