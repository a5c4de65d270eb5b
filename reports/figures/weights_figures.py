"""Private multiplicative weights, step by step, on the hardest of its hand-made runs."""

from math import log
from typing import Any

import numpy as np

from ...mechanisms.model import InvariantClaim
from ...mechanisms.multiplicative_weights.pmw_cases import Played, play
from ..faces.svg import few_ticks
from ..reproduce.statements import Statement
from . import marks
from .marks import Drawn

CASE = "The run of the hand-made cases that comes nearest to the bound, noise at the event's edge."


def _hardest(statement: Statement) -> tuple[Played, float]:
    """The run of the example with the least margin that updates at all, and the accuracy."""
    claim, parameters = statement.claim, statement.parameters
    assert isinstance(claim, InvariantClaim)
    cases = sorted(claim.examples, key=claim.margin)
    bins, accuracy = round(parameters["bins"]), parameters["accuracy"]
    runs = (play(case, bins=bins, accuracy=accuracy) for case in cases)
    found = next((run for run in runs if np.count_nonzero(run.top) > 1), None)
    return found or play(cases[0], bins=bins, accuracy=accuracy), accuracy


def potential_figure(share: float, name: str, statement: Statement) -> Drawn:
    """KL(data || public) after each update; every update must take `share` accuracy^2 off."""
    run, accuracy = _hardest(statement)
    drop = share * accuracy**2
    after = np.concatenate([run.potential[:1], run.potential[1:][run.top]])
    updates = np.arange(len(after))

    def paint(axes: Any) -> None:
        allowed = after[0] - drop * updates
        marks.bound_curve(axes, updates, allowed, f"bound: {name} less each update")
        marks.measured_curve(axes, updates, after, "potential", marker="o", markersize=3)
        drops = after[:-1] - after[1:]
        if len(drops) and drops.min() < drop:
            worst = int(drops.argmin()) + 1
            marks.counterexample(axes, worst, after[worst])
        axes.set_xlim(left=0)
        axes.set_ylim(0, 1.08 * max(float(after[0]), 1e-9))
        axes.xaxis.set_major_locator(few_ticks(whole=True))
        axes.set_xlabel("updates made")
        axes.set_ylabel("KL(data ‖ public), nats")

    return Drawn(
        key="potential",
        title="The potential falls",
        caption=(
            f"{CASE} The curve must fall by {drop:.4g} nats or more with every update: it may "
            "nowhere be flatter than the dashed line."
        ),
        paint=paint,
    )


def updates_figure(share: float, name: str, statement: Statement) -> Drawn:
    """Updates so far against queries asked, and the caps on their number."""
    run, accuracy = _hardest(statement)
    made = np.cumsum(run.top)
    steps = np.arange(1, len(made) + 1)
    cap = share * log(round(statement.parameters["bins"])) / accuracy**2
    by_loss = share / accuracy**2 * (run.potential[0] - run.potential[1:])

    def paint(axes: Any) -> None:
        marks.bound_level(axes, cap, f"bound: {name}")
        marks.measured_curve(axes, steps, made, "updates", drawstyle="steps-post")
        if statement.theorem.holds:
            axes.plot(
                steps, by_loss, color=marks.BOUND, linewidth=1.2, linestyle=(0, (1, 1.5)),
                label="by the KL lost",
            )  # fmt: skip
        over = np.flatnonzero(made > cap)
        if len(over):
            marks.counterexample(axes, steps[over[0]], made[over[0]])
        top = max(cap, float(made[-1]))
        marks.log_axis(axes, "y", 0.8, 2 * top)
        axes.set_xlim(0, len(made))
        axes.xaxis.set_major_locator(few_ticks(whole=True))
        axes.set_xlabel("queries asked")
        axes.set_ylabel("updates")

    return Drawn(
        key="updates",
        title="Updates and their cap",
        caption=f"{CASE} Its updates so far may not be more than {cap:.4g}.",
        paint=paint,
    )


def answers_figure(statement: Statement) -> Drawn:
    """The error of every answer of a run, and the accuracy promised."""
    run, accuracy = _hardest(statement)
    errors = np.abs(run.answers - run.exact)
    return _steps(
        run,
        errors,
        np.isfinite(errors),
        0.75 * accuracy,
        "error of the answer",
        "answers",
        f"{CASE} No answer may err by more than 3/4 of the accuracy {accuracy:g}.",
    )


def gaps_figure(statement: Statement) -> Drawn:
    """The error of the public answer at every update, in the direction it is moved."""
    run, accuracy = _hardest(statement)
    gaps = np.where(run.answers > run.estimates, 1.0, -1.0) * (run.exact - run.estimates)
    return _steps(
        run,
        gaps,
        run.top,
        accuracy / 4,
        "gap, in the direction moved",
        "gaps",
        f"{CASE} At an update the public answer must err by a quarter of the accuracy "
        f"{accuracy:g} or more.",
    )


def _steps(
    run: Played, values: Any, shown: Any, bound: float, name: str, key: str, caption: str
) -> Drawn:
    steps = np.arange(1, len(values) + 1)

    def paint(axes: Any) -> None:
        marks.bound_level(axes, bound)
        updated = shown & run.top
        if not updated[shown].all():
            marks.measured_curve(
                axes, steps[shown], values[shown], "every query", marker="o", markersize=2.5,
                linestyle="none",
            )  # fmt: skip
        marks.measured_points(axes, steps[updated], values[updated], label="with an update")
        marks.room_above(axes, bound, *values[shown])
        axes.set_xlim(0, len(values) + 1)
        axes.set_xlabel("query")
        axes.set_ylabel(name)

    return Drawn(key=key, title="Step by step", caption=caption, paint=paint)
