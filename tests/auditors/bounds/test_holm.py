from itertools import pairwise

import numpy as np
import pytest
from scipy.special import bdtrc

from dpwitness.auditors.bounds.tails_and_means import (
    detectable,
    intervals,
    looks,
    p_values,
    rejected,
)
from dpwitness.auditors.errors import InvalidArgument

BETAS = (0.5, 0.2, 0.1, 0.05, 0.01, 0.001)


def most(runs, level):
    """What a binomial at `level` exceeds with probability 1e-7."""
    return int(np.argmax(bdtrc(np.arange(runs), runs, level) <= 1e-7))


def test_p_values_are_exact_upper_tails():
    found = p_values([0, 1, 3, 10], 10, [0.3] * 4)
    expected = [1.0, 1 - 0.7**10, 0.6172172136, 0.3**10]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert p_values([0], 10, [0.5])[0] == 1


def test_levels_outside_the_unit_interval_are_refused():
    with pytest.raises(InvalidArgument, match="between 0 and 1"):
        p_values([1], 10, [1.0])


@pytest.mark.parametrize(("draws", "number"), [(1, 1), (1999, 1), (2000, 2), (200_000, 8)])
def test_looks_double_and_spend_alpha(draws, number):
    plan = looks(draws, 0.05)
    assert len(plan) == number
    assert plan[-1].draws == draws
    assert sum(look.level for look in plan) == pytest.approx(0.05)
    for one, two in pairwise(plan):
        assert two.draws in (2 * one.draws, 2 * one.draws - 1)


def test_holm_rejects_what_is_far_above_and_nothing_else():
    hits = [500, 200, 100, 50, 10, 40]
    assert rejected(hits, 1000, BETAS, 0.05).tolist() == [False] * 5 + [True]
    assert not rejected(hits[:5], 1000, BETAS[:5], 0.05).any()


def test_holm_goes_on_from_the_smallest_until_one_is_too_large():
    """One draw that hits makes each p-value its own level, so the steps can be read off."""
    one_draw = [1, 1, 1]
    assert rejected(one_draw, 1, [0.03, 0.01, 0.02], 0.05).tolist() == [True, True, True]
    assert rejected(one_draw, 1, [0.03, 0.01, 0.04], 0.05).tolist() == [False, True, False]
    assert rejected(one_draw, 1, [0.02, 0.03, 0.02], 0.05).tolist() == [False, False, False]


def test_intervals_are_those_of_clopper_and_pearson():
    """No hit and all hits have closed forms; in between both tails hold their half exactly."""
    (low, high), (least, most_) = intervals([0, 20], 20, 0.1)
    assert (low, most_) == (0, 1)
    assert high == pytest.approx(1 - 0.025 ** (1 / 20), rel=1e-12)
    assert least == pytest.approx(0.025 ** (1 / 20), rel=1e-12)
    ((low, high),) = intervals([7], 50, 0.05)
    assert p_values([7], 50, [low])[0] == pytest.approx(0.025, rel=1e-9)
    assert 1 - p_values([8], 50, [high])[0] == pytest.approx(0.025, rel=1e-9)


def test_family_wise_error_at_the_boundary_with_early_looks():
    # One uniform draw decides all six nested events, each at exactly its level.
    rng, runs, alpha, wrong = np.random.default_rng(11), 400, 0.05, 0
    plan = looks(4000, alpha)
    for _ in range(runs):
        uniforms = rng.random(4000)
        wrong += any(
            rejected(
                [int((uniforms[: look.draws] < beta).sum()) for beta in BETAS],
                look.draws,
                BETAS,
                look.level,
            ).any()
            for look in plan
        )
    assert wrong <= most(runs, alpha)


def test_intervals_cover_together():
    rng, runs = np.random.default_rng(12), 300
    missed = 0
    for _ in range(runs):
        hits = [int(rng.binomial(500, beta)) for beta in BETAS]
        limits = intervals(hits, 500, 0.1)
        missed += any(not low <= b <= high for b, (low, high) in zip(BETAS, limits, strict=True))
    assert missed <= most(runs, 0.1)
    assert intervals([0, 7], 7, 0.05)[0][0] == 0
    assert intervals([0, 7], 7, 0.05)[1][1] == 1


def test_detectable_is_where_the_power_is_nine_tenths():
    found = detectable(2000, 0.05, 0.001)
    critical = next(x for x in range(2001) if p_values([x], 2000, [0.05])[0] <= 0.001)
    assert p_values([critical], 2000, [found])[0] == pytest.approx(0.9)
    assert detectable(3, 0.5, 0.001) == 1
