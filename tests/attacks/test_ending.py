"""However a mechanism ends, the status is 4 and a sentence; never "refuted", never "finished"."""

import signal
import subprocess
import sys
import time

import pytest

MECHANISMS = """
import atexit, ctypes, itertools, os, signal, sys, threading, time

PARENTS = []

def leaves(database, rng):
    os._exit(0)

def leaves_with_one(database, rng):
    os._exit(1)

def crashes(database, rng):
    ctypes.string_at(0)

def kills(database, rng):
    os.kill(os.getpid(), signal.SIGKILL)

def told_to_end(database, rng):
    os.kill(os.getpid(), signal.SIGUSR1)

def terminates(database, rng):
    os.kill(os.getpid(), signal.SIGTERM)
    return rng.random()

def interrupts(database, rng):
    os.kill(os.getpid(), signal.SIGINT)
    return rng.random()

def hooks(database, rng):
    atexit.register(os._exit, 7)
    return int(rng.random() < 0.5)

def leaves_below(database, rng):
    ctypes.CDLL(None)._exit(0)

def aborts(database, rng):
    ctypes.CDLL(None).abort()

def leaves_at_last(database, rng):
    library = ctypes.CDLL(None)
    library.__cxa_atexit(library._exit, 0, None)
    raise ValueError

def closes(database, rng):
    try:
        os.close(1)
    except OSError:
        pass
    return rng.random()

def closes_python(database, rng):
    sys.__stdout__.close()
    return rng.random()

def ignores_alarms(database, rng):
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    while True:
        pass

def swallows(database, rng):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass

def sleeps(database, rng):
    time.sleep(1000)

class Endless(list):
    def __iter__(self):
        return itertools.count()

def endless(database, rng):
    return Endless([1])

def holds_itself(database, rng):
    found = []
    found.append(found)
    return found

def nested(database, rng):
    found = []
    for _ in range(5000):
        found = [found]
    return found

def patches(database, rng):
    import numpy
    numpy.count_nonzero = lambda *given, **more: 0
    return sum(database) + rng.laplace()

class Bad(Exception):
    def __str__(self):
        raise ValueError("no words")
    __repr__ = __str__

def raises_bad(database, rng):
    raise Bad

def raises_base(database, rng):
    raise BaseException("out")

def raises_exit(database, rng):
    raise SystemExit(0)

class Wordless:
    def __init__(self, value):
        self.value = value
    def __repr__(self):
        raise ValueError("no words")
    __str__ = __eq__ = __repr__
    __hash__ = None

def wordless(database, rng):
    return Wordless(int(rng.integers(3)))

def long(database, rng):
    return 10**5000 + int(rng.integers(10))

def leaves_a_child(database, rng):
    if not PARENTS:
        PARENTS.append(os.getpid())
        if os.fork() == 0:
            time.sleep(1000)
            os._exit(0)
    return sum(database) + rng.laplace()

def threads(database, rng):
    if threading.active_count() < 3:
        threading.Thread(target=time.sleep, args=(1000,), name="left over").start()
    return sum(database) + rng.laplace()
"""

STOPS = (
    "leaves", "leaves_with_one", "leaves_below", "crashes", "kills", "told_to_end",
    "ignores_alarms", "swallows", "sleeps", "endless", "holds_itself", "nested",
    "patches", "raises_bad", "raises_base", "raises_exit", "terminates", "interrupts",
)  # fmt: skip
GOES_ON = ("hooks", "wordless", "long", "threads", "leaves_a_child", "closes", "closes_python")
"""These give outputs that can be compared: the audit has a verdict, and keeps it. What they do to
their process they do to a worker's, which ends with all that it started."""


def audit(folder, *words):
    (folder / "ends.py").write_text(MECHANISMS)
    claim = ["--epsilon", "1", "--pair", "[]", "[1]", "--timeout", "1", "--trials", "2000"]
    return subprocess.run(
        [sys.executable, "-m", "dpwitness", "audit", *words, *claim],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def told(done):
    assert done.returncode == 4, done
    assert done.stderr.startswith("dpwitness: "), done.stderr
    assert "Traceback" not in done.stderr
    assert "bug in dpwitness" not in done.stderr
    assert "efuted" not in done.stdout


@pytest.mark.long
def test_a_crash_in_native_code(tmp_path):
    done = audit(tmp_path, "ends.py:crashes")
    told(done)
    assert "SIGSEGV" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", STOPS)
def test_an_audit_that_cannot_go_on(tmp_path, name):
    told(audit(tmp_path, f"ends.py:{name}"))


@pytest.mark.slow
@pytest.mark.parametrize("name", GOES_ON)
def test_an_audit_that_goes_on_keeps_its_status(tmp_path, name):
    done = audit(tmp_path, f"ends.py:{name}")
    assert done.returncode == 0, done
    assert done.stdout.startswith(("Not refuted", "Proved"))
    assert done.stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["leaves", "crashes", "kills", "raises_base", "raises_exit", "terminates"]
)
def test_in_a_process_of_its_own(tmp_path, name):
    told(audit(tmp_path, f"ends.py:{name}", "--isolate"))


THEOREM = """
import numpy as np
from ends import {name}
from dpwitness import Mechanism, Subject, Theorem, UtilityClaim

def _subject():
    claim = UtilityClaim(loss=lambda database, output: np.asarray(output),
                         bound=lambda beta: 1.0, databases=([],))
    return Subject(claim=claim, mechanism=Mechanism(name="{name}", run={name}))

ENDS = Theorem(identifier="ENDS", statement="it ends", reference="", subject=_subject)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["crashes", "leaves_below", "kills", "raises_base", "terminates"])
def test_reproduce_says_it(tmp_path, name):
    (tmp_path / "ends.py").write_text(MECHANISMS)
    (tmp_path / "mine.py").write_text(THEOREM.format(name=name))
    told(
        subprocess.run(
            [sys.executable, "-m", "dpwitness", "reproduce", "mine.py:ENDS", "--workers", "1",
             "--trials", "10_000"],
            cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
        )
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ["crashes", "leaves_below", "kills"])
def test_a_worker_that_ends_is_no_verdict(tmp_path, name):
    told(audit(tmp_path, f"ends.py:{name}", "--workers", "2"))


LOST = ("leaves_below", "crashes", "kills", "terminates")
"""These end the process that they run in, past every handler."""
ENDS_ITSELF = ("leaves", "raises_base", "hooks", "leaves_at_last")
TESTS = f"""
import ends, pytest

@pytest.mark.parametrize("name", {(*LOST, "aborts", *ENDS_ITSELF)!r})
def test_one(dp_audit, name):
    dp_audit(getattr(ends, name), epsilon=1.0, pair=([0], [1]), relation="replace-one",
             trials=2000)

def test_another():
    pass
"""


def run_pytest(folder, *words):
    """Of test_ends.py, unless `words` name another file."""
    (folder / "ends.py").write_text(MECHANISMS)
    (folder / "test_ends.py").write_text(TESTS)
    if not any(word.endswith(".py") for word in words):
        words = (*words, "test_ends.py")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *words],
        cwd=folder, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("processes", [("-n", "1"), ("-p", "no:xdist")])
@pytest.mark.parametrize("name", [*LOST, "aborts"])
def test_a_pytest_run_says_it_of_the_test_and_goes_on(tmp_path, name, processes):
    done = run_pytest(tmp_path, *processes, "-k", f"{name}] or another")
    assert done.returncode == 1, done
    assert "1 failed, 1 passed" in done.stdout
    assert "ended the process it ran in" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDS_ITSELF)
def test_what_ends_by_itself_ends_a_test_at_most(tmp_path, name):
    done = run_pytest(tmp_path, "-p", "no:xdist", "-k", f"{name}] or another")
    assert done.returncode == (0 if name == "hooks" else 1), done
    assert ("2 passed" if name == "hooks" else "1 failed, 1 passed") in done.stdout


@pytest.mark.slow
def test_a_project_with_settings_is_watched_while_its_tests_are_loaded(tmp_path):
    (tmp_path / "dpwitness.toml").write_text("trials = 2000\n")
    (tmp_path / "test_loads.py").write_text("import ctypes\nctypes.CDLL(None)._exit(0)\n")
    done = run_pytest(tmp_path, "-p", "no:xdist", "test_loads.py")
    assert done.returncode == 4, done
    assert "with status 0, past every handler, before it told" in done.stderr


INSIDE = """
import ends, pytest, sys
pytest_plugins = "pytester"

def test_run_inside(pytester, dp_audit):
    pytester.makepyfile("def test_it(): assert 0")
    assert pytester.runpytest_inprocess().ret == 1
    ends.leaves_below(None, None)
"""


@pytest.mark.slow
def test_a_run_inside_another_does_not_speak_for_it(tmp_path):
    (tmp_path / "test_inside.py").write_text(INSIDE)
    done = run_pytest(tmp_path, "-p", "no:xdist", "test_inside.py")
    assert done.returncode == 4, done
    assert "while test_inside.py::test_run_inside ran" in done.stderr


@pytest.mark.slow
def test_a_signal_to_pytest_ends_pytest(tmp_path):
    """Whoever sends it meets the process that waits, which hands it on and ends alike."""
    (tmp_path / "test_waits.py").write_text(
        "import time\ndef test_waits(dp_audit):\n    open('begun', 'w')\n    time.sleep(1000)\n"
    )
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
        run = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "test_waits.py"],
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        while not (tmp_path / "begun").exists():
            time.sleep(0.05)
        (tmp_path / "begun").unlink()
        run.send_signal(number)
        run.communicate(timeout=60)  # ends when no process holds the pipe any more
        assert run.returncode == (2 if number == signal.SIGINT else -number)


@pytest.mark.slow
def test_the_gate_says_it_of_each_entry(tmp_path):
    """One entry that ends its process takes no other with it."""
    names = ("crashes", "leaves_below", "kills", "terminates", "hooks")
    (tmp_path / "ends.py").write_text(MECHANISMS)
    (tmp_path / "dpwitness.toml").write_text(
        "".join(
            f'[[gate]]\ntarget = "ends.py:{name}"\nepsilon = 1.0\npair = ["[]", "[1]"]\n'
            "trials = 2000\ntimeout = 1\n"
            for name in names
        )
    )
    done = subprocess.run(
        [sys.executable, "-m", "dpwitness", "gate"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 4, done
    assert "Traceback" not in done.stdout + done.stderr
    for sign in ("SIGSEGV", "SIGKILL", "SIGTERM", "with status 0", "Not refuted"):
        assert sign.lower() in " ".join(done.stdout.lower().split()), done.stdout
