"""Keywords and values that a Python caller gave, checked before anything runs.

The signature of a function says once which keywords it takes and of which types; `checked` reads
it and answers everything else with a sentence.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from difflib import get_close_matches
from enum import Enum
from functools import cache, wraps
from inspect import BoundArguments, Parameter, Signature, cleandoc, signature
from numbers import Integral, Real
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import InvalidArgument, UnknownArgument
from .looking import is_a

P = ParamSpec("P")
Q = TypeVar("Q")
R = TypeVar("R")

OTHER_WORDS = {
    "eps": "epsilon",
    "confidence": "alpha",
    "level": "alpha",
    "flake": "alpha",
    "budget": "trials",
    "draws": "trials",
    "n": "trials",
    "n_samples": "trials",
    "n_trials": "trials",
    "samples": "trials",
    "adjacency": "relation",
    "neighboring": "relation",
    "neighbouring": "relation",
    "neighbors": "pair",
    "neighbours": "pair",
    "data": "databases",
    "dataset": "databases",
    "datasets": "databases",
    "inputs": "databases",
    "random_state": "seed",
    "rng": "seed",
    "jobs": "workers",
    "n_jobs": "workers",
    "processes": "workers",
    "set": "parameters",
    "params": "parameters",
    "settings": "parameters",
    "max_time": "seconds",
    "time": "seconds",
}
"""Words of other tools and of the literature, with the keyword that means the same here."""
OF_ANOTHER = {
    ("estimate", "epsilon"): "it measures the loss and tests no claim; audit takes epsilon",
}
"""Keywords of one function that are asked of another, with what to do instead."""


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, which answers a wrong keyword or a value of a wrong type in words.

    Raises UnknownArgument for a keyword the function does not take and InvalidArgument for a
    value that its annotation does not allow. Where an annotation is too rich to check, the
    function itself must.
    """
    wanted = signature(function)

    @wraps(function)
    def asked(*args: P.args, **kwargs: P.kwargs) -> R:
        given = bound(function.__name__, wanted, args, kwargs)
        hints = _hints(function)
        for name, value in given.arguments.items():
            if name in hints and not _allows(hints[name], value):
                raise InvalidArgument(f"{name} must be {_words(hints[name])}, got {_shown(value)}")
            if _is_whole(value) and int in _parts(hints.get(name)):
                given.arguments[name] = int(value)
        return function(*given.args, **given.kwargs)

    return asked


def require_fields(
    made: type[object], hints: Mapping[str, object], values: Mapping[str, object]
) -> None:
    """InvalidArgument for a field of a dataclass whose value its type does not allow."""
    for name, hint in hints.items():
        if not _allows(hint, values[name]):
            raise InvalidArgument(
                f"{made.__name__}: {name} must be {_words(hint)}, got {_shown(values[name])}"
            )


def bound(
    name: str, wanted: Signature, args: tuple[object, ...], kwargs: Mapping[str, object]
) -> BoundArguments:
    """The arguments by name; UnknownArgument if there are others, or one is missing."""
    _require_known(name, wanted, kwargs)
    try:
        return wanted.bind(*args, **kwargs)
    except TypeError as error:
        needed = [
            one.name
            for one in wanted.parameters.values()
            if one.default is Parameter.empty and one.kind is not Parameter.VAR_KEYWORD
        ]
        told = f"{error}"
        if "missing" in told:
            given = [*list(wanted.parameters)[: len(args)], *kwargs]
            lacking = [one for one in needed if one not in given]
            told = f"it needs {', '.join(f'{one}=' for one in lacking)} too"
        elif all(one.kind is Parameter.KEYWORD_ONLY for one in wanted.parameters.values()):
            told = f"give its arguments by name, such as {next(iter(wanted.parameters), '')}="
        raise UnknownArgument(f"{name}: {told}; it takes {_said(wanted)}") from None


def asking(
    request: Callable[P, Q], first: tuple[str, ...] = (), told: Mapping[str, str] | None = None
) -> Callable[[Callable[[Q], R]], Callable[P, R]]:
    """A function of one request as a function of all that the request is made of, checked.

    `request` is a frozen dataclass: it states the keywords, their types and defaults once, for
    every function that takes them. `first` are keywords to name before the others in a signature.
    `told` has a sentence on each, which follow the function's own documentation.
    """

    def decorate(function: Callable[[Q], R]) -> Callable[P, R]:
        @wraps(function)
        def asked(*args: P.args, **kwargs: P.kwargs) -> R:
            return function(request(*args, **kwargs))

        wanted = signature(request)
        order = sorted(
            wanted.parameters.values(),
            key=lambda one: one.kind is Parameter.KEYWORD_ONLY and one.name not in first,
        )
        returned = get_type_hints(function)["return"]
        hints = {one.name: one.annotation for one in order}
        asked.__annotations__ = {**hints, "return": returned}
        asked.__signature__ = wanted.replace(  # type: ignore[attr-defined]
            parameters=order, return_annotation=returned
        )
        if told is not None:
            lines = [f":param {one.name}: {told[one.name]}" for one in order]
            asked.__doc__ = "\n".join([cleandoc(function.__doc__ or ""), "", *lines])
        del asked.__wrapped__
        return checked(asked)

    return decorate


def meant(word: str, known: Mapping[str, str] | tuple[str, ...] | list[str]) -> str:
    """' (did you mean ...?)' with the nearest of the known words, or nothing.

    A mapping leads from the word compared to the one shown.
    """
    shown = known if isinstance(known, Mapping) else {name: name for name in known}
    close = get_close_matches(word, shown, n=3, cutoff=0.6)
    return f" (did you mean {' or '.join(shown[name] for name in close)}?)" if close else ""


def _require_known(name: str, wanted: Signature, given: Mapping[str, object]) -> None:
    known = list(wanted.parameters)
    for word in given:
        if word in known:
            continue
        if instead := OF_ANOTHER.get((name, word)):
            raise UnknownArgument(f"{name} takes no {word!r}: {instead}")
        near = OTHER_WORDS.get(word.casefold())
        hint = f" (did you mean {near}?)" if near in known else meant(word, known)
        raise UnknownArgument(f"{name} takes no {word!r}{hint}; it takes {_said(wanted)}")


def _said(wanted: Signature) -> str:
    first = [n for n, p in wanted.parameters.items() if p.kind is not Parameter.KEYWORD_ONLY]
    named = [n for n, p in wanted.parameters.items() if p.kind is Parameter.KEYWORD_ONLY]
    by_name = f"by name {', '.join(named)}" if named else ""
    return " and ".join(filter(None, (", ".join(first), by_name)))


@cache
def _hints(function: Callable[..., object]) -> dict[str, object]:
    """What can be checked: an annotation may name what only a type checker imports."""
    found: dict[str, object] = {}
    for name, hint in function.__annotations__.items():
        alone = SimpleNamespace(__annotations__={name: hint})
        with suppress(NameError):
            found |= get_type_hints(alone, globalns=function.__globals__)
    return found


def _parts(hint: object) -> tuple[object, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _allows(hint: object, value: object) -> bool:
    return any(_fits(part, value) for part in _parts(hint))


def _fits(part: object, value: object) -> bool:
    if part is Any:
        return True
    if part is bool:
        # numpy's own truth values are no bool
        return is_a(value, bool) or type(value).__name__ == "bool"
    if part in (int, float):
        # A whole number written 1e6 is one; the range is judged where the number is used.
        kind: type = Integral if part is int and not _is_whole(value) else Real
        return is_a(value, kind) and not is_a(value, bool)
    origin = get_origin(part)
    if origin is Literal:
        return is_a(value, str)  # which words it may be is judged where it is used
    if origin is tuple:
        sizes = get_args(part)
        return is_a(value, (tuple, list)) and (Ellipsis in sizes or len(value) == len(sizes))
    if isinstance(origin, type):
        return is_a(value, origin)
    return not isinstance(part, type) or is_a(value, part)


def _is_whole(value: object) -> bool:
    return is_a(value, float) and value.is_integer()


def _words(hint: object) -> str:
    if "_SupportsArray" in str(hint):  # what numpy calls ArrayLike
        return "numbers, as a list or an array"
    said = dict.fromkeys(_word(part) for part in _parts(hint))
    *most, last = sorted(said, key=lambda word: word == "None")
    return f"{', '.join(most)} or {last}" if most else last


def _word(part: object) -> str:
    plain = {bool: "True or False", int: "a whole number", float: "a number", str: "a string"}
    origin = get_origin(part)
    if part is NoneType:
        return "None"
    if origin is Literal:
        return ", ".join(repr(one) for one in get_args(part))
    if part in plain:
        return plain[part]
    if origin is tuple:
        return "a tuple" if Ellipsis in get_args(part) else f"a tuple of {len(get_args(part))}"
    if isinstance(origin, type):
        return {"Callable": "a function", "Mapping": "a mapping"}.get(
            origin.__name__, f"a {origin.__name__}"
        )
    if isinstance(part, type) and issubclass(part, Enum):
        return f"a {part.__name__}"
    name = getattr(part, "__name__", str(part))
    return f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}"


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a user's object may refuse to be shown
        text = "a value"
    kind = type(value).__name__
    return f"{text if len(text) <= 60 else f'{text[:57]}...'} ({kind})"
