"""The exponent by which a mean grows, against samplers whose exponent is known."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dpwitness import GrowthClaim, InvalidArgument, Subject, Verdict, check

X = (1.0, 2.0, 4.0, 8.0)


def uniform(database, rng, *, power, size=None):
    """Uniform on [0, 2 x^power]: its mean is x^power."""
    return rng.uniform(0, 2 * database[0] ** power, size=size)


def grows(power, *, stated=1.5, **fields):
    return GrowthClaim(
        trust_rows=True,
        points=X,
        instance=lambda x: (partial(uniform, power=power), [x]),
        quantity=lambda x, database, output: np.asarray(output),
        bound=lambda x: 1.1 * x**stated,
        high=lambda x: 2 * x**power,
        grows="numbers",
        over="x",
        **fields,
    )


def found(claim, trials=40_000, seed=0):
    return check(Subject(claim=claim), trials=trials, seed=seed).finding


def test_the_exponent_is_found_with_an_interval_around_it():
    one = found(grows(1.5))
    assert one.verdict is Verdict.NOT_REFUTED
    assert one.claimed == pytest.approx(1.5)
    assert one.measured.low < 1.5 < one.measured.high < one.measured.low + 0.2
    assert one.edge.share == pytest.approx(1 / 1.1, abs=0.02)


@pytest.mark.long
@pytest.mark.parametrize("power", [1.2, 1.8])
def test_another_exponent_is_refuted(power):
    assert found(grows(power, slack=0.1)).verdict is Verdict.REFUTED


@pytest.mark.long
def test_growth_that_is_no_faster_may_be_slower_and_not_faster():
    assert found(grows(1.0, attained=False)).verdict is Verdict.NOT_REFUTED
    faster = replace(grows(1.8, attained=False, slack=0.1), bound=lambda x: 10 * x**1.5)
    assert found(faster).verdict is Verdict.REFUTED


@pytest.mark.long
def test_a_mean_above_its_bound_is_refuted_whatever_the_exponent():
    low = replace(grows(1.5), bound=lambda x: 0.9 * x**1.5)
    one = found(low)
    assert one.verdict is Verdict.REFUTED
    assert one.details["above_bound"]


@pytest.mark.slow
def test_the_interval_misses_the_exponent_no_more_often_than_alpha_allows():
    # At alpha 1e-3 a miss in 40 runs has probability 0.04, and the bounds are far from tight.
    for seed in range(40):
        one = found(grows(0.5, stated=0.5), trials=800, seed=seed)
        assert one.measured.low <= 0.5 <= one.measured.high
        assert one.verdict is Verdict.NOT_REFUTED


@pytest.mark.parametrize("points", [(1.0,), (1.0, 1.0), (0.0, 1.0)])
def test_points_that_make_no_line_are_one_sentence(points):
    with pytest.raises(InvalidArgument, match="two points or more"):
        found(replace(grows(1.0), points=points))
