"""What is said of an output depends on that output alone, and tells apart what an attacker can."""

import copy
import enum
import inspect
import itertools
import json
import math
import pickle
from array import array
from collections import OrderedDict
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dpwitness.auditors.choosing.choose import learn
from dpwitness.auditors.errors import ContractError
from dpwitness.auditors.events.events import Outcomes
from dpwitness.auditors.events.rebuilding import feature_from_json
from dpwitness.auditors.outputs.encoding import told
from dpwitness.auditors.outputs.features import KINDS, PAIRED, Feature
from dpwitness.auditors.outputs.kinds import Raised
from dpwitness.auditors.outputs.outputs import Outputs
from dpwitness.auditors.outputs.questions import questions
from dpwitness.auditors.outputs.texts import END, START

from .strategies import Holder, Release, Slotted, blocks, outputs

ARGUMENTS = {
    "residue": (2, 3),
    "first": (1.0, "None", math.nan),
    "count": ("aa", START + "a", "0" + END),
    "labelled": (1.0, "'a'", "None"),
    "after": ("a", "1", "nan"),
}


def features_to_ask(batch):
    """Every kind of question at every place, whether or not it is worth asking."""
    paths = [(), *batch.paths()[:6]]
    for path, kind in itertools.product(dict.fromkeys(paths), KINDS):
        other = paths[-1] if kind in PAIRED else ()
        for argument in ARGUMENTS.get(kind, (None,)):
            yield Feature(kind, path, other, argument)


def entries(column):
    """A column as labels and numbers, NaN made equal to itself and -0.0 unequal to 0.0."""
    values = np.asarray(column.values, dtype=float)
    return [column.label(i) or repr(float(values[i])) for i in range(len(values))]


@pytest.mark.long
@settings(max_examples=30, deadline=None)
@given(blocks)
def test_a_feature_of_an_output_is_a_function_of_that_output(batch):
    whole = Outputs.of_list(batch)
    alone = [Outputs.of_list([output]) for output in batch]
    joined = Outputs.concatenate(alone)
    halves = Outputs.concatenate([Outputs.of_list(batch[::2]), Outputs.of_list(batch[1::2])])
    sent = pickle.loads(pickle.dumps(whole))  # noqa: S301 - our own bytes, as workers send them
    every_second = whole[1::2]
    for feature in features_to_ask(whole):
        expected = [entries(one.column(feature))[0] for one in alone]
        assert entries(whole.column(feature)) == expected, feature
        assert entries(joined.column(feature)) == expected, feature
        assert entries(halves.column(feature)) == expected[::2] + expected[1::2], feature
        assert entries(sent.column(feature)) == expected, feature
        assert entries(every_second.column(feature)) == expected[1::2], feature


@settings(max_examples=60, deadline=None)
@given(blocks)
def test_how_an_output_is_told_does_not_depend_on_those_beside_it(batch):
    whole = Outputs.of_list(batch)
    alone = [Outputs.of_list([output]) for output in batch]
    expected = [told(one.rows()[0]) for one in alone]
    assert [told(row) for row in whole.rows()] == expected
    assert [told(row) for row in Outputs.concatenate(alone).rows()] == expected
    assert [told(row) for row in whole[1::2].rows()] == expected[1::2]
    event = Outcomes(tuple(whole.rows()[:1]))
    assert event.contains(whole).tolist() == [bool(event.contains(one)[0]) for one in alone]


@settings(max_examples=30, deadline=None)
@given(outputs)
def test_a_copy_of_an_output_is_not_told_from_it(output):
    try:
        again = copy.deepcopy(output)
    except TypeError:
        return
    one, two = Outputs.of_list([output]), Outputs.of_list([again])
    assert repr(one.rows()) == repr(two.rows())
    for feature in features_to_ask(one):
        assert entries(one.column(feature)) == entries(two.column(feature))


class Tint(enum.IntEnum):
    RED = 1


SIMILAR = [
    (1, Tint.RED), (0.0, -0.0), (np.zeros((2, 1)), np.zeros((1, 2))),
    (Decimal("1.0"), Decimal("1.00")), (Fraction(1, 3), Fraction(10**30 + 1, 3 * 10**30)),
    (Fraction(1, 2), 0.5), (2**53, 2**53 + 1), (2**80, 2**80 + 1), (10**5000, 10**5000 + 1),
    (np.array([2**53]), np.array([2**53 + 1])), (np.uint64(2**63), np.uint64(2**63 + 1)),
    (np.array([[1, 2**60]]), np.array([[1, 2**60 + 1]])), (2.0**60, 2**60 + 1),
    (None, math.nan), (pd.NA, None), ("1", 1), ("a", b"a"), ([], {}), ((), set()), ([], None),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}), ({1: 0}, {1.0: 0}), ({1: 0}, {True: 0}),
    (Holder(1), Holder(2)), (Slotted(1), Slotted(2)), (Holder(1), Slotted(1)),
    (Release(1), Release(1, 0)), ("\u00e9", "e\u0301"), (range(3), range(4)), (1j, 1 + 1j),
    ([[1], [2]], [[1], [2, 3]]), ([[1], [2]], [[1, 2]]), (set("ab"), set("a")),
    (pd.Series([1, 2]), pd.Series([1, 2], index=[1, 0])),
    (pd.Series([1], name="a"), pd.Series([1], name="b")),
    (pd.DataFrame({"a": [1.0]}), pd.DataFrame({"a": [math.nan]})),
    (pd.DataFrame({"a": [1], "b": [2]}), pd.DataFrame({"b": [2], "a": [1]})),
    (pd.Categorical(["a"]), pd.Categorical(["a"], categories=["a", "b"])),
    (sp.csr_matrix([[1, 0]]), sp.csr_matrix([[0, 1]])), (sp.csr_array([[1]]), sp.csc_array([[1]])),
    (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[1, 1])),
    (Raised(ValueError()), Raised(KeyError())), (Raised(ValueError()), None),
]  # fmt: skip
TYPES_ALONE = [
    (1, 1.0), (1, True), (True, np.bool_(True)), ([1], (1,)), ([1.0], np.array([1.0])),
    ({1}, frozenset({1})), (np.float32(0.5), np.float64(0.5)), (0.5, np.float64(0.5)),
    ("a", np.str_("a")), (b"a", bytearray(b"a")), (np.zeros(0), np.zeros((0, 2))),
    (np.array([1], np.int8), np.array([1], np.int16)), (2**60, 2.0**60), (2**80, 2.0**80),
    (np.array([[1, 2**60]]), np.array([[1, 2.0**60]])), ({"a": 1}, OrderedDict(a=1)),
    (([1], 2.0), [[1.0], 2]),
    (pd.Series([1]), pd.Series([1.0])), (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1.0]})),
    (np.zeros(2, ">f8"), np.zeros(2, "<f8")), (np.zeros((1, 2), ">i4"), np.zeros((1, 2), "<i4")),
    (np.array(["a"], ">U1"), np.array(["a"], "<U1")), (np.array(0.5), 0.5),
    (array("d", [1.0]), array("f", [1.0])), (array("d", []), array("q", [])),
    ([1.0] * 100, [1.0] * 99 + [1]), ([[1, 2], [3]], [[1, 2], [3.0]]),
]  # fmt: skip


@pytest.mark.parametrize(("one", "two"), TYPES_ALONE, ids=map(str, range(len(TYPES_ALONE))))
def test_types_are_no_part_of_a_value_and_their_attacker_tells_them_apart(one, two):
    sides = [Outputs.of_list([output] * 40) for output in (one, two)]
    for feature in [*questions(*sides), *features_to_ask(sides[0]), *features_to_ask(sides[1])]:
        assert entries(sides[0].column(feature)) == entries(sides[1].column(feature)), feature
    labels = [side.types.compact().names for side in sides]
    assert len(labels[0]) == len(labels[1]) == 1
    assert labels[0] != labels[1]
    assert [told(row) for row in sides[0].rows()] == [told(row) for row in sides[1].rows()]
    mixed = Outputs.concatenate(sides)
    assert mixed.types.compact().names == (*labels[0], *labels[1])


def test_a_key_of_numpy_is_the_key_that_python_has():
    ours = Outputs.of_list([{np.str_("a"): 1, np.int64(3): 2, np.bool_(True): 3}])
    assert ours.rows() == Outputs.of_list([{"a": 1, 3: 2, True: 3}]).rows()


@settings(max_examples=30, deadline=None)
@given(blocks)
def test_the_types_of_an_output_are_a_function_of_that_output(batch):
    whole = Outputs.of_list(batch)
    named = [whole.types.names[code] for code in whole.types.codes]
    assert named == [Outputs.of_list([one]).types.compact().names[0] for one in batch]


@pytest.mark.parametrize(("one", "two"), SIMILAR, ids=map(str, range(len(SIMILAR))))
def test_what_an_attacker_can_tell_apart_is_told_apart(one, two):
    sides = [Outputs.of_list([output] * 40) for output in (one, two)]
    asked = questions(*sides)
    assert any(
        entries(sides[0].column(feature)) != entries(sides[1].column(feature)) for feature in asked
    )
    choice = learn(*[Outputs.of_list([output] * 300) for output in (one, two)],
                   epsilon=1.0, delta=0.0, trials=300, level=0.05)  # fmt: skip
    inside = choice.event.contains(Outputs.concatenate(sides))
    assert inside[:40].all() != inside[40:].all()


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


def holding_itself(times):
    value = []
    value.extend([value] * times)
    return value


class Silent:
    __slots__ = ()

    def __repr__(self):
        raise ValueError("no text")


class Unequal(Holder):
    __hash__ = None

    def __eq__(self, other):
        raise ValueError("not comparable")


async def coroutine():
    """Never run."""


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: holding_itself(1), "holds itself"),
        (lambda: holding_itself(64), "holds itself"),
        (lambda: holding_itself(1000), "holds itself"),
        (lambda: nested(5000), "nested more than 60 deep"),
        (lambda: (i for i in range(3)), "returned a generator; return its values"),
        (lambda: itertools.count(), "an iterator; return its values"),
        (lambda: map(int, "12"), "an iterator; return its values"),
        (lambda: object(), "no value to compare"),
        (lambda: len, "no value to compare"),
        (Silent, "cannot be printed"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_sentence(make, words):
    with pytest.raises(ContractError, match=words):
        Outputs.of_list([make()] * 20)


def test_a_coroutine_is_refused():
    running = coroutine()
    with pytest.raises(ContractError, match="returned a coroutine"):
        Outputs.of_list([running])
    # Closed, or Python would warn in the middle of the report that nobody awaited it.
    assert inspect.getcoroutinestate(running) == inspect.CORO_CLOSED


def test_odd_but_readable_outputs_are_read():
    batch = [10**5000, Unequal(1), nested(30), Raised(ValueError("secret"))]
    rows = Outputs.of_list(batch).rows()
    assert "secret" not in repr(rows)
    assert len(set(map(repr, rows))) == 4


class Printed:
    __slots__ = ()

    def __repr__(self):
        return "a printed text"


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        ([1.0, None, "a", [1, 2]] * 20, ""),
        ([Holder(1), {"a": 2}] * 20, ""),
        ([Printed()] * 60, "compared only as printed text"),
        ([[1, Printed()]] * 60, "output[1] ("),
        ([{"f": len}] * 60, "compared not at all"),
        ([f"count: {i}" for i in range(60)], ""),
        ([json.dumps({"count": i, "noise": [i / 7]}) for i in range(60)], ""),
        ([sha256(b"%d" % i).hexdigest() for i in range(60)], "hardly any two are equal"),
        ([json.dumps({"id": sha256(b"%d" % i).hexdigest()}) for i in range(60)], "json['id'] is"),
    ],
)
def test_what_was_not_compared_is_said(batch, words):
    said = Outputs.of_list(batch).unread
    assert bool(said) == bool(words)
    assert words in said


def test_outputs_are_not_kept_and_columns_are():
    batch = [[1, 2], [3, 4]]
    outputs_ = Outputs.of_list(batch)
    batch[0][0] = 9
    feature = Feature("value", (0,))
    assert outputs_.column(feature) is outputs_.column(feature)
    assert outputs_.column(feature).values.tolist() == [1, 3]


def test_a_forgotten_return_shows():
    assert Outputs.of_list([None] * 3).nothing_but_none
    assert not Outputs.of_list([None, 1]).nothing_but_none
    assert not Outputs.of_list([]).nothing_but_none


@pytest.mark.parametrize(
    ("batch", "only"),
    [
        ([float("nan")] * 3, True),
        ([[float("nan"), None], (np.nan,)], True),
        ([{"a": np.full(2, np.nan)}, {"a": np.full(3, np.nan)}], True),
        ([None] * 3, False),  # that is a return statement forgotten
        ([float("nan"), 1.0], False),
        ([float("nan"), "a"], False),
        ([[], []], False),
        ([3, 4], False),
        ([], False),
    ],
)
def test_outputs_of_nothing_but_nan_are_known(batch, only):
    assert Outputs.of_list(batch).nothing_but_nan == only


@given(st.integers(0, 59), st.sampled_from([lambda x: [x], lambda x: {"a": x}]))
def test_a_number_is_read_at_every_depth_that_is_not_refused(depth, wrap):
    batch = [float(i) for i in range(4)]
    for _ in range(depth):
        batch = [wrap(value) for value in batch]
    whole = Outputs.of_list(batch)
    (path,) = whole.paths()
    assert whole.column(Feature("value", path)).values.tolist() == [0, 1, 2, 3]
    assert feature_from_json(Feature("value", path).to_json()) == Feature("value", path)


@given(st.lists(st.lists(st.floats(allow_nan=False), max_size=5), min_size=1, max_size=6))
def test_sums_and_extremes_are_those_of_python(batch):
    whole = Outputs.of_list(batch)
    for kind, expected in (("max", max), ("min", min)):
        found = whole.column(Feature(kind))
        for i, row in enumerate(batch):
            assert found.label(i) == "absent" if not row else found.values[i] == expected(row)
    sums = whole.column(Feature("sum"))
    for i, row in enumerate(batch):
        total = 0.0
        for value in row:
            total += value
        assert sums.label(i) == "absent" if not row else repr(float(sums.values[i])) == repr(total)


def test_residues_are_exact():
    values = [-7, 0, 5, 2**53 + 1, 2**63 - 1, 2**70 + 3, 6.0, 2.5]
    found = entries(Outputs.of_list(values).column(Feature("residue", argument=4)))
    assert found == ["1.0", "0.0", "1.0", "1.0", "3.0", "3.0", "2.0", "not whole"]


LEAKS = [
    (lambda rng: int(rng.integers(-(10**6), 10**6)) * 2,
     lambda rng: int(rng.integers(-(10**6), 10**6)) * 2 + 1, "a multiple of 2"),
    (lambda rng: 200 * int(rng.geometric(0.01)), lambda rng: int(rng.geometric(5e-5)),
     "a multiple of 200"),
    (lambda rng: [i >= 7 for i in range(9)], lambda rng: [i >= 2 for i in range(9)], ""),
    (lambda rng: {"F": rng.normal(), "M": 0.0}, lambda rng: {"M": 0.0}, "has the key 'F'"),
    (lambda rng: rng.normal(), lambda rng: 0.0, " 0"),
    (lambda rng: (x := rng.normal(), x), lambda rng: (rng.normal(), rng.normal()), "output[0]"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "two", "words"), LEAKS)
def test_what_differs_is_found_and_said(one, two, words):
    rngs = [np.random.default_rng(seed) for seed in (1, 2)]
    sides = [
        Outputs.of_list([make(rng) for _ in range(600)])
        for make, rng in zip((one, two), rngs, strict=True)
    ]
    choice = learn(*sides, epsilon=1.0, delta=0.0, trials=600, level=0.05)
    rates = [choice.event.contains(side).mean() for side in sides]
    assert abs(rates[0] - rates[1]) > 0.95
    assert words in choice.event.describe()


@pytest.mark.parametrize("output", [np.zeros(3), np.zeros((2, 2)), [1.0], "a", {"a": None}, (1, 2)])
def test_a_block_without_outputs_has_columns_without_entries(output):
    outputs = Outputs.of_list([output])
    for feature in features_to_ask(outputs):
        assert len(outputs[:0].column(feature).values) == 0
