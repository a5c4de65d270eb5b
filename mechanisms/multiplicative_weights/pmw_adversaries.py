"""Who asks the queries of private multiplicative weights, and where its noise comes from.

A stream of queries is a function (step, synthetic, truth): `synthetic` of shape (runs, bins) is
the public distribution of every run, `truth` of shape (bins,) the private one. It returns 0/1
queries of shape (bins,) or (runs, bins). Privacy is promised against streams that leave `truth`
alone, accuracy against every stream.

A source of noise is a function (rng, step, scale, part, count) that returns `count` noises for
the part "threshold", "query" or "answer" at a step.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..model import Array

Noise = Callable[..., Array]
"""(rng, step, scale, part, count) -> noises of shape (count,)."""


def asked_in_turn(step: int, synthetic: Array, truth: Array, *, elements: Sequence[int]) -> Array:
    """Ask for the share of one element of the domain, `elements[step]`."""
    query = np.zeros(truth.shape)
    query[elements[step]] = 1.0
    return query


def lightest_element(step: int, synthetic: Array, truth: Array) -> Array:
    """Ask for the share of the element that has least public weight, the first of several.

    It adapts to the answers and knows nothing else.
    """
    return np.eye(synthetic.shape[-1])[synthetic.argmin(axis=-1)]


def worst_query(step: int, synthetic: Array, truth: Array) -> Array:
    """Ask the counting query, of all 2^bins, on which the public distribution errs most.

    The largest sum of differences over a set is that of all positive ones, or, with the same
    size, of all negative ones.
    """
    return (truth > synthetic).astype(float)


def query_of_gap(step: int, synthetic: Array, truth: Array, *, gap: float) -> Array:
    """Ask a query on which the public distribution errs by nearly `gap`.

    Of the elements that it undervalues the query has the least undervalued ones, as many as keep
    the error within `gap`, and one at least. Until an update is made the query is the same, so
    that the noises of the comparisons get one chance after another.
    """
    short = np.maximum(truth - synthetic, 0.0)
    order = np.argsort(short, axis=-1)
    rising = np.take_along_axis(short, order, axis=-1)
    error = np.cumsum(rising, axis=-1)
    taken = (rising > 0) & ((error <= gap) | (error == rising))
    query = np.zeros(short.shape)
    np.put_along_axis(query, order, taken.astype(float), axis=-1)
    return query


def shaving_query(step: int, synthetic: Array, truth: Array, *, gap: float) -> Array:
    """Ask for all elements but the most overvalued ones, as few as err by `gap` together.

    With many elements the error is little above `gap` until the public distribution is good
    everywhere, so that every update helps as little as it can.
    """
    over = np.maximum(synthetic - truth, 0.0)
    order = np.argsort(-over, axis=-1)
    falling = np.take_along_axis(over, order, axis=-1)
    query = np.ones(over.shape)
    left_out = np.cumsum(falling, axis=-1) - falling < gap
    np.put_along_axis(query, order, 1.0 - left_out, axis=-1)
    return query


def scripted_queries(step: int, synthetic: Array, truth: Array, *, masks: Sequence[int]) -> Array:
    """Ask the queries with these bit masks, over and over; a mask of 2^bins asks `worst_query`."""
    mask = masks[step % len(masks)]
    if mask >= 2 ** len(truth):
        return worst_query(step, synthetic, truth)
    return ((mask >> np.arange(len(truth))) & 1).astype(float)


def laplace_noise(
    rng: np.random.Generator, step: int, scale: float, part: str, count: int
) -> Array:
    """Fresh Laplace noise of the given scale for every part."""
    return rng.laplace(scale=scale, size=count)


def no_query_noise(
    rng: np.random.Generator, step: int, scale: float, part: str, count: int
) -> Array:
    """Laplace noise on the thresholds and answers, none on the comparisons."""
    return np.zeros(count) if part == "query" else laplace_noise(rng, step, scale, part, count)


def scripted_noise(
    rng: np.random.Generator,
    step: int,
    scale: float,
    part: str,
    count: int,
    *,
    script: dict[str, Any],
    limit: float,
) -> Array:
    """Noise read from `script[part]`, numbers in [-1, 1] in units of `limit`, over and over."""
    shares = script[part]
    return np.full(count, limit * shares[step % len(shares)])
