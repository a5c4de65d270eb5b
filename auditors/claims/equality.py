"""Equality in distribution: a test on cells fixed beforehand, an equivalence bound, exact laws."""

from dataclasses import dataclass

import numpy as np

from ...mechanisms.model import Database, EqualityClaim, FiniteLaw, Mechanism
from ..bounds.permutation import largest_log_ratio, p_value, total_variation_upper
from ..outputs.cells import Cells, codes, learn_cells
from ..outputs.encoding import show
from ..privacy.budget import Budget
from ..results.results import Verdict
from ..sampling.draws import Draws
from ..workers.streams import generator
from .agreement import require_law
from .claim_results import Estimate, Finding, Table

PILOT = 0.1
MOST_PILOT = 20_000
EXACT = 1e-9
"""Exact laws this close in total variation are equal: both are sums of rounded terms."""
ROWS = 12
COLUMNS = ("database", "cell", "mechanism", "other", "exact mechanism", "exact other")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared:
    """One database: the test, the bounds, the exact distance and rows for a table."""

    database: Database
    p: float
    distance: float
    upper: float
    log_ratio: float
    exact: float | None
    rows: tuple[tuple[object, ...], ...]


def audit_equality(
    claim: EqualityClaim,
    mechanism: Mechanism | None,
    budget: Budget,
) -> Finding:
    """Compare the two samplers on each of the claim's databases, the budget's trials a side in all.

    Equal laws are refuted with probability at most its alpha. `measured` is the total variation of
    the laws on the cells, with its upper bound.
    """
    alpha = budget.alpha
    share, each = alpha / len(claim.databases), max(20, budget.trials // len(claim.databases))
    found = [
        _compare(claim, mechanism, database, share, each, budget.seed)
        for database in claim.databases
    ]
    refuted = [one.p <= share for one in found]
    known = [one.exact for one in found if one.exact is not None]
    proved = None
    if len(known) == len(found):
        proved = Verdict.REFUTED if max(known) > EXACT else Verdict.PROVED
    worst = min(found, key=lambda one: (one.p, -one.distance))
    return Finding(
        claimed=0.0,
        measured=Estimate(value=worst.distance, low=0.0, high=worst.upper, error=alpha),
        exact=max(known) if proved is not None else None,
        sampled=Verdict.REFUTED if any(refuted) else Verdict.NOT_REFUTED,
        proved=proved,
        draws=2 * each * len(found),
        error=alpha,
        method="permutations of chi-square, or Fisher's test, on cells learnt from pilot draws",
        scope=f"{len(found)} database(s), laws compared up to {EXACT:g}" if proved else "",
        note=f"on these cells no log-ratio is above {max(one.log_ratio for one in found):.4g}",
        table=Table(columns=COLUMNS, rows=tuple(row for one in found for row in one.rows)),
        witness=worst.database if any(refuted) or proved is Verdict.REFUTED else None,
        details={
            "p_value": min(one.p for one in found),
            "total_variation_upper": max(one.upper for one in found),
            "log_ratio_upper": max(one.log_ratio for one in found),
        },
    )


def _compare(
    claim: EqualityClaim,
    mechanism: Mechanism | None,
    database: Database,
    alpha: float,
    draws: int,
    seed: int,
) -> _Compared:
    own_draws = Draws.of(mechanism, seed)
    other_draws = Draws(run=claim.other, seed=seed, side=1, trust_rows=own_draws.trust_rows)
    sides = (own_draws, other_draws)
    pilot = max(10, min(MOST_PILOT, round(PILOT * draws)))
    cells = learn_cells(*(side.array(database, "pilot", 0, pilot) for side in sides))
    first, second = (side.array(database, "claim", 0, draws - pilot) for side in sides)
    names = cells.names
    counts = [np.bincount(cells.place(part), minlength=len(names)) for part in (first, second)]
    p = p_value(counts[0], counts[1], alpha, generator(seed, 0, "claim", 2))
    for side in sides:
        side.gate(refuted=p <= alpha)
    own = mechanism.law(database) if mechanism is not None and mechanism.law is not None else None
    own = own if isinstance(own, FiniteLaw) else None
    other = claim.law(database) if claim.law is not None else None
    for law, part, what in ((own, first, "the mechanism"), (other, second, "the other sampler")):
        if law is not None:
            require_law(law, part, what)
    distance, upper = total_variation_upper(counts[0], counts[1], alpha)
    chances = [_on_cells(law, cells, len(names)) for law in (own, other)]
    pooled = counts[0] + counts[1]
    order = [k for k in np.argsort(-pooled, kind="stable")[:ROWS].tolist() if pooled[k]]
    return _Compared(
        database=database,
        p=p,
        distance=distance,
        upper=upper,
        log_ratio=largest_log_ratio(counts[0], counts[1], alpha),
        exact=_distance(own, other) if own is not None and other is not None else None,
        rows=tuple(
            (
                show(database),
                names[k],
                *(float(c[k] / c.sum()) for c in counts),
                *(None if law is None else law[k] for law in chances),
            )
            for k in order
        ),
    )


def _on_cells(law: FiniteLaw | None, cells: Cells, number: int) -> list[float] | None:
    if law is None:
        return None
    chances = np.exp(np.asarray(law.log_probabilities, dtype=float))
    places = cells.place(np.asarray(law.outcomes))
    return np.bincount(places, weights=chances, minlength=number).tolist()


def _distance(own: FiniteLaw, other: FiniteLaw) -> float:
    """Total variation of two finite laws, whose outcomes need not be in the same order."""
    one, two = codes(np.asarray(own.outcomes), np.asarray(other.outcomes))
    chances = np.zeros((2, 1 + max(int(one.max()), int(two.max()))))
    for row, law, places in zip(chances, (own, other), (one, two), strict=True):
        np.add.at(row, places, np.exp(np.asarray(law.log_probabilities, dtype=float)))
    return float(np.abs(chances[0] - chances[1]).sum()) / 2
