"""Two writers and kill -9 at random instants: nothing acknowledged is lost, nothing is doubled."""

import multiprocessing
import os
import random
import signal
import time

import pytest

from dpwitness.reports.history import recorder
from dpwitness.reports.history.recorder import entries_of
from dpwitness.reports.history.store import add, open_store
from dpwitness.reports.history.verify import verify

KILLS = 100


def write(directory, name, result, after):
    """Record run after run, and say so in a file once each is acknowledged."""
    log = os.open(directory / f"{name}.acknowledged", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    store = open_store(directory)
    for number in range(after, 10**6):
        # What the last life of this writer recorded and could not acknowledge comes once more.
        (entry,) = entries_of(f"{name}-{number}", [result], ["a test"], "1")
        add(store, entry)
        os.write(log, f"{name}-{number}\n".encode())


def append(directory, name, result, after):
    path = recorder.file_of_lines(directory)
    log = os.open(directory / f"{name}.acknowledged", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in range(after, 10**6):
        (entry,) = entries_of(f"{name}-{number}", [result], ["a test"], "1")
        recorder.append_line(path, entry)
        os.write(log, f"{name}-{number}\n".encode())


def acknowledged(directory, name):
    path = directory / f"{name}.acknowledged"
    return path.read_text().split() if path.exists() else []


def kill_again_and_again(work, directory, result, kills, seed):
    """Two processes at `work`; one of them is killed and started again, `kills` times."""
    fork = multiprocessing.get_context("fork")
    chance = random.Random(seed)

    def begin(name):
        after = len(acknowledged(directory, name))
        process = fork.Process(target=work, args=(directory, name, result, after), daemon=True)
        process.start()
        return process

    alive = {name: begin(name) for name in ("one", "two")}
    for _ in range(kills):
        time.sleep(chance.uniform(0, 0.06))
        name = chance.choice(("one", "two"))
        assert alive[name].is_alive()
        os.kill(alive[name].pid, signal.SIGKILL)
        alive[name].join()
        alive[name] = begin(name)
    time.sleep(0.3)
    for process in alive.values():
        os.kill(process.pid, signal.SIGKILL)
        process.join()


def require_whole(store, directory, rows_each):
    assert verify(store) == ""
    found = store.connection.execute("SELECT run FROM audits").fetchall()
    runs = {run for (run,) in found}
    assert len(runs) == len(found)
    for name in ("one", "two"):
        told = acknowledged(directory, name)
        own = [run for run in runs if run.startswith(name)]
        assert set(told) <= runs
        assert len(told) == len(set(told)) > 10
        # At most the one that was written and not acknowledged.
        assert len(told) <= len(own) <= len(told) + 1
    hits = store.connection.execute("SELECT count(*), sum(hits) FROM counts").fetchone()
    assert hits == (rows_each * len(runs), 240 * len(runs))


@pytest.mark.slow
def test_two_writers_and_a_kill_at_a_hundred_instants(tmp_path, result):
    kill_again_and_again(write, tmp_path, result(), KILLS, seed=1)
    store = open_store(tmp_path)
    assert store.notices == ()
    require_whole(store, tmp_path, rows_each=4)
    store.close()
    assert list(tmp_path.glob("*damaged*")) == []


@pytest.mark.slow
def test_two_writers_of_lines_and_a_kill_at_many_instants(tmp_path, result):
    from dpwitness.reports.history.recorder import merge

    kill_again_and_again(append, tmp_path, result(), 30, seed=2)
    store = open_store(tmp_path)
    merge(store, tmp_path)
    merge(store, tmp_path)
    require_whole(store, tmp_path, rows_each=4)
    store.close()


def test_writers_at_once_lose_nothing(tmp_path, result):
    fork = multiprocessing.get_context("fork")
    crowd = [fork.Process(target=some, args=(tmp_path, name, result())) for name in range(4)]
    for process in crowd:
        process.start()
    for process in crowd:
        process.join()
        assert process.exitcode == 0
    store = open_store(tmp_path)
    assert store.connection.execute("SELECT count(*) FROM counts").fetchone() == (4 * 4 * 8,)
    assert (verify(store), store.notices) == ("", ())
    store.close()


def some(directory, name, result):
    """Open a store that may not be there yet, as others do, and write into it."""
    store = open_store(directory)
    for number in range(8):
        (entry,) = entries_of(f"{name}-{number}", [result], ["a"], "1")
        assert add(store, entry)
