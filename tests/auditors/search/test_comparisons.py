"""What meets a comparison is found although it stands nowhere in the code."""

import pytest

from dpwitness.auditors.search.constants import constants_of, solutions

LIMIT = 1909


def in_a_local(v):
    code = v * v - 3 * v
    return code == 40


def in_a_global(v):
    return LIMIT == 5 * v + 4


def in_a_loop(rows):
    for v in rows:
        code = (v << 2) + 1
        if code == 401:
            return True
    return False


def in_place(v):
    v *= 7
    v += 3
    return v == 171


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (lambda v: 3 * v + 1 == 1909, 636),
        (lambda v: 1909 == 3 * v + 1, 636),
        (lambda v: v % 1000 == 77, 1077),
        (lambda v: v // 100 == 43, 4300),
        (lambda v: -v + 5 == 12, -7),
        (lambda v: (v ^ 255) == 13, 242),
        (lambda v: v / 4 == 10.5, 42),
        (lambda d: sum(d) * 7 > 693, 99),
        (lambda d: len(d) ** 2 >= 300, 18),
        (in_a_local, 8),
        (in_a_global, 381),
        (in_a_loop, 100),
        (in_place, 24),
    ],
)
def test_the_value_that_meets_a_comparison(function, value):
    found = list(solutions(function.__code__, {"LIMIT": LIMIT}))
    assert value in found
    assert value in constants_of(function)


@pytest.mark.parametrize(
    "function",
    [
        lambda v: v == 1909,
        lambda v, w: v + w == 3,
        lambda v: v % 0 == 1,
        lambda v: v**99999999 == 1,
        lambda v: 2.5 & v == 1,
        lambda v: v + "a" == 3,
        lambda v: (1 << 10**6) + v == 3,
    ],
)
def test_what_cannot_be_solved_suggests_nothing(function):
    assert list(solutions(function.__code__, {})) == []
