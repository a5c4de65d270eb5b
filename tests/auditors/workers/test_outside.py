"""A file is memory if a call may read what an earlier call wrote; nothing else is."""

import fcntl
import mmap
import os
import sys
import tempfile
import termios
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory

import pytest

from dpwitness.auditors.workers import Door

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc says what is shared")


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
    return worker.run(directory, number)


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


PAGES, FILE, PIPE = mmap.mmap(-1, mmap.PAGESIZE), tempfile.TemporaryFile(), os.pipe()
BEFORE = os.write(PIPE[1], b"before")
BLOCK = f"dpwitness-test-{os.getpid()}"


def _pages(directory, number):
    PAGES[0] += 1
    return PAGES[0]


def _open_file(directory, number):
    os.write(FILE.fileno(), b"1")
    return os.fstat(FILE.fileno()).st_size


def _pipe(directory, number):
    os.write(PIPE[1], b"1")
    waiting = fcntl.ioctl(PIPE[0], termios.FIONREAD, bytes(4))
    return int.from_bytes(waiting, sys.byteorder) - BEFORE


def _constant(directory, number):
    return 1


def _block(directory, number):
    try:
        block = SharedMemory(BLOCK)
    except FileNotFoundError:
        block = SharedMemory(BLOCK, create=True, size=8)
        resource_tracker.unregister(block._name, "shared_memory")
    block.buf[0] = number
    block.close()


@LINUX
@pytest.mark.parametrize("run", [_pages, _open_file, _pipe])
def test_shared_pages_open_files_and_pipes_are_copied_to_each_process(tmp_path, run):
    """Each process counts from what was there when it was forked."""
    for _ in range(2):
        door = Door(run)
        assert [door.ask(_one, (), "", 0) for _ in range(3)] == [1, 2, 3]
        assert door.outside() == ()
        door.close()


@LINUX
def test_shared_pages_that_nobody_can_read_end_no_process():
    """A file that became shorter leaves addresses of nothing; reading one of them is a signal."""
    with tempfile.TemporaryFile() as file:
        file.write(bytes(2 * mmap.PAGESIZE))
        file.flush()
        pages = mmap.mmap(file.fileno(), 2 * mmap.PAGESIZE)
        file.truncate(mmap.PAGESIZE)
        door = Door(_constant)
        assert door.ask(_one, (), "", 0) == 1
        door.close()
        pages.close()


@LINUX
def test_what_others_write_to_a_pipe_is_not_the_mechanisms():
    """A pool of processes has pipes that its workers write to at any time."""
    reading, writing = os.pipe()
    door = Door(_constant)
    door.ask(_one, (), "", 0)
    os.write(writing, b"an answer of another worker")
    assert door.ask(_one, (), "", 0) == 1
    assert door.outside() == ()
    door.close()
    assert os.read(reading, 100) == b"an answer of another worker"
    os.close(reading)
    os.close(writing)


@LINUX
def test_what_copies_of_a_process_share_by_name_is_memory(tmp_path):
    try:
        (name,) = _names(_block, tmp_path)
    finally:
        SharedMemory(BLOCK).unlink()
    assert BLOCK in name
