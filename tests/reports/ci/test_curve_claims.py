"""The fixture and claims of whole curves."""

import pytest

TESTS = """
def narrow(database, rng, *, size=None):
    return sum(database) + rng.normal(scale=0.6, size=size)


def right(database, rng, *, size=None):
    return sum(database) + rng.normal(scale=1.0, size=size)


def test_narrow(dp_audit):
    dp_audit(narrow, mu=1.0, relation="add-remove", pair=([], [1]), trials=8000)


def test_right(dp_audit):
    dp_audit(right, rho=0.5, relation="add-remove", pair=([], [1]), trials=8000)
"""


@pytest.mark.long
def test_a_curve_is_refuted_and_its_witness_counted_again(project):
    project.makepyfile(test_it=TESTS)
    for _ in range(2):  # the second time the kept witness comes first, at a point of its own
        ran = project.run_here()
        ran.assert_outcomes(passed=1, failed=1)
        ran.stdout.fnmatch_lines(["*does not keep mu 1 *"])
