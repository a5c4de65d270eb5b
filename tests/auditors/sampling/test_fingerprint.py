"""The version of a mechanism changes with what it is made of, and with nothing else."""

import importlib
import sys
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpwitness.auditors.sampling import fingerprint as fingerprints
from dpwitness.auditors.sampling.fingerprint import fingerprint

HELPER = "def scale():\n    return 1.0\n"
MECHANISM = """
import numpy as np
from {name}_helper import scale

def noisy(x, rng, *, factor=1.0, size=None):
    return x + rng.laplace(scale=factor * scale(), size=size)

def other(x, rng, *, size=None):
    return x

doubled = lambda x, rng: x; tripled = lambda x, rng: x
"""


@pytest.fixture
def load(tmp_path, monkeypatch):
    """A module and its helper from given texts, in a folder of their own."""
    made = []

    def loaded(text=MECHANISM, helper=HELPER):
        folder = tmp_path / str(len(made))
        folder.mkdir()
        (folder / "trial.py").write_text(text.format(name="trial"))
        (folder / "trial_helper.py").write_text(helper)
        (folder / "unrelated.py").write_text(f"x = {len(made)}\n")
        monkeypatch.syspath_prepend(folder)
        for name in ("trial", "trial_helper"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        made.append(folder)
        return importlib.import_module("trial")

    yield loaded
    for name in ("trial", "trial_helper"):
        sys.modules.pop(name, None)


def test_the_same_source_elsewhere_has_the_same_fingerprint(load):
    first = fingerprint(load().noisy)
    assert len(first) == 32
    assert fingerprint(load().noisy) == first


def test_a_change_of_the_file_or_of_what_it_imports_shows(load):
    first = fingerprint(load().noisy)
    assert fingerprint(load(MECHANISM.replace("x + rng", "x - rng")).noisy) != first
    assert fingerprint(load(MECHANISM + "np.random.seed(1)\n").noisy) != first
    assert fingerprint(load(helper=HELPER.replace("1.0", "0.5")).noisy) != first
    indirect = MECHANISM.replace("from {name}_helper import scale", "scale = lambda: 1.0")
    assert fingerprint(load(indirect).noisy) != first


@pytest.mark.parametrize(
    "around",
    [
        "try:\n    {}\nexcept ImportError:\n    pass",
        "try:\n    pass\nexcept ImportError:\n    {}",
        "if len('x') > 2:\n    pass\nelse:\n    {}",
        "match 1:\n    case 2:\n        {}",
        "def later():\n    with open('x'):\n        {}",
        "class Later:\n    async def late(self):\n        for _ in ():\n            {}",
    ],
)
def test_an_import_anywhere_counts_but_one_for_type_checkers_does_not(load, around):
    line = "from {name}_helper import scale"
    text = MECHANISM.replace(line, "scale = lambda: 1.0") + "\n"
    other = HELPER.replace("1.0", "0.5")
    somewhere = text + around.format(line) + "\n"
    assert fingerprint(load(somewhere).noisy) != fingerprint(load(somewhere, helper=other).noisy)
    named = text + f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {line}\n"
    assert fingerprint(load(named).noisy) == fingerprint(load(named, helper=other).noisy) != ""


def test_a_file_that_bears_the_name_of_a_function_is_not_the_function(load, tmp_path, monkeypatch):
    """`from helper import scale` names no module `scale`, whatever else lies on the path."""
    line = "from {name}_helper import scale"
    text = MECHANISM.replace(line, f"def scale():\n    {line}\n    return scale()")
    alone = fingerprint(load(text).noisy)
    (tmp_path / "scale.py").write_text("import no_such_package_anywhere\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert fingerprint(load(text).noisy) == alone != ""


def test_functions_of_one_file_and_bound_values_differ(load):
    module = load()
    values = (1.0, 2.0, 1, True, None, "1", [1.0], (1.0,), {"a": 1}, np.arange(3), np.arange(3.0))
    prints = [fingerprint(partial(module.noisy, factor=value)) for value in values]
    functions = (module.noisy, module.other, module.doubled, module.tripled)
    prints += [fingerprint(function) for function in functions]
    assert all(prints)
    assert len(set(prints)) == len(prints)
    assert prints[0] == fingerprint(partial(module.noisy, factor=1.0))


def test_closures_and_objects_are_looked_into():
    def made(factor):
        def noisy(x, rng):
            return x * factor

        return noisy

    class Noisy:
        def __init__(self, factor):
            self.factor = factor

        def run(self, x, rng):
            return x * self.factor

    assert fingerprint(made(1)) != fingerprint(made(2))
    assert fingerprint(made(1)) == fingerprint(made(1)) != ""
    assert fingerprint(Noisy(1).run) != fingerprint(Noisy(2).run)
    assert fingerprint(Noisy(1).run) == fingerprint(Noisy(1).run) != ""


def test_what_cannot_be_told_has_no_fingerprint():
    class Slotted:
        __slots__ = ()

    space = {}
    exec("def noisy(x, rng):\n    return x", space)
    space["noisy"].__module__ = "nowhere"
    assert fingerprint(space["noisy"]) == ""
    assert fingerprint(partial(HELPER.count, np.array([object()]))) == ""
    assert fingerprint(partial(test_what_cannot_be_told_has_no_fingerprint, Slotted())) == ""


def test_a_function_of_no_module_has_none_and_raises_nothing():
    def noisy(x, rng):
        return x

    noisy.__module__ = None
    assert fingerprint(noisy) == ""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """An installed package without a version, whose file is written as asked."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    monkeypatch.setattr(fingerprints, "INSTALLED", {site})

    def write(text):
        (site / "trial_library.py").write_text(text)
        sys.modules.pop("trial_library", None)
        importlib.invalidate_caches()

    yield write
    sys.modules.pop("trial_library", None)


USES_LIBRARY = """
from trial_library import scale

def noisy(x, rng):
    return x + rng.laplace(scale=scale())
"""


def test_a_package_without_a_version_counts_by_its_files(load, installed):
    installed("def scale():\n    return 1.0\n")
    first = fingerprint(load(USES_LIBRARY).noisy)
    assert first == fingerprint(load(USES_LIBRARY).noisy) != ""
    installed("def scale():\n    return 0.25\n")
    assert fingerprint(load(USES_LIBRARY).noisy) not in ("", first)


def test_a_package_that_may_be_missing_does_not_hide_the_rest(load):
    text = USES_LIBRARY.replace("from trial_library import scale", "scale = lambda: 1.0") + (
        "try:\n    import not_installed_anywhere\nexcept ImportError:\n    pass\n"
    )
    assert fingerprint(load(text).noisy) != ""


APART = """
import numpy as np

SCALE = 1.0

def helper(rng):
    return rng.laplace(scale=SCALE)

def noisy(x, rng):
    return x + helper(rng)

def other(x, rng):
    return 2 * x

unrelated = 3
"""


def test_another_function_of_the_file_changes_nothing(load):
    first = fingerprint(load(APART).noisy)
    assert fingerprint(load(APART.replace("2 * x", "3 * x") + "# a remark\n").noisy) == first
    assert fingerprint(load(APART + "def added(x, rng):\n    return x\n").noisy) == first


@pytest.mark.parametrize(
    ("old", "new"),
    [("scale=SCALE", "scale=2 * SCALE"), ("SCALE = 1.0", "SCALE = 2.0"), ("x + helper", "helper")],
)
def test_what_the_function_reaches_changes_it(load, old, new):
    assert fingerprint(load(APART).noisy) != fingerprint(load(APART.replace(old, new)).noisy)


def test_a_file_that_reaches_by_text_counts_as_a_whole(load):
    text = APART.replace("x + helper(rng)", "x + globals()['hel' + 'per'](rng)")
    changed = text.replace("scale=SCALE", "scale=2 * SCALE")
    assert fingerprint(load(text).noisy) != fingerprint(load(changed).noisy)


def _plus_three(number):
    return number + 3


STRATEGIES = {
    "lists": lambda: st.lists(st.integers(0, 120), max_size=30),
    "mapped": lambda: st.lists(st.integers(0, 9).map(_plus_three).filter(_plus_three)),
    "dependent": lambda: st.integers(1, 3).flatmap(lambda n: st.lists(st.just(n), max_size=n)),
    "either": lambda: st.integers() | st.sampled_from(["a", "b"]),
    "records": lambda: st.fixed_dictionaries({"age": st.integers(0, 9), "name": st.text()}),
    "built": lambda: st.builds(complex, st.floats(0, 1), imag=st.integers(0, 3)),
    "deferred": lambda: st.deferred(lambda: st.integers(0, 4)),
    "recursive": lambda: st.recursive(st.booleans(), lambda inner: st.lists(inner), max_leaves=4),
}


@pytest.mark.parametrize("make", STRATEGIES.values(), ids=STRATEGIES)
def test_using_a_strategy_does_not_change_what_it_is(make):
    # Hypothesis keeps in a strategy the address of each thread that used it: such a fingerprint
    # made every shard of an audit with databases=st.lists(...) an audit of its own.
    strategy = make()
    first = fingerprint(strategy)

    @settings(max_examples=3, database=None, deadline=None)
    @given(strategy)
    def use(value):
        assert repr(value)

    use()
    assert len(first) == 32
    assert fingerprint(strategy) == fingerprint(make()) == first


def test_other_strategies_are_others():
    known = {fingerprint(make()) for make in STRATEGIES.values()}
    shorter = fingerprint(st.lists(st.integers(0, 120), max_size=29))
    unmapped = fingerprint(st.lists(st.integers(0, 9).filter(_plus_three)))
    assert len(known | {shorter, unmapped}) == len(STRATEGIES) + 2
