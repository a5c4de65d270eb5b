"""Whether an event that refuted a claim is as likely among single calls as among rows of a call.

Most mechanisms answer a call with `size=1` by the very answer of a single call from the same state
of the generator; `one_path` looks at a few calls. The two ways of the others may have one law all
the same, or the vectorised way may be another mechanism: with a smaller scale there, a sound
mechanism would be accused. Nothing is called refuted for such a mechanism before the event was
counted anew among single calls and among rows. Fisher's exact test accuses two ways of one law
with probability at most `LEVEL`; its draws are fresh, since those that refuted were chosen for
their luck.
"""

import numpy as np

from ..errors import ContractError
from ..events.events import Event
from ..results import Pair
from .rows import LEVEL, Calling, fisher, like_rows, one_path
from .sampling import Sampler

FEWEST = 4096
MOST = 32_768
"""Single calls of each database among which an event is counted."""
A_CALL = 4096
"""Rows of one call."""


def check_event(sampler: Sampler, pair: Pair, event: Event, needed: int, most: int) -> None:
    """Count the event among single calls and among rows; ContractError where the rates differ.

    `needed` is how many draws a side the refutation took and `most` how many may be made here.
    Nothing is drawn where there is only one way to call.
    """
    calls = min(max(needed, FEWEST), MOST, most)
    if not sampler.vectorised or all(one_path(sampler, pair, side) for side in (0, 1)):
        return
    for side in (0, 1):
        calling = Calling.of(sampler, pair, side)
        single = rows = 0
        for start in range(0, calls, A_CALL):
            part = range(start, min(start + A_CALL, calls))
            with calling.guarded(5) as watch:
                batch = calling.rows(watch, 5, start, len(part))
            with calling.guarded(6) as watch:
                answers = like_rows([calling.one(watch, 6, index) for index in part], batch)
            rows += int(event.contains(batch).sum())
            single += int(event.contains(answers).sum())
        sampler.tally.add(2 * calls)
        table = np.array([[single], [calls], [single + rows]])
        if fisher(table[0], table[1], table[2], 2 * calls)[0] < LEVEL / 2:
            raise ContractError(
                "called with size= the mechanism has another law than called without: "
                f"{event.describe()} in {single:,} of {calls:,} single calls and in {rows:,} of "
                f"{calls:,} rows of size= calls on one database (probability below {LEVEL:g} for "
                "one law); make both paths draw the same noise, or take the size argument away to "
                "judge single calls"
            )
