"""Attackers who see more than the values of an output: its bits, its types, or how long it took.

Each gives a verdict of its own, because a mechanism may keep its claim in real arithmetic and
lose it through the bits of a floating-point number, through the Python type that holds a number,
or through a clock (`clock`, which times calls and reads no outputs).
"""
