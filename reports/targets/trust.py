"""What replay may run: a catalogue name, or a target that the user named and the module defines.

An evidence file is data that somebody else may have written. The target in it is a name, and a
name can lead to any code that can be imported. So a target is run only if it is in the catalogue,
or the user typed it, or agreed to it at a terminal. What is run must be made in the module that
the target names: its source is read for that before the module is loaded, so nothing is executed
in a module that has no such function.
"""

import ast
import functools
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import BuiltinFunctionType, FunctionType

from ...auditors.errors import InvalidArgument
from ...auditors.evidence.record import ClaimCheckRecord, ResultRecord
from ...auditors.looking import is_a
from ...mechanisms.model import Mechanism, NegativeControl
from . import targets

LARGEST_SOURCE = 16 * 2**20
"""Bytes of a source that is read before its module is loaded."""
FURTHEST = 20
"""How many plain names (`g = f`) are followed to what they stand for."""

Ask = Callable[[str], bool]


def allowed(
    records: Sequence[ResultRecord] | Sequence[ClaimCheckRecord],
    named: Sequence[str],
    *,
    program: str | None = None,
    ask: Ask | None = None,
    path: str = "EVIDENCE.json",
) -> list[str | None]:
    """For each record the target that may be run in its place, None where it is to be left out.

    `named` are the targets that the user typed, `program` the command or interpreter. `ask` puts
    a question to the user; without it nobody can be asked. A single typed target stands for the
    one of a file whose records all have the same. Raises InvalidArgument with what to type.
    """
    whole = [str(record["target"]) for record in records]
    chosen = _allowed([targets.attacked(text)[1] for text in whole], named, program, ask, path)
    # Who attacks is no matter of trust: the file says whether values, bits or types were judged.
    return [
        target and text.removesuffix(targets.attacked(text)[1]) + target
        for text, target in zip(whole, chosen, strict=True)
    ]


def _allowed(
    recorded: Sequence[str],
    named: Sequence[str],
    program: str | None,
    ask: Ask | None,
    path: str,
) -> list[str | None]:
    if len(named) == 1 and not program and len(set(recorded)) == 1:
        return [named[0] for _ in recorded]
    chosen: list[str | None] = []
    agreed: dict[str, bool] = {}
    for target in recorded:
        if named:
            typed = any(_is_named(target, name, program) for name in named)
            typed = typed or bool(program and _is_allowed(target, program))
            chosen.append(target if typed else None)
            continue
        if _is_allowed(target, program):
            chosen.append(target)
            continue
        if not target:
            raise InvalidArgument(
                "the evidence was made from Python and names no target; give the mechanism, as in "
                f"{shlex.join(['dpwitness', 'replay', path])} release.py:noisy_sum, or call "
                "dpwitness.replay(evidence, mechanism)"
            )
        if target not in agreed:
            agreed[target] = ask is not None and ask(target)
        if not agreed[target]:
            raise InvalidArgument(_what_to_type(target, path))
        chosen.append(target)
    if not any(chosen):
        raise InvalidArgument(
            f"no result in the evidence is of {' or '.join(named)}; it names "
            + ", ".join(sorted({repr(target) for target in recorded}))
        )
    return chosen


def _is_allowed(target: str, program: str | None) -> bool:
    """Whether this runs without a question: our own catalogue, or a program that was typed."""
    words = targets.program_of(target)
    if not words:
        return bool(target) and ":" not in target
    # An interpreter that was typed still runs only a file that was typed.
    return target.startswith(targets.COMMAND) and program == words[1]


def _is_named(target: str, name: str, program: str | None) -> bool:
    words = targets.words_of(target)
    if len(words) == 1:
        return same_target(target, name)
    return target.startswith(targets.PYTHON) and words[1:] == [program, name]


def same_target(one: str, other: str) -> bool:
    """Whether two texts name one target: the same text, or one name in one file."""
    if one == other:
        return True
    (first, colon, attribute), second = one.rpartition(":"), other.rpartition(":")
    return (
        bool(colon)
        and attribute == second[2]
        and first.endswith(".py")
        and os.path.realpath(first) == os.path.realpath(second[0])
    )


def moved(one: str, other: str) -> bool:
    """Whether two texts name one target, or one name in two files that are called alike."""
    (first, colon, attribute), second = one.rpartition(":"), other.rpartition(":")
    alike = os.path.basename(first) == os.path.basename(second[0]) and attribute == second[2]
    return same_target(one, other) or (bool(colon) and first.endswith(".py") and alike)


def require_named(
    named: Sequence[str], recorded: Sequence[str], program: str | None, path: str
) -> None:
    """InvalidArgument if one of several names belongs to nothing that a file records."""
    for name in named if len(named) > 1 else ():
        if not any(_is_named(target, name, program) for target in recorded):
            raise InvalidArgument(
                f"{name!r} is no target of {path!r}, which records "
                f"{', '.join(sorted(set(recorded)))}; one evidence file is replayed at a time"
            )


def _what_to_type(target: str, path: str) -> str:
    typed = targets.words_of(target)
    options, last = (typed[:2], typed[2:]) if len(typed) > 1 else ([], typed)
    dashes = ["--"] if path.startswith("-") else []
    line = shlex.join(["dpwitness", "replay", *options, *dashes, path, *last])
    return (
        f"the evidence names {shlex.join(typed)!r}, which replay runs only if you name it too, "
        f"after reading its code: {line}"
    )


def find(text: str, timeout: float = 10.0) -> targets.Target:
    """The mechanism that an allowed target names; the module is loaded only if it makes it.

    Raises InvalidArgument where the module does not define the name, or merely imported it.
    """
    attacker, rest = targets.attacked(text)
    if attacker:
        return targets.seen_by(attacker, find(rest, timeout))
    if text.startswith(targets.COMMAND):
        return targets.find_target(text, timeout)
    if text.startswith(targets.PYTHON):
        place, _, attribute = targets.words_of(text)[-1].rpartition(":")
        if targets.is_file(place):
            _require_made_there(place, attribute, text)
        return targets.find_target(text, timeout)
    place, colon, attribute = text.rpartition(":")
    # A catalogue name, or a file of OpenDP's own, which calls constructors of OpenDP alone.
    if not colon or (place == "opendp" and attribute.endswith(".json")):
        return targets.find_target(text, timeout)
    made = _require_made_there(place, attribute, text)
    target = targets.find_target(text, timeout)
    if not _is_own(target.mechanism, place, made):
        raise InvalidArgument(
            f"{text} is code of {_home(target.mechanism)} that {place} merely uses; replay runs "
            "only what the module it names defines"
        )
    return target


def _require_made_there(place: str, attribute: str, text: str) -> str:
    """How the module makes the first name of `attribute`: "function", "class" or "value"."""
    name = attribute.partition(".")[0]
    source = _source(place, text)
    try:
        tree = ast.parse(source, filename=place)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InvalidArgument(f"{place} is not Python that can be read: {error}") from None
    bindings = dict(_bindings(tree.body))
    for _ in range(FURTHEST):
        node = bindings.get(name)
        if node is None:
            raise InvalidArgument(
                f"{text}: {place} defines no {name!r}, so it was not loaded; replay runs only "
                "functions and mechanisms that the source of the module defines by name"
            )
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            raise InvalidArgument(
                f"{text}: {place} does not define {name!r}, it imports it; it was not loaded. "
                "Name the module that defines it"
            )
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return "function"
        if isinstance(node, ast.ClassDef):
            return "class"
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name):
            return "value"
        if root.id == name:
            break
        name = root.id
    raise InvalidArgument(f"{text}: {place} gives {attribute!r} no value of its own")


def _bindings(body: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.AST]]:
    """(name, what binds it) of the statements that run when a module is loaded, in their order."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name, node
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0], node
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _assigned(target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield from _assigned(node.target, node.value)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            yield from _assigned(node.target, node.iter)
        for part in ("body", "handlers", "orelse", "finalbody"):
            inner = getattr(node, part, None)
            is_block = isinstance(node, (ast.If, ast.Try, ast.With, ast.For, ast.While))
            if is_block and isinstance(inner, list):
                for item in inner:
                    handler = isinstance(item, ast.ExceptHandler)
                    yield from _bindings(item.body if handler else [item])


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, (ast.Tuple, ast.List)):
        values = value.elts if isinstance(value, (ast.Tuple, ast.List)) else None
        matched = values is not None and len(values) == len(target.elts)
        for index, inner in enumerate(target.elts):
            yield from _assigned(inner, values[index] if matched and values else value)


def _source(place: str, text: str) -> bytes:
    file = Path(os.path.realpath(place)) if targets.is_file(place) else _located(place)
    if file is None or file.suffix != ".py":
        raise InvalidArgument(
            f"{text}: there is no Python source of {place!r} here or among the installed packages, "
            "and replay loads no module whose source it cannot read first"
        )
    try:
        if not file.is_file():
            raise InvalidArgument(f"there is no file {place!r}; expected a Python file")
        if file.stat().st_size > LARGEST_SOURCE:
            raise InvalidArgument(f"{place} is larger than {LARGEST_SOURCE >> 20} MB; not read")
        return file.read_bytes()
    except OSError as error:
        raise InvalidArgument(f"cannot read {place}: {error.strerror or error}") from None


def _located(name: str) -> Path | None:
    """The source file of a module, or None; nothing is loaded to find it."""
    if not all(part.isidentifier() for part in name.split(".")):
        return None
    loaded = getattr(sys.modules.get(name), "__file__", None)
    if isinstance(loaded, str):
        return Path(loaded)
    path: Sequence[str] | None = [os.getcwd(), *(entry for entry in sys.path if entry)]
    found: str | None = None
    whole = ""
    for part in name.split("."):
        whole = f"{whole}.{part}" if whole else part
        try:
            spec = PathFinder.find_spec(whole, path)
            if spec is None and whole == part:
                # Editable installs are found by an import hook.
                spec = find_spec(part)
        except (ImportError, ValueError, AttributeError):
            spec = None
        if spec is None or (spec.submodule_search_locations is None and whole != name):
            return None
        path, found = spec.submodule_search_locations, spec.origin
    return Path(found) if found else None


def _is_own(found: object, place: str, made: str) -> bool:
    """Whether what was found once the module is loaded is not simply a function of another."""
    if is_a(found, (Mechanism, NegativeControl)):
        return True
    if isinstance(found, functools.partial):
        # The user named the partial; what it was given is written in the module.
        return True
    if not isinstance(found, (FunctionType, BuiltinFunctionType, type)):
        return True
    home = getattr(found, "__module__", None) or ""
    if home == place or home in targets.loaded_names(place):
        return True
    # A decorator or a factory of another module returns a function that it defines inside.
    return made in ("function", "value") and "<locals>" in getattr(found, "__qualname__", "")


def _home(found: object) -> str:
    return str(getattr(found, "__module__", None) or "another module")
