"""Told to end at any instant, a command ends soon, with 130 or 143, and leaves no process behind.

Every process that a command starts inherits a mark in its environment, by which the processes that
are left are found. The instants come from a fixed seed; what runs at one of them differs from
machine to machine, and the law holds at all of them.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path

import pytest

INSTANTS = int(os.environ.get("DPWITNESS_INSTANTS", "4"))
"""How many instants each command is tried at; 30 is a thorough run."""

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="processes are found by Linux's /proc"
)

MECHANISMS = """
import time
import numpy as np

def slow(database, rng):
    time.sleep(0.01)
    return sum(database) + rng.laplace()

def counted(database, rng):
    with open("calls", "ab") as calls:
        calls.write(b".")
    return slow(database, rng)

def deaf(database, rng):
    while True:
        try:
            time.sleep(1000)
        except BaseException:
            pass
"""
SETTINGS = """
[[gate]]
target = "m.py:slow"
epsilon = 1.0
pair = ["[]", "[1]"]
"""
CLAIM = ["--epsilon", "1", "--pair", "[]", "[1]"]
COMMANDS = {
    "audit": ["audit", "m.py:slow", *CLAIM],
    "workers": ["audit", "m.py:slow", *CLAIM, "--workers", "2"],
    "isolate": ["audit", "m.py:slow", *CLAIM, "--isolate"],
    "deaf": ["audit", "m.py:deaf", *CLAIM, "--timeout", "100"],
    "deaf child": ["audit", "m.py:deaf", *CLAIM, "--timeout", "100", "--isolate"],
    "gate": ["gate", "--workers", "2"],
    "reproduce": ["reproduce", "--seed", "3"],
}


def left(mark):
    """Processes with the mark in their environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (place / "environ").read_bytes():
                if (place / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                    found.append((place.name, (place / "cmdline").read_bytes()))
        except OSError:
            continue
    return found


TESTS = """
import m

CLAIM = {"epsilon": 1.0, "pair": ([], [1]), "relation": "add-remove"}

def test_slow(dp_audit):
    dp_audit(m.slow, trials=2000, **CLAIM)

def test_deaf(dp_audit):
    dp_audit(m.deaf, timeout=100, **CLAIM)
"""


def told(
    folder, words, number, after, module="dpwitness", sent_to=lambda process: process, calls=0
):
    """(status, what was said, what is left, seconds it took to end).

    The signal comes `after` so many seconds, and after so many `calls` of `counted`.
    """
    (folder / "m.py").write_text(MECHANISMS)
    (folder / "dpwitness.toml").write_text(SETTINGS)
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    mark = f"DPWITNESS_MARK={uuid.uuid4().hex}"
    name, _, value = mark.partition("=")
    command = subprocess.Popen(
        [sys.executable, "-m", module, *words],
        cwd=folder, env={**os.environ, name: value, "TMPDIR": str(temporary)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    while not any(module.encode() in line for _, line in left(mark)):
        time.sleep(0.01)
    time.sleep(0.6 + after)  # Python's own start answers signals in its own way
    while calls and not ((folder / "calls").exists() and (folder / "calls").stat().st_size > calls):
        time.sleep(0.01)
    begun = time.monotonic()
    os.kill(sent_to(command.pid), number)
    _, said = command.communicate(timeout=60)
    seconds = time.monotonic() - begun
    for _ in range(100):
        if not left(mark):
            break
        time.sleep(0.05)
    return command.returncode, said, left(mark), seconds


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_is_told_to_end_leaves_nothing(tmp_path, name):
    chance, failures = random.Random(name), []
    for case in range(INSTANTS):
        number = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)[case % 4]
        after = chance.uniform(0, 5)
        status, said, processes, seconds = told(tmp_path, COMMANDS[name], number, after)
        wanted = 130 if number == signal.SIGINT else 143
        if status != wanted or processes or "Traceback" in said or seconds > 30:
            failures.append((number, after, status, said, processes, seconds))
    print(f"{INSTANTS} signals, {len(failures)} failures")
    assert failures == []


@pytest.mark.long
def test_a_command_that_is_told_to_end_while_it_draws(tmp_path):
    words = ["audit", "m.py:counted", *CLAIM]
    status, said, processes, _ = told(tmp_path, words, signal.SIGTERM, 0.0, calls=300)
    assert (status, processes) == (143, [])
    kept, interrupted = said.splitlines()
    assert kept.endswith("are kept: dpwitness judge draws-of-counted.jsonl")
    assert interrupted.startswith("dpwitness: interrupted")


@pytest.mark.slow
def test_a_command_that_is_stopped_goes_on(tmp_path):
    """As by Ctrl-Z and fg: what CPython then tells of signals that nobody sent is not handed on."""

    def stopped(process):
        os.kill(process, signal.SIGSTOP)
        time.sleep(1.5)
        return process

    words = [*COMMANDS["audit"], "--trials", "200"]
    for after in (0.0, 0.5, 1.0):
        status, said, processes, _ = told(tmp_path, words, signal.SIGCONT, after, sent_to=stopped)
        assert status in (0, 3), said
        assert processes == []
        assert "Traceback" not in said


def keeper_of(process):
    """The process that watches over the work, as soon as there is one: a loaded machine is slow."""
    for _ in range(3000):
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        if children:
            return int(children[0])
        time.sleep(0.01)
    raise AssertionError("no keeper was started within 30 s")


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_is_killed_leaves_nothing(tmp_path, name):
    """Nobody can answer SIGKILL, so that another process has to end the rest."""
    chance, failures = random.Random(f"killed {name}"), []
    for case in range(INSTANTS):
        whom = (lambda process: process, keeper_of)[case % 2]
        after = chance.uniform(0, 5)
        status, said, processes, seconds = told(
            tmp_path, COMMANDS[name], signal.SIGKILL, after, sent_to=whom
        )
        wanted = 4 if whom is keeper_of else -signal.SIGKILL
        folders = list((tmp_path / "temporary").iterdir())
        if status != wanted or processes or folders or seconds > 30:
            failures.append((case, after, status, said, processes, folders, seconds))
    print(f"{INSTANTS} kills, {len(failures)} failures")
    assert failures == []


def test_a_command_that_is_killed_leaves_no_worker(tmp_path):
    status, _, processes, _ = told(tmp_path, COMMANDS["workers"], signal.SIGKILL, 1.5)
    assert (status, processes) == (-signal.SIGKILL, [])
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.slow
def test_a_pytest_run_that_is_killed_leaves_nothing(tmp_path):
    (tmp_path / "test_m.py").write_text(TESTS)
    words = ["-q", "-p", "no:xdist", "-p", "no:cacheprovider", "--dp-workers", "2", "-k", "slow"]
    chance, failures = random.Random("killed pytest"), []
    for _ in range(INSTANTS):
        after = chance.uniform(0, 5)
        status, _, processes, _ = told(
            tmp_path, [*words, "test_m.py"], signal.SIGKILL, after, module="pytest"
        )
        if status != -signal.SIGKILL or processes:
            failures.append((after, status, processes))
    assert failures == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["slow", "deaf"])
def test_a_pytest_run_that_is_told_to_end_leaves_nothing(tmp_path, name):
    """It takes longer than any of the instants, so it is neither a success nor a failed test."""
    (tmp_path / "test_m.py").write_text(TESTS)
    words = ["-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-k", name, "test_m.py"]
    chance, failures = random.Random(name), []
    for case in range(INSTANTS):
        number = (signal.SIGTERM, signal.SIGINT)[case % 2]
        after = chance.uniform(0, 8)
        status, said, processes, seconds = told(tmp_path, words, number, after, module="pytest")
        wanted = {2, 4, 130} if number == signal.SIGINT else {143, -signal.SIGTERM}
        if status not in wanted or processes or seconds > 30:
            failures.append((number, after, status, said, processes, seconds))
    print(f"{INSTANTS} signals, {len(failures)} failures")
    assert failures == []


# Any process of a run, at any moment of it. -----------------------------------------------------

STEADY = """
def steady(database, rng):
    return sum(database) + rng.laplace()

def narrow(database, rng):
    return sum(database) + rng.laplace(scale=0.5)
"""
ENTRIES = """
[[gate]]
target = "m.py:steady"
epsilon = 1.0
pair = ["[]", "[1]"]
trials = 40000

[[gate]]
target = "m.py:narrow"
epsilon = 1.0
pair = ["[]", "[1]"]
trials = 40000
"""
STEADILY = ["m.py:steady", *CLAIM, "--trials", "100000", "--seed", "5", "--quiet"]
SHARD = ["audit", *STEADILY, "--workers", "2", "--shard"]
RUNS = {
    "audit": [["audit", *STEADILY, "--checkpoint", "kept", "--json", "out.json"]],
    "gate": [["gate", "--workers", "2", "--json", "out.json"]],
    "reproduce": [["reproduce", "EM-3.12", "PMW-ACC*", "--trials", "20000", "--workers", "2",
                   "--json", "out.json"]],
    "shards": [
        [*SHARD, "1/2", "--checkpoint", "kept", "--json", "one.json"],
        [*SHARD, "2/2", "--json", "two.json"],
        ["tools", "merge", "one.json", "two.json", "--target", "m.py:steady", "--json", "out.json"],
    ],
}  # fmt: skip
STATUS = {"audit": 0, "gate": 1, "reproduce": 0, "shards": 0}


def of_the_run(found):
    """What a run found, without how long it took and what stood in the history before it."""
    if isinstance(found, dict):
        return {
            key: of_the_run(value) for key, value in found.items()
            if key not in {"seconds", "changes"}
        }  # fmt: skip
    return [of_the_run(one) for one in found] if isinstance(found, list) else found


def found_in(folder, name="out.json"):
    return of_the_run(json.loads((folder / name).read_text("utf-8")))


def begun(folder, words):
    """A command, with the mark by which its processes are found."""
    mark = uuid.uuid4().hex
    environment = {**os.environ, "DPWITNESS_MARK": mark, "TMPDIR": str(folder / "temporary")}
    command = subprocess.Popen(
        [sys.executable, "-m", "dpwitness", *words], cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    return command, f"DPWITNESS_MARK={mark}"


def nights(folder):
    """Audits that the history holds, all in order; 0 if there is no history yet."""
    if not (folder / ".dpwitness" / "history.db").exists():
        return 0
    command, _ = begun(folder, ["history", "-o", "nights.json"])
    said, errors = command.communicate(timeout=60)
    assert command.returncode == 0, errors
    assert "history intact" in said
    return len(json.loads((folder / "nights.json").read_text("utf-8"))["audits"])


def ended(folder, words, wanted):
    """Seconds that the command takes if nobody disturbs it."""
    started = time.monotonic()
    command, mark = begun(folder, words)
    _, errors = command.communicate(timeout=300)
    assert command.returncode == wanted, errors
    assert left(mark) == []
    return time.monotonic() - started


def killed(folder, words, after, chance):
    """(status, whether it was the command itself, what was said) of a run that loses a process."""
    command, mark = begun(folder, words)
    with suppress(subprocess.TimeoutExpired):
        command.wait(after)
    whom, name = chance.choice(left(mark) or [(command.pid, b"")])
    with suppress(ProcessLookupError):
        os.kill(int(whom), signal.SIGKILL)
    _, said = command.communicate(timeout=300)
    for _ in range(100):
        if not left(mark):
            break
        time.sleep(0.05)
    assert left(mark) == []
    # Of its own death the process by which joblib clears up makes a traceback of its own.
    assert "Traceback" not in said or b"resource_tracker" in name, said
    return command.returncode, int(whom) == command.pid, said


def told_truly(found, alone):
    """Whether what a run wrote is what it finds undisturbed, but for entries that say they failed.

    A gate goes on if one of its audits has no verdict, and its status is 1 if another refutes.
    """
    if "gate" not in alone:
        return found == alone
    verdicts = {one["mechanism"]: one for one in alone["results"]}
    known = {one["entry"]: one for one in alone["gate"]["entries"]}
    return all(one == verdicts[one["mechanism"]] for one in found["results"]) and all(
        one == known[one["entry"]] or one["verdict"] == "failed" for one in found["gate"]["entries"]
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_a_run_that_loses_any_process_loses_nothing_else(tmp_path, name):
    """Killed is any process of the run: what is told is true, and the same command finishes it."""
    (tmp_path / "m.py").write_text(STEADY)
    (tmp_path / "dpwitness.toml").write_text(ENTRIES)
    (tmp_path / "temporary").mkdir()
    (tmp_path / ".dpwitness").mkdir()
    steps, chance = RUNS[name], random.Random(f"any of {name}")
    took = [ended(tmp_path, words, STATUS[name]) for words in steps]
    alone, known, seen = found_in(tmp_path), nights(tmp_path), []
    for _ in range(INSTANTS):
        place = chance.choices(range(len(steps)), took)[0]
        result = tmp_path / steps[place][-1]
        for made in (result, tmp_path / "out.json", tmp_path / "kept"):
            made.unlink(missing_ok=True)
        status, itself, said = killed(
            tmp_path, steps[place], chance.uniform(0, took[place]), chance
        )
        seen.append(status)
        assert status in {-signal.SIGKILL if itself else 4, STATUS[name]}, said
        assert status != STATUS[name] or result.exists()
        if (tmp_path / "out.json").exists():
            found = found_in(tmp_path)
            assert told_truly(found, alone), json.dumps(found)[:3000] + said
        assert list((tmp_path / "temporary").iterdir()) == []
        for words in steps[place:]:
            ended(tmp_path, words, STATUS[name])
        assert found_in(tmp_path) == alone
        before, known = known, nights(tmp_path)
        assert known >= before + (len(alone["results"]) if name == "gate" else 0)
    print(name, seen)
