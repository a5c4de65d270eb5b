"""Workers are copies of this process that end with it, and this process never calls a mechanism."""

import os
import signal
import subprocess
import sys
import time

import pytest

from dpwitness import ContractError, MechanismHangs
from dpwitness.auditors.errors import DpWitnessError, InvalidArgument
from dpwitness.auditors.remote.mechanism import RemoteFailure
from dpwitness.auditors.shards.shard import Contradiction
from dpwitness.auditors.workers import Door
from dpwitness.auditors.workers.children import aside

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def where(database, rng):
    return os.getpid()


def sized(worker, databases, size):
    return worker.run([0] * size, None)


def asked(worker, databases, *more):
    return [worker.run(database, None) for database in databases]


def test_the_mechanism_runs_in_a_process_of_its_own_and_a_fresh_one_in_another():
    door = Door(where)
    (one,), (two,) = door.ask(asked, [[]]), door.ask(asked, [[]])
    (fresh,) = door.fresh(asked, [[]])
    assert one == two
    assert len({one, fresh, os.getpid()}) == 3


def test_what_was_patched_here_is_patched_there(monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "where", lambda database, rng: "patched")
    assert Door(lambda database, rng: where(database, rng)).ask(asked, [[]]) == ["patched"]


def test_nothing_that_a_mechanism_holds_has_to_travel():
    import threading

    lock = threading.Lock()

    def run(database, rng):
        with lock:
            return len(database)

    assert Door(run).ask(asked, [[1, 2], []]) == [2, 0]


def test_each_job_is_answered_once_by_any_number_of_workers():
    def run(database, rng):
        return len(database)

    for workers in (1, 2, 3):
        found = list(Door(run, workers=workers).each(_echo, [[]], [(n,) for n in range(20)]))
        assert sorted(found) == [(n, n) for n in range(20)]


def _echo(worker, databases, number):
    return number


def test_a_large_database_travels_once(monkeypatch):
    sent = []
    request = Door._request

    def weighed(self, *arguments):
        data = request(self, *arguments)
        sent.append(len(data))
        return data

    monkeypatch.setattr(Door, "_request", weighed)
    large, door = list(range(200_000)), Door(lambda database, rng: len(database))
    for _ in range(3):
        assert door.ask(asked, [large]) == [200_000]
    assert sent[0] > 200_000 > 1000 > sent[1] == sent[2]


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        (lambda: os._exit(3), "it ended with status 3"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "it was killed by SIGKILL"),
        (lambda: os.abort(), "it was killed by SIGABRT"),
    ],
)
def test_how_a_process_ended_is_told(ends, words):
    door = Door(lambda database, rng: ends())
    with pytest.raises(ContractError, match=words):
        door.ask(asked, [[]])


@pytest.mark.parametrize("workers", [1, 2])
def test_a_job_that_ends_its_process_is_asked_once_more_and_others_are_finished(tmp_path, workers):
    """What ends it twice is the mechanism; the system may have killed any of them once."""
    place = tmp_path / "calls"

    def once(database, rng):
        with place.open("a") as file:
            file.write(f"{len(database)}\n")
        if place.read_text().split().count(f"{len(database)}") < 2 or len(database) == 7:
            os._exit(3)
        return len(database)

    door = Door(once, workers=workers)
    assert sorted(answer for _, answer in door.each(sized, [], [(size,) for size in range(5)])) == [
        *range(5)
    ]
    with pytest.raises(ContractError, match="it ended with status 3"):
        list(door.each(sized, [], [(7,)]))
    assert place.read_text().split().count("7") == 2


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process say so")
def test_if_memory_runs_out_the_mechanism_goes_first():
    def said(database, rng):
        with open("/proc/self/oom_score_adj") as file:
            return int(file.read())

    assert Door(said).ask(asked, [[]]) == [1000]


def test_a_call_that_does_not_come_back_is_ended():
    def loops(database, rng):
        while True:
            try:
                time.sleep(60)
            except BaseException:  # noqa: BLE001 - the offence
                continue

    began = time.monotonic()
    with pytest.raises(MechanismHangs):
        Door(loops, limit=0.2).ask(asked, [[]])
    assert time.monotonic() - began < 30


def test_calls_that_take_time_together_are_none_that_hang():

    assert Door(lambda database, rng: time.sleep(0.1), limit=0.6).ask(_beating, [[]])


def _beating(worker, databases):
    for _ in range(8):
        worker.beat()
        worker.run(databases[0], None)
    return True


class Evil:
    def __reduce__(self):
        return os.system, ("true",)


def _evil(worker, databases):
    return Evil()


def test_an_answer_names_no_code():
    with pytest.raises(ContractError, match="wrote what is no answer"):
        Door(where).ask(_evil, [[]])


def _raising(worker, databases, kind):
    raise kind("these words")


class Unheard(RemoteFailure):
    """A class made where the mechanism runs: no answer can name it."""


@pytest.mark.parametrize("kind", [InvalidArgument, MechanismHangs, Contradiction, RemoteFailure,
                                  Unheard, KeyError])  # fmt: skip
def test_whatever_a_worker_raises_arrives_with_its_words(kind):
    with pytest.raises(DpWitnessError, match="these words") as caught:
        Door(where).ask(_raising, [[]], kind)
    assert "no answer" not in str(caught.value)


def test_a_copy_that_the_mechanism_forked_does_not_go_on_as_a_worker():
    def forks(database, rng):
        os.fork()
        return len(database)

    door = Door(forks)
    for _ in range(3):
        assert door.ask(asked, [[1]]) == [1]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda: 1 / 0, "failed with ZeroDivisionError: division by zero"),
        (lambda: lambda: 1, "a worker failed with .*pickle"),
        (object, "what a worker answered cannot be read: builtins.object"),
        (lambda: os._exit(3), "ended the process it ran in: it ended with status 3"),
        (lambda: os._exit(0), "ended the process it ran in: it ended with status 0"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "ended the process it ran in: .*SIGKILL"),
    ],
)
def test_a_copy_of_a_process_tells_the_reason_for_which_it_failed(function, said):
    assert aside(lambda: (1, "one")) == (1, "one")
    with pytest.raises(ContractError, match=said):
        aside(function)


ORPHANS = """
import os, sys, time
from dpwitness.auditors.workers import Door

def loops(database, rng):
    print(os.getpid(), flush=True)
    while True:
        pass

def asked(worker, databases):
    return worker.run(databases[0], None)

Door(loops, limit=60, show_output=True).ask(asked, [[]])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the system tells a child of its parent's end")
def test_a_worker_ends_with_the_process_that_started_it():
    parent = subprocess.Popen([sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE, text=True)
    with parent:
        child = int(parent.stdout.readline())
        parent.kill()
    for _ in range(200):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            break
        time.sleep(0.05)
    else:
        os.kill(child, signal.SIGKILL)
        pytest.fail("the worker went on")
