"""A picture of a theorem as data: points, two axes and words. `reports` draws it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .domains import Array
from .mechanism import Subject

Meaning = Literal["bound", "measured", "exact", "contrast", "counterexample"]
"""What points stand for; `contrast` is what would be without the thing the picture is about."""
Style = Literal["line", "marked", "dotted", "steps", "dots", "points"]
"""`marked` is a line with its points on it, `dots` and `points` are small and large points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Points (x[i], y[i]) of one meaning: arrays of shape (k,); nan in `y` leaves a gap."""

    meaning: Meaning
    x: Array
    y: Array
    style: Style = "line"
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """An axis with its label; an end that is None follows from the points.

    `log` makes it logarithmic, `whole` allows ticks at whole numbers only, and `ticks` gives
    the places that have names, instead of numbers.
    """

    label: str
    low: float | None = None
    high: float | None = None
    log: bool = False
    whole: bool = False
    ticks: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A picture of a theorem at fixed parameters.

    `key` names it among the pictures of the theorem; `caption` says in full sentences what is
    seen. `means` gives, by place on the x axis, subjects whose claim bounds an expectation: the
    mechanism is run on the claim's first database, and the mean is shown with its limits.
    """

    key: str
    title: str
    caption: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    means: Mapping[float, Subject] = field(default_factory=dict)
