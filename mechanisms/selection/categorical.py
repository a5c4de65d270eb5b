"""Many draws from one finite law: the exponential mechanism when all runs have the same scores."""

import numpy as np

from ..model import Array


def normalised(logits: Array) -> Array:
    """Log-probabilities, in nats, proportional to exp(logits), along the last axis."""
    logits = logits - logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def draw_index(logits: Array, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Independent indices of the last axis with probability proportional to exp(logits).

    `logits` has shape (m,). One uniform number each, looked up in the distribution function:
    the cost does not grow with m as that of m noises would.
    """
    steps = np.cumsum(np.exp(normalised(np.asarray(logits, dtype=float))))
    # Below the last step, whatever its rounding, so that no index is out of range.
    return np.searchsorted(steps[:-1], rng.random(shape) * steps[-1], side="right")
