"""How the outputs of a recorded sample are laid out, told apart from what they say.

Two files of one law may name, order, nest or spell the same things otherwise, and that is the doing
of whoever wrote them. So before anything is counted the layouts of both are compared, down to the
innermost part; a difference is told and nothing is judged. What varies within a file is an output's
own, and is left to statistics.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...mechanisms.model import Array, Output

MOST_PARTS = 256
"""Parts of an output whose layouts are compared."""
MOST_TEXTS = 1000
"""Different texts at one place that are kept; of more, only their forms are."""
MOST_FORMS = 50
"""Forms of the texts at one place (the texts but for their digits); of more, none is kept."""
OFTEN = 20
"""Times that a text must occur before it is missed in the other sample: chance leaves none out."""
SHOWN = 12
"""Parts that are named when two layouts differ."""
MISSING, ABSENT, TEXTS, NUMBERS = "missing values", "no such part", "texts", "numbers"
NUMERALS = "numbers written as texts"
KINDS: dict[object, str] = {
    float: NUMBERS, int: NUMBERS, bool: "truth values", list: "rows", tuple: "rows",
    dict: "objects",
}  # fmt: skip
NUMERAL = re.compile(
    r"[-+−]?[$€£¥]?\s?[-+]?\d{1,3}(?:[,.'\s]?\d{3})*(?:[.,]\d+)?(?:e[-+]?\d+)?\s?[%€$£]?",
    re.IGNORECASE | re.ASCII,
)
"""A number with a currency, a per cent sign, blanks or other marks of thousands and decimals."""
DIGITS = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", re.IGNORECASE | re.ASCII)
_GONE = object()


@dataclass(frozen=True, slots=True)
class Layout:
    """What stands at one place of all outputs: of which `kinds`, and with which parts.

    `form` is "objects" with `names`, "rows" of one length, "entries" of rows of several lengths,
    or "" for what has no parts. `ordered` is whether the order of the names is that of a format
    and not an accident, `whole` whether all numbers are whole, `texts` how often each text occurs.
    """

    kinds: frozenset[str]
    form: str = ""
    names: tuple[str, ...] = ()
    parts: tuple["Layout", ...] = ()
    ordered: bool = False
    whole: bool = False
    texts: Mapping[str, int] = field(default_factory=dict)

    def difference(self, other: "Layout", place: str = "output") -> str:
        """Where and how the layouts differ so that outputs cannot be compared; "" if they can."""
        mine, others = self.kinds - {MISSING, ABSENT}, other.kinds - {MISSING, ABSENT}
        if mine and others and (apart := _kinds_apart(self.kinds, other.kinds)):
            return f"{place} has {apart}"
        if mine == others and (apart := _spelled_apart(self.texts, other.texts)):
            return f"{place} is {apart}"
        if self.form != other.form or not self.form:
            return ""
        if self.form == "entries":
            return self.parts[0].difference(other.parts[0], f"an entry of {place}")
        if self.names != other.names and (apart := self._names_apart(other)):
            return f"{place} has {apart}"
        if self.form == "rows" and self._moved(other):
            return f"{place} has parts of the same kinds in another order"
        beside = dict(zip(other.names, other.parts, strict=True))
        for name, part in zip(self.names, self.parts, strict=True):
            inner = name if self.form == "rows" else f"[{name}]"
            where = f"{inner} of {place}" if self.form == "rows" else f"{place}{inner}"
            if name in beside and (found := part.difference(beside[name], where)):
                return found
        return ""

    def _names_apart(self, other: "Layout") -> str:
        """Parts that are always there in one and never in the other, or their order."""
        mine, others = self._always(), other._always()
        lost, new = mine - set(other.names), others - set(self.names)
        fixed = len(mine) == len(self.names) and len(others) == len(other.names)
        if (lost and new) or (fixed and mine != others):
            return "other parts"
        return "its parts in another order" if fixed and self.ordered and other.ordered else ""

    def _always(self) -> set[str]:
        parts = zip(self.names, self.parts, strict=True)
        return {name for name, part in parts if ABSENT not in part.kinds}

    def _moved(self, other: "Layout") -> bool:
        """Whether rows hold the same kinds of numbers, such as one whole and one not, elsewhere."""
        mine, others = (
            [(sorted(part.kinds - {MISSING}), part.whole) for part in one.parts]
            for one in (self, other)
        )
        return mine != others and sorted(mine) == sorted(others)

    def __str__(self) -> str:
        """In words, such as: the parts 'x' (numbers), 'y' (texts)."""
        if not self.form:
            return f"single outputs ({self._said()})"
        return self._said()

    def _said(self) -> str:
        kinds = " and ".join(sorted(self.kinds - {MISSING, ABSENT})) or "nothing"
        if not self.names:
            return kinds
        shown = [
            f"{name} ({part._said()})"
            for name, part in zip(self.names[:SHOWN], self.parts, strict=False)
        ]
        more = f" and {len(self.names) - SHOWN} more" if len(self.names) > SHOWN else ""
        start = "the parts" if self.form == "objects" else f"rows of {len(self.names)} values:"
        return f"{start} {', '.join(shown)}{more}"


def _kinds_apart(first: frozenset[str], second: frozenset[str]) -> str:
    """Kinds that either has beside the other; a kind more in one alone is for statistics."""
    only, others = first - second, second - first
    numbers = {NUMBERS, NUMERALS}
    written = (NUMERALS in first) != (NUMERALS in second) and numbers & first and numbers & second
    if not (written or (only and others)):
        return ""
    one, two = (" and ".join(sorted(kinds)) for kinds in (first, second))
    return f"{one} in one and {two} in the other"


def _spelled_apart(first: Mapping[str, int], second: Mapping[str, int]) -> str:
    """Texts that are the same but for case, blanks and composed letters, or but for their numbers.

    The first where each file has its own spelling of one text and never the other's; the second
    where every text has a number in it and the words round it are others throughout.
    """
    spelled: tuple[dict[str, set[str]], ...] = ({}, {})
    for known, texts, beside in zip(spelled, (first, second), (second, first), strict=True):
        for text, times in texts.items():
            if times >= OFTEN and text not in beside:
                known.setdefault(_folded(text), set()).add(text)
    both = spelled[0].keys() & spelled[1].keys()
    found = [sorted(min(known[one]) for one in both)[:3] for known in spelled]
    if not both:
        forms = [{DIGITS.sub("#", text) for text in texts} for texts in (first, second)]
        if not all(0 < len(one) <= MOST_FORMS and all("#" in f for f in one) for one in forms):
            return ""
        if forms[0] & forms[1]:
            return ""
        found = [sorted(one)[:3] for one in forms]
    one, two = (", ".join(f"{text:.60}" if text else "''" for text in some) for some in found)
    return f"written as {one!r} in one and {two!r} in the other"


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def layout_of(values: Sequence[Output] | Array, *, ordered: bool = False) -> Layout:
    """The layout of outputs, an entry or a row for each. `ordered` if a table gives the parts."""
    if isinstance(values, np.ndarray):
        return _of_array(values)
    if set(map(type, values)) == {float}:
        return _of_floats(np.array(values))
    kinds = frozenset(_kind(value) for value in _samples(values))
    objects = [value for value in values if type(value) is dict]
    rows = [value for value in values if type(value) in (list, tuple)]
    if objects and not rows:
        seen = dict.fromkeys(name for one in objects for name in one)
        if len(seen) <= MOST_PARTS:
            parts = tuple(layout_of([one.get(name, _GONE) for one in objects]) for name in seen)
            return Layout(kinds, "objects", tuple(map(repr, seen)), parts, ordered)
    elif rows and not objects:
        sizes = {len(one) for one in rows}
        if len(sizes) > 1:
            return Layout(kinds, "entries", (), (layout_of([x for one in rows for x in one]),))
        columns = list(zip(*rows, strict=True))[:MOST_PARTS]
        names = tuple(f"part {place}" for place in range(1, len(columns) + 1))
        return Layout(kinds, "rows", names, tuple(map(layout_of, columns)), True)
    numbers = [value for value in values if type(value) in (int, float)]
    whole = bool(numbers) and all(float(x).is_integer() for x in numbers if -1e300 < x < 1e300)
    texts = Counter(value for value in values if type(value) is str)
    return Layout(kinds, whole=whole, texts=_kept(texts))


def _samples(values: Sequence[object]) -> list[object]:
    """One of each text and all else: enough to know the kinds."""
    return [*{v for v in values if type(v) is str}, *(v for v in values if type(v) is not str)]


def _kind(value: object) -> str:
    if value is _GONE:
        return ABSENT
    if type(value) is float and value != value:
        return MISSING
    if type(value) is str:
        return NUMERALS if NUMERAL.fullmatch(value.strip()) else TEXTS
    return KINDS.get(type(value), type(value).__name__)


def _kept(texts: Counter[str]) -> Mapping[str, int]:
    """The texts; of too many, one of each form that they have but for their numbers."""
    if len(texts) <= MOST_TEXTS:
        return texts
    forms: dict[str, str] = {}
    for text in texts:
        forms.setdefault(DIGITS.sub("#", text), text)
        if len(forms) > MOST_FORMS:
            return {}
    return dict.fromkeys(forms.values(), 1)


def _of_array(values: Array) -> Layout:
    kinds = frozenset({NUMBERS if values.dtype.kind in "iuf" else values.dtype.name})
    if values.ndim == 1:
        return Layout(kinds, whole=_whole(values))
    if values.ndim > 2:
        return Layout(frozenset({f"arrays of shape {values.shape[1:]}"}))
    names = tuple(f"part {place}" for place in range(1, values.shape[1] + 1))[:MOST_PARTS]
    parts = tuple(Layout(kinds, whole=_whole(values[:, i])) for i in range(len(names)))
    return Layout(frozenset({"rows"}), "rows", names, parts, True)


def _of_floats(values: Array) -> Layout:
    gone = np.isnan(values)
    found = [NUMBERS] * (not gone.all()) + [MISSING] * bool(gone.any())
    return Layout(frozenset(found), whole=_whole(values))


def _whole(values: Array) -> bool:
    finite = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    return (
        values.dtype.kind in "iuf" and len(finite) > 0 and bool((finite == np.round(finite)).all())
    )
