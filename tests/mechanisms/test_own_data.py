"""A researcher's own data: what does not fit is refused before anything is released."""

import ast
from functools import partial
from inspect import signature

import numpy as np
import pytest

from dpwitness.auditors.databases.neighbours import pair_source
from dpwitness.auditors.mutants.sources import recipe_of
from dpwitness.mechanisms._checks import MOST_LISTED, grid_numbers, table_of_numbers
from dpwitness.mechanisms.boosting.boosting import histograms
from dpwitness.mechanisms.catalogue import CATALOGUE
from dpwitness.mechanisms.gradient_descent.gradient_descent import DISTANCE, LINEAR, UNIT_BALL, Loss
from dpwitness.mechanisms.gradient_descent.noisy_gradient_descent import noisy_gradient_descent
from dpwitness.mechanisms.gradient_descent.vector_sum import vector_sum
from dpwitness.mechanisms.interior_points.boxes import counted_boxes_law, learn_box
from dpwitness.mechanisms.interior_points.interior_point import interior_point, rec_concave
from dpwitness.mechanisms.learning.finite_class import boxes
from dpwitness.mechanisms.model import (
    Choices,
    Histogram,
    Interval,
    PrivacyClaim,
    Product,
    Record,
    Rows,
    Value,
    misfit,
)
from dpwitness.mechanisms.queries import column_totals, counts, histogram, revenue
from dpwitness.mechanisms.selection.exponential import scaled_scores
from dpwitness.mechanisms.selection.report_noisy_max import (
    laplace_max_by_quadrature,
    noisy_max_log_probabilities,
    permute_and_flip_log_probabilities,
)


@pytest.mark.parametrize(
    ("database", "said"),
    [
        ([0, 1, 3], "record 2 must have whole numbers from 0 to 2, got 3"),
        ([0, -1], "record 1 must have whole numbers from 0 to 2, got -1"),
        ([0.5, 1], "record 0 must have whole numbers from 0 to 2, got 0.5"),
        ([[0, 1]], "every record must have 1 numbers, got records of shape"),
        (["a"], "made of numbers"),
        ([np.nan], "finite numbers"),
        ([[0], [1, 2]], "their lengths differ"),
    ],
)
def test_a_histogram_never_follows_the_data(database, said):
    with pytest.raises(ValueError, match=said):
        histogram(database, categories=3)


def test_whole_numbers_that_fit_are_counted_whatever_their_type():
    for database in ([0, 2, 2], [0.0, 2.0, 2.0], np.array([0, 2, 2], dtype=np.uint8)):
        assert histogram(database, categories=3).tolist() == [1, 0, 2]
    assert histogram([], categories=3).tolist() == [0, 0, 0]
    assert grid_numbers([True, False], values=2).tolist() == [1, 0]


@pytest.mark.parametrize("width", [1, 2, 4])
def test_rows_are_never_cut_into_others(width):
    # 4 rows of 3 numbers could be read as 12, 6 or 3 rows.
    rows = np.zeros((4, 3))
    for read in (
        partial(column_totals, columns=width),
        partial(table_of_numbers, columns=width),
        partial(
            vector_sum, rng=np.random.default_rng(0), dimension=width, scale=1.0, clip=UNIT_BALL
        ),
    ):
        with pytest.raises(ValueError, match=f"must have {width} numbers"):
            read(rows)


def test_a_supervised_loss_says_how_long_its_rows_are():
    def gradient(rows):
        features, labels = rows[:, :-1], rows[:, -1]
        return lambda weights: (
            np.sign(weights @ features.T - labels)[..., None, :] @ features / len(rows)
        )[..., 0, :]

    loss = Loss(
        name="|<w, x> - y|",
        value=lambda weights, rows: abs(weights @ rows[:, :-1].T - rows[:, -1]).mean(axis=-1),
        gradient=gradient,
        minimiser=lambda row, radius: np.zeros(2),
        columns=3,
    )
    shared = {"lipschitz": 1.0, "start": [0.0, 0.0], "step_size": 0.1, "steps": 3}
    run = partial(
        noisy_gradient_descent, loss=loss, multiplier=1e-9, projection=UNIT_BALL, **shared
    )
    rows = [[1.0, 0.0, 1.0]] * 5
    assert run(rows, np.random.default_rng(0)) == pytest.approx([0.2, 0.0], abs=1e-6)
    with pytest.raises(ValueError, match="every row must have 3 numbers"):
        run(np.zeros((6, 2)), np.random.default_rng(0))
    with pytest.raises(ValueError, match="every row must have 2 numbers"):
        partial(run, loss=LINEAR)(rows, np.random.default_rng(0))


def test_points_and_boxes_stay_on_their_grid(rng):
    for run in (
        partial(interior_point, epsilon=1.0),
        partial(rec_concave, epsilon=1.0, delta=1e-3),
    ):
        with pytest.raises(ValueError, match="point 1 must have whole numbers from 0 to 63"):
            run([3, 100], rng, grid=64)
    learn = partial(learn_box, rng=rng, grid=8, block=2, interior=partial(interior_point, grid=8))
    for records, said in (
        ([[1, 9, 1]], "from 0 to 7, got 9"),
        ([[1, 2, 2]], "from 0 to 1, got 2"),
        ([[1, 2, 1], [1, 1]], "one length"),
        ([], "at least one"),
    ):
        with pytest.raises(ValueError, match=said):
            learn(records)


def test_counts_are_not_negative_and_bids_are_numbers():
    with pytest.raises(ValueError, match="counts from 0"):
        counts([3, -1])
    with pytest.raises(ValueError, match="finite"):
        revenue([1.0, np.inf], prices=(1.0,))


def test_lists_that_would_not_fit_into_memory_are_refused_by_size():
    for build in (
        partial(boxes, (64, 64)),
        partial(histograms, 30, 8),
        partial(
            counted_boxes_law,
            [[1, 1, 1]],
            grid=64,
            block=1,
            epsilon=1.0,
            count_epsilon=1.0,
            count_beta=0.1,
        ),
    ):
        with pytest.raises(ValueError, match="no exact law"):
            build()
    assert MOST_LISTED > 10**6


@pytest.mark.parametrize("candidates", [2, 3, 9, 15])
def test_the_greatest_of_noisy_scores_by_quadrature_and_in_closed_form(rng, candidates):
    scores = rng.normal(0, 6, candidates)
    closed = noisy_max_log_probabilities(scores, sensitivity=1.0, epsilon=1.0)
    scaled = scaled_scores(scores, sensitivity=1.0, epsilon=1.0)
    assert laplace_max_by_quadrature(scaled) == pytest.approx(closed, rel=1e-12, abs=1e-12)


@pytest.mark.long
def test_laws_of_many_candidates_are_laws(rng):
    scores = rng.normal(0, 20, 1100)
    for law in (noisy_max_log_probabilities, permute_and_flip_log_probabilities):
        logs = law(scores, sensitivity=1.0, epsilon=1.0)
        assert np.logaddexp.reduce(logs) == pytest.approx(0, abs=1e-9)
        assert np.argmax(logs) == np.argmax(scores)


@pytest.mark.parametrize(("block", "shape"), [(1, (3,)), (7, (5, 3)), (2**18, (2, 4, 3))])
def test_the_distance_loss_is_the_mean_of_distances(monkeypatch, rng, block, shape):
    monkeypatch.setattr("dpwitness.mechanisms.gradient_descent.gradient_descent.BLOCK", block)
    rows, weights = rng.integers(-2, 3, size=(9, 3)).astype(float), rng.normal(size=shape)
    gaps = weights[..., None, :] - rows
    lengths = np.linalg.norm(gaps, axis=-1)
    assert DISTANCE.value(weights, rows) == pytest.approx(lengths.mean(axis=-1))
    slopes = (gaps / lengths[..., None]).mean(axis=-2)
    assert DISTANCE.gradient(rows)(weights) == pytest.approx(slopes)


AGES = Rows(row=Interval(low=0, high=120, integer=True))
PEOPLE = Rows(
    row=Record(fields={"age": Interval(low=0, high=120), "sex": Choices(values=("f", "m"))})
)
PAIRS = Rows(row=Product(parts=(Interval(low=0, high=1), Choices(values=(0, 1)))))


@pytest.mark.parametrize(
    ("domain", "inside", "outside", "said"),
    [
        (AGES, [0, 120], [3, 121], "record 1 must be a whole number from 0 to 120, got 121"),
        (AGES, np.array([0, 7]), [3.5, 1], "record 0 must be a whole number from 0 to 120"),
        (AGES, [], 5, "must be a list of records, got int"),
        (AGES, [5] * 1000, [float("nan")], "got nan"),
        (AGES, [5], ["5"], "got '5'"),
        (PEOPLE, [{"age": 3, "sex": "f"}], [{"age": 3}], "the fields age, sex"),
        (PEOPLE, [], [{"age": 3, "sex": "x"}], r"with sex one of \('f', 'm'\)"),
        (PAIRS, [[0.5, 1]], [[0.5, 2]], "at place 1"),
        (PAIRS, [(0, 0)], [[0.5]], "a list of 2 values"),
        (Rows(row=Rows(row=Interval(low=0, high=1))), [[0, 1], []], [[2]], "a list of a number"),
        (Histogram(bins=2, total=3), [9, 0], [1, 2, 3], "a list of 2 counts"),
        (Histogram(bins=2), np.array([1, 2]), [1, -2], "count 1 must be a whole number from 0"),
        (Histogram(bins=2), [1, 2], [np.inf, np.inf], "count 0 must be a whole number from 0"),
        (Histogram(bins=2), [1, 2], [[1], [1, 2]], r"count 0 must be a whole number from 0"),
        (Histogram(bins=2), [1, 2], "12", "a list of 2 counts, got '12'"),
        (Histogram(bins=2), [1, 2], 12, "a list of 2 counts, got 12"),
        (Rows(row=Interval(low=0, high=np.inf)), [1e300], [np.inf], "a number from 0 to inf"),
        (Value(row=Choices(values=("yes", "no"))), "yes", "maybe", "the record must be one of"),
    ],
)
def test_what_does_not_fit_a_domain_is_named(domain, inside, outside, said):
    import re

    assert misfit(domain, inside) == ""
    assert re.search(said, misfit(domain, outside))


def test_a_histogram_has_a_bin():
    with pytest.raises(ValueError, match="bins must be at least 1, got 0"):
        Histogram(bins=0)


@pytest.mark.parametrize("domain", [AGES, PEOPLE, PAIRS, Histogram(bins=2)])
def test_what_is_said_of_a_large_array_is_one_line(domain):
    told = misfit(domain, np.zeros((2, 30, 30)))
    assert told
    assert "\n" not in told
    assert len(told) < 300


NO_NUMBERS = (
    *("a stranger", None, 5, object(), b"01", {0: 1}, {1}, np.array(3.0)),
    *(["a stranger"], [None], [np.nan], [np.inf], [-np.inf], [10**30], [1j], [object()]),
    *([[]], [[[]]], [[0], [1, 2]], [{}], [np.zeros((2, 2))], np.zeros((2, 3, 2)), [[np.nan] * 3]),
    np.array(["2020-01-01"], dtype="datetime64[D]"),
)


def spoilt(domain, database):
    """The database with one record, or one number of one record, that its domain does not have."""
    yield from NO_NUMBERS
    if isinstance(domain, Value) or not len(database):
        return
    records = list(database)
    for stranger in (None, "1", 1j, np.nan, np.inf, -1e9, 10**30, [[0]], 0.123):
        yield [stranger, *records[1:]]
        yield [*records[:-1], stranger]
        if isinstance(records[0], (list, tuple)):
            yield [[stranger, *records[0][1:]], *records[1:]]
            yield [[*records[0][:-1], stranger], *records[1:]]
    if isinstance(records[0], (list, tuple)):
        yield [[*records[0], 0], *records[1:]]
        yield [list(records[0])[:-1], *records[1:]]
    if isinstance(domain, Histogram):
        yield [*records, 1]
        yield records[:-1]
    # An iterator is used up by whoever looks at it first.
    yield iter(records)


@pytest.mark.parametrize("mechanism", CATALOGUE, ids=lambda mechanism: mechanism.name)
def test_a_mechanism_refuses_strangers_in_one_sentence_before_it_draws(mechanism):
    claim = next(one for one in mechanism.claims if isinstance(one, PrivacyClaim))
    source = pair_source(mechanism.databases, claim.relation, claim.distance, 0)
    fitting = source.templates[-1].database if source.templates else [*claim.examples, [[]]][0][0]
    assert misfit(mechanism.databases, fitting) == ""
    generator = np.random.default_rng(0)
    state = generator.bit_generator.state
    refused = 0
    for stranger in spoilt(mechanism.databases, fitting):
        if (
            not isinstance(stranger, (list, tuple, np.ndarray))
            or misfit(mechanism.databases, stranger) != ""
        ):
            with pytest.raises(ValueError, match=f"^{mechanism.name}: [^\n]{{10,300}}$"):
                mechanism(stranger, generator)
            refused += 1
        else:
            # What the domain has, such as a number between two others, is released.
            mechanism(stranger, np.random.default_rng(0))
    assert generator.bit_generator.state == state
    assert refused >= 20


def parameters_of(mechanism):
    """The function that makes a mechanism of the catalogue, its arguments, and those of a size."""
    recipe = recipe_of(mechanism)
    call, names = recipe.statement.value, vars(recipe.module)

    def value(node):
        # The statement is of the catalogue itself.
        return eval(compile(ast.Expression(node), recipe.name, "eval"), names)  # noqa: S307

    given = []
    for one in call.args:
        given += value(one.value) if isinstance(one, ast.Starred) else [value(one)]
    named = {}
    for one in call.keywords:
        named |= {one.arg: value(one.value)} if one.arg else value(one.value)
    maker = value(call.func)
    for name, one in signature(maker).parameters.items():
        if one.default is not one.empty:
            named.setdefault(name, one.default)
    sizes = {k: v for k, v in named.items() if type(v) in (int, float)}
    return partial(maker, *given), named, sizes


@pytest.mark.parametrize("mechanism", CATALOGUE, ids=lambda mechanism: mechanism.name)
def test_what_makes_a_mechanism_refuses_a_size_that_is_none(mechanism):
    maker, named, sizes = parameters_of(mechanism)
    assert maker(**named).name == mechanism.name
    for name, size in sizes.items():
        strangers = [np.nan, np.inf, -np.inf, "1", 1j, [1, 2], object()]
        # A part of a whole is none; the sensitivity of counts may be a part.
        strangers += [size + 0.5] if type(size) is int and name != "sensitivity" else []
        strangers += [-1] if name not in ("threshold", "accuracy") else []
        for stranger in strangers:
            with pytest.raises(ValueError, match=r"must be [^\n]{5,200}$"):
                maker(**named | {name: stranger})
