"""Accountants of other libraries as curves: their shapes, and real ones if they are installed."""

from dataclasses import dataclass
from functools import partial
from math import inf
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import ndtr

from dpwitness import Verdict, audit, scores
from dpwitness.auditors.errors import InvalidArgument
from dpwitness.mechanisms.model import points_of
from dpwitness.mechanisms.model.curves import PointsCurve, curve_of
from dpwitness.reports.targets.targets import find_curve


@dataclass
class Gaussian:
    """As accountants of Opacus and dp_accounting answer: one positional delta."""

    mu: float

    def get_epsilon(self, delta, **kwargs):
        mu, (low, high) = self.mu, (0.0, 60.0)
        for _ in range(60):
            middle = (low + high) / 2
            lost = ndtr(mu / 2 - middle / mu) - np.exp(middle) * ndtr(-mu / 2 - middle / mu)
            low, high = (middle, high) if lost > delta else (low, middle)
        return high


def gauss(scale):
    def release(database, rng, *, size=None):
        return sum(database) + rng.normal(scale=scale, size=size)

    return release


@pytest.mark.long
def test_true_noise_keeps_what_its_accountant_says_and_narrow_noise_does_not():
    pair = {"pair": ([], [1]), "relation": "add-remove", "trials": 40_000}
    assert audit(gauss(1.0), curve=Gaussian(1.0), **pair).verdict is Verdict.NOT_REFUTED
    found = audit(gauss(0.8), curve=Gaussian(1.0), **pair)
    assert found.refuted
    assert found.claim.curve == PointsCurve(points_of(Gaussian(1.0)))


@pytest.mark.long
def test_scores_take_an_accountant():
    rng = np.random.default_rng(1)
    sides = rng.normal(1.3, 1, 5000), rng.normal(0, 1, 5000)
    assert scores(*sides, curve=Gaussian(1.0)).verdict is Verdict.REFUTED
    assert scores(*sides, curve=Gaussian(1.6)).verdict is Verdict.NOT_REFUTED


def test_points_are_those_of_finite_epsilon_and_one_of_none():
    known = SimpleNamespace(get_epsilon=lambda delta: inf if delta < 1e-3 else 0.1 - delta)
    points = points_of(known)
    assert min(delta for _, delta in points) >= 1e-3 * (1 - 1e-9)
    assert [one for one in points if one[0] == 0] == [(0.0, pytest.approx(0.1))]
    with pytest.raises(ValueError, match="bounds epsilon at no delta"):
        points_of(SimpleNamespace(get_epsilon=lambda delta: inf))
    assert points_of([(1.0, 1e-5)]) is None
    with pytest.raises(ValueError, match="curve takes"):
        curve_of(points=object())


def test_a_function_of_delta_is_a_curve_and_says_why_if_it_is_none():
    spent = partial(lambda steps, delta: steps - 10 * delta, 2)
    assert points_of(spent) == points_of(lambda delta: 2 - 10 * delta)
    assert points_of(spent)[0] == (pytest.approx(2), pytest.approx(1e-10))
    with pytest.raises(ValueError, match=r"at delta 1e-10 and raised TypeError.*expected a finite"):
        points_of(lambda delta, steps: 1.0)
    with pytest.raises(ValueError, match="bounds epsilon at no delta"):
        points_of(lambda delta: np.nan)


def test_the_command_line_names_an_accountant_in_a_file(tmp_path):
    file = tmp_path / "training.py"
    file.write_text(
        "class Engine:\n    def get_epsilon(self, delta):\n        return 2.0\n"
        "engine, other = Engine(), 3\n"
    )
    assert len(find_curve(f"{file}:engine")) == 20
    with pytest.raises(InvalidArgument, match="expected an accountant"):
        find_curve(f"{file}:other")
    (tmp_path / "points.csv").write_text("1,0.1\n2,0.01\n")
    assert find_curve(str(tmp_path / "points.csv")) == ((1.0, 0.1), (2.0, 0.01))


@pytest.mark.real
def test_events_accountants_and_loss_distributions_of_dp_accounting():
    dp = pytest.importorskip("dp_accounting")
    pld, rdp = pytest.importorskip("dp_accounting.pld"), pytest.importorskip("dp_accounting.rdp")
    event = dp.GaussianDpEvent(1.0)
    accountant = rdp.RdpAccountant()
    accountant.compose(event)
    distribution = pld.privacy_loss_distribution.from_gaussian_mechanism(1.0)
    exact = {delta: epsilon for epsilon, delta in points_of(Gaussian(1.0))}
    for found in (event, distribution):
        for epsilon, delta in points_of(found):
            assert exact.get(delta, 0.0) - 1e-6 <= epsilon <= exact.get(delta, 0.0) + 0.01
    assert all(epsilon >= exact.get(delta, 0.0) for epsilon, delta in points_of(accountant))
    plan = SimpleNamespace(dp_event=dp.SelfComposedDpEvent(event, 4))
    exact = {delta: epsilon for epsilon, delta in points_of(Gaussian(2.0))}
    for epsilon, delta in points_of(plan):
        assert exact[delta] - 1e-6 <= epsilon <= exact[delta] + 0.01
    with pytest.raises(ValueError, match="no accountant"):
        points_of(dp.UnsupportedDpEvent())
