"""Constants of the mechanism's code in the choices of small examples."""

from collections.abc import Iterator
from itertools import islice, product
from typing import Any

from .choices import Block, Choice, Example
from .suggestions import MARKS, Suggestions, all_of, changed, exact, far, few_ways, mark
from .tries import in_turn

MOST_JOINT = 6
LENGTHS = (5, 4, 3, 2)
"""Constants adjacent in the code that are put into adjacent choices."""


def dictionary(suggestions: Suggestions, examples: list[Example]) -> Iterator[list[Any]]:
    """Constants that stand together in the code, in choices that do; then each alone."""
    one_row = [e for e in examples if any(block.elements for block in e.blocks)]
    yield from in_turn(
        [
            in_turn([runs(suggestions, example) for example in examples]),
            in_turn([_singles(suggestions, example) for example in examples]),
            in_turn([_joint(suggestions, example) for example in one_row[:1]]),
        ]
    )


def runs(suggestions: Suggestions, example: Example) -> Iterator[list[Any]]:
    """Constants adjacent in the code, in adjacent choices of the same kinds."""
    constants = suggestions.constants
    places = [p for p, choice in enumerate(example.choices) if choice.kind != "boolean"]
    for length in LENGTHS:
        for start in range(len(constants) - length + 1):
            values = constants[start : start + length]
            for first in range(len(places) - length + 1):
                chosen = places[first : first + length]
                fitted = [
                    _fitted(value, example.choices[place])
                    for value, place in zip(values, chosen, strict=True)
                ]
                if all(value is not None for value in fitted):
                    yield changed(example, dict(zip(chosen, fitted, strict=True)))


def _fitted(value: Any, choice: Choice) -> Any:
    return next((v for v in exact(value, choice.kind) if choice.permits(v)), None)


def _singles(suggestions: Suggestions, example: Example) -> Iterator[list[Any]]:
    for place, choice in enumerate(example.choices):
        if choice.kind != "boolean":
            for value in suggestions.fitting(choice)[:MARKS]:
                yield changed(example, {place: value})


def _joint(suggestions: Suggestions, example: Example) -> Iterator[list[Any]]:
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


def _small_and_large(example: Example, block: Block) -> tuple[list[int], list[int]]:
    """The choices of the first row that have few values, and the others."""
    start, end = block.elements[0]
    choices = example.choices
    small = [place for place in range(start, end) if few_ways(choices[place]) and place != start]
    if few_ways(choices[start]) and choices[start].kind == "integer":
        small.append(start)
    large = [p for p in range(start, end) if choices[p].kind != "boolean" and p not in small]
    return small, large


def _worth(suggestions: Suggestions, choice: Choice) -> list[Any]:
    ends = [value for value in far(choice) if choice.permits(value)]
    found = [*suggestions.as_they_are(choice), *ends, *suggestions.nearby(choice)]
    return list({mark(value): value for value in found}.values())
