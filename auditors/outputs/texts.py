"""What a text says: JSON, lines, fields, numbers and words, each read off that text alone.

A text of a kind that few others are equal to is of no use as a category. What it says is a value
like any other; besides, letters that follow each other are counted in it, and numbers are looked
up by the words before them.
"""

import csv
import json
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .nodes import Texts

START, END = "\x02", "\x03"
"""Stand for the ends of a text among its letters."""
BETWEEN = 3
"""Most characters that separate two letters, as in `Q -> S` without its spaces or in `Q, S`."""
KEPT = 4
"""Lists of texts whose reading is kept: both sides are read more than once."""
DEEPEST = 16
"""Brackets in one another beyond which a text is no JSON to read."""
NUMBER = re.compile(
    r"(?<![\w.])([-+]?(?:0|[1-9]\d{0,14})(?:\.\d+)?(?:[eE][-+]?\d{1,3})?)"
    r"(?!\.?\d|[A-Za-z_]+\d)"
)
"""A number by itself. Codes stay words: 16 digits and more, leading zeros, letters amid digits."""
SEPARATED = re.compile(r"[^\s,;=:|]+([,;\t|])[^\s,;|]")
"""A line of a table begins so."""
FIELD = re.compile(r"([A-Za-z_][\w.-]*)\s*[=:]\s*(\"[^\"]*\"|'[^']*'|[^\s,;&#\"'=:][^\s,;&]*)")
WORD = re.compile(r"(?<!\w)[^\W\d]\w*")
"""What may name the number after it, or the one before."""
BITS = 21
"""Of one character: Unicode ends below 2^21. Three characters are one number."""


def said(text: str) -> dict[str, object]:
    """What the text says, by the name of the reading; empty if nothing could be read.

    JSON is its value, CSV its rows of cells; other lines are texts to be read in turn. Else there
    are the fields `key=value` with different keys, the other numbers in order, and the words with
    # in their place.
    """
    if text[:1] in ("{", "["):
        value = _json(text)
        if value is not None:
            return {"json": value}
    if separator := SEPARATED.match(text):
        with suppress(csv.Error):
            rows = csv.reader(text.splitlines(), delimiter=separator[1])
            return {"rows": [[_number(cell) for cell in row] for row in rows]}
    if len(lines := text.splitlines()) > 1:
        return {"lines": lines}
    found: dict[str, object] = {}
    between = FIELD.split(text)
    keys = between[1::3]
    if keys and len(set(keys)) == len(keys):
        found["fields"] = dict(zip(keys, map(_number, between[2::3]), strict=True))
        between[1::3], between[2::3] = [f"{key}=" for key in keys], ["#"] * len(keys)
        text = "".join(between)
    apart = NUMBER.split(text)
    if len(apart) > 1:
        found["numbers"] = [float(number) for number in apart[1::2]]
        text = "#".join(apart[::2])
    return {**found, "words": text} if found else {}


def _json(text: str) -> object:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    flat = text.count("{") + text.count("[") <= DEEPEST
    return value if flat or _deep(value, DEEPEST) else None


def _deep(value: object, left: int) -> bool:
    """Whether the value has at most so many levels."""
    if not isinstance(value, (dict, list)):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return left > 0 and all(_deep(part, left - 1) for part in inner)


def _number(text: str) -> float | str:
    if not text[:1].isalpha() and NUMBER.fullmatch(text):
        return float(text)
    return text.strip("\"'")


def spelled(name: str) -> str:
    """The text of which `name` is the printed form; the name itself if it is no quoted text."""
    quote = name[-1:]
    start = name.find(quote) + 1
    if quote not in ("'", '"') or start > 2 or start == len(name):
        return name
    if "\\" not in name:
        return name[start:-1]
    printed = name[start:-1].encode("latin-1", "backslashreplace")
    return printed.decode("unicode_escape", "surrogatepass")


@dataclass(frozen=True, slots=True)
class NeighbouringLetters:
    """Every two letters that follow each other in texts, or that `between` separates.

    Of each the `first`, `between` (a place in `separators`, whose first is empty), `second` and the
    text `row`. Separated are letters and digits, by at most BETWEEN characters of other kinds: in
    `Q-S-R` neighbours by position are Q- and -S, which do not tell how states follow each other.
    """

    first: NDArray[np.int64]
    between: NDArray[np.int64]
    second: NDArray[np.int64]
    row: NDArray[np.intp]
    separators: tuple[str, ...]

    def numbered(self) -> NDArray[np.int64]:
        """Each pair as one number, equal for equal pairs of these texts."""
        return (self.first << 2 * BITS) | (self.between << BITS) | self.second

    def spelled(self, number: int) -> str:
        """The pair of a number."""
        mask = (1 << BITS) - 1
        separator = self.separators[number >> BITS & mask]
        return f"{chr(number >> 2 * BITS)}{separator}{chr(number & mask)}"


@lru_cache(maxsize=KEPT)
def _letters(names: tuple[str, ...]) -> NeighbouringLetters:
    marked = [f"{START}{spelled(name)}{END}" for name in names]
    whole = "".join(marked).encode("utf-32-le", "surrogatepass")
    letters = np.frombuffer(whole, dtype=np.uint32).astype(np.int64)
    lengths = np.array([len(text) for text in marked], dtype=np.intp)
    rows = np.repeat(np.arange(len(names)), lengths)
    near = np.flatnonzero(rows[1:] == rows[:-1])

    kinds, kind = np.unique(letters, return_inverse=True)
    words = np.flatnonzero(np.array([chr(code).isalnum() for code in kinds.tolist()])[kind])
    left, right = words[:-1], words[1:]
    width = right - left - 1
    apart = (width > 0) & (width <= BETWEEN) & (rows[left] == rows[right])
    left, right, width = left[apart], right[apart], width[apart]
    run = np.zeros(len(left), dtype=np.int64)
    for place in range(BETWEEN):
        inside = place < width
        run[inside] = run[inside] << BITS | letters[left[inside] + 1 + place] + 1
    runs, separator = np.unique(run, return_inverse=True)

    return NeighbouringLetters(
        np.concatenate([letters[near], letters[left]]),
        np.concatenate([np.zeros(len(near), dtype=np.int64), 1 + separator]),
        np.concatenate([letters[near + 1], letters[right]]),
        np.concatenate([rows[near], rows[left]]),
        ("", *map(_characters, runs.tolist())),
    )


def _characters(run: int) -> str:
    """The characters of a run: its number has one more than the code of each, so that none is 0."""
    return _characters(run >> BITS) + chr((run & (1 << BITS) - 1) - 1) if run else ""


def alphabet(texts: Texts) -> int:
    """How many different letters the texts have, a mark of their start included."""
    return len(np.unique(_letters(texts.names).first))


def times(texts: Texts, letters: str) -> NDArray[np.int64]:
    """How often two letters follow each other in each text, overlaps included.

    Of more than two characters the inner ones separate the first from the last.
    """
    known = _letters(texts.names)
    place = known.separators.index(letters[1:-1]) if letters[1:-1] in known.separators else -1
    wanted = known.between == place
    wanted &= (known.first == ord(letters[0])) & (known.second == ord(letters[-1]))
    return np.bincount(known.row[wanted], minlength=len(texts.names))[texts.codes]


def telling_letters(first: Texts, second: Texts, most: int, least: float) -> list[str]:
    """The two letters whose numbers differ most between two samples, by `least` errors or more.

    The errors are those of counts of rare things, which is enough to rank by.
    """
    seen = []
    for side in (first, second):
        texts = side.compact()
        known = _letters(texts.names)
        often = np.bincount(texts.codes, minlength=len(texts.names))[known.row]
        distinct, places = np.unique(known.numbered(), return_inverse=True)
        means = np.bincount(places, often) / texts.count
        names = map(known.spelled, distinct.tolist())
        seen.append((dict(zip(names, means.tolist(), strict=True)), texts.count))
    (one, n), (two, m) = seen
    gaps = {}
    for pair in dict.fromkeys((*one, *two)):
        a, b = one.get(pair, 0.0), two.get(pair, 0.0)
        gaps[pair] = abs(a - b) / ((a + 1 / n) / n + (b + 1 / m) / m) ** 0.5
    best = sorted(gaps, key=lambda pair: (-gaps[pair], pair))[:most]
    return [pair for pair in best if gaps[pair] >= least]


@dataclass(frozen=True, slots=True)
class NumbersByWord:
    """The numbers of texts, one text after the other, and the words that occur once in a text.

    The numbers of text i are those from `starts[i]` up to `starts[i + 1]`. `word` has the place in
    `words` of each such word, `row` its text and `following` the first number after it.
    """

    numbers: NDArray[np.float64]
    starts: NDArray[np.intp]
    words: dict[str, int]
    word: NDArray[np.intp]
    row: NDArray[np.intp]
    following: NDArray[np.intp]


@lru_cache(maxsize=KEPT)
def _named(names: tuple[str, ...]) -> NumbersByWord:
    numbers: list[str] = []
    starts, words = [0], dict[str, int]()
    found: list[tuple[int, int, int]] = []
    for row, name in enumerate(names):
        apart = NUMBER.split(spelled(name))
        here: list[tuple[str, int]] = []
        for place, part in enumerate(apart[::2], start=len(numbers)):
            here += [(word, place) for word in WORD.findall(part)]
        times = Counter(word for word, _ in here)
        found += [(words.setdefault(word, len(words)), row, following)
                  for word, following in here if times[word] == 1]  # fmt: skip
        numbers += apart[1::2]
        starts.append(len(numbers))
    word, rows, following = np.array(found, dtype=np.intp).reshape(-1, 3).T
    return NumbersByWord(
        np.array(numbers, dtype=float), np.array(starts), words, word, rows, following
    )


def number_after(texts: Texts, word: str, place: int) -> NDArray[np.float64]:
    """The number of each text at a place after a word that it has once; NaN where there is none."""
    known = _named(texts.names)
    hit = np.flatnonzero(known.word == known.words.get(word, -1))
    rows, wanted = known.row[hit], known.following[hit] + place
    inside = (wanted >= known.starts[rows]) & (wanted < known.starts[rows + 1])
    found = np.full(len(texts.names), np.nan)
    found[rows[inside]] = known.numbers[wanted[inside]]
    return found[texts.codes]


def naming_words(texts: Texts, least: int, most: int) -> list[str]:
    """The commonest words after which numbers come at places that differ from text to text."""
    known = _named(texts.compact().names)
    times = np.bincount(known.word, minlength=len(known.words))
    places = known.following - known.starts[known.row]
    low, high = np.full(len(times), np.iinfo(np.intp).max), np.zeros(len(times), dtype=np.intp)
    np.minimum.at(low, known.word, places)
    np.maximum.at(high, known.word, places)
    ranked = np.argsort(-times, kind="stable").tolist()
    names = list(known.words)
    return [names[i] for i in ranked if times[i] >= least and low[i] < high[i]][:most]
