"""Whether single calls break a claim too that the rows of size= calls broke.

Most mechanisms answer a call with `size=1` by the very answer of a single call from the same state
of the generator; `one_path` looks at a few calls. The two ways of the others may have one law all
the same, or the vectorised way may be another mechanism: with a smaller scale there, a sound
mechanism would be accused. Nothing is called refuted for such a mechanism before the event was
counted anew, among single calls and among rows. The draws are fresh, since those that refuted were
chosen for their luck, and double until they decide:

- Fisher's exact test tells the two counts apart; it accuses two ways of one law with probability
  at most `LEVEL`;
- or the single calls refute the claim by themselves, at the audit's own alpha. So a mechanism
  that keeps its claim when called singly is accused with probability at most alpha, whatever its
  rows do.

Where neither comes of as many single calls as may be made, there is no verdict.
"""

from collections.abc import Callable, Iterator

import numpy as np

from ..errors import ContractError
from ..events.events import Event
from ..results import Pair
from .rows import LEVEL, Calling, fisher, like_rows, one_path
from .sampling import Sampler

FEWEST = 4096
MOST = 262_144
"""Single calls of each database among which an event is counted."""
LOOKS = 3
"""Looks at the counts: at as many single calls as the refutation took, at twice and four times."""
A_CALL = 4096
"""Rows of one call."""

Confirmed = Callable[[tuple[int, int], int, float], bool]
"""Whether (hits of both sides, single calls a side, level) refute the claim at this level."""


def check_event(
    sampler: Sampler,
    pair: Pair,
    event: Event,
    needed: int,
    most: int,
    confirmed: Confirmed,
    alpha: float,
) -> None:
    """Count the event among single calls and among rows; ContractError unless both show the same.

    `needed` is how many draws a side the refutation took, `most` how many single calls a side may
    be made here and `alpha` the probability that `confirmed` may err in all. Nothing is drawn where
    there is only one way to call.
    """
    if not sampler.vectorised or all(one_path(sampler, pair, side) for side in (0, 1)):
        return
    single, rows, made = [0, 0], [0, 0], 0
    for calls in _sizes(needed, most):
        for side in (0, 1):
            for start in range(made, calls, A_CALL):
                part = range(start, min(start + A_CALL, calls))
                found = _counted(Calling.of(sampler, pair, side), event, part)
                single[side] += found[0]
                rows[side] += found[1]
        sampler.tally.add(4 * (calls - made))
        made = calls
        for side in (0, 1):
            _require_one_rate(event, single[side], rows[side], calls)
        if confirmed((single[0], single[1]), calls, alpha / LOOKS):
            return
    raise ContractError(
        "the claim is broken by the rows of size= calls but not by single calls, so called with "
        "size= the mechanism may have another law than called without: "
        f"{event.describe()} in {single[0]:,} and {single[1]:,} of {made:,} single calls on the "
        f"two databases, in {rows[0]:,} and {rows[1]:,} of {made:,} rows. Make both paths draw the "
        "same noise, or take the size argument away to judge single calls"
    )


def _sizes(needed: int, most: int) -> Iterator[int]:
    """Single calls a side at which the counts are looked at, growing."""
    first = max(needed, FEWEST)
    sizes = [first << look for look in range(LOOKS)]
    yield from sorted({max(1, min(size, MOST, most)) for size in sizes})


def _counted(calling: Calling, event: Event, calls: range) -> tuple[int, int]:
    """Hits of the event among single calls, and among as many rows of one call."""
    with calling.guarded(5) as watch:
        batch = calling.rows(watch, 5, calls.start, len(calls))
    with calling.guarded(6) as watch:
        answers = like_rows([calling.one(watch, 6, index) for index in calls], batch)
    return int(event.contains(answers).sum()), int(event.contains(batch).sum())


def _require_one_rate(event: Event, single: int, rows: int, calls: int) -> None:
    table = np.array([[single], [calls], [single + rows]])
    if fisher(table[0], table[1], table[2], 2 * calls)[0] < LEVEL / (2 * LOOKS):
        raise ContractError(
            "called with size= the mechanism has another law than called without: "
            f"{event.describe()} in {single:,} of {calls:,} single calls and in {rows:,} of "
            f"{calls:,} rows of size= calls on one database (probability below {LEVEL:g} for "
            "one law); make both paths draw the same noise, or take the size argument away to "
            "judge single calls"
        )
