"""Strategies that list their pairs, or their databases, one by one.

Somebody who lists pairs wants each of them run, and a search at random from a list meets some of
them twice before it meets all. `st.sampled_from` of pairs makes one whole-number choice, and of
databases one more for the record that is left out or replaced.
"""

from collections.abc import Iterator
from math import prod
from typing import Any

from .choices import ChoiceSpace

MOST = {1: 1_000_000, 2: 10_000, 3: 10_000}
"""How many examples a list may have, by the choices that each takes: more is like a formula."""


def how_many(space: ChoiceSpace) -> int:
    """How many examples a list has, if those of its first are like the others; 0 for no list."""
    first = space.made(())
    if first is None or any(choice.kind != "integer" for choice in first.choices):
        return 0
    size = prod(choice.size() for choice in first.choices)
    return int(size) if size <= MOST.get(len(first.choices), 0) else 0


def every(space: ChoiceSpace) -> Iterator[list[Any]]:
    """The choices of each example of a list, in turn."""
    rest: list[list[Any]] = [[]]
    while rest:
        values = rest.pop()
        example = space.made(values)
        left = example.choices[len(values) :] if example is not None else ()
        if example is not None and not left:
            yield values
        elif left and left[0].kind == "integer" and left[0].size() <= MOST[1]:
            rest += [[*values, value] for value in reversed(_range(left[0].constraints))]


def _range(constraints: Any) -> range:
    return range(constraints["min_value"], constraints["max_value"] + 1)
