"""What a mechanism with randomness of its own does in processes in which it was never called.

Its draws cannot be made again, so what decides is drawn in several processes. That tells nothing if
each process draws the same, because each has a copy of one generator, and it would accuse if each
process gives one answer for good: a noise drawn at the first call and kept.
"""

from collections.abc import Sequence
from math import inf

from ...mechanisms.model import Database
from ..engines.book import Block
from ..errors import ContractError
from ..outputs.encoding import told
from ..workers import Door, Key
from .calls import WHOLE, Calls, draw_blocks

PROBE = 5
"""Draws of each database in the first two processes."""
AGAIN = (4, 16)
"""Processes, and draws in each, where the first two gave one answer each. Of a mechanism whose
draws are independent, all of one process are equal and all of another are another with probability
at most 4^-15, whatever the law: it is the sum of p^16 q^16 over pairs of answers, the sum of p q is
at most 1, and p q at most 1/4. Over all pairs of processes and both databases that is 1.2e-8."""


def copies_generator(door: Door, databases: Sequence[Database], calls: Calls, seed: int) -> bool:
    """Whether each process draws the same: a generator was made before, and each has a copy.

    ContractError if each process gives one answer, and not the same one.
    """
    if not door.remakes:
        return True
    first = [_answers(door, databases, calls, seed, PROBE) for _ in range(2)]
    kinds = [{len(set(answers)) for answers in sides} for sides in zip(*first, strict=True)]
    if {1} in kinds:
        again = [_answers(door, databases, calls, seed, AGAIN[1]) for _ in range(AGAIN[0])]
        for sides in zip(*again, strict=True):
            distinct = [set(answers) for answers in sides]
            if all(len(one) == 1 for one in distinct) and len(set.union(*distinct)) > 1:
                one, two = sorted(set.union(*distinct))[:2]
                raise ContractError(
                    f"the mechanism gives one answer in each process: {AGAIN[1]} of {AGAIN[1]} "
                    f"calls returned {one:.60} in one and {two:.60} in another. It draws its "
                    "randomness once and keeps it, so that its calls are not independent; draw "
                    "fresh randomness in every call",
                    keywords=("seeded",),
                )
    said = [answers for answers, *_ in first]
    return said[0] == said[1] and len(set(said[0])) > 1


def _answers(
    door: Door, databases: Sequence[Database], calls: Calls, seed: int, draws: int
) -> list[list[str]]:
    """What a process that never called the mechanism draws from each database."""
    blocks = [Block(*Key(seed, 0, "contract", side), 0, draws, 0) for side in range(len(databases))]
    jobs = [(block, WHOLE, 0) for block in blocks]
    made = door.fresh(draw_blocks, databases, calls, None, None, inf, jobs)
    return [[told(row).decode("utf-8", "replace") for row in drawn.answer.rows()] for drawn in made]
