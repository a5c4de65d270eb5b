"""The version of a mechanism: a hash of its source, so that evidence on two is never mixed.

Covered: of the source file of every function the mechanism is made of (through
`functools.partial`, decorators, closures and bound arguments) what that function can reach: every
statement at the top level, and the functions and classes whose names are written in what is
reached; the bytes of the first-party modules those files import anywhere, but for type checkers
only, directly or through others, packages on the way included; the names of these functions and the
values bound to them; and the version of every other package the files import, or the hash of its
files where it has no version. Where neither can be had there is no fingerprint, and nothing is
carried over.

First-party is what lies in a file outside the standard library, the folders of installed packages
and dpwitness, or in the same top-level package as the mechanism. Not covered: code reached by other
means than an import statement, data files, environment variables, compiled libraries without a
version, and the machine. File names and folders are left out, so that two checkouts of the same
source agree.
"""

import ast
import dataclasses
import importlib.machinery
import importlib.metadata
import importlib.util
import inspect
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from functools import lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

DEEPEST = 40
"""Levels of values in one another that are followed; with more of them there is no fingerprint."""
MOST_FILES = 2000
"""Files that are hashed of a package without a version; if it has more, there is no fingerprint."""
STDLIB = Path(sysconfig.get_path("stdlib")).resolve()
INSTALLED = {Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib")}


EVERYTHING = "*"
Reached = dict[str, set[str]]
"""Names at the top level of modules that a mechanism is made of, by module."""
DYNAMIC = frozenset({"__import__", "eval", "exec", "getattr", "globals", "import_module", "vars"})
"""Names that can reach what is nowhere written; a file that uses one counts as a whole."""


class _UnknownError(Exception):
    """Something whose value cannot be told by its source."""


def fingerprint(run: object) -> str:
    """The hash of what `run` is made of, 32 hex digits; empty where it cannot be told.

    It is empty for code without a source file and for bound values that have no plain form: the
    evidence on such a mechanism is not to be added to that of another day.
    """
    modules: Reached = {}
    try:
        said = "\n".join(_said(run, modules, 0))
        files, versions = _closure(modules)
    except Exception:  # noqa: BLE001 - what cannot be told has no fingerprint, whatever the reason
        return ""
    digest = blake2b(digest_size=16)
    for part in (said, *sorted(files), *sorted(versions)):
        encoded = part.encode("utf-8", errors="backslashreplace")
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.hexdigest()


def _said(value: object, modules: Reached, depth: int) -> Iterator[str]:
    """What a callable or a bound value is, in lines; names the modules of its code."""
    if depth > DEEPEST:
        raise _UnknownError
    inner: list[object] = [value]
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, Enum)):
        yield f"{type(value).__name__} {value!r}"
        return
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        if array.dtype.hasobject:
            raise _UnknownError
        yield f"array {array.dtype.str} {array.shape} {blake2b(array.tobytes()).hexdigest()}"
        return
    if isinstance(value, partial):
        inner = [value.func, list(value.args), value.keywords]
    elif isinstance(value, FunctionType):
        inner = list(_of_function(value, modules))
    elif isinstance(value, MethodType):
        inner = [value.__func__, value.__self__]
    elif inspect.isbuiltin(value) or isinstance(value, (np.ufunc, type, ModuleType)):
        inner = [_name(value, modules)]
    elif isinstance(value, Mapping):
        inner = [item for pair in value.items() for item in pair]
    elif isinstance(value, (list, tuple)):
        inner = list(value)
    elif isinstance(value, (set, frozenset)):
        inner = [*sorted(map(repr, value))]
    elif not isinstance(value, type):
        inner = list(_of_object(value, modules))
    yield f"{type(value).__name__} {len(inner)}"
    for item in inner:
        yield from _said(item, modules, depth + 1)


def _name(value: object, modules: Reached) -> str:
    name = getattr(value, "__module__", None) or ""
    if isinstance(value, (type, ModuleType)):
        module = isinstance(value, ModuleType)
        _reach(modules, value.__name__ if module else name, EVERYTHING if module else value)
    return f"{name}.{getattr(value, '__qualname__', getattr(value, '__name__', ''))}"


def _reach(modules: Reached, module: str, what: Any) -> None:
    """Note that the mechanism is made of `what` of a module: a function, a class or everything."""
    root = what if what is EVERYTHING else what.__qualname__.partition(".")[0]
    modules.setdefault(module, set()).add(root)


def _of_function(function: FunctionType, modules: Reached) -> Iterator[object]:
    if not function.__module__:
        raise _UnknownError
    _reach(modules, function.__module__, function)
    yield function.__qualname__
    yield from _lines(function.__code__)
    yield function.__defaults__
    yield function.__kwdefaults__
    for cell in function.__closure__ or ():
        with suppress(ValueError):
            # A function may close over itself; its own name has been said.
            yield cell.cell_contents if cell.cell_contents is not function else "itself"


def _lines(code: CodeType) -> Iterator[str]:
    """Two lambdas of one file differ by where they stand in it."""
    if code.co_name == "<lambda>":
        start = code.co_firstlineno
        places = [(a and a - start, b and b - start, c, d) for a, b, c, d in code.co_positions()]
        yield f"places {places} {code.co_code.hex()} {code.co_consts!r}"


def _of_object(value: object, modules: Reached) -> Iterator[object]:
    _reach(modules, type(value).__module__, type(value))
    yield f"{type(value).__module__.rpartition('.')[2]}.{type(value).__qualname__}"
    if dataclasses.is_dataclass(value):
        yield from (getattr(value, field.name) for field in dataclasses.fields(value))
    elif _is_strategy(value):
        yield dict(_definition(value))
    elif hasattr(value, "__dict__") and type(value).__module__ in sys.modules:
        yield dict(sorted(vars(value).items()))
    else:
        raise _UnknownError


def _is_strategy(value: object) -> bool:
    loaded = sys.modules.get("hypothesis.strategies")
    return loaded is not None and isinstance(value, loaded.SearchStrategy)


def _definition(strategy: Any) -> Iterator[tuple[str, object]]:
    """What a strategy of Hypothesis was made with, by name; nothing that its use leaves in it.

    Using a strategy writes into it: the addresses of the threads that validated it, answers that
    are kept, the strategy that a lazy one stands for. A private attribute is of that sort, but for
    the arguments of the lazy ones. A deferred one is what its function gives, since it forgets the
    function then. A transformation carries the file and line of its call.
    """
    given = ("_LazyStrategy__args", "_LazyStrategy__kwargs")
    if type(strategy).__name__ == "DeferredStrategy":
        yield "wrapped_strategy", strategy.wrapped_strategy
        return
    for name, held in sorted(vars(strategy).items()):
        if name == "_transformations":
            yield name, [step[:2] for step in held]
        elif name in given or not name.startswith(("_", "cached_", "validate_called")):
            yield name, held


def _closure(modules: Reached) -> tuple[set[str], set[str]]:
    """(hashes of the first-party files reached, "name version" of the other packages)."""
    own = {name.partition(".")[0] for name in modules}
    waiting, seen = set(modules), set[str]()
    files, versions = set[str](), set[str]()
    foreign: dict[str, bool] = {}
    read: dict[str, tuple[Path, int, int, str]] = {}
    while waiting:
        name = waiting.pop()
        seen.add(name)
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names:
            continue
        if top not in foreign:
            home = _located(top)
            foreign[top] = top not in own and (top == "dpwitness" or not _first_party(home))
            if foreign[top]:
                versions.add(f"{top} {_version(top)}")
        if foreign[top]:
            continue
        file = _located(name)
        if file is None:
            if name in modules:
                raise _UnknownError
            continue
        status = file.stat()
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        stamp = (file, status.st_mtime_ns, status.st_size, package)
        _, imported = _read(*stamp)
        read[name] = stamp
        waiting |= imported - seen
    for name, stamp in read.items():
        # Of a file that others import anything may be used; of the mechanism's own what it reaches.
        shared = any(name in _read(*other)[1] for one, other in read.items() if one != name)
        roots = (
            frozenset()
            if shared or EVERYTHING in modules.get(name, (EVERYTHING,))
            else frozenset(modules[name])
        )
        files.add(_reached(*stamp[:3], roots) if roots else _read(*stamp)[0])
    return files, versions


def _version(top: str) -> str:
    """What tells one state of a foreign package from another; _UnknownError where nothing does.

    Its version, or where it has none the hash of all its files.
    """
    version = getattr(sys.modules.get(top), "__version__", "")
    if isinstance(version, str) and version:
        return version
    with suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(top)
    spec = importlib.machinery.PathFinder.find_spec(top)
    if spec is None and top not in sys.modules:
        return "absent"  # imported where it may be missing, and it is
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    paths = [Path(spec.origin)] if spec is not None and spec.origin and not folders else []
    for folder in folders:
        paths += [p for p in sorted(Path(folder).rglob("*")) if p.suffix in (".py", ".so", ".pyd")]
    if not paths or len(paths) > MOST_FILES:
        raise _UnknownError
    stamps = tuple((path, path.stat().st_mtime_ns, path.stat().st_size) for path in paths)
    return _hash_of(stamps)


@lru_cache(maxsize=100)
def _hash_of(stamps: tuple[tuple[Path, int, int], ...]) -> str:
    """Hash of files; times and sizes are there so that a changed file is read again."""
    digest = blake2b(digest_size=16)
    for path, _, size in stamps:
        digest.update(size.to_bytes(8, "big") + path.read_bytes())
    return digest.hexdigest()


def _first_party(file: Path | None) -> bool:
    if file is None:
        return False
    return not any(file.is_relative_to(folder) for folder in (STDLIB, *INSTALLED))


def _located(name: str) -> Path | None:
    """The source file of a module, loaded or not; nothing is run to find it."""
    module = sys.modules.get(name)
    found = getattr(module, "__file__", None)
    if found is None and module is None:
        parent = sys.modules.get(name.rpartition(".")[0])
        if parent is not None and not hasattr(parent, "__path__"):
            return None  # a name in a module that is no package
        path: Sequence[str] | None = None
        whole = ""
        for part in name.split("."):
            if whole and path is None:
                return None  # as above; a file of that name elsewhere is another module
            whole = f"{whole}.{part}" if whole else part
            spec = _spec(whole, path)
            if spec is None:
                return None
            path, found = spec.submodule_search_locations, spec.origin
    return _resolved(found) if found and found.endswith(".py") else None


def _spec(name: str, path: Sequence[str] | None) -> importlib.machinery.ModuleSpec | None:
    """Where a module would be loaded from; importlib's own search would load its parents.

    Every finder is asked: a package that is installed editable may have one of its own, and must
    not have another fingerprint before it is loaded than after it.
    """
    for finder in sys.meta_path:
        with suppress(Exception):
            spec = finder.find_spec(name, path)
            if spec is not None:
                return spec
    return None


@lru_cache(maxsize=4096)
def _resolved(file: str) -> Path:
    return Path(file).resolve()


@lru_cache(maxsize=4096)
def _read(file: Path, modified: int, size: int, package: str) -> tuple[str, frozenset[str]]:
    """(hash, full names of what it may import) of a file: `from a import b` names a and a.b.

    Remembered because every audit of a project asks again; `modified` and `size` are there so that
    a changed file is read again.
    """
    data = file.read_bytes()
    return blake2b(data, digest_size=16).hexdigest(), frozenset(_imported(data, package))


@lru_cache(maxsize=4096)
def _reached(file: Path, modified: int, size: int, roots: frozenset[str]) -> str:
    """Hash of the part of a file that the functions and classes `roots` can reach.

    Statements at the top level run at import and always count, and so do decorated functions; a
    function or class counts where its name is written in something that counts.
    """
    data = file.read_bytes()
    tree = ast.parse(data)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    loose = {
        node.name: node
        for node in tree.body
        if isinstance(node, kinds) and not node.decorator_list and node.name not in roots
    }
    kept = [node for node in tree.body if loose.get(getattr(node, "name", "")) is not node]
    waiting = list(kept)
    while waiting:
        for word in _words(waiting.pop()):
            if word in DYNAMIC:
                return blake2b(data, digest_size=16).hexdigest()
            if word in loose:
                found = loose.pop(word)
                kept.append(found)
                waiting.append(found)
    text = "\n".join(sorted(ast.dump(node) for node in kept))
    return blake2b(text.encode(errors="backslashreplace"), digest_size=16).hexdigest()


def _words(node: ast.AST) -> Iterator[str]:
    """Every name written in a piece of code, also after a dot or as a text."""
    for inner in ast.walk(node):
        match inner:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.alias(name=word):
                yield word
            case ast.Constant(value=str(word)):
                yield word


def _imported(source: bytes, package: str) -> Iterator[str]:
    for node in _statements(ast.parse(source).body):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_parents(alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                with suppress(ImportError):
                    relative = "." * node.level + base
                    base = importlib.util.resolve_name(relative, package)
            if base:
                yield from _with_parents(base)
                yield from (f"{base}.{alias.name}" for alias in node.names)


def _statements(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All statements but those for type checkers only, which never run.

    An import is a statement, so expressions need not be walked through.
    """
    for node in body:
        yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, name, None)
            if isinstance(inner, list) and not (name == "body" and _for_types_only(node)):
                yield from _statements(inner)


def _for_types_only(node: ast.AST) -> bool:
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
            return True
    return False


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    yield from (".".join(parts[: end + 1]) for end in range(len(parts)))
