"""How many draws the learner has a use for."""

from ..outputs.outputs import Outputs

MOST_FIT = 25_000


def usable(sides: tuple[Outputs, Outputs]) -> int:
    """How many draws a side of outputs like these are worth keeping to learn from."""
    return 131_072
