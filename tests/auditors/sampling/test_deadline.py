"""The deadline that a watching process reads is that of the running call, and of this process."""

import os
import struct

import pytest

from dpwitness.auditors.remote.process import _rearm
from dpwitness.auditors.sampling import deadline
from dpwitness.auditors.sampling.contract import Watch


@pytest.fixture
def page(monkeypatch):
    monkeypatch.setattr(deadline, "_SHARED", [])
    page = memoryview(bytearray(8))
    deadline.deadline_in(page)
    return page


def read(page):
    return struct.unpack("d", page)[0]


def test_an_answer_of_a_child_moves_the_deadline_of_its_call(page):
    """A call of thousands of draws takes many requests, each with a limit of its own."""
    with Watch(50.0).running():
        first = read(page)
        for _ in range(3):
            _rearm(60.0)
            assert read(page) > first
            first = read(page)
    assert read(page) == 0


def test_without_a_call_no_answer_sets_a_deadline(page):
    _rearm(60.0)
    assert read(page) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="copies of a process are made by fork")
def test_a_copy_of_the_process_leaves_the_deadline_alone(page):
    deadline.due(5.0)
    before = read(page)
    child = os.fork()
    if child == 0:
        os._exit(len(deadline._SHARED))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert read(page) == before
