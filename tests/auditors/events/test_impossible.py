"""A rare value that one side never gives is proposed, whatever form the output has."""

from itertools import cycle

import numpy as np
import pytest
from scipy.stats import binom

from dpwitness.auditors.choosing.choose import Lesson
from dpwitness.auditors.events.learners.one_column import FEWEST, Noticing
from dpwitness.auditors.outputs.outputs import Outputs

N, SEEN = 20_000, 40
"""Draws a side, and how many of one side hold the value: on average 4 in those that fix bins."""


def vector(rng, size, rows, *, width, place, value):
    made = rng.laplace(size=(size, width))
    made[rows, place] = value() if callable(value) else value
    return Outputs.of(made, size)


def text(rng, size, rows):
    words = np.array([f"word {n}" for n in range(100)])
    made = words[rng.integers(0, 100, size)]
    made[rows] = "zero"
    return Outputs.of_list(made.tolist())


def pair(rng, size, rows):
    made = [
        (int(n), float(x))
        for n, x in zip(rng.integers(0, 9, size), rng.laplace(size=size), strict=True)
    ]
    for row in rows:
        made[row] = (made[row][0], None)
    return Outputs.of_list(made)


def record(rng, size, rows):
    made = [{"x": float(x)} for x in rng.laplace(size=size)]
    for row in rows:
        made[row]["leak"] = float(rng.random())
    return Outputs.of_list(made)


FORMS = {
    "far away, first of ten": lambda *a: vector(*a, width=10, place=0, value=1000.0),
    "below all, last of ten": lambda *a: vector(*a, width=10, place=9, value=-1000.0),
    "amid the others": lambda *a: vector(*a, width=10, place=4, value=0.0),
    "minus zero": lambda *a: vector(*a, width=3, place=1, value=-0.0),
    "infinite": lambda *a: vector(*a, width=3, place=1, value=np.inf),
    "not a number": lambda *a: vector(*a, width=3, place=1, value=np.nan),
    "a cloud far away": lambda *a: vector(
        *a, width=10, place=5, value=lambda: 500 + a[0].normal(size=len(a[2]))
    ),
    "one of forty": lambda *a: vector(*a, width=40, place=20, value=3.0),
    "alone": lambda *a: vector(*a, width=1, place=0, value=0.5),
    "text": text,
    "None in a tuple": pair,
    "a key of its own": record,
}


@pytest.mark.parametrize(("form", "turned"), list(zip(FORMS, cycle((False, True)))))
def test_a_rare_impossible_value_is_chosen(form, turned):
    # A fixed seed: with 40 hits each fold has fewer than 7 with probability below 1e-6.
    rng = np.random.default_rng(8)
    rows = rng.choice(N, SEEN, replace=False)
    leaky, plain = FORMS[form](rng, N, rows), FORMS[form](rng, N, [])
    sides = (plain, leaky) if turned else (leaky, plain)
    lesson = Lesson()
    lesson.add(*sides)
    choice = lesson.choice(epsilon=1.0, delta=0.0, trials=N, level=0.01)
    assert choice.reversed == turned
    inside = choice.event.contains(leaky)
    assert inside[rows].mean() > 0.9
    assert choice.event.contains(plain).sum() == 0
    assert inside.sum() <= SEEN + 5


@pytest.mark.parametrize(("seen", "named"), [(16, False), (60, True)])
def test_a_value_is_called_impossible_if_its_absence_is_no_luck(seen, named):
    """Everything loses 1, so of 16 hits only 6 were due on the other side, and of 60 some 22.

    A fixed seed. The least that `noticing` tells of is 9 e times the bound foreseen, in hits.
    """
    rng = np.random.default_rng(11)
    first, second = rng.laplace(size=N), 1 + rng.laplace(size=N)
    first[rng.choice(N, seen, replace=False)] = 50.0
    lesson = Lesson()
    lesson.add(Outputs.of(first, N), Outputs.of(second, N))
    choice = lesson.choice(epsilon=1.0, delta=0.0, trials=N, level=0.01)
    values = Outputs.of(np.array([50.0, -3.0]), 2)
    assert (max(choice.rates) < 0.01) == named
    # By symmetry "output >= 1" is as good as "output <= 0", and likelier on the other side.
    first = named or choice.reversed
    assert choice.event.contains(values).tolist() == [first, not first]
    assert not (named and choice.reversed)
    if not named:
        least = lesson.noticing(trials=N, delta=0.0, level=0.01).least
        assert 9 * np.exp(0.9) < least <= 9 * np.e + 1


@pytest.mark.parametrize("draws", [2, 21, 200])
@pytest.mark.parametrize("least", [0, 3, FEWEST, 9, 40])
def test_the_chance_of_being_noticed_is_that_over_all_hits_of_both_folds(draws, least):
    one, two = np.arange((draws + 1) // 2 + 1), np.arange(draws // 2 + 1)
    counted = two * (one >= FEWEST)[:, None] + one[:, None] * (two >= FEWEST)
    for p in (1e-3, 0.05, 0.3, 1.0):
        chances = np.outer(binom.pmf(one, one[-1], p), binom.pmf(two, two[-1], p))
        found = Noticing(draws, least).chance(p)
        assert found == pytest.approx(chances[counted >= max(least, 1)].sum(), abs=1e-12)


def test_a_cheap_question_about_many_hits():
    # The table of all pairs of hits would take terabytes.
    assert Noticing(2_000_000, 900_000).chance(0.5) == pytest.approx(1.0)
