"""The rules of the house, read off the syntax trees."""

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

from dpwitness.mechanisms.catalogue import THEOREMS

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("mechanisms", "auditors", "reports")
MOST_FILES = 20
MOST_NAMESAKES = 2
HEAVY = {"hypothesis", "joblib", "matplotlib", "numpy", "pandas", "scipy"}
SHARED_NAMES = {"commands.py"}
"""What the commands of a room do; their options stand in reports/cli.py and reports/tools.py."""
SLOW_BUT_ASKED_FOR = {"sampled_laws.py": {"scipy.stats"}, "wire.py": {"pickle", "pickle.pickle"}}
"""A law that the user names by its name in scipy.stats is looked up there, inside a function; a
process pickles what it writes to copies of itself, and no file is read so."""
DATA_MODEL = "dpwitness.mechanisms.model"
CATALOGUE = "dpwitness.mechanisms.catalogue"

FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
every_file = pytest.mark.parametrize(
    "path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix()
)


def module_name(path):
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(["dpwitness", *(parts[:-1] if parts[-1] == "__init__" else parts)])


@cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def is_module(name):
    inside = ROOT.joinpath(*name.split(".")[1:])
    return name != "dpwitness" and (inside.is_dir() or inside.with_suffix(".py").is_file())


def named_modules(node, package):
    """Full names of the modules an import statement reaches, wherever it stands."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = node.module or ""
    if node.level:
        above = package.split(".")[: len(package.split(".")) - (node.level - 1)]
        base = ".".join([*above, *filter(None, [node.module])])
    if not base.startswith("dpwitness"):
        return [base]
    found = [f"{base}.{alias.name}" for alias in node.names]
    return [name if is_module(name) else base for name in found]


def is_in(package, path):
    return path.relative_to(ROOT).parts[0] == package


@cache
def imports_of(path):
    """Pairs (statement, module) of every import in a file."""
    found = []
    name = module_name(path)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found += [(node, module) for module in named_modules(node, package)]
    return found


def own_imports(path):
    return {module for _, module in imports_of(path) if module.startswith("dpwitness")}


@pytest.mark.parametrize(
    ("statement", "modules"),
    [
        ("import dpwitness.reports", {"dpwitness.reports"}),
        ("from dpwitness import reports", {"dpwitness.reports"}),
        ("from dpwitness.mechanisms import noise", {"dpwitness.mechanisms.noise"}),
        ("from dpwitness.mechanisms.noise import laplace", {"dpwitness.mechanisms.noise.laplace"}),
        ("from . import errors", {"dpwitness.auditors.errors"}),
        ("from .results.results import Verdict", {"dpwitness.auditors.results.results"}),
        ("from ..mechanisms.model import Rows", {"dpwitness.mechanisms.model"}),
        ("import numpy as np", {"numpy"}),
    ],
)
def test_imports_are_read_in_every_form(statement, modules):
    assert set(named_modules(ast.parse(statement).body[0], "dpwitness.auditors")) == modules


def test_there_are_files_to_judge():
    assert {module_name(path).split(".")[1] for path in FILES} == set(PACKAGES)


@pytest.mark.long
@every_file
def test_imports_go_one_way(path):
    name, home = module_name(path), path.relative_to(ROOT).parts[0]
    for module in own_imports(path):
        target = module.split(".")[1]
        if name.startswith(DATA_MODEL) and not module.startswith(DATA_MODEL):
            pytest.fail(f"{name} stands on nothing, yet imports {module}")
        if home == "mechanisms":
            assert target == "mechanisms", f"{name} imports {module}"
        if home == "auditors" and target == "mechanisms":
            assert module == DATA_MODEL, f"{name} knows a particular mechanism: {module}"
        if home == "auditors":
            assert target != "reports", f"{name} imports {module}"


@pytest.mark.parametrize("path", [p for p in FILES if is_in("reports", p)], ids=module_name)
def test_reports_import_the_catalogue_and_no_mechanism(path):
    known = {module for module in own_imports(path) if module.split(".")[1] == "mechanisms"}
    assert known <= {DATA_MODEL, "dpwitness.mechanisms", CATALOGUE}


def words_of(path):
    """The strings of a file that are not docstrings, the parts of f-strings among them."""
    tree = tree_of(path)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in docstrings:
            yield str(node.value)


def named(entries, path):
    """Which of the names stand in the strings of a file, each as a word of its own."""
    found = {word for text in words_of(path) for word in re.findall(r"[\w.*-]+", text)}
    return {name for name in entries if name in found}


@pytest.mark.parametrize(
    "path",
    # The examples in the help of the command line name what a user may type.
    [p for p in FILES if not is_in("mechanisms", p) and p.name != "cli.py"],
    ids=module_name,
)
def test_no_theorem_is_known_by_name_outside_the_mechanisms(path, identifiers):
    assert named(identifiers, path) == set()


@pytest.fixture(scope="module")
def identifiers():
    return {theorem.identifier for theorem in THEOREMS}


def test_names_are_found_in_strings_and_not_in_docstrings(tmp_path):
    file = tmp_path / "known.py"
    file.write_text(
        '"""As PMW-GAP."""\nSPECIAL = {"PMW-KL-3": 1}\nx = f"see ERR-EM-2, {SPECIAL}"\n'
    )
    assert named({"PMW-GAP", "PMW-KL", "PMW-KL-3", "ERR-EM-2"}, file) == {"PMW-KL-3", "ERR-EM-2"}


def room_of(module):
    """The package that a module lies in, or the package itself."""
    inside = ROOT.joinpath(*module.split(".")[1:])
    return module if inside.is_dir() else module.rpartition(".")[0]


def test_no_room_imports_itself_by_way_of_others():
    rooms = {}
    for path in FILES:
        name = module_name(path)
        home = name if path.name == "__init__.py" else name.rpartition(".")[0]
        others = {room_of(module) for module in own_imports(path) if module != "dpwitness"}
        rooms.setdefault(home, set()).update(others - {home})
    assert len(rooms) > 40
    TopologicalSorter(rooms).prepare()  # raises CycleError with the ring


def test_no_module_imports_itself_by_way_of_others():
    # Imports inside functions and for type checkers count too: they are arrows of the picture.
    graph = {module_name(path): own_imports(path) for path in FILES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@every_file
def test_our_own_modules_are_imported_relatively(path):
    # So that type checkers and editors resolve them in a checkout with no installation.
    for node, module in imports_of(path):
        relative = isinstance(node, ast.ImportFrom) and node.level > 0
        assert module.startswith("dpwitness") == relative, f"line {node.lineno} imports {module}"


def test_no_room_is_overfull():
    rooms = Counter(path.parent for path in FILES)
    assert {str(room): count for room, count in rooms.items() if count > MOST_FILES} == {}


def test_no_file_name_stands_in_three_rooms():
    names = Counter(path.name for path in FILES if path.name != "__init__.py")
    assert {name for name, count in names.items() if count > MOST_NAMESAKES} == SHARED_NAMES


def test_no_class_name_has_two_meanings():
    homes = {}
    for path in (*FILES, *sorted((ROOT / "dpwitness").glob("*.py"))):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                place = f"{path.relative_to(ROOT).as_posix()}:{node.lineno}"
                homes.setdefault(node.name, []).append(place)
    assert len(homes) > 300
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.parts[-3] == "mechanisms"], ids=module_name
)
def test_an_algorithm_imports_neither_theorems_nor_broken_twins(path):
    if path.name.startswith(("theorems_", "broken_")):
        return
    for module in own_imports(path):
        assert not module.rpartition(".")[2].startswith(("theorems_", "broken_")), module


@pytest.mark.parametrize("path", [p for p in FILES if "mechanisms" in p.parts], ids=module_name)
def test_mechanisms_need_numpy_only(path):
    outside = {module.split(".")[0] for _, module in imports_of(path)} - {"dpwitness", "numpy"}
    assert outside <= set(sys.stdlib_module_names)


@every_file
def test_nothing_slow_to_import_or_unsafe_to_read(path):
    for node, module in imports_of(path):
        names = {module} | {f"{module}.{alias.name}" for alias in node.names}
        for name in names - SLOW_BUT_ASKED_FOR.get(path.name, set()):
            assert not name.startswith(("scipy.stats", "pickle", "marshal", "shelve")), name


def is_text(node):
    return isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)


def unexplained(tree):
    """Constants at the top level that hold a number and have no docstring behind them."""
    for node, behind in pairwise([*tree.body, None]):
        match node:
            case ast.Assign(targets=[target, *_], value=value) if not is_text(behind):
                pass
            case ast.AnnAssign(target=target, value=ast.expr() as value) if not is_text(behind):
                pass
            case _:
                continue
        names = [one.id for one in ast.walk(target) if isinstance(one, ast.Name)]
        inside = (getattr(one, "value", None) for one in ast.walk(value))
        if any(map(str.isupper, names)) and any(type(one) in (int, float) for one in inside):
            yield f"{', '.join(names)}, line {node.lineno}"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("_MOST = 3", ["_MOST, line 1"]),
        ('MOST = 3\n"""Rows that are shown."""', []),
        ('A = 1\nB = 2\n"""Both."""', ["A, line 1"]),
        ('A, B = 1, 2\n"""Both."""', []),
        ('PARTS: dict[str, float] = {"a": 0.5}', ["PARTS, line 1"]),
        ("GRID = np.linspace(0, 1)", ["GRID, line 1"]),
        ('NAME, ON = "3", True\nsmall = 3\nLATER: int', []),
    ],
)
def test_a_number_without_a_docstring_is_found(code, found):
    assert list(unexplained(ast.parse(code))) == found


def test_each_number_at_the_top_of_a_module_says_what_it_means():
    # Mechanisms are made of numbers at the top level, and say what they mean themselves.
    told = [path for path in FILES if not is_in("mechanisms", path)]
    found = {path.relative_to(ROOT).as_posix(): [*unexplained(tree_of(path))] for path in told}
    assert {name: constants for name, constants in found.items() if constants} == {}


def listed(tree):
    """The names in a module's __all__, a literal assigned once; None where there is none."""
    found = []
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                found.append(ast.literal_eval(value))
            case ast.AnnAssign(target=ast.Name(id="__all__"), value=value):
                found.append(ast.literal_eval(value))
    assert len(found) <= 1
    return found[0] if found else None


def bound(tree):
    """Public names bound at the top level: (functions and classes, variables, imports)."""
    definitions, variables, imported = set(), set(), set()
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                definitions.add(node.name)
            case ast.Assign(targets=[ast.Name(id=name)]):
                variables.add(name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                variables.add(name)
            case ast.Import() | ast.ImportFrom():
                imported |= {alias.asname or alias.name for alias in node.names}
    return tuple({n for n in names if n[0] != "_"} for names in (definitions, variables, imported))


def house_order(name):
    """Constants, then classes, then the rest, each in alphabetical order."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


FRONT_DOORS = [path for path in FILES if path.name == "__init__.py"]


@pytest.mark.parametrize("path", FRONT_DOORS, ids=module_name)
def test_a_front_door_lists_what_it_hands_out(path):
    # A front door has no other purpose than to hand out what it imports.
    tree = tree_of(path)
    names = listed(tree) or []
    definitions, variables, imported = bound(tree)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert names == sorted(set(names), key=house_order)
    assert definitions | (imported - used) <= set(names) <= definitions | variables | imported


@every_file
def test_only_front_doors_have_a_list(path):
    # Elsewhere an underscore says what is private, and a list would hide unused names from tools.
    if path not in FRONT_DOORS:
        assert listed(tree_of(path)) is None


def test_every_package_of_the_tree_is_shipped():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    setuptools = settings["tool"]["setuptools"]
    tree = {module_name(path) for path in FILES if path.name == "__init__.py"}
    assert sorted(setuptools["packages"]) == sorted({*tree, "dpwitness"})
    assert {module_name(path.parent / "__init__.py") for path in FILES} == tree
    where = {f"dpwitness.{name}": name for name in PACKAGES}
    assert setuptools["package-dir"] == {"dpwitness": "dpwitness", **where}


def test_every_package_says_it_is_typed():
    for package in PACKAGES:
        assert (ROOT / package / "py.typed").is_file()


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_refuses_to_be_imported_by_its_short_name(package):
    # A user's folder of the same name must never be mistaken for ours, nor ours for theirs.
    location = ROOT / package / "__init__.py"
    spec = importlib.util.spec_from_file_location(package, location)
    module = importlib.util.module_from_spec(spec)
    with pytest.raises(ImportError, match=f"dpwitness.{package}"):
        spec.loader.exec_module(module)


@pytest.mark.parametrize("module", ["dpwitness", "dpwitness.reports", "dpwitness.reports.cli"])
def test_the_command_line_starts_light(module):
    # A fresh interpreter: this one has everything loaded already.
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT / "tests",
    )
    assert done.returncode == 0, done.stderr
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & HEAVY


def test_commands_need_what_an_installation_without_extras_has():
    """`pip install dpwitness` brings no pytest, and the gate must work where there is none."""
    absent = ("pytest", "xdist", "jsonschema", "pandas", "yaml", "statsmodels", "sphinx", "PIL")
    modules = [
        f"dpwitness.{path.relative_to(ROOT).with_suffix('').as_posix().replace('/', '.')}"
        for path in sorted((ROOT / "reports").rglob("*commands.py"))
    ]
    assert len(modules) > 5
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({absent!r}))\n"
        f"import importlib\nfor name in {modules!r}: importlib.import_module(name)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
