"""A budget beforehand: what is planned is what the tests do, and what statsmodels says of them."""

import re
from math import exp, inf, log
from pathlib import Path

import numpy as np
import pytest

from dpwitness.auditors.bounds.two_sample import rejects
from dpwitness.auditors.errors import InvalidArgument
from dpwitness.auditors.privacy import planning
from dpwitness.auditors.privacy.planning import draws_needed, plan, trials_to_notice
from dpwitness.mechanisms.model import GaussianCurve, PrivacyClaim, Relation

BUDGET = Path(__file__).parents[3] / "docs" / "how-to" / "budget.md"


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.45), (0.3, 0.2), (0.05, 0.03)])
@pytest.mark.parametrize("level", [0.05, 1e-3, 1e-6])
def test_equal_rates_need_about_the_draws_that_statsmodels_tells(p, q, level):
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    theirs = proportion.samplesize_proportions_2indep_onetail(
        p - q, q, 0.9, ratio=1, alpha=level, alternative="larger"
    )
    ours = draws_needed((p, q), (0.0, 0.0), level=level, power=0.9)
    # Theirs is the normal approximation; the exact test pays for its box, a fiftieth of the level,
    # and for whole hits, of which one is a part 1 / sqrt(hits) of their standard deviation.
    assert 0.97 * theirs <= ours <= (1.05 + 1 / np.sqrt(q * theirs)) * theirs


def test_the_planned_power_is_what_the_test_has():
    found = plan(epsilon=1.0, notice=1.3, alpha=0.01, event_probability=0.4)
    rng, draws = np.random.default_rng(1), int(found.draws)
    hits = rng.binomial(draws, 0.4, 400), rng.binomial(draws, 0.4 * exp(-1.3), 400)
    refuted = sum(
        rejects((int(x), int(y)), (draws, draws), epsilon=1.0, delta=0.0, level=0.01)
        for x, y in zip(*hits, strict=True)
    )
    # Binomial with 400 runs at .9: five standard errors are 30.
    assert 330 <= refuted <= 390


@pytest.mark.long
@pytest.mark.parametrize(
    "claim",
    [{"epsilon": 1.0}, {"epsilon": 0.5, "delta": 1e-3}, {"mu": 1.0}, {"rho": 0.5},
     {"epsilon": 0.5, "distance": 2}],
)  # fmt: skip
def test_what_a_budget_notices_needs_that_budget(claim):
    budget = plan(**claim, notice=1.5, event_probability=0.3)
    back = plan(**claim, trials=int(budget.trials), event_probability=0.3)
    assert back.notice == pytest.approx(1.5, rel=0.01)
    assert budget.draws < budget.trials


def test_a_smaller_alpha_a_rarer_event_and_a_smaller_loss_need_more():
    def draws(**changed):
        return plan(**{"epsilon": 1.0, "notice": 1.2, **changed}).draws

    usual = draws()
    assert draws(alpha=1e-6) > usual
    assert draws(event_probability=0.05) > 5 * usual
    assert draws(notice=1.1) > 3 * usual
    assert draws(power=0.99) > usual


@pytest.mark.long
def test_the_table_for_authors_of_other_suites_is_what_is_computed():
    rows = re.findall(r"^\| [\d,]+ \| (\S+) \| ([\d,]+) \| ([\d,]+) \|$", BUDGET.read_text(), re.M)
    assert len(rows) == 5
    for alpha, *counts in rows:
        for notice, count in zip((1.1, 1.3), counts, strict=True):
            found = plan(epsilon=1.0, notice=notice, alpha=float(alpha)).draws
            assert found == pytest.approx(int(count.replace(",", "")), rel=1e-2)
    draws = {float(alpha): int(first.replace(",", "")) for alpha, first, _ in rows}
    assert draws[1e-12] / draws[1e-3] == pytest.approx(3.6, abs=0.1)


def test_an_audit_takes_the_trials_of_its_own_claim():
    claim = PrivacyClaim(epsilon=1.0, relation=Relation.ADD_REMOVE)
    found = trials_to_notice(claim, 1.2, 1e-3)
    assert found == pytest.approx(plan(epsilon=1.0, notice=1.2).trials, rel=1e-3)
    curve = PrivacyClaim.of_curve(GaussianCurve(1.0), Relation.ADD_REMOVE)
    assert trials_to_notice(curve, 1.2, 1e-3) < trials_to_notice(curve, 1.1, 1e-3)


@pytest.mark.parametrize(
    ("given", "words"),
    [({}, "one of epsilon=, mu= and rho="), ({"epsilon": 1, "mu": 1}, "one of epsilon"),
     ({"epsilon": 1}, "notice= or trials="),
     ({"epsilon": 1, "notice": 2, "trials": 9}, "one of the"),
     ({"epsilon": 1, "notice": 1.0}, "above 1"), ({"epsilon": 0, "notice": 2}, "positive"),
     ({"epsilon": 1, "notice": 2, "alpha": 0}, "alpha must"),
     ({"epsilon": 1, "notice": 2, "event_probability": 1}, "event must"),
     ({"mu": 1, "delta": 0.1, "notice": 2}, "delta goes with"),
     ({"epsilon": 1, "notice": 2, "power": 0.1}, "power must")],
)  # fmt: skip
def test_a_plan_that_makes_no_sense_is_told(given, words):
    with pytest.raises(InvalidArgument, match=words):
        plan(**given)
    with pytest.raises(InvalidArgument, match="epsilon 0"):
        trials_to_notice(PrivacyClaim(epsilon=0.0, relation=Relation.ADD_REMOVE), 1.2, 1e-3)


def leaking(database, rng):
    """Randomised response of ln 3 where 1 is claimed: 1.0986 times as much."""
    return bool(rng.random() < (0.75 if database else 0.25))


@pytest.mark.quality
def test_an_audit_notices_what_was_planned_nine_times_in_ten():
    import dpwitness

    notice = log(3) / 0.9
    refuted = sum(
        dpwitness.audit(
            leaking, epsilon=0.9, relation="declared", pair=([], [1]), notice=notice, seed=seed,
            precision=None,
        ).refuted
        for seed in range(40)
    )  # fmt: skip
    # 36 of 40 are due; fewer than 29 come with probability below .001.
    assert refuted >= 29


@pytest.mark.long
@pytest.mark.parametrize(("delta", "times"), [(0.0, 1.2), (1e-3, 1.5)])
def test_a_steep_null_is_planned_as_the_exact_sums_say(monkeypatch, delta, times):
    """Never fewer draws, and at most a hundredth more; without the shortcut 2 CPU s each."""
    rates = 0.5, (0.5 - delta) * exp(-10 * times)
    quick = draws_needed(rates, (10.0, delta), level=5e-4, power=0.9)
    monkeypatch.setattr(planning, "STEEP", 99.0)
    whole = draws_needed(rates, (10.0, delta), level=5e-4, power=0.9)
    assert whole <= quick <= 1.01 * whole


@pytest.mark.long
def test_a_plan_of_a_huge_epsilon_is_made_at_once():
    rates = 0.5, 0.5 * exp(-24)
    assert 5e9 < draws_needed(rates, (20.0, 0.0), level=5e-4, power=0.9) < 1e11
    assert draws_needed((0.5, 0.5 * exp(-72)), (60.0, 0.0), level=5e-4, power=0.9) == inf
