"""Statements with their mathematics typeset: MathML, which a browser sets without any help.

A statement is prose with formulas as one types them, "P[u <= t] <= exp(-t / 2)". What is read as
a formula: numbers, letters, names of functions and Greek letters with the signs between them. A
fraction is set as one only where that cannot be misread; what is not understood stays as typed.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from ..writing.terminal import printable

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eps": "ε", "eta": "η",
    "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "rho": "ρ", "sigma": "σ", "tau": "τ",
    "phi": "φ", "Delta": "Δ",
}  # fmt: skip
LETTERS = {**GREEK, "Du": "Δu", "Xh": "X̂"}
FUNCTIONS = {
    "Gumbel", "KL", "Lap", "Laplace", "artanh", "ceil", "exp", "floor", "ln", "log", "max", "min",
    "sqrt", "sum",
}  # fmt: skip
SIGNS = {"<=": "≤", ">=": "≥", "-": "−", "*": "·", "||": "‖"}
RELATIONS = {"<=", ">=", "<", ">", "="}
THIN = Markup('<mspace width="0.17em"/>')
STROKE = Markup("<mo>/</mo>")
CLOSING = {"(": ")", "[": "]", "{": "}"}
ARTICLES = {"a", "A", "I"}
_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<number>\d+(?:\.\d+)?(?:e[-+]?\d+\b)?)"
    r"|(?P<word>[A-Za-z]+(?:_(?=[A-Za-z]{2})[A-Za-z]+)*(?:\d+(?![A-Za-z]))?(?:'s\b|')?)"
    r"|(?P<sign><=|>=|\*\*|\|\||.)",
    re.DOTALL,
)
_AND_STOP = re.compile(r"(<math [^>]*>(?:(?!<math).)*</math>)([.,;:])")
"""A formula and what no line may begin with."""


@dataclass(slots=True)
class _Item:
    """A token, or a bracket with what is in it (`inside`); `near` if no space stands before it."""

    kind: str
    text: str
    near: bool
    inside: "list[_Item] | None" = None
    space: str = ""


class _Unclear(Exception):
    """A formula that is not understood."""


def formulas(told: str) -> Markup:
    """The text with its formulas as MathML; everything else in it is made harmless."""
    clean = printable(told)
    try:
        told = Markup("").join(_spans(_grouped(clean)))
        return Markup(_AND_STOP.sub(r'<span class="whole">\1\2</span>', str(told)))
    except _Unclear:
        return escape(_plain(clean))


def _plain(text: str) -> str:
    return text.replace(" <= ", " ≤ ").replace(" >= ", " ≥ ")


def _tokens(text: str) -> Iterator[_Item]:
    space = ""
    for found in _TOKEN.finditer(text):
        kind, token = str(found.lastgroup), found[0]
        if kind == "space":
            space = token
            continue
        yield _Item(kind, token, near=not space, space=space)
        space = ""


def _grouped(text: str) -> list[_Item]:
    """Tokens with round, square and curly brackets, bars and norms as one item each."""
    stack: list[tuple[_Item, list[_Item]]] = []
    here: list[_Item] = []
    tokens = list(_tokens(text))
    for place, token in enumerate(tokens):
        following = tokens[place + 1] if place + 1 < len(tokens) else None
        if token.text in CLOSING or (token.text in ("|", "||") and _opens(here, token, stack)):
            stack.append((token, here))
            here = []
        elif stack and token.text == CLOSING.get(stack[-1][0].text, stack[-1][0].text):
            opening, outside = stack.pop()
            opening.inside, opening.kind = here, "group"
            outside.append(opening)
            here = outside
        elif token.text in CLOSING.values() or token.text == "|":
            raise _Unclear
        else:
            # "eps-private": a hyphen before a word is not a minus.
            hyphen = token.text == "-" and token.near and following is not None and following.near
            if hyphen and following is not None and _is_prose(following):
                token.kind = "hyphen"
            here.append(token)
    if stack:
        raise _Unclear
    return here


def _opens(before: Sequence[_Item], token: _Item, stack: list[tuple[_Item, list[_Item]]]) -> bool:
    """Whether a bar begins something: not where one is open and a value stands right before it."""
    if token.text == "||" and stack and stack[-1][0].near and stack[-1][0].text == "(":
        return False  # KL(X || Y)
    inner = bool(stack) and stack[-1][0].text == token.text
    value = bool(before) and (before[-1].kind in ("number", "word", "group") or
                              before[-1].text in ("*", "'"))  # fmt: skip
    function = bool(before) and before[-1].text in FUNCTIONS
    return not (inner and value and not function)


def _is_prose(item: _Item) -> bool:
    word = item.text.rstrip("'0123456789")
    return (
        item.kind == "word"
        and len(word) > 1
        and word not in LETTERS
        and word not in FUNCTIONS
        and not (word == "C" or "_" in word)
    )


def _spans(items: Sequence[_Item]) -> Iterator[Markup]:
    """The text in order: stretches of prose, escaped, and formulas."""
    flags = _mathematical(items)
    start = 0
    for end in range(1, len(items) + 1):
        if end < len(items) and flags[end] == flags[start]:
            continue
        part = items[start:end]
        yield escape(part[0].space)
        if flags[start] and _is_formula(part):
            yield from _broken(part)
        elif flags[start]:
            yield escape(_plain(_typed(part).removeprefix(part[0].space)))
        else:
            yield from _prose(part)
        start = end


def _prose(part: Sequence[_Item]) -> Iterator[Markup]:
    for place, item in enumerate(part):
        yield escape(item.space if place else "")
        if item.inside is None:
            yield escape(item.text)
        else:
            yield escape(item.text)
            yield from _spans(item.inside)
            yield escape(CLOSING.get(item.text, item.text))


def _typed(items: Sequence[_Item]) -> str:
    """The items as they were typed."""
    return "".join(
        item.space + item.text
        if item.inside is None
        else f"{item.space}{item.text}{_typed(item.inside)}{CLOSING.get(item.text, item.text)}"
        for item in items
    )


def _mathematical(items: Sequence[_Item]) -> list[bool]:
    """Which items belong to formulas."""
    flags = []
    for place, item in enumerate(items):
        before = items[place - 1] if place else None
        after = items[place + 1] if place + 1 < len(items) else None
        flags.append(_belongs(item, before, after))
    # A word beside a sign of a formula is a quantity: "mistakes >= t".
    for place, item in enumerate(items):
        if flags[place] or item.kind != "word":
            continue
        beside = [one for one in items[max(0, place - 1) : place + 2] if one is not item]
        flags[place] = any(one.kind == "sign" and _binds(one, items) for one in beside)
    # A sign without a value on its right is punctuation.
    for place, item in enumerate(items):
        if item.kind == "sign" and flags[place]:
            right = place + 1 < len(items) and flags[place + 1]
            flags[place] = right or (item.text == "*" and item.near)
    return flags


def _binds(sign: _Item, items: Sequence[_Item]) -> bool:
    place = next(i for i, one in enumerate(items) if one is sign)
    following = items[place + 1] if place + 1 < len(items) else None
    if sign.text in RELATIONS | {"+", "/"}:
        return True
    return sign.text == "-" and bool(sign.space) and following is not None and not following.near


def _belongs(item: _Item, before: _Item | None, after: _Item | None) -> bool:
    match item.kind:
        case "number":
            return True
        case "hyphen":
            return False
        case "group":
            assert item.inside is not None
            if item.text in ("|", "||"):
                return True
            applied = item.near and before is not None and before.kind == "word" and not (
                _is_prose(before) and before.text not in FUNCTIONS
            )  # fmt: skip
            return applied or _is_formula(item.inside, whole=True)
        case "sign":
            return item.text in RELATIONS | {"+", "-", "/", "^", "**", "_", "*", "<", ">", "||"}
    if item.text in FUNCTIONS:
        applied = after is not None and after.inside is not None and after.near
        return applied or (
            item.text in ("sum", "ln") and after is not None and not _is_prose(after)
        )
    if item.text in ARTICLES:
        beside = [one for one in (before, after) if one is not None]
        if any(one.text in FUNCTIONS for one in beside):
            return True
        return any(one.kind == "sign" and one.text not in ".;:'" for one in beside) and not (
            after is not None and _is_prose(after)
        )
    return not _is_prose(item)


def _is_formula(items: Sequence[_Item], *, whole: bool = False) -> bool:
    """Whether there is more to it than plain numbers; with `whole`, whether it has no prose."""
    if not items:
        return False
    if whole:
        flags = _mathematical(items)
        signs = any(
            item.kind == "sign" and item.text not in ".,;:'" for item in items
        )  # fmt: skip
        if not signs and not all(
            flag or item.text == "," for flag, item in zip(flags, items, strict=True)
        ):
            return False
        return all(
            flag or item.text in (",", "'") or (signs and item.kind in ("word", "hyphen"))
            for flag, item in zip(flags, items, strict=True)
        )
    return any(item.kind != "number" for item in items)


def _broken(items: Sequence[_Item]) -> Iterator[Markup]:
    """The formula in parts between which a line may end: before relations, plus and minus."""
    start = 0
    for place, item in enumerate(items):
        if place > start and item.kind == "sign" and item.text in RELATIONS | {"+", "-"}:
            if items[place - 1].kind == "sign":
                continue
            yield _math(items[start:place])
            yield Markup(" ")
            start = place
    yield _math(items[start:])


def _math(items: Sequence[_Item]) -> Markup:
    return Markup('<math displaystyle="true">{}</math>').format(_row(items))


def _row(items: Sequence[_Item]) -> Markup:
    """Terms and the signs between them."""
    parts: list[Markup] = []
    factors: list[Markup] = []
    place = first = 0

    def close() -> None:
        if factors:
            parts.append(THIN.join(factors))
        factors.clear()

    while place < len(items):
        item = items[place]
        if item.kind == "sign" and item.text == "/" and factors:
            place = _fraction(items, place, first, factors, parts)
        elif item.kind in ("sign", "hyphen") and item.text not in ("'",):
            close()
            # What goes on from the line before stands between two values, as a browser cannot know.
            goes_on = place == 0 and len(items) > 1 and not items[1].near
            how = Markup(' form="infix" lspace="0"' if goes_on else "")
            parts.append(Markup("<mo{}>{}</mo>").format(how, SIGNS.get(item.text, item.text)))
            place += 1
        else:
            first = first if factors else place
            factor, following = _factor(items, place)
            if factors and item.inside is not None and item.near:
                factor = factors.pop() + factor
            factors.append(factor)
            place = following
    close()
    return Markup("").join(parts)


def _fraction(
    items: Sequence[_Item],
    place: int,
    first: int,
    factors: list[Markup],
    parts: list[Markup],
) -> int:
    """A fraction of all factors, which begin at `first`, and the one after the stroke, or a stroke.

    Gives the place that follows what was read.
    """
    if place + 1 == len(items):
        raise _Unclear
    sign = Markup("")
    start = place + 1
    if items[start].text == "-" and start + 1 < len(items):
        sign, start = Markup("<mo>−</mo>"), start + 1
    below, after = _factor(items, start, bare=True)
    follows = after < len(items) and items[after].kind != "sign"
    if follows:
        # "a / b c" may mean either; it stays as it was typed.
        parts += [THIN.join(factors), STROKE]
        factors.clear()
        return place + 1
    before = items[first:place]
    if after == place + 2 and len(before) == 1 and _is_short(before[0]) and _is_short(items[start]):
        factors[:] = [Markup("<mrow>{}{}{}</mrow>").format(factors[0], STROKE, below)]
        return after
    bracket = len(before) == 1 and before[0].text == "("
    above = _row(before[0].inside or ()) if bracket else THIN.join(factors)
    factors[:] = [
        Markup("<mfrac><mrow>{}</mrow><mrow>{}{}</mrow></mfrac>").format(above, sign, below)
    ]
    return after


def _is_short(item: _Item) -> bool:
    return item.kind in ("number", "word")


def _factor(items: Sequence[_Item], place: int, *, bare: bool = False) -> tuple[Markup, int]:
    """One value with its exponent and index, and where the next begins."""
    item = items[place]
    if item.kind == "sign":
        raise _Unclear
    following = items[place + 1] if place + 1 < len(items) else None
    if item.text in FUNCTIONS and following is not None and following.inside is not None:
        return _applied(item, items, place + 1)
    lone = following is None or following.text not in ("^", "**", "_")
    base = _atom(item, bare=bare and lone)
    return _scripts(base, items, place + 1)


def _applied(name: _Item, items: Sequence[_Item], place: int) -> tuple[Markup, int]:
    argument = items[place]
    if name.text == "sqrt" and argument.text == "(":
        inside = Markup("<msqrt>{}</msqrt>").format(_row(argument.inside or ()))
    else:
        inside = Markup("<mrow><mi>{}</mi><mo>&#x2061;</mo>{}</mrow>").format(
            name.text, _atom(argument)
        )
    return _scripts(inside, items, place + 1)


def _scripts(base: Markup, items: Sequence[_Item], place: int) -> tuple[Markup, int]:
    while place < len(items):
        sign, following = items[place], items[place + 1] if place + 1 < len(items) else None
        if sign.text == "*" and sign.near and (following is None or not _is_value(following)):
            base, place = Markup("<msup>{}<mo>*</mo></msup>").format(base), place + 1
        elif sign.text in ("^", "**", "_") and following is not None:
            tag = "msub" if sign.text == "_" else "msup"
            place += 1
            minus = Markup("")
            if items[place].text == "-" and place + 1 < len(items):
                minus, place = Markup("<mo>−</mo>"), place + 1
            script = _atom(items[place], bare=True)
            base = Markup(f"<{tag}>{{}}<mrow>{{}}{{}}</mrow></{tag}>").format(base, minus, script)
            place += 1
        else:
            break
    return base, place


def _is_value(item: _Item) -> bool:
    return item.kind in ("number", "word", "group")


def _atom(item: _Item, *, bare: bool = False) -> Markup:
    """A number, a letter, a word or a bracket; `bare` leaves round brackets out."""
    if item.inside is not None:
        inside = _row(item.inside)
        if (bare and item.text == "(") or item.text == "{":
            return Markup("<mrow>{}</mrow>").format(inside)
        left, right = item.text, CLOSING.get(item.text, item.text)
        return Markup("<mrow><mo{}>{}</mo><mrow>{}</mrow><mo{}>{}</mo></mrow>").format(
            Markup(' form="prefix"'), SIGNS.get(left, left), inside,
            Markup(' form="postfix"'), SIGNS.get(right, right),
        )  # fmt: skip
    if item.kind == "number":
        return Markup("<mn>{}</mn>").format(item.text)
    if item.kind in ("sign", "hyphen"):
        raise _Unclear
    return _named(item)


def _named(item: _Item) -> Markup:
    prime = "′" if item.text.endswith("'") else ""
    word = item.text.rstrip("'")
    first, _, last = word.partition("_")
    if last and (first in GREEK or last in GREEK):
        sign, index = (first, last) if first in GREEK else (last, first)
        return Markup("<msub><mi>{}</mi><mtext>{}</mtext></msub>").format(GREEK[sign], index)
    letters, digits = word.rstrip("0123456789"), word[len(word.rstrip("0123456789")) :]
    shown = LETTERS.get(letters, letters)
    if _is_prose(item) or "_" in word:
        return Markup("<mtext>{}</mtext>").format(item.text.replace("_", "\u00a0"))
    if word == "sum":
        return Markup("<mo>∑</mo>")
    sign = Markup("<mi>{}</mi>").format(shown)
    if digits:
        sign = Markup("<msub>{}<mn>{}</mn></msub>").format(sign, digits)
    return Markup("<msup>{}<mo>{}</mo></msup>").format(sign, prime) if prime else sign
