"""What counts as silence: the clock, less what the system kept the process waiting."""

import os
import signal
import subprocess
import sys
import time

import pytest

from dpwitness.auditors import silence
from dpwitness.auditors.silence import Silence, waited


@pytest.fixture
def told(monkeypatch):
    """A clock, and how long a process has waited; both stand until they are moved."""
    now = {"clock": 0.0, "waited": 7.0}
    monkeypatch.setattr(silence.time, "monotonic", lambda: now["clock"])
    monkeypatch.setattr(silence, "waited", lambda pid: now["waited"])
    return now


def until_it_hangs(told, share, limit=10.0):
    """Seconds by the clock, if the process waits for its processor that share of the time."""
    one = Silence(1, limit)
    while left := one.left():
        told["clock"] += left
        told["waited"] += share * left
    return told["clock"]


@pytest.mark.parametrize("share", [0.0, 0.5, 0.95])
def test_a_process_hangs_after_its_limit_of_its_own_time(told, share):
    # What it waits in the first tenth of a second is not looked at.
    wanted = (10 - 0.1 * share) / (1 - share)
    # Less than LEAST of its own time is none, and it comes to more by the clock.
    assert until_it_hangs(told, share) == pytest.approx(wanted, abs=0.01 / (1 - share) + 1e-9)


def test_a_word_begins_the_silence_anew(told):
    one = Silence(1, 10.0)
    told["clock"] += 9.0
    assert one.left() == pytest.approx(1.0)
    one.broken()
    told["clock"] += 9.0
    assert one.left() == pytest.approx(1.0)
    told["clock"] += 1.0
    assert one.left() == 0.0


def test_who_is_stopped_waits_for_no_processor():
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as child:
        try:
            os.kill(child.pid, signal.SIGSTOP)
            os.waitpid(child.pid, os.WUNTRACED)  # it has stopped
            before = waited(child.pid)
            time.sleep(0.5)
            assert waited(child.pid) == before
        finally:
            child.kill()


def test_a_process_that_is_gone_or_never_was_is_not_kept_waiting():
    assert waited(2**30) == 0.0


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="one processor cannot be chosen")
@pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="the system does not say")
def test_of_two_who_share_a_processor_both_are_kept_waiting():
    busy = """import os, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
print(flush=True)
input()
while time.process_time() < 0.5: pass
print(flush=True)
input()"""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    children = [subprocess.Popen([sys.executable, "-c", busy], **pipes) for _ in range(2)]
    for child in children:
        child.stdout.readline()
    for child in children:
        child.stdin.write(b"\n")
        child.stdin.flush()
    for child in children:
        child.stdout.readline()
    # Both began within milliseconds, and who ends last waited while the other used its part.
    assert max(waited(child.pid) for child in children) > 0.1
    for child in children:
        child.communicate(b"\n")
