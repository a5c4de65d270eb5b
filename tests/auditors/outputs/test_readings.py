"""What a text says is a function of that text, and tells apart what the texts tell apart."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpwitness.auditors.choosing.choose import learn
from dpwitness.auditors.errors import EvidenceFormatError
from dpwitness.auditors.events.rebuilding import feature_from_json
from dpwitness.auditors.outputs.features import ABSENT, PLACES, Feature
from dpwitness.auditors.outputs.outputs import Outputs
from dpwitness.auditors.outputs.questions import questions
from dpwitness.auditors.outputs.texts import END, START, said, spelled

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)  # fmt: skip
texts = st.text(max_size=20) | st.text("ab-+.=:,;\n 0123", max_size=20)


@given(st.text() | st.binary())
def test_a_printed_text_is_spelled_again(text):
    plain = text if isinstance(text, str) else text.decode("latin-1")
    assert spelled(repr(text)) == plain


@given(st.dictionaries(st.text(max_size=3), values) | st.lists(values))
def test_json_is_read_as_its_value(value):
    assert said(json.dumps(value)) == {"json": value}


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Run 12: it is -3.5%.", {"numbers": [12.0, -3.5], "words": "Run #: it is #%."}),
        ("count=3 noise=-0.5 ok", {"fields": {"count": 3.0, "noise": -0.5}, "words":
                                  "count=# noise=# ok"}),
        ("a,3.2\nb,x", {"rows": [["a", 3.2], ["b", "x"]]}),
        ("one\ntwo", {"lines": ["one", "two"]}),
        ("3-4", {"numbers": [3.0, 4.0], "words": "#-#"}),
        ("1e-5", {"numbers": [1e-5], "words": "#"}),
        # Codes are words, and words alone say no more than the text.
        ("007 1234567890123456 3fa9 v1.2.3", {}),
        ("plain words", {}),
        ("", {}),
        ("[" * 100 + "]" * 100, {}),
    ],
)  # fmt: skip
def test_readings(text, read):
    assert said(text) == read


def paths_into(batch):
    """Every place that any of the texts leads to, whether or not it is worth asking."""
    several = [f"{text}{i}" for i, text in enumerate(batch * 40)]
    return {*Outputs.of_list(batch + several).paths(), (("read", "words"),)}


@settings(deadline=None)
@given(st.lists(texts | st.builds(json.dumps, values), min_size=1, max_size=5))
def test_a_reading_is_a_function_of_the_text(batch):
    whole, alone = Outputs.of_list(batch), [Outputs.of_list([text]) for text in batch]
    whole.column(Feature("value", (("read", "words"),)))
    joined = Outputs.concatenate([whole, *alone])
    for path in paths_into(batch):
        for feature in (Feature("value", path), Feature("count", path, argument=START + "0")):
            expected = [said_of(one, feature, 0) for one in alone]
            assert [said_of(whole, feature, i) for i in range(len(batch))] == expected
            assert [said_of(joined, feature, i) for i in range(2 * len(batch))] == 2 * expected


def said_of(outputs, feature, place):
    column = outputs.column(feature)
    return column.label(place) or repr(float(np.asarray(column.values, dtype=float)[place]))


@given(st.lists(st.text("abc", max_size=6), min_size=1, max_size=6), st.text("abc", min_size=2,
                                                                           max_size=2))  # fmt: skip
def test_two_letters_are_counted_with_overlaps(batch, pair):
    outputs = Outputs.of_list(batch)
    for letters in (pair, START + pair[0], pair[0] + END):
        column = outputs.column(Feature("count", (), argument=letters))
        marked = [START + text + END for text in batch]
        expected = [sum(t[i : i + 2] == letters for i in range(len(t))) for t in marked]
        assert list(column.values) == expected


@given(
    st.lists(st.text("aB3 -,\0\N{GRINNING FACE}", max_size=9), min_size=1, max_size=6),
    st.from_regex(r"\A[aB3][-, \0\N{GRINNING FACE}]{1,3}[aB3]\Z"),
)
def test_separated_letters_are_counted_with_what_separates_them(batch, wanted):
    feature = Feature("count", (), argument=wanted)
    assert feature_from_json(feature.to_json()) == feature
    column = Outputs.of_list([*batch, wanted]).column(feature)
    width = len(wanted)
    expected = [
        sum(text[i : i + width] == wanted for i in range(len(text))) for text in [*batch, wanted]
    ]
    assert list(column.values) == expected


@pytest.mark.parametrize("argument", ["", "a", "abc", "a-b-c", "a----b"])
def test_a_count_is_of_two_letters_and_of_nothing_longer(argument):
    with pytest.raises(EvidenceFormatError):
        feature_from_json({"kind": "count", "path": [], "argument": argument})


@given(st.lists(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9)), max_size=4),
                min_size=1, max_size=6))  # fmt: skip
def test_the_first_entry_with_a_label(batch):
    feature = Feature("labelled", (), (0, 1), "'b'")
    assert feature_from_json(feature.to_json()) == feature
    column = Outputs.of_list(batch).column(feature)
    for place, row in enumerate(batch):
        found = [value for label, value in row if label == "b"]
        assert column.label(place) == (None if found else "absent")
        assert not found or column.values[place] == found[0]


def test_few_texts_stay_categories():
    outputs = Outputs.of_list(["a 1", "b 2", "c 3"] * 100)
    assert outputs.paths() == [()]


SECRETS = {
    "JSON": lambda x, noise: json.dumps({"count": x, "noise": noise}),
    "nested JSON": lambda x, noise: json.dumps([{"n": [noise, {"count": x}]}], indent=1),
    "JSON within JSON": lambda x, noise: json.dumps({"noise": noise, "body": json.dumps([x])}),
    "bytes": lambda x, noise: json.dumps({"count": x, "noise": noise}).encode(),
    "key=value": lambda x, noise: f"count={x}; noise={noise}",
    "CSV": lambda x, noise: f"name,value\ncount,{x}\nnoise,{noise}",
    "lines": lambda x, noise: f"noise is {noise}\nthe count is {x}",
    "a sentence": lambda x, noise: f"There are {x} rows, and noise of {noise:.3f}.",
    "a last digit": lambda x, noise: f"{noise:.9f}{x}",
    "a number of digits": lambda x, noise: f"{noise:.{x + 6}f}",
    "a word": lambda x, noise: f"{'odd' if x == 1 else 'even'} {noise}",
}


@pytest.mark.parametrize("release", SECRETS.values(), ids=SECRETS)
def test_a_raw_part_of_a_text_is_found(release):
    """At seed 0. Of the digits only the length tells, which the sign of the noise is part of."""
    rng = np.random.default_rng(0)
    sides = [Outputs.of_list([release(x, float(v)) for v in rng.laplace(size=300)]) for x in (1, 2)]
    choice = learn(*sides, epsilon=1.0, delta=0.0, trials=300, level=0.05)
    inside = [choice.event.contains(side).mean() for side in sides]
    assert abs(inside[0] - inside[1]) > 0.5
    assert min(inside) == 0 or max(inside) == 1


@pytest.mark.parametrize("letters", ["abcd", "0123", "-+ ;", "012ab"])
def test_chains_of_letters_are_told_by_their_neighbours(letters):
    """Side 1 never has the first letter twice in a row. At seed 0."""
    rng = np.random.default_rng(0)

    def walk(side):
        found = [letters[k] for k in rng.integers(0, len(letters), 12)]
        return "".join(b for a, b in zip(["", *found], found, strict=False)
                       if side == 0 or (a, b) != (letters[0], letters[0]))  # fmt: skip

    sides = [Outputs.of_list([walk(side) for _ in range(2000)]) for side in (0, 1)]
    pairs = {feature.argument for feature in questions(*sides) if feature.kind == "count"}
    assert pairs >= {a + b for a in letters for b in letters}
    choice = learn(*sides, epsilon=1.0, delta=0.0, trials=2000, level=0.05)
    assert choice.predicted > 2


@pytest.mark.parametrize("separator", ["-", ", ", " > ", "/"])
def test_chains_of_separated_letters_are_told_by_their_neighbours(separator):
    """Side 1 has half of its neighbours A, B the other way round. At seed 0."""
    rng = np.random.default_rng(0)

    def walk(side):
        found = ["ABCD"[k] for k in rng.integers(0, 4, 12)]
        for place, (a, b) in enumerate(list(pairwise(found))):
            if side and a + b == "AB" and rng.random() < 0.5:
                found[place], found[place + 1] = b, a
        return separator.join(found)

    sides = [Outputs.of_list([walk(side) for _ in range(4000)]) for side in (0, 1)]
    pairs = {feature.argument for feature in questions(*sides) if feature.kind == "count"}
    assert pairs >= {a + separator + b for a in "ABCD" for b in "ABCD"}


def test_numbers_of_one_text_are_not_compared():
    rng = np.random.default_rng(0)
    side = Outputs.of_list([f"run {k}: {v}" for k, v in enumerate(rng.laplace(size=200))])
    assert not any(f.kind in ("difference", "sum", "max") and f.path for f in questions(side, side))


ENTRIES = st.lists(st.tuples(st.sampled_from(["a", "b", 3, 4.5]), st.integers(-9, 9)), max_size=6)


@given(st.lists(ENTRIES, min_size=1, max_size=8), st.sampled_from(["a", 3, 4.5]),
       st.sampled_from(PLACES))  # fmt: skip
def test_labelled_entries_are_counted_from_the_first_and_from_the_last(lists, label, place):
    named = repr(label) if isinstance(label, str) else label
    feature = Feature("labelled", (), (0, 1), named, place)
    assert feature_from_json(json.loads(json.dumps(feature.to_json()))) == feature
    column = Outputs.of_list(lists).column(feature)
    for i, entries in enumerate(lists):
        held = [value for name, value in entries if name == label and type(name) is type(label)]
        if place < len(held) and held:
            assert column.label(i) is None
            assert column.values[i] == held[place]
        else:
            assert column.label(i) == ABSENT


@given(st.lists(st.lists(st.sampled_from(["ab", "b", "4", "-2.5", "7.25", "ab1"])), min_size=1,
                max_size=5), st.sampled_from(["ab", "b"]), st.sampled_from(PLACES))  # fmt: skip
def test_numbers_after_a_word_and_before_it(batch, word, place):
    feature = Feature("after", (), (), word, place)
    assert feature_from_json(json.loads(json.dumps(feature.to_json()))) == feature
    column = Outputs.of_list([" ".join(words) for words in batch]).column(feature)
    for i, words in enumerate(batch):
        at = words.index(word) if words.count(word) == 1 else len(words)
        before, after = (
            [float(w) for w in part if w not in ("ab", "b", "ab1")]
            for part in (words[:at], words[at + 1 :])
        )
        found = before if place < 0 else after[place:]
        if at < len(words) and found:
            assert column.values[i] == found[-1 if place < 0 else 0]
        else:
            assert column.label(i) == ABSENT


MOVED = {
    "JSON lines": lambda rows: "\n".join(json.dumps({"name": a, "value": v}) for a, v in rows),
    "CSV": lambda rows: "name,value\n" + "\n".join(f"{a},{v}" for a, v in rows),
    "YAML": lambda rows: "\n".join(f"- value: {v}\n  name: {a}" for a, v in rows),
    "XML": lambda rows: "".join(f'<item name="{a}"><v>{v}</v></item>' for a, v in rows),
    "a table": lambda rows: "| name | value |\n" + "\n".join(f"| {a} | {v} |" for a, v in rows),
    "a sentence": lambda rows: " and ".join(f"{v} years for {a}" for a, v in rows) + ".",
    "quoted keys": lambda rows: "; ".join(f"'mean of {a}': \"{v}\"" for a, v in rows),
    "JSON": lambda rows: json.dumps([{"name": a, "of": {"value": v}} for a, v in rows]),
    "lists of one length": lambda rows: [[a, v] for a, v in rows],
}


@pytest.mark.parametrize("release", MOVED.values(), ids=MOVED)
def test_a_raw_number_beside_a_name_that_moves_is_found(release):
    """Of four noisy numbers in random order that of beta is raw. At seed 0."""
    rng = np.random.default_rng(0)

    def released(x):
        rows = [(a, round(float(v), 3)) for a, v in zip("acd", rng.laplace(2, size=3), strict=True)]
        rows.append(("beta", x))
        return release([rows[i] for i in rng.permutation(4)])

    sides = [Outputs.of_list([released(x) for _ in range(600)]) for x in (1, 2)]
    choice = learn(*sides, epsilon=1.0, delta=0.0, trials=300, level=0.05)
    fresh = [Outputs.of_list([released(x) for _ in range(600)]) for x in (1, 2)]
    inside = [choice.event.contains(side).mean() for side in fresh]
    assert {min(inside), max(inside)} == {0, 1}


@pytest.mark.parametrize("place", [3, -2, True, 0.5, "last"])
def test_no_other_place_is_read(place):
    data = {**Feature("labelled", (), (0, 1), "a", 1).to_json(), "place": place}
    with pytest.raises(EvidenceFormatError, match="cannot have the place"):
        feature_from_json(data)
