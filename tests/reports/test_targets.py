import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from dpwitness.auditors.errors import InvalidArgument
from dpwitness.mechanisms.catalogue import CATALOGUE, NEGATIVE_CONTROLS
from dpwitness.mechanisms.model import Mechanism, Value
from dpwitness.reports.targets import targets


@pytest.fixture(autouse=True)
def as_before(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.chdir(tmp_path)
    loaded = set(sys.modules)
    yield
    # Libraries that were loaded meanwhile stay: half of one loaded anew would not fit the other.
    for name in set(sys.modules) - loaded:
        module = sys.modules[name]
        places = [getattr(module, "__file__", None) or "", *getattr(module, "__path__", ())]
        if any(Path(place).is_relative_to(tmp_path) for place in places):
            del sys.modules[name]


@pytest.fixture
def write(tmp_path):
    def write_file(name, text):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
        return path

    return write_file


@pytest.mark.parametrize(
    "mechanism", [*CATALOGUE, *(c.mechanism for c in NEGATIVE_CONTROLS)], ids=lambda m: m.name
)
def test_every_entry_is_found_by_name_and_identifier_in_any_case(mechanism):
    for name in filter(None, (mechanism.name, mechanism.identifier)):
        for written in (name, name.upper(), name.lower()):
            assert targets.find_target(written).mechanism is mechanism


def test_an_unknown_name_is_answered_with_close_ones():
    with pytest.raises(InvalidArgument, match=r"did you mean .*laplace"):
        targets.find_target("laplac")


def test_a_file_with_its_siblings(write):
    write("code/sibling.py", "VALUE = 3")
    write(
        "code/mine.py",
        "from sibling import VALUE\n"
        "def late(db, rng):\n    import other\n    return other.VALUE\n"
        "def mine(db, rng):\n    return VALUE\n",
    )
    write("code/other.py", "VALUE = 5")
    found = targets.find_target("code/mine.py:mine")
    assert (found.name, found.mechanism(None, None)) == ("mine", 3)
    assert targets.find_target("code/mine.py:late").mechanism(None, None) == 5


def test_a_file_cannot_take_the_place_of_a_module(write):
    import json

    write("json.py", "def f(db, rng): return 0\nimport colorsys")
    write("colorsys.py", "raise SystemExit")
    write("statistics.py", "VALUE = 1")
    with pytest.raises(InvalidArgument, match="SystemExit"):
        targets.find_target("json.py:f")
    assert sys.modules["json"] is json
    assert sys.path[-1] != sys.path[0]


def test_two_names_from_one_file_share_its_classes(write):
    write("one.py", "class A: pass\ndef f(db, rng): return A\ndef g(db, rng): return A")
    write("deep/one.py", "class A: pass\ndef f(db, rng): return A")
    first, second, other = (
        targets.find_target(name).mechanism(None, None)
        for name in ("one.py:f", "one.py:g", "deep/one.py:f")
    )
    assert first is second
    assert first is not other


def test_a_module_of_the_working_folder(write):
    write("package_of_mine/__init__.py", "")
    write("package_of_mine/inner.py", "def f(db, rng): return 1")
    assert targets.find_target("package_of_mine.inner:f").mechanism(None, None) == 1


def test_mechanisms_and_controls_come_whole():
    catalogue = targets.find_target("dpwitness.mechanisms.catalogue:CATALOGUE.__class__")
    assert catalogue.mechanism.__name__ == "Named"
    found = targets.find_target("dpwitness.mechanisms.noise.laplace:LAPLACE")
    assert isinstance(found.mechanism, Mechanism)
    assert found.name == found.mechanism.name
    control = targets.find_target("dpwitness.mechanisms.selection.broken_selection:NAIVE")
    assert isinstance(control.mechanism, Mechanism)


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("no_such_module:f", "there is no module 'no_such_module'"),
        ("bad.py:f", "ValueError: no good"),
        ("needs.py:f", "ModuleNotFoundError"),
        ("broken.py:f", "SyntaxError"),
        ("none.py:f", "there is no file"),
        ("good.py:count", "did you mean counts"),
        ("good.py:NUMBER", "is of type int; expected a function"),
        ("good.py:", "nothing after the colon"),
        (":f", "nothing before the colon"),
        ("good.py", "add a colon"),
        ("a b:f", "neither a module name"),
        ("", "nothing in the catalogue"),
    ],
)
def test_what_cannot_be_loaded_is_said_in_a_sentence(write, target, sentence):
    write("bad.py", "raise ValueError('no good')")
    write("needs.py", "import no_such_module_either")
    write("broken.py", "def f(:")
    write("good.py", "NUMBER = 1\ndef counts(db, rng): return 0")
    with pytest.raises(InvalidArgument, match=sentence):
        targets.find_target(target)


def test_a_file_that_may_not_be_reached_is_said_in_a_sentence(monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_file", refuse)
    with pytest.raises(InvalidArgument, match="permission denied"):
        targets.find_target("closed/a.py:f")


def test_databases_are_domains_or_strategies(write):
    write(
        "data.py",
        "from hypothesis import strategies as st\n"
        "from dpwitness.mechanisms.model import Choices, Value\n"
        "rows = st.lists(st.integers())\nvalue = Value(row=Choices(values=(0, 1)))\nnumber = 1\n",
    )
    assert isinstance(targets.find_databases("data.py:value"), Value)
    assert targets.find_databases("data.py:rows").example is not None
    for name, sentence in (
        ("data.py:number", "is of type int"),
        ("data.py", "takes table.csv, table.parquet, schema.json, file.py:NAME"),
    ):
        with pytest.raises(InvalidArgument, match=sentence):
            targets.find_databases(name)


def test_a_target_without_a_listing_still_gets_its_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "odd_module", SimpleNamespace(odd=object()))
    with pytest.raises(InvalidArgument, match="there is no 'f'"):
        targets.find_target("odd_module:odd.f")


def test_a_program_is_one_text_and_is_typed_again_as_it_was():
    for given in ((None, "./a 'b c'", None), ("f.py:g", None, "/my python/bin"), ("x", None, None)):
        text = targets.target_text(*given)
        words = targets.words_of(text)
        target, command, python = given
        typed = ["--command", command] if command else ["--python", python] * bool(python)
        assert words == [*typed, *filter(None, [target])]
    for wrong in ((None, None, None), ("x", "y", None), (None, "y", "z")):
        with pytest.raises(InvalidArgument):
            targets.target_text(*wrong)


@pytest.mark.parametrize(
    "code",
    [
        "from colorsys import rgb_to_hls\ndef f(db, rng): return 1",
        "import colorsys\nX = colorsys.rgb_to_hls\ndef f(db, rng): return 1",
    ],
)
def test_a_file_that_shadows_the_library_it_imports_is_told_so(write, code, monkeypatch):
    # colorsys stands for any installed package; nothing else in these tests imports it.
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    write("work/colorsys.py", code)
    with pytest.raises(InvalidArgument, match=r"colorsys\.py beside it took the place of .* name"):
        targets.find_target("work/colorsys.py:f")
    write("other/colorsys.py", "Y = 1")
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    write("other/mine.py", "from colorsys import rgb_to_hls\ndef f(db, rng): return 1")
    with pytest.raises(InvalidArgument, match=r"colorsys\.py beside it"):
        targets.find_target("other/mine.py:f")
