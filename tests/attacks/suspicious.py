"""Sound mechanisms that look as if they broke the contract: each call is a function of its two
arguments, in any order and process.

The output is the sum with Laplace noise of scale 1, or is made of it: numbers of another law stand
in `OTHER_LAW`, and `PROMISE` has the epsilon if it is not 1.
"""

import asyncio
import contextvars
import copy
import ctypes
import decimal
import functools
import gc
import importlib
import logging
import math
import mmap
import multiprocessing
import os
import pickle
import random
import sqlite3
import struct
import sys
import tempfile
import threading
import time
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.stats import qmc

PROMISE = {"two_parts": 2.0, "dictionary_reused": 2.0}
OTHER_LAW = {"none_nan_and_negative_zero", "exceptions"}


def _fresh(database, rng):
    return float(sum(database)) + rng.laplace()


# Work done once. --------------------------------------------------------------------------------


def lazy_import(database, rng):
    statistics = importlib.import_module("statistics")
    return statistics.fmean([float(sum(database))]) + rng.laplace()


@functools.cache
def _table(size):
    return np.cumsum(np.ones(size))


def memo_of_a_table(database, rng):
    return float(_table(len(database) + 1)[-1]) - 1 + rng.laplace()


_READY = {}


def warm_up(database, rng):
    if not _READY:
        _READY["quantiles"] = np.linspace(0, 1, 101)
        _READY["started"] = threading.get_ident()
    return _fresh(database, rng) + 0.0 * _READY["quantiles"][50]


def answers_kept_by_the_generators_state(database, rng):
    """A cache whose key holds the randomness gives what a fresh call gives."""
    state = rng.bit_generator.state
    fresh = _fresh(database, rng)
    return _READY.setdefault((tuple(database), repr(state)), fresh)


@functools.lru_cache(maxsize=16)
def _total(rows):
    return float(sum(rows))


def cached_sum(database, rng):
    return _total(tuple(database)) + rng.laplace()


def counter_nobody_reads(database, rng):
    _READY["calls"] = _READY.get("calls", 0) + 1
    return _fresh(database, rng)


# Linear algebra, whose sums are rounded by the shape of the call. -------------------------------


_MATRIX = np.random.default_rng(5).normal(size=(120, 120)) / 120
_WEIGHTS = np.ones(120)


def matrix_product(database, rng):
    noise = _MATRIX @ rng.normal(size=120)
    return _fresh(database, rng) + 1e-9 * float(noise.sum())


def rows_by_matrix_product(database, rng, *, size=None):
    """BLAS rounds one row in another way than many."""
    shape = () if size is None else (size,) if isinstance(size, int) else tuple(size)
    noise = 1e-9 * rng.random((*shape, 120)) @ _WEIGHTS
    return float(sum(database)) + rng.laplace(size=shape) + noise


def eigenvalues(database, rng):
    made = rng.normal(size=(12, 12))
    return _fresh(database, rng) + 1e-9 * float(np.linalg.eigh(made + made.T)[0][-1])


def sum_of_float32(database, rng):
    return _fresh(database, rng) + 1e-9 * float(rng.random(20_000, dtype=np.float32).sum())


# Sets, hashes and values that are hard to compare. ----------------------------------------------


def set_of_texts_inside(database, rng):
    words = {f"word {i}" for i in range(30)}
    return _fresh(database, rng) + 0.0 * len("".join(words))


def set_as_output(database, rng):
    answer = round(_fresh(database, rng))
    return {f"at least {k}" for k in range(-5, 6) if answer >= k}


def hash_of_numbers(database, rng):
    return _fresh(database, rng) + 0.0 * (hash(tuple(database)) % 7)


def large_integers(database, rng):
    return 10**40 * round(_fresh(database, rng))


def none_nan_and_negative_zero(database, rng):
    answer = _fresh(database, rng)
    return None if answer > 2 else math.nan if answer < -2 else -0.0 if answer < 0 else answer


def numpy_text(database, rng):
    return np.str_("many" if _fresh(database, rng) > 0.5 else "few")


def exceptions(database, rng):
    answer = _fresh(database, rng)
    if answer > 3:
        raise ValueError("too large")
    return answer


@dataclass
class Release:
    """An object of the mechanism's own."""

    count: float
    note: str


def own_object(database, rng):
    return Release(_fresh(database, rng), "released")


def data_frame(database, rng):
    pandas = importlib.import_module("pandas")
    return pandas.DataFrame({"count": [_fresh(database, rng)], "unit": ["rows"]})


def two_parts(database, rng):
    return [_fresh(database, rng), _fresh(database, rng)]


def database_sorted_in_place(database, rng):
    database.sort()
    return _fresh(database, rng)


# Memory that is used again and says nothing. ----------------------------------------------------

_OUT, _VIEWED, _DICT = np.zeros(3), np.zeros(6), {}


def output_array_reused(database, rng):
    _OUT[:] = _fresh(database, rng)
    return _OUT


def view_of_a_reused_array(database, rng):
    _VIEWED[:3] = _fresh(database, rng)
    return _VIEWED[:3]


def dictionary_reused(database, rng):
    _DICT["count"], _DICT["again"] = _fresh(database, rng), _fresh(database, rng)
    return _DICT


_SCRATCH = []


def scratch_list(database, rng):
    _SCRATCH.clear()
    _SCRATCH.extend(database)
    _SCRATCH.append(rng.laplace())
    return float(sum(_SCRATCH))


# Generators made of the one that is given. ------------------------------------------------------


def spawned(database, rng):
    return float(sum(database)) + rng.spawn(2)[1].laplace()


def spawned_from_seeds(database, rng):
    child = rng.bit_generator.seed_seq.spawn(1)[0]
    return float(sum(database)) + np.random.default_rng(child).laplace()


def spawned_threads(database, rng):
    made = [0.0, 0.0]

    def draw(place, child):
        made[place] = child.laplace()

    threads = [
        threading.Thread(target=draw, args=(place, child))
        for place, child in enumerate(rng.spawn(2))
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return float(sum(database)) + made[0]


def child_generator(database, rng):
    return float(sum(database)) + np.random.default_rng(int(rng.integers(2**63))).laplace()


def legacy_state_on_the_bits(database, rng):
    return float(sum(database)) + np.random.RandomState(rng.bit_generator).laplace()


def numpy_seeded_at_each_call(database, rng):
    np.random.seed(int(rng.integers(2**32)))  # noqa: NPY002
    return float(sum(database)) + np.random.laplace()  # noqa: NPY002


def random_seeded_at_each_call(database, rng):
    random.seed(int(rng.integers(2**60)))
    u = random.random()
    return float(sum(database)) + math.copysign(math.log(1 - 2 * abs(u - 0.5)), 0.5 - u)


def copied_generator(database, rng):
    return float(sum(database)) + copy.deepcopy(rng).laplace()


def pickled_generator(database, rng):
    return float(sum(database)) + pickle.loads(pickle.dumps(rng)).laplace()  # noqa: S301


def jumped_generator(database, rng):
    return float(sum(database)) + np.random.Generator(rng.bit_generator.jumped()).laplace()


def law_of_scipy(database, rng):
    return float(sum(database)) + float(stats.laplace.rvs(random_state=rng))


def bits_taken_directly(database, rng):
    u = (int(rng.bit_generator.random_raw()) % 2**52 + 0.5) / 2**52
    return float(sum(database)) + math.copysign(math.log(1 - 2 * abs(u - 0.5)), 0.5 - u)


def many_numbers_a_call(database, rng):
    """More of the stream than a few blocks: neighbouring calls must not overlap."""
    return float(sum(database)) + rng.laplace(size=3000)[-1]


# Settings and tables of the process, put back or read by nobody. ----------------------------------


def errors_of_numpy_ignored(database, rng):
    with np.errstate(divide="ignore"):
        return _fresh(database, rng) + 0.0 * float(np.isinf(np.float64(1) / np.zeros(1))[0])


def variable_set_and_put_back(database, rng):
    os.environ["SUSPICIOUS"] = repr(rng.laplace())
    try:
        return float(sum(database)) + float(os.environ["SUSPICIOUS"])
    finally:
        del os.environ["SUSPICIOUS"]


_CONTEXT = contextvars.ContextVar("noise")


def context_variable_set_and_put_back(database, rng):
    token = _CONTEXT.set(rng.laplace())
    try:
        return float(sum(database)) + _CONTEXT.get()
    finally:
        _CONTEXT.reset(token)


def interned_texts(database, rng):
    word = sys.intern("".join(["rows ", str(len(database))]))
    return _fresh(database, rng) + 0.0 * len(word)


def context_of_decimals(database, rng):
    with decimal.localcontext() as context:
        context.prec = 40
        return float(decimal.Decimal(sum(database)) + decimal.Decimal(rng.laplace()))


def warns_at_each_call(database, rng):
    warnings.warn("it is slow", UserWarning, stacklevel=1)
    return _fresh(database, rng)


def logs_at_each_call(database, rng):
    logging.getLogger("suspicious").debug("a call on %d rows", len(database))
    return _fresh(database, rng)


def collects_garbage(database, rng):
    gc.disable()
    try:
        return _fresh(database, rng)
    finally:
        gc.collect(0)
        gc.enable()


class _Row:
    """An object whose end is noticed."""


def ends_are_counted(database, rng):
    for _ in range(3):
        weakref.finalize(_Row(), _READY.__setitem__, "ended", len(_READY))
    return _fresh(database, rng)


def time_is_taken(database, rng):
    begun = time.perf_counter()
    answer = _fresh(database, rng)
    _READY["seconds"] = _READY.get("seconds", 0.0) + time.perf_counter() - begun
    return answer


def process_is_noted(database, rng):
    _READY.setdefault("process", os.getpid())
    return _fresh(database, rng)


def _counted(function):
    """A decorator that counts in a cell of its own."""
    calls = 0

    @functools.wraps(function)
    def wrapped(database, rng):
        nonlocal calls
        calls += 1
        return function(database, rng)

    return wrapped


@_counted
def decorated(database, rng):
    return _fresh(database, rng)


# Buffers and generators below Python. -------------------------------------------------------------

_BUFFER = (ctypes.c_double * 8)()
_MAP = mmap.mmap(-1, mmap.PAGESIZE)
_VALUE = multiprocessing.RawValue("d")


def buffer_of_ctypes(database, rng):
    _BUFFER[len(database)] = rng.laplace()
    return float(sum(database)) + _BUFFER[len(database)]


def pages_that_forks_share(database, rng):
    """Written before they are read in every call."""
    _MAP[:8] = struct.pack("d", rng.laplace())
    return float(sum(database)) + struct.unpack("d", _MAP[:8])[0]


def value_of_multiprocessing(database, rng):
    _VALUE.value = rng.laplace()
    return float(sum(database)) + _VALUE.value


def scratch_file(database, rng):
    with tempfile.TemporaryFile() as file:
        file.write(struct.pack("d", rng.laplace()))
        file.seek(0)
        return float(sum(database)) + struct.unpack("d", file.read())[0]


def random_of_the_c_library_seeded_at_each_call(database, rng):
    library = ctypes.CDLL(None)
    library.srand(int(rng.integers(2**31)))
    u = (library.rand() + 0.5) / 2**31
    return float(sum(database)) + math.copysign(math.log(1 - 2 * abs(u - 0.5)), 0.5 - u)


def state_taken_back(database, rng):
    """The same number is drawn twice, on purpose."""
    state = rng.bit_generator.state
    first = rng.laplace()
    rng.bit_generator.state = state
    return float(sum(database)) + rng.laplace() + 0.0 * first


def sobol_points(database, rng):
    u = float(qmc.Sobol(1, scramble=True, seed=rng).random(1)[0, 0])
    u = min(max(u, 1e-12), 1 - 1e-12)
    return float(sum(database)) + math.copysign(math.log(1 - 2 * abs(u - 0.5)), 0.5 - u)


def rejection_until_one_fits(database, rng):
    while True:
        noise = rng.laplace()
        if rng.random() < 0.01:
            return float(sum(database)) + noise


# Threads, loops and tables of other libraries. ----------------------------------------------------


def pool_of_threads(database, rng):
    pool = _READY.setdefault("pool", None) or ThreadPoolExecutor(2)
    _READY["pool"] = pool
    made = list(pool.map(np.random.Generator.laplace, rng.spawn(2)))
    return float(sum(database)) + made[0]


async def _soon(value):
    await asyncio.sleep(0)
    return value


def loop_of_each_call(database, rng):
    return asyncio.run(_soon(_fresh(database, rng)))


def table_of_sqlite_in_memory(database, rng):
    if "table" not in _READY:
        _READY["table"] = sqlite3.connect(":memory:")
        _READY["table"].execute("create table rows (x real)")
    table = _READY["table"]
    table.execute("delete from rows")
    table.executemany("insert into rows values (?)", [(float(row),) for row in database])
    (total,) = table.execute("select total(x) from rows").fetchone()
    return total + rng.laplace()


def model_fitted_once(database, rng):
    """Weights that are the same whoever fits them, at the first call."""
    if "weights" not in _READY:
        made = np.random.default_rng(3).normal(size=(200, 20))
        _READY["weights"] = np.linalg.lstsq(made, made.sum(axis=1), rcond=None)[0]
    return _fresh(database, rng) + 1e-9 * float(_READY["weights"].sum())
