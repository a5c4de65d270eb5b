from itertools import combinations, combinations_with_replacement, product
from math import comb, exp, log

import numpy as np
import pytest

from dpwitness.mechanisms.accounting.composition import zcdp_root
from dpwitness.mechanisms.learning.broken_conjunctions import SCALE_OF_ONE_COUNT, ZERO_THRESHOLD
from dpwitness.mechanisms.learning.conjunctions import (
    NOISY_CONJUNCTION,
    noisy_conjunction,
    noisy_conjunction_law,
    noisy_conjunction_mechanism,
    noisy_counts_event,
    violations,
    violations_at,
    without_violated_literals,
)
from dpwitness.mechanisms.learning.greedy_conjunctions import greedy_conjunction_mechanism
from dpwitness.mechanisms.learning.labelled import (
    conjoined,
    conjunctions,
    falsified_sums,
    grid_points,
    kept_literals,
    labelled_counts,
    labelled_points,
    literals,
    literals_at,
    mistakes,
    number_of_conjunctions,
    some_conjunction_fits,
)
from dpwitness.mechanisms.learning.theorems_learning import THEOREMS
from dpwitness.mechanisms.model import (
    IdentityClaim,
    PrivacyClaim,
    ProductLaw,
    Relation,
    ThresholdClaim,
)

NAMED = {theorem.identifier: theorem for theorem in THEOREMS}


def default(identifier, **changed):
    theorem = NAMED[identifier]
    values = {name: p.default for name, p in theorem.parameters.items()}
    return theorem.at(**{**values, **changed})


def logs(mechanism, database):
    return mechanism.law(database).log_probabilities


def extreme_pair(dimension, copies):
    """Many positives at 0 ... 0, and one more, at 1 ... 1 or there."""
    zeros, ones = ((bit,) * dimension + (1,) for bit in (0, 1))
    return (*[zeros] * copies, ones), (*[zeros] * copies, zeros)


def hockey_stick(first, second, epsilon):
    return np.maximum(np.exp(first) - np.exp(epsilon + second), 0).sum()


def test_every_assignment_makes_half_the_literals_false():
    claim = default("CONJ-DEF").claim
    assert all(claim.margin(assignment) == 0 for assignment in range(64))
    assert literals(3, constant=True).sum(axis=1).tolist() == [4] * 6 + [8]


def test_conjunctions_are_counted():
    for (d, k), expected in {(3, 2): 20, (3, 1): 7, (6, 3): 234, (1, 2): 4}.items():
        assert number_of_conjunctions(d, k) == expected
        assert len(np.unique(conjunctions(d, k), axis=0)) == expected == len(conjunctions(d, k))
        claim = default("CONJ-COUNT", dimension=d, most_literals=k).claim
        assert claim.compute() == claim.stated == expected
    assert sum(comb(6, i) for i in range(3)) == 22
    for d, k in product(range(1, 7), range(5)):
        claim = default("CONJ-COUNT", dimension=d, most_literals=k).claim
        assert claim.compute() == claim.stated <= (2 * d + 1) ** k


def test_sets_of_literals_and_their_conjunctions():
    assert kept_literals([[0, 3], [2, -1]], 4).tolist() == [[1, 0, 0, 1], [0, 0, 1, 0]]
    table = literals(2)
    assert conjoined(kept_literals([0, 3], 4), table).tolist() == [False, False, True, False]
    assert conjoined(np.zeros(4), table).all()
    assert not conjoined([1, 0, 1, 0], table).any()


@pytest.mark.parametrize("identifier", ["CONJ-EX1", "CONJ-EX2"])
def test_worked_examples(identifier):
    claim = default(identifier).claim
    assert isinstance(claim, IdentityClaim)
    assert claim.compute() == claim.stated


def test_one_positive_point_deletes_half_the_literals():
    counts = labelled_counts([[0, 1, 1, 0, 1]], grid=(2,) * 4)
    assert without_violated_literals(counts).tolist() == [0, 1, 1, 0, 1, 0, 0, 1]


def random_case(claim, rng):
    case = {}
    for name, field in claim.cases.fields.items():
        least, most = field.min_size, field.max_size
        length = rng.integers(least, most + 1)
        if name == "noise":
            case[name] = rng.choice([-1, 1, rng.uniform(-1, 1)], size=length).tolist()
        elif name == "target":
            case[name] = (rng.random(length) < rng.choice([0.0, 0.2, 0.5])).astype(int).tolist()
        else:
            some = rng.integers(0, field.row.high + 1, size=3)
            case[name] = rng.choice(some, size=length).tolist()
    return case


@pytest.mark.parametrize("identifier", ["CONJ-NP", "CONJ-P1-EVENT"])
@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_invariants(identifier, dimension, rng):
    claim = default(identifier, dimension=dimension).claim
    cases = [*claim.examples, *(random_case(claim, rng) for _ in range(400))]
    margins = [claim.margin(case) for case in cases]
    assert min(margins) >= -claim.tolerance
    assert min(margins) == pytest.approx(0, abs=claim.tolerance)


def test_a_lower_threshold_breaks_the_invariant():
    claim = noisy_counts_event(dimension=2, scale=4.0, beta=0.1, most=100.0, threshold=0.0)
    assert min(claim.margin(case) for case in claim.examples) < -1


def test_the_law_is_that_of_the_draws(rng, assert_frequencies):
    database = [[1, 0, 1]] * 12 + [[1, 1, 1]] * 9 + [[0, 0, 0]] * 5
    law = NOISY_CONJUNCTION.law(database)
    probability = np.exp(law.log_probabilities)
    assert probability.sum() == pytest.approx(1)
    codes = NOISY_CONJUNCTION(database, rng, size=(400, 100)) @ [8, 4, 2, 1]
    assert codes.shape == (400, 100)
    assert law.outcomes @ [8, 4, 2, 1] == pytest.approx(np.arange(16))
    counted = np.bincount(codes.ravel(), minlength=16)
    likely = probability > 1e-3
    assert_frequencies(
        [*counted[likely], counted[~likely].sum()],
        [*probability[likely], probability[~likely].sum()],
    )


def test_single_draws_have_the_law_too(rng, assert_rate):
    keywords = {"dimension": 1, "scale": 2.0, "threshold": 1.0}
    draws = np.array([noisy_conjunction([[1, 1]], rng, **keywords) for _ in range(3_000)])
    assert_rate(draws[:, 0], 1 - np.exp(-0.5) / 2)
    assert_rate(draws[:, 1], 0.5)


def test_beyond_four_variables_the_law_is_a_product():
    database = [(1,) * 6] * 7
    law = noisy_conjunction_law(database, dimension=5, scale=3.0, threshold=4.0)
    assert isinstance(law, ProductLaw)
    assert len(law.parts) == 10
    kept = [np.exp(part.log_probabilities[1]) for part in law.parts]
    assert kept[:5] == pytest.approx([1 - np.exp(-4 / 3) / 2] * 5)
    assert kept[5:] == pytest.approx([np.exp(-1) / 2] * 5)
    assert all(np.exp(part.log_probabilities).sum() == pytest.approx(1) for part in law.parts)


@pytest.mark.parametrize("dimension", [2, 3])
def test_epsilon_is_attained_under_replace_one(dimension):
    subject = default("CONJ-P1", dimension=dimension)
    first, second = (logs(subject.mechanism, rows) for rows in extreme_pair(dimension, copies=40))
    assert np.abs(first - second).max() == pytest.approx(1.0000, abs=5e-5)
    assert np.abs(first - second).max() <= 1 + 1e-12


@pytest.mark.parametrize(("dimension", "rows"), [(1, 5), (2, 3)])
@pytest.mark.parametrize("beta", [0.1, 0.5, 1.0])
def test_loss_over_all_small_databases(dimension, rows, beta):
    replaced = noisy_conjunction_mechanism(dimension=dimension, epsilon=1, beta=beta)
    added = noisy_conjunction_mechanism(
        dimension=dimension, epsilon=1, beta=beta, relation=Relation.ADD_REMOVE
    )
    assert (replaced.claims[0].epsilon, added.claims[0].epsilon) == (1, 0.5)
    points = grid_points((2,) * (dimension + 1)).tolist()
    for shared in combinations_with_replacement(points, rows - 1):
        bare = logs(added, shared)
        one_more = np.array([logs(added, (*shared, point)) for point in points])
        assert np.abs(one_more - bare).max() <= 0.5 + 1e-12
        for one, other in combinations(one_more, 2):
            assert np.abs(one - other).max() <= 1 + 1e-12


def test_half_of_epsilon_is_attained_under_add_remove():
    subject = default("CONJ-P1-AR")
    many, bare = ([(0, 0, 1)] * copies for copies in (9, 8))
    loss = np.abs(logs(subject.mechanism, many) - logs(subject.mechanism, bare)).max()
    assert loss == pytest.approx(subject.claim.epsilon) == 0.5


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (2.0, 0.05)])
@pytest.mark.parametrize("dimension", [2, 4])
def test_advanced_composition(dimension, epsilon, delta):
    subject = default("CONJ-P1-ADVANCED", dimension=dimension, epsilon=epsilon, delta=delta)
    scale = subject.mechanism.run.keywords["scale"]
    assert 2 * dimension / scale**2 / 2 == pytest.approx(zcdp_root(epsilon, delta) ** 2)
    tau = subject.mechanism.run.keywords["threshold"]
    for copies in (0, int(tau), int(tau) + 1, int(2 * tau)):
        pair = [logs(subject.mechanism, rows) for rows in extreme_pair(dimension, copies)]
        assert hockey_stick(*pair, epsilon) <= delta
        assert hockey_stick(*pair[::-1], epsilon) <= delta


def test_the_scale_of_one_count_loses_four():
    mechanism = SCALE_OF_ONE_COUNT.mechanism
    assert SCALE_OF_ONE_COUNT.breaks in mechanism.claims
    first, second = (logs(mechanism, rows) for rows in extreme_pair(2, copies=40))
    assert np.abs(first - second).max() == pytest.approx(4)
    # A witness that sampling finds: the loss of a vector of probability 0.1.
    first, second = (logs(mechanism, rows) for rows in extreme_pair(2, copies=2))
    assert ((np.abs(first - second) > 1.2) & (np.exp(np.maximum(first, second)) > 0.05)).any()


def test_mistakes_of_the_default_instance(rng, assert_rate):
    subject = default("CONJ-P1-MISTAKES")
    guarded, leaning = subject.claim.databases
    bound = subject.claim.bound(0.1)
    assert bound == pytest.approx(32 * log(40))
    losses = subject.claim.loss(guarded, subject.mechanism(guarded, rng, size=40_000))
    assert_rate(losses >= bound, 1 - (1 - 0.1 / 8) ** 2)
    # Both literals are false on 16 rows, which are lost if it is kept: the threshold is 14.8.
    losses = subject.claim.loss(leaning, subject.mechanism(leaning, rng, size=40_000))
    assert_rate(losses >= 32, (exp(-(16 - 4 * log(40)) / 4) / 2) ** 2)


def test_sample_size(rng, assert_rate):
    claim = default("CONJ-P1-UTILITY").claim
    assert claim.needed == 5516
    run, counts = claim.instance(claim.needed)
    assert counts.sum() == claim.needed
    missed = claim.loss(counts, run(counts, rng, size=20_000)) > claim.level
    # Each of three literals is deleted with probability beta / 4 d.
    assert_rate(missed, 1 - (1 - 0.1 / 24) ** 3)


def test_sample_size_where_literals_lean(rng, assert_rate):
    claim = default("CONJ-P1-UTILITY-LEANING").claim
    run, counts = claim.instance(claim.needed)
    assert counts.sum() == claim.needed
    missed = claim.loss(counts, run(counts, rng, size=20_000)) > claim.level
    assert_rate(missed, 1 - (1 - 0.1 / 24) ** 2)
    # At an eighth of the rows each of four literals is false on 43 positives, within 57.4 + noise.
    run, counts = claim.instance(claim.needed // 8)
    missed = claim.loss(counts, run(counts, rng, size=20_000)) > claim.level
    assert missed.mean() > 0.4


def test_advanced_sample_size(rng):
    claim = default("CONJ-P1-ADVANCED-UTILITY").claim
    expected = 4 * 6**1.5 / (0.25 * zcdp_root(1, 1e-6)) * log(120)
    assert claim.needed == int(expected) + 1
    run, counts = claim.instance(claim.needed)
    assert (claim.loss(counts, run(counts, rng, size=5_000)) > claim.level).mean() < 0.03


def test_threshold_zero_deletes_the_target(rng):
    claim = ZERO_THRESHOLD.breaks
    assert isinstance(claim, ThresholdClaim)
    assert claim in ZERO_THRESHOLD.mechanism.claims
    run, counts = claim.instance(claim.needed)
    kept = run(counts, rng, size=20_000)
    assert (~kept[:, :3]).any(axis=1).mean() == pytest.approx(0.8755, abs=0.01)
    assert (claim.loss(counts, kept) > claim.level).mean() > 0.8


def test_counts_move_by_what_is_said():
    zeros, ones = (labelled_counts([[bit] * 3 + [1]], grid=(2,) * 3) for bit in (0, 1))
    assert violations(zeros).tolist() == [1, 1, 1, 0, 0, 0]
    assert violations(ones).tolist() == [0, 0, 0, 1, 1, 1]


def test_bad_parameters_are_named(rng):
    with pytest.raises(ValueError, match=r"^scale must be positive, got 0$"):
        noisy_conjunction([[1, 1]], rng, dimension=1, scale=0, threshold=1.0)
    with pytest.raises(ValueError, match=r"^epsilon must be positive, got -1$"):
        noisy_conjunction_mechanism(dimension=1, epsilon=-1, beta=0.1)
    with pytest.raises(ValueError, match="replace-one"):
        noisy_conjunction_mechanism(
            dimension=1, epsilon=1, beta=0.1, delta=0.1, relation=Relation.ADD_REMOVE
        )


def test_many_variables_take_time_in_proportion(rng):
    # The cube has 2**300 points: whatever lists them never comes to an end.
    dimension, rows = 300, 400
    points = rng.integers(0, 2, size=(rows, dimension))
    labels = points[:, 3] & (1 - points[:, 7])
    database = np.column_stack([points, labels])
    made = noisy_conjunction_mechanism(dimension=dimension, epsilon=1e9, beta=0.1)
    kept = made(database, rng)
    assert kept[3]
    assert kept[dimension + 7]
    loss = next(claim for claim in made.claims if not isinstance(claim, PrivacyClaim)).loss
    assert loss(database, kept) == 0
    law = made.law(database)
    assert len(law.parts) == 2 * dimension
    assert all(np.isfinite(part.log_probabilities).any() for part in law.parts)
    greedy = greedy_conjunction_mechanism(
        dimension=dimension, most_literals=2, rounds=2, epsilon=1e6
    )
    chosen = greedy(database, rng, size=3)
    assert {frozenset(run) for run in chosen.tolist()} == {frozenset({3, dimension + 7})}
    assert (greedy.log_probability(database, chosen) <= 0).all()


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_points_that_occur_and_the_whole_cube_agree(rng, dimension):
    for _ in range(20):
        rows = rng.integers(0, 2, size=(rng.integers(0, 12), dimension + 1))
        points, counts = labelled_points(rows, dimension=dimension)
        whole = labelled_counts(rows, grid=(2,) * dimension)
        assert counts.sum() == len(rows)
        assert violations_at(points, counts).tolist() == violations(whole).tolist()
        for most in (1, 2, 3):
            table = literals_at(points, constant=True)
            listed = mistakes(whole, conjunctions(dimension, most)) == 0
            assert some_conjunction_fits(table, counts, most) == listed.any()


def test_packed_sums_are_the_sums(monkeypatch, rng):
    table = rng.random((11, 50)) < 0.5
    weights = rng.integers(0, 1000, size=(4, 50))
    plain = falsified_sums(table)(weights)
    monkeypatch.setattr("dpwitness.mechanisms.learning.labelled.LARGE", 0)
    assert falsified_sums(table)(weights).tolist() == plain.tolist()
    assert plain.tolist() == (weights @ ~table.T).tolist()
