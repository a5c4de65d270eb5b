from itertools import combinations, combinations_with_replacement
from math import exp, log, sqrt

import numpy as np
import pytest

from dpwitness.mechanisms.accounting.composition import zcdp_root
from dpwitness.mechanisms.learning.broken_conjunctions import (
    REMOVES_SATISFIED,
    STOPS_WITHOUT_NEGATIVES,
    WHOLE_BUDGET_EVERY_ROUND,
)
from dpwitness.mechanisms.learning.greedy_conjunctions import (
    GREEDY_CONJUNCTION,
    _chance_of_losses,
    greedy_conjunction,
    greedy_conjunction_law,
    greedy_conjunction_mechanism,
    greedy_conjunction_of_counts,
    greedy_rounds,
    greedy_sample_size,
    literal_scores,
    round_privacy,
    score_shortfall,
)
from dpwitness.mechanisms.learning.labelled import (
    falsified_sums,
    grid_points,
    labelled_counts,
    literals,
    literals_at,
)
from dpwitness.mechanisms.learning.theorems_greedy_conjunctions import THEOREMS
from dpwitness.mechanisms.selection.exponential import probabilities

NAMED = {theorem.identifier: theorem for theorem in THEOREMS}
SOME_ROWS = [[1, 0, 1], [1, 1, 1], [0, 0, 0], [0, 1, 0], [0, 1, 1]]


def default(identifier, **changed):
    theorem = NAMED[identifier]
    values = {name: p.default for name, p in theorem.parameters.items()}
    return theorem.at(**{**values, **changed})


def plainly(rows, *, d, k, rounds, each):
    """Probability of every transcript by the pseudo-code, row by row."""
    if rounds == 0:
        return [1.0]

    def holds(literal, row):
        if literal == 2 * d:
            return True
        return row[literal] == 1 if literal < d else row[literal - d] == 0

    scores = []
    for literal in range(2 * d + 1):
        false = [row for row in rows if not holds(literal, row)]
        negatives = sum(row[-1] == 0 for row in rows)
        removed = sum(row[-1] == 0 for row in false)
        scores.append(min(removed - negatives / k, -(len(false) - removed)))
    total = sum(exp(each * score / 2) for score in scores)
    return [
        exp(each * score / 2) / total * later
        for literal, score in enumerate(scores)
        for later in plainly(
            [row for row in rows if holds(literal, row)], d=d, k=k, rounds=rounds - 1, each=each
        )
    ]


@pytest.mark.parametrize(("d", "k", "rounds"), [(2, 1, 2), (2, 2, 3), (1, 1, 3), (3, 2, 2)])
def test_the_law_is_that_of_the_pseudo_code(d, k, rounds, rng):
    for rows in (0, 1, 6):
        database = rng.integers(0, 2, size=(rows, d + 1)).tolist()
        law = greedy_conjunction_law(
            database, dimension=d, most_literals=k, rounds=rounds, round_epsilon=0.7
        )
        expected = plainly(database, d=d, k=k, rounds=rounds, each=0.7)
        assert np.exp(law.log_probabilities) == pytest.approx(expected)


def test_draws_have_the_law(rng, assert_frequencies):
    claim, mechanism = default("CONJ-P2").claim, default("CONJ-P2").mechanism
    for database in (SOME_ROWS, *claim.databases):
        probability = np.exp(mechanism.law(database).log_probabilities)
        for sample in (mechanism, claim.other):
            draws = sample(database, rng, size=(100, 400))
            assert draws.shape == (100, 400, 3)
            counted = np.bincount((draws @ [25, 5, 1]).ravel(), minlength=125)
            # The rarest together are enough for the test.
            order = np.argsort(probability)
            few = 1 + int(np.searchsorted(probability[order].cumsum() * counted.sum(), 20))
            few = max(few, int(np.count_nonzero(probability * counted.sum() < 20)))
            pooled = [
                np.append(each[order[few:]], each[order[:few]].sum())
                for each in (counted, probability)
            ]
            assert_frequencies(*pooled)


def test_single_draws_have_the_law_too(rng, assert_frequencies):
    keywords = {"dimension": 1, "most_literals": 1, "rounds": 2, "round_epsilon": 0.5}
    rows = [[1, 1], [0, 0]]
    draws = np.array([greedy_conjunction(rows, rng, **keywords) for _ in range(3_000)])
    law = greedy_conjunction_law(rows, **keywords)
    assert_frequencies(np.bincount(draws @ [3, 1]), np.exp(law.log_probabilities))


def test_many_rounds_at_once_agree_with_the_log_probability(rng):
    mechanism = greedy_conjunction_mechanism(dimension=3, most_literals=2, rounds=9, epsilon=5)
    assert mechanism.law is None
    database = rng.integers(0, 2, size=(9, 4)).tolist()
    draws = mechanism(database, rng, size=(4, 5))
    found = mechanism.log_probability(database, draws)
    assert found.shape == (4, 5)
    one = mechanism.log_probability(database, draws[2, 3])
    assert one == pytest.approx(found[2, 3])


def worst_loss(mechanism, dimension, rows):
    points = [tuple(point) for point in grid_points((2,) * (dimension + 1)).tolist()]

    def logs(*database):
        return mechanism.law(database).log_probabilities

    return max(
        np.ptp(np.array([logs(*shared, point) for point in points]), axis=0).max()
        for shared in combinations_with_replacement(points, rows - 1)
    )


def test_loss_over_all_neighbours():
    assert worst_loss(GREEDY_CONJUNCTION, 2, 3) == pytest.approx(0.6140, abs=5e-5)
    subject = default("CONJ-P2-PRIV", most_literals=2)
    assert worst_loss(subject.mechanism, 2, 2) <= 1


def test_the_whole_budget_every_round_loses_more():
    twice = greedy_conjunction_mechanism(dimension=2, most_literals=1, rounds=2, epsilon=2)
    assert worst_loss(twice, 2, 2) == pytest.approx(1.2174, abs=5e-5)
    assert WHOLE_BUDGET_EVERY_ROUND.breaks in WHOLE_BUDGET_EVERY_ROUND.mechanism.claims
    assert worst_loss(WHOLE_BUDGET_EVERY_ROUND.mechanism, 1, 2) == pytest.approx(1.5)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (3.0, 0.05)])
def test_advanced_composition(epsilon, delta):
    subject = default("CONJ-P2-ADVANCED", rounds=3, epsilon=epsilon, delta=delta, dimension=1)
    each = subject.mechanism.run.keywords["round_epsilon"]
    assert 3 * each**2 / 8 == pytest.approx(zcdp_root(epsilon, delta) ** 2)
    points = grid_points((2, 2)).tolist()
    laws = [
        subject.mechanism.law((*[[0, 1]] * 3, *[[1, 1]] * 3, point)).log_probabilities
        for point in points
    ]
    for first, second in combinations(laws, 2):
        for one, other in ((first, second), (second, first)):
            assert np.maximum(np.exp(one) - np.exp(epsilon + other), 0).sum() <= delta


def test_shortfall_of_the_default_instance():
    subject = default("CONJ-P2-STEP")
    for database, beta in zip(subject.claim.databases, (0.1, 0.5), strict=True):
        law = subject.mechanism.law(database)
        losses = subject.claim.loss(database, law.outcomes)
        bad = np.exp(law.log_probabilities)[losses >= subject.claim.bound(beta)].sum()
        assert beta / 3 < bad <= beta
    # Nothing is promised where no conjunction of k literals fits.
    assert not subject.claim.loss([[1, 1, 0], [1, 1, 1]], [0, 1])


def crowded():
    subject = default("ERR-PAC-3")
    (database,) = subject.claim.databases
    return subject, database, labelled_counts(database, grid=(2,) * 6)


def test_the_printed_shortfall_is_false_in_the_first_round():
    subject, database, counts = crowded()
    assert len(database) == 384
    assert greedy_rounds(2, 384) == 24
    table = literals(6)
    scores = literal_scores(np.ones((1, 64), dtype=bool), counts, falsified_sums(table), 2)[0]
    assert sorted(set(scores)) == [-96, -48, 0]
    law = probabilities(scores, sensitivity=1, epsilon=1 / 24)
    assert law[scores < -log(6)].sum() == pytest.approx(0.616, abs=5e-4)
    assert subject.claim.bound(0.1) == pytest.approx(log(6))


def test_the_printed_shortfall_is_false(rng):
    for identifier, least in (("ERR-PAC-3", 0.6), ("CONJ-P2-DELTA-LIT", 0.99)):
        subject = default(identifier)
        (database,) = subject.claim.databases
        losses = subject.claim.loss(database, subject.mechanism(database, rng, size=20_000))
        assert (losses >= subject.claim.bound(0.5)).mean() > least
        assert losses.max() < score_shortfall(6, 24, 1 / 24, 0.1)


def test_sample_size():
    needed = greedy_sample_size(dimension=6, most_literals=2, epsilon=1, alpha=0.3, beta=0.1)
    rounds = greedy_rounds(2, needed)
    shortfall = score_shortfall(6, rounds, round_privacy(1, rounds), 0.1)
    assert (needed, rounds) == (145_413, 48)
    assert shortfall == pytest.approx(838.9, abs=0.05)
    assert rounds * shortfall == pytest.approx(40_268, abs=0.5)
    assert 4 * shortfall == pytest.approx(3_356, abs=0.5)
    assert round_privacy(1, 48, 1e-6) == pytest.approx(sqrt(8 / 48) * 0.13217, abs=1e-5)


@pytest.mark.parametrize("identifier", ["CONJ-P2-MAIN", "CONJ-P2-ADVANCED-MAIN"])
def test_the_costly_instance(identifier, rng):
    claim = default(identifier).claim
    run, counts = claim.instance(claim.needed)
    assert counts.sum() == claim.needed
    assert not claim.loss(counts, run(counts, rng, size=2_000)).any()
    # At a thirtieth of the rows it fails in more than beta of the runs, so 30 is no constant.
    run, counts = claim.instance(claim.needed // 30)
    assert counts.sum() == claim.needed // 30
    errors = claim.loss(counts, run(counts, rng, size=2_000))
    assert (errors > claim.level).mean() > 1.5 * claim.beta


def test_the_chance_of_costly_choices_is_that_of_the_learner(rng):
    # 6 variables, 5 rounds: at least 3 different ones, each losing 30 of 1,000 rows.
    epsilon, each = 0.2, 30
    counts = np.array([[0, 1000 - 6 * each], *[[0, each]] * 6])
    points = np.vstack([np.ones(6, dtype=int), 1 - np.eye(6, dtype=int)])
    chosen = greedy_conjunction_of_counts(
        counts,
        rng,
        most_literals=1,
        rounds=5,
        round_epsilon=epsilon,
        table=literals_at(points, constant=True),
        size=20_000,
    )
    lost = np.array([len(set(run[run < 6])) for run in chosen])
    stated = _chance_of_losses(3, 6, 5, exp(-epsilon * each / 2))
    assert (lost >= 3).mean() == pytest.approx(stated, abs=4 * sqrt(stated / 20_000))


@pytest.mark.parametrize("mutant", [True, False])
def test_main_claims_that_are_false(mutant, rng):
    claim = REMOVES_SATISFIED.breaks if mutant else default("ERR-PAC-4-MAIN").claim
    run, counts = claim.instance(claim.needed)
    errors = claim.loss(counts, run(counts, rng, size=500))
    assert (errors > claim.level).all()
    assert errors.mean() == pytest.approx(1.0 if mutant else 0.5, abs=0.01)


def test_removing_the_satisfied_is_the_only_defect(rng):
    claim = REMOVES_SATISFIED.breaks
    assert claim in REMOVES_SATISFIED.mechanism.claims
    run, counts = claim.instance(claim.needed)
    keywords = {**run.keywords, "survivors": None}
    sound = greedy_conjunction_of_counts(counts, rng, **keywords, size=500)
    assert claim.loss(counts, sound).max() <= claim.level


def test_stopping_gives_the_last_negative_away(rng):
    mechanism = STOPS_WITHOUT_NEGATIVES.mechanism
    assert STOPS_WITHOUT_NEGATIVES.breaks in mechanism.claims
    assert (mechanism([[1, 1, 1]], rng, size=100) == -1).all()
    draws = mechanism([[1, 1, 0]], rng, size=2_000)
    assert (draws[:, 0] >= 0).all()
    # v_1 and v_2 are true on the negative, so that another round follows.
    assert ((draws[:, 1] == -1) == np.isin(draws[:, 0], [2, 3])).all()


def test_bad_parameters_are_named(rng):
    keywords = {"dimension": 1, "most_literals": 1, "rounds": 1, "round_epsilon": 1.0}
    for name in ("most_literals", "rounds", "round_epsilon"):
        with pytest.raises(ValueError, match=f"^{name} must be positive, got 0$"):
            greedy_conjunction([[1, 1]], rng, **{**keywords, name: 0})
    with pytest.raises(ValueError, match=r"^epsilon must be positive, got -1$"):
        greedy_conjunction_mechanism(dimension=1, most_literals=1, rounds=1, epsilon=-1)
