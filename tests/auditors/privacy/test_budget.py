"""What an audit may spend is counted in one place, and never exceeded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpwitness.auditors.asked import Budget
from dpwitness.auditors.errors import InvalidArgument
from dpwitness.auditors.privacy.planning import Errors
from dpwitness.auditors.privacy.run import Allowance
from dpwitness.auditors.sampling.sampling import Tally


@given(st.lists(st.floats(0, 2, exclude_min=True)))
def test_no_more_error_probability_is_given_away_than_there_is(wishes):
    errors, given_away = Errors(0.05), 0.0
    for wish in wishes:
        amount = wish * errors.left
        if 0 < amount <= errors.left:
            given_away += errors.take(amount)
        else:
            with pytest.raises(ValueError, match="cannot spend"):
                errors.take(amount)
    assert given_away <= 0.05 * (1 + 1e-9)


def test_an_allowance_counts_every_draw_since_it_was_given():
    tally = Tally()
    tally.add(100)
    allowance = Allowance(tally, 50)
    assert (allowance.left, allowance.pays(25), allowance.pays(26)) == (50, True, False)
    tally.add(30)
    assert (allowance.left, allowance.pays(10), allowance.pays(11)) == (20, True, False)
    tally.add(30)
    assert (allowance.left, allowance.pays(1)) == (0, False)


def test_the_parts_of_the_draws_are_four_times_the_trials_a_side():
    budget = Budget(trials=1000)
    assert budget.searching + budget.deciding + budget.shrinking == 2 * 4 * 1000


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"precision": -0.1}, "precision must be"),
        ({"precision": 1.0}, "precision must be"),
        ({"precision": float("nan")}, "precision must be"),
        ({"trials": 1}, "trials must be"),
        ({"alpha": 0.5}, "alpha must be"),
        ({"seed": -1}, "seed must be"),
        ({"seconds": 0}, "seconds must be"),
    ],
)
def test_a_budget_out_of_range_is_refused_with_a_sentence(options, sentence):
    with pytest.raises(InvalidArgument, match=sentence):
        Budget(**options)
