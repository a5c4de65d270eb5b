"""Sequences of choices worth making: ends, patterns, and constants of the mechanism's code.

Random generation meets a corner of many coordinates almost never, and it is where the two databases
of a pair are furthest apart. If a database is a list of numbers and its neighbour may differ in
each, the worst pair is seldom one at random either: all answers rise, or some rise and the others
fall. What rises may be a choice of its own beside the numbers, so that the patterns of every group
of like choices are combined.

Constants that stand together in the code go into choices that stand together, then each alone, and
into forms, rows and collections of them.
"""

import math
import re
from calendar import monthrange
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from itertools import islice, pairwise, permutations, product
from random import Random
from typing import Any

from .choices import ChoiceSpace, Elements, Example, ExampleChoice, Made, Value, with_a_row
from .suggestions import (
    ENUMERATED,
    MARKS,
    Suggestions,
    all_of,
    anything,
    changed,
    exact,
    far,
    few_ways,
    forms_of,
    in_turn,
    mark,
    simplest,
)

BESIDE = 12
"""Ways to set the choices beside a group of like ones."""
FEW_LEVELS = 4
"""Values of a choice up to which all of them take part in a pattern."""
FEWEST = 3
"""Like choices that make a group."""
MOST_GROUPS, MOST_PATTERNS = 3, 24
"""Groups of like choices whose patterns are combined, and patterns of each."""
MOST_LISTS = 300
"""Lists, with a change each, up to which all of one length are tried."""
MOST_LISTED = {1: 1_000_000, 2: 10_000, 3: 10_000}
"""How many examples a list may have, by the choices that each takes: more is like a formula.

Somebody who lists pairs wants each of them run, and a search at random from a list meets some of
them twice before it meets all. `st.sampled_from` of pairs makes one whole-number choice, and of
databases one more for the record that is left out or replaced.
"""
FEW_ROWS, LONGEST = 4, 7
"""Different rows up to which all lists of them are tried, and the length that these stay below."""
DAY = ("year", "month", "day")
ORDINALS = range(date(1800, 1, 1).toordinal(), date(2200, 1, 1).toordinal())
"""Whole numbers that may be days, as `date.toordinal` counts them."""
LEAP_YEARS = (2000, 2024, 1976)
"""Years of the dates that are made of a day and a month: such a year has every day."""
WEEKDAYS = (2004, 2008, 2012, 2016, 2020)
"""Leap years in which a day of a month is one of the other days of the week."""
NUMBERS = re.compile(r"\d+")
MOST_FACTORED, FACTORS = 1_000_000, 3
"""The largest constant that may be a product of two values, and how many pairs of them are tried.
"""
MOST_JOINT = 6
"""Values of each choice among many that are tried with all values of the choices among few."""
MOST_TOGETHER = 4
"""Neighbouring constants that are put into choices together, at most; then fewer, down to two."""
MOST_NAMED = 64
"""Values of a choice that are looked at for texts of the code."""
MOST_FORMS, ROWS = 8, (2, 3, 4)
"""Values of each choice of a row of which several rows are made, and how many: one row more or less
shows a limit on their number only at the limit itself."""
INNER = (3, 2, 4, 1, 5)
"""How many constants are put into a collection inside a row."""
LENGTHS = (5, 4, 3, 2)
"""Constants adjacent in the code that are put into adjacent choices."""


def enumerated(examples: list[Example]) -> Iterator[Sequence[object]]:
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


def _answered(example: Example, answers: dict[int, int]) -> list[Made]:
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


def corners(suggestions: Suggestions, examples: list[Example]) -> Iterator[list[object]]:
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
                changes: dict[int, object] = dict(zip(few, others, strict=False))
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


def _pattern(group: list[int], ends: Sequence[object], pattern: str) -> dict[int, object]:
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
        if choice.kind not in ("integer", "float") and not few_ways(choice):
            continue
        for group in groups:
            if home.get(group[0]) == home.get(place) and example.choices[group[0]].alike(choice):
                group.append(place)
                break
        else:
            groups.append([place])
    return groups


def levels(choice: ExampleChoice) -> list[Value]:
    """All values where they are few, else the simplest, what lies halfway, and both ends."""
    if choice.size() <= FEW_LEVELS:
        every_value = all_of(choice)
        return [every_value[-1], every_value[0], *every_value[1:-1]]
    low, high = far(choice)
    found = [simplest(choice), halfway(choice), high, low]
    return [value for value in dict.fromkeys(found) if choice.permits(value)]


def halfway(choice: ExampleChoice) -> Value:
    """The number between the ends of a choice; of what is no number the least."""
    low, high = far(choice)
    if isinstance(low, (int, float)) and isinstance(high, (int, float)):
        with suppress(OverflowError, ValueError):
            return type(low)(low / 2 + high / 2)
    return low


def patterned(example: Example) -> Iterator[list[object]]:
    """The choices with all groups in patterns, the plainest patterns of all groups first."""
    groups = [group for group in groups_of(example) if len(group) >= FEWEST][:MOST_GROUPS]
    ways = [list(_patterns(example, group))[:MOST_PATTERNS] for group in groups]
    if not groups or not all(ways):
        return
    combined = sorted(product(*(enumerate(way) for way in ways)), key=_rank)
    for chosen in combined:
        changes: dict[int, object] = {}
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


def every(space: ChoiceSpace) -> Iterator[list[int]]:
    """The choices of each example of a list, in turn."""
    rest: list[list[int]] = [[]]
    while rest:
        values = rest.pop()
        example = space.made(values)
        left = example.choices[len(values) :] if example is not None else ()
        if example is not None and not left:
            yield values
        elif left and left[0].kind == "integer" and left[0].size() <= MOST_LISTED[1]:
            rest += [[*values, value] for value in reversed(all_of(left[0]))]


def dictionary(suggestions: Suggestions, examples: list[Example]) -> Iterator[list[object]]:
    """Constants that stand together in the code, in choices that do; then each alone."""
    one_row = with_a_row(examples)
    yield from in_turn(
        [
            in_turn([runs(suggestions, example) for example in examples]),
            in_turn([_singles(suggestions, example) for example in examples]),
            in_turn([_joint(suggestions, example) for example in one_row[:1]]),
        ]
    )


def runs(suggestions: Suggestions, example: Example) -> Iterator[list[object]]:
    """Constants adjacent in the code, in adjacent choices of the same kinds."""
    constants = suggestions.constants
    places = [p for p, choice in enumerate(example.choices) if choice.kind != "boolean"]
    for length in LENGTHS:
        together = [constants[i : i + length] for i in range(len(constants) - length + 1)]
        made = {len(DAY): (days,), 2: (quotients, factors)}.get(length, ())
        for values in [*(one for way in made for one in way(constants)), *together]:
            for first in range(len(places) - length + 1):
                chosen = places[first : first + length]
                fitted = [
                    _fitted(value, example.choices[place])
                    for value, place in zip(values, chosen, strict=True)
                ]
                if all(value is not None for value in fitted):
                    yield changed(example, dict(zip(chosen, fitted, strict=True)))


def days(constants: Sequence[object]) -> Iterator[tuple[int, ...]]:
    """Year, month and day of what may be a day.

    A date, its ordinal, a month and a day together, also in a text as in "12-25", a year with a
    number that is month and day, the number of a day in its year.
    """
    for one in constants:
        day = date.fromordinal(one) if type(one) is int and one in ORDINALS else one
        if isinstance(day, date):
            yield tuple(getattr(day, part) for part in DAY)
    whole = [one for one in constants if type(one) is int and one > 0]
    written = [tuple(map(int, NUMBERS.findall(one))) for one in constants if isinstance(one, str)]
    pairs = [*pairwise(whole), *(some for some in written if len(some) == 2)]
    for years in (LEAP_YEARS, WEEKDAYS):
        for one, other in pairs:
            for month, day_of_month in ((one, other), (other, one)):
                # A leap year has every day of a year.
                if 0 < month <= 12 and 0 < day_of_month <= monthrange(LEAP_YEARS[0], month)[1]:
                    yield from ((year, month, day_of_month) for year in years)
    yield from ((year, both, both) for year, both in pairs if 1000 < year < 9999 and both <= 12)
    for number in whole:
        for year in LEAP_YEARS[0], LEAP_YEARS[0] + 1:
            day = date(year, 1, 1) + timedelta(number - 1 if number <= 366 else 0)
            if number <= 366 and day.year == year:
                yield tuple(getattr(day, part) for part in DAY)


def factors(constants: Sequence[object]) -> Iterator[tuple[int, int]]:
    """Two whole numbers whose product is a constant, those that are nearest each other first."""
    whole = [one for one in constants if type(one) is int and 3 < one <= MOST_FACTORED]
    for number in dict.fromkeys(whole):
        some = (n for n in range(math.isqrt(number), 1, -1) if number % n == 0)
        yield from ((n, number // n) for n in islice(some, FACTORS))


def quotients(constants: Sequence[object]) -> Iterator[tuple[int, int]]:
    """What two adjacent constants leave of each other: `60 * hour + minute == 1000` is (16, 40)."""
    whole = [one for one in constants if type(one) is int and one > 1]
    for pair in pairwise(whole):
        yield divmod(max(pair), min(pair))


def _fitted(value: object, choice: ExampleChoice) -> object:
    return next((v for v in exact(value, choice.kind) if choice.permits(v)), None)


def _singles(suggestions: Suggestions, example: Example) -> Iterator[list[object]]:
    for place, choice in enumerate(example.choices):
        if choice.kind != "boolean":
            for value in suggestions.fitting(choice)[:MARKS]:
                yield changed(example, {place: value})


def _joint(suggestions: Suggestions, example: Example) -> Iterator[list[object]]:
    """A constant or an end in one choice of a row, with every value of the row's small ones.

    So a condition on several columns of one row is met, where one of them is chosen by an index
    that no constant names.
    """
    for block in [block for block in example.blocks if block.elements][:1]:
        small, large = _small_and_large(example, block)
        values = {place: _worth(suggestions, example.choices[place]) for place in large}
        ways = [all_of(example.choices[place]) for place in small[:3]]
        combined = list(islice(product(*ways), 2 * MARKS)) if small else []
        for position in range(MOST_JOINT):
            for place in large:
                if position < len(values[place]):
                    for chosen in combined:
                        changes = dict(zip(small, chosen, strict=False))
                        yield changed(example, {**changes, place: values[place][position]})


def _small_and_large(example: Example, block: Elements) -> tuple[list[int], list[int]]:
    """The choices of the first row that have few values, and the others."""
    start, end = block.elements[0]
    choices = example.choices
    small = [place for place in range(start, end) if few_ways(choices[place]) and place != start]
    if few_ways(choices[start]) and choices[start].kind == "integer":
        small.append(start)
    large = [p for p in range(start, end) if choices[p].kind != "boolean" and p not in small]
    return small, large


def _worth(suggestions: Suggestions, choice: ExampleChoice) -> list[object]:
    ends = [value for value in far(choice) if choice.permits(value)]
    found = [*suggestions.as_they_are(choice), *ends, *suggestions.nearby(choice)]
    return list({mark(value): value for value in found}.values())


def shaped(suggestions: Suggestions, examples: list[Example]) -> Iterator[list[object]]:
    """Forms in each choice of the smallest example with a row."""
    for example in with_a_row(examples)[:1]:
        for place, choice in enumerate(example.choices):
            for value in forms_of(suggestions.constants, choice):
                yield changed(example, {place: value})


def repeated(suggestions: Suggestions, examples: list[Example]) -> Iterator[list[object]]:
    """Several rows with the same value of a form: code may count them."""
    for example in with_a_row(examples)[:1]:
        block = next(block for block in example.blocks if block.elements)
        start, end = block.elements[0]
        row = example.values[start:end]
        for place in range(start, end):
            for value in forms_of(suggestions.constants, example.choices[place])[:MOST_FORMS]:
                made = (*row[: place - start], value, *row[place - start + 1 :])
                yield from (example.with_elements(block, [made] * times) for times in ROWS)


def inner(suggestions: Suggestions, examples: list[Example]) -> Iterator[list[object]]:
    """Constants that stand together in the code, as all elements of a collection in a row."""
    for example in examples:
        block = example.inner
        if block is None:
            continue
        start, end = block.elements[0]
        values = [place for place in range(start, end) if example.choices[place].kind != "boolean"]
        if len(values) != 1:
            continue
        choice, before, after = (
            example.choices[values[0]], example.values[start : values[0]],
            example.values[values[0] + 1 : end],
        )  # fmt: skip
        fitted: list[Any] = [_fitted(one, choice) for one in suggestions.constants]
        for length in INNER:
            for first in range(len(fitted) - length + 1):
                some = fitted[first : first + length]
                if any(one is None for one in some):
                    continue
                # A set is drawn by places among what is left: what comes first leaves a gap above.
                for ways in dict.fromkeys((tuple(some), tuple(sorted(some, reverse=True)))):
                    yield example.with_elements(block, [(*before, one, *after) for one in ways])


def conjunctions(
    suggestions: Suggestions, space: ChoiceSpace, examples: list[Example]
) -> Iterator[list[object]]:
    """Constants that stand together in the code, in the choices of one row, in any order.

    A constant is tried as it is, then the next number up and down: `> 90_000` asks for 90,001.
    """
    for example in with_a_row(examples)[:1]:
        block = next(block for block in example.blocks if block.elements)
        places = [p for p in range(*block.elements[0]) if _is_value(example.choices[p])]
        named = {place: _named(suggestions, space, example, place) for place in places}
        # Names of fields stand between the values that the code compares them with.
        constants = [
            one for one in suggestions.constants
            if any(_ways(one, example.choices[place], named[place]) for place in places)
        ]  # fmt: skip
        for size in range(min(len(places), MOST_TOGETHER), 1, -1):
            windows = [constants[i : i + size] for i in range(len(constants) - size + 1)]
            yield from in_turn([_together(example, places, named, window) for window in windows])


def _is_value(choice: ExampleChoice) -> bool:
    return choice.kind != "boolean" or few_ways(choice)


def _together(
    example: Example,
    places: list[int],
    named: dict[int, dict[str, object]],
    window: Sequence[object],
) -> Iterator[list[object]]:
    for chosen in permutations(places, len(window)):
        ways = [
            _ways(constant, example.choices[place], named[place])
            for place, constant in zip(chosen, window, strict=True)
        ]
        for values in sorted(product(*(enumerate(way) for way in ways)), key=_changes):
            yield changed(example, {p: v for p, (_, v) in zip(chosen, values, strict=True)})


def _ways(constant: object, choice: ExampleChoice, named: dict[str, object]) -> list[object]:
    """What a choice may be on account of a constant, the constant itself first."""
    if isinstance(constant, str) and constant in named:
        return [named[constant]]
    found = exact(constant, choice.kind)[:1]
    if choice.kind == "integer" and found:
        found += [found[0] + 1, found[0] - 1]
    elif choice.kind == "float" and found:
        # The next number, since the limits of a range may be closer than 1.
        found += [math.nextafter(found[0], math.inf), math.nextafter(found[0], -math.inf)]
    return [value for value in found if choice.permits(value)]


def _changes(values: tuple[tuple[int, object], ...]) -> int:
    return sum(place > 0 for place, _ in values)


def _named(
    suggestions: Suggestions, space: ChoiceSpace, example: Example, place: int
) -> dict[str, object]:
    """The texts of the code that values of a choice bring into the databases.

    So a text is met that is drawn by its place in a list.
    """
    texts = [one for one in suggestions.constants if isinstance(one, str) and one]
    choice, found = example.choices[place], dict[str, object]()
    if not texts or choice.kind != "integer" or choice.size() > MOST_NAMED:
        return found
    shown = {}
    for value in all_of(choice):
        made = space.made(changed(example, {place: value}))
        shown[value] = repr(made.value) if made is not None else ""
    for text in texts:
        held = [value for value, database in shown.items() if repr(text) in database]
        # What all values bring is said by another choice, or is the name of a field.
        if 0 < len(held) < len(shown):
            found[text] = held[0]
    return found
