"""Choices at their ends, all values of choices that have few, and patterns of like choices.

Random generation meets a corner of many coordinates almost never, and it is where the two databases
of a pair are furthest apart. Where a database is a list of numbers and its neighbour may differ in
each, the worst pair is seldom one at random either: all answers rise, or some rise and the others
fall. What rises may be a choice of its own beside the numbers, so that the patterns of every group
of like choices are combined.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, product
from random import Random
from typing import Any

from .choices import ChoiceSpace, Example, ExampleChoice, with_a_row
from .suggestions import (
    ENUMERATED,
    Suggestions,
    all_of,
    anything,
    changed,
    far,
    few_ways,
    in_turn,
    simplest,
)

BESIDE = 12
"""Ways to set the choices beside a group of like ones."""
FEW_LEVELS = 4
FEWEST = 3
"""Like choices that make a group."""
MOST_GROUPS = 3
MOST_PATTERNS = 24
MOST_LISTS = 300
"""Lists, with a change each, up to which all of one length are tried."""
MOST_LISTED = {1: 1_000_000, 2: 10_000, 3: 10_000}
"""How many examples a list may have, by the choices that each takes: more is like a formula.

Somebody who lists pairs wants each of them run, and a search at random from a list meets some of
them twice before it meets all. `st.sampled_from` of pairs makes one whole-number choice, and of
databases one more for the record that is left out or replaced.
"""
FEW_ROWS = 4
LONGEST = 7


def enumerated(examples: list[Example]) -> Iterator[list[object]]:
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


def exhausted(space: ChoiceSpace, examples: list[Example]) -> Iterator[list[object]]:
    """The shortest lists of rows of few values: all of them, with every change there is."""
    for example in with_a_row(examples)[:1]:
        which = next(i for i, block in enumerate(example.blocks) if block.elements)
        rows = _all_rows(example, *example.blocks[which].elements[0])
        left = MOST_LISTS
        for size in range(LONGEST if rows else 0):
            made = space.made(example.with_elements(example.blocks[which], rows[:1] * size))
            if made is None or len(made.blocks) <= which:
                continue
            block = made.blocks[which]
            places = [
                place for place in range(block.end[0], len(made.choices))
                if few_ways(made.choices[place])
            ]  # fmt: skip
            ways = [all_of(made.choices[place]) for place in places]
            left -= len(rows) ** size * math.prod(map(len, ways))
            if left < 0:
                return
            for chosen in product(*ways):
                answers = dict(zip(places, chosen, strict=True))
                plain = replace(made, made=_answered(made, answers))
                for filled in product(rows, repeat=size):
                    yield plain.with_elements(block, filled)


def _answered(example: Example, answers: dict[int, object]) -> list[tuple[str, Any, Any]]:
    return [
        (kind, answers.get(place, value), limits)
        for place, (kind, value, limits) in enumerate(example.made)
    ]


def _all_rows(example: Example, start: int, end: int) -> list[tuple[object, ...]]:
    """All rows that a strategy of rows can yield, where they are few; else none."""
    choices = example.choices[start:end]
    ways = [all_of(choice) if few_ways(choice) else [choice.value] for choice in choices]
    free = [choice for choice in choices if not few_ways(choice) and choice.kind != "boolean"]
    rows = math.prod(map(len, ways))
    return list(product(*ways)) if 1 < rows <= FEW_ROWS and not free else []


def corners(suggestions: Suggestions, examples: list[Example]) -> Iterator[list[Any]]:
    """Like choices at their ends: all, one, the first and the last, half, every other, the last.

    The last of a list and its change is the row that comes or goes, so "the first and the last" is
    one extreme that is then there twice.
    """
    yield from in_turn([_corners_of(suggestions, example) for example in examples])


def _corners_of(suggestions: Suggestions, example: Example) -> Iterator[list[object]]:
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
    # What is beside comes last, so that every pattern is seen before many settings of the rest.
    for others in islice(product(*beside), BESIDE):
        for pattern in ("all", "one", "both", "half", "turn", "last"):
            for ends in (1, -1):
                changes = dict(zip(few, others, strict=False))
                for group in many:
                    values = far(example.choices[group[0]])[::ends]
                    changes |= _pattern(group, values, pattern)
                yield changed(example, changes)


def _corners_of_few(
    suggestions: Suggestions, example: Example, places: list[int]
) -> Iterator[list[object]]:
    """A few numbers: all combinations of what they may be, the extremes first."""
    values = [suggestions.few(example.choices[place], 9) for place in places[:4]]
    combined = sorted(product(*(enumerate(few) for few in values)), key=_depth)
    for chosen in combined:
        yield changed(example, {p: v for p, (_, v) in zip(places, chosen, strict=False)})


def _pattern(group: list[int], ends: list[object], pattern: str) -> dict[int, object]:
    low, high = ends
    count = len(group)
    match pattern:
        case "all":
            values = [high] * count
        case "one":
            values = [high] + [low] * (count - 1)
        case "last":
            values = [low] * (count - 1) + [high]
        case "both":
            values = [high] + [low] * (count - 2) + [high]
        case "half":
            values = [low] * (count // 2) + [high] * (count - count // 2)
        case _:
            values = [ends[place % 2] for place in range(count)]
    return dict(zip(group, values, strict=True))


def _depth(chosen: tuple[tuple[int, object], ...]) -> tuple[int, int]:
    places = [place for place, _ in chosen]
    return max(places, default=0), sum(places)


def groups_of(example: Example) -> list[list[int]]:
    """The places of like choices, those of different collections apart."""
    home = {
        place: number
        for number, block in enumerate(example.blocks)
        for start, end in block.elements
        for place in range(start, end)
    }
    groups: list[list[int]] = []
    for place, choice in enumerate(example.choices):
        if choice.kind not in ("integer", "float") and not _coin(choice):
            continue
        for group in groups:
            if home.get(group[0]) == home.get(place) and example.choices[group[0]].alike(choice):
                group.append(place)
                break
        else:
            groups.append([place])
    return groups


def _coin(choice: ExampleChoice) -> bool:
    """Whether a choice of yes or no is a value; those that go on or stop have odds of their own."""
    return choice.kind == "boolean" and choice.constraints.get("p") == 0.5


def levels(choice: ExampleChoice) -> list[Any]:
    """All values where they are few, else the simplest, what lies halfway, and both ends."""
    if choice.size() <= FEW_LEVELS:
        found = all_of(choice)
        return [found[-1], found[0], *found[1:-1]]
    low, high = far(choice)
    found = [simplest(choice), halfway(choice), high, low]
    return [value for value in dict.fromkeys(found) if choice.permits(value)]


def halfway(choice: ExampleChoice) -> Any:
    """The number between the ends of a choice; of what is no number the least."""
    low, high = far(choice)
    try:
        return type(low)(low / 2 + high / 2)
    except (OverflowError, ValueError, TypeError):
        return low


def patterned(example: Example) -> Iterator[list[object]]:
    """The choices with all groups in patterns, the plainest patterns of all groups first."""
    groups = [group for group in groups_of(example) if len(group) >= FEWEST][:MOST_GROUPS]
    ways = [list(_patterns(example, group))[:MOST_PATTERNS] for group in groups]
    if not groups or not all(ways):
        return
    combined = sorted(product(*(enumerate(way) for way in ways)), key=_rank)
    for chosen in combined:
        changes: dict[int, Any] = {}
        for _, pattern in chosen:
            changes |= pattern
        yield changed(example, changes)


def _rank(chosen: tuple[tuple[int, object], ...]) -> int:
    rank = 1
    for place, _ in chosen:
        rank *= place + 1
    return rank


def _patterns(example: Example, group: list[int]) -> Iterator[dict[int, object]]:
    """Every value for all; then two values, half and half, one against the rest, in turn."""
    values, count = levels(example.choices[group[0]]), len(group)
    for value in values[:2]:
        yield dict.fromkeys(group, value)
    two = [(a, b) for i, a in enumerate(values) for b in values[i + 1 :]]
    for a, b in two:
        for one, other in ((a, b), (b, a)):
            yield dict(
                zip(group, [one] * (count // 2) + [other] * (count - count // 2), strict=True)
            )
            yield dict(zip(group, [one] + [other] * (count - 1), strict=True))
        yield {place: (a, b)[index % 2] for index, place in enumerate(group)}
        for one, other in ((a, b), (b, a)):
            yield dict(zip(group, [other] * (count - 1) + [one], strict=True))
    for value in values[2:]:
        yield dict.fromkeys(group, value)


def regrouped(example: Example, random: Random) -> list[object] | None:
    """One change to a group: of one choice, of all, of those before or after one; None without."""
    groups = [group for group in groups_of(example) if group]
    if not groups:
        return None
    # A group counts once and not by its size: else the numbers hide what is beside them.
    group = random.choice(groups)
    choice = example.choices[group[0]]
    values = levels(choice)
    value = random.choice([*values, anything(choice, random)])
    at, way = random.randrange(len(group)), random.randrange(5)
    places = (group[at:][:1], group[at:], group[: at + 1], group, group[at:][:2])[way]
    if way == 4 and len(places) == 2:
        # A turn of two that are neighbours keeps what is true of the group as a whole.
        one, two = (example.values[place] for place in places)
        return changed(example, {places[0]: two, places[1]: one})
    return changed(example, dict.fromkeys(places, value))


def listed_examples(space: ChoiceSpace) -> int:
    """How many examples a list has, if those of its first are like the others; 0 for no list."""
    first = space.made(())
    if first is None or any(choice.kind != "integer" for choice in first.choices):
        return 0
    size = math.prod(choice.size() for choice in first.choices)
    return int(size) if size <= MOST_LISTED.get(len(first.choices), 0) else 0


def every(space: ChoiceSpace) -> Iterator[list[Any]]:
    """The choices of each example of a list, in turn."""
    rest: list[list[Any]] = [[]]
    while rest:
        values = rest.pop()
        example = space.made(values)
        left = example.choices[len(values) :] if example is not None else ()
        if example is not None and not left:
            yield values
        elif left and left[0].kind == "integer" and left[0].size() <= MOST_LISTED[1]:
            rest += [[*values, value] for value in reversed(_range(left[0].constraints))]


def _range(constraints: Any) -> range:
    return range(constraints["min_value"], constraints["max_value"] + 1)
