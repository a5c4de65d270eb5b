"""Which rows of a table tell most: those that stand out, and those that the code speaks of.

A mechanism that leaks a table leaks few of its rows. They are the first and the last by number, by
date, by spelling or by length, those whose entry is missing, rare, or written unlike the others,
and those that stand there twice. Where the code names constants, they are the rows that hold one,
that lie next to one, and that lie on the rarer side of several at once.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime
from itertools import chain, zip_longest
from math import inf, isfinite, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

Places = list[int]

MOST_LOOKED_AT = 20_000
"""Rows that are searched for the texts of the code."""
MOST_SURPRISE = 3.0
"""What one condition may add, so that one number that few rows have does not outweigh several."""
SHORTEST = 2
"""Letters of a text of the code that is looked for within longer ones."""
YEARS = range(1500, 2500)
"""Whole numbers of the code that may be years: each also stands for the first day of that year."""
DAY_FIRST = re.compile(r"(\d{1,2})[./-](\d{1,2})[./-](\d{4})")
UNLIKE = re.compile(r"[^\W\d_]+|\d+")


def told_first(
    columns: Sequence[Sequence[object]], rows: Sequence[bytes], constants: Sequence[object] = ()
) -> Places:
    """The places of all rows, those that tell most first: one for each way to stand out in turn.

    `rows` has what each row says, as bytes that are equal for equal ones.
    """
    orders: list[Places] = []
    spoken: list[Places] = []
    surprise = np.zeros(len(rows))
    for column in columns:
        numbers = np.array([number(entry) for entry in column])
        texts = [entry for entry in column if isinstance(entry, str)]
        spoken += _by_constants(column, numbers, texts, constants, surprise)
        orders += [[i for i, entry in enumerate(column) if is_missing(entry)]]
        orders += [_both_ends(numbers)]
        if texts:
            orders += [_rarest([_form(entry) for entry in column])]
            orders += [_rarest([entry if isinstance(entry, str) else None for entry in column])]
            lengths = [len(one) if isinstance(one, str) else np.nan for one in column]
            orders += [_both_ends(np.array(lengths))]
            orders += [_spelled(column)]
        else:
            orders += [_rarest([
                None if isfinite(n) else repr(entry)
                for entry, n in zip(column, numbers.tolist(), strict=True)
            ])]  # fmt: skip
    orders += [_repeated(rows)]
    together = np.argsort(-surprise, kind="stable").tolist() if surprise.any() else []
    found = _in_turn([together, _in_turn(spoken), _in_turn(orders)])
    return list(dict.fromkeys([*found, *range(len(rows))]))


def _in_turn(orders: Sequence[Places]) -> Places:
    turns = chain.from_iterable(zip_longest(*orders))
    return list(dict.fromkeys(place for place in turns if place is not None))


def is_missing(entry: object) -> bool:
    """Whether this is None, NaN, or what pandas has for them."""
    if entry is None or type(entry).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(entry, (float, np.floating)) and bool(entry != entry)


def number(entry: Any) -> float:
    """The entry as a number, also if it is written as a text: a day counts days; NaN for none."""
    if is_missing(entry) or isinstance(entry, (bool, np.bool_)):
        return np.nan
    if isinstance(entry, str):
        return _read(entry.strip())
    with suppress(TypeError, ValueError, OverflowError):
        if isinstance(entry, datetime):
            return (
                entry.toordinal() + (entry.hour * 3600 + entry.minute * 60 + entry.second) / 86400
            )
        return float(entry.toordinal()) if isinstance(entry, date) else float(entry)
    return np.nan


def _read(text: str) -> float:
    if not any(map(str.isdigit, text)):
        return np.nan
    with suppress(ValueError):
        return float(text.replace(",", ".") if text.count(",") == 1 else text.replace(",", ""))
    with suppress(ValueError):
        return number(datetime.fromisoformat(text))
    if day := DAY_FIRST.match(text):
        first, second, year = map(int, day.groups())
        return date(1, 1, 1).toordinal() + 365.2425 * (year - 1) + 30.4 * (second - 1) + first - 1
    return np.nan


def _both_ends(numbers: NDArray[np.float64]) -> Places:
    """The largest, the smallest, the second largest and so on; without those that are none."""
    known = np.flatnonzero(~np.isnan(numbers))
    ordered = known[np.argsort(numbers[known], kind="stable")].tolist()
    if not ordered or numbers[ordered[0]] == numbers[ordered[-1]]:
        return []
    both = chain.from_iterable(zip(reversed(ordered), ordered, strict=True))
    return list(dict.fromkeys(both))


def _spelled(column: Sequence[object]) -> Places:
    ordered = sorted((entry, i) for i, entry in enumerate(column) if isinstance(entry, str))
    places = [i for _, i in ordered]
    both = chain.from_iterable(zip(reversed(places), places, strict=True))
    return list(dict.fromkeys(both))


def _rarest(labels: Sequence[object]) -> Places:
    """One of each label, the rarest label first, and then the others; None is no label."""
    times = Counter(label for label in labels if label is not None)
    if len(times) < 2:
        return []
    held = [place for place, label in enumerate(labels) if label is not None]
    return sorted(held, key=lambda place: times[labels[place]])


def _form(entry: object) -> str | None:
    """How an entry is written: its type, and of a text which of it are letters and digits."""
    if is_missing(entry):
        return None
    if not isinstance(entry, str):
        return type(entry).__name__
    return "text " + UNLIKE.sub(lambda part: "9" if part[0].isdigit() else "a", entry)[:40]


def _repeated(rows: Sequence[bytes]) -> Places:
    """Rows that stand there more than once, one of each."""
    times = Counter(rows)
    first = {row: place for place, row in reversed(list(enumerate(rows)))}
    return sorted(first[row] for row, count in times.items() if count > 1)


def _by_constants(
    column: Sequence[object],
    numbers: NDArray[np.float64],
    texts: Sequence[str],
    constants: Sequence[object],
    surprise: NDArray[np.float64],
) -> Iterator[Places]:
    """Rows that hold or are next to a constant; `surprise` grows where few are on its side."""
    known = np.flatnonzero(~np.isnan(numbers))
    ordered = known[np.argsort(numbers[known], kind="stable")]
    values = numbers[ordered]
    next_to: Places = []
    for one in dict.fromkeys(chain.from_iterable(map(_limits, constants))) if len(values) else ():
        low, high = np.searchsorted(values, one, "left"), np.searchsorted(values, one, "right")
        next_to += [*ordered[low:high][:1].tolist(), *ordered[high : high + 1].tolist(),
                    *ordered[max(low - 1, 0) : low].tolist()]  # fmt: skip
        sides = [part for part in (ordered[low:high], ordered[high:], ordered[:low]) if len(part)]
        for rare in sorted(sides, key=len)[: len(sides) - 1]:
            surprise[rare] += min(log(len(numbers) / len(rare)), MOST_SURPRISE)
    yield list(dict.fromkeys(next_to))
    words = [one for one in constants if isinstance(one, str)]
    if not texts or not words:
        return
    held = defaultdict(list)
    for place, entry in enumerate(column[:MOST_LOOKED_AT]):
        if isinstance(entry, str):
            folded = entry.casefold()
            for word in words:
                if entry == word or (len(word) >= SHORTEST and word.casefold() in folded):
                    held[word].append(place)
    for places in held.values():
        surprise[places] += min(log(len(numbers) / len(places)), MOST_SURPRISE)
    yield _in_turn(list(held.values()))


def _limits(constant: object) -> list[float]:
    """The numbers that a constant may stand for: a year is also its first day."""
    one = number(constant)
    if not -inf < one < inf:
        return []
    year = int(one)
    return [one, float(date(year, 1, 1).toordinal())] if year == one and year in YEARS else [one]
