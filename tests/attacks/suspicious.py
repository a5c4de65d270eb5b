"""Sound mechanisms that look as if they broke the contract: each call is a function of its two
arguments, in any order and process.

The output is the sum with Laplace noise of scale 1, or is made of it: numbers of another law stand
in `OTHER_LAW`, and `PROMISE` has the epsilon if it is not 1.
"""

import copy
import functools
import importlib
import math
import pickle
import random
import threading
from dataclasses import dataclass

import numpy as np
from scipy import stats

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
