"""Utility and sample-size claims: P[loss is bad] <= beta, by counting, and exactly by a known law.

The counting and its proof are in `tails_and_means`; here a row is a database with a level beta. A
sample-size claim, P[loss > level] <= beta with n = `needed` records, is one row of its own
instance.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np

from ...mechanisms.model import (
    Array,
    Database,
    FiniteLaw,
    Mechanism,
    Output,
    ThresholdClaim,
    UtilityClaim,
)
from ..asked import Budget
from ..bounds.tails_and_means import looks, rejected
from ..errors import InvalidArgument
from ..evidence.record import TailsRecord, number
from ..outputs.encoding import show
from ..results.results import Verdict
from ..sampling.draws import Draws, some_databases
from .claim_results import Finding, edge_to_json, level_by_law, level_of, records_edge
from .derive import derive
from .follows_law import require_frequency

# Utility. ----------------------------------------------------------------------------------------


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

    A true claim is refuted by sampling with probability at most its alpha. Chances of 1 and more
    are kept by every mechanism: such a claim is vacuous, and nothing is drawn for it.
    """
    _require_levels(claim)
    if min(claim.levels) >= 1:
        return derive({"vacuous": {"chance": float(min(claim.levels))}}, budget)
    source = Draws.of(mechanism, budget.seed)
    databases = claim.databases or some_databases(mechanism)
    rows = []
    for database in databases:
        law = _finite_law(mechanism, database)
        for beta in claim.levels:
            bound = claim.bound(beta)
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
    return found_of(rows, count_rows(rows, sources, claim.loss, budget), budget)


def _require_levels(claim: UtilityClaim) -> None:
    """Each beta is a probability above 0; all of 1 or more make a claim that says nothing."""
    levels = claim.levels
    real = [one for one in levels if isinstance(one, Real) and one > 0]
    if len(real) < len(levels) or not levels or min(levels) < 1 <= max(levels):
        raise InvalidArgument(
            f"{claim.identifier or 'the claim'}: levels must be between 0 and 1, got {levels}"
        )


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
    losses = claim.loss(database, law.outcomes)
    chances = np.exp(np.asarray(law.log_probabilities, dtype=float))
    return float(chances[~(losses < bound)].sum()), level_by_law(losses, chances, beta)


def count_rows(
    rows: list[TailBound],
    sources: list[Draws],
    loss: Callable[[Database, Output], Array],
    budget: Budget,
) -> TailsRecord:
    """Count the bad events of all rows on the same draws, up to the look that refutes one.

    There is one source for each database.

    Rows of one database stand together. Draws are shared out evenly among the databases.
    """
    groups = _grouped(rows)
    alpha, each = budget.alpha, max(1, budget.trials // len(groups))
    hits = [0] * len(rows)
    losses: list[list[Array]] = [[] for _ in groups]
    made, refuted = 0, np.zeros(len(rows), dtype=bool)
    betas = [row.beta for row in rows]
    for chunk, look in enumerate(looks(each, alpha)):
        for source, places, kept in zip(sources, groups, losses, strict=True):
            kept += _count(source, rows, places, loss, chunk, look.draws - made, hits)
        made = look.draws
        refuted = rejected(hits, made, betas, look.level)
        if refuted.any():
            break
    for each_source in {id(one): one for one in sources}.values():
        each_source.gate(refuted=bool(refuted.any()), unlike=1 - max(betas))
    for row, count in zip(rows, hits, strict=True):
        if row.exact is not None:
            require_frequency(count, made, row.exact, f"P[loss >= {row.bound:g}]")
    drawn = [
        np.concatenate(parts) for places, parts in zip(groups, losses, strict=True) for _ in places
    ]
    return {
        "rows": [
            {
                "database": show(row.database),
                "beta": float(row.beta),
                "bound": number(row.bound),
                "hits": count,
                "exact": row.exact,
                "reached": number(level_of(every, row.beta) if row.level is None else row.level),
            }
            for row, count, every in zip(rows, hits, drawn, strict=True)
        ],
        "databases": list(map(len, groups)),
        "draws": made,
    }


def found_of(rows: list[TailBound], tails: TailsRecord, budget: Budget) -> Finding:
    """What follows from the counts of these rows, with its witness as a value."""
    found = derive({"tails": tails}, budget)
    witness = rows[found.details["headline"]].database if found.shown else None
    return replace(found, witness=witness)


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
    loss: Callable[[Database, Output], Array],
    chunk: int,
    draws: int,
    hits: list[int],
) -> list[Array]:
    """Add to the hits; the losses, block by block."""
    made: list[Array] = []
    database = rows[places[0]].database
    for outputs in source.blocks(database, "claim", chunk, draws):
        losses = loss(database, outputs)
        for place in places:
            hits[place] += int(np.count_nonzero(rows[place].bad(losses)))
        made.append(losses)
    return made


# Sample size. ------------------------------------------------------------------------------------


def audit_threshold(claim: ThresholdClaim, budget: Budget) -> Finding:
    """Test the claim on its own instance at the smallest n it is made for.

    A true claim is refuted with probability at most the budget's alpha.
    """
    run, database = claim.instance(claim.needed)
    row = TailBound(
        database=database,
        beta=claim.beta,
        bound=claim.level,
        bad=lambda losses: ~(losses <= claim.level),  # a loss that is no number is bad
    )
    source = Draws(run=run, seed=budget.seed, trust_rows=claim.trust_rows)
    tails: TailsRecord = {
        **count_rows([row], [source], claim.loss, budget),
        "needed": int(claim.needed),
        "counted": claim.counted,
    }

    def fails(records: int, step: int, draws: int) -> float:
        run, database = claim.instance(records)
        source = Draws(run=run, seed=budget.seed, trust_rows=claim.trust_rows)
        outputs = source.array(database, "pilot", step, draws)
        return float(np.mean(row.bad(claim.loss(database, outputs))))

    found = found_of([row], tails, budget)
    if found.verdict is Verdict.REFUTED:
        return found
    # What is stated is the number of records; the level is a second thing that could be smaller.
    edge = records_edge(claim.needed, fails, claim.beta, budget.trials, claim.counted)
    tails["edge"] = edge_to_json(edge)
    return found_of([row], tails, budget)
