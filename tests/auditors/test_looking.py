"""What is seen of an object of somebody else does not depend on what it says of itself."""

import functools
import sys
from types import SimpleNamespace
from typing import ClassVar
from unittest.mock import MagicMock, Mock

import numpy as np
import pytest

import dpwitness
from dpwitness.auditors.attackers.seen import seen_by
from dpwitness.auditors.looking import attribute, function_of, held, is_a, says_function
from dpwitness.auditors.mutants.sources import recipe_of, sources_of
from dpwitness.auditors.search.constants import codes_of, constants_of
from dpwitness.auditors.tape.explain import explain
from dpwitness.auditors.workers.anew import Anew
from dpwitness.mechanisms.model import Mechanism, Theorem, carried


class Unbound:
    """As the proxies of web frameworks outside a request: whatever is asked raises."""

    @property
    def __class__(self):
        raise RuntimeError("no request")

    @property
    def __dict__(self):
        raise RuntimeError("no request")

    def __getattr__(self, name):
        raise RuntimeError("no request")

    def __eq__(self, other):
        raise RuntimeError("no request")

    __hash__ = None


class Answers:
    """Another of itself, whatever it is asked."""

    def __getattr__(self, name):
        return Answers()

    def __call__(self, database, rng, *more):
        return float(sum(database)) + rng.laplace()


class AnswersPairs(Answers):
    def __getattr__(self, name):
        return (1, 2)


class Raises(Answers):
    def __getattr__(self, name):
        raise RuntimeError("nothing")


STRANGE = {
    "unbound": Unbound(), "answers": Answers(), "pairs": AnswersPairs(), "raises": Raises(),
    "mock": Mock(), "magic": MagicMock(), "of a type": MagicMock(spec=dict),
}  # fmt: skip
strange = pytest.mark.parametrize("name", STRANGE)
CALLED = ("answers", "pairs", "raises")
called = pytest.mark.parametrize("name", CALLED)


@strange
def test_it_is_what_its_type_is_and_has_what_stands_in_it(name):
    one = STRANGE[name]
    assert is_a(one, type(one))
    assert is_a(one, object)
    assert not is_a(one, dict)
    assert not is_a(one, (str, int))
    for word in ("func", "__wrapped__", "__code__", "__func__", "args"):
        assert attribute(one, word) is None
    assert attribute(one, "never", 7) == 7
    assert "func" not in dict(held(one))


def test_an_attribute_that_stands_there_is_found():
    class Has:
        __slots__ = ("__hidden", "empty", "value")

        def __init__(self):
            self.value, self.__hidden = 3, 4

        @property
        def fails(self):
            raise ValueError

        twice = property(lambda self: 2 * self.value)

    class More(Has):
        def __init__(self):
            super().__init__()
            self.late = 5

    has = More()
    assert (attribute(has, "value"), attribute(has, "twice"), attribute(has, "late")) == (3, 6, 5)
    assert attribute(has, "empty") is None
    assert attribute(has, "fails", "none") == "none"
    assert [*held(has)] == [("late", 5), ("_Has__hidden", 4), ("value", 3)]
    assert attribute(len, "__name__") == "len"
    assert attribute(has.__init__, "__func__") is More.__init__


def _added(database, rng, more=0):
    return float(sum(database)) + more + rng.laplace()


def test_the_function_behind_what_is_called():
    class Adds:
        def __call__(self, database, rng):
            return _added(database, rng)

        def method(self, database, rng):
            return _added(database, rng)

    class Again(Adds):
        pass

    @functools.wraps(_added)
    def wrapped(*arguments):
        return _added(*arguments)

    partial = functools.partial(functools.partial(_added, more=1), more=2)
    assert function_of(_added) is function_of(partial) is function_of(wrapped) is _added
    assert function_of(functools.lru_cache(_added)) is _added
    assert function_of(Again()) is Adds.__call__
    assert function_of(Adds().method) is Adds.method
    assert function_of(functools.partial(Adds().method)) is Adds.method
    assert function_of(len) is len
    assert function_of(3) == 3


def test_the_call_of_a_class_is_its_own_and_no_other():
    class Base:
        def __call__(self, database, rng):
            return 1234 + rng.laplace()

    class Partial(Base):
        def more(self, rng, by):
            return 777 + by + rng.laplace()

        __call__ = functools.partialmethod(more, by=3)

    class Static(Base):
        __call__ = staticmethod(_added)

    class Compiled(Base):
        __call__ = len

    assert function_of(Partial()) is Partial.more
    assert function_of(Static()) is _added
    assert function_of(Compiled()) is len


class Proxy:
    """As wrapt's, which keep what they stand around out of sight and say that they are it."""

    __slots__ = ("_inner",)

    def __init__(self, inner):
        object.__setattr__(self, "_inner", inner)

    @property
    def __class__(self):
        return type(self._inner)

    @property
    def __wrapped__(self):
        return self._inner

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def __call__(self, *arguments, **named):
        return self._inner(*arguments, **named)


def _limited(database, rng):
    return 8642 + rng.laplace()


def test_what_stands_around_a_function_hides_nothing():
    proxy = Proxy(_limited)
    assert says_function(proxy)
    assert not says_function(_limited.__class__)
    assert not any(says_function(one) for one in STRANGE.values())
    assert function_of(proxy) is _limited
    assert 8642 in constants_of(proxy)
    assert _limited.__code__ in codes_of(proxy)


class Release:
    def __init__(self, noise=0):
        self.noise = noise

    def __call__(self, database, rng):
        return _added(database, rng, self.noise)


class Fresh(Proxy):
    """As wrapt's in one thing more: what it stands around is in no slot that is seen."""

    __slots__ = ()
    inner: ClassVar = {}

    def __init__(self, inner):
        self.inner[id(self)] = inner

    _inner = property(lambda self: self.inner[id(self)])


@pytest.mark.parametrize("kind", [Proxy, Fresh])
@pytest.mark.parametrize("inner", [_limited, Release(), Release().__call__])
def test_what_a_proxy_stands_around_is_reached_and_made_anew(kind, inner):
    """Or noise that its module draws at import would accuse."""
    modules = Anew(functools.partial(print, kind(inner)))
    assert __name__ in modules.reached.names
    assert modules.reached.seen >= {id(inner)}


def test_an_object_whose_dictionary_is_no_ordinary_one_holds_what_it_holds():
    class More(SimpleNamespace):
        def __call__(self, database, rng):
            return self.limit + rng.laplace()

    assert dict(held(SimpleNamespace(a=1, b=2))) == {"a": 1, "b": 2}
    assert 777 in constants_of(More(limit=777))


def test_a_slot_without_a_value_has_none_that_is_made_up():
    class Empty:
        __slots__ = ("value",)

        def __getattr__(self, name):
            return "made up"

    assert attribute(Empty(), "value") is None


def test_the_attacker_that_looks_already_is_not_asked_to_look_again():
    once = seen_by("bits", Mechanism(name="it", run=_added))
    assert seen_by("".join(["bi", "ts"]), once) is once


def test_what_stands_in_the_place_of_a_module_is_none(monkeypatch):
    for name, one in STRANGE.items():
        monkeypatch.setitem(sys.modules, f"a stub {name}", one)
    assert __name__ in Anew(_added).old
    assert recipe_of(Mechanism(name="it", run=_added)) is None


def test_a_theorem_whose_subject_is_none_is_refused():
    theorem = Theorem(
        identifier="X", statement="", reference="", subject=lambda: STRANGE["unbound"]
    )
    with pytest.raises(ValueError, match="must return a claim"):
        theorem.at()


def test_wrappers_without_an_end_end():
    class Endless:
        @property
        def __wrapped__(self):
            return Endless()

    assert is_a(function_of(Endless()), Endless)


@strange
def test_constants_are_read_past_it(name):
    one = STRANGE[name]

    def mechanism(database, rng, *, given=one):
        return (1234 if one else 5678) + given + rng.laplace()

    class Holds:
        def __init__(self):
            self.one = one

        def __call__(self, database, rng):
            return 4321 + self.one + rng.laplace()

    assert {1234, 5678} <= {*constants_of(mechanism)}
    assert 4321 in constants_of(Holds())
    assert 4321 in constants_of(functools.partial(Holds().__call__, rng=one))
    Holds.beside = one
    assert 4321 in constants_of(Holds())


@strange
def test_modules_are_found_past_it(name):
    one = STRANGE[name]
    holder = SimpleNamespace(first=one, inner=SimpleNamespace(one=one, run=_added))
    assert __name__ in Anew(functools.partial(print, holder)).reached.names


@strange
def test_faults_are_planted_beside_it(name):
    one = STRANGE[name]

    def mechanism(database, rng, *, given=one):
        scale = 2.0 if one is given else 1.0
        return float(sum(database)) + rng.laplace(scale=scale)

    assert mechanism in [source.function for source in sources_of(mechanism)]


@strange
def test_the_line_at_fault_is_found_beside_it(name):
    class Noisy:
        def __init__(self):
            self.one = STRANGE[name]

        def __call__(self, database, rng):
            one = self.one
            noise = rng.laplace(scale=0.2)
            return sum(database) + noise if one is self.one else None

    cause = explain(Noisy(), [1], [], 1.0, refuted=True)
    assert [line.source for line in cause.lines][:1] == ["noise = rng.laplace(scale=0.2)"]


@called
def test_it_carries_no_claims_of_its_own_and_can_be_given_one(name):
    one = STRANGE[name]
    assert carried(one) is None
    marked = dpwitness.claims(epsilon=1, relation="add-remove")(type(one)())
    assert carried(marked, "marked").claims[0].epsilon == 1.0


@called
def test_it_is_audited_as_the_function_it_calls(name):
    one = STRANGE[name]

    def plain(database, rng):
        return float(sum(database)) + rng.laplace()

    asked = {
        "epsilon": 0.5, "relation": "add-remove", "pair": ([], [1]), "trials": 2000,
        "in_process": True,
    }  # fmt: skip
    as_object, as_function = (dpwitness.audit(run, name="it", **asked) for run in (one, plain))
    assert as_object.verdict == as_function.verdict
    assert as_object.epsilon_lower == as_function.epsilon_lower
    assert np.isfinite(as_object.epsilon_lower)
