"""A schema gives databases of what it says, and its mistakes get one sentence."""

import json
from datetime import date

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpwitness import InvalidArgument, audit
from dpwitness.auditors.databases.neighbours import pair_source
from dpwitness.auditors.databases.schema import from_schema
from dpwitness.mechanisms.model import Relation
from dpwitness.reports.targets.targets import find_databases

COLUMNS = {
    "age": {"type": "integer", "low": 0, "high": 9, "outside": True},
    "city": {"type": "category", "values": ["Oslo", "Rome"], "rare": ["Vaduz"], "missing": True},
    "pay": {"type": "number", "low": 0, "high": 1},
    "name": {"type": "text", "longest": 3},
    "seen": {"type": "date", "low": "2020-01-01", "high": "2020-12-31"},
    "well": {"type": "boolean"},
}


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(rows=from_schema({"columns": COLUMNS, "rows": {"least": 1, "most": 5}}))
def test_databases_are_what_the_schema_says(rows):
    assert 1 <= len(rows) <= 5
    assert sum(row["city"] == "Vaduz" for row in rows) <= 1
    for row in rows:
        assert list(row) == list(COLUMNS)
        assert row["city"] in ("Oslo", "Rome", "Vaduz", None)
        assert 0 <= row["pay"] <= 1
        assert len(row["name"]) <= 3
        assert date(2020, 1, 1) <= row["seen"] <= date(2020, 12, 31)


@pytest.mark.parametrize("form", ["rows", "columns", "pandas"])
@pytest.mark.parametrize("relation", [Relation.ADD_REMOVE, Relation.REPLACE_ONE])
def test_every_form_has_neighbours(form, relation):
    if form == "pandas":
        pytest.importorskip("pandas")
    schema = {"columns": {"a": COLUMNS["age"], "b": COLUMNS["well"]}, "rows": {"most": 4}}
    source = pair_source(from_schema({**schema, "as": form}), relation, 1, 0)

    @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
    @given(source.strategy)
    def check(pair):
        sizes = [len(d["a"]) if form != "rows" else len(d) for d in (pair.database, pair.neighbour)]
        assert sizes[1] - sizes[0] == (relation is Relation.ADD_REMOVE)

    check()


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ([], "must be a JSON object"),
        ({"columns": {}}, '"columns"'),
        ({"column": {}}, "did you mean columns"),
        ({"columns": {"a": {"type": "intger"}}}, "did you mean integer"),
        ({"columns": {"a": {"type": "integer", "low": 0}}}, 'needs "high"'),
        ({"columns": {"a": {"type": "number", "low": 2, "high": 1}}}, "low 2 is above high 1"),
        ({"columns": {"a": {"type": "category"}}}, 'needs "values"'),
        ({"columns": {"a": {"type": "date", "low": "soon"}}}, "is a date"),
        ({"columns": {"a": {"type": "boolean", "missing": 1}}}, "true or false"),
        ({"columns": {"a": {"type": "boolean"}}, "rows": {"least": 5, "most": 2}}, '"least"'),
        ({"columns": {"a": {"type": ["boolean"]}}}, "known are"),
        ({"columns": {"a": {"type": "boolean"}}, "rows": {"least": 10**6, "most": 10**9}}, "most"),
        ({"columns": {"a": {"type": "boolean"}}, "as": "panda"}, "did you mean pandas"),
    ],
)
def test_mistakes_get_one_sentence(schema, sentence, tmp_path):
    place = tmp_path / "people.json"
    place.write_text(json.dumps(schema))
    with pytest.raises(InvalidArgument, match=sentence) as caught:
        find_databases(str(place))
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(place))


@pytest.mark.long
def test_an_audit_from_a_schema_alone_finds_a_single_holder():
    """Noise on the count, and the rare city told as it is."""

    def release(rows, rng):
        return len(rows) + rng.laplace(scale=1.1), any(row["city"] == "Vaduz" for row in rows)

    schema = {"columns": {"city": {k: v for k, v in COLUMNS["city"].items() if k != "missing"}}}
    result = audit(
        release, epsilon=1.0, relation="add-remove", databases=from_schema(schema), trials=2000
    )
    assert result.refuted
    assert "Vaduz" in repr(result.pair)


def test_users_and_cells_are_units_too():
    from dpwitness.auditors.databases.neighbours import add_remove, replace_one

    rows = st.fixed_dictionaries({"user": st.sampled_from("ab"), "x": st.integers(0, 9)})
    databases = st.lists(rows, min_size=3, max_size=6)

    @settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
    @given(add_remove(databases, by="user"), replace_one(databases, cell=True))
    def check(by_user, by_cell):
        left = {row["user"] for row in by_user.database}
        assert len({row["user"] for row in by_user.neighbour} - left) == 1
        changed = [
            name
            for one, two in zip(by_cell.database, by_cell.neighbour, strict=True)
            for name in one
            if one[name] != two[name]
        ]
        assert len(changed) <= 1

    check()
