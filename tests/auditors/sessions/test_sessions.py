"""Sessions: the object is the pure core and nothing more, and analysts are a part of the pair."""

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dpwitness import (
    Analyst,
    Histogram,
    Interaction,
    Interval,
    Relation,
    Rows,
    Session,
    SessionOver,
    Verdict,
    audit,
    check,
    session_mechanism,
)
from dpwitness.auditors.claims.follows_law import follows_law
from dpwitness.auditors.databases.domains import all_analysts
from dpwitness.auditors.errors import InvalidArgument
from dpwitness.mechanisms.catalogue import CATALOGUE, NEGATIVE_CONTROLS
from dpwitness.mechanisms.composition.composed import budgeted_stream, cost_of
from dpwitness.mechanisms.model import play
from dpwitness.mechanisms.multiplicative_weights.broken_pmw import SLOW_SESSION
from dpwitness.mechanisms.multiplicative_weights.pmw import private_multiplicative_weights
from dpwitness.mechanisms.multiplicative_weights.pmw_session import (
    PMW_SESSION,
    pmw_interaction,
    public_shares,
)
from dpwitness.mechanisms.noise.laplace import laplace_mechanism
from dpwitness.mechanisms.queries import total
from dpwitness.mechanisms.sparse_vector.sparse_vector_variants import (
    SPARSE_VECTOR_SESSION,
    sparse_vector_interaction,
)

BINS, UPDATES = 4, 3
PMW = pmw_interaction(accuracy=0.4, noise_epsilon=0.5, updates=UPDATES)
MASKS = st.lists(st.integers(0, 1), min_size=BINS, max_size=BINS)


class PmwMachine(RuleBasedStateMachine):
    """An analyst who asks whatever it likes, next to a replay of the pure core."""

    @initialize(counts=st.lists(st.integers(0, 9), min_size=BINS, max_size=BINS).filter(any),
                seed=st.integers(0, 2**32))  # fmt: skip
    def opened(self, counts, seed):
        self.session = Session(PMW, counts, np.random.default_rng(seed))
        self.rng = np.random.default_rng(seed)
        self.state = PMW.start(counts, self.rng)
        self.learnt = 0

    @precondition(lambda self: not self.session.over)
    @rule(mask=MASKS)
    def ask(self, mask):
        before = self.state
        self.state, expected = PMW.answer(before, mask, self.rng)
        assert self.session.ask(mask) == expected
        moved = not np.array_equal(before.synthetic, self.state.synthetic)
        self.learnt += self.state.used - before.used
        if self.state.used == before.used:
            # Answered by the public distribution alone, which does not learn from itself.
            assert expected == pytest.approx(float(np.dot(mask, before.synthetic)))
            assert not moved

    @precondition(lambda self: self.session.over)
    @rule(mask=MASKS)
    def ask_too_much(self, mask):
        said = list(self.session.transcript)
        with pytest.raises(SessionOver):
            self.session.ask(mask)
        assert self.session.transcript == said

    @invariant()
    def what_is_public_is_a_distribution_that_learnt_from_noisy_answers_only(self):
        if hasattr(self, "state"):
            assert self.state.synthetic.sum() == pytest.approx(1)
            assert self.learnt == self.state.used <= UPDATES
            assert self.session.over == (self.state.used == UPDATES)


class StreamMachine(RuleBasedStateMachine):
    """Mechanisms of any price under one budget, which is never passed and never left unused."""

    @initialize(budget=st.floats(0.1, 3))
    def opened(self, budget):
        self.budget, self.paid = budget, []
        self.session = Session(budgeted_stream(epsilon=budget), [1, 0, 1], np.random.default_rng(0))

    @rule(price=st.floats(0.05, 2))
    def ask(self, price):
        offered = priced(price)
        if sum(self.paid) + price <= self.budget:
            self.session.ask(offered)
            self.paid.append(price)
        elif sum(self.paid) + price > self.budget * (1 + 1e-6):
            with pytest.raises(SessionOver, match="are left"):
                self.session.ask(offered)

    @invariant()
    def no_more_is_paid_than_there_is(self):
        if hasattr(self, "session"):
            assert sum(self.paid) <= self.budget * (1 + 1e-6)
            assert [cost_of(query) for query, _ in self.session.transcript] == self.paid


def priced(epsilon):
    return laplace_mechanism(
        query=total, sensitivity=1.0, epsilon=epsilon, relation=Relation.ADD_REMOVE,
        databases=Rows(row=Interval(low=0, high=1, integer=True)),
    )  # fmt: skip


FEW = settings(max_examples=25, stateful_step_count=15, deadline=None, derandomize=True)
TestPmw = PmwMachine.TestCase
TestPmw.settings = FEW
TestStream = StreamMachine.TestCase
TestStream.settings = FEW


def test_a_session_gives_the_answers_of_the_stream_for_the_same_noise():
    # With one run the stream draws in the session's order, so equal generators give equal answers.
    asked = np.array([[0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]] * 4, dtype=float)
    counts = [13, 4, 2, 1]
    for seed in range(20):
        stream = private_multiplicative_weights(
            counts, np.random.default_rng(seed), queries=lambda step, *_: asked[step],
            length=len(asked), threshold=0.2, learning_rate=0.05, noise_epsilon=0.5,
            updates=UPDATES,
        )  # fmt: skip
        session = Session(PMW, counts, np.random.default_rng(seed))
        given = []
        for query in asked:
            if session.over:
                break
            given.append(session.ask(query))
        kept = stream[:, 1][~np.isnan(stream[:, 1])]
        assert np.allclose(given, kept)


def test_states_are_never_changed():
    rng = np.random.default_rng(3)
    state = PMW.start([3, 2, 1, 0], rng)
    before = state.synthetic.copy()
    for _ in range(20):
        PMW.answer(state, [1, 0, 0, 0], rng)
    assert np.array_equal(state.synthetic, before)
    assert state.used == 0


@pytest.mark.parametrize("query", [[1, 0, 0], [0.5, 0, 0, 0], [[1, 0, 0, 0]]])
def test_a_query_that_is_none_is_refused_before_anything_is_drawn(query):
    rng = np.random.default_rng(0)
    session = Session(PMW, [3, 2, 1, 0], rng)
    before = rng.bit_generator.state
    with pytest.raises(ValueError, match="4 numbers 0 or 1"):
        session.ask(query)
    assert rng.bit_generator.state == before


def test_an_analyst_is_a_function_of_the_answers():
    analyst = Analyst(asks=(0, 2), moves=((0, 1), (1, 0)))
    assert [analyst(classes) for classes in ([], [0], [1], [1, 0], [1, 1])] == [0, 0, 2, 2, 0]
    assert Analyst.read(analyst.written()) == analyst


@pytest.mark.parametrize(("queries", "classes", "states"), [(2, 2, 1), (2, 2, 2), (4, 3, 3)])
def test_the_listed_strategies_are_different_and_of_their_size(queries, classes, states):
    found = all_analysts(queries=queries, classes=classes, states=states)
    assert len(set(found)) == len(found)
    assert {analyst.asks for analyst in found if len(analyst.asks) == 1} == {
        (query,) for query in range(queries)
    }
    for analyst in found:
        assert all(0 <= one < queries for one in analyst.asks)
        assert all(0 <= to < len(analyst.asks) for row in analyst.moves for to in row)
        assert {len(row) for row in analyst.moves} == {classes}


def test_all_strategies_of_two_states_are_listed():
    # 2 of one state, and 2^2 queries times 2^4 ways to move.
    assert len(all_analysts(queries=2, classes=2, states=2)) == 2 + 4 * 16


def count_of_ones(data):
    return float(sum(data))


def held(length=4, query_epsilon=1.0):
    """A sparse vector with one positive; the analyst chooses between a count and its negative."""
    core = sparse_vector_interaction(
        threshold=2.0, sensitivity=1.0, threshold_epsilon=0.5, query_epsilon=query_epsilon
    )
    return session_mechanism(
        core, data=Rows(row=Interval(low=0, high=1, integer=True)),
        queries=(count_of_ones, lambda data: 4.0 - sum(data)), epsilon=1.5,
        relation="add-remove", length=length, states=2,
    )  # fmt: skip


def test_outputs_stop_where_the_session_is_over():
    mechanism = held(length=6)
    ended = 0
    for seed in range(40):
        told = mechanism.run([[1, 1, 1], [[0, 1], [[1, 0], [0, 0]]]], np.random.default_rng(seed))
        above = np.flatnonzero(told[:, 1] == 1)
        if above.size:
            ended += 1
            assert np.isnan(told[above[0] + 1 :]).all()
        assert not np.isnan(told[: above[0] + 1 if above.size else 6]).any()
    assert ended


def test_an_analyst_of_a_closed_session_is_told_nothing():
    never = Interaction(start=lambda d, r: None, answer=lambda s, q, r: (s, 0), over=lambda s: True)
    told = play(
        [[1], Analyst(asks=(0,), moves=((0, 0),)).written()], np.random.default_rng(0),
        opened=partial(Session, never), queries=(0,), length=3, cuts=(0.5,),
    )  # fmt: skip
    assert np.isnan(told).all()


class Memory:
    """A user's own session that answers with noise until it has answered twice the same query,

    and then without: only an analyst who asks twice can see it.
    """

    def __init__(self, data, rng):
        self.data, self.rng, self.asked = data, rng, set()

    def ask(self, query):
        noise = 0.0 if query in self.asked else self.rng.laplace(scale=2.0)
        self.asked.add(query)
        return sum(self.data) + noise


@pytest.mark.quality
def test_a_users_own_session_is_refuted_by_an_analyst_who_asks_again():
    mechanism = session_mechanism(
        Memory, data=Rows(row=Interval(low=0, high=1, integer=True), max_size=4),
        queries=("a", "b"),
        epsilon=1.0, relation="add-remove", length=2, cuts=(1.0,), states=2,
    )  # fmt: skip
    result = audit(mechanism, trials=4000, precision=None)
    assert result.verdict is Verdict.REFUTED
    (data, one), (other, two) = result.pair.database, result.pair.neighbour
    assert one == two
    assert abs(len(data) - len(other)) == 1


@pytest.mark.quality
def test_the_sparse_vector_session_stands_and_half_its_noise_does_not():
    assert audit(held(), trials=3000, precision=None).verdict is not Verdict.REFUTED
    assert audit(held(query_epsilon=40.0), trials=20_000, precision=None).refuted


@pytest.mark.quality
def test_the_pmw_session_stands_against_all_analysts():
    mechanism = session_mechanism(
        pmw_interaction(accuracy=0.4, noise_epsilon=0.25, updates=2),
        data=Histogram(bins=3, total=10),
        queries=([1, 0, 0], [0, 1, 0], [1, 1, 0]), epsilon=2.0, relation="replace-one", length=4,
        cuts=(0.3,), states=2,
    )  # fmt: skip
    assert audit(mechanism, trials=2000, precision=None).verdict is not Verdict.REFUTED


@pytest.mark.parametrize(
    ("database", "said"),
    [
        (None, r"must be \[data, strategy\], got None"),
        ([[6, 3, 0]], "must be"),
        ([[6, 3, 0], [1, 2]], r"a strategy must be \[asks, moves\]"),
        ([[6, 3], [[0], [[0, 0]]]], "session: the database must be a list of 3 counts"),
        ([[6, 2.5, 0.5], [[0], [[0, 0]]]], "session: count 1 must be a whole number"),
    ],
)
def test_a_session_refuses_strangers_before_it_draws(database, said):
    mechanism = session_mechanism(
        pmw_interaction(accuracy=0.4, noise_epsilon=0.25, updates=2),
        data=Histogram(bins=3, total=9), queries=([1, 0, 0],), epsilon=2.0, relation="replace-one",
    )  # fmt: skip
    generator = np.random.default_rng(0)
    state = generator.bit_generator.state
    with pytest.raises(ValueError, match=said):
        mechanism(database, generator)
    assert generator.bit_generator.state == state


def test_what_cannot_be_asked_is_said():
    with pytest.raises(InvalidArgument, match="at least one query"):
        session_mechanism(PMW, data=Histogram(bins=4, total=9), queries=(), epsilon=1.0,
                          relation="replace-one")  # fmt: skip
    with pytest.raises(InvalidArgument, match="relation must be"):
        session_mechanism(PMW, data=Histogram(bins=4, total=9), queries=(1,), epsilon=1.0,
                          relation="beside")  # fmt: skip
    with pytest.raises(ValueError, match="one privacy claim"):
        cost_of(held())


SESSIONS = ("sparse-vector-session", "budgeted-stream", "pmw-session")
UNSCALED = "sparse-vector-session-unscaled-noise"


@pytest.mark.long
@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_of_the_catalogue_follows_its_density(name):
    assert not follows_law(CATALOGUE.entry(name), draws=4000, seed=1).refuted


@pytest.mark.slow
def test_a_density_of_other_noise_is_found_out():
    broken = NEGATIVE_CONTROLS.entry(UNSCALED).mechanism
    lying = replace(broken, log_probability=SPARSE_VECTOR_SESSION.log_probability)
    assert follows_law(lying, draws=20_000, seed=1).refuted


@pytest.mark.parametrize("name", SESSIONS)
def test_a_density_is_0_for_what_another_analyst_would_hear(name):
    rng = np.random.default_rng(0)
    # Of draws of one analyst the density of another's transcripts is 0 unless he asks the same.
    mechanism = CATALOGUE.entry(name)
    one = mechanism.claims[0].examples[0][0]
    drawn = np.array([mechanism(one, rng) for _ in range(50)])
    assert np.isfinite(mechanism.log_probability(one, drawn)).all()
    other = [one[0], Analyst.scripted(0).written()]
    logs = mechanism.log_probability(other, drawn)
    asks_the_same = [(row[~np.isnan(row[:, 0]), 0] == 0).all() for row in drawn]
    assert (np.isfinite(logs) <= asks_the_same).all()


def test_transcripts_of_a_sparse_vector_session_have_probability_1():
    database = SPARSE_VECTOR_SESSION.claims[0].examples[1][0]
    analyst = Analyst.read(database[1])
    outputs = []
    for bits in product((0, 1), repeat=6):
        row, told = np.full((6, 2), np.nan), []
        for step, bit in enumerate(bits):
            row[step] = analyst(told), bit
            told.append(bit)
            if sum(told) == 3:
                break
        outputs.append(row)
    outputs = np.unique(np.nan_to_num(outputs, nan=-1).reshape(-1, 12), axis=0)
    outputs = np.where(outputs < 0, np.nan, outputs).reshape(-1, 6, 2)
    total = np.exp(SPARSE_VECTOR_SESSION.log_probability(database, outputs)).sum()
    assert total == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("name", SESSIONS)
def test_the_cost_of_a_record_is_nearly_reached_at_named_outputs(name):
    claim = CATALOGUE.entry(name).claims[0]
    density = CATALOGUE.entry(name).log_probability
    logs = np.array([
        [density(side, output) for side in pair]
        for pair in claim.examples
        for output in claim.outputs
    ]).reshape(-1, 2)  # fmt: skip
    possible = logs[np.isfinite(logs).all(axis=1)]
    known = (possible[:, 0] - possible[:, 1]).tolist()
    assert max(known, default=0) <= claim.epsilon + 1e-9
    if name == "pmw-session":
        assert max(known) == pytest.approx(claim.epsilon, rel=0.04)


def test_what_multiplicative_weights_learnt_is_told_by_the_transcript():
    # After one update for element 0 the next public answer is that of the stated rate.
    steps = np.array([[0, 0.9], [1, 1 / (2 + np.exp(0.05))]])
    shares = public_shares(steps, accuracy=0.4)
    assert shares[1] == pytest.approx(shares[2])
    assert shares[2] @ [1, 0, 0] == pytest.approx(np.exp(0.05) / (2 + np.exp(0.05)))


def test_a_slow_session_breaks_the_promise_to_learn():
    rng = np.random.default_rng(0)
    for entry, broken in ((PMW_SESSION, False), (SLOW_SESSION.mechanism, True)):
        claim = entry.claims[1]
        lost = []
        for database in claim.databases:
            drawn = np.array([entry(database, rng) for _ in range(40)])
            losses = claim.loss(database, drawn)
            lost.append(bool((losses >= claim.bound(claim.levels[0])).all()))
        assert any(lost) == broken


@pytest.mark.quality
@pytest.mark.parametrize(
    "name", [UNSCALED, "budgeted-stream-charged-afterwards", "pmw-session-slow"]
)
def test_a_broken_session_of_the_catalogue_is_refuted(name):
    control = NEGATIVE_CONTROLS.entry(name)
    assert check(control, trials=50_000, seed=0).refuted
