"""What checking a claim of any kind returns: numbers beside the bound, and what they rest on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

from ..evidence.record import ClaimCountsRecord
from ..privacy.budget import Budget
from ..results.results import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number with an interval that misses the truth with probability at most `error`.

    One-sided where the other end is infinite or the end of the range.
    """

    value: float
    low: float
    high: float
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of plain values under named columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """The smallest constant that still holds on the hardest instance found, see `edge`.

    `share` times the stated bound still holds there: 1 is a bound that is attained, more one that
    is broken. `of` says what is made smaller ("epsilon", "delta", "loss", "chance",
    "records", "mean", "quantity"), `method` how it is known.
    """

    share: float
    of: str
    method: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What the auditor of one kind of claim found.

    `claimed` is the bound, `measured` the number set against it, with its interval, and `exact`
    its true value where the law is known. `sampled` and `proved` are the verdicts of the two kinds
    of method, None where a kind was not used; `proved` covers what `scope` says and nothing else.
    `error` bounds the probability that sampling refutes a true claim. `weak` says that the measured
    quantity is below a twentieth of the bound, so that a wrong mechanism could hide. `most` is what
    the quantity cannot exceed, whatever the mechanism: 1 for a chance. `edge` is the smallest
    constant that still holds, None where nothing can be made smaller. `table` and `details` are for
    a figure, `witness` is the counterexample: a case, a database or an audit's witness, and `shown`
    the same in words, all there is of it in what is read from a file. `counts` are what all this
    follows from, see `derive`; None for a privacy claim.
    """

    claimed: float
    measured: Estimate | None = None
    exact: float | None = None
    sampled: Verdict | None = None
    proved: Verdict | None = None
    weak: bool = False
    most: float = inf
    edge: Edge | None = None
    draws: int = 0
    error: float = 0.0
    method: str = ""
    scope: str = ""
    note: str = ""
    table: Table | None = None
    witness: Any = None
    shown: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    counts: ClaimCountsRecord | None = None

    @property
    def vacuous(self) -> bool:
        """Whether every mechanism keeps the bound, for nothing can exceed it."""
        return self.claimed >= self.most

    @property
    def verdict(self) -> Verdict:
        """The exact verdict where there is one that decides, else the sampled one."""
        for verdict in (self.proved, self.sampled):
            if verdict in (Verdict.PROVED, Verdict.REFUTED):
                return verdict
        return self.sampled or self.proved or Verdict.INCONCLUSIVE


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ClaimResult:
    """The outcome of checking one claim: what was found, and of which claim.

    `kind` is that of the claim, `seed` the one that gives the same `finding` again.
    """

    identifier: str
    statement: str
    reference: str
    kind: str
    finding: Finding
    seconds: float
    seed: int

    def __repr__(self) -> str:
        """The verdict in a line."""
        verdict = self.verdict.value.replace("_", " ")
        return f"<{self.identifier or 'claim'} ({self.kind}): {verdict}>"

    @property
    def verdict(self) -> Verdict:
        """The headline of the finding."""
        return self.finding.verdict

    @property
    def refuted(self) -> bool:
        """Whether the claim is refuted."""
        return self.verdict is Verdict.REFUTED


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimCheck:
    """A claim that a target makes beside its privacy: the result, and all that was asked for it."""

    mechanism: str
    target: str
    budget: Budget
    result: ClaimResult
