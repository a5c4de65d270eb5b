"""Runs of private multiplicative weights whose noise is chosen, and margins read off them.

A case is a record of the data's rows, of queries and of noises. A query is a bit mask over the
elements; the number 2^bins stands for the query that the public distribution answers worst. Noises
are numbers in [-1, 1], in units of accuracy / 8: the accuracy theorem holds in the event that no
noise exceeds 1. A list that is shorter than the run is repeated from its start.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from math import inf
from typing import Any

import numpy as np

from ..accounting.spending import bound
from ..model import Array, Interval, InvariantCase, Record, Rows
from ..sparse_vector.sparse_vector_law import ABOVE, HALTED
from .pmw import private_multiplicative_weights, private_multiplicative_weights_mechanism
from .pmw_adversaries import scripted_noise, scripted_queries, worst_query
from .pmw_bounds import most_updates
from .pmw_updates import Update, expected, kl_divergence, multiplicative_update, replay

LENGTH = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One run: arrays over its steps, and over its steps and the end for what has an end.

    `exact` and `answers` have shape (k,), `top` is where the distribution was updated, `mass`
    and `potential`, of shape (k + 1,), are its total and the divergence of the data from it.
    """

    exact: Array
    estimates: Array
    answers: Array
    top: Array
    mass: Array
    potential: Array


def case_domain(*, bins: int) -> Record:
    """Cases over `bins` elements."""
    noises = Rows(row=Interval(low=-1, high=1), min_size=1, max_size=6)
    return Record(
        fields={
            "rows": Rows(row=Interval(low=0, high=bins - 1, integer=True), min_size=1, max_size=12),
            "queries": Rows(
                row=Interval(low=0, high=2**bins, integer=True), min_size=1, max_size=6
            ),
            "threshold": noises,
            "query": noises,
            "answer": noises,
        }
    )


def near_edge(*, bins: int) -> tuple[dict[str, object], ...]:
    """Cases in which the noise helps the adversary as much as the event allows."""
    worst = 2**bins
    return tuple(
        {"rows": rows, "queries": queries, "threshold": [t], "query": [-t], "answer": [a]}
        for rows in ([0], [0, 0, 0, 1], [0, 1, 1, 1, 2, 2], list(range(bins)))
        for queries in ([worst], [worst, 1], [1, worst - 2])
        for t in (-1.0, 1.0)
        for a in (-1.0, 1.0)
    )


@lru_cache
def _shipped(accuracy: float) -> Mapping[str, Any]:
    """What the mechanism is bound to at this accuracy, whatever its data."""
    return bound(
        private_multiplicative_weights_mechanism(
            queries=worst_query, length=1, bins=2, records=1, accuracy=accuracy, updates=1,
            epsilon=1.0,
        )
    )  # fmt: skip


def play(
    case: InvariantCase,
    *,
    bins: int,
    accuracy: float,
    threshold: float | None = None,
    learning_rate: float | None = None,
    update: Update = multiplicative_update,
) -> Played:
    """The run of a case; threshold and learning rate are those that are shipped unless given."""
    shipped = _shipped(accuracy)
    counts = np.bincount(np.asarray(case["rows"], dtype=np.int64), minlength=bins)
    dynamics: dict[str, Any] = {
        "queries": partial(scripted_queries, masks=case["queries"]),
        "learning_rate": shipped["learning_rate"] if learning_rate is None else learning_rate,
        "update": update,
    }
    transcript = private_multiplicative_weights(
        counts,
        np.random.default_rng(0),
        length=LENGTH,
        threshold=shipped["threshold"] if threshold is None else threshold,
        noise_epsilon=1.0,
        updates=LENGTH,
        noise=partial(scripted_noise, script=case, limit=accuracy / 8),
        **dynamics,
    )
    truth = counts / counts.sum()
    states = [
        (expected(query, truth), expected(query, synthetic[0]), synthetic[0])
        for query, synthetic in replay(truth, transcript[None], **dynamics)
    ]
    synthetics = np.array([synthetic for _, _, synthetic in states])
    return Played(
        exact=np.array([np.ravel(exact)[0] for exact, _, _ in states[:-1]]),
        estimates=np.array([np.ravel(estimate)[0] for _, estimate, _ in states[:-1]]),
        answers=np.where(transcript[:, 0] == HALTED, np.nan, transcript[:, 1]),
        top=transcript[:, 0] == ABOVE,
        mass=synthetics.sum(axis=-1),
        potential=kl_divergence(truth, synthetics),
    )


def accuracy_margin(case: InvariantCase, *, accuracy: float, **variant: Any) -> float:
    """3 accuracy / 4 less the largest error of an answer."""
    run = play(case, accuracy=accuracy, **variant)
    return float(3 * accuracy / 4 - np.nanmax(np.abs(run.answers - run.exact)))


def gap_margin(case: InvariantCase, *, accuracy: float, **variant: Any) -> float:
    """The least error in the direction of an update, less accuracy / 4; inf without updates."""
    run = play(case, accuracy=accuracy, **variant)
    direction = np.where(run.answers > run.estimates, 1.0, -1.0)
    gaps = (direction * (run.exact - run.estimates))[run.top]
    return float(gaps.min(initial=inf) - accuracy / 4)


def drop_margin(case: InvariantCase, *, least: float, **variant: Any) -> float:
    """The least drop of the potential in an update, less `least`; inf without updates."""
    run = play(case, **variant)
    drops = (run.potential[:-1] - run.potential[1:])[run.top]
    return float(drops.min(initial=inf) - least)


def count_margin(
    case: InvariantCase,
    *,
    bins: int,
    accuracy: float,
    most: Callable[..., int] = most_updates,
    **variant: Any,
) -> float:
    """The share that is left of the updates that the potential allows, in all and for its loss."""
    run = play(case, bins=bins, accuracy=accuracy, **variant)
    updates = int(np.count_nonzero(run.top))
    if not updates:
        return 1.0
    lost = float(run.potential[0] - run.potential[-1])
    by_loss = updates * accuracy**2 / (64 * lost) if lost > 0 else inf
    allowed = most(bins=bins, accuracy=accuracy)
    return 1 - max(updates / allowed if allowed else inf, by_loss)


def mass_margin(case: InvariantCase, **variant: Any) -> float:
    """Minus the largest distance of the distribution's total from 1."""
    return -float(np.abs(play(case, **variant).mass - 1).max())
