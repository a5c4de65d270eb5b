"""What may be worth choosing: ends, constants of the mechanism's code and what lies next to them.

Nothing here knows a strategy: a value is only ever suggested to a choice that permits it.

Some values are asked for and named nowhere: `len(code) == 8 and code[:2].isupper()`, or
`v & (v - 1) == 0`. Whole numbers of the code say where a text may change from letters to digits; a
pattern in the code is answered by what matches it; two texts that it asks for may stand in one;
powers of two and ten are round, and one less than a power of two is all ones.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import permutations
from random import Random
from typing import Any, TypeVar

from .choices import ChoiceSpace, Example, ExampleChoice, Value

T = TypeVar("T")
Text = TypeVar("Text", str, bytes)

SMALL = 12
"""Values of a whole-number choice up to which they are few, and all of them are suggested."""
ENUMERATED = 128
"""Values of one choice up to which all are tried."""
MARKS = 24
"""Constants tried in one choice."""
LONGEST = 40
"""Letters of a text that is made by its shape."""
MOST_CUTS, MOST_PATTERNS = 6, 8
"""Whole numbers of the code at which a text may change its letters, and patterns it may match."""
MOST_TEXTS = 6
"""Texts of the code that are joined with each other, and written otherwise."""
TIMES = (1, 2, 4, 8)
"""How long bytes are that are all the same."""
PLAINEST: Mapping[str, Value] = {"integer": 0, "float": 0.0, "string": ""}
"""The simplest value of each kind of choice."""
LETTERS = ("A", "a")
NUMBER = re.compile(r"[-+]?\d{1,18}(\.\d{1,9})?")
SPECIAL = ("e\u0301", "\ufb01", "\u0130", "\u00df", "a b", "a\n", "'", "-1", "nan", "None", "a@b.c")
"""Texts that code treats apart: not normal, of other case, with blanks, numbers, missing."""


class Suggestions:
    """Values to try in choices, from the constants of one mechanism."""

    def __init__(self, constants: Sequence[Any]) -> None:
        """Constants in the order of use."""
        self.constants = constants
        self.marks = {mark(value) for value in constants}
        self._known: dict[object, list[Value]] = {}

    def values(self, choice: ExampleChoice) -> list[Value]:
        """All values where they are few, else constants and ends."""
        key = (choice.kind, tuple((name, mark(v)) for name, v in choice.constraints.items()))
        if key not in self._known:
            found: list[Value]
            if choice.size() <= SMALL:
                low = choice.constraints.get("min_value", 0)
                found = [*range(low, low + int(choice.size()))]
            else:
                found = [*self.fitting(choice), *choice.ends()]
            self._known[key] = _different(found)
        return self._known[key]

    def fitting(self, choice: ExampleChoice) -> list[Value]:
        """The constants that a choice permits, each first as it is, then its surroundings."""
        return _different([*self.as_they_are(choice), *self.nearby(choice)])

    def as_they_are(self, choice: ExampleChoice) -> list[Value]:
        """The constants that a choice permits."""
        found = [value for one in self.constants for value in exact(one, choice.kind)]
        return [value for value in found if choice.permits(value)]

    def nearby(self, choice: ExampleChoice) -> list[Value]:
        """What is next to a constant and permitted."""
        found = [value for one in self.constants for value in _surroundings(one, choice.kind)]
        return [value for value in found if choice.permits(value)]

    def few(self, choice: ExampleChoice, most: int) -> Sequence[Value]:
        """The ends first, then 0, what is special, and constants; all values where they are few."""
        if choice.kind == "integer" and choice.size() <= most:
            return all_of(choice)
        return _different([*far(choice), *choice.ends(), *self.fitting(choice)])[:most]

    def numbers(self) -> list[float]:
        """The constants that are numbers."""
        return [value for value in self.constants if type(value) in (int, float)]


def in_turn(proposals: "list[Iterator[T]]") -> "Iterator[T]":
    """One of each in turn until all have ended."""
    while proposals:
        left = []
        for one in proposals:
            found = next(one, None)
            if found is not None:
                yield found
                left.append(one)
        proposals = left


def mark(value: object) -> tuple[str, str]:
    """Equal for values that are the same to the last bit and type."""
    return (type(value).__name__, repr(value))


def marks(values: Sequence[object]) -> tuple[object, ...]:
    """The same of several at once, and quicker: whole numbers and texts stand for themselves."""
    return tuple([one if type(one) in (int, str) else mark(one) for one in values])


def _different(values: list[T]) -> list[T]:
    return list({mark(value): value for value in values}.values())


def changed(example: Example, changes: Mapping[int, object]) -> list[object]:
    """The choices of an example with some of them changed."""
    values: list[object] = list(example.values)
    for place, value in changes.items():
        values[place] = value
    return values


def all_of(choice: ExampleChoice) -> list[int]:
    """All values of a choice that has few."""
    if choice.kind == "boolean":
        return [False, True]
    low = choice.constraints["min_value"]
    return list(range(low, low + int(choice.size())))


def few_ways(choice: ExampleChoice) -> bool:
    """Whether a choice has few values; one to go on or stop is none of these."""
    if choice.kind == "boolean":
        return choice.constraints.get("p") == 0.5
    return choice.kind == "integer" and 2 <= choice.size() <= SMALL


def far(choice: ExampleChoice) -> list[Value]:
    """The least and the greatest value of a choice."""
    if choice.kind == "integer" and choice.size() < math.inf:
        return [choice.constraints["min_value"], choice.constraints["max_value"]]
    ends = [value for value in choice.ends() if value == value]  # not NaN
    return [ends[0], ends[-1]] if ends else [choice.value, choice.value]


def exact(constant: object, kind: str) -> list[Any]:
    """A constant as a value of the kind, if it can be one."""
    if isinstance(constant, str) and kind in ("integer", "float"):
        return _read(constant, kind)
    if isinstance(constant, str) and kind == "bytes":
        found = [ip.packed for ip in _addresses(constant)]
        return found or [constant.encode("utf-8", "replace")]
    if kind == "integer" and isinstance(constant, (int, float)) and math.isfinite(constant):
        whole = int(constant)
        return [whole] if whole == constant else [math.floor(constant), math.ceil(constant)]
    if kind == "float" and isinstance(constant, (int, float)):
        try:
            return [float(constant)]
        except OverflowError:
            return []
    if (kind == "string" and isinstance(constant, str)) or (
        kind == "bytes" and isinstance(constant, bytes)
    ):
        return [constant]
    return []


def _read(text: str, kind: str) -> list[float]:
    """The number that a text writes; as a whole number with its digits behind the point, too."""
    if not NUMBER.fullmatch(text):
        return [int(ip) for ip in _addresses(text)] if kind == "integer" else []
    if kind == "float":
        return [float(text)]
    number = Decimal(text)
    whole = [int(number.scaleb(-int(number.as_tuple().exponent)))]
    return [*whole, *([int(number)] if number == int(number) else [])]


@lru_cache(maxsize=1024)
def _addresses(text: str) -> tuple[IPv4Address | IPv6Address, ...]:
    """The address that a text writes; asked of each constant for each choice."""
    with suppress(ValueError):
        return (ip_address(text),)
    return ()


def _surroundings(constant: object, kind: str) -> list[Value]:
    """A little more, a little less, and the negative of a constant."""
    found: list[Value] = []
    for value in exact(constant, kind):
        if kind == "integer":
            found += [value + 1, value - 1, -value]
        elif kind == "float":
            found += [math.nextafter(value, math.inf), math.nextafter(value, -math.inf)]
            found += [value + 1, value - 1, -value]
    return found


def simplest(choice: ExampleChoice) -> Value:
    """0, False or an empty text where permitted, else the choice as it is."""
    for value in (PLAINEST.get(choice.kind), choice.value):
        if value is not None and choice.kind != "boolean" and choice.permits(value):
            return value
    return choice.value


def anything(choice: ExampleChoice, random: Random) -> Value:
    """A value at random from a bounded range of numbers, else the choice as it is."""
    if choice.kind == "integer" and choice.size() < math.inf:
        return random.randint(choice.constraints["min_value"], choice.constraints["max_value"])
    if choice.kind == "float":
        low, high = choice.constraints["min_value"], choice.constraints["max_value"]
        if math.isfinite(low) and math.isfinite(high):
            value = random.uniform(low, high)
            return value if choice.permits(value) else choice.value
    return choice.value


def sortable(value: object) -> tuple[str, object]:
    """A key that orders values of any kinds."""
    kind = "number" if isinstance(value, (bool, int, float)) else type(value).__name__
    return kind, 0 if value != value else value


def forms_of(constants: Sequence[object], choice: ExampleChoice) -> list[Value]:
    """Values of some form that a choice permits, one of each form in turn."""
    found: list[Value]
    match choice.kind:
        case "string":
            ways = _matches(constants), _joined(constants, str), _written(constants)
            found = list(in_turn([*ways, _shapes(constants), _padded(constants), iter(SPECIAL)]))
        case "bytes":
            found = list(in_turn([_joined(constants, bytes), _all_the_same(constants)]))
        case "integer" | "float":
            kind = int if choice.kind == "integer" else float
            found = [math.nan, math.inf, -math.inf, -0.0, 5e-324] if kind is float else []
            found += [kind(2**k) for k in range(40, 3, -1)]
            found += [kind(10**k) for k in range(12, 1, -1)]
            found += [kind(2**k - 1) for k in range(40, 3, -1)]
            found += [kind(10**k - 1) for k in range(12, 1, -1)]
            bases = [n for n in dict.fromkeys(constants) if type(n) is int and 2 < n < 10]
            found += [kind(n**k) for n in bases[:MOST_TEXTS] for k in range(12, 2, -1)]
        case _:
            return []
    return _different([value for value in found if choice.permits(value)])


def _matches(constants: Sequence[object]) -> Iterator[str]:
    """A text for each pattern in the code."""
    from hypothesis import strategies as st

    patterns = [one for one in _texts(constants) if "\\" in one or "[" in one]
    for pattern in patterns[:MOST_PATTERNS]:
        with suppress(re.error, ValueError, OverflowError):
            re.compile(pattern)
            made = ChoiceSpace(st.from_regex(pattern, fullmatch=True)).made([])
            if made is not None and isinstance(made.value, str):
                yield made.value


def _joined(constants: Sequence[object], kind: type[Text]) -> Iterator[Text]:
    """Two texts of the code, or the bytes of it, one behind the other: it may ask for both."""
    parts = [one for one in dict.fromkeys(constants) if isinstance(one, kind) and one]
    for one, other in permutations(parts[:MOST_TEXTS], 2):
        yield one + other


def _written(constants: Sequence[object]) -> Iterator[str]:
    """Texts of the code in other letters, with blanks around, and twice."""
    for text in _texts(constants)[:MOST_TEXTS]:
        forms = (text.upper(), text.title(), text.lower(), f" {text}", f"{text} ", 2 * text)
        yield from (form for form in dict.fromkeys(forms) if form != text)


def _all_the_same(constants: Sequence[object]) -> Iterator[bytes]:
    """One byte, or several of it: nothing, all ones, and whole numbers of the code."""
    numbers = [n for n in constants if type(n) is int and 0 <= n < 256]
    for number in dict.fromkeys((0, 255, *numbers[:MOST_TEXTS])):
        yield from (bytes([number]) * times for times in TIMES[::-1])


def _shapes(constants: Sequence[object]) -> Iterator[str]:
    """So many letters and then digits, and the other way round, by the code's whole numbers."""
    cuts = _cuts(constants)
    for letter in LETTERS:
        for whole in cuts:
            for cut in cuts:
                if cut < whole:
                    yield letter * cut + "0" * (whole - cut)
                    yield "0" * cut + letter * (whole - cut)
            yield letter * whole
            yield "0" * whole


def _padded(constants: Sequence[object]) -> Iterator[str]:
    """A text of the code with digits or letters behind it or before it, up to one of its sizes."""
    for fill in ("0", *LETTERS):
        for text in _texts(constants)[:MOST_TEXTS]:
            for size in _cuts(constants):
                if len(text) < size:
                    yield text.ljust(size, fill)
                    yield text.rjust(size, fill)


def _texts(constants: Sequence[object]) -> list[str]:
    return list(dict.fromkeys(one for one in constants if isinstance(one, str) and one))


def _cuts(constants: Sequence[object]) -> list[int]:
    sizes = dict.fromkeys(n for n in constants if type(n) is int and 0 < n <= LONGEST)
    return list(sizes)[:MOST_CUTS]
