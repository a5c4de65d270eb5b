"""What checking a claim of any kind returns: numbers beside the bound, and what they rest on.

**Edge.** "Not refuted" says little of a bound that nothing comes near. The edge, the smallest
constant that still holds on the hardest instance that was found, says how much smaller the bound
could be made before the same instances break it: of a tail the level that its loss exceeds with
probability beta, or the chance itself where the loss is hardly ever above 0; of a number of records
the smallest from which all numbers looked at are enough; of a privacy claim the smallest epsilon
(or delta). It is an estimate where it comes from draws, it decides no verdict, and another instance
may need more.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf, sqrt
from typing import Any

import numpy as np

from ...mechanisms.model import Array
from ..asked import Budget
from ..evidence.record import ClaimCountsRecord, EdgeRecord, number
from ..results.results import Verdict

FEWEST, MOST = 200, 2000
"""Draws at each number of records: a fiftieth of all, within these."""
SMALLEST = 1 / 64
"""Share of the stated number of records below which no smaller number is looked for."""
FINER = 5
"""Halvings, on the scale of logarithms, of the last factor of 2: to 2 % of the number."""


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
    """The smallest constant that still holds on the hardest instance found, see above.

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
    witness: object = None
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


# The edge. ---------------------------------------------------------------------------------------


def hardest(*edges: Edge | None) -> Edge | None:
    """The one that needs most of its bound, the first of equals; None without any."""
    known = [edge for edge in edges if edge is not None]
    return max(known, key=lambda edge: edge.share) if known else None


def edge_of(value: float, bound: float, of: str, method: str) -> Edge | None:
    """That `value` is enough and `bound` is stated; None for a bound that cannot be shared."""
    if not 0 < bound < inf:
        return None
    return Edge(share=max(0.0, value / bound), of=of, method=method)


def edge_to_json(edge: Edge) -> EdgeRecord:
    """An edge as it stands in evidence and in a run of reproduce."""
    return {"share": number(edge.share), "of": edge.of, "method": edge.method}


def level_of(losses: Array, beta: float) -> float:
    """The largest level that losses (draws,) reach in more than a share `beta` of the draws.

    A loss that is no number is above every level.
    """
    ordered = np.sort(np.nan_to_num(losses, nan=inf, posinf=inf, neginf=-inf).ravel())[::-1]
    return float(ordered[min(int(beta * len(ordered)), len(ordered) - 1)])


def level_by_law(losses: Array, chances: Array, beta: float) -> float:
    """The largest level that losses with these chances reach with probability above `beta`."""
    order = np.argsort(-losses, kind="stable")
    above = np.cumsum(chances[order]) > beta
    return float(losses[order][above.argmax()]) if above.any() else -inf


def records_edge(
    needed: int,
    fails: Callable[[int, int, int], float],
    beta: float,
    draws: int,
    counted: str = "records",
) -> Edge:
    """The smallest number of what is counted from which P[failure] is at most `beta`.

    The number is halved until it is too small, and then sought between the last two: few records
    may be as good as many where some between are not. `fails(records, step, draws)` is the share of
    failures in draws of a step's own. An instance that cannot be made so small, a ValueError, ends
    the search.
    """
    each = min(MOST, max(FEWEST, draws // 50))

    def enough(share: float, step: int) -> bool:
        try:
            return fails(max(1, round(needed * share)), step, each) <= beta
        except ValueError:
            return False

    share, step = 1.0, 0
    while share > SMALLEST and enough(share / 2, step):
        share, step = share / 2, step + 1
    method = f"{each:,} draws at a number"
    if share <= SMALLEST:
        return Edge(share=share, of=counted, method=f"{method}, fewer were not looked at")
    too_few = share / 2
    for later in range(step + 1, step + 1 + FINER):
        middle = sqrt(too_few * share)
        too_few, share = (too_few, middle) if enough(middle, later) else (middle, share)
    return Edge(share=share, of=counted, method=method)
