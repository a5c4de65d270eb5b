"""The rules of the house, read off the syntax trees."""

import ast
import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("mechanisms", "auditors", "reports")
LONGEST_FILE = 300
HEAVY = {"hypothesis", "joblib", "matplotlib", "numpy", "pandas", "scipy", "statsmodels"}
DATA_MODEL = "dpwitness.mechanisms.model"

FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
every_file = pytest.mark.parametrize(
    "path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix()
)


def module_name(path):
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(["dpwitness", *(parts[:-1] if parts[-1] == "__init__" else parts)])


def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def is_module(name):
    inside = ROOT.joinpath(*name.split(".")[1:])
    return inside.is_dir() or inside.with_suffix(".py").is_file()


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


def imports_of(path):
    """Pairs (statement, module) of every import in a file."""
    name = module_name(path)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for module in named_modules(node, package):
                yield node, module


def own_imports(path):
    return {module for _, module in imports_of(path) if module.startswith("dpwitness")}


@pytest.mark.parametrize(
    ("statement", "modules"),
    [
        ("import dpwitness.reports", {"dpwitness.reports"}),
        ("from dpwitness import reports", {"dpwitness.reports"}),
        ("from dpwitness.mechanisms import laplace", {"dpwitness.mechanisms.laplace"}),
        ("from dpwitness.mechanisms.laplace import LAPLACE", {"dpwitness.mechanisms.laplace"}),
        ("from . import run", {"dpwitness.auditors.run"}),
        ("from .run import audit", {"dpwitness.auditors.run"}),
        ("from ..mechanisms.model import Rows", {"dpwitness.mechanisms.model"}),
        ("import numpy as np", {"numpy"}),
    ],
)
def test_imports_are_read_in_every_form(statement, modules):
    assert set(named_modules(ast.parse(statement).body[0], "dpwitness.auditors")) == modules


def test_there_are_files_to_judge():
    assert {module_name(path).split(".")[1] for path in FILES} == set(PACKAGES)


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


@every_file
def test_imports_are_relative_inside_a_package_and_absolute_across(path):
    home = path.relative_to(ROOT).parts[0]
    for node, module in imports_of(path):
        inside = module.startswith(f"dpwitness.{home}")
        relative = isinstance(node, ast.ImportFrom) and node.level > 0
        assert inside == relative, f"line {node.lineno} imports {module}"


@pytest.mark.parametrize("path", [p for p in FILES if "mechanisms" in p.parts], ids=module_name)
def test_mechanisms_need_numpy_only(path):
    outside = {module.split(".")[0] for _, module in imports_of(path)} - {"dpwitness", "numpy"}
    assert outside <= set(sys.stdlib_module_names)


@every_file
def test_nothing_slow_to_import_or_unsafe_to_read(path):
    for node, module in imports_of(path):
        names = {module} | {f"{module}.{alias.name}" for alias in node.names}
        for name in names:
            assert not name.startswith(("scipy.stats", "pickle", "marshal", "shelve")), name


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


@every_file
def test_all_is_exact_and_sorted(path):
    tree = tree_of(path)
    names = listed(tree)
    definitions, variables, imported = bound(tree)
    if names is None:
        assert not definitions | variables, "a module that makes something lists it"
        return
    assert names == sorted(set(names), key=house_order)
    assert definitions <= set(names), "public functions and classes are listed"
    if path.name == "__init__.py":
        # A front door has no other purpose than to hand out what it imports.
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert imported - used <= set(names) <= definitions | variables | imported
    else:
        assert set(names) <= definitions | variables, "only what is made here is listed here"


@every_file
def test_no_file_is_longer_than_the_ceiling(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE


def test_every_package_of_the_tree_is_shipped():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    setuptools = settings["tool"]["setuptools"]
    tree = {module_name(path) for path in FILES if path.name == "__init__.py"}
    assert sorted(setuptools["packages"]) == sorted(tree)
    assert {module_name(path.parent / "__init__.py") for path in FILES} == tree
    assert setuptools["package-dir"] == {f"dpwitness.{name}": name for name in PACKAGES}


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


@pytest.mark.parametrize("module", ["dpwitness.reports", "dpwitness.reports.cli"])
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
