"""What a run could have seen, checked against the test it speaks about."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import bdtrc, ndtri

from dpwitness import audit
from dpwitness.auditors.bounds.power import (
    LAST,
    detectable_epsilon,
    detectable_probability,
    one_look_level,
    refutable_epsilon,
)
from dpwitness.auditors.bounds.two_sample import at_distance, rejects
from dpwitness.auditors.errors import InvalidArgument
from dpwitness.auditors.events.learners.one_column import Noticing
from dpwitness.reports.faces import wording


def _chances(trials, p):
    return np.array(
        [math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)]
    )


def _power(p, q, trials, null, level):
    """Exact power of the test by enumeration."""
    n, m = trials
    region = np.array(
        [
            [
                rejects((x, y), trials, epsilon=null[0], delta=null[1], level=level)
                for y in range(m + 1)
            ]
            for x in range(n + 1)
        ],
        dtype=float,
    )
    return float(_chances(n, p) @ region @ _chances(m, q))


@pytest.mark.long
@pytest.mark.parametrize(
    ("q", "trials", "epsilon", "delta", "distance"),
    [
        (0.1, (40, 40), 0.3, 0.0, 1),
        (0.05, (60, 40), 1.0, 0.0, 1),
        (0.1, (40, 40), 0.2, 0.05, 2),
    ],
)
def test_power_is_reached_and_hardly_more(q, trials, epsilon, delta, distance):
    found = detectable_epsilon(
        (0.5, q), trials, epsilon=epsilon, delta=delta, level=0.05, distance=distance
    )
    total, group_delta = at_distance(found, delta, distance)
    p = math.exp(total) * q + group_delta
    null = at_distance(epsilon, delta, distance)
    # The coarser lattice and the rounding up of the rejection region only ask for more.
    assert 0.9 <= _power(p, q, trials, null, 0.05) + 1e-6
    assert _power(p - 0.06, q, trials, null, 0.05) < 0.9


@pytest.mark.parametrize(
    ("trials", "claim", "p", "expected"),
    [
        (10**4, 1.0, 0.5, 1.069),
        (10**5, 1.0, 0.5, 1.022),
        (10**6, 1.0, 0.1, 1.0174),
        (10**6, 1.0, 0.001, 1.183),
        (10**5, 0.1, 0.1, 0.141),
    ],
)
def test_normal_form(trials, claim, p, expected):
    # Expected values solve the textbook power equation for the test's normal limit.
    found = detectable_epsilon(
        (p, p * math.exp(-expected)), (trials, trials), epsilon=claim, delta=0, level=0.05
    )
    assert found - claim == pytest.approx(expected - claim, rel=0.1)


def test_power_of_the_normal_form_by_simulation():
    trials, q, claim = 20_000, 0.05, 0.5
    found = detectable_epsilon((0.1, q), (trials, trials), epsilon=claim, delta=0, level=0.01)
    rng = np.random.default_rng(50)
    runs = 400
    first = rng.binomial(trials, q * math.exp(found), runs)
    second = rng.binomial(trials, q, runs)
    detected = sum(
        rejects((int(x), int(y)), (trials, trials), epsilon=claim, delta=0, level=0.01)
        for x, y in zip(first, second, strict=True)
    )
    # Five standard errors (error chance below 1e-6) and .02 for the coarser lattice.
    assert abs(detected / runs - 0.9) < 0.02 + 5 * math.sqrt(0.09 / runs)


@pytest.mark.parametrize(
    ("p", "claim", "delta"), [(0.99, 1.0, 0.0), (0.5, 0.2, 0.0), (0.5, 1.0, 0.1), (0.004, 1.0, 0.0)]
)
def test_what_is_planted_at_the_figure_is_refuted_nine_times_in_ten(p, claim, delta):
    trials, level, runs = (20_000, 20_000), 0.01, 150
    found = refutable_epsilon(p, trials, epsilon=claim, delta=delta, level=level)
    q = (p - delta) * math.exp(-found)
    rng = np.random.default_rng(51)
    x, y = rng.binomial(trials[0], p, runs), rng.binomial(trials[1], q, runs)
    detected = sum(
        rejects(xy, trials, epsilon=claim, delta=delta, level=level)
        for xy in zip(x.tolist(), y.tolist(), strict=True)
    )
    assert abs(detected / runs - 0.9) < 0.03 + 5 * math.sqrt(0.09 / runs)


def _planted(p, q):
    def release(database, rng, *, size=None):
        return (rng.random(size) < (p if database == 0 else q)).astype(int)

    return release


def _said(epsilon, delta, distance):
    """The probabilities that the table of power names, for an audit that finds nothing."""
    options = {"epsilon": epsilon, "delta": delta, "relation": "declared", "distance": distance,
               "exact": False}  # fmt: skip
    found = audit(_planted(0.5, 0.5), pair=(0, 1), trials=20_000, alpha=0.05, **options)
    rows = [row for row in wording.power_rows(found) if row[2] not in ("not detected", "infinite")]
    return (
        options,
        found,
        [
            tuple(float(one.removeprefix(">= ").removeprefix("<= ")) for one in row[:2])
            for row in rows
        ],
    )


CLAIMS = [(0.7, 0.1, 1), (1.0, 0.0, 1), (1.0, 1e-3, 1), (0.5, 0.05, 2), (0.2, 0.3, 1)]


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_what_is_planted_by_the_words_is_refuted_as_often_as_they_say(claim):
    _, found, planted = _said(*claim)
    (look,) = found.evidence.looks
    level = one_look_level(tuple((part, share * look.level) for part, share in LAST))
    null, rng, runs = at_distance(*claim), np.random.default_rng(53), 150
    assert len(planted) == sum(math.isfinite(epsilon) for _, epsilon in found.power) >= 1
    for p, q in planted:
        x, y = rng.binomial(look.trials[0], p, runs), rng.binomial(look.trials[1], q, runs)
        detected = sum(
            rejects(xy, look.trials, epsilon=null[0], delta=null[1], level=level)
            for xy in zip(x.tolist(), y.tolist(), strict=True)
        )
        assert abs(detected / runs - 0.9) < 0.03 + 4 * math.sqrt(0.09 / runs)


@pytest.mark.quality
@pytest.mark.parametrize("claim", CLAIMS[:3], ids=str)
def test_whole_audits_refute_what_the_words_plant(claim):
    options, _, planted = _said(*claim)
    for p, q in planted:
        refuted = sum(
            audit(_planted(p, q), pair=(0, 1), trials=20_000, alpha=0.05, seed=seed, **options,
                  precision=0).refuted
            for seed in range(400)
        )  # fmt: skip
        assert 0.86 <= refuted / 400 <= 0.96


def test_one_look_has_the_power_of_several_at_the_level_worked_out_for_it():
    plan = tuple((part, share * 0.05) for part, share in LAST)
    level = one_look_level(plan)
    # Between the level of the last look and that of all looks together.
    assert LAST[-1][1] * 0.05 < level < 0.05
    assert one_look_level(((100.0, 0.05),)) == 0.05
    # Two looks at the same draws are one at the larger level.
    rng, runs = np.random.default_rng(52), 100_000
    sizes, levels = np.array(plan).T
    drift = 1.2815515655446004 - ndtri(level)
    steps = np.diff(sizes, prepend=0)
    walk = np.cumsum(drift * steps + rng.normal(size=(runs, 4)) * np.sqrt(steps), axis=1)
    power = (walk >= -ndtri(levels) * np.sqrt(sizes)).any(axis=1).mean()
    assert abs(power - 0.9) < 5.5 * math.sqrt(0.09 / runs)


def test_more_draws_see_more():
    sizes = (100, 1000, 10**4, 10**6, 10**8)
    found = [
        detectable_epsilon((0.5, 0.1), (n, n), epsilon=0.5, delta=1e-5, level=1e-3) for n in sizes
    ]
    assert all(left > right for left, right in pairwise(found))
    assert found[-1] > 0.5
    rare = [
        detectable_probability(
            (n, n), epsilon=0.5, delta=1e-5, level=1e-3, noticed=Noticing(n, 7).chance
        )
        for n in sizes
    ]
    assert all(left > right for left, right in pairwise(rare))
    assert rare[-1] > 1e-5


def test_undetectable():
    null = {"epsilon": 1.0, "delta": 0.0, "level": 1e-3}
    assert detectable_epsilon((0.9, 0.4), (1000, 1000), **null) == math.inf
    assert detectable_epsilon((1.0, 0.3), (20, 20), **null) == math.inf
    assert detectable_epsilon((1.0, 0.0), (1000, 1000), **null) == math.inf
    assert detectable_probability((5, 5), **null, noticed=Noticing(100, 7).chance) == math.inf
    assert detectable_probability((1000, 1000), **null, noticed=Noticing(3, 7).chance) == math.inf


def test_detectable_probability_by_enumeration():
    trials, level = (60, 60), 0.05
    found = detectable_probability(
        trials, epsilon=1.0, delta=0.02, level=level, noticed=lambda p: 1.0
    )
    verdicts = np.array(
        [rejects((x, 0), trials, epsilon=1.0, delta=0.02, level=level) for x in range(61)]
    )
    assert _chances(60, found) @ verdicts == pytest.approx(0.9, abs=1e-9)


@pytest.mark.parametrize("least", [1, 9, 20])
def test_a_value_is_noticed_as_often_as_it_says(least):
    noticing, p = Noticing(60, least), 0.25
    odds = _chances(30, p)
    expected = sum(
        odds[a] * odds[b] * (b * (a >= 7) + a * (b >= 7) >= least)
        for a in range(31)
        for b in range(31)
    )
    assert noticing.chance(p) == pytest.approx(expected, abs=1e-12)


def test_detectable_probability_must_also_be_learnt():
    noticing = Noticing(50, 7)
    found = detectable_probability(
        (10**6, 10**6), epsilon=1.0, delta=0.0, level=0.05, noticed=noticing.chance
    )
    assert noticing.chance(found) == pytest.approx(0.9, abs=1e-6)


def test_both_steps_together_have_the_power_stated():
    noticing, trials = Noticing(2000, 12), (2000, 2000)
    found = detectable_probability(
        trials, epsilon=1.0, delta=0.0, level=0.05, noticed=noticing.chance
    )
    verdicts = np.array(
        [rejects((x, 0), trials, epsilon=1.0, delta=0.0, level=0.05) for x in range(80)]
    )
    hits = np.random.default_rng(53).binomial(trials[0], found, 100_000)
    refuted = verdicts[np.minimum(hits, 79)].mean() * noticing.chance(found)
    assert abs(refuted - 0.9) < 5.5 * math.sqrt(0.09 / 100_000)


def test_senseless_requests_are_refused():
    with pytest.raises(InvalidArgument):
        detectable_epsilon((0.5, 0.1), (0, 10), epsilon=1, delta=0, level=0.05)
    with pytest.raises(InvalidArgument):
        detectable_epsilon((0.5, 1.1), (10, 10), epsilon=1, delta=0, level=0.05)
    with pytest.raises(InvalidArgument):
        detectable_probability((10, 10), epsilon=1, delta=0, level=0, noticed=lambda p: 1.0)


def test_a_value_to_be_seen_often_is_noticed_as_often_as_all_draws_say():
    """Where each fold surely shows it, all its hits count; a table of both would be 320 GB."""
    draws, least = 10**6, 200_000
    for p in (0.1995, 0.2, 0.2005):
        expected = bdtrc(least - 1, draws, p)
        assert Noticing(draws, least).chance(p) == pytest.approx(expected, abs=1e-7)
