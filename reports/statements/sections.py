"""What a run of `dpwitness reproduce` has to show: sections of results and pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan

from ...auditors.claims.claim_results import ClaimResult
from ...auditors.errors import InvalidArgument
from ...auditors.results.results import Verdict
from ...mechanisms.model import Theorem

CONTROLS = "Negative controls"
"""The group of the statements that are false on purpose."""
OWN = "Your own statements"
"""The group of theorems from a file of the user's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """One statement, checked at one setting of its parameters.

    `expected` is NOT_REFUTED for a statement that holds, REFUTED for one known to be false.
    """

    parameters: Mapping[str, float]
    expected: Verdict
    result: ClaimResult

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the expected one; a proof is more than NOT_REFUTED asks."""
        verdict = self.result.verdict
        return (Verdict.NOT_REFUTED if verdict is Verdict.PROVED else verdict) is self.expected


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperStyle:
    """How pictures are set: `width` in inches, the `size` of letters in points, serifs or none."""

    width: float = 5.2
    size: float = 10.0
    serif: bool = False


LIMITS: Mapping[str, tuple[float, float]] = {"width": (2.0, 12.0), "size": (5.0, 16.0)}


def style_from(text: str) -> PaperStyle:
    """The style that a text such as "width=3.3,size=8,serif" asks for.

    Raises InvalidArgument for anything else.
    """
    found: dict[str, float | bool] = {}
    for part in filter(None, (one.strip() for one in text.split(","))):
        name, _, value = (word.strip() for word in part.partition("="))
        if part == "serif":
            found["serif"] = True
            continue
        low, high = LIMITS.get(name, (0.0, 0.0))
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = nan
        if not low <= found[name] <= high or not high:
            raise InvalidArgument(
                "--style takes width=INCHES from 2 to 12, size=POINTS from 5 to 16 and serif, "
                f"such as width=3.3,size=8,serif; got {part!r}"
            )
    return replace(PaperStyle(), **found)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A figure: `svg` stands inside a page and as a file, `pdf` as a file.

    `key` is unique in its section and good for a file name, `caption` says what to see.
    """

    key: str
    title: str
    caption: str
    svg: str
    pdf: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A statement with its results, one for each setting of a sweep, and its pictures.

    `group` names the part of the catalogue it belongs to. A false statement has `holds` False,
    names what is right in `corrected` and says in `remark` what is wrong. `weak` says why no
    instance comes near its bound, `constant` is the number that multiplies it.
    """

    identifier: str
    group: str
    statement: str
    reference: str
    holds: bool
    corrected: str
    remark: str
    meanings: Mapping[str, str]
    reproductions: tuple[Reproduction, ...]
    pictured: int = 0
    weak: str = ""
    constant: float = 1.0
    pictures: tuple[Picture, ...] = ()

    @property
    def printed_wrongly(self) -> bool:
        """Whether it is a false statement of a text, and not one made false on purpose."""
        return not self.holds and self.group != CONTROLS

    @property
    def asked(self) -> bool:
        """Whether it is a statement of the user's, who asks and does not know what comes."""
        return self.group == OWN and self.holds

    @property
    def as_expected(self) -> bool:
        """Whether the verdict at every setting is the expected one."""
        return all(one.as_expected for one in self.reproductions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gallery:
    """A whole run: its sections in the catalogue's order and how it was made.

    `alpha` bounds the probability that sampling refutes any true statement of the run; `trials`
    are those of each statement.
    """

    sections: tuple[Section, ...]
    alpha: float
    seed: int
    trials: int
    seconds: float
    command: str
    style: PaperStyle = PaperStyle()


def pictured(theorem: Theorem, reproductions: Sequence[Reproduction]) -> int:
    """The place of the setting that figures and pages show.

    It is the first that is not as expected, or else the one with most of its parameters at their
    defaults, the first of several.
    """

    def weight(one: Reproduction) -> tuple[bool, int]:
        at_default = sum(
            one.parameters.get(name, parameter.default) == parameter.default
            for name, parameter in theorem.parameters.items()
        )
        return not one.as_expected, at_default

    return max(range(len(reproductions)), key=lambda place: weight(reproductions[place]))
