"""Equality in distribution: a test on cells fixed beforehand, an equivalence bound, exact laws."""

from dataclasses import replace

import numpy as np

from ...mechanisms.model import Database, EqualityClaim, FiniteLaw, Mechanism
from ..asked import Budget
from ..evidence.record import CellsRecord, ComparisonsRecord
from ..outputs.cells import Cells, codes, learn_cells
from ..outputs.encoding import show
from ..sampling.draws import Draws
from .claim_results import Finding
from .derive import derive, p_of_cells
from .follows_law import require_law

PILOT = 0.1
"""Part of the draws that choose the cells and are not counted."""
MOST_PILOT = 20_000
"""Draws that choose the cells, at most: more make no better cells of so few."""


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
    told: ComparisonsRecord = {"databases": found, "draws": each}
    concluded = derive({"comparisons": told}, budget)
    if not concluded.shown:
        return concluded
    places = {one["database"]: place for place, one in reversed([*enumerate(found)])}
    return replace(concluded, witness=claim.databases[places[concluded.shown]])


def _compare(
    claim: EqualityClaim,
    mechanism: Mechanism | None,
    database: Database,
    alpha: float,
    draws: int,
    seed: int,
) -> CellsRecord:
    own_draws = Draws.of(mechanism, seed)
    other_draws = Draws(run=claim.other, seed=seed, side=1, trust_rows=own_draws.trust_rows)
    sides = (own_draws, other_draws)
    pilot = max(10, min(MOST_PILOT, round(PILOT * draws)))
    cells = learn_cells(*(side.array(database, "pilot", 0, pilot) for side in sides))
    first, second = (side.array(database, "claim", 0, draws - pilot) for side in sides)
    names = cells.names
    counts = [np.bincount(cells.place(part), minlength=len(names)) for part in (first, second)]
    for side in sides:
        side.gate(refuted=p_of_cells(np.array(counts), alpha, seed) <= alpha)
    own = mechanism.law(database) if mechanism is not None and mechanism.law is not None else None
    own = own if isinstance(own, FiniteLaw) else None
    other = claim.law(database) if claim.law is not None else None
    for law, part, what in ((own, first, "the mechanism"), (other, second, "the other sampler")):
        if law is not None:
            require_law(law, part, what)
    chances = [_on_cells(law, cells, len(names)) for law in (own, other)]
    return {
        "database": show(database),
        "cells": [
            {
                "cell": name,
                "hits": [int(side[k]) for side in counts],
                "exact": [None if law is None else law[k] for law in chances],
            }
            for k, name in enumerate(names)
        ],
        "distance": None if own is None or other is None else _distance(own, other),
    }


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
