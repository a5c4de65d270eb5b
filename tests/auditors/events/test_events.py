"""Events say what they contain, come back from JSON the same, and survive any output."""

import json
import math
import re
from math import inf, isnan, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpwitness.auditors.errors import ContractError, EvidenceFormatError
from dpwitness.auditors.events.bins import Bins, PointTable, bins_of_group, say_number
from dpwitness.auditors.events.events import (
    AdditiveScore,
    Among,
    AnyOf,
    HalfLine,
    Intervals,
    NoneOf,
    Shape,
)
from dpwitness.auditors.events.rebuilding import bins_from_json, event_from_json, feature_from_json
from dpwitness.auditors.outputs.features import Column, Feature
from dpwitness.auditors.outputs.outputs import Outputs

OUTPUT = Feature()
numbers = st.floats(allow_nan=False)
features = st.builds(
    Feature,
    st.sampled_from(["value", "length", "type", "difference", "sum", "max", "min", "argmax"]),
    st.lists(
        st.integers(0, 5)
        | st.tuples(st.just("key"), st.text())
        | st.tuples(st.just("field"), st.text()),
        max_size=3,
    ).map(tuple),
).map(lambda f: f if f.kind != "difference" else Feature("difference", f.path, (1,)))
points = st.floats(-5, 5)


@st.composite
def bins(draw):
    """Bins of any column: numbers between edges, some of them single values, and labels."""
    edges = sorted(set(draw(st.lists(st.floats(-1e300, 1e300), max_size=6))))
    atoms = tuple(
        draw(st.lists(st.none() | numbers, min_size=len(edges) + 1, max_size=len(edges) + 1))
    )
    labels = tuple(sorted(draw(st.sets(st.text(), max_size=2))))
    return Bins(
        draw(features), tuple(edges), atoms, labels, None not in atoms and draw(st.booleans())
    )


@st.composite
def scores(draw):
    """Additive scores, with and without shapes."""
    tables = []
    for some in draw(st.lists(bins(), min_size=1, max_size=3)):
        values = draw(st.lists(points, min_size=some.size, max_size=some.size))
        tables.append(PointTable(some, tuple(values)))
    symbols = st.tuples(*(st.integers(0, int(t.bins.symbols().max())) for t in tables))
    shapes = draw(st.dictionaries(symbols, points, max_size=3))
    listed = tuple(Shape(found, extra) for found, extra in shapes.items())
    return AdditiveScore(tuple(tables), draw(numbers), listed)


simple = (
    st.builds(HalfLine, features, numbers, st.booleans(), st.booleans())
    | st.builds(Intervals, features, st.lists(st.tuples(numbers, numbers), min_size=1).map(tuple))
    | st.builds(Among, features, st.lists(st.floats() | st.text(), min_size=1).map(tuple))
    | st.builds(NoneOf, features, st.lists(st.floats() | st.text(), min_size=1).map(tuple))
    | scores()
)
events = simple | st.builds(AnyOf, st.lists(simple, min_size=1, max_size=3).map(tuple))

leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
outputs = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(events)
def test_events_come_back_from_json(event):
    again = event_from_json(json.loads(json.dumps(event.to_json())))
    assert repr(again) == repr(event)


@given(st.lists(st.sampled_from([1.0, 2.5, math.nan, "a", "b"]), min_size=2, max_size=40))
def test_the_bins_of_any_column_come_back_from_json(entries):
    """Labels alone among them: such a column has one bin for numbers, and nothing lies in it."""
    codes = np.array([-1 if isinstance(one, float) else "ab".index(one) for one in entries])
    values = np.array([one if isinstance(one, float) else 0.0 for one in entries])
    column = Column(values, codes, ("a", "b"))
    (made,) = bins_of_group((Feature(),), [(column, column)], alone=True) or [None]
    if made is not None:
        again = bins_from_json(json.loads(json.dumps(made.to_json())))
        assert again == made
        assert again.codes(column).tolist() == made.codes(column).tolist()


@pytest.mark.parametrize("kind", [bool, np.int8, np.int64, np.uint64])
def test_integers_are_among_numbers_that_their_type_cannot_hold(kind):
    # More than eight numbers are looked up in another way than a few.
    values = np.array([0, 1], dtype=kind)
    numbers = (1.0, -300.0, -1.0, 2.0**63, 2.0**64, 1e300, 300.0, 7.0, 1.5, 8.0, 9.0)
    event = Among(Feature(), numbers)
    assert event.contains(Outputs.of(values, 2)).tolist() == [False, True]


@settings(deadline=None)
@given(events, st.lists(outputs, max_size=6))
def test_any_event_can_be_asked_of_any_outputs(event, batch):
    inside = event.contains(Outputs.of_list(batch))
    assert inside.shape == (len(batch),)
    assert inside.dtype == bool
    alone = [bool(event.contains(Outputs.of_list([output]))[0]) for output in batch]
    assert inside.tolist() == alone


def test_a_score_is_the_points_of_tables_and_shape():
    column = Bins(Feature("value", (0,)), (0.5,), (0.0, 1.0), (), True)
    number = Bins(Feature("value", (1,)), (2.0,), (None, None), ("None",), False)
    tables = (PointTable(column, (0.0,) * 4), PointTable(number, (-1.0, 1.0, 0.0, 0.25, 0.0)))
    shapes = (Shape((1, 0), 4.0), Shape((0, 2), -3.0))
    event = AdditiveScore(tables, 3.5, shapes)
    batch = Outputs.of_list([(1, 1.5), (1, 2.0), (0, None), (0, 7.0), (2, 2.5)])
    assert event.score(batch).tolist() == [3.0, 5.0, -2.75, 1.0, 1.0]
    assert event.contains(batch).tolist() == [False, True, False, False, False]
    assert event.describe() == (
        "the points of the output add up to 3.5 or more: output[1] gives -1 below 2, +1 from 2 on "
        "and +0.25 for None; +4 if output[0] is 1 and output[1] is a number; "
        "-3 if output[0] is 0 and output[1] is None"
    )


def _holds(said: str, value: object) -> bool:
    """Whether a condition that `says_set` tells of "output" holds of a value."""
    number = isinstance(value, float)

    def part(words: str) -> bool:
        words = words.removeprefix("output ")
        match words.split(maxsplit=1):
            case ["<", end]:
                return number and value < float(end)
            case [">=", start]:
                return number and value >= float(start)
            case ["in", span]:
                low, high = map(float, span.strip("[)").split(", "))
                return number and low <= value < high
            case ["is", rest] if rest.startswith("not in "):
                low, high = map(float, rest.removeprefix("not in ").strip("[)").split(", "))
                return not (number and low <= value < high)
            case ["is", rest] if rest.startswith("not less than "):
                return not (number and value < float(rest.removeprefix("not less than ")))
            case ["is", rest] if rest.startswith("not ") and rest.endswith(" or more"):
                return not (number and value >= float(rest[4:-8]))
            case ["is", "a number"]:
                return number and not isnan(value)
            case ["is", "no number"]:
                return not (number and not isnan(value))
            case ["is", rest]:
                told = "NaN" if number and isnan(value) else say_number(value) if number else value
                found = told in rest.removeprefix("not ").split(" or ")
                return found != rest.startswith("not ")
        raise AssertionError(words)

    if said in ("output is anything", "output is nothing"):
        return said.endswith("anything")
    if " and " in said or "is not" in said:
        return all(map(part, said.split(" and ")))
    pieces = re.split(r" or (?=output )", said)
    return any(map(part, pieces))


@settings(deadline=None)
@given(
    st.lists(st.floats(-3, 3).map(lambda x: round(x * 2) / 2), min_size=1, max_size=4, unique=True),
    st.lists(st.sampled_from([-1.0, 0.0, 2.0]), min_size=20, max_size=20),
    st.sampled_from([-1.0, 0.5, 2.0]),
    st.booleans(),
)
def test_points_of_one_part_are_told_as_a_condition(edges, points, threshold, discrete):
    """Whatever the points are, the words hold of an output just if the event does."""
    edges = tuple(sorted(edges))
    atoms = (-9.0, *edges) if discrete else (None,) * (len(edges) + 1)
    bins = Bins(Feature(), edges, atoms, ("None",), discrete)
    event = AdditiveScore((PointTable(bins, tuple(points[: bins.size])),), threshold)
    values = [*edges, -9.0, 9.0, *(edge + 0.25 for edge in edges), inf, nan, None]
    found = event.contains(Outputs.of_list(values)).tolist()
    said = event.describe()
    told = [_holds(said, "None" if value is None else float(value)) for value in values]
    assert told == found, said


@pytest.mark.parametrize(
    ("threshold", "said"),
    [
        (3.0, "output[0] >= 2, and output[1] >= 2, and output[2] is 1"),
        (1.0, "at least 2 of these 3 hold: output[0] >= 2; output[1] >= 2; output[2] is 1"),
        (-1.0, "output[0] >= 2, or output[1] >= 2, or output[2] is 1"),
    ],
)
def test_points_that_count_conditions_are_told_so(threshold, said):
    tables = [
        PointTable(Bins(Feature("value", (i,)), (2.0,), (None, None), (), False), (-1, 1, -1, -1))
        for i in range(2)
    ]
    whole = Bins(Feature("value", (2,)), (0.5,), (0.0, 1.0), (), True)
    event = AdditiveScore((*tables, PointTable(whole, (-1, 1, -1, -1))), threshold)
    assert event.describe() == said


@given(st.lists(st.floats(), min_size=1), numbers)
def test_half_lines_contain_what_they_say(values, threshold):
    batch = Outputs.of(np.array(values), len(values))
    for sign, upper, strict in ((">=", True, False), (">", True, True), ("<", False, True)):
        event = HalfLine(OUTPUT, threshold, upper, strict)
        name, said, number = event.describe().split()
        assert (name, said, float(number)) == ("output", sign, threshold)
        expected = [eval(f"v {said} t", {"v": v, "t": float(number)}) for v in values]  # noqa: S307
        assert event.contains(batch).tolist() == expected


def test_atoms_tell_zeros_apart_and_know_nan():
    batch = Outputs.of(np.array([0.0, -0.0, math.nan, 1.0, math.inf]), 5)
    for value, place in ((0.0, 0), (-0.0, 1), (math.nan, 2), (math.inf, 4)):
        assert np.flatnonzero(Among(OUTPUT, (value,)).contains(batch)).tolist() == [place]
    everything = AnyOf((HalfLine(OUTPUT, 0.0, True), HalfLine(OUTPUT, 0.0, False)))
    assert not everything.contains(batch)[2]


def test_intervals_are_half_open_and_end_at_infinity():
    batch = Outputs.of(np.array([-math.inf, 0.0, 1.0, 5.0, math.inf, math.nan]), 6)
    event = Intervals(OUTPUT, ((-math.inf, 0.0), (1.0, 5.0), (6.0, math.inf)))
    assert event.contains(batch).tolist() == [True, False, True, False, True, False]
    assert event.describe() == "output in (-inf, 0) or [1, 5) or [6, inf)"


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (Among(OUTPUT, ("None", 3.0)), "output is None or 3"),
        (NoneOf(OUTPUT, (0.0,)), "output is not 0"),
        (NoneOf(OUTPUT, ("None", 3.0)), "output is not None or 3"),
        (Intervals(OUTPUT, ((-math.inf, 0.0), (5e-324, math.inf))),
         "output is a number other than 0"),
        (Among(Feature("has", (("key", "'F'"),)), (1.0,)), "output has the key 'F'"),
        (NoneOf(Feature("has", (("key", "'F'"),)), (1.0,)), "output does not have the key 'F'"),
        (HalfLine(Feature("has", (("member", "'F'"),)), 0.0, False), "output does not contain 'F'"),
        (Among(Feature("residue", (0,), argument=200), (0.0,)), "output[0] is a multiple of 200"),
        (HalfLine(Feature("residue", argument=2), 5e-324, True), "output is not a multiple of 2"),
        (Among(Feature("residue", argument=200), (7.0,)), "output mod 200 is 7"),
        (Among(Feature("equal", (1,), (0,)), (1.0,)), "output[1] equals output[0]"),
        (NoneOf(Feature("equal", (1,), (0,)), (1.0,)), "output[1] differs from output[0]"),
        (Among(OUTPUT, ("raised ValueError",)), "the call raises ValueError"),
        (HalfLine(Feature("first", (), argument="None"), 3.0, True),
         "index of the first None in output >= 3"),
        (Among(Feature("difference", (1,), (0,)), (0.0,)), "output[1] - output[0] is 0"),
        (HalfLine(Feature("value", (("key", "'age'"),)), 0.31, False), "output['age'] <= 0.31"),
        (HalfLine(Feature("max", (("field", "counts"),)), 2.0, True),
         "largest entry of output.counts >= 2"),
    ],
)  # fmt: skip
def test_events_read_like_sentences(event, words):
    assert event.describe() == words


HOSTILE = [
    None, 3, [], {}, {"kind": "other"}, {"kind": "half-line"},
    {"kind": "half-line", "feature": {"kind": "value", "path": []}, "threshold": "1", "upper": 1},
    {"kind": "among", "feature": {"kind": "value", "path": []}, "values": []},
    {"kind": "among", "feature": {"kind": "value", "path": [-1]}, "values": [1]},
    {"kind": "among", "feature": {"kind": "value", "path": [{"key": 1}]}, "values": [1]},
    {"kind": "among", "feature": {"kind": "run", "path": []}, "values": [1]},
    {"kind": "intervals", "feature": {"kind": "value", "path": []}, "intervals": [[1]]},
    {"kind": "additive-score", "tables": [{"feature": 1}], "threshold": 0},
    {"kind": "any-of", "events": [{"kind": "any-of", "events": "x"}]},
]  # fmt: skip


@pytest.mark.parametrize("data", HOSTILE)
def test_hostile_events_are_refused_with_a_sentence(data):
    with pytest.raises(EvidenceFormatError):
        event_from_json(data)


def test_events_nested_without_end_are_refused():
    event = {"kind": "any-of", "events": []}
    inner = event
    for _ in range(5000):
        inner["events"].append({"kind": "any-of", "events": []})
        inner = inner["events"][0]
    with pytest.raises(EvidenceFormatError):
        event_from_json(event)


def test_paths_that_are_too_long_are_refused():
    with pytest.raises(EvidenceFormatError, match="path"):
        feature_from_json({"kind": "value", "path": [0] * 100})


@pytest.mark.parametrize("raw", [np.zeros(3), np.float64(1.0), 3.0, "ab", [1, 2, 3], (), {}])
def test_a_wrong_leading_shape_is_named(raw):
    with pytest.raises(ContractError, match="leading shape"):
        Outputs.of(raw, 2)


def test_outputs_without_a_value_are_refused():
    with pytest.raises(ContractError, match="no value to compare"):
        HalfLine(OUTPUT, 0.0, True).contains(Outputs.of_list([object(), object()]))


@settings(deadline=None)
@given(st.lists(outputs, max_size=8), st.integers(0, 8))
def test_concatenation_and_slices_keep_every_output(batch, cut):
    parts = [part for part in (batch[:cut], batch[cut:]) if part]
    if parts:
        joined = Outputs.concatenate([Outputs.of_list(part) for part in parts])
        whole = Outputs.of_list(batch)
        assert len(joined) == len(batch)
        for path in {*joined.paths(), *whole.paths()}:
            one, two = (o.column(Feature("value", path)) for o in (joined, whole))
            assert np.array_equal(one.labelled(), two.labelled())
            assert np.array_equal(one.values.astype(float), two.values.astype(float), True)
            assert len(joined[:cut]) == len(batch[:cut])


VALUES = (
    st.floats()
    | st.integers()
    | st.text(max_size=2)
    | st.none()
    | st.booleans()
    | st.sampled_from([(1, 2), [math.nan], {"a": 1}, np.zeros(2), np.float32(2)])
)


@given(sides=st.tuples(*[st.lists(VALUES, min_size=1, max_size=40)] * 2), alone=st.booleans())
def test_bins_learnt_from_any_outputs_come_back_from_json_the_same(sides, alone):
    outputs = [Outputs.of_list(side) for side in sides]
    columns = tuple(side.column(OUTPUT) for side in outputs)
    (learnt,) = bins_of_group((OUTPUT,), [columns], alone) or [None]
    if learnt is not None:
        assert bins_from_json(json.loads(json.dumps(learnt.to_json()))) == learnt
