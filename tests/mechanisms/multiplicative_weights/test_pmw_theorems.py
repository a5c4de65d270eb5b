"""The theorems on private multiplicative weights, each checked, each printed error shown."""

from dataclasses import replace
from functools import partial
from math import log, sqrt

import numpy as np
import pytest

from dpwitness.auditors.claims.check import check, claims_beside
from dpwitness.mechanisms.model import (
    IdentityClaim,
    InvariantClaim,
    PrivacyClaim,
    Record,
    Rows,
    Subject,
)
from dpwitness.mechanisms.multiplicative_weights import theorems_pmw_accuracy as pmw_accuracy
from dpwitness.mechanisms.multiplicative_weights import theorems_pmw_privacy as pmw_privacy
from dpwitness.mechanisms.multiplicative_weights import theorems_pmw_tails as pmw_tails
from dpwitness.mechanisms.multiplicative_weights.broken_pmw import (
    HALF_LEARNING_RATE,
    NOT_NORMALISED,
    SIGN_FLIPPED,
    THRESHOLD_TOO_HIGH,
)
from dpwitness.mechanisms.multiplicative_weights.pmw import (
    asked_in_turn,
    most_updates,
    private_multiplicative_weights_mechanism,
    query_of_gap,
    records_needed,
    updates_needed,
)
from dpwitness.mechanisms.multiplicative_weights.pmw_cases import drop_margin, near_edge, play
from dpwitness.mechanisms.multiplicative_weights.pmw_updates import expected, multiplicative_update

THEOREMS = {
    theorem.identifier: theorem
    for module in (pmw_accuracy, pmw_tails, pmw_privacy)
    for theorem in module.THEOREMS
}
INVARIANTS = [n for n, t in THEOREMS.items() if isinstance(t.at().claim, InvariantClaim)]


def drawn(row, rng):
    match row:
        case Record():
            return {name: drawn(field, rng) for name, field in row.fields.items()}
        case Rows():
            return [
                drawn(row.row, rng) for _ in range(rng.integers(row.min_size, row.max_size + 1))
            ]
    if row.integer:
        return int(rng.integers(row.low, row.high + 1))
    # The ends of an interval as often as what lies between.
    return float(rng.choice([row.low, row.high, rng.uniform(row.low, row.high)]))


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
        assert theorem.at(**parameters).claim.identifier == identifier
    for name, p in theorem.parameters.items():
        assert p.within.low <= p.default <= p.within.high, name
    assert theorem.holds or THEOREMS[theorem.corrected].holds


@pytest.mark.parametrize("identifier", INVARIANTS)
def test_invariants_hold_at_the_edge_and_on_random_cases(identifier, rng):
    theorem = THEOREMS[identifier]
    claim = theorem.at().claim
    margins = [claim.margin(case) for case in claim.examples]
    if not theorem.holds:
        assert min(margins) < -0.1
        return
    margins += [claim.margin(drawn(claim.cases, rng)) for _ in range(60)]
    assert min(margins) >= -claim.tolerance


@pytest.mark.parametrize(("bins", "accuracy"), [(2, 0.25), (4, 0.4), (4, 0.5), (8, 0.8)])
def test_the_sharp_drop_is_nearly_reached(bins, accuracy):
    unit = accuracy**2 / 64
    drops = [
        drop_margin(case, bins=bins, accuracy=accuracy, least=0.0) / unit
        for case in near_edge(bins=bins)
    ]
    assert min(drops) >= 1.875
    assert min(drops) < 2.2


@pytest.mark.parametrize(("rows", "expected"), [([0, 1], 18), ([0, 0, 0, 1], 23), ([0], 36)])
def test_updates_of_a_greedy_adversary(rows, expected):
    assert most_updates(bins=4, accuracy=0.5) == 354
    quiet = {"rows": rows, "queries": [16], "threshold": [0.0], "query": [0.0], "answer": [0.0]}
    assert np.count_nonzero(play(quiet, bins=4, accuracy=0.5).top) == expected


@pytest.mark.parametrize(
    "broken", [SIGN_FLIPPED, HALF_LEARNING_RATE, THRESHOLD_TOO_HIGH, NOT_NORMALISED]
)
def test_broken_statements_fail_at_the_edge(broken):
    assert min(broken.claim.margin(case) for case in broken.claim.examples) < -1e-3


def test_half_the_learning_rate_is_missed_without_the_edge():
    quiet = {"rows": [0], "queries": [16], "threshold": [0.0], "query": [0.0], "answer": [0.0]}
    assert HALF_LEARNING_RATE.claim.margin(quiet) > 0
    worst = min(HALF_LEARNING_RATE.claim.margin(case) for case in near_edge(bins=4))
    assert (worst + 15 / 512 / 4) * 4 * 64 == pytest.approx(0.97, abs=0.02)


@pytest.mark.parametrize(
    ("parameters", "updates", "records"),
    [
        ((4, 0.5, 1, 1e-6, 1000, 0.05), 355, 67352),
        ((8, 0.5, 1, 1e-6, 1000, 0.05), 533, 84022),
        ((8, 0.25, 1, 1e-6, 5000, 0.05), 2130, 383340),
        ((16, 0.5, 1, 1e-6, 2000, 0.05), 710, 101574),
    ],
)
def test_records_needed(parameters, updates, records):
    names = ("bins", "accuracy", "epsilon", "delta", "length", "beta")
    chosen = dict(zip(names, parameters, strict=True))
    assert updates_needed(bins=chosen["bins"], accuracy=chosen["accuracy"]) == updates
    assert records_needed(**chosen) == records


def test_accurate_from_that_many_records_on(rng):
    claim = THEOREMS["PMW-MAIN"].at().claim
    run, database = claim.instance(claim.needed)
    outputs = run(database, rng, size=400)
    assert outputs.shape == (400, 100, 2)
    assert not np.isnan(outputs).any()
    losses = claim.loss(database, outputs)
    assert (losses <= claim.level).all()
    assert losses.max() > claim.level / 3
    few, small = claim.instance(claim.needed // 40)
    assert np.mean(claim.loss(small, few(small, rng, size=50)) > claim.level) > 0.5


@pytest.mark.parametrize(("length", "probability"), [(1e4, 0.193), (1e6, 0.853), (1e8, 1.0)])
def test_the_root_of_the_logarithm_is_not_enough(length, probability, rng, assert_rate):
    claim = THEOREMS["ERR-PMW-3"].at(length=length).claim
    run, database = claim.instance(claim.needed)
    failed = claim.loss(database, run(database, rng, size=50_000)) > claim.level
    assert np.mean(failed) == pytest.approx(probability, abs=0.01)
    assert np.mean(failed) > claim.beta + 0.1


def test_the_largest_noise_of_a_run_is_that_of_all_that_it_draws(rng, assert_rate):
    # All queries are answered by the data on this database, so a run draws 3 noises for each.
    subject = THEOREMS["PMW-NOISE"].at(length=10)
    claim, mechanism = subject.claim, subject.mechanism
    draws = mechanism(claim.databases[0], rng, size=20_000)
    for beta in claim.levels:
        exact = 1 - (1 - beta / 30) ** 30
        assert exact <= beta
        assert_rate(draws > claim.bound(beta), exact)


@pytest.mark.long
def test_noises_are_given_to_the_runs_that_drew_them(rng):
    # A run by itself hears its own noises and no others: the same, one run at a time and together.
    subject = THEOREMS["PMW-NOISE"].at(length=6)
    run, database = subject.mechanism.run, [400, 300, 200, 100]
    alone = [float(run(database, rng)) for _ in range(4000)]
    together = run(database, rng, size=4000)
    grid = np.quantile(together, [0.1, 0.5, 0.9])
    for limit in grid:
        assert np.mean(np.array(alone) > limit) == pytest.approx(
            np.mean(together > limit), abs=0.06
        )


def test_the_tails_of_the_real_noise_are_approached(rng):
    # What happens at the near database, by the law of a difference of two Laplace noises.
    for identifier in ("PMW-KL-TAIL", "PMW-ACC-TAIL"):
        subject = THEOREMS[identifier].at(length=1, records=100_000)
        claim, mechanism = subject.claim, subject.mechanism
        x = 0.5 * 100_000 * mechanism.run.keywords["noise_epsilon"] / 4
        losses = claim.loss(claim.databases[0], mechanism(claim.databases[0], rng, size=40_000))
        failed = np.mean(losses >= claim.bound(claim.levels[0]))
        assert failed == pytest.approx((2 + x) * np.exp(-x) / 4, rel=0.12)
        assert 0.6 < failed / claim.levels[0] < 1.1
    subject = THEOREMS["PMW-UPD-TAIL"].at()
    claim, mechanism = subject.claim, subject.mechanism
    losses = claim.loss(claim.databases[0], mechanism(claim.databases[0], rng, size=40_000))
    assert 0.2 < np.mean(losses >= claim.bound(claim.levels[0])) / claim.levels[0] <= 1


ON_RUNS = [
    f"PMW-{name}" for name in ("KL-TAIL", "UPD-TAIL", "ACC-TAIL", "RUN-UPD", "RUN-KL", "RUN-ACC")
]


@pytest.mark.long
@pytest.mark.parametrize("identifier", ON_RUNS)
@pytest.mark.parametrize(("length", "beta"), [(2, 0.5), (60, 0.5), (60, 0.001)])
def test_the_tails_hold_for_several_queries(identifier, length, beta, rng):
    subject = THEOREMS[identifier].at(length=length, beta=beta)
    claim, mechanism = subject.claim, subject.mechanism
    assert claim.levels == (beta,)
    for database in claim.databases:
        losses = claim.loss(database, mechanism(database, rng, size=5000))
        # Five deviations of a count whose mean is at most 5000 beta.
        assert np.count_nonzero(losses >= claim.bound(beta)) <= 5000 * beta + 5 * sqrt(5000 * beta)


@pytest.mark.long
@pytest.mark.parametrize("identifier", ["PMW-KL-TAIL", "PMW-RUN-KL", "PMW-RUN-UPD"])
def test_a_long_run_reaches_a_third_of_the_chance_that_is_stated(identifier, rng):
    # The union over the queries counts a low threshold once for each of them.
    subject = THEOREMS[identifier].at()
    claim, mechanism = subject.claim, subject.mechanism
    near = claim.databases[0]
    losses = claim.loss(near, mechanism(near, rng, size=20_000))
    assert 0.2 < np.mean(losses >= claim.bound(0.1)) / 0.1 < 0.6


@pytest.mark.parametrize("gap", [0.0, 0.1, 0.3, 2.0])
def test_an_analyst_asks_for_the_gap_that_it_wants(gap, rng):
    truth, synthetic = rng.dirichlet(np.ones(8)), rng.dirichlet(np.ones(8), size=50)
    query = query_of_gap(0, synthetic, truth, gap=gap)
    error = expected(query, truth) - expected(query, synthetic)
    short = np.maximum(truth - synthetic, 0)
    smallest = np.where(short > 0, short, np.inf).min(axis=-1)
    assert (error <= np.maximum(gap, smallest) + 1e-12).all()
    assert (query.sum(axis=-1) >= 1).all()
    # No undervalued element that is left out would have fitted as well.
    left = np.where((query == 0) & (short > 0), short, np.inf).min(axis=-1)
    assert ((error + left > gap) | np.isinf(left)).all()


def changed(mechanism, **numbers):
    return replace(mechanism, run=partial(mechanism.run, **numbers))


@pytest.mark.long
@pytest.mark.parametrize(
    ("identifier", "numbers"),
    [
        ("PMW-NOISE", {"noise_epsilon": 0.4}),
        ("PMW-KL-TAIL", {"noise_epsilon": 0.012}),
        ("PMW-KL-TAIL", {"threshold": 0.2}),
        ("PMW-UPD-TAIL", {"threshold": 0.1}),
        ("PMW-ACC-TAIL", {"threshold": 0.5}),
        ("PMW-ACC-TAIL", {"noise_epsilon": 0.012}),
        ("PMW-RUN-KL", {"threshold": 0.125}),
        ("PMW-RUN-ACC", {"threshold": 0.5}),
        ("PMW-RUN-ACC", {"updates": 8}),
    ],
)
def test_a_wrong_constant_in_what_is_run_breaks_a_tail(identifier, numbers):
    subject = THEOREMS[identifier].at()
    inner = subject.mechanism.run
    if identifier == "PMW-NOISE":
        inner = partial(inner.func, run=partial(inner.keywords["run"], **numbers))
        wrong = replace(subject.mechanism, run=inner)
    else:
        wrong = changed(subject.mechanism, **numbers)
    assert not check(subject, trials=4000).refuted
    assert check(Subject(claim=subject.claim, mechanism=wrong), trials=40_000).refuted


@pytest.mark.long
@pytest.mark.parametrize("identifier", ["PMW-KL-TAIL", "PMW-RUN-UPD", "PMW-RUN-KL"])
@pytest.mark.parametrize("share", [1 / 128, -1 / 8])
def test_a_factory_that_learns_wrongly_breaks_the_tails_of_the_drop(identifier, share, monkeypatch):
    # The claim reads the rate off what is shipped and not off a copy of the theorem's constant.
    real = pmw_tails.private_multiplicative_weights_mechanism

    def wrong(**given):
        return changed(real(**given), learning_rate=given["accuracy"] * share)

    monkeypatch.setattr(pmw_tails, "private_multiplicative_weights_mechanism", wrong)
    assert check(THEOREMS[identifier], trials=4000).refuted


def test_identities():
    found = [t.at().claim for t in THEOREMS.values()]
    for claim in found:
        if isinstance(claim, IdentityClaim):
            assert claim.compute() == pytest.approx(claim.stated, abs=claim.tolerance)
    example = THEOREMS["PMW-EX1"].at
    for element in range(1, 11):
        claim = example(element=element).claim
        assert claim.compute() == pytest.approx(claim.stated)


@pytest.mark.parametrize(("distance", "expected"), [(2, 1.895), (5, 4.895), (10, 9.895)])
def test_a_scale_that_changes_with_the_data(distance, expected):
    claim = THEOREMS["PMW-AR"].at(distance=distance).claim
    assert claim.compute() == pytest.approx(expected, abs=5e-4)


def test_privacy_theorems_speak_of_their_mechanism():
    for theorem in THEOREMS.values():
        subject = theorem.at()
        if isinstance(subject.claim, PrivacyClaim):
            assert subject.claim in subject.mechanism.claims


def test_the_printed_cost_of_the_bits_is_exceeded():
    for identifier in ("PMW-AT", "ERR-PMW-2"):
        subject = THEOREMS[identifier].at()
        losses = [
            np.abs(np.subtract(*(subject.mechanism.law(side).log_probabilities for side in pair)))
            for pair in (([11, 9], [10, 10]), ([10, 10], [9, 11]), ([13, 7], [12, 8]))
        ]
        assert (np.max(losses) <= subject.claim.epsilon) == THEOREMS[identifier].holds
        assert np.max(losses) > 2.3


def test_the_printed_cost_of_an_iteration_is_exceeded(rng):
    subject = THEOREMS["ERR-PMW-1"].at(below=10, multiple=2)
    transcript = np.array([[0, 0.25]] * 10 + [[1, 0.48]])
    pair = [19, 17, 2, 2], [18, 18, 2, 2]
    first, second = (subject.mechanism.log_probability(side, transcript) for side in pair)
    assert first - second == pytest.approx(3.606, abs=6e-3)
    assert first - second > subject.claim.epsilon


def test_a_size_that_is_not_public_shows(rng):
    subject = THEOREMS["ERR-PMW-7"].at()
    rates = [
        np.mean(subject.mechanism(counts, rng, size=200_000) >= 4.0) for counts in ([1, 0], [2, 0])
    ]
    assert log(rates[0] / rates[1]) > subject.claim.epsilon + 1


def long_runs(**given):
    return private_multiplicative_weights_mechanism(
        queries=partial(asked_in_turn, elements=(0,) * 400),
        length=400,
        bins=8,
        records=60_000,
        accuracy=0.5,
        epsilon=1.0,
        delta=1e-6,
        **{"updates": updates_needed(bins=8, accuracy=0.5), **given},
    )


def slow(synthetic, query, direction, learning_rate):
    return multiplicative_update(synthetic, query, direction, learning_rate / 16)


@pytest.mark.long
def test_a_mechanism_promises_to_learn_and_not_to_halt():
    made = long_runs()
    learning = {"PMW-RUN-UPD", "PMW-RUN-ACC"}
    sound = [check(one, trials=4000) for one in claims_beside(made)]
    assert learning <= {one.identifier for one in sound}
    assert not any(one.refuted for one in sound)
    wrong = changed(made, update=slow)
    found = {one.identifier for s in claims_beside(wrong) if (one := check(s, trials=4000)).refuted}
    assert "PMW-RUN-UPD" in found
    # Fewer updates than the theorem asks for say nothing of halting, so much noise nothing at all.
    assert vacuous(long_runs(updates=5)) == {"PMW-RUN-ACC"}
    assert vacuous(long_runs(noise_epsilon=1e-5)) == learning


def vacuous(mechanism):
    found = [check(one, trials=1000) for one in claims_beside(mechanism)]
    return {one.identifier for one in found if one.finding.vacuous}


@pytest.mark.slow
def test_the_edge_of_an_iteration_is_its_bound_and_wrong_multiples_are_seen():
    subject = THEOREMS["PMW-ITER"].at()
    found = check(subject, trials=3000).finding
    assert found.edge.share == pytest.approx(1, abs=1e-6)
    assert found.edge.of == "epsilon"
    less = replace(subject.claim, epsilon=3.9)
    wrong = replace(subject.mechanism, claims=(less,))
    assert check(Subject(claim=less, mechanism=wrong), trials=3000).refuted


@pytest.mark.long
@pytest.mark.parametrize(("share", "refuted"), [(1.0, False), (0.25, True)])
def test_a_number_of_records_with_the_constant_two_for_eight_is_refuted(share, refuted):
    claim = THEOREMS["PMW-MAIN"].at().claim
    found = check(Subject(claim=replace(claim, needed=int(claim.needed * share))), trials=6000)
    assert found.refuted is refuted
    if not refuted:
        assert 0.25 < found.finding.edge.share < 0.5
        assert found.finding.edge.of == "records"
