"""What every mechanism of the project keeps to, sound or broken. Nothing is skipped."""

import copy
import inspect
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from dpwitness.mechanisms.catalogue import BROKEN_STATEMENTS, CATALOGUE, NEGATIVE_CONTROLS, PARTS
from dpwitness.mechanisms.model import (
    Analyst,
    Asked,
    Choices,
    Histogram,
    Interval,
    Mechanism,
    NegativeControl,
    PrivacyClaim,
    Product,
    Record,
    Relation,
    Rows,
    UtilityClaim,
    Value,
)

ROOT = Path(__file__).parents[1]
EVERYTHING = (*CATALOGUE, *(control.mechanism for control in NEGATIVE_CONTROLS))

WITHOUT_NOISE = {"boxes-hull"}
"""Controls whose defect is that they draw nothing."""

every_mechanism = pytest.mark.parametrize("mechanism", EVERYTHING, ids=lambda m: m.name)


def rows_of(row):
    match row:
        case Interval(integer=True):
            return [round(row.low), round(row.high)]
        case Interval():
            return [row.low, row.high]
        case Choices():
            return list(row.values)
        case Product():
            columns = [rows_of(part) for part in row.parts]
            return [[column[0] for column in columns], [column[-1] for column in columns]]
        case Record():
            columns = {name: rows_of(field) for name, field in row.fields.items()}
            return [{name: column[0] for name, column in columns.items()}]
    raise AssertionError(f"what rows does {row} have?")


def examples(domain):
    """A few databases of a domain: the emptiest, one row, all values, the fullest."""
    match domain:
        case Rows():
            rows = rows_of(domain.row)
            sizes = {domain.min_size, max(1, domain.min_size), len(rows), domain.max_size}
            return [(rows * domain.max_size)[:size] for size in sorted(sizes)]
        case Histogram(total=int(total)):
            rest = [0] * (domain.bins - 2)
            return [[total, 0, *rest], [total - total // 2, total // 2, *rest]]
        case Histogram():
            return [[0] * domain.bins, [domain.max_count] * domain.bins]
        case Value():
            return rows_of(domain.row)
        case Asked():
            analyst = Analyst.scripted(*range(domain.queries), classes=domain.classes)
            return [[data, analyst.written()] for data in examples(domain.data)]
    raise AssertionError(f"what databases does {domain} have?")


def draw(mechanism, database, seed=0, **keywords):
    return mechanism(database, np.random.default_rng(seed), **keywords)


def test_the_catalogue_is_not_empty():
    assert {type(mechanism) for mechanism in EVERYTHING} == {Mechanism}
    assert CATALOGUE
    assert NEGATIVE_CONTROLS


def test_names_and_identifiers_are_unique():
    names = [mechanism.name for mechanism in EVERYTHING]
    assert len(set(names)) == len(names)
    identifiers = [mechanism.identifier for mechanism in EVERYTHING if mechanism.identifier]
    assert len(set(identifiers)) == len(identifiers)


@every_mechanism
def test_signature(mechanism):
    parameters = list(inspect.signature(mechanism.run).parameters.values())
    assert [p.name for p in parameters[:2]] == ["database", "rng"]
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters[2:])
    assert all(p.default is not p.empty for p in parameters[2:])
    assert inspect.signature(mechanism.run).parameters["size"].default is None


@every_mechanism
def test_the_algorithm_is_a_documented_function_with_bound_parameters(mechanism):
    assert isinstance(mechanism.run, partial)
    text = inspect.getdoc(mechanism.run.func)
    assert text
    assert "`size`" in text
    assert inspect.getmodule(mechanism.run.func).__doc__


@every_mechanism
def test_size_is_the_leading_shape(mechanism):
    for database in examples(mechanism.databases):
        single = np.shape(draw(mechanism, database))
        for size, leading in ((5, (5,)), ((2, 3), (2, 3)), (1, (1,)), ((), ()), (0, (0,))):
            many = draw(mechanism, database, size=size)
            assert np.shape(many) == leading + single


@every_mechanism
def test_outputs_have_one_type_over_all_databases(mechanism):
    kinds = {draw(mechanism, db, size=3).dtype.kind for db in examples(mechanism.databases)}
    assert len(kinds) == 1


@every_mechanism
def test_the_same_seed_gives_the_same_draws(mechanism):
    for database in examples(mechanism.databases):
        first, again, other = (draw(mechanism, database, s, size=40) for s in (7, 7, 8))
        np.testing.assert_array_equal(first, again)
        if len({str(output) for output in first}) > 1:
            assert not np.array_equal(first, other)


@every_mechanism
def test_draws_of_one_call_are_not_copies(mechanism):
    database = examples(mechanism.databases)[-1]
    different = {str(output) for output in draw(mechanism, database, size=100)}
    assert (len(different) > 1) is (mechanism.name not in WITHOUT_NOISE)


@every_mechanism
def test_the_database_is_left_alone(mechanism):
    for database in examples(mechanism.databases):
        before = copy.deepcopy(database)
        draw(mechanism, database)
        draw(mechanism, database, size=3)
        assert database == before


@every_mechanism
def test_no_global_random_state_is_touched(mechanism):
    before = np.random.get_state(legacy=False)["state"]  # noqa: NPY002 - only looked at
    draw(mechanism, examples(mechanism.databases)[0], size=3)
    after = np.random.get_state(legacy=False)["state"]  # noqa: NPY002
    np.testing.assert_equal(after, before)


@every_mechanism
def test_claims_are_stated_and_name_their_source(mechanism):
    assert any(isinstance(claim, PrivacyClaim) for claim in mechanism.claims)
    assert mechanism.reference
    for claim in mechanism.claims:
        assert claim.reference
        assert "\n" not in claim.reference


@every_mechanism
def test_the_relation_has_a_meaning_for_the_databases(mechanism):
    relations = {c.relation for c in mechanism.claims if isinstance(c, PrivacyClaim)}
    if isinstance(mechanism.databases, Value):
        assert relations == {Relation.REPLACE_ONE}
    else:
        assert relations <= set(Relation)


@every_mechanism
def test_utility_losses_have_the_leading_shape_and_bounds_fall_with_beta(mechanism):
    for claim in mechanism.claims:
        if not isinstance(claim, UtilityClaim):
            continue
        for database in examples(mechanism.databases):
            for size in (None, 5, (2, 3)):
                losses = claim.loss(database, draw(mechanism, database, size=size))
                assert np.shape(losses) == np.shape(np.empty(() if size is None else size))
                assert (np.asarray(losses) >= 0).all()
        bounds = [claim.bound(beta) for beta in (0.001, 0.1, 0.5, 0.999)]
        assert bounds == sorted(bounds, reverse=True)


@pytest.mark.parametrize("part", [CATALOGUE, NEGATIVE_CONTROLS, BROKEN_STATEMENTS])
def test_the_tables_name_each_entry_as_it_names_itself(part):
    for names, entry in zip(part.names, part, strict=True):
        own = [getattr(entry, "identifier", "")]
        if isinstance(entry, NegativeControl):
            own += [entry.mechanism.name, entry.mechanism.identifier]
        if isinstance(entry, Mechanism):
            own += [entry.name]
        assert set(names) == set(own) - {""}
        assert part.entry(names[0]) is entry


def test_every_module_with_theorems_is_listed():
    found = {path.stem for path in (ROOT / "mechanisms").rglob("theorems_*.py")}
    listed = [module.rpartition(".")[2] for modules in PARTS.values() for module in modules]
    assert sorted(listed) == sorted(found)


@pytest.mark.long
@pytest.mark.parametrize(
    ("code", "rooms"),
    [
        ("import dpwitness.mechanisms.model", set()),
        ("from dpwitness.reports.targets.targets import find_target", set()),
        ("from dpwitness import audit", set()),
        ("import dpwitness.mechanisms.catalogue as c; c.CATALOGUE.names", set()),
        ("import dpwitness.mechanisms.catalogue as c; c.CATALOGUE.entry('laplace')", {"noise"}),
        (
            "from dpwitness.reports.targets.targets import find_target as f; f('EM-NAIVE')",
            {"selection", "accounting"},
        ),
    ],
)
def test_only_what_is_asked_for_is_loaded(code, rooms):
    # A fresh interpreter: this one has everything loaded already.
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT / "tests",
    )
    loaded = [name.split(".") for name in done.stdout.split()]
    systems = {name[2] for name in loaded if name[:2] == ["dpwitness", "mechanisms"] and name[3:]}
    assert systems - {"model"} == rooms
