"""The smallest constant that still holds on the hardest instance that was found.

"Not refuted" says little of a bound that nothing comes near. The edge says how much smaller the
bound could be made before the same instances break it: of a tail the level that its loss exceeds
with probability beta, or the chance itself where the loss is hardly ever above 0; of a number of
records the smallest from which all numbers looked at are enough; of a privacy claim the smallest
epsilon (or delta). It is an estimate where it comes from draws, it decides no verdict, and
another instance may need more.
"""

from collections.abc import Callable
from math import inf, sqrt

import numpy as np

from ...mechanisms.model import Array
from ..evidence.record import EdgeRecord
from ..evidence.write import number
from .claim_results import Edge

FEWEST, MOST = 200, 2000
"""Draws at each number of records: a fiftieth of all, within these."""
SMALLEST = 1 / 64
"""Share of the stated number of records below which no smaller number is looked for."""
FINER = 5
"""Halvings, on the scale of logarithms, of the last factor of 2: to 2 % of the number."""


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
