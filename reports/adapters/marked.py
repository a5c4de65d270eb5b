"""Functions that carry their claim, `@dpwitness.claims(...)`, found in the text of files.

Nothing is imported to find them: code under audit is run where it is audited, and nowhere else.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

DECORATOR = "dpwitness.claims"
SKIPPED = {"__pycache__", "node_modules", "site-packages", "build", "dist"}


def named_by(text: str, root: Path) -> tuple[str, ...]:
    """The targets that one text names: the marked functions of a file or a package, or itself."""
    place = ":" not in text and "=" not in text and ((root / text).exists() or "." in text)
    return (marked_in(text, root) if place else ()) or (text,)


def marked_in(place: str, root: Path) -> tuple[str, ...]:
    """The marked targets of a file, a folder or a package, as `dpwitness audit` takes them.

    `place` is named from `root`: release.py, src/releases or package.module. Empty for what is no
    such place, and for one in which nothing is marked.
    """
    path = root / place
    if not path.exists() and all(part.isidentifier() for part in place.split(".")):
        inside = root.joinpath(*place.split("."))
        path = inside if inside.is_dir() else inside.with_suffix(".py")
    if path.is_file():
        return marked_file(path, root, place)
    files = _files(path) if path.is_dir() else ()
    return tuple(target for file in files for target in marked_file(file, root))


def marked_file(file: Path, root: Path, typed: str = "") -> tuple[str, ...]:
    """The same of one file, which was `typed` so."""
    place = _named(file, root, typed)
    return tuple(f"{place}:{name}" for name in names_in(file))


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if not path.name.startswith(".") and path.name not in SKIPPED and not _foreign(path):
                yield from _files(path)
        elif path.suffix == ".py":
            yield path


def _foreign(folder: Path) -> bool:
    """Whether a folder is a virtual environment, whose code is not the project's."""
    return (folder / "pyvenv.cfg").is_file()


def _named(file: Path, root: Path, typed: str) -> str:
    """How a target of this file is named: a file of a package by its module, which may import."""
    top = file.parent
    while (top / "__init__.py").is_file():
        top = top.parent
    if top != file.parent and top.resolve() == root.resolve():
        parts = file.relative_to(top).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    if typed.endswith(".py"):
        return typed
    # A path even without a folder: a bare name would be a module.
    return str(file.relative_to(root)) if file.is_relative_to(root) else str(file)


def names_in(file: Path) -> tuple[str, ...]:
    """The functions of a file that are marked, in their order."""
    try:
        text = file.read_text("utf-8")
        # Most files are told by a glance.
        return marked_names(text) if "dpwitness" in text and "claims" in text else ()
    except (OSError, ValueError, SyntaxError):
        return ()


def marked_names(text: str) -> tuple[str, ...]:
    """The same of a file's text; SyntaxError for one that is no Python."""
    tree = ast.parse(text)
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                if one.name.split(".")[0] == "dpwitness":
                    names[one.asname or "dpwitness"] = "dpwitness"
        elif isinstance(node, ast.ImportFrom) and node.module == "dpwitness" and not node.level:
            names |= {one.asname or one.name: f"dpwitness.{one.name}" for one in node.names}
    return tuple(dict.fromkeys(_marked(tree.body, names)))


def _marked(body: list[ast.stmt], names: dict[str, str]) -> Iterator[str]:
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            if any(_marks(one, names) for one in node.decorator_list):
                yield node.name
        elif isinstance(node, ast.Assign):
            call = node.value
            if isinstance(call, ast.Call) and _marks(call.func, names):
                yield from (one.id for one in node.targets if isinstance(one, ast.Name))
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            for part in (node.body, *(getattr(node, key, []) for key in ("orelse", "finalbody"))):
                yield from _marked(part, names)
            for handler in getattr(node, "handlers", []):
                yield from _marked(handler.body, names)


def _marks(node: ast.expr, names: dict[str, str]) -> bool:
    """Whether an expression is `dpwitness.claims(...)`, under whatever names it was imported."""
    if not isinstance(node, ast.Call):
        return False
    parts, inner = [], node.func
    while isinstance(inner, ast.Attribute):
        parts.append(inner.attr)
        inner = inner.value
    if not isinstance(inner, ast.Name) or inner.id not in names:
        return False
    return ".".join([names[inner.id], *reversed(parts)]) == DECORATOR
