"""A published statement as a row: what it says, who says it, and at which parameters.

Its picture is data as well: points, two axes and words, which `reports` draws.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypedDict

from .claims import Claim, Mechanism, PrivacyClaim, Subject
from .domains import Array, Interval

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A number a theorem depends on: its default, the range it is stated for, what it means."""

    default: float
    within: Interval
    meaning: str

    def __post_init__(self) -> None:
        """A range that is a plain pair would be found out only when it is looked into."""
        if not isinstance(self.within, Interval):
            raise ValueError(f"within must be Interval(low=..., high=...), got {self.within!r}")


def number(default: float, low: float, high: float, meaning: str) -> Parameter:
    """A parameter that is any number in [low, high]."""
    return Parameter(default=default, within=Interval(low=low, high=high), meaning=meaning)


def whole(default: int, low: float, high: float, meaning: str) -> Parameter:
    """A parameter that is a whole number from `low` to `high`."""
    within = Interval(low=low, high=high, integer=True)
    return Parameter(default=default, within=within, meaning=meaning)


class Remarks(TypedDict, total=False):
    """What a row may say beside its statement and parameters, for functions that make rows."""

    corrected: str
    remark: str
    weak: str
    constant: float
    costly: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Theorem:
    """A published statement, as a row: what it says, who says it, and at which parameters.

    `identifier` is the catalogue's code and `statement` one line. `subject(**parameters)` is what
    is claimed at given parameters: a claim, a claim with its mechanism, or a mechanism, whose
    first claim it is. Ask `at` for it, which fills in the defaults and writes the theorem's labels
    on the claim. A statement printed wrongly is a theorem with `holds` False, expected to be
    refuted; `corrected`, which implies that, names the identifier of the one that says it right,
    and `remark` says what the print gets wrong. `weak` says, where less than a twentieth of the
    bound is measured at the defaults, why no instance comes nearer. `constant` is the number in the
    statement that multiplies its bound, such as the 8 of "n >= 8 ln(N / beta)"; 1 where it is not
    said. `part` is the part of the
    catalogue it belongs to; where it says none the catalogue sets that of its module.
    `slow` says that its check is one of the longest, so that a run starts it first; `costly` that
    one of its draws costs as much as so many of others, so that a run gives it as many fewer.
    `plot(**parameters)`, where there is one, works out a picture of the theorem; ask `plot_at`.
    """

    identifier: str
    statement: str
    reference: str
    subject: Callable[..., Subject | Mechanism | Claim]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    holds: bool = True
    corrected: str = ""
    remark: str = ""
    weak: str = ""
    constant: float = 1.0
    part: str = ""
    slow: bool = False
    costly: int = 1
    plot: Callable[..., Plot] | None = None

    def __post_init__(self) -> None:
        """Refuse parameters that cannot be; a statement that another one corrects does not hold."""
        if not callable(self.subject):
            raise ValueError(
                f"{self.identifier}: subject must be a function of the parameters that returns a "
                f"claim, or a Subject of a claim and its mechanism, got {self.subject!r}"
            )
        for name, one in self.parameters.items():
            if not isinstance(one, Parameter):
                raise ValueError(
                    f"{self.identifier}: the parameter {name} must be a Parameter, got {one!r}"
                )
            within = one.within
            if not within.low <= one.default <= within.high:
                raise ValueError(
                    f"{self.identifier}: the default of the parameter {name} must lie from "
                    f"{within.low:g} to {within.high:g}, got {one.default!r}"
                )
        if self.corrected:
            object.__setattr__(self, "holds", False)

    def at(self, **parameters: float) -> Subject:
        """The claim at these parameters, at the defaults where they say nothing.

        Its mechanism claims this, and beside a claim of another kind what it loses: the relation
        of a privacy claim says which databases it works on.
        """
        return self.labelled(self.made(parameters))

    def made(self, parameters: Mapping[str, float]) -> Subject | Mechanism | Claim:
        """What `subject` returns at these parameters, and at the defaults of the others."""
        return self.subject(**self._filled(parameters))

    def labelled(self, made: Subject | Mechanism | Claim) -> Subject:
        """What `subject` returned, with the theorem's labels; ValueError if that is no claim."""
        claim: object = made
        mechanism: Mechanism | None = None
        # By its type: an object of somebody else may raise if it is asked what it is.
        if issubclass(type(made), Subject | Mechanism | Claim):
            match made:
                case Subject():
                    claim, mechanism = made.claim, made.mechanism
                case Mechanism(claims=(first, *_)):
                    claim, mechanism = first, made
        if not (issubclass(type(claim), Claim) and isinstance(claim, Claim)):
            raise ValueError(
                "must return a claim, a Subject of a claim and its mechanism, or a Mechanism with "
                f"claims, got {claim!r:.60}"
            )
        claim = replace(
            claim, identifier=self.identifier, statement=self.statement, reference=self.reference
        )
        if mechanism is not None:
            private = [one for one in mechanism.claims if isinstance(one, PrivacyClaim)]
            kept = [] if isinstance(claim, PrivacyClaim) else private
            mechanism = replace(mechanism, claims=(*kept, claim))
        return Subject(claim=claim, mechanism=mechanism)

    def plot_at(self, **parameters: float) -> Plot | None:
        """Its picture at these parameters and the defaults of the others; None for none."""
        return None if self.plot is None else self.plot(**self._filled(parameters))

    def _filled(self, given: Mapping[str, float]) -> dict[str, float]:
        """All parameters, those that are whole numbers as such."""
        chosen = {name: one.default for name, one in self.parameters.items()} | dict(given)
        whole = {name for name, one in self.parameters.items() if one.within.integer}
        return {name: int(value) if name in whole else value for name, value in chosen.items()}
