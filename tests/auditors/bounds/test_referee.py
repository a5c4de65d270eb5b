"""Every interval, Holm step, binomial tail and law of means beside what statsmodels says of it."""

import numpy as np
import pytest

from dpwitness.auditors.bounds.tails_and_means import intervals, p_values, rejected
from dpwitness.auditors.bounds.two_sample import (
    at_least,
    at_most,
    clopper_pearson,
    confidence_box,
)
from dpwitness.reports.ci.pytest_run import holm

proportion = pytest.importorskip("statsmodels.stats.proportion")
multitest = pytest.importorskip("statsmodels.stats.multitest")
SIZES = (1, 2, 7, 50, 1000, 1_000_000)
LEVELS = (0.2, 0.05, 1e-3, 1e-9)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("level", LEVELS)
def test_limits_are_those_of_proportion_confint(size, level):
    hits = np.unique([0, 1, size // 3, size // 2, size - 1, size])
    low, high = clopper_pearson(hits, size, level / 2)
    theirs = proportion.proportion_confint(hits, size, alpha=level, method="beta")
    np.testing.assert_allclose(low, np.nan_to_num(theirs[0], nan=0.0), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(high, np.nan_to_num(theirs[1], nan=1.0), rtol=1e-9, atol=1e-15)
    for x, one, two in zip(hits, low, high, strict=True):
        box = confidence_box((int(x), int(size - x)), (size, size), 2 * level)
        assert (box.p_low, box.p_high) == pytest.approx((one, two), rel=1e-12)
    found = intervals([int(x) for x in hits], size, level * len(hits))
    np.testing.assert_allclose(np.array(found).T, [low, high], rtol=1e-12)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("p", [1e-6, 0.01, 0.3, 0.5, 0.999])
def test_tails_are_those_of_binom_test(size, p):
    hits = np.unique([0, 1, int(size * p), size // 2, size - 1, size])
    theirs = [[proportion.binom_test(int(x), size, p, alternative=which) for x in hits]
              for which in ("larger", "smaller")]  # fmt: skip
    np.testing.assert_allclose(at_least(hits, size, p), theirs[0], rtol=1e-8, atol=1e-300)
    np.testing.assert_allclose(at_most(hits, size, p), theirs[1], rtol=1e-8, atol=1e-300)
    np.testing.assert_allclose(p_values(hits, size, [p] * len(hits)), theirs[0], rtol=1e-8)


def test_tails_beyond_the_draws_and_at_the_ends():
    assert at_least([-1, 0, 6], 5, 0.3).tolist() == [1, 1, 0]
    assert at_most([-1, 5, 6], 5, 0.3).tolist() == [0, 1, 1]
    assert (at_least(1, 5, 0.0), at_least(5, 5, 1.0), at_most(4, 5, 1.0)) == (0, 1, 0)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_both_holms_reject_what_multipletests_rejects(seed):
    rng = np.random.default_rng(seed)
    count, level = int(rng.integers(1, 12)), float(rng.choice(LEVELS))
    draws = 200
    betas = rng.uniform(0.001, 0.5, count)
    hits = rng.binomial(draws, np.minimum(betas * rng.choice([1.0, 1.0, 2.0], count), 1.0))
    p = p_values(hits, draws, betas)
    theirs = multitest.multipletests(p, level, method="holm")[0]
    np.testing.assert_array_equal(rejected(hits, draws, betas, level), theirs)
    names = [str(number) for number in range(count)]
    equal = dict.fromkeys(names, level / count)
    found = holm(dict(zip(names, map(float, p), strict=True)), equal, level)
    assert found == {name for name, one in zip(names, theirs, strict=True) if one}
