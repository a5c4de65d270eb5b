"""Limits of the system that code of others lowered: named, and put back where they can be."""

import os
import signal

import pytest

from dpwitness import audit
from dpwitness.reports.shell.process_state import NAMES, limits, limits_of, lowered, restore

resource = pytest.importorskip("resource")

PLAIN = {number: (100, 200) for number in NAMES}


@pytest.mark.parametrize("name", NAMES.values())
def test_what_is_lower_is_named_and_nothing_else(name):
    number = getattr(resource, name)
    no = resource.RLIM_INFINITY
    for old, new, low in [
        ((100, 200), (99, 200), True), ((100, 200), (100, 199), True), ((no, no), (5, no), True),
        ((no, no), (no, 7), True), ((100, 200), (100, 200), False), ((100, 200), (200, 200), False),
        ((100, 200), (no, no), False), ((100, 200), (101, no), False),
    ]:  # fmt: skip
        before, after = {**PLAIN, number: old}, {**PLAIN, number: new}
        assert lowered(before, after) == [name] * low


def test_a_process_that_is_not_known_has_lowered_nothing():
    assert lowered(limits(), limits_of(2**30)) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_soft_limit_is_put_back_and_a_dead_process_still_has_its_own():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    child = os.fork()
    if child == 0:
        before = limits()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))
        good = restore(before) == (["RLIMIT_NOFILE"], []) and limits() == before
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 2, hard))
        os._exit(0 if good else 1)
    found = os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    low = lowered(limits(), limits_of(child))
    os.waitpid(child, 0)
    assert (found.si_code, found.si_status) == (os.CLD_EXITED, 0), signal.strsignal(found.si_status)
    assert low == ["RLIMIT_NOFILE"] * hasattr(resource, "prlimit")


def limits_quietly(database, rng):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))
    return rng.laplace() + sum(database)


def test_a_limit_that_a_mechanism_lowers_is_that_of_its_own_process():
    before = limits()
    audit(limits_quietly, epsilon=1.0, pair=([], [1]), relation="add-remove", trials=200)
    assert limits() == before
