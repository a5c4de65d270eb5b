"""Counts and sums of people, each a pure function of (database, rng)."""

import numpy as np

from dpwitness.mechanisms.model import Interval, Rows

PEOPLE = Rows(row=Interval(low=0, high=2, integer=True))
AGES = Rows(row=Interval(low=0, high=100), max_size=20)


def _shape(size):
    return () if size is None else np.shape(np.empty(size))


def noisy_count(people, rng, *, size=None):
    """The number of people with two-sided geometric noise: epsilon 1 under add-remove."""
    decay = 1 - np.exp(-1.0)
    shape = _shape(size)
    return len(people) + rng.geometric(decay, shape) - rng.geometric(decay, shape)


def noisy_histogram(people, rng, *, size=None):
    """How many people are of each of three kinds, Laplace noise: epsilon 0.5 under add-remove."""
    counts = np.bincount(np.asarray(people, dtype=int), minlength=3)
    return counts + rng.laplace(scale=2.0, size=(*_shape(size), 3))


def clipped_sum(ages, rng, *, size=None):
    """The sum of ages clipped to 80, Laplace noise: epsilon 1 under add-remove."""
    return np.clip(np.asarray(ages, dtype=float), 0, 80).sum() + rng.laplace(
        scale=80.0, size=_shape(size)
    )


def clipped_mean(ages, rng, *, size=None):
    """Clipped sum over noisy count, half of epsilon 2 each, under add-remove."""
    total = clipped_sum(ages, rng, size=size)
    return total / np.maximum(1.0, len(ages) + rng.laplace(size=_shape(size)))


def is_empty(people, rng, *, size=None):
    """Whether the noisy count is below one half: epsilon 1 under add-remove."""
    return noisy_count(people, rng, size=size) < 0.5


def noisy_maximum_age(ages, rng, *, size=None):
    """The largest age plus noise for one year, which is BROKEN: one person can move it by 100."""
    return max(ages, default=0.0) + rng.laplace(scale=1.0, size=_shape(size))
