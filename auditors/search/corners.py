"""Choices at their ends, and all values of choices that have few.

Random generation meets a corner of many coordinates almost never, and it is where the two databases
of a pair are furthest apart.
"""

import math
from collections.abc import Iterator
from itertools import islice, product
from typing import Any

from .choices import Example
from .suggestions import ENUMERATED, Suggestions, all_of, changed, far
from .tries import in_turn

BESIDE = 12
"""Ways to set the choices beside a group of like ones."""


def enumerated(examples: list[Example]) -> Iterator[list[Any]]:
    """Every value of choices that have few, one at a time; all together where that is few."""
    for example in examples[:1]:
        sizes = [choice.size() for choice in example.choices]
        if math.prod(sizes) <= 2 * ENUMERATED:
            ranges = [all_of(choice) for choice in example.choices]
            yield from (list(values) for values in product(*ranges))
    for example in examples[:2]:
        for place, choice in enumerate(example.choices):
            if choice.kind == "integer" and 2 < choice.size() <= ENUMERATED:
                yield from (changed(example, {place: value}) for value in all_of(choice))


def corners(suggestions: Suggestions, examples: list[Example]) -> Iterator[list[Any]]:
    """Like choices at their ends: all, all but one, half, every other; and what is beside."""
    yield from in_turn([_corners_of(suggestions, example) for example in examples])


def _corners_of(suggestions: Suggestions, example: Example) -> Iterator[list[Any]]:
    groups: list[list[int]] = []
    for place, choice in enumerate(example.choices):
        if choice.kind == "boolean":
            continue
        for group in groups:
            if example.choices[group[0]].alike(choice):
                group.append(place)
                break
        else:
            groups.append([place])
    many = [group for group in groups if len(group) >= 3]
    few = [place for group in groups if len(group) < 3 for place in group]
    if not many:
        yield from _corners_of_few(suggestions, example, few)
        return
    beside = [suggestions.few(example.choices[place], 4) for place in few[:3]]
    for pattern in ("all", "one", "half", "turn", "last"):
        for others in islice(product(*beside), BESIDE):
            for ends in (1, -1):
                changes = dict(zip(few, others, strict=False))
                for group in many:
                    values = far(example.choices[group[0]])[::ends]
                    changes |= _pattern(group, values, pattern)
                yield changed(example, changes)


def _corners_of_few(
    suggestions: Suggestions, example: Example, places: list[int]
) -> Iterator[list[Any]]:
    """A few numbers: all combinations of what they may be, the extremes first."""
    values = [suggestions.few(example.choices[place], 9) for place in places[:4]]
    combined = sorted(product(*(enumerate(few) for few in values)), key=_depth)
    for chosen in combined:
        yield changed(example, {p: v for p, (_, v) in zip(places, chosen, strict=False)})


def _pattern(group: list[int], ends: list[Any], pattern: str) -> dict[int, Any]:
    low, high = ends
    count = len(group)
    match pattern:
        case "all":
            values = [high] * count
        case "one":
            values = [high] + [low] * (count - 1)
        case "last":
            values = [low] * (count - 1) + [high]
        case "half":
            values = [low] * (count // 2) + [high] * (count - count // 2)
        case _:
            values = [ends[place % 2] for place in range(count)]
    return dict(zip(group, values, strict=True))


def _depth(chosen: tuple[tuple[int, Any], ...]) -> tuple[int, int]:
    places = [place for place, _ in chosen]
    return max(places, default=0), sum(places)
