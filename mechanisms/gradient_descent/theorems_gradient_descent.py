"""Projected gradient descent: the progress of a step, and the excess loss of the average."""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..model import Interval, InvariantCase, Parameter, Record, Row, Theorem, number, whole
from .descent_pictures import excess_plot
from .gradient_cases import (
    descent_domain,
    excess_margin,
    far_starts,
    printed_bound,
    progress_margin,
    shrinking_margin,
)
from .theorems_gradient_lemmas import LIPSCHITZ, dimensions, invariant_theorem

PRINTED: dict[str, Any] = {"lipschitz": 1.0, "bound": printed_bound, "with_start": False}
"""The printed bound with the printed average, for losses that are 1-Lipschitz."""
DIAMETER = number(2.0, 0.1, 20, "R, of the set")


def _steps(default: int, low: int, high: int) -> Parameter:
    return whole(default, low, high, "T")


def _step_size(default: float, low: float, high: float) -> Parameter:
    return number(default, low, high, "eta")


def _on_descents(margin: Callable[..., float], dimension: int, steps: int, **setting: Any) -> Any:
    return (
        descent_domain(dimension=dimension),
        partial(margin, steps=steps, **setting),
        far_starts(dimension=dimension),
    )


def _shrinking(steps: int, step_size: float) -> Any:
    def margin(case: InvariantCase) -> float:
        centre = [case["centre"]]
        whole = {"loss": "distance", "rows": [centre], "target": centre, "start": [case["start"]]}
        return shrinking_margin(
            whole, diameter=2.0, lipschitz=1.0, steps=steps, step_size=step_size
        )

    fields: dict[str, Row] = {
        "centre": Interval(low=-1, high=1),
        "start": Interval(low=-1, high=1),
    }
    return Record(fields=fields), margin, ({"centre": 0.3, "start": -1.0},)


THEOREMS: tuple[Theorem, ...] = (
    invariant_theorem(
        "GD-L3",
        "L(w_t) - L(w) <= (eta / 2) ||g||^2 + (||w_t - w||^2 - ||w_(t+1) - w||^2) / (2 eta)",
        {
            "dimension": dimensions(2),
            "diameter": DIAMETER,
            "lipschitz": LIPSCHITZ,
            "steps": _steps(4, 1, 100),
            "step_size": _step_size(0.5, 0.05, 5),
        },
        partial(_on_descents, progress_margin),
    ),
    invariant_theorem(
        "GD-T1",
        "L(average) - L(w*) <= R G / sqrt(T) with step size R / (G sqrt(T))",
        {
            "dimension": dimensions(1),
            "diameter": DIAMETER,
            "lipschitz": LIPSCHITZ,
            "steps": _steps(4, 1, 100),
        },
        partial(_on_descents, excess_margin),
        plot=partial(excess_plot, 100),
    ),
    invariant_theorem(
        "ERR-GD-2",
        "L(average) - L(w*) <= (eta / 2) G^2 + R / (2 eta T)",
        {
            "dimension": dimensions(1),
            "diameter": number(8.0, 7, 20, "R"),
            "steps": _steps(4, 1, 8),
            "step_size": _step_size(1.0, 0.5, 2),
        },
        partial(_on_descents, excess_margin, **PRINTED),
        plot=partial(excess_plot, 8, **PRINTED),
        corrected="GD-T1",
        remark="||w_1 - w*||^2 is at most R^2, not R",
    ),
    invariant_theorem(
        "ERR-GD-6",
        "in every step both the excess and the distance from the minimum shrink",
        {"steps": _steps(4, 3, 100), "step_size": _step_size(1.0, 0.9, 1.6)},
        _shrinking,
        corrected="GD-L3",
        remark="a step can overshoot the minimum; only averages over the steps shrink",
    ),
)
