"""An output is what was returned, whatever becomes of the object afterwards."""

import copyreg
import dataclasses
from collections import OrderedDict, namedtuple
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

import numpy as np
import pytest

from dpwitness import ContractError, Pair, audit
from dpwitness.auditors.outputs.outputs import Outputs
from dpwitness.auditors.results.results import Verdict
from dpwitness.auditors.sampling.captured import captured
from dpwitness.auditors.sampling.sampling import Sampler

Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Holder:
    values: list


def reused_array():
    buffer = np.zeros(2)

    def run(database, rng):
        buffer[:] = sum(database) + rng.laplace(), 1.0
        return buffer

    return run


def reused_list():
    buffer = [0.0]

    def run(database, rng):
        buffer[0] = sum(database) + rng.laplace()
        return buffer

    return run


def reused_inside():
    held = Holder([0.0])

    def run(database, rng):
        held.values[0] = sum(database) + rng.laplace()
        return {"answer": (held,)}

    return run


def reused_by_rows():
    buffer = np.zeros(40_000)

    def run(database, rng, *, size=None):
        if size is None:
            return sum(database) + rng.laplace()
        buffer[:size] = sum(database) + rng.laplace(size=size)
        return buffer[:size]

    return run


@pytest.mark.parametrize("make", [reused_array, reused_list, reused_inside, reused_by_rows])
def test_a_buffer_filled_anew_gives_as_many_draws_as_calls(make):
    first, second = Sampler(run=make(), seed=1).draw(Pair([0], [1]), "attempt", 0, 3000)
    for outputs in (first, second):
        assert len({repr(row) for row in outputs.rows()}) == 3000


@pytest.mark.long
@pytest.mark.parametrize("make", [reused_array, reused_list, reused_by_rows])
def test_a_loss_of_three_behind_a_buffer_is_refuted(make):
    result = audit(make(), epsilon=1.0, pair=([0], [3]), trials=4000)
    assert result.verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    "value",
    [
        1, 1.5, "a", None, True, b"x", 2 + 1j, np.float32(1), np.int8(3), np.str_("s"),
        Decimal("1.10"), Fraction(1, 3), [1, [2]], (1, (2,)), {"a": [1]}, {1, 2}, frozenset({3}),
        Point(1, [2]), Holder([1, 2]), np.arange(3), np.array([[1], None], dtype=object),
        np.zeros((0, 2)), np.array(3.0),
    ],
)  # fmt: skip
def test_a_copy_has_the_type_and_the_value(value):
    copy = captured(value)
    assert type(copy) is type(value)
    assert repr(copy) == repr(value)


@pytest.mark.parametrize("value", [[1], {"a": 1}, {1}, np.zeros(2), Holder([1]), ([1],)])
def test_a_copy_is_not_the_object(value):
    assert captured(value) is not value


ORDERED = OrderedDict(a=[1], b=2)
VIEWS = [
    MappingProxyType({"a": [1]}), MappingProxyType(ORDERED), memoryview(b"ab"), {"a": 1}.keys(),
    {"a": [1]}.values(), {"a": [1]}.items(), ORDERED.keys(), ORDERED.values(), ORDERED.items(),
]  # fmt: skip


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: type(view).__name__)
def test_a_view_is_kept_as_what_it_shows(view):
    before = dict(copyreg.dispatch_table)
    for value in (view, [view], {"a": (view, 1)}, Holder(view)):
        copy, value = (Outputs.of_list([one]) for one in (captured(value), value))
        assert repr(copy.rows()) == repr(value.rows())
        assert copy.types.names == value.types.names
    assert copyreg.dispatch_table == before


def test_what_a_view_shows_later_is_no_output():
    held = {"a": [1]}
    kept = [captured(view) for view in (MappingProxyType(held), held.values(), held.items())]
    held["a"].append(2)
    held["b"] = 3
    assert kept[0] == {"a": [1]}
    assert [*kept[1]] == [[1]]
    assert [*kept[2]] == [("a", [1])]


def held_in_itself():
    value = []
    value.append(value)
    return value


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("value", [held_in_itself(), nested(50_000), (n for n in range(3))])
def test_what_cannot_be_kept_gets_a_sentence(value):
    with pytest.raises(ContractError, match=r"mechanism returned a (list|generator)"):
        captured(value)
