"""What a run of `dpwitness reproduce` has to show: sections of results and pictures.

A section is a theorem with the results of its check at each setting; a statement is a theorem at
one setting, of which its pictures are drawn.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any

from ...auditors.claims.claim_results import ClaimResult
from ...auditors.errors import InvalidArgument
from ...auditors.results.results import Verdict
from ...auditors.sampling.draws import Draws
from ...mechanisms.model import Array, Claim, Database, Mechanism, Output, Subject, Theorem

CONTROLS = "Negative controls"
"""The group of the statements that are false on purpose."""
OWN = "Your own statements"
"""The group of theorems from a file of the user's."""
LIMITS: Mapping[str, tuple[float, float]] = {"width": (2.0, 12.0), "size": (5.0, 16.0)}
"""Least and most of what --style takes: a width in inches, and a size of letters in points."""

TableRow = dict[str, Any]
"""A row of a table by its columns: numbers, words, or None; the kind of claim says which."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A theorem at one setting, with the result of its check.

    `seed` names the streams of what is drawn for pictures only.
    """

    theorem: Theorem
    parameters: Mapping[str, float]
    result: ClaimResult
    subject: Subject
    seed: int

    @property
    def claim(self) -> Claim:
        """What is claimed."""
        return self.subject.claim

    @property
    def mechanism(self) -> Mechanism | None:
        """What it is claimed of."""
        return self.subject.mechanism

    def draw(
        self,
        database: Database,
        draws: int,
        run: Callable[..., Output] | None = None,
        side: int = 0,
    ) -> Array:
        """Fresh outputs, on a stream that no check uses; of `run` if it is given.

        `side` tells the streams of two functions on one database apart.
        """
        if run is None:
            source = Draws.of(self.mechanism, self.seed)
        else:
            source = Draws(run=run, seed=self.seed, side=side)
        return source.array(database, "figure", 0, draws)


def columns_of(result: ClaimResult) -> Iterator[TableRow]:
    """The rows of a result's table as dictionaries."""
    if result.finding.table is not None:
        for row in result.finding.table.rows:
            yield dict(zip(result.finding.table.columns, row, strict=True))


def abridged(text: str, most: int = 60) -> str:
    """The text on one line of at most `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
