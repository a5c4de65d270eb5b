"""The rules of what is made again, alone or in processes of its own before anything is concluded.

`gate` and `draws` keep them. How many draws must stand alone before a claim is refuted follows from
the claim; `alone_against` has the proof.
"""

from math import ceil, exp, inf, log, log1p

from ..errors import UsesOutside
from ..workers.door import Door

MOST = 4096
"""Draws a side that are made again where a claim is refuted."""
FEW = 64
"""The same where none is: half of them the first that were entered, half from the last block."""
LEAST = 32
"""The same where calls are dear."""
PART = 0.2
"""Part of the time that the draws took which making some again may take."""
COPIED = 32
"""Draws that each get a copy of the database and a generator of their own."""
LONE = 32
"""Draws that are made where nothing else was ever drawn, where a claim without epsilon is refuted;
of privacy claims see `alone_against`. What a mechanism remembers may be one bit, and then another
order alone often brings it back."""
ALIKE = 5e-5
"""How often a sound mechanism that remembers one bit is refuted since its bit falls alike in all
processes in which draws are made alone, or in all that import its modules anew."""
MOST_ALONE = 1024
"""Such processes at most: enough for an epsilon of 4.6. One takes 6 ms."""
FEWEST = 4
"""The same of a second count, of each side; so many processes import modules anew to see whether
that gives what was counted, and twice as many draws are made alone however long a call takes."""
ALLOWED = 60.0
"""Seconds that these processes may take whatever was spent: 32 that import a module of 1,100 lines
take 2 s, and of a module that loads a table for a second they take 32."""
PIECES = 8
"""Blocks of a count that decides, and processes that draw for it, so that clumps can show."""
CLUMPS = 1e-8
"""Probability of accusing independent draws of coming in clumps, over a whole audit."""


def alone_against(epsilon: float, delta: float) -> int:
    """How many draws of both databases together are made alone before (epsilon, delta) is refuted.

    Theorem. If a mechanism keeps (epsilon, delta), a draw of D and one of D', each from a process
    of its own, lie in E and outside it with probability at most s^2 for every event E, where
    s = (e^epsilon + delta) / (1 + e^epsilon).

    Proof. For a = P[E] and b = 1 - Q[E] the claim says a <= e^epsilon (1 - b) + delta and
    b <= e^epsilon (1 - a) + delta. The sum is a + b <= 2 s, so a b <= s^2. []

    So n such draws, half of each database, all show what refuted the claim with probability at
    most s^n, and n processes that each make one of both with at most s^n too, since the smaller of
    a and b is at most s. With s^n <= `ALIKE`, 32 draws are made for epsilon 1.
    """
    return alone_for((1 - delta) / (1 + exp(min(epsilon, 700.0))))


def overlooked(epsilon: float, delta: float) -> float:
    """In one of how many processes a remembered bit may fall otherwise and yet not show; 0 if none.

    It is the least that a mechanism which keeps (epsilon, delta) must have, where `MOST_ALONE`
    draws are fewer than the theorem asks for.
    """
    if alone_against(epsilon, delta) < MOST_ALONE:
        return 0.0
    return (1 + exp(min(epsilon, 700.0))) / (1 - delta) if delta < 1 else inf


def alone_for(unlike: float) -> int:
    """The same where one draw shows otherwise than what refutes with probability `unlike`."""
    return min(MOST_ALONE, max(2 * FEWEST, ceil(log(ALIKE) / log1p(-min(max(unlike, 1e-9), 0.9)))))


def require_inside(door: Door) -> None:
    """UsesOutside where the mechanism uses what outlives its process: nothing is refuted then."""
    if names := door.outside():
        raise UsesOutside(
            f"the draws refute the claim, but the mechanism uses {', '.join(names[:3])}, which "
            "outlives its process: what it keeps there is there in a fresh process too, so "
            "nobody can tell whether its calls are independent, and there is no verdict; audit "
            "the function behind it, or let it keep nothing from call to call"
        )


CAUSES = (
    "so the mechanism keeps state between calls (it remembers earlier ones, or keeps a generator), "
    "or it draws randomness from elsewhere than the rng it is given (the operating system, as "
    "secrets and default_rng() without a seed do, a clock, a GPU): pass all state in and use the "
    "rng, or declare the randomness with seeded=False"
)
