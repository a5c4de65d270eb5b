"""Audits end to end: the same bits everywhere, every kind of output, and honest refusals.

Seeds are fixed, so every assertion here is about one fixed computation. That a sound mechanism
is not refuted has probability at least 1 - 1e-3 over seeds, and each seed below is the default.
"""

import json
from dataclasses import dataclass, replace
from functools import partial
from math import e, inf

import numpy as np
import pytest
from hypothesis import strategies as st

from dpwitness import (
    ContractError,
    InvalidArgument,
    Pair,
    UnsupportedClaim,
    Verdict,
    audit,
    audit_claims,
    estimate,
)
from dpwitness.auditors.evidence.conversion import record_of
from dpwitness.auditors.privacy.replay import recount
from dpwitness.mechanisms.catalogue import NEGATIVE_CONTROLS
from dpwitness.mechanisms.model import Interval, Mechanism, PrivacyClaim, Relation, Rows
from dpwitness.mechanisms.noise.laplace import LAPLACE
from dpwitness.mechanisms.noise.randomized_response import RANDOMIZED_RESPONSE
from dpwitness.reports.faces.wording import headline, story


def essence(result):
    return result.verdict, result.epsilon_lower, result.evidence, result.witness, result.pair


def scalar(database, rng):
    """Randomized response at epsilon 1, one draw a call."""
    return database if rng.random() < e / (1 + e) else 1 - database


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_the_number_of_workers_changes_nothing(epsilon):
    options = {"pair": (0, 1), "epsilon": epsilon, "trials": 6000}
    assert essence(audit(scalar, **options)) == essence(audit(scalar, workers=2, **options))


@pytest.mark.parametrize("ask", [audit, audit_claims, partial(estimate)])
def test_a_pair_beside_databases_is_refused(ask):
    stated = {} if isinstance(ask, partial) else {"epsilon": 1.0}
    with pytest.raises(InvalidArgument, match="exclude each other"):
        ask(scalar, relation="replace-one", pair=(0, 1), databases=st.integers(0, 1), **stated)


@pytest.mark.long
def test_the_seed_decides_everything():
    one, two, other = (audit(LAPLACE, trials=4000, seed=seed) for seed in (1, 1, 2))
    assert essence(one) == essence(two)
    assert one.evidence.counts != other.evidence.counts


@dataclass
class Answer:
    value: float
    ok: bool


LEAKS = {
    "string": lambda d, rng: "yes" if rng.random() < 0.2 + 0.6 * d else "no",
    "none": lambda d, rng: None if d and rng.random() < 0.5 else 1.5,
    "nan": lambda d, rng: float("nan") if d and rng.random() < 0.5 else 0.0,
    "minus zero": lambda d, rng: -0.0 if d and rng.random() < 0.5 else 0.0,
    "infinity": lambda d, rng: inf if d and rng.random() < 0.5 else 0.0,
    "tuple": lambda d, rng: (1,) * (1 + int(d and rng.random() < 0.5)),
    "dict": lambda d, rng: {"a": rng.random(), "b": d} if rng.random() < 0.5 else {"a": 1.0},
    "dataclass": lambda d, rng: Answer(rng.random() + d, True),
    "bytes": lambda d, rng: b"x" if rng.random() < 0.2 + 0.6 * d else b"y",
    "array": lambda d, rng: rng.laplace(size=3) + np.array([0, 3 * d, 0]),
    "nested": lambda d, rng: [("a", [rng.laplace() + 5 * d]), None],
    "big integer": lambda d, rng: 2**70 + (d if rng.random() < 0.5 else 0),
    "complex": lambda d, rng: complex(0, d) if rng.random() < 0.5 else 0j,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", LEAKS)
def test_a_leak_is_found_in_every_kind_of_output(kind):
    result = audit(LEAKS[kind], pair=(0, 1), epsilon=0.5, trials=20_000)
    assert result.verdict is Verdict.REFUTED
    assert result.evidence.decided_after < 2000
    assert "output" in result.witness.event.describe()


def bits(d, rng, size):
    return (rng.random(size) < 0.2 + 0.6 * d).astype(int)


def shifted(d, rng, size):
    return rng.laplace(size=size) + 4 * d


VECTORISED = {
    "struct of arrays": lambda d, rng, *, size=None: (rng.random(size), shifted(d, rng, size)),
    "dict of arrays": lambda d, rng, *, size=None: {"x": shifted(d, rng, size)},
    "strings": lambda d, rng, *, size=None: np.array(["a", "b"])[bits(d, rng, size)],
    "objects": lambda d, rng, *, size=None: np.array([None, "b"], object)[bits(d, rng, size)],
    "records": lambda d, rng, *, size=None: np.rec.fromarrays([shifted(d, rng, size)], names="x"),
    "matrix": lambda d, rng, *, size=None: shifted(d, rng, (size, 2, 2)),
    "list": lambda d, rng, *, size=None: [None if bit else 1 for bit in bits(d, rng, size)],
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", VECTORISED)
def test_a_leak_is_found_in_every_vectorised_form(kind):
    result = audit(VECTORISED[kind], pair=(0, 1), epsilon=0.5, trials=20_000)
    assert result.verdict is Verdict.REFUTED


class HasEverything:
    """A function of (database, rng) that answers for every attribute, as a proxy does."""

    def __call__(self, database, rng):
        return scalar(database, rng)

    def __getattr__(self, name):
        return self


def test_what_a_mechanism_says_of_its_attributes_is_no_claim_and_no_signature():
    result = audit(HasEverything(), pair=(0, 1), epsilon=1.1, relation="replace-one", trials=2000)
    assert result.verdict is Verdict.PROVED
    assert result.mechanism == "mechanism"


@pytest.mark.long
def test_delta_counts():
    """P[1] = e 0.2 + 0.05 against 0.2: (1, 0.05) holds exactly, (1, 0.01) does not."""

    def bit(database, rng, *, size=None):
        return rng.random(size) < (0.2, 0.2 * e + 0.05)[database]

    options = {"pair": (0, 1), "epsilon": 1.0, "trials": 200_000}
    assert not audit(bit, delta=0.05, **options).refuted
    assert audit(bit, delta=0.01, **options).refuted


def test_group_distance_scales_the_claim():
    """Laplace noise for one record, audited three records apart, loses 3 epsilon and no more."""
    result = audit(LAPLACE, pair=([], [1, 1, 1]), distance=3, trials=50_000)
    assert result.verdict is Verdict.NOT_REFUTED
    assert result.epsilon_lower > 0.8
    with pytest.raises(InvalidArgument, match="3 steps of add-remove"):
        audit(LAPLACE, pair=([], [1, 1, 1]), distance=2, trials=50_000)


@pytest.mark.long
def test_both_orders_of_the_pair_are_tested():
    leak = LEAKS["none"]
    for pair in ((0, 1), (1, 0)):
        witness = audit(leak, pair=pair, epsilon=1.0, trials=20_000).witness
        assert (witness.database, witness.neighbour) == (1, 0)


@pytest.mark.long
def test_a_strategy_of_databases_or_of_pairs_is_searched():
    def count(database, rng, *, size=None):
        return len(database) * 3 + rng.laplace(size=size)

    databases = st.lists(st.integers(0, 9), max_size=5)
    result = audit(count, epsilon=1.0, relation="add-remove", databases=databases, trials=20_000)
    assert sorted(map(len, (result.witness.database, result.witness.neighbour))) == [0, 1]
    pairs = st.builds(lambda n: Pair([0] * n, [0] * (n + 1)), st.integers(0, 5))
    result = audit(count, epsilon=1.0, relation="add-remove", databases=pairs, trials=20_000)
    assert sorted(map(len, (result.witness.database, result.witness.neighbour))) == [0, 1]


def test_too_few_draws_are_inconclusive_not_reassuring():
    result = audit(LAPLACE, pair=([], [1]), trials=40)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert "too few" in result.note


def test_running_out_of_time_is_inconclusive():
    import time

    def slow(database, rng):
        time.sleep(0.002)
        return database + rng.laplace()

    result = audit(slow, pair=(0, 1), epsilon=1.0, seconds=0.4)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.note


@pytest.mark.long
def test_unseeded_mechanisms_are_audited():
    system = np.random.default_rng()

    def draw(database, rng):
        return database * 9 + system.laplace()

    with pytest.raises(ContractError, match="keeps state"):
        audit(draw, pair=(0, 1), epsilon=1.0)
    result = audit(draw, pair=(0, 1), epsilon=1.0, seeded=False, trials=5000)
    assert result.refuted
    assert not result.seeded


def test_state_that_shows_late_is_found():
    calls = [0]

    def tired(database, rng):
        calls[0] += 1
        return rng.random() if calls[0] < 500 else 0.0

    with pytest.raises(ContractError, match="state"):
        audit(tired, pair=(0, 1), epsilon=1.0, trials=2000)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"epsilon": -1.0}, "epsilon must be"),
        ({"epsilon": inf}, "epsilon must be"),
        ({"epsilon": 1.0, "delta": 1.5}, "delta must be"),
        ({"epsilon": 1.0, "distance": 0}, "distance must be"),
        ({"epsilon": 1.0, "trials": 0}, "trials must be"),
        ({"epsilon": 1.0, "alpha": 0.7}, "alpha must be"),
        ({"epsilon": 1.0, "seed": -1}, "seed must be"),
        ({"epsilon": 1.0, "workers": 0}, "workers must be"),
        ({"epsilon": 1.0, "seconds": 0}, "seconds must be"),
        ({"epsilon": 1.0, "relation": "nearby"}, "add-remove or replace-one"),
    ],
)
def test_impossible_requests_are_refused_with_a_sentence(options, sentence):
    with pytest.raises(InvalidArgument, match=sentence):
        audit(scalar, pair=(0, 1), **options)


def test_what_is_missing_is_named():
    with pytest.raises(UnsupportedClaim, match="epsilon="):
        audit(scalar, pair=(0, 1))
    with pytest.raises(InvalidArgument, match="databases="):
        audit(scalar, epsilon=1.0, relation="replace-one")
    with pytest.raises(InvalidArgument, match="relation="):
        audit(scalar, epsilon=1.0, databases=st.integers())
    with pytest.raises(InvalidArgument, match="function"):
        audit(3, epsilon=1.0, pair=(0, 1))


@pytest.mark.long
def test_alpha_is_shared_by_the_claims_of_one_call():
    from dataclasses import replace

    claim = RANDOMIZED_RESPONSE.claims[0]
    both = replace(RANDOMIZED_RESPONSE, claims=(claim, replace(claim, epsilon=2.0)))
    results = audit_claims(both, trials=2000, alpha=0.01)
    assert [result.evidence.alpha for result in results] == [0.005, 0.005]
    with pytest.raises(InvalidArgument, match="audit_claims"):
        audit(both)


def test_a_constant_mechanism_is_not_refuted():
    result = audit(lambda d, rng: 0, pair=(0, 1), epsilon=0.0, trials=2000)
    assert not result.refuted


def nested(value, depth):
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.long
@pytest.mark.parametrize(
    ("run", "why"),
    [
        (lambda database, rng: None, "return statement"),
        (lambda database, rng: float("nan"), "NaN"),
        (lambda database, rng: "".join(map(chr, rng.integers(97, 123, 20))), "read"),
    ],
)
def test_what_nobody_can_read_is_inconclusive_and_says_so_first(run, why):
    result = audit(run, epsilon=1.0, pair=([], [1]), trials=4000)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert why in headline(result)
    assert why not in "".join(text for label, text in story(result) if label == "note")
    assert recount(run, record_of(result)).same


@pytest.mark.long
def test_a_leak_is_found_at_any_depth():
    result = audit(
        lambda database, rng: nested(len(database) + rng.integers(2), 50),
        epsilon=1.0, pair=([], [1]), trials=4000,
    )  # fmt: skip
    assert result.refuted


@pytest.mark.slow
def test_the_pairs_a_claim_names_are_searched_where_they_are_neighbours():
    rare = list(range(40, 60))

    def leaks(database, rng, *, size=None):
        return rng.random(size) < (0.9 if database == rare else 0.1)

    claim = PrivacyClaim(epsilon=0.5, relation=Relation.ADD_REMOVE, examples=((rare[1:], rare),))
    domain = Rows(row=Interval(low=0, high=99, integer=True))
    mechanism = Mechanism(name="leaks", run=leaks, claims=(claim,), databases=domain)
    assert audit(mechanism, trials=4000).verdict is Verdict.REFUTED
    silent = replace(mechanism, claims=(replace(claim, examples=()),))
    for other in (
        audit(silent, trials=4000),
        # Neither databases of the caller's nor another relation need have that pair.
        audit(mechanism, trials=4000, databases=Rows(row=Interval(low=0, high=9))),
        audit(mechanism, trials=4000, relation="replace-one"),
        audit(mechanism, trials=4000, distance=2),
    ):
        assert other.verdict is Verdict.NOT_REFUTED


@pytest.mark.long
def test_the_repr_is_the_verdict_in_a_line():
    naive = next(c for c in NEGATIVE_CONTROLS if c.mechanism.name == "EM-NAIVE")
    result = audit(naive, trials=20_000)
    assert repr(result).startswith("<EM-NAIVE: epsilon 1 refuted, epsilon >= 1.")
    assert "\n" not in repr(result)
    assert "passed" not in repr(audit(LAPLACE, trials=5000))
    json.dumps(result.plan)


def raw_cell(table, rng):
    """Noisy totals by group, and beside them one cell as it stands in the data."""
    found = table.groupby("sex")["age"].sum().reindex(["F", "M"], fill_value=0).to_frame("total")
    return (found + rng.laplace(scale=100, size=(2, 1))).assign(first=table["age"].iloc[0])


def in_the_index(table, rng):
    import pandas as pd

    return pd.Series(len(table) + rng.laplace(scale=2, size=2), index=["n", table["age"].max()])


def in_the_dtype(table, rng):
    import pandas as pd

    noisy = pd.Series(rng.integers(0, 3, size=2))
    return noisy.astype(float) if (table["age"] > 50).any() else noisy


@pytest.mark.long
@pytest.mark.parametrize("leak", [raw_cell, in_the_index, in_the_dtype])
def test_a_raw_cell_of_a_table_costs_few_draws_where_only_the_verdict_is_wanted(leak):
    """Search, the smaller pair and its count included: table functions are slow."""
    import pandas as pd

    rows = st.lists(st.tuples(st.sampled_from("FM"), st.integers(0, 100)), min_size=1, max_size=8)
    tables = rows.map(lambda found: pd.DataFrame(found, columns=["sex", "age"]))
    # How a column is stored is a matter of types.
    attacker = "types" if leak is in_the_dtype else "values"
    result = audit(
        leak, epsilon=1, relation="replace-one", databases=tables, precision=None,
        attacker=attacker,
    )  # fmt: skip
    assert result.refuted
    assert result.draws < 2000
    assert len(result.witness.database) == 1
    assert result.draws > 2 * result.evidence.decided_after


class Reluctant(list):
    """A list that does not say how long it is."""

    def __len__(self):
        raise ValueError("ask me not")


@pytest.mark.long
@pytest.mark.parametrize("make", ["sparse", "reluctant"])
@pytest.mark.parametrize("seeded", [True, False])
def test_databases_that_refuse_to_say_their_length_are_searched(make, seeded):
    from scipy import sparse

    rows = st.lists(st.integers(0, 9), min_size=1, max_size=4)
    whole = {"sparse": lambda x: sparse.csr_matrix([[row] for row in x]), "reluctant": Reluctant}
    databases = st.tuples(rows, st.integers(0, 9)).map(
        lambda found: Pair(*(whole[make](side) for side in (found[0], [*found[0][1:], found[1]])))
    )
    result = audit(
        lambda database, rng: float(sum(map(np.sum, database)) + rng.laplace()),
        epsilon=1, relation="declared", databases=databases, seeded=seeded, trials=2000,
        precision=None,
    )  # fmt: skip
    assert result.refuted
