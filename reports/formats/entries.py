"""What the gate runs: the tables `[[tool.dpwitness.gate]]`, or `[[gate]]` in dpwitness.toml.

    [[tool.dpwitness.gate]]
    target = "mylib/counts.py:noisy_count"   # as for `dpwitness audit`
    epsilon = 1.0
    relation = "add-remove"
    databases = "mylib/counts.py:PEOPLE"     # or pair = ["[]", "[1]"], two JSON texts
    weight = 2                               # of alpha; 1 where it is not given

Any option of `dpwitness audit` may stand there but alpha and the files to write. A target may be
a file or a package, target = "mylib": then every function in it that is marked with
`dpwitness.claims` is an entry.
"""

import ast
import importlib.util
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...auditors.arguments import meant
from ...auditors.asked import ASKED
from ..adapters.marked import named_by
from ..settings.settings import SettingsError, find_table

OPEN = '"?"'
"""What `dpwitness init` writes for what nobody has said yet, as TOML."""
RELATIONS = ASKED["relation"].words
FLAGS: dict[str, tuple[type, ...]] = {
    "claims": (str,),
    "epsilon": (int, float),
    "delta": (int, float),
    "mu": (int, float),
    "rho": (int, float),
    "renyi": (list,),
    "curve": (str,),
    "relation": (str,),
    "distance": (int,),
    "databases": (str,),
    "pair": (list,),
    "trials": (int,),
    "notice": (int, float),
    "seconds": (int, float),
    "precision": (int, float, str),
    "timeout": (int, float),
    "attacker": (str,),
    "exceptions": (str,),
    "unseeded": (bool,),
    "histogram": (bool,),
    "trust-rows": (bool,),
    "exact": (bool,),
}
CLAIM = ("epsilon", "delta", "mu", "rho", "renyi", "curve")
"""The options that state a claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One target with its claim and budget; `options` are those of `dpwitness audit`."""

    target: str
    weight: float = 1.0
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The target, with what tells it from others of the same target."""
        told = (*CLAIM, "relation", "distance", "attacker")
        stated = [f"{k} {self.options[k]}" for k in told if k in self.options]
        return f"{self.target} ({', '.join(stated)})" if stated else self.target


def read_entries(root: Path) -> tuple[Entry, ...]:
    """The entries of the project at `root`; SettingsError, with a sentence, for a bad one."""
    table, name = find_table(root)
    given = table.get("gate", [])
    if not isinstance(given, list) or not all(isinstance(entry, Mapping) for entry in given):
        raise SettingsError(f"gate in {name} must be tables, each under [[tool.dpwitness.gate]]")
    if not given:
        lacking = f"{name} lists nothing to audit" if table else "no file here has settings"
        first = name == "dpwitness.toml"
        hidden = " (it comes before pyproject.toml, which is not read beside it)" if first else ""
        wanted = "[[gate]]" if first else "[[tool.dpwitness.gate]]"
        raise SettingsError(
            f"{lacking}{hidden}; add a table {wanted} with target = "
            '"file.py:function", or let `dpwitness init file.py:function` write one'
        )
    entries = tuple(
        replace(entry, target=target)
        for index, data in enumerate(given, start=1)
        for entry in [_entry(data, index, name)]
        for target in named_by(entry.target, root)
    )
    names = [entry.name for entry in entries]
    for entry, times in Counter(names).items():
        if times > 1:
            raise SettingsError(f"{name} lists {entry} twice; give each claim once")
    return entries


def _entry(data: Mapping[str, Any], index: int, name: str) -> Entry:
    place = f"entry {index} of gate in {name}"
    target = data.get("target")
    if not isinstance(target, str) or not target:
        raise SettingsError(f'{place} needs target = "file.py:function", got {target!r}')
    if undecided := [key for key in ("databases", "epsilon", "relation") if data.get(key) == "?"]:
        raise SettingsError(
            f"{place} ({target}) is not finished: say which {' and which '.join(undecided)}, in "
            'place of "?"; databases = "file.py:NAME" names a strategy, pair = ["[]", "[1]"] two '
            "databases as JSON"
        )
    weight = data.get("weight", 1.0)
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < 1e12:
        raise SettingsError(f"{place}: weight must be a positive number, got {weight!r}")
    options = {key: value for key, value in data.items() if key not in ("target", "weight")}
    for key, value in options.items():
        if key not in FLAGS:
            raise SettingsError(f"{place} has {key!r}; it takes target, weight, {', '.join(FLAGS)}")
        wrong_bool = isinstance(value, bool) and bool not in FLAGS[key]
        if not isinstance(value, FLAGS[key]) or wrong_bool:
            wanted = " or ".join(kind.__name__ for kind in FLAGS[key])
            raise SettingsError(f"{place}: {key} must be of type {wanted}, got {value!r}")
    relation = options.get("relation", RELATIONS[0])
    if relation not in RELATIONS:
        raise SettingsError(
            f"{place}: relation must be {', '.join(RELATIONS[:-1])} or {RELATIONS[-1]}, got "
            f"{relation!r}{meant(relation, RELATIONS)}"
        )
    if "pair" in options and "databases" in options:
        raise SettingsError(f"{place} has a pair and databases, which exclude each other; keep one")
    if not all(isinstance(text, str) for text in options.get("renyi", ())):
        raise SettingsError(f'{place}: renyi must be texts such as "2:0.5", got {options["renyi"]}')
    pair = options.get("pair", ["", ""])
    if len(pair) != 2 or not all(isinstance(text, str) for text in pair):
        raise SettingsError(
            f'{place}: pair must be two JSON texts, such as ["[]", "[1]"], got {pair!r}'
        )
    return Entry(target=target, weight=float(weight), options=options)


def source_of(target: str, root: Path) -> tuple[str, int] | None:
    """(file under `root`, line) where the target is defined, read off the text, never run."""
    place, colon, attribute = target.rpartition(":")
    if not colon:
        return None
    file = root / place
    if not place.endswith(".py"):
        spec = None
        with suppress(ImportError, ValueError, AttributeError):
            spec = importlib.util.find_spec(place) if "." not in place else None
        inside = root.joinpath(*place.split(".")).with_suffix(".py")
        file = inside if inside.is_file() else Path(str(spec.origin)) if spec else inside
    try:
        shown = file.resolve().relative_to(root.resolve()).as_posix()
        said = file.stat()
        lines = _lines(file, said.st_mtime_ns, said.st_size)
    except (OSError, SyntaxError, ValueError):
        return None
    return shown, lines.get(attribute, 1)


@lru_cache(maxsize=64)
def _lines(file: Path, modified: int, size: int) -> Mapping[str, int]:
    """Where each name of a file is defined first; a file with thousands of entries is read once."""
    found: dict[str, int] = {}
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        for name in _names_of(node):
            found.setdefault(name, node.lineno)
    return found


def _names_of(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return {target.id for target in targets if isinstance(target, ast.Name)}
