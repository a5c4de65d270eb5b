"""The rooms of the house, counted: lines, files, importers, and how deep their imports go.

    python benchmarks/rooms.py            prints the table of docs/architecture.md and the chains
    python benchmarks/rooms.py --write    puts the figures into docs/architecture.md

A room is a package. Its importers are the other rooms with a module that imports one of its own.
The longest chain of a floor is the most modules that import each other one after the other inside
it; imports in functions and for type checkers count too. Lines of code that say `Any` are counted
without imports, and those of the rooms of databases and outputs apart: what a mechanism of a
stranger takes and returns may be anything. The sentences of the table are written by hand in
docs/architecture.md, where `--write` leaves them as they are.
"""

import argparse
import ast
import io
import re
import sys
import tokenize
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
FLOORS = ("mechanisms", "auditors", "reports")
ROW = re.compile(r"^\| `([\w/]+)` \| [\d,]+ \| [\d,]+ \| [\d,]+ \| (.+) \|$")
OF_STRANGERS = ("auditors.databases", "auditors.outputs")
FIGURES = re.compile(r"^[\d,]+ lines in [\d,]+ files and [\d,]+ rooms.*$", re.MULTILINE)


@dataclass
class Room:
    """Lines and files of one package, its lines that say `Any`, and the rooms that import it."""

    lines: int = 0
    files: int = 0
    untyped: int = 0
    importers: set[str] = field(default_factory=set)


def modules(root=ROOT):
    """{dotted name of a module: its file}; that of a package is its `__init__`."""
    files = sorted(path for floor in FLOORS for path in (root / floor).rglob("*.py"))
    names = (".".join(path.relative_to(root).with_suffix("").parts) for path in files)
    return {name.removesuffix(".__init__"): path for name, path in zip(names, files, strict=True)}


def imported(name, path, known):
    """The modules of the house that a module imports, wherever the statement stands."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue  # by a rule of the house its own modules are imported relatively
        above = package.split(".")[: len(package.split(".")) - node.level + 1]
        base = ".".join([*above, *filter(None, [node.module])])
        for alias in node.names:
            found = f"{base}.{alias.name}"
            yield found if found in known else base


def read(root=ROOT):
    """({room: Room}, {module: the modules it imports})."""
    known = modules(root)
    arrows = {name: set(imported(name, path, known)) & known.keys() for name, path in known.items()}
    rooms: dict[str, Room] = {}
    for name, path in known.items():
        room = rooms.setdefault(_room(name, known), Room())
        text = path.read_text(encoding="utf-8")
        room.lines += len(text.splitlines())
        room.files += 1
        room.untyped += untyped(text)
    for name, others in arrows.items():
        for other in others:
            if (there := _room(other, known)) != _room(name, known):
                rooms[there].importers.add(_room(name, known))
    return rooms, arrows


def untyped(text):
    """How many lines of code say `Any`, imports left out."""
    lines = {
        token.start[0]
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.NAME and token.string == "Any"
    }
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            lines -= set(range(node.lineno, node.end_lineno + 1))
    return len(lines)


def _room(name, known):
    return name if known[name].name == "__init__.py" else name.rpartition(".")[0]


def longest(arrows, floor):
    """The longest chain of modules of one floor that import each other, the importer first."""
    inside = {
        name: sorted(other for other in others if other.startswith(f"{floor}."))
        for name, others in arrows.items()
        if name.startswith(f"{floor}.")
    }

    @cache
    def chain(name):
        return (name, *max(map(chain, inside.get(name, ())), key=len, default=()))

    return max(map(chain, inside), key=len)


def page(rooms, text, whole):
    """The page with the figures of every room in its row, and of the `whole` house in its line."""
    lines = []
    for line in text.splitlines():
        row = ROW.match(line)
        room = rooms.get(row[1].replace("/", ".")) if row else None
        if row and room:
            figures = f"{room.lines:,} | {room.files} | {len(room.importers)}"
            line = f"| `{row[1]}` | {figures} | {row[2]} |"
        lines.append(line)
    return FIGURES.sub(whole, "\n".join(lines) + "\n")


def summed(rooms, arrows):
    """The figures of the whole house, in a line."""
    lines, files = (sum(getattr(r, key) for r in rooms.values()) for key in ("lines", "files"))
    chains = ", ".join(f"{len(longest(arrows, floor))} in {floor}" for floor in FLOORS)
    strangers = sum(rooms[name].untyped for name in OF_STRANGERS)
    rest = sum(room.untyped for room in rooms.values()) - strangers
    return (
        f"{lines:,} lines in {files} files and {len(rooms)} rooms; longest import chain, in "
        f"modules: {chains}. {rest} lines say `Any`, and {strangers} in the rooms of databases and "
        "outputs."
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the figures into the page")
    asked = parser.parse_args()
    rooms, arrows = read()
    whole = summed(rooms, arrows)
    told = page(rooms, PAGE.read_text(encoding="utf-8"), whole)
    if asked.write:
        PAGE.write_text(told, encoding="utf-8")
    print(*(line for line in told.splitlines() if ROW.match(line)), sep="\n")
    for floor in FLOORS:
        print(f"longest chain of {floor}:", " <- ".join(reversed(longest(arrows, floor))))
    print(whole)


if __name__ == "__main__":
    sys.exit(main())
