"""Runs of private multiplicative weights whose noise is chosen, margins read off them, pictures.

A case is a record of the data's rows, of queries and of noises. A query is a bit mask over the
elements; the number 2^bins stands for the query that the public distribution answers worst. Noises
are numbers in [-1, 1], in units of accuracy / 8: the accuracy theorem holds in the event that no
noise exceeds 1. A list that is shorter than the run is repeated from its start.

The pictures show the hardest hand-made run step by step. Each function that draws one takes the
claim about runs that the picture is of, with its parameters.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from math import inf, log
from typing import Any, TypedDict, Unpack

import numpy as np

from ..accounting.composition import bound
from ..model import Array, Axis, Interval, InvariantCase, InvariantClaim, Plot, Record, Rows, Series
from ..sparse_vector.above_threshold import ABOVE, HALTED
from .pmw import (
    most_updates,
    private_multiplicative_weights,
    private_multiplicative_weights_mechanism,
    scripted_noise,
    scripted_queries,
    worst_query,
)
from .pmw_updates import Dynamics, Update, expected, kl_divergence, multiplicative_update, replay

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


class Variant(TypedDict, total=False):
    """What of a run is not as it is shipped."""

    threshold: float | None
    learning_rate: float | None
    update: Update


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
    dynamics: Dynamics = {
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


def accuracy_margin(
    case: InvariantCase, *, bins: int, accuracy: float, **variant: Unpack[Variant]
) -> float:
    """3 accuracy / 4 less the largest error of an answer."""
    run = play(case, bins=bins, accuracy=accuracy, **variant)
    return float(3 * accuracy / 4 - np.nanmax(np.abs(run.answers - run.exact)))


def gap_margin(
    case: InvariantCase, *, bins: int, accuracy: float, **variant: Unpack[Variant]
) -> float:
    """The least error in the direction of an update, less accuracy / 4; inf without updates."""
    run = play(case, bins=bins, accuracy=accuracy, **variant)
    direction = np.where(run.answers > run.estimates, 1.0, -1.0)
    gaps = (direction * (run.exact - run.estimates))[run.top]
    return float(gaps.min(initial=inf) - accuracy / 4)


def drop_margin(
    case: InvariantCase, *, bins: int, accuracy: float, least: float, **variant: Unpack[Variant]
) -> float:
    """The least drop of the potential in an update, less `least`; inf without updates."""
    run = play(case, bins=bins, accuracy=accuracy, **variant)
    drops = (run.potential[:-1] - run.potential[1:])[run.top]
    return float(drops.min(initial=inf) - least)


def count_margin(
    case: InvariantCase,
    *,
    bins: int,
    accuracy: float,
    most: Callable[..., int] = most_updates,
    **variant: Unpack[Variant],
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


def mass_margin(
    case: InvariantCase, *, bins: int, accuracy: float, **variant: Unpack[Variant]
) -> float:
    """Minus the largest distance of the distribution's total from 1."""
    run = play(case, bins=bins, accuracy=accuracy, **variant)
    return -float(np.abs(run.mass - 1).max())


CASE = "The run of the hand-made cases that comes nearest to the bound, noise at the event's edge."


def hardest_run(claim: InvariantClaim, *, bins: int, accuracy: float) -> Played:
    """The run of the example with the least margin that updates more than once, if one does."""
    cases = sorted(claim.examples, key=claim.margin)
    runs = (play(case, bins=bins, accuracy=accuracy) for case in cases)
    found = next((run for run in runs if np.count_nonzero(run.top) > 1), None)
    return found or play(cases[0], bins=bins, accuracy=accuracy)


def potential_plot(
    share: float, name: str, claim: InvariantClaim, *, bins: int, accuracy: float
) -> Plot:
    """KL(data || public) after each update; every update must take `share` accuracy^2 off."""
    run, drop = hardest_run(claim, bins=bins, accuracy=accuracy), share * accuracy**2
    after = np.concatenate([run.potential[:1], run.potential[1:][run.top]])
    updates, drops = np.arange(len(after)), after[:-1] - after[1:]
    too_flat = [int(drops.argmin()) + 1] if len(drops) and drops.min() < drop else []
    return Plot(
        key="potential",
        title="The potential falls",
        caption=(
            f"{CASE} The curve must fall by {drop:.4g} nats or more with every update: it may "
            "nowhere be flatter than the dashed line."
        ),
        x=Axis(label="updates made", low=0, whole=True),
        y=Axis(label="KL(data ‖ public), nats", low=0, high=1.08 * max(float(after[0]), 1e-9)),
        series=(
            Series(
                meaning="bound", x=updates, y=after[0] - drop * updates,
                label=f"bound: {name} less each update",
            ),
            Series(meaning="measured", x=updates, y=after, style="marked", label="potential"),
            Series(meaning="counterexample", x=updates[too_flat], y=after[too_flat]),
        ),
    )  # fmt: skip


def updates_plot(
    share: float,
    name: str,
    claim: InvariantClaim,
    *,
    bins: int,
    accuracy: float,
    by_loss: bool = True,
) -> Plot:
    """Updates so far against queries asked, and the caps on their number.

    The cap is `share` ln(bins) / accuracy^2 in all and, with `by_loss`, `share` / accuracy^2 for
    each nat of KL lost.
    """
    run = hardest_run(claim, bins=bins, accuracy=accuracy)
    made = np.cumsum(run.top)
    steps = np.arange(1, len(made) + 1)
    cap = share * log(bins) / accuracy**2
    over = np.flatnonzero(made > cap)[:1]
    lost = Series(
        meaning="bound", x=steps, y=share / accuracy**2 * (run.potential[0] - run.potential[1:]),
        style="dotted", label="by the KL lost",
    )  # fmt: skip
    return Plot(
        key="updates",
        title="Updates and their cap",
        caption=f"{CASE} Its updates so far may not be more than {cap:.4g}.",
        x=Axis(label="queries asked", low=0, high=len(made), whole=True),
        y=Axis(label="updates", low=0.8, high=2 * max(cap, float(made[-1])), log=True),
        series=(
            _level(len(made), cap, f"bound: {name}"),
            Series(meaning="measured", x=steps, y=made, style="steps", label="updates"),
            *([lost] if by_loss else []),
            Series(meaning="counterexample", x=steps[over], y=made[over]),
        ),
    )


def answers_plot(claim: InvariantClaim, *, bins: int, accuracy: float) -> Plot:
    """The error of every answer of a run, and the accuracy promised."""
    run = hardest_run(claim, bins=bins, accuracy=accuracy)
    errors = np.abs(run.answers - run.exact)
    updated = run.top & np.isfinite(errors)
    return _step_by_step(
        "answers",
        f"{CASE} No answer may err by more than 3/4 of the accuracy {accuracy:g}.",
        "error of the answer",
        0.75 * accuracy,
        Series(meaning="measured", x=_steps(errors), y=errors, style="dots", label="every query"),
        _at_updates(errors, updated),
    )


def gaps_plot(claim: InvariantClaim, *, bins: int, accuracy: float) -> Plot:
    """The error of the public answer at every update, in the direction it is moved."""
    run = hardest_run(claim, bins=bins, accuracy=accuracy)
    gaps = np.where(run.answers > run.estimates, 1.0, -1.0) * (run.exact - run.estimates)
    return _step_by_step(
        "gaps",
        f"{CASE} At an update the public answer must err by a quarter of the accuracy "
        f"{accuracy:g} or more.",
        "gap, in the direction moved",
        accuracy / 4,
        _at_updates(gaps, run.top),
    )


def _step_by_step(key: str, caption: str, name: str, bound: float, *shown: Series) -> Plot:
    last = max(int(one.x[-1]) for one in shown)
    return Plot(
        key=key,
        title="Step by step",
        caption=caption,
        x=Axis(label="query", low=0, high=last + 1),
        y=Axis(label=name, low=0),
        series=(_level(last + 1, bound, "bound"), *shown),
    )


def _at_updates(values: Array, updated: Array) -> Series:
    shown = np.where(updated, values, np.nan)
    return Series(
        meaning="measured", x=_steps(values), y=shown, style="points", label="with an update"
    )


def _steps(values: Array) -> Array:
    return np.arange(1, len(values) + 1)


def _level(last: float, value: float, label: str) -> Series:
    return Series(meaning="bound", x=np.array([0, last]), y=np.array([value, value]), label=label)
