"""Gradient descent in pictures: the excess loss against the number of steps."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..model import Axis, ExpectationClaim, Plot, Series, Subject
from .gradient_cases import excess_margin, far_starts
from .gradient_descent import balanced_step_size, excess_bound

STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 25, 36, 50, 70, 100)
LEAST = 1e-4
"""An excess below this is drawn at the lower edge."""


def excess_plot(
    most: int,
    *,
    dimension: int,
    diameter: float,
    lipschitz: float,
    steps: int,
    step_size: float | None = None,
    bound: Callable[..., float] = excess_bound,
    with_start: bool = True,
) -> Plot:
    """The largest excess over the hand-made cases at each number of steps up to `most`.

    The parameters are those of `excess_margin`; `steps` plays no part.
    """
    cases, counts = far_starts(dimension=dimension), [count for count in STEPS if count <= most]
    setting: dict[str, Any] = {"diameter": diameter, "lipschitz": lipschitz}
    allowed = np.array(
        [
            bound(
                diameter=diameter,
                square_norm=lipschitz**2,
                step_size=step_size or balanced_step_size(**setting, steps=count),
                steps=count,
            )
            for count in counts
        ]
    )
    setting |= {"step_size": step_size, "bound": bound, "with_start": with_start}
    margins = [
        min(excess_margin(case, steps=count, **setting) for case in cases) for count in counts
    ]
    excess, x = allowed - margins, np.array(counts)
    worst = [int(np.argmin(margins))] if min(margins) < -1e-9 else []
    return _plot(
        f"The excess of the average over the minimum, the worst of {len(cases)} hand-made cases "
        "at each T; it may not be above the bound.",
        Series(meaning="bound", x=x, y=allowed),
        Series(
            meaning="measured", x=x, y=np.maximum(excess, LEAST), style="marked",
            label="worst hand-made case",
        ),
        Series(meaning="counterexample", x=x[worst], y=excess[worst]),
    )  # fmt: skip


def mean_excess_plot(subject: Callable[[int], Subject], counts: Sequence[int]) -> Plot:
    """The mean excess at several numbers of steps, to be measured, and the bound.

    `subject(steps)` is the noisy descent of so many steps, with the claim about its excess.
    """
    means: dict[float, Subject] = {steps: subject(steps) for steps in counts}
    return _plot(
        "The mean excess of the average over the minimum at each T, step size and noise chosen "
        "for it; it may not be above the bound.",
        Series(
            meaning="bound",
            x=np.array(counts),
            y=np.array([_bound(one) for one in means.values()]),
        ),
        means=means,
    )


def _bound(subject: Subject) -> float:
    assert isinstance(subject.claim, ExpectationClaim)
    return subject.claim.bound


def _plot(caption: str, *series: Series, means: Mapping[float, Subject] | None = None) -> Plot:
    return Plot(
        key="excess",
        title="Excess loss and steps",
        caption=caption,
        x=Axis(label="steps T", log=True),
        y=Axis(label="excess loss of the average", log=True),
        series=series,
        means=means or {},
    )
