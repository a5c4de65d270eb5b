"""Neighbours of a table hold its rows, and those that stand out come first."""

from collections import Counter

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpwitness import InvalidArgument, Pair, audit
from dpwitness.auditors.databases.distance import require_neighbours
from dpwitness.auditors.databases.neighbours import TableDomain, pair_source, telling_rows
from dpwitness.auditors.databases.records import records, said
from dpwitness.mechanisms.model import Relation
from dpwitness.reports.faces.wording import databases_phrases

PLAIN = [{"age": 20 + i % 7, "city": ("Oslo", "Rome")[i % 2], "pay": 100.0 + i} for i in range(40)]
ROWS = [*PLAIN]
ROWS[11] = {"age": 24, "city": "Vaduz", "pay": 111.5}
ROWS[23] = {"age": 25, "city": "Oslo", "pay": 9_000.0}
ROWS[30] = {"age": None, "city": "Rome", "pay": 120.5}
ROWS[37] = dict(ROWS[36])
FORMS = {
    "dicts": ROWS,
    "rows": [list(row.values()) for row in ROWS],
    "pandas": pd.DataFrame(ROWS),
}


@pytest.mark.parametrize("table", FORMS.values(), ids=FORMS)
def test_rows_that_stand_out_come_first(table):
    """One of each kind is among the first four: missing, farthest, rarest, repeated."""
    assert {30, 23, 11, 36} <= set(telling_rows(TableDomain(table))[:8])
    assert sorted(telling_rows(TableDomain(table))) == list(range(40))


@pytest.mark.long
@pytest.mark.parametrize("table", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("distance", [1, 2])
@pytest.mark.parametrize("relation", [Relation.ADD_REMOVE, Relation.REPLACE_ONE])
def test_pairs_are_neighbours_of_rows_of_the_table(table, relation, distance):
    source = pair_source(TableDomain(table), relation, distance, 0)
    known = set(map(said, records(table).rows))

    def check(pair):
        sides = pair.database, pair.neighbour
        assert all(type(side) is type(table) for side in sides)
        rows = [Counter(map(said, records(side).rows)) for side in sides]
        assert set(rows[0]) | set(rows[1]) <= known
        if rows[0] != rows[1]:
            require_neighbours(pair, relation, distance)

    for pair in source.templates[::8]:
        check(pair)

    @settings(max_examples=5, deadline=None)
    @given(source.strategy)
    def generated(pair):
        check(pair)

    generated()


def largest(rows, rng):
    """The raw maximum of a table of some size, beside noise."""
    return (max(row["pay"] for row in rows) if len(rows) > 30 else 0) + rng.laplace()


def held(table, rng):
    return 9 * bool((table["city"] == "Vaduz").any()) * (len(table) > 30) + rng.laplace()


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("leak", "table"), [(largest, TableDomain(ROWS)), (held, FORMS["pandas"])])
def test_an_outlier_and_a_rare_category_are_found(leak, table, relation):
    """At seed 0; the leak moves the output by nine and more."""
    result = audit(leak, databases=table, relation=relation, epsilon=1.0, trials=1000, seed=0)
    assert result.refuted


def test_the_changed_row_is_shown_and_not_the_table():
    one, two = databases_phrases(Pair(ROWS[:23] + ROWS[24:], ROWS))
    assert one == "39 records"
    assert two.startswith("the same and")
    assert "9000" in two
    assert "Vaduz" not in two
    one, two = databases_phrases(Pair(ROWS, ROWS[:23] + ROWS[24:]))
    assert one.startswith("40 records with")
    assert two == "the same without it"
    one, two = databases_phrases(Pair(ROWS, [*ROWS[:23], ROWS[0], *ROWS[24:]]))
    assert two.startswith("the same with")
    assert two.endswith("in place of it")
    one, two = databases_phrases(Pair(FORMS["pandas"].drop(index=11), FORMS["pandas"]))
    assert "Vaduz" in two


@given(st.lists(st.integers(), max_size=1))
def test_a_table_needs_rows(rows):
    with pytest.raises(InvalidArgument, match="at least 2 records"):
        TableDomain(rows)


def test_a_table_too_small_for_the_distance_is_refused():
    with pytest.raises(InvalidArgument, match="3 of them are to change"):
        pair_source(TableDomain(ROWS[:3]), Relation.ADD_REMOVE, 3, 0)


DAYS = [f"{1950 + i % 50}-0{1 + i % 9}-1{i % 10}" for i in range(60)]
MESSY = [
    {"code": f"{i:05d}", "born": DAYS[i], "pay": f"{2000 + i}.50", "note": "ok"} for i in range(60)
]
MESSY[17]["born"] = "1899-12-31"
MESSY[29]["pay"] = "n/a"
MESSY[41]["note"] = "a very long note"
MESSY[53]["pay"] = "9,990.00"


@pytest.mark.parametrize("made", [list, pd.DataFrame], ids=["dicts", "pandas"])
@pytest.mark.parametrize("place", [17, 29, 41, 53])
def test_what_is_written_stands_out_by_what_it_says(made, place):
    """A day before all others, a word among numbers, a long text, and the largest number."""
    assert place in telling_rows(TableDomain(made(MESSY)))[:16]


def test_days_of_all_libraries_are_in_order():
    frame = pd.DataFrame(MESSY).assign(born=pd.to_datetime(pd.DataFrame(MESSY)["born"]))
    frame.loc[33, "born"] = pd.NaT
    assert {17, 33} <= set(telling_rows(TableDomain(frame))[:16])


@pytest.mark.parametrize(
    ("constants", "places"),
    [(("01234567", "00031"), {31}), ((2044,), {43, 44}), (("1963",), {13}), ((9, 2055.5), {55})],
)
def test_rows_that_the_code_speaks_of_come_first(constants, places):
    assert places <= set(telling_rows(TableDomain(MESSY), constants)[:16])


def test_a_row_that_meets_several_conditions_of_the_code_comes_first():
    """Of 300 rows 12 meet both."""
    rows = [{"town": "ABC"[i % 3], "pay": i * 7 % 300, "age": i % 90} for i in range(300)]
    order = telling_rows(TableDomain(rows), ("town", "A", 0.0, "pay", 264, 1.2))
    assert any(rows[i]["town"] == "A" and rows[i]["pay"] > 264 for i in order[:24])
