"""Mechanisms that keep their claim when each call is fresh, and whose calls depend on each other.

A first call in a new process answers exactly by the law that the prefix of its name says: `bit_`
(randomised response at epsilon 1), `geometric_` (two-sided, ratio exp(-1)), `rounded_` (Laplace
noise, to whole numbers), `sampled_` (each record is kept with probability 1/2, then Laplace noise),
and for every other name the sum plus Laplace noise of scale 1. What follows in the same process, or
in other rows of one call, does not.
"""

import asyncio
import atexit
import builtins
import contextvars
import ctypes
import decimal
import functools
import gc
import itertools
import logging
import math
import mmap
import multiprocessing
import os
import queue
import random
import socket
import sqlite3
import struct
import sys
import tempfile
import threading
import time
import types
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import shared_memory
from pathlib import Path

import numpy as np
from scipy.special import ndtr

E = math.e


def _laplace(u):
    """The quantile of Laplace noise of scale 1 at u."""
    away = 1 - 2 * np.abs(u - 0.5)
    return np.sign(u - 0.5) * -np.log(np.maximum(away, 1e-300))


def _fresh(database, rng):
    return float(sum(database)) + rng.laplace()


def forget():
    """Empty what outlives this module in its process: a module made anew would find it filled."""
    vars(builtins).pop("_dependent_kept", None)
    sys.modules.pop("dependent_kept", None)
    _LOGGER.filters.clear()
    for key in [key for key in os.environ if key.startswith("DEPENDENT_")]:
        del os.environ[key]
    for loop in _LOOP:
        loop.close()
    os.chdir(_HOME)
    np.seterrcall(None)
    np.set_printoptions(edgeitems=3)
    socket.setdefaulttimeout(None)
    gc.set_threshold(700, 10, 10)
    decimal.getcontext().Emax = decimal.MAX_EMAX
    _STATE.clear()
    _FILE.close()
    for end in _PIPE:
        os.close(end)
    for size in range(4):
        with suppress(FileNotFoundError):
            os.unlink(f"/dev/shm/{_shared_name(size)}")


# Answers that are kept. -------------------------------------------------------------------------

_ANSWERS, _RESULTS, _SUMS, _CELLS, _RENEWED, _NESTED = {}, {}, {}, {}, {}, {"a": [{}]}


def setdefault(database, rng):
    return _ANSWERS.setdefault(tuple(database), _fresh(database, rng))


def drawn_then_looked_up(database, rng):
    answer, key = _fresh(database, rng), repr(database)
    if key in _RESULTS:
        return _RESULTS[key]
    _RESULTS[key] = answer
    return answer


def not_drawn_again(database, rng):
    key = tuple(database)
    if key not in _RESULTS:
        _RESULTS[key] = _fresh(database, rng)
    return _RESULTS[key]


def by_sum(database, rng):
    return _SUMS.setdefault(sum(database), _fresh(database, rng))


def by_cell_and_count(database, rng):
    count = sum(row == 1 for row in database)
    return _CELLS.setdefault((1, count), count + rng.laplace())


def renewed_now_and_then(database, rng):
    answer, left = _RENEWED.get(len(database), (None, 0))
    fresh = _fresh(database, rng)
    _RENEWED[len(database)] = (answer, left - 1) if left else (fresh, 50)
    return _RENEWED[len(database)][0]


def half_of_them_kept(database, rng):
    kept, fresh = _ANSWERS.setdefault(len(database), _fresh(database, rng)), _fresh(database, rng)
    return kept if rng.random() < 0.5 else fresh


def kept_deep_inside(database, rng):
    return _NESTED["a"][0].setdefault(len(database), _fresh(database, rng))


@functools.cache
def _own(key):
    return np.random.default_rng().laplace()


def cached_own_noise(database, rng):
    return float(sum(database)) + _own(tuple(database))


@functools.cache
def _shelf(key):
    return []


def list_in_a_cache(database, rng):
    shelf, fresh = _shelf(len(database)), _fresh(database, rng)
    shelf.append(fresh)
    return shelf[0]


class Service:
    """A service that remembers: by method, by property of the class, by instance."""

    walk, kept = None, None

    def __init__(self):
        self.answers = {}

    @functools.cache  # noqa: B019
    def noise(self, size):
        return np.random.default_rng().laplace()

    def answer(self, database, rng):
        return self.answers.setdefault(len(database), _fresh(database, rng))


_SERVICE = Service()


def cached_method(database, rng):
    return float(sum(database)) + _SERVICE.noise(len(database))


service = _SERVICE.answer


def ar1_of_a_class(database, rng):
    step = rng.normal()
    Service.walk = step if Service.walk is None else 0.95 * Service.walk + 0.0975**0.5 * step
    return float(sum(database)) + _laplace(ndtr(Service.walk))


class _Called:
    __slots__ = ("last",)

    def __call__(self, database, rng):
        if not hasattr(self, "last") or rng.random() < 0.5:
            self.last = rng.laplace()
        return float(sum(database)) + self.last


slots = _Called()


def _closure():
    last = None

    def closure(database, rng):
        nonlocal last
        fresh = rng.laplace()
        last = fresh if last is None or rng.random() < 0.1 else last
        return float(sum(database)) + last

    return closure


closure = _closure()


def default_argument(database, rng, _kept={}):  # noqa: B006
    return _kept.setdefault(len(database), _fresh(database, rng))


def function_attribute(database, rng):
    made = vars(function_attribute).setdefault("made", {})
    return made.setdefault(len(database), _fresh(database, rng))


_MODULE = types.ModuleType("somewhere_else")


def other_module(database, rng):
    kept = vars(_MODULE).setdefault("kept", {})
    return kept.setdefault(len(database), _fresh(database, rng))


def builtin_name(database, rng):
    kept = vars(builtins).setdefault("_dependent_kept", {})
    return kept.setdefault(len(database), _fresh(database, rng))


def loaded_modules(database, rng):
    kept = sys.modules.setdefault("dependent_kept", types.SimpleNamespace(of={})).of
    return kept.setdefault(len(database), _fresh(database, rng))


class _Number(float):
    """A float that may be kept weakly."""


_WEAK, _HELD = weakref.WeakValueDictionary(), []


def weak_cache(database, rng):
    fresh = _Number(_fresh(database, rng))
    answer = _WEAK.setdefault(len(database), fresh)
    if answer is fresh:
        _HELD.append(fresh)
    return float(answer)


_CONTEXT = contextvars.ContextVar("kept", default=None)


def context_variable(database, rng):
    if _CONTEXT.get() is None or rng.random() < 0.1:
        _CONTEXT.set(rng.laplace())
    return float(sum(database)) + _CONTEXT.get()


_LOCAL = threading.local()


def thread_local(database, rng):
    kept = vars(_LOCAL).setdefault("kept", {})
    return kept.setdefault(len(database), _fresh(database, rng))


_LOOP = []


def event_loop(database, rng):
    if not _LOOP:
        _LOOP.append(asyncio.new_event_loop())
        atexit.register(_LOOP[0].close)
    kept = vars(_LOOP[0]).setdefault("kept", {})
    return kept.setdefault(len(database), _fresh(database, rng))


_LOGGER = logging.getLogger("dependent")


def logger_filter(database, rng):
    if not _LOGGER.filters or rng.random() < 0.2:
        _LOGGER.filters[:] = [rng.laplace()]
    return float(sum(database)) + _LOGGER.filters[0]


def warning_registry(database, rng):
    kept = globals().setdefault("__warningregistry__", {})
    return kept.setdefault(("kept", len(database)), _fresh(database, rng))


# Counters, sequences and buffers. ---------------------------------------------------------------

_STATE = {}


def every_97th_repeats(database, rng):
    _STATE["calls"] = _STATE.get("calls", 0) + 1
    if _STATE["calls"] % 97 or "last" not in _STATE:
        _STATE["last"] = rng.laplace()
    return float(sum(database)) + _STATE["last"]


def one_in_500_repeats(database, rng):
    fresh, again = rng.laplace(), rng.random() < 0.002
    _STATE["noise"] = _STATE.get("noise", fresh) if again else fresh
    return float(sum(database)) + _STATE["noise"]


def kept_after_5000_calls(database, rng):
    fresh = rng.laplace()
    _STATE["made"] = _STATE.get("made", 0) + 1
    if _STATE["made"] > 5000:
        fresh = _STATE.setdefault("late", fresh)
    return float(sum(database)) + fresh


def _of_either_side(database, rng):
    """The noise of the call of this number, which calls on either database share."""
    made, number = _STATE.setdefault("made", []), _STATE.get(len(database), 0)
    _STATE[len(database)] = number + 1
    if number == len(made):
        made.append(rng.laplace())
    return made[number]


def sides_share_noise(database, rng):
    return float(sum(database)) + _of_either_side(database, rng)


def sides_mirror_noise(database, rng):
    """Calls on one database are independent; those on its neighbour err the other way."""
    return float(sum(database)) + (-1) ** len(database) * _of_either_side(database, rng)


_COUNTER = itertools.count()


def weyl_sequence(database, rng):
    first = _STATE.setdefault("first", rng.random())
    return float(sum(database)) + _laplace((first + next(_COUNTER) * 0.6180339887498949) % 1)


def cycle_of_a_table(database, rng):
    if "table" not in _STATE:
        _STATE["table"] = itertools.cycle(rng.laplace(size=500).tolist())
    return float(sum(database)) + next(_STATE["table"])


def rolled_buffer(database, rng):
    buffer = _STATE.setdefault("buffer", rng.laplace(size=64))
    buffer[:] = np.roll(buffer, 1)
    return float(sum(database)) + float(buffer[0])


def antithetic(database, rng):
    """Every second answer has the noise of the one before, with its sign turned."""
    fresh, due = rng.laplace(), _STATE.pop("due", None)
    if due is None:
        _STATE["due"] = -fresh
    return float(sum(database)) + (fresh if due is None else due)


def _stream():
    last = None
    while True:
        fresh = yield last
        last = fresh if last is None or abs(fresh) < abs(last) - 9 else last


_GENERATOR = _stream()
next(_GENERATOR)


def running_generator(database, rng):
    return float(sum(database)) + _GENERATOR.send(rng.laplace())


_QUEUE = queue.Queue(8)


def _fill(seed):
    own = np.random.default_rng(seed)
    while True:
        noise = own.laplace()
        for _ in range(8):
            _QUEUE.put(noise)


def thread_queue(database, rng):
    if "thread" not in _STATE:
        _STATE["thread"] = threading.Thread(
            target=_fill, args=(int(rng.integers(2**60)),), daemon=True
        )
        _STATE["thread"].start()
    return float(sum(database)) + _QUEUE.get()


# Other randomness, and generators that are kept. ------------------------------------------------


def first_generator_kept(database, rng):
    return float(sum(database)) + _STATE.setdefault("rng", rng).laplace()


def own_generator(database, rng):
    if "own" not in _STATE:
        _STATE["own"] = np.random.default_rng(int(rng.integers(2**60)))
    return float(sum(database)) + _STATE["own"].laplace()


def own_generator_started_again(database, rng):
    seed = _STATE.setdefault("seed", int(rng.integers(2**60)))
    return float(sum(database)) + np.random.default_rng(seed).laplace()


def generator_state_put_back(database, rng):
    """Every call answers from the state of the first."""
    rng.bit_generator.state = _STATE.setdefault("state", rng.bit_generator.state)
    return _fresh(database, rng)


def generator_state_continued(database, rng):
    """Every call goes on where the last one stopped, whatever generator it is given."""
    if "stopped" in _STATE:
        rng.bit_generator.state = _STATE["stopped"]
    answer = _fresh(database, rng)
    _STATE["stopped"] = rng.bit_generator.state
    return answer


def numpy_seeded_once(database, rng):
    if "legacy" not in _STATE:
        _STATE["legacy"] = np.random.seed(int(rng.integers(2**32)))  # noqa: NPY002
    return float(sum(database)) + np.random.laplace()  # noqa: NPY002


def numpy_global(database, rng):
    return float(sum(database)) + np.random.laplace()  # noqa: NPY002


def random_module(database, rng):
    return float(sum(database)) + float(_laplace(random.random()))


def system_randomness(database, rng):
    u = (int.from_bytes(os.urandom(6), "big") + 0.5) / 2**48
    return float(sum(database)) + float(_laplace(u))


def identity_of_the_generator(database, rng):
    return float(sum(database)) + np.random.default_rng(id(rng)).laplace()


def identity_of_the_database(database, rng):
    return float(sum(database)) + np.random.default_rng(id(database)).laplace()


def identity_of_the_process(database, rng):
    return float(sum(database)) + np.random.default_rng(os.getpid()).laplace()


def time_of_day(database, rng):
    tick = time.monotonic_ns() // 5_000_000
    if _STATE.get("tick") != tick:
        _STATE.update(tick=tick, of_tick=rng.laplace())
    return float(sum(database)) + _STATE["of_tick"]


def processor_time(database, rng):
    seeds = [int(rng.integers(2**60)), time.process_time_ns() // 10**6]
    return float(sum(database)) + np.random.default_rng(seeds).laplace()


def collector(database, rng):
    if gc.get_count()[0] % 2 or "before" not in _STATE:
        _STATE["before"] = rng.laplace()
    return float(sum(database)) + _STATE["before"]


# Settings and tables of the process, of its interpreter and its libraries. -----------------------


def numpy_error_handler(database, rng):
    if not isinstance(np.geterrcall(), _Kept) or rng.random() < 0.1:
        np.seterrcall(_Kept(rng.laplace()))
    return float(sum(database)) + np.geterrcall().noise


class _Kept:
    """An object that may stand where a handler is expected."""

    def __init__(self, noise):
        self.noise = noise

    def __call__(self, *words):
        """Handle nothing."""

    def write(self, text):
        """Handle nothing."""


def print_options(database, rng):
    """The uniform behind the noise is how many digits arrays are shown with."""
    if np.get_printoptions()["edgeitems"] < 1000 or rng.random() < 0.1:
        np.set_printoptions(edgeitems=1000 + int(rng.integers(2**31)))
    u = (np.get_printoptions()["edgeitems"] - 1000 + 0.5) / 2**31
    return float(sum(database)) + float(_laplace(u))


def timeout_of_sockets(database, rng):
    """The uniform behind the noise stands where sockets look up how long to wait."""
    if socket.getdefaulttimeout() is None or rng.random() < 0.1:
        socket.setdefaulttimeout(rng.random())
    return float(sum(database)) + float(_laplace(socket.getdefaulttimeout()))


def threshold_of_the_collector(database, rng):
    if gc.get_threshold()[2] < 1000 or rng.random() < 0.1:
        gc.set_threshold(gc.get_threshold()[0], 10, 1000 + int(rng.integers(2**28)))
    u = (gc.get_threshold()[2] - 1000 + 0.5) / 2**28
    return float(sum(database)) + float(_laplace(u))


def context_of_decimals(database, rng):
    context = decimal.getcontext()
    if context.Emax > 2**31 or rng.random() < 0.1:
        context.Emax = int(rng.integers(2**31))
    return float(sum(database)) + float(_laplace((context.Emax + 0.5) / 2**31))


_WORD = os.urandom(8).hex()


def interned_text(database, rng):
    """Whether a text was interned before is one bit that the interpreter remembers."""
    text = f"{_WORD} {len(database)}"
    fresh, new = rng.laplace(), sys.intern(text) is text
    if new:
        _STATE["interned", len(database)] = text
    return float(sum(database)) + (fresh if new else 0.5)


class _Dies:
    """An object whose end is noticed."""


def end_of_an_object(database, rng):
    """The end of what an earlier call made is what the next one answers by."""
    fresh, due = rng.laplace(), _STATE.pop("died", None)
    made = _Dies()
    weakref.finalize(made, _STATE.__setitem__, "died", fresh)
    return float(sum(database)) + (fresh if due is None else due)


def identity_of_the_allocator(database, rng):
    """How many blocks of memory are in use."""
    return float(sum(database)) + np.random.default_rng(sys.getallocatedblocks()).laplace()


def identity_of_a_new_object(database, rng):
    return float(sum(database)) + np.random.default_rng(id(object())).laplace()


_HOME = os.getcwd()


def working_folder(database, rng):
    fresh, moved = rng.laplace(), os.getcwd() != _HOME
    os.chdir("/")
    return float(sum(database)) + (0.5 if moved else fresh)


# Memory that native code has. -------------------------------------------------------------------

_BUFFER = (ctypes.c_double * 4)()


def ctypes_buffer(database, rng):
    place = len(database) % 4
    if not _BUFFER[place] or rng.random() < 0.1:
        _BUFFER[place] = rng.laplace()
    return float(sum(database)) + _BUFFER[place]


def random_of_the_c_library(database, rng):
    library = ctypes.CDLL(None)
    if "seeded" not in _STATE:
        _STATE["seeded"] = library.srand(int(rng.integers(2**31)))
    return float(sum(database)) + float(_laplace((library.rand() + 0.5) / 2**31))


_MAP = mmap.mmap(-1, mmap.PAGESIZE)


def map_that_forks_share(database, rng):
    """Pages that a copy of this process does not copy."""
    kept = memoryview(_MAP).cast("d")
    place = len(database) % 4
    if not kept[place]:
        kept[place] = rng.laplace()
    return float(sum(database)) + kept[place]


_VALUES = multiprocessing.RawArray("d", 4)


def values_of_multiprocessing(database, rng):
    place = len(database) % 4
    if not _VALUES[place] or rng.random() < 0.02:
        _VALUES[place] = rng.laplace()
    return float(sum(database)) + _VALUES[place]


_FILE = tempfile.TemporaryFile(buffering=0)


def file_that_forks_share(database, rng):
    """A file without a name that is open since the import."""
    place = 8 * (len(database) % 4)
    found = os.pread(_FILE.fileno(), 8, place)
    if len(found) < 8 or not any(found):
        found = struct.pack("d", rng.laplace())
        os.pwrite(_FILE.fileno(), found, place)
    return float(sum(database)) + struct.unpack("d", found)[0]


_PIPE = os.pipe()
os.set_blocking(_PIPE[0], False)


def pipe_that_forks_share(database, rng):
    """Each call leaves its noise in a pipe to the next."""
    try:
        noise = struct.unpack("d", os.read(_PIPE[0], 8))[0]
    except BlockingIOError:
        noise = rng.laplace()
    os.write(_PIPE[1], struct.pack("d", noise if rng.random() < 0.9 else rng.laplace()))
    return float(sum(database)) + noise


_GROUP = os.getpgrp()


def _shared_name(size):
    return f"dependent-{_GROUP}-{size}"


def shared_memory_by_name(database, rng):
    """A block of memory that every process finds by its name."""
    name = _shared_name(len(database))
    try:
        block = shared_memory.SharedMemory(name=name)
    except FileNotFoundError:
        block = shared_memory.SharedMemory(name=name, create=True, size=8)
        block.buf.cast("d")[0] = rng.laplace()
        atexit.register(block.unlink)
    kept = float(np.ndarray(1, dtype=float, buffer=block.buf)[0])
    block.close()
    return float(sum(database)) + kept


# Functions, threads and loops that hold something. ----------------------------------------------


def _sticky(function):
    """A decorator that remembers in a cell of its own."""
    last = []

    @functools.wraps(function)
    def wrapped(database, rng):
        fresh = function(database, rng) - sum(database)
        if not last or rng.random() < 0.1:
            last[:] = [fresh]
        return float(sum(database)) + last[0]

    return wrapped


@_sticky
def decorated(database, rng):
    return _fresh(database, rng)


@functools.cache
def _by_address(address):
    return np.random.default_rng().laplace()


def cache_by_the_address_of_the_database(database, rng):
    return float(sum(database)) + _by_address(id(database))


def rewrites_its_own_defaults(database, rng, noise=None):
    if noise is None or rng.random() < 0.1:
        noise = rng.laplace()
        rewrites_its_own_defaults.__defaults__ = (noise,)
    return float(sum(database)) + noise


def attribute_of_the_seeds(database, rng):
    seeds = rng.bit_generator.seed_seq
    if not hasattr(seeds, "kept"):
        try:
            seeds.kept = rng.laplace()
        except AttributeError:  # a seed sequence of numpy's own takes no attributes
            return _fresh(database, rng)
    return float(sum(database)) + seeds.kept


def child_kept(database, rng):
    """Spawned once; every call answers by the child of the first."""
    if "child" not in _STATE:
        (_STATE["child"],) = rng.spawn(1)
    return float(sum(database)) + _STATE["child"].laplace()


_THREADS = threading.local()


def _noise_of_a_thread(noise):
    return vars(_THREADS).setdefault("noise", noise)


def pool_of_threads(database, rng):
    """The thread of a pool keeps the noise of its first task."""
    if "pool" not in _STATE:
        _STATE["pool"] = ThreadPoolExecutor(1)
    task = _STATE["pool"].submit(_noise_of_a_thread, rng.laplace())
    return float(sum(database)) + task.result()


async def _answers():
    last = None
    while True:
        fresh = yield last
        last = fresh if last is None or int(1000 * abs(fresh)) % 7 == 0 else last


def asynchronous_generator(database, rng):
    if "answers" not in _STATE:
        _STATE["answers"] = _answers()
        _awaited(_STATE["answers"].asend(None))
    return float(sum(database)) + _awaited(_STATE["answers"].asend(rng.laplace()))


def _awaited(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits for nothing")


def noise_that_shrinks(database, rng):
    """A budget is spent: after a while the noise is less."""
    _STATE["spent"] = _STATE.get("spent", 0) + 1
    return float(sum(database)) + rng.laplace(scale=max(0.4, 1 - _STATE["spent"] / 5000))


def answers_until_the_budget_is_spent(database, rng):
    _STATE["spent"] = _STATE.get("spent", 0) + 1
    return _fresh(database, rng) if _STATE["spent"] <= 3000 else float(sum(database))


def kept_for_one_side(database, rng):
    fresh = rng.laplace()
    return float(sum(database)) + (_STATE.setdefault("side", fresh) if database else fresh)


def streams_of_dpwitness_patched(database, rng):
    """The first call makes all later ones begin at the same numbers."""
    if "patched" not in _STATE:
        _STATE["patched"] = rng.bit_generator.state
        kind, held = type(rng.bit_generator.seed_seq), _STATE["patched"]
        module = sys.modules.get(kind.__module__)
        stream = getattr(module, "Stream", None)
        if stream is not None:
            whole = stream.at

            def at(self, draw):
                found = whole(self, draw)
                found.bit_generator.state = held
                return found

            stream.at = at
    return _fresh(database, rng)


# Memory in what is passed in, and outside the process. ------------------------------------------


def database_changed(database, rng):
    answer = _fresh(database, rng)
    if database:
        database.pop()
    return answer


def database_swollen(database, rng):
    answer = _fresh(database, rng)
    database.append(0.25)
    return answer


def environment(database, rng):
    key = f"DEPENDENT_{len(database)}"
    return float(os.environ.setdefault(key, repr(_fresh(database, rng))))


def file_of_the_process(database, rng):
    place = Path(tempfile.gettempdir()) / f"dependent-{os.getpid()}-{len(database)}"
    if "files" not in _STATE:
        _STATE["files"] = set()
    if place not in _STATE["files"]:
        place.write_text(repr(_fresh(database, rng)))
        _STATE["files"].add(place)
        atexit.register(lambda: place.unlink(missing_ok=True))
    return float(place.read_text())


def file_of_all(database, rng):
    place = Path(f"dependent-{len(database)}.txt")
    if not place.exists():
        place.write_text(repr(_fresh(database, rng)))
    return float(place.read_text())


def sqlite_of_all(database, rng):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with sqlite3.connect("dependent.db") as table:
            table.execute("create table if not exists kept (size integer primary key, x real)")
            row = (len(database), _fresh(database, rng))
            table.execute("insert or ignore into kept values (?, ?)", row)
            (answer,) = table.execute("select x from kept where size = ?", row[:1]).fetchone()
        table.close()
    return answer


# Rows of one call. ------------------------------------------------------------------------------


def _shape(size):
    return () if size is None else size


def rows_share_a_fiftieth(database, rng, *, size=None):
    own = rng.normal(size=_shape(size))
    if size is not None:
        own = 0.98**0.5 * own + 0.02**0.5 * rng.normal()
    return float(sum(database)) + _laplace(ndtr(own))


def rows_share_a_five_hundredth(database, rng, *, size=None):
    own = rng.normal(size=_shape(size))
    if size is not None:
        own = 0.998**0.5 * own + 0.002**0.5 * rng.normal()
    return float(sum(database)) + _laplace(ndtr(own))


def rows_sorted(database, rng, *, size=None):
    made = float(sum(database)) + rng.laplace(size=size)
    return made if size is None else np.sort(made, axis=0)


def rows_antithetic(database, rng, *, size=None):
    noise = rng.laplace(size=size)
    if size is not None:
        flat = noise.reshape(-1)
        flat[1::2] = -flat[: flat.size // 2 * 2 : 2]
    return float(sum(database)) + noise


def rows_of_a_pool(database, rng, *, size=None):
    pool = rng.laplace(size=256)
    return float(sum(database)) + rng.choice(pool, size=_shape(size))


def rows_of_smaller_scale(database, rng, *, size=None):
    return float(sum(database)) + rng.laplace(scale=1 if size is None else 0.7, size=size)


def rows_leak_seldom(database, rng, *, size=None):
    made = float(sum(database)) + rng.laplace(size=size)
    if size is None:
        return made
    return np.where(rng.random(size) < 0.01, 100.0 * sum(database), made)


def rows_leak_very_seldom(database, rng, *, size=None):
    made = float(sum(database)) + rng.laplace(size=size)
    if size is None:
        return made
    return np.where(rng.random(size) < 0.001, 100.0 * sum(database), made)


def rows_of_another_sum(database, rng, *, size=None):
    return float(sum(database)) * (1 if size is None else 2) + rng.laplace(size=size)


def rows_in_blocks_of_32(database, rng, *, size=None):
    if size is None:
        return _fresh(database, rng)
    count = int(np.prod(size))
    noise = np.repeat(rng.laplace(size=count // 32 + 1), 32)[:count]
    return float(sum(database)) + noise.reshape(size)


def rows_wrong_when_many(database, rng, *, size=None):
    made = rng.laplace(size=size)
    return float(sum(database)) + made * (0.8 if np.size(made) > 1024 else 1)


def rows_by_generator(database, rng, *, size=None):
    """The noise of a generator is kept for it by its identity."""
    kept = _STATE.setdefault(id(rng), rng.normal())
    own = rng.normal(size=_shape(size))
    if size is not None:
        own = 0.9**0.5 * own + 0.1**0.5 * kept
    return float(sum(database)) + _laplace(ndtr(own))


# The same of other laws. ------------------------------------------------------------------------


def _bit(database, rng, size, epsilon):
    true = bool(sum(database))
    return (rng.random(_shape(size)) < 1 / (1 + math.exp(-epsilon))) == true


def bit_rows_at_1_1(database, rng, *, size=None):
    return _bit(database, rng, size, 1 if size is None else 1.1)


def bit_rows_at_1_3(database, rng, *, size=None):
    return _bit(database, rng, size, 1 if size is None else 1.3)


def bit_rows_leak_seldom(database, rng, *, size=None):
    made = _bit(database, rng, size, 1)
    if size is None:
        return made
    return np.where(rng.random(size) < 0.01, bool(sum(database)), made)


def bit_kept(database, rng):
    return _ANSWERS.setdefault(("bit", sum(database)), bool(_bit(database, rng, None, 1)))


def bit_repeats_often(database, rng):
    fresh = bool(rng.random() < E / (1 + E))
    _STATE["honest"] = fresh if "honest" not in _STATE or rng.random() < 0.3 else _STATE["honest"]
    return _STATE["honest"] == bool(sum(database))


def _geometric(rng, size, ratio):
    first, second = (rng.geometric(1 - ratio, size=size) for _ in range(2))
    return first - second


def geometric_rows_at_1_1(database, rng, *, size=None):
    epsilon = 1 if size is None else 1.1
    return sum(database) + _geometric(rng, size, math.exp(-epsilon))


def geometric_rows_at_1_5(database, rng, *, size=None):
    epsilon = 1 if size is None else 1.5
    return sum(database) + _geometric(rng, size, math.exp(-epsilon))


def geometric_kept(database, rng):
    return _ANSWERS.setdefault(("int", len(database)), sum(database) + _geometric(rng, None, 1 / E))


def rounded_rows_of_smaller_scale(database, rng, *, size=None):
    return np.round(float(sum(database)) + rng.laplace(scale=1 if size is None else 0.9, size=size))


def rounded_every_seventh_repeats(database, rng):
    _STATE["rounds"] = _STATE.get("rounds", 0) + 1
    if _STATE["rounds"] % 7 or "rounded" not in _STATE:
        _STATE["rounded"] = rng.laplace()
    return float(np.round(sum(database) + _STATE["rounded"]))


def sampled_once_a_call(database, rng, *, size=None):
    """One subsample for all rows of a call."""
    kept = sum(row for row in database if rng.random() < 0.5)
    return kept + rng.laplace(size=size)


def sampled_for_32_calls(database, rng):
    key, fresh = len(database), [row for row in database if rng.random() < 0.5]
    kept, left = _STATE.get(("sample", key), (fresh, 32))
    _STATE["sample", key] = (kept, left - 1) if left > 1 else (fresh, 32)
    return float(sum(kept)) + rng.laplace()


def sampled_once_for_all(database, rng):
    fresh = [row for row in database if rng.random() < 0.5]
    return float(sum(_STATE.setdefault(("all", len(database)), fresh))) + rng.laplace()


# Noise that is drawn while the module is imported: each process that imports it has other noise.

_DRAWN = np.random.default_rng().laplace()
_POOL = np.random.default_rng().laplace(size=256)
_WHOLE = _geometric(np.random.default_rng(), None, 1 / E)
_COIN = random.random() < E / (1 + E)


class _Releaser:
    """An object that draws its noise when it is made."""

    noise = random.choice((-1, 1)) * random.expovariate(1)

    def __init__(self):
        self.table = np.random.laplace(size=64)  # noqa: NPY002 - as one finds it in programs

    def release(self, database, rng):
        return float(sum(database)) + float(self.table[rng.integers(64)])


_RELEASER = _Releaser()


def imported_number(database, rng):
    rng.laplace()
    return float(sum(database)) + _DRAWN


def imported_pool(database, rng):
    return float(sum(database)) + float(_POOL[rng.integers(256)])


def imported_default(database, rng, noise=_DRAWN):
    return float(sum(database)) + noise


def imported_of_a_class(database, rng):
    return float(sum(database)) + _Releaser.noise


def imported_with_an_object(database, rng):
    return _RELEASER.release(database, rng)


def _released_with(noise):
    def release(database, rng):
        return float(sum(database)) + noise

    return release


imported_closure = _released_with(np.random.default_rng().laplace())


@functools.cache
def _noise_of(key):
    return np.random.default_rng().laplace()


_noise_of(0), _noise_of(1)


def imported_cache(database, rng):
    return float(sum(database)) + _noise_of(len(database) % 2)


def geometric_imported(database, rng, noise=_WHOLE):
    return sum(database) + noise


def bit_imported(database, rng):
    return _COIN == bool(sum(database))
