"""Theorems on the exponential mechanism and noisy arg-max, each checked on exact laws."""

from math import log

import numpy as np
import pytest

from dpwitness.mechanisms.model import (
    EqualityClaim,
    IdentityClaim,
    InvariantClaim,
    PrivacyClaim,
    Product,
    Record,
    Rows,
    UtilityClaim,
)
from dpwitness.mechanisms.selection import theorems_selection as statements
from dpwitness.mechanisms.selection.broken_noisy_max import NOISE_OF_THE_WRONG_KIND
from dpwitness.mechanisms.selection.broken_selection import WORST_CANDIDATE

THEOREMS = {theorem.identifier: theorem for theorem in statements.THEOREMS}


def of(kind):
    return [n for n, theorem in THEOREMS.items() if isinstance(theorem.at().claim, kind)]


def drawn(row, rng):
    match row:
        case Record():
            return {name: drawn(field, rng) for name, field in row.fields.items()}
        case Product():
            return [drawn(part, rng) for part in row.parts]
        case Rows():
            return [
                drawn(row.row, rng) for _ in range(rng.integers(row.min_size, row.max_size + 1))
            ]
    # The ends of an interval as often as what lies between.
    return float(rng.choice([row.low, row.high, rng.uniform(row.low, row.high)]))


def opposed(candidates):
    """One candidate ahead by a vote, and behind by one after one voter more."""
    first = [1] + [0] * (candidates - 1)
    return [first], [first, [-1] + [1] * (candidates - 1)]


def loss(mechanism, database, neighbour):
    first, second = (mechanism.law(side).log_probabilities for side in (database, neighbour))
    return np.abs(first - second).max()


@pytest.mark.parametrize("identifier", THEOREMS)
def test_a_theorem_can_be_asked_for_at_its_defaults_and_elsewhere(identifier):
    theorem = THEOREMS[identifier]
    defaults = {name: p.default for name, p in theorem.parameters.items()}
    ends = [
        {**defaults, name: end}
        for name, p in theorem.parameters.items()
        for end in (p.within.low, p.within.high)
    ]
    for parameters in ({}, defaults, *ends):
        subject = theorem.at(**parameters)
        assert subject.claim.identifier == identifier
        assert subject.claim.statement == theorem.statement
        assert subject.mechanism is None or subject.claim in subject.mechanism.claims
    for name, p in theorem.parameters.items():
        assert p.within.low <= p.default <= p.within.high, name
    assert theorem.holds or (THEOREMS[theorem.corrected].holds and theorem.remark)


@pytest.mark.parametrize("identifier", of(InvariantClaim))
def test_invariants_hold_at_the_edge_and_on_random_cases(identifier, rng):
    claim = THEOREMS[identifier].at().claim
    margins = [claim.margin(case) for case in claim.examples]
    assert min(margins) < 1e-9, "the examples reach the edge"
    margins += [claim.margin(drawn(claim.cases, rng)) for _ in range(300)]
    assert min(margins) >= -claim.tolerance


@pytest.mark.parametrize("identifier", of(IdentityClaim))
def test_identities(identifier):
    theorem = THEOREMS[identifier]
    ends = [{name: p.within.low} for name, p in theorem.parameters.items()]
    for parameters in ({}, *ends):
        claim = theorem.at(**parameters).claim
        assert (claim.compute() == pytest.approx(claim.stated, rel=1e-12)) == theorem.holds


@pytest.mark.parametrize(
    ("price", "expected"), [(1.0, 4.0), (2.0, 2.0), (3.0, 3.0), (3.01, 3.01), (3.02, 0.0)]
)
def test_revenue_at_a_price(price, expected):
    claim = THEOREMS["EM-3.5"].at(price=price).claim
    assert claim.compute() == pytest.approx(expected) == claim.stated


@pytest.mark.parametrize("identifier", of(EqualityClaim))
def test_equal_laws(identifier, rng):
    theorem = THEOREMS[identifier]
    subject = theorem.at()
    for database in subject.claim.databases:
        ours = subject.mechanism.law(database).log_probabilities
        theirs = subject.claim.law(database).log_probabilities
        assert (ours == pytest.approx(theirs, abs=1e-11)) == theorem.holds
        # The Dvoretzky-Kiefer-Wolfowitz bound at 1e-7.
        draws = np.bincount(subject.claim.other(database, rng, size=40_000), minlength=len(ours))
        assert np.abs(np.cumsum(draws / 40_000 - np.exp(theirs))).max() < 0.0145


def test_the_printed_law_is_off_by_far():
    for subject in (THEOREMS["ERR-EM-4"].at(), NOISE_OF_THE_WRONG_KIND):
        ours = np.exp(subject.mechanism.law([0, 2]).log_probabilities)
        assert ours[0] == pytest.approx(0.18394, abs=5e-6)
    theirs = np.exp(THEOREMS["ERR-EM-4"].at().claim.law([0, 2]).log_probabilities)
    assert theirs[0] == pytest.approx(0.26894, abs=5e-6)


@pytest.mark.parametrize(
    ("identifier", "parameters", "level", "exact"),
    [
        ("EM-3.12", {}, 0.3369, 0.2482),
        ("EM-3.6", {}, 0.270671, 0.119203),
        ("EM-3.6", {"gap": 2}, 0.735759, 0.268941),
        ("EM-3.6", {"gap": 8}, 0.036631, 0.017986),
        ("EM-3.11", {}, 0.06738, 0.05718),
    ],
)
def test_the_first_level_is_the_telling_one(identifier, parameters, level, exact):
    subject = THEOREMS[identifier].at(**parameters)
    database, *_ = subject.claim.databases
    law = subject.mechanism.law(database)
    losses = subject.claim.loss(database, law.outcomes)
    missed = [
        np.exp(law.log_probabilities)[losses >= subject.claim.bound(beta)].sum()
        for beta in subject.claim.levels
    ]
    assert all(p <= beta for p, beta in zip(missed, subject.claim.levels, strict=True))
    assert subject.claim.levels[0] == pytest.approx(level, abs=5e-5)
    assert missed[0] == pytest.approx(exact, abs=5e-5)


def test_a_bound_above_one_is_not_a_level():
    claims = [THEOREMS["EM-3.6"].at(gap=gap).claim for gap in (1, 2)]
    assert [len(claim.levels) for claim in claims] == [5, 6]


@pytest.mark.parametrize(
    ("identifier", "parameters", "expected"),
    [
        ("EM-3.10", {}, 0.8970),
        ("EM-3.10", {"others": 4}, 0.7960),
        ("EM-NAIVE", {}, 1.7761),
        ("EM-NAIVE", {"others": 19}, 1.8855),
        ("ERR-EM-2", {}, 1.7761),
        ("EM-RNM", {"monotone": 0, "others": 9}, 0.9924),
        ("EM-OSNM", {"monotone": 0, "others": 9}, 0.9999),
    ],
)
def test_loss_of_opposed_voters(identifier, parameters, expected):
    theorem = THEOREMS[identifier]
    subject = theorem.at(**parameters)
    candidates = round({"others": 9, **parameters}["others"]) + 1
    found = loss(subject.mechanism, *opposed(candidates))
    assert found == pytest.approx(expected, abs=5e-5)
    assert (found <= subject.claim.epsilon) == theorem.holds


def test_loss_of_counts():
    monotone = THEOREMS["EM-MONO"].at()
    found = loss(monotone.mechanism, [0, 0, 0, 0], [1, 0, 0, 0])
    assert found == pytest.approx(0.6426, abs=5e-5)
    assert found <= monotone.claim.epsilon
    replaced = THEOREMS["ERR-EM-6"].at()
    found = loss(replaced.mechanism, [1, 2], [0, 3])
    assert found == pytest.approx(1.7353, abs=5e-5)
    assert found > replaced.claim.epsilon


def test_candidates_read_off_the_bids(rng, assert_rate):
    subject = THEOREMS["EM-DDR"].at()
    with_it = subject.mechanism([1.0, 1.0, 1.0, 3.01], rng, size=20_000) == 3.01
    # Every price is paid by all who bid as much: 4.00 at 1.00 and 3.01 at 3.01.
    assert_rate(with_it, 1 / (1 + np.exp(0.99 / 6.02)))
    assert np.mean(with_it) == pytest.approx(0.459, abs=0.015)
    assert not (subject.mechanism([1.0] * 3, rng, size=20_000) == 3.01).any()


@pytest.mark.parametrize("identifier", of(PrivacyClaim))
def test_privacy_on_random_neighbours(identifier, rng):
    theorem = THEOREMS[identifier]
    mechanism, claim = theorem.at().mechanism, theorem.at().claim
    if mechanism.law is None or not theorem.holds or not isinstance(mechanism.databases, Rows):
        return
    if claim.curve is not None:
        return  # at one (epsilon, delta) of a curve the loss may be larger; see test_curve_laws
    domain = mechanism.databases
    for _ in range(60):
        rows = [[round(vote) for vote in drawn(domain.row, rng)] for _ in range(rng.integers(0, 6))]
        more = [*rows, [round(vote) for vote in drawn(domain.row, rng)]]
        assert loss(mechanism, rows, more) <= claim.epsilon + 1e-9


def test_the_worst_candidate_breaks_what_is_promised_of_the_best(rng):
    claim = WORST_CANDIDATE.breaks
    assert isinstance(claim, UtilityClaim)
    for counts in ([40, 0, 0, 0], [0, 30, 10, 0]):
        draws = WORST_CANDIDATE.mechanism(counts, rng, size=2_000)
        assert np.mean(claim.loss(counts, draws) >= claim.bound(0.01)) > 0.9


def test_the_naive_loss_in_closed_form():
    for others in (2, 4, 9, 19):
        subject = THEOREMS["EM-NAIVE"].at(others=others)
        expected = 1 + log((1 + others * np.e) / (np.e + others))
        assert loss(subject.mechanism, *opposed(others + 1)) == pytest.approx(expected)
