"""Whether processes in which a mechanism was never called before draw alike.

Draws of a mechanism that is not seeded cannot be made again, so what it keeps shows only in the
law of its outputs. Two questions are asked, both on events that are fixed before the draws they
are asked of. Do draws that each come from a process of its own lie where those lie that were
counted (`of_another_law`)? And do several draws of one process lie closer together than those of
different ones (`require_no_clumps`)? If all draws are independent, each accuses with a probability
that is stated.
"""

from collections.abc import Iterator, Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Array
from ..bounds.one_law import Dispersion, upper_tail
from ..errors import ContractError
from ..workers.anew import IMPORTED

LUCK = 1e-8
"""How often draws that stand alone differ from others by luck, if none remembers anything."""
PLACES = (0.0, 0.1, 0.5, 0.9, 1.0)
"""Where in the order of the counted outputs the ends of half-lines lie: a value that is kept is one
end or both, and a bit that falls alike in nearly all processes is the least or the largest."""
ANEW = "processes that import the mechanism's modules anew"
ORDERED = "biufSU"
"""Kinds of arrays whose values have an order."""


def of_another_law(counted: Array, alone: Array, luck: float) -> bool:
    """Whether draws that stand alone, shape (m, columns), follow another law than those `counted`.

    The first half of these, shape (n, columns), gives the events, and the hits of the others are
    hypergeometric given all hits. By luck the answer is yes with probability `luck` at most.
    """
    half = len(counted) // 2
    if not half or not counted.size:
        return False
    taught, judged = counted[:half], counted[half:]
    least, asked = 1.0, 0
    for one, two in _both(np.sort(taught, axis=0) if _ordered(taught) else taught, judged, alone):
        hits, draws, total = int(two.sum()), len(two), len(one) + len(two)
        among = int(one.sum()) + hits
        for seen, all_seen in ((hits, among), (draws - hits, total - among)):
            tail = upper_tail(np.array(seen), np.array(all_seen), draws, total)
            least, asked = min(least, float(tail)), asked + 1
    return least * asked <= luck


def _ordered(outputs: Array) -> bool:
    return outputs.dtype.kind in ORDERED


def _both(taught: Array, *others: Array) -> Iterator[tuple[NDArray[np.bool_], ...]]:
    """For each event that `taught` (sorted, if its values have an order) gives, who lies in it."""
    for column in range(taught.shape[1]):
        values = [one[:, column] for one in others]
        if not _ordered(taught):
            yield tuple(one == taught[0, column] for one in values)
            continue
        last = len(taught) - 1
        for place in sorted({round(part * last) for part in PLACES}):
            end = taught[place, column]
            yield tuple(one >= end for one in values)
            yield tuple(one <= end for one in values)


def require_no_clumps(
    processes: Sequence[Array],
    luck: float,
    of: str = "",
    where: str = ANEW,
    hits: Sequence[int] | None = None,
) -> None:
    """ContractError where draws of one process lie closer together than those of several.

    Each process, `where` the mechanism was never called, gives as many draws of one database, `of`
    which side, shape (draws, columns). The middle of a quarter of the processes gives two events
    for each column, which are bet on in the others, beside the one of which `hits` are known. If
    all draws are independent, that accuses with probability at most `luck`.
    """
    some = max(1, len(processes) // 4)
    others = processes[some:]
    if len(others) < 2 or not processes[0].size:
        return
    events = [] if hits is None else [list(hits[some:])]
    for column in range(processes[0].shape[1]):
        if not _ordered(processes[0]):
            first = processes[0][0, column]
            events.append([int((one[:, column] == first).sum()) for one in others])
            continue
        middles = np.sort([np.sort(one[:, column])[len(one) // 2] for one in processes[:some]])
        middle = middles[some // 2]
        events.append([int((one[:, column] > middle).sum()) for one in others])
        events.append([int((one[:, column] >= middle).sum()) for one in others])
    sizes = [len(one) for one in others]
    if Dispersion().after(events[0], sizes, *events[1:]).log_e >= -log(luck):
        worst = max(events, key=lambda one: max(one) - min(one))
        raise ContractError(
            f"the draws refute the claim, but draws{of} in {where} come in clumps, one for each "
            f"process (one and the same event in {min(worst)} to {max(worst)} of {sizes[0]} "
            f"draws): {IMPORTED}",
            keywords=("seeded",),
        )
