"""The trade-off of the two errors: the claim's curve, the limit from above, the event counted."""

from dataclasses import replace
from math import exp

import numpy as np
import pytest

from dpwitness.auditors.results.results import Evidence
from dpwitness.reports.faces.as_html import claimed_curve, trade_off, trade_off_figure


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (0.5, 0.1), (800.0, 0.0)])
def test_the_curve_of_a_claim_is_the_least_that_its_inequalities_allow(epsilon, delta):
    x, y = zip(*claimed_curve(epsilon, delta), strict=True)
    at = np.linspace(0, 1, 101)[1:]
    factor = exp(min(epsilon, 700.0))
    wanted = np.maximum.reduce(
        [0 * at, 1 - delta - factor * at, (1 - delta - at) / factor]
    )  # fmt: skip
    assert np.interp(at, x, y, right=0.0) == pytest.approx(wanted, abs=1e-6)


def test_the_limit_from_above_lies_above_the_event_counted(sound):
    shown = trade_off(sound)
    (_, corner, _) = shown.above
    assert corner[0] > shown.point[0]
    assert corner[1] > shown.point[1]
    assert shown.point == pytest.approx((552 / 3000, 1 - 1500 / 3000))
    assert shown.error == sound.evidence.alpha


def test_sides_that_were_judged_in_reverse_are_named_in_reverse(sound):
    turned = [
        replace(one, reversed=True, hits=one.hits[::-1], trials=one.trials[::-1])
        for one in sound.evidence.counts
    ]
    other = replace(sound, evidence=replace(sound.evidence, counts=tuple(turned)))
    one, two = trade_off(sound), trade_off(other)
    assert one.above == two.above
    assert (one.names, two.names) == (("D", "D′"), ("D′", "D"))


def test_a_refutation_names_the_likelier_side_first(refuted):
    shown = trade_off(refuted)
    assert shown.names == ("D", "D′")
    assert shown.point == pytest.approx((119 / 1000, 1 - 500 / 1000))


def test_the_curve_of_the_draws_is_convex_and_spans_the_square(sound):
    points = np.array(trade_off(sound).drawn)
    assert points[0].tolist() == [0, 1]
    assert points[-1] == pytest.approx([1, 0])
    # Half a draw in each bin keeps the order sure where a bin is empty; these bins are full.
    slopes = np.diff(points[:, 1]) / np.diff(points[:, 0])
    assert (np.diff(slopes) >= 0).all()


def test_nothing_counted_is_no_curve(sound):
    bare = replace(sound, evidence=Evidence(counts=(), alpha=1e-3, level=1e-3))
    assert trade_off(bare) is None


def test_the_true_curve_lies_below_the_limit(sound):
    # Randomized response at epsilon 1. A limit fails with probability at most the level, 0.1 here;
    # 400 counts exceed 80 failures with probability below 1e-8. The seed is fixed besides.
    rng = np.random.default_rng(1)
    p, q = exp(1) / (1 + exp(1)), 1 / (1 + exp(1))
    failures = 0
    count = sound.evidence.counts[0]
    for _ in range(400):
        hits = (int(rng.binomial(200, p)), int(rng.binomial(200, q)))
        one = replace(count, hits=hits, trials=(200, 200))
        evidence = Evidence(counts=(one,), alpha=0.1, level=0.1)
        x, y = zip(*trade_off(replace(sound, evidence=evidence)).above, strict=True)
        failures += np.interp(q, x, y) < 1 - p
    assert failures <= 80


def test_it_is_drawn_for_common_and_for_rare_events(sound, refuted):
    rare = [replace(one, hits=(7, 1)) for one in sound.evidence.counts]
    rarely = replace(sound, evidence=replace(sound.evidence, counts=tuple(rare)))
    for result in (sound, refuted, rarely):
        assert trade_off_figure(trade_off(result), key="k").startswith("<svg")
