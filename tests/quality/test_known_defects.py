"""Defects that real libraries had, each in a few lines of our own, beside the form without it.

What each audit is told is the claim and what databases look like, as for the libraries themselves
(tests/real). A mended form is refuted by luck with probability at most 1e-3 for one seed; the seed
is fixed and was not chosen.
"""

import numpy as np
import pytest
from hypothesis import strategies as st

from dpwitness import audit
from dpwitness.auditors.attackers.seen import through_bits
from dpwitness.auditors.databases.neighbours import replace_one
from dpwitness.mechanisms.model import Choices, Mechanism, Value

pytestmark = pytest.mark.quality

E = np.e
OUTSIDE = st.lists(st.floats(-1000, 1000), min_size=2, max_size=12)
UNIT = st.lists(st.floats(0, 1), min_size=1, max_size=8)
BITS = Value(row=Choices(values=(0, 1)))


def unary(keep, lie, twice):
    """A bit for each of two values: set with `keep` for the true one and with `lie` otherwise."""

    def run(value, rng, *, size=None):
        shape = (() if size is None else (size,)) + (2,)
        true = np.arange(2) == value
        bits = rng.random(shape) < np.where(true, keep, lie)
        return bits | (true & (rng.random(shape) < lie)) if twice else bits

    return run


def mean(clip):
    def run(rows, rng, *, size=None):
        values = np.clip(rows, 0, 1) if clip else np.asarray(rows)
        return values.mean() + rng.laplace(scale=1 / len(rows), size=size)

    return run


def clipped_mean(clip):
    """The answer alone is clipped, so a value far outside shows as an atom at the end."""
    inner = mean(clip)
    return lambda rows, rng, *, size=None: np.clip(inner(rows, rng, size=size), 0, 1)


def covariance(forget):
    """The variance of values in [0, 1]; a clip into a variable that nobody reads."""

    def run(rows, rng, *, size=None):
        raw = np.asarray(rows)
        clipped = np.clip(raw, 0, 1)
        used = raw if forget else clipped
        return used.var() + rng.laplace(scale=1 / len(rows), size=size)

    return run


def moments(low, high, epsilon, wrong):
    """The second moment of values in [low, high]; the sensitivity takes one bound twice."""
    sensitivity = low**2 - low**2 if wrong else max(low**2, high**2)

    def run(rows, rng, *, size=None):
        total = float(np.square(np.clip(rows, low, high)).sum())
        return total + rng.laplace(scale=sensitivity / epsilon, size=size)

    return run


def vector(shared):
    """The mean of two columns of bits; a record moves the mean by at most 2 / n in all."""

    def run(rows, rng, *, size=None):
        shape = () if size is None else (size,)
        noise = rng.laplace(scale=2 / len(rows), size=(*shape, 1 if shared else 2))
        return np.mean(rows, axis=0) + noise

    return run


def quantile(scale):
    """The middle of four numbers by a noisy maximum of a score that may fall or rise by 1."""
    candidates = np.arange(4)

    def run(rows, rng, *, size=None):
        below = np.sum(np.asarray(rows)[:, None] < candidates, axis=0)
        score = -np.abs(below - len(rows) / 2)
        shape = (() if size is None else (size,)) + (4,)
        return candidates[np.argmax(score + rng.laplace(scale=scale, size=shape), axis=-1)]

    return run


def grid(value, rng, *, size=None):
    """Integer noise on a grid that nobody's data chose."""
    size = () if size is None else size
    q = 1 - np.exp(-1 / 64)
    return np.round(value * 64) / 64 + (rng.geometric(q, size) - rng.geometric(q, size)) / 64


def real(value, rng, *, size=None):
    return value + rng.laplace(size=size)


def bits(run):
    return through_bits(Mechanism(name="noise", run=run))


rows = {"relation": "replace-one"}
keep = np.sqrt(E) / (1 + np.sqrt(E))
CASES = {
    "noise with the bits of the value": (bits(real), bits(grid), {"pair": (0.0, 1.0)}),
    "the true bit is set twice": (
        unary(keep, 1 - keep, True), unary(keep, 1 - keep, False), {"databases": BITS, **rows},
    ),
    "the true bit is set twice, optimised": (
        unary(0.5, 1 / (1 + E), True), unary(0.5, 1 / (1 + E), False), {"databases": BITS, **rows},
    ),
    "no clip": (clipped_mean(False), clipped_mean(True), {"databases": OUTSIDE, **rows}),
    "clipped into another variable": (
        covariance(True), covariance(False), {"databases": OUTSIDE, **rows},
    ),
    "one bound taken twice": (
        moments(0, 1, 1, True), moments(0, 1, 1, False), {"databases": UNIT, **rows},
    ),
    "one noise for all coordinates": (
        vector(True), vector(False),
        {"databases": st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=2,
                               max_size=6), **rows},
    ),
    "half of the noise that a score without a direction needs": (
        quantile(1.0), quantile(2.0),
        # At 20,000 trials the search misses the worst pair at two seeds of ten.
        {"databases": replace_one(st.lists(st.floats(-1, 4), min_size=2, max_size=6)),
         "trials": 200_000, **rows},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_defect_is_refuted_and_the_mended_form_is_not(name):
    defect, mended, options = CASES[name]
    options = {"epsilon": 1.0, "trials": 20_000, **options}
    found = audit(defect, **options)
    assert found.refuted, found
    assert not audit(mended, **options).refuted
