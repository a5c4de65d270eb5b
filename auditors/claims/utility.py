"""Utility claims: P[loss >= bound(beta)] <= beta, by counting and, where the law is known, exactly.

The counting and its proof are in `holm`; here a row is a database with a level beta.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...mechanisms.model import Array, Database, FiniteLaw, Mechanism, UtilityClaim
from ..bounds.holm import PlannedLook, detectable, intervals, looks, rejected
from ..outputs.encoding import show
from ..privacy.budget import Budget
from ..results.results import Verdict
from ..sampling.draws import Draws, some_databases
from .agreement import require_frequency
from .claim_results import Edge, Estimate, Finding, Table
from .edge import edge_of, hardest, level_by_law, level_of

WEAK = 1 / 20
"""A check whose exact probability is below this share of the bound says little."""
COLUMNS = (
    "database", "beta", "bound", "hits", "draws", "measured", "low", "high", "exact",
    "detectable", "refuted",
)  # fmt: skip
SLACK = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class TailBound:
    """One claim P[loss is bad on `database`] <= `beta`.

    If the law is known, with the exact probability and the exact level reached more often than
    `beta`.
    """

    database: Database
    beta: float
    bound: float
    bad: Callable[[Array], Array]
    exact: float | None = None
    level: float | None = None


def audit_utility(
    claim: UtilityClaim,
    mechanism: Mechanism | None,
    budget: Budget,
) -> Finding:
    """Test the claim at each of its levels on each of its databases, the budget's
    trials in all.

    A true claim is refuted by sampling with probability at most its alpha.
    """
    source = Draws.of(mechanism, budget.seed)
    databases = claim.databases or some_databases(mechanism)
    rows = []
    for database in databases:
        law = _finite_law(mechanism, database)
        for beta in claim.levels:
            bound = float(claim.bound(beta))
            exact, level = _exact(claim, law, database, bound, beta)
            rows.append(
                TailBound(
                    database=database,
                    beta=beta,
                    bound=bound,
                    bad=_reaches(bound),
                    exact=exact,
                    level=level,
                )
            )
    sources = [source] * len(databases)
    return audit_rows(rows, sources, claim.loss, budget)


def _reaches(bound: float) -> Callable[[Array], Array]:
    # A loss that is no number is not below the bound either.
    return lambda losses: ~(losses < bound)


def _finite_law(mechanism: Mechanism | None, database: Database) -> FiniteLaw | None:
    if mechanism is None or mechanism.law is None:
        return None
    law = mechanism.law(database)
    return law if isinstance(law, FiniteLaw) else None


def _exact(
    claim: UtilityClaim, law: FiniteLaw | None, database: Database, bound: float, beta: float
) -> tuple[float | None, float | None]:
    if law is None:
        return None, None
    losses = np.asarray(claim.loss(database, law.outcomes), dtype=float)
    chances = np.exp(np.asarray(law.log_probabilities, dtype=float))
    return float(chances[~(losses < bound)].sum()), level_by_law(losses, chances, beta)


def audit_rows(
    rows: list[TailBound],
    sources: list[Draws],
    loss: Callable[[Database, Any], Array],
    budget: Budget,
) -> Finding:
    """Count the bad events of all rows on the same draws and decide; one source per database.

    Rows of one database stand together. Draws are shared out evenly among the databases.
    """
    groups = _grouped(rows)
    alpha, each = budget.alpha, max(1, budget.trials // len(groups))
    hits = [0] * len(rows)
    losses: list[list[Array]] = [[] for _ in groups]
    made, seen, refuted = 0, PlannedLook(each, alpha), np.zeros(len(rows), dtype=bool)
    betas = [row.beta for row in rows]
    for chunk, look in enumerate(looks(each, alpha)):
        for source, places, kept in zip(sources, groups, losses, strict=True):
            kept += _count(source, rows, places, loss, chunk, look.draws - made, hits)
        made, seen = look.draws, look
        refuted = rejected(hits, made, betas, look.level)
        if refuted.any():
            break
    for each_source in {id(one): one for one in sources}.values():
        each_source.gate(refuted=bool(refuted.any()))
    for row, count in zip(rows, hits, strict=True):
        if row.exact is not None:
            require_frequency(count, made, row.exact, f"P[loss >= {row.bound:g}]")
    limits = intervals(hits, made, seen.level)
    share = seen.level / len(rows)
    table = tuple(
        (
            show(row.database),
            row.beta,
            row.bound,
            count,
            made,
            count / made,
            *limit,
            row.exact,
            detectable(made, row.beta, share),
            bool(no),
        )
        for row, count, limit, no in zip(rows, hits, limits, refuted, strict=True)
    )
    found = _finding(rows, hits, limits, refuted, Table(columns=COLUMNS, rows=table), made, alpha)
    return replace(found, edge=_edge(rows, groups, losses))


def _edge(rows: list[TailBound], groups: list[list[int]], losses: list[list[Array]]) -> Edge | None:
    """The level that the losses need, as a share of the bound, where they need most of it."""
    found = []
    for places, parts in zip(groups, losses, strict=True):
        drawn = np.concatenate(parts)
        for row in (rows[place] for place in places):
            exact = row.level is not None
            level = row.level if row.level is not None else level_of(drawn, row.beta)
            method = "exact law" if exact else f"{len(drawn):,} draws"
            found.append(edge_of(level, row.bound, "loss", method))
    return hardest(*found)


def _grouped(rows: list[TailBound]) -> list[list[int]]:
    """Places of the rows that share a database, in order."""
    groups: list[list[int]] = []
    for place, row in enumerate(rows):
        if groups and rows[groups[-1][0]].database is row.database:
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups


def _count(
    source: Draws,
    rows: list[TailBound],
    places: list[int],
    loss: Callable[[Database, Any], Array],
    chunk: int,
    draws: int,
    hits: list[int],
) -> list[Array]:
    """Add to the hits; the losses, block by block."""
    made: list[Array] = []
    database = rows[places[0]].database
    for outputs in source.blocks(database, "claim", chunk, draws):
        losses = np.asarray(loss(database, outputs))
        for place in places:
            hits[place] += int(np.count_nonzero(rows[place].bad(losses)))
        made.append(losses.astype(float).ravel())
    return made


def _finding(
    rows: list[TailBound],
    hits: list[int],
    limits: list[tuple[float, float]],
    refuted: np.ndarray[Any, Any],
    table: Table,
    made: int,
    alpha: float,
) -> Finding:
    known = all(row.exact is not None for row in rows)
    worst = _headline(rows, hits, limits, refuted, made)
    row, (low, high) = rows[worst], limits[worst]
    wrong = [row.exact is not None and row.exact > row.beta * (1 + SLACK) for row in rows]
    proved = None
    if known:
        proved = Verdict.REFUTED if any(wrong) else Verdict.PROVED
    shares = [
        (count / made if row.exact is None else row.exact) / row.beta
        for row, count in zip(rows, hits, strict=True)
    ]
    databases = len(_grouped(rows))
    return Finding(
        claimed=row.beta,
        measured=Estimate(value=hits[worst] / made, low=low, high=high, error=alpha),
        exact=row.exact,
        sampled=Verdict.REFUTED if refuted.any() else Verdict.NOT_REFUTED,
        proved=proved,
        weak=max(shares) < WEAK,
        draws=made * databases,
        error=alpha,
        method="exact binomial tests with Holm's correction, planned doubling looks",
        scope=f"{databases} database(s), {len(rows)} rows" if known else "",
        table=table,
        witness=row.database if refuted.any() or any(wrong) else None,
        details={"bound": row.bound, "headline": worst},
    )


def _headline(
    rows: list[TailBound],
    hits: list[int],
    limits: list[tuple[float, float]],
    refuted: np.ndarray[Any, Any],
    made: int,
) -> int:
    """The row that speaks loudest: refuted by most, else nearest to its bound."""

    def loudness(place: int) -> tuple[bool, float]:
        row = rows[place]
        if refuted.any():
            return bool(refuted[place]), limits[place][0] / row.beta
        share = hits[place] / made if row.exact is None else row.exact
        return False, share / row.beta

    return max(range(len(rows)), key=loudness)
