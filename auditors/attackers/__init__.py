"""Attackers who see more than the values of an output: its bits, or how long it took.

Each gives a verdict of its own, because a mechanism may keep its claim in real arithmetic and
lose it through the bits of a floating-point number or through a clock.
"""

from .bits import through_bits
from .clock import Timed, judge_times

__all__ = ["Timed", "judge_times", "through_bits"]
