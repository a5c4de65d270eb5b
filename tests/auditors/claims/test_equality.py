from dataclasses import replace
from math import inf, log

import numpy as np
import pytest
from scipy.special import bdtrc
from scipy.stats import hypergeom

from dpwitness import HarnessError, Verdict
from dpwitness.auditors.asked import Budget
from dpwitness.auditors.bounds.one_law import (
    fisher_p_value,
    largest_log_ratio,
    p_value,
    total_variation_upper,
)
from dpwitness.auditors.claims.equality import Atoms, Tree, audit_equality, learn_cells
from dpwitness.auditors.outputs.encoding import codes
from dpwitness.mechanisms.model import EqualityClaim, FiniteLaw, Mechanism

CHANCES = np.array([0.1, 0.2, 0.3, 0.4])


def by_inverse(database, rng, *, size=None):
    return np.searchsorted(np.cumsum(CHANCES)[:-1], rng.random(size), side="right")


def by_gumbel(database, rng, *, size=None):
    shape = () if size is None else (size,) if isinstance(size, int) else size
    return np.argmax(np.log(CHANCES) + rng.gumbel(size=(*shape, 4)), axis=-1)


def law(database):
    return FiniteLaw(outcomes=np.arange(4), log_probabilities=np.log(CHANCES))


MECHANISM = Mechanism(name="inverse", run=by_inverse)
SAME = EqualityClaim(other=by_gumbel, databases=([],))


def run(claim, mechanism=MECHANISM, draws=40_000, seed=0):
    return audit_equality(claim, mechanism, Budget(alpha=1e-3, trials=draws, seed=seed))


def test_two_samplers_of_one_law():
    found = run(SAME)
    assert found.verdict is Verdict.NOT_REFUTED
    assert found.measured.high < 0.03
    assert found.details["log_ratio_upper"] < 0.15
    assert [row[1] for row in found.table.rows] == ["3", "2", "1", "0"]


@pytest.mark.long
def test_samplers_that_share_no_output_are_told_apart_without_a_warning():
    far = replace(SAME, other=lambda database, rng, *, size=None: 9 + rng.random(size))
    near = replace(MECHANISM, run=lambda database, rng, *, size=None: rng.random(size))
    found = run(far, near)
    assert found.verdict is Verdict.REFUTED
    assert found.measured.value > 0.99


@pytest.mark.long
def test_exact_laws_stand_beside_the_draws():
    known = replace(MECHANISM, law=law)
    turned = replace(law([]), outcomes=np.arange(4)[::-1], log_probabilities=np.log(CHANCES[::-1]))
    found = run(replace(SAME, law=lambda database: turned), known)
    assert found.proved is Verdict.PROVED
    assert found.exact == pytest.approx(0, abs=1e-12)
    uniform = FiniteLaw(outcomes=np.arange(4), log_probabilities=np.full(4, log(0.25)))
    with pytest.raises(HarnessError, match="other sampler"):
        run(replace(SAME, law=lambda database: uniform), known)


@pytest.mark.long
def test_a_small_difference_in_one_atom_is_refuted():
    def other(database, rng, *, size=None):
        return np.where(rng.random(size) < 0.05, 0, by_inverse(database, rng, size=size))

    found = run(replace(SAME, other=other))
    assert found.verdict is Verdict.REFUTED
    assert found.witness == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (lambda x: x, Verdict.NOT_REFUTED),
        (lambda x: 1.05 * x, Verdict.REFUTED),
        (lambda x: x[..., ::-1], Verdict.REFUTED),
        (lambda x: np.stack([x[..., 0], -x[..., 1]], axis=-1), Verdict.REFUTED),
    ],
)
def test_continuous_outputs_are_compared_jointly(change, verdict):
    # The first coordinate is wider; the second follows it.
    def pair(database, rng, *, size=None):
        base = rng.normal(size=(size, 1))
        noise = rng.normal(size=(size, 2))
        return base + noise * np.array([1.0, 0.5])

    def other(database, rng, *, size=None):
        return change(pair(database, rng, size=size))

    found = run(replace(SAME, other=other), Mechanism(name="pair", run=pair), draws=60_000)
    assert found.verdict is verdict


def test_permutation_p_values_are_super_uniform_at_equality():
    rng, runs = np.random.default_rng(31), 300
    found = []
    for _ in range(runs):
        first, second = rng.multinomial(300, CHANCES), rng.multinomial(100, CHANCES)
        found.append(p_value(first, second, 0.1, rng))
    for level in (0.05, 0.1, 0.3):
        allowed = int(np.argmax(bdtrc(np.arange(runs), runs, level) <= 1e-7))
        assert sum(p <= level for p in found) <= allowed


def test_fisher_p_values_are_super_uniform_at_equality_and_reach_any_level():
    rng, runs = np.random.default_rng(33), 2000
    found = [
        fisher_p_value(rng.multinomial(300, CHANCES), rng.multinomial(100, CHANCES))
        for _ in range(runs)
    ]
    for level in (0.01, 0.05, 0.3):
        allowed = int(np.argmax(bdtrc(np.arange(runs), runs, level) <= 1e-7))
        assert sum(p <= level for p in found) <= allowed
    apart = np.array([600, 400]), np.array([400, 600])
    assert p_value(*apart, 1e-8, rng) == fisher_p_value(*apart) < 1e-8
    # One table in 20 is as extreme; two tails, two cells.
    assert fisher_p_value(np.array([3, 0]), np.array([0, 3])) == pytest.approx(2 * 2 / 20)


@pytest.mark.parametrize(
    ("first", "second"),
    [((600, 400), (400, 600)), ((7, 3), (1, 9)), ((90, 910), (10, 990)), ((5, 0), (0, 7))],
)
def test_fisher_p_values_of_two_cells_are_those_of_scipy(first, second):
    # With two cells both tests are the same one.
    first, second = np.array(first), np.array(second)
    law = hypergeom(first.sum() + second.sum(), first[0] + second[0], first.sum())
    tail = min(law.cdf(first[0]), law.sf(first[0] - 1))
    assert fisher_p_value(first, second) == pytest.approx(min(1, 4 * tail), rel=1e-9)


@pytest.mark.long
def test_a_difference_is_refuted_at_an_error_no_permutation_test_reaches():
    def uniform(database, rng, *, size=None):
        return rng.integers(0, 4, size=size)

    for other, verdict in ((uniform, Verdict.REFUTED), (by_gumbel, Verdict.NOT_REFUTED)):
        claim = replace(SAME, other=other)
        found = audit_equality(claim, MECHANISM, Budget(alpha=1e-9, trials=40_000, seed=0))
        assert found.verdict is verdict


def test_equivalence_bounds():
    first, second = np.array([5000, 5000, 0]), np.array([4900, 5100, 0])
    found, upper = total_variation_upper(first, second, 0.05)
    assert found == pytest.approx(0.01)
    assert upper == pytest.approx(0.01 + np.sqrt(log(20) / 1e4))
    assert 0.02 < largest_log_ratio(first, second, 0.05) < 0.1
    assert largest_log_ratio(np.array([5, 5]), np.array([10, 0]), 0.05) == inf


def test_cells_are_atoms_or_a_tree_and_cover_everything():
    rng = np.random.default_rng(32)
    words = np.array(["yes", "no", "no", "yes"])
    atoms = learn_cells(words, words)
    assert isinstance(atoms, Atoms)
    assert atoms.names == ["yes", "no", "any other"]
    assert atoms.place(np.array(["no", "maybe"])).tolist() == [1, 2]
    points = rng.normal(size=(5000, 3))
    tree = learn_cells(points, points + np.array([0, 1, 0]))
    assert isinstance(tree, Tree)
    assert tree.nodes[0][0] == 1
    assert len(tree.names) == tree.cells
    assert set(tree.place(rng.normal(size=(20_000, 3))).tolist()) == set(range(tree.cells))
    strange = np.array([[np.nan, np.inf, -np.inf]])
    assert 0 <= tree.place(strange)[0] < tree.cells


def test_codes_are_equal_for_equal_outputs_of_any_kind():
    one, two = codes(np.array([1.0, np.nan, 2.0]), np.array([np.nan, 2.0]))
    assert one.tolist()[1] == two.tolist()[0]
    assert one.tolist()[2] == two.tolist()[1]
    labels = np.array([None, "a", 3], dtype=object)
    one, two = codes(labels, labels[::-1])
    assert one.tolist() == two.tolist()[::-1]
