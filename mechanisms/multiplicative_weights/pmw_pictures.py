"""Private multiplicative weights in pictures, step by step, on its hardest hand-made run.

Every function here takes the claim about runs that the picture is of, with its parameters.
"""

from math import log

import numpy as np

from ..model import Array, Axis, InvariantClaim, Plot, Series
from .pmw_cases import Played, play

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
