"""Choices among a few answers, each a pure function of (database, rng)."""

import numpy as np

from dpwitness.mechanisms.model import Choices, Rows, Value

VOTES = Rows(row=Choices(values=(0, 1, 2)))
ANSWERS = Value(row=Choices(values=("no", "yes")))


def _shape(size):
    return () if size is None else np.shape(np.empty(size))


def _votes(votes):
    return np.bincount(np.asarray(votes, dtype=int), minlength=3)


def favourite(votes, rng, *, size=None):
    """The exponential mechanism over vote counts: epsilon 1 under replace-one."""
    return np.argmax(_votes(votes) / 2 + rng.gumbel(size=(*_shape(size), 3)), axis=-1)


def noisy_favourite(votes, rng, *, size=None):
    """Report noisy max of vote counts, Laplace noise: epsilon 1 under replace-one."""
    return np.argmax(_votes(votes) + rng.laplace(scale=2.0, size=(*_shape(size), 3)), axis=-1)


def honest_answer(answer, rng, *, size=None):
    """Randomized response: epsilon 1 under replace-one."""
    keep = rng.random(_shape(size)) < np.e / (1 + np.e)
    other = {"no": "yes", "yes": "no"}[answer]
    return np.where(keep, answer, other)[()]


def any_vote(votes, rng, *, size=None):
    """Whether anybody voted for 1, told through randomized response: epsilon 1."""
    return honest_answer("yes" if 1 in votes else "no", rng, size=size)
