"""From the text a user typed to the mechanism or the databases it names."""

import importlib
import importlib.machinery
import importlib.util
import os
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any

from ...auditors.arguments import meant
from ...auditors.databases.records import is_frame
from ...auditors.errors import InvalidArgument
from ...auditors.looking import attribute, is_a
from ...auditors.privacy.request import of_marks
from ...auditors.remote.libraries import named
from ...mechanisms.model import (
    Histogram,
    Mechanism,
    NegativeControl,
    Rows,
    Theorem,
    Value,
    points_of,
)
from ..adapters import adapted, serialized, with_databases
from ..adapters.table_files import is_table_file, table_in
from ..record.reading import points_from

COMMAND, PYTHON = "command=", "python="
"""How the text of a target begins when another process draws."""
SEEN = re.compile(r"(?:bits|types)=")
"""How it begins when the attacker sees more than values."""


MOST_NAMES = 8
"""Names that an error lists of what a file has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A mechanism (or bare function) with the text that names it and a name for people."""

    text: str
    name: str
    mechanism: Any


def target_text(
    target: str | None, command: str | None, python: str | None, release: str | None = None
) -> str:
    """The one text that names what TARGET, --release, --command and --python name together."""
    if release is not None:
        if target is None or command is not None or ":" not in target:
            raise InvalidArgument(
                "--release names fitted attributes of a model; give it as a TARGET such as "
                "model.py:MODEL"
            )
        target = f"{target}[{release}]"
    if command is not None:
        if target is not None or python is not None:
            raise InvalidArgument(
                "--command is the mechanism; give no TARGET and no --python beside it"
            )
        return COMMAND + command
    if target is None:
        raise InvalidArgument(
            "nothing to audit is named; give a TARGET, such as release.py:noisy_sum, or --command"
        )
    return target if python is None else PYTHON + shlex.join([python, target])


def words_of(text: str) -> list[str]:
    """How the target is typed on the command line: what `target_text` made one text of."""
    attacker, text = attacked(text)
    if attacker:
        return ["--attacker", attacker, *words_of(text)]
    if text.startswith(COMMAND):
        return program_of(text)
    if text.startswith(PYTHON):
        return [*program_of(text), *_split(text.removeprefix(PYTHON))[1:]]
    return [text]


def program_of(text: str) -> list[str]:
    """The option and the program that the target needs besides dpwitness, if any."""
    _, text = attacked(text)
    if text.startswith(COMMAND):
        return ["--command", text.removeprefix(COMMAND)]
    if text.startswith(PYTHON):
        return ["--python", *_split(text.removeprefix(PYTHON))[:1]]
    return []


def replay_command(path: str, target: str = "") -> str:
    """The command that counts the evidence in `path` again.

    It names the target where the user has to: all but the names of the catalogue.
    """
    _, target = attacked(target)
    typed = words_of(target) if ":" in target or program_of(target) else []
    options = typed[:2] if program_of(target) else []
    words = ["dpwitness", "replay", *options, *(["--"] if path.startswith("-") else []), path]
    return shlex.join([*words, *typed[len(options) :]])


def _split(text: str) -> list[str]:
    with suppress(ValueError):
        words = shlex.split(text)
        if len(words) == 2:
            return words
    raise InvalidArgument(f"{PYTHON}{text} is not understood; expected INTERPRETER FILE.py:NAME")


def find_target(text: str, timeout: float = 10.0) -> Target:
    """The catalogue entry, attribute of a module or file, or command that `text` names.

    Forms: a catalogue name or identifier in any case, `package.module:attribute`,
    `path/to/file.py:attribute`, `opendp:FILE.json`, `command=PROGRAM ARGUMENTS`,
    `python=INTERPRETER file.py:attribute`, and `bits=` or `types=` before any of these; a model's
    attribute may end in `[...]`, the fitted attributes that it releases.
    Loading a module runs its code, a command is started; it may stay silent for `timeout` seconds.
    Raises InvalidArgument with a sentence that says what was looked for.
    """
    if text.startswith((COMMAND, PYTHON)):
        return _in_a_process(text, timeout)
    attacker, rest = attacked(text)
    if attacker:
        return seen_by(attacker, find_target(rest, timeout))
    if (made := serialized(text)) is not None:
        return Target(text=text, name=made.name, mechanism=made)
    place, colon, attribute = text.rpartition(":")
    if not colon:
        return _from_catalogue(text)
    attribute, released = named(attribute)
    found = _attribute(_load(place, text), attribute, text)
    if is_a(found, NegativeControl):
        found = found.mechanism
    if is_a(found, Mechanism) and not released:
        return Target(text=text, name=found.name, mechanism=found)
    if (made := of_marks(found, attribute)) is not None and not released:
        return Target(text=text, name=made.name, mechanism=made)
    if (made := adapted(found, attribute, released)) is not None:
        return Target(text=text, name=made.name, mechanism=made)
    if not callable(found):
        raise InvalidArgument(
            f"{text} is of type {type(found).__name__}; expected a function of (database, rng) or "
            "a Mechanism"
        )
    return Target(text=text, name=attribute, mechanism=found)


def attacked(text: str) -> tuple[str, str]:
    """The attacker that a target's text begins with, "" for values, and the rest of it."""
    found = SEEN.match(text)
    return (found[0][:-1], text[found.end() :]) if found else ("", text)


def seen_by(attacker: str, found: Target) -> Target:
    """The target as an attacker sees it, who may see more than values."""
    from ...auditors.attackers import seen as attackers

    if attacker == "values":
        return found
    inner = found.mechanism
    if not is_a(inner, Mechanism):
        inner = Mechanism(name=found.name, run=inner)
    seen = attackers.seen_by(attacker, inner)
    return Target(text=f"{attacker}={found.text}", name=seen.name, mechanism=seen)


def _in_a_process(text: str, timeout: float) -> Target:
    from ...auditors.remote import from_command, from_python

    if text.startswith(COMMAND):
        found = from_command(text.removeprefix(COMMAND), timeout)
    else:
        python, target = _split(text.removeprefix(PYTHON))
        found = from_python(python, target, timeout)
    found = with_databases(found, getattr(found.run, "said", {}))
    return Target(text=text, name=found.name, mechanism=found)


def _from_catalogue(text: str) -> Target:
    from ...mechanisms.catalogue import CATALOGUE, NEGATIVE_CONTROLS

    wanted = _folded(text)
    rows = [*CATALOGUE.names, *NEGATIVE_CONTROLS.names]
    found = [names[0] for names in rows if wanted in map(_folded, names[1:])]
    found += [names[0] for names in rows if wanted == _folded(names[0])]
    if found:
        return Target(text=text, name=found[0], mechanism=_entry(found[0]))
    if os.path.isdir(text):
        raise InvalidArgument(
            f"{text} is a folder in which no function is marked with @dpwitness.claims(...); mark "
            "them, or name a function in a file, as file.py:function"
        )
    if text.endswith(".json") and os.path.isfile(text):
        raise InvalidArgument(
            f"{text} is no code; if it is evidence, `dpwitness replay {text}` counts it again"
        )
    if text.endswith(".py") or os.path.exists(text):
        raise InvalidArgument(
            f"{text} names a file but nothing in it; add a colon and the function's name, as in "
            f"{text}:my_mechanism, or mark functions in it with @dpwitness.claims(...), with its "
            "parentheses and no methods"
        )
    if statement := _statement(wanted):
        raise InvalidArgument(
            f"{statement} is a theorem and not a mechanism; `dpwitness reproduce {statement}` "
            "checks it"
        )
    names = {_folded(name): name for row in rows for name in row}
    module, _, function = text.rpartition(".")
    if function.isidentifier() and all(map(str.isidentifier, module.split("."))):
        raise InvalidArgument(
            f"nothing in the catalogue is called {text!r}; code of your own is named with a colon, "
            f"as {module}:{function}"
        )
    raise InvalidArgument(
        f"nothing in the catalogue is called {text!r}{_meant(wanted, names)}; `dpwitness list` "
        "shows what is there, and your own code is named as module:function or file.py:function"
    )


def _statement(wanted: str) -> str:
    """The theorem or broken statement of that name; "" for none. Loads the theorems."""
    from ...mechanisms.catalogue import BROKEN_STATEMENTS, THEOREMS

    known = [*THEOREMS.systems, *BROKEN_STATEMENTS.systems]
    return next((name for name in known if _folded(name) == wanted), "")


def _entry(name: str) -> Mechanism:
    from ...mechanisms.catalogue import CATALOGUE, NEGATIVE_CONTROLS

    if any(names[0] == name for names in CATALOGUE.names):
        return CATALOGUE.entry(name)
    return NEGATIVE_CONTROLS.entry(name).mechanism


def _folded(text: str) -> str:
    return text.strip().casefold().replace("_", "-").replace(" ", "-")


def _meant(wanted: str, names: dict[str, str]) -> str:
    close = get_close_matches(wanted, names, n=3, cutoff=0.5)
    return f" (did you mean {' or '.join(names[name] for name in close)}?)" if close else ""


def find_databases(text: str) -> object:
    """The domain, Hypothesis strategy or table that `text` names.

    That is file.py:NAME or module:NAME, a schema in schema.json, or the rows of table.csv or
    table.parquet, see `table_files`.
    """
    from hypothesis.strategies import SearchStrategy

    if is_table_file(text):
        return table_in(text)
    if text.endswith(".json"):
        return _from_schema(text)
    place, colon, attribute = text.rpartition(":")
    if not colon:
        raise InvalidArgument(
            "--databases takes table.csv, table.parquet, schema.json, file.py:NAME or "
            f"package.module:NAME, got {text!r}"
        )
    found = _attribute(_load(place, text), attribute, text)
    if isinstance(found, (Rows, Histogram, Value, SearchStrategy)) or is_frame(found):
        return found
    called = "; call it to make one" if callable(found) else ""
    if isinstance(found, list | tuple | set | frozenset):
        called = f"; of databases in a list st.sampled_from({attribute}) makes a strategy"
    raise InvalidArgument(
        f"{text} is of type {type(found).__name__}; expected a Hypothesis strategy, a table of "
        "pandas or polars, or one of the domains Rows, Histogram and Value of "
        f"dpwitness.mechanisms.model{called}"
    )


def databases_beside(text: str) -> tuple[str, ...]:
    """Strategies and domains that stand in the module or file of a target, as they are named."""
    from hypothesis.strategies import SearchStrategy

    _, text = attacked(text)
    place, colon, _ = text.rpartition(":")
    if not colon or text.startswith((COMMAND, PYTHON)):
        return ()
    kinds = (Rows, Histogram, Value, SearchStrategy)
    return tuple(
        f"{place}:{name}"
        for name, value in vars(_load(place, text)).items()
        if is_a(value, kinds) and not name.startswith("_")
    )


def find_curve(text: object) -> tuple[tuple[float, float], ...]:
    """The points (epsilon, delta) of a curve that `text` names; a list of points as it is.

    A file of points, see `curve_files`, or file.py:NAME or module:NAME of an accountant, an event,
    a privacy loss distribution or a function of delta, see `points_of`.
    """
    if not isinstance(text, str):
        return points_from(text)
    place, colon, attribute = text.rpartition(":")
    if not colon or text.endswith((".csv", ".json")):
        return points_from(text)
    found = _attribute(_load(place, text), attribute, text)
    try:
        known = points_of(found)
    except ValueError as error:
        raise InvalidArgument(f"--curve {text}: {error}") from None
    if known is not None:
        return known
    if isinstance(found, list | tuple):
        return points_from(found)
    raise InvalidArgument(
        f"--curve {text} is of type {type(found).__name__}; expected an accountant of "
        "dp_accounting, jax_privacy or Opacus, a function of delta, or several (epsilon, delta)"
    )


def find_theorem(text: str) -> Theorem:
    """The theorem of the user's own that `text` (file.py:NAME or module:NAME) names."""
    place, _, attribute = text.rpartition(":")
    found = _attribute(_load(place, text), attribute, text)
    if isinstance(found, Theorem):
        return found
    raise InvalidArgument(
        f"{text} is of type {type(found).__name__}; expected a Theorem of dpwitness, with an "
        "identifier, a statement, a reference and a function that returns the claim, or a Subject "
        "of the claim and its mechanism"
    )


def theorems_in(place: str) -> list[str]:
    """The names of the theorems that a file has at its top level, those imported left out."""
    found: dict[int, str] = {}
    for name, value in vars(_load(place, place)).items():
        if is_a(value, Theorem):
            found.setdefault(id(value), name)
    return list(found.values())


def _from_schema(place: str) -> object:
    """The databases that a JSON file describes."""
    from ...auditors.databases.schema import from_schema
    from ..record import reading

    data = reading.load_document(place, "a schema of databases")
    try:
        return from_schema(data)
    except InvalidArgument as error:
        raise InvalidArgument(f"{place}: {error}") from None


def is_file(place: str) -> bool:
    """Whether the text before the colon of a target names a file and not a module."""
    return place.endswith(".py") or "/" in place or os.sep in place


def loaded_names(place: str) -> set[str]:
    """The names under which the module or file is loaded now."""
    if not is_file(place):
        return {place}
    path = os.path.realpath(place)
    return {
        name
        for name, module in list(sys.modules.items())
        if getattr(module, "__file__", None) == path
    }


def _load(place: str, text: str) -> ModuleType:
    if not place:
        raise InvalidArgument(f"{text!r} has nothing before the colon; name a module or a file")
    return _load_file(place) if is_file(place) else _load_module(place)


def _load_module(name: str) -> ModuleType:
    if name.endswith(":"):
        raise InvalidArgument(f"one colon stands between file and function: {name}NAME has two")
    if os.path.isdir(name) and not os.path.isfile(os.path.join(name, "__init__.py")):
        raise InvalidArgument(f"{name} is a folder; name a file in it, as {name}/FILE.py:function")
    if os.path.isfile(name):
        raise InvalidArgument(f"{name} is no Python file; its name must end in .py")
    if not all(part.isidentifier() for part in name.split(".")):
        raise InvalidArgument(
            f"{name!r} is neither a module name (package.module) nor a file ending in .py"
        )
    with_here = [os.getcwd(), *(path for path in sys.path if path)]
    try:
        return _run_import(lambda: importlib.import_module(name), with_here, name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        if name == missing or name.startswith(missing + "."):
            raise InvalidArgument(
                f"there is no module {missing!r} here or among the installed packages; run from "
                "the folder it is in, or name a file as path/to/file.py:function"
            ) from None
        raise InvalidArgument(f"{name} could not be loaded: {_describe(error)}") from error


def _load_file(place: str) -> ModuleType:
    path = Path(os.path.realpath(place))
    try:
        if not path.is_file():
            raise InvalidArgument(f"there is no file {place!r}; expected a Python file")
    except PermissionError:
        raise InvalidArgument(f"cannot read {place!r}: permission denied") from None
    name = f"_dpwitness_file_{''.join(c if c.isalnum() else '_' for c in path.stem)}"
    copy = 1
    # Two names from one file must share its classes; two files of one name must not.
    while name in sys.modules:
        if sys.modules[name].__file__ == str(path):
            return sys.modules[name]
        copy += 1
        name = f"{name.rstrip('0123456789')}{copy}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InvalidArgument(f"{place!r} is not a Python file; its name must end in .py")
    module, loader = importlib.util.module_from_spec(spec), spec.loader

    def execute() -> ModuleType:
        sys.modules[name] = module
        try:
            loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        # No other process could import it by this name; without a spec its functions are sent
        # to workers by value.
        module.__spec__ = None
        return module

    folder = str(path.parent)
    try:
        return _run_import(execute, [folder, *sys.path], place)
    except ModuleNotFoundError as error:
        raise InvalidArgument(f"{place} could not be loaded: {_describe(error)}") from error


def _run_import(load: Callable[[], ModuleType], search: list[str], label: str) -> ModuleType:
    """Run the import with the user's folder first on the path, and last from then on.

    First, so that its siblings are found; last afterwards, so that none of them can take the
    place of something imported later while imports inside functions still work.
    """
    before = list(sys.path)
    sys.path[:] = search
    try:
        return load()
    except ModuleNotFoundError as error:
        _refuse_shadow(label, error)
        raise
    except (Exception, SystemExit) as error:
        # Loading runs any code there is.
        _refuse_shadow(label, error)
        if isinstance(error, ImportError) and "relative import" in str(error):
            raise InvalidArgument(
                f"{label} could not be loaded: {error}; a file of a package is named as the "
                "package names it, package.module:function, from the folder that the package is in"
            ) from error
        raise InvalidArgument(f"{label} could not be loaded: {_describe(error, label)}") from error
    finally:
        own = search[0]
        added = [path for path in sys.path if path not in search]
        sys.path[:] = [*before, *added, *([] if own in before else [own])]


def _refuse_shadow(label: str, error: BaseException) -> None:
    """Say so if a file of the user's took the place of a library that the code imports.

    A file that is called like a library and stands in the folder searched first is what
    `import` finds, so names of the library are missing where the failing lines ask for them.
    """
    if not isinstance(error, (ImportError, AttributeError)):
        return
    near = Path(label if label.endswith(".py") else ".").resolve()
    near = near.parent if label.endswith(".py") else near
    lines = [frame.line or "" for frame in traceback.extract_tb(error.__traceback__)]
    for name in dict.fromkeys(re.findall(r"\w+", " ".join(lines))):
        own = [p for p in (near / f"{name}.py", near / name / "__init__.py") if p.is_file()]
        if own and _installed_elsewhere(name, near):
            raise InvalidArgument(
                f"{label} could not be loaded: it uses {name}, and {own[0].name} beside it "
                f"took the place of the installed package {name}; give your file another name"
            ) from error


def _installed_elsewhere(name: str, near: Path) -> bool:
    """Whether a package of this name is found outside the folder `near`."""
    others = [path for path in sys.path if path and Path(path).resolve() != near]
    spec = importlib.machinery.PathFinder.find_spec(name, others)
    return spec is not None and spec.origin is not None


def _describe(error: BaseException, label: str = "") -> str:
    """The error in words, with the line of the file `label` that led to it."""
    said = (str(error).strip().splitlines() or [""])[0][:200]
    unknown = re.match(r"(\w+)(?:\.__init__)?\(\) got an unexpected keyword argument '(\w+)'", said)
    ours = unknown and getattr(sys.modules["dpwitness"], unknown[1], None)
    if unknown and callable(ours):
        said += meant(unknown[2], tuple(signature(ours).parameters))
    own = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)
           if label and Path(frame.filename).name == Path(label).name]  # fmt: skip
    line = f"line {own[-1]}: " if own else ""
    told = f"{line}{type(error).__name__}{': ' + said if said else ''}"
    return told + (ELSEWHERE if isinstance(error, ModuleNotFoundError) else "")


ELSEWHERE = (
    "; install it in the environment of dpwitness, or audit with --python INTERPRETER, which names "
    "the Python that has it"
)


def _attribute(module: ModuleType, path: str, text: str) -> object:
    if not path:
        raise InvalidArgument(f"{text!r} has nothing after the colon; name a function")
    found: object = module
    for part in path.split("."):
        inside = found
        try:
            found = getattr(inside, part)
        except AttributeError:
            near = _meant(part, _public(inside)) or _made_in(inside)
            raise InvalidArgument(f"{text}: there is no {part!r} in it{near}") from None
    return found


def _made_in(module: object) -> str:
    """Which functions and statements a module defines itself; nothing without any."""
    own = [
        name
        for name in _public(module)
        if is_a(found := vars(module).get(name), Theorem)
        or (callable(found) and attribute(found, "__module__") == getattr(module, "__name__", ""))
    ]
    more = f" and {len(own) - MOST_NAMES} more" if len(own) > MOST_NAMES else ""
    return f"; it has {', '.join(own[:MOST_NAMES])}{more}" if own else ""


def _public(holder: object) -> dict[str, str]:
    names: Iterable[str] = ()
    with suppress(Exception):
        names = [name for name in vars(holder) if not name.startswith("_")]
    return {name: name for name in names}
