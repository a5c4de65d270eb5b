"""Which lines ran is told by the names of functions, so that any process may find it out."""

from dpwitness.auditors.search.constants import codes_of
from dpwitness.auditors.search.probe import Lines, lines_of


def helper(value):
    if value > 1:
        return 1
    return 0


def mechanism(database, rng):
    total = helper(len(database))
    if total > 5:
        total = 5
    return total


def first_of(function):
    return function.__code__.co_firstlineno


def test_lines_that_run_are_not_missing_any_more():
    lines = lines_of(codes_of(mechanism))
    with lines.followed():
        mechanism([1, 2], None)
    assert lines.looked
    here, there = first_of(mechanism), first_of(helper)
    assert lines.unreached() == (f"test_lines.py lines {there + 3}, {here + 3}",)


def test_what_another_process_ran_is_taken_over_in_any_order():
    lines = lines_of(codes_of(mechanism))
    elsewhere = Lines({name: set(left) for name, left in reversed(lines.missing.items())})
    with elsewhere.followed():
        mechanism([], None)
    lines.ran((elsewhere.looked, elsewhere.missing))
    here, there = first_of(mechanism), first_of(helper)
    assert lines.unreached() == (f"test_lines.py lines {there + 2}, {here + 3}",)
    with lines.followed():
        mechanism([1, 2], None)
    assert lines.unreached() == (f"test_lines.py line {here + 3}",)


def test_nothing_is_said_of_lines_that_nobody_followed():
    assert lines_of(codes_of(mechanism)).unreached() == ()
