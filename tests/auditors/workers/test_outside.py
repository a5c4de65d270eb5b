"""A file is memory if a call may read what an earlier call wrote; nothing else is."""

import os
import tempfile

import pytest

from dpwitness.auditors.workers import Door


def _names(run, directory, calls=3):
    door = Door(run)
    try:
        for number in range(calls):
            door.ask(_one, (), str(directory), number)
        return door.outside()
    finally:
        door.close()


def _one(worker, _, directory, number):
    worker.beat()
    worker.run(directory, number)


def _own_file(directory, number):
    path = os.path.join(directory, f"{number}.txt")
    with open(path, "w") as file:
        file.write("1")
    with open(path) as file:
        return file.read()


def _same_file_each_time(directory, number):
    path = os.path.join(directory, "scratch.txt")
    with open(path, "w") as file:
        file.write("1")
    with open(path) as file:
        return file.read()


def _temporary(directory, number):
    with tempfile.TemporaryFile(dir=directory) as file:
        file.write(b"1")
        file.seek(0)
        return file.read()


def _log(directory, number):
    with open(os.path.join(directory, "log.txt"), "a") as file:
        file.write("1\n")


def _constant(directory, number):
    with open(os.path.join(directory, "table.txt")) as file:
        return file.read()


def _reads_then_writes(directory, number):
    path = os.path.join(directory, "state.txt")
    if os.path.exists(path):
        with open(path) as file:
            file.read()
    with open(path, "w") as file:
        file.write("1")


def _updates(directory, number):
    descriptor = os.open(os.path.join(directory, "state.txt"), os.O_RDWR | os.O_CREAT)
    os.read(descriptor, 8)
    os.write(descriptor, b"1")
    os.close(descriptor)


def _appends_and_reads(directory, number):
    with open(os.path.join(directory, "state.txt"), "a+") as file:
        file.seek(0)
        file.read()
        file.write("1")


def _moved_into_place(directory, number):
    path = os.path.join(directory, "state.txt")
    if os.path.exists(path):
        with open(path, "rb") as file:
            file.read()
    with open(path + ".new", "wb") as file:
        file.write(b"1")
    os.replace(path + ".new", path)


@pytest.mark.parametrize("run", [_own_file, _same_file_each_time, _temporary, _log, _constant])
def test_a_file_of_one_call_is_no_memory(tmp_path, run):
    (tmp_path / "table.txt").write_text("1")
    assert _names(run, tmp_path) == ()


@pytest.mark.parametrize(
    "run", [_reads_then_writes, _updates, _appends_and_reads, _moved_into_place]
)
def test_a_file_that_a_later_call_reads_is_memory(tmp_path, run):
    assert _names(run, tmp_path) == (str(tmp_path / "state.txt"),)
