"""What replay runs, and what it never runs: an evidence file is data from anybody."""

import sys
from pathlib import Path

import pytest

from dpwitness.auditors.errors import InvalidArgument
from dpwitness.reports.targets import trust

SOURCE = """
import shutil, functools, numpy
from pathlib import Path
from shutil import rmtree, rmtree as removing
from numpy import save
import sibling
from sibling import made_elsewhere, factory, plain_wrapper
import dpwitness.mechanisms.noise.laplace as laplace_module
Path("loaded").write_text("")

def noisy(database, rng):
    return 0

@plain_wrapper
def decorated(database, rng):
    return 0

class Sampler:
    def __call__(self, database, rng):
        return 0

instance = Sampler()
bound = functools.partial(noisy)
closure = factory()
anonymous = lambda database, rng: 0
first, second = noisy, Sampler()
again = noisy
mine = laplace_module.LAPLACE
stolen = shutil.rmtree
stolen_again = rmtree
first_stolen, other = shutil.rmtree, 1
ufunc = numpy.add
hidden = (lambda: rmtree)()
if True:
    def inside(database, rng):
        return 0
try:
    from json import dumps as late
except ImportError:
    def late(database, rng):
        return 0
globals()["conjured"] = rmtree
"""
SIBLING = """
def made_elsewhere(database, rng):
    return 0
def factory():
    def made(database, rng):
        return 0
    return made
def plain_wrapper(function):
    def wrapper(database, rng):
        return function(database, rng)
    return wrapper
"""


@pytest.fixture(autouse=True)
def release(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.chdir(tmp_path)
    loaded = set(sys.modules)
    (tmp_path / "release.py").write_text(SOURCE)
    (tmp_path / "sibling.py").write_text(SIBLING)
    yield tmp_path
    # Libraries that were loaded meanwhile stay: half of one loaded anew would not fit the other.
    for name in set(sys.modules) - loaded:
        module = sys.modules[name]
        places = [getattr(module, "__file__", None) or "", *getattr(module, "__path__", ())]
        if any(Path(place).is_relative_to(tmp_path) for place in places):
            del sys.modules[name]


def of(*targets):
    return [{"target": target} for target in targets]


@pytest.mark.parametrize("place", ["release.py", "release"])
@pytest.mark.parametrize(
    "name",
    ["noisy", "decorated", "Sampler", "instance", "bound", "closure", "anonymous", "first",
     "second", "again", "inside"],
)  # fmt: skip
def test_what_the_module_makes_is_found(name, place):
    assert callable(trust.find(f"{place}:{name}").mechanism)


@pytest.mark.parametrize("place", ["release.py", "release"])
@pytest.mark.parametrize(
    "name",
    ["rmtree", "removing", "save", "made_elsewhere", "shutil", "shutil.rmtree", "stolen",
     "stolen_again", "first_stolen", "ufunc", "laplace_module.LAPLACE", "absent", "conjured",
     "sibling.made_elsewhere", "Path", "__builtins__", "__loader__.load_module"],
)  # fmt: skip
def test_what_it_merely_imports_is_refused_before_the_module_is_loaded(release, name, place):
    with pytest.raises(InvalidArgument, match=r"release"):
        trust.find(f"{place}:{name}")
    assert not (release / "loaded").exists()


@pytest.mark.parametrize("name", ["hidden"])
def test_a_function_of_another_module_is_refused_however_it_came_in(name):
    with pytest.raises(InvalidArgument, match="code of shutil"):
        trust.find(f"release.py:{name}")


@pytest.mark.parametrize(
    "target",
    ["patsy:dmatrix", "os:system", "numpy:save", "mine:os.system", "release.py:noisy", "",
     "dpwitness.reports.cli:main", "command=rm -rf x", "python=/bin/rm release.py:noisy"],
)  # fmt: skip
def test_code_that_only_the_file_names_is_not_run(release, target):
    with pytest.raises(InvalidArgument, match=r"dpwitness replay|names no target"):
        trust.allowed(of(target), ())
    with pytest.raises(InvalidArgument):
        trust.allowed(of("laplace", target), (), ask=lambda text: False)
    assert not (release / "loaded").exists()


def test_the_catalogue_runs_and_what_the_user_names_or_agrees_to():
    both = of("laplace", "release.py:noisy")
    assert trust.allowed(of("laplace"), ()) == ["laplace"]
    assert trust.allowed(both, (), ask=lambda text: True) == ["laplace", "release.py:noisy"]
    assert trust.allowed(both, ("release.py:noisy",)) == [None, "release.py:noisy"]
    assert trust.allowed(both, ("./release.py:noisy",)) == [None, "release.py:noisy"]
    assert trust.allowed(of("a.py:f", "a.py:f"), ("b.py:f",)) == ["b.py:f", "b.py:f"]
    with pytest.raises(InvalidArgument, match="no result in the evidence is of"):
        trust.allowed(both, ("release.py:other",))
    asked = []
    trust.allowed(of("a.py:f", "a.py:f"), (), ask=lambda text: asked.append(text) or True)
    assert asked == ["a.py:f"]


def test_reading_the_bits_is_no_matter_of_trust():
    both = of("release.py:noisy", "bits=release.py:noisy")
    assert trust.allowed(both, ("release.py:noisy",)) == [
        "release.py:noisy",
        "bits=release.py:noisy",
    ]
    assert trust.allowed(of("bits=laplace"), ()) == ["bits=laplace"]
    with pytest.raises(InvalidArgument, match="dpwitness replay"):
        trust.allowed(both[1:], ())
    assert trust.find("bits=release.py:noisy").text == "bits=release.py:noisy"
    with pytest.raises(InvalidArgument, match="imports it"):
        trust.find("bits=release.py:rmtree")


def test_a_program_runs_only_if_it_is_typed_too():
    command, python = of("command=./a b"), of("python=/bin/p f.py:g")
    assert trust.allowed(command, (), program="./a b") == ["command=./a b"]
    assert trust.allowed(python, ("f.py:g",), program="/bin/p") == ["python=/bin/p f.py:g"]
    for named, program in (((), "/bin/p"), (("f.py:h",), "/bin/p"), (("f.py:g",), "/bin/q")):
        with pytest.raises(InvalidArgument):
            trust.allowed(python, named, program=program)
    for program in (None, "", "./a", "./a b "):
        with pytest.raises(InvalidArgument):
            trust.allowed(command, (), program=program)


def test_the_sentence_says_what_to_type():
    with pytest.raises(InvalidArgument, match=r"dpwitness replay 'my e.json' a\.py:f$"):
        trust.allowed(of("a.py:f"), (), path="my e.json")
    with pytest.raises(InvalidArgument, match=r"dpwitness replay --python /bin/p -- -e a\.py:f$"):
        trust.allowed(of("python=/bin/p a.py:f"), (), path="-e")
