"""A claim that stands beside the code is the claim that is audited."""

import copy
import subprocess
import sys

import pytest
from hypothesis import strategies as st

import dpwitness
from dpwitness import InvalidArgument, Relation
from dpwitness.mechanisms.marks import MARK
from dpwitness.mechanisms.model import carried
from dpwitness.mechanisms.model import claims as reading

AGES = st.lists(st.integers(0, 100), max_size=5)


def noisy(database, rng, *, size=None):
    return sum(database) + rng.laplace(scale=50, size=size)


def test_who_writes_a_mark_and_who_reads_it_have_one_word():
    assert MARK == reading.MARK


def marked(**claim):
    def fresh(database, rng, *, size=None):
        return noisy(database, rng, size=size)

    return dpwitness.claims(**{"relation": "add-remove", "databases": AGES, **claim})(fresh)


def test_the_function_stays_as_it_was_but_for_one_attribute():
    def fresh(database, rng):
        return 0

    before = dict(vars(fresh))
    after = dpwitness.claims(epsilon=1, relation="add-remove")(fresh)
    assert after is fresh
    assert vars(fresh).keys() - before.keys() == {MARK}


@pytest.mark.slow
def test_what_is_marked_is_audited_as_what_is_said():
    plan = {"trials": 3000, "seed": 5}
    told = dpwitness.audit(noisy, epsilon=1, relation="add-remove", databases=AGES, **plan)
    found = dpwitness.audit(dpwitness.claims(epsilon=1, relation="add-remove", databases=AGES)(
        lambda database, rng, *, size=None: noisy(database, rng, size=size)), **plan)  # fmt: skip
    assert found.verdict is told.verdict
    assert found.claim == told.claim


@pytest.mark.parametrize(
    ("claim", "curve"),
    [({"mu": 1.0}, "mu 1"), ({"rho": 0.5}, "rho 0.5"), ({"renyi": [(2.0, 1.0)]}, "Renyi"),
     ({"curve": [(1.0, 0.1), (2.0, 0.0)]}, "curve")],
)  # fmt: skip
def test_every_curve_can_be_claimed(claim, curve):
    (made,) = carried(marked(**claim)).claims
    assert curve in str(made.curve)


def test_stacked_claims_are_all_carried_and_share_their_databases():
    both = dpwitness.claims(epsilon=2, relation="replace-one")(marked(epsilon=1))
    made = carried(both)
    assert [(one.epsilon, one.relation) for one in made.claims] == [
        (2, Relation.REPLACE_ONE), (1, Relation.ADD_REMOVE),
    ]  # fmt: skip
    assert made.databases is AGES
    other = dpwitness.claims(epsilon=2, relation="replace-one", databases=st.just([1]))
    with pytest.raises(InvalidArgument, match="name different databases"):
        dpwitness.audit_claims(other(marked(epsilon=1)))


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ({}, "takes one of epsilon=, mu=, rho=, renyi= and curve=, got none"),
        ({"epsilon": 1, "mu": 1}, "got epsilon and mu"),
        ({"epsilon": 1, "relation": "add-remov"}, "got 'add-remov'"),
    ],
)
def test_a_claim_that_is_none_is_refused_where_it_stands(claim, said):
    with pytest.raises(ValueError, match=said):
        marked(**claim)


def test_a_number_outside_its_range_is_told_in_a_sentence():
    with pytest.raises(InvalidArgument, match="the claims of fresh: epsilon"):
        dpwitness.audit(marked(epsilon=-1))


def test_a_marked_function_travels_without_its_databases():
    (mark,) = getattr(marked(epsilon=1), MARK)
    assert mark.databases is AGES
    sent = copy.copy(mark)  # by way of __reduce__, as pickle does
    assert sent.databases is None
    assert sent.epsilon == 1


def test_marking_loads_nothing_heavy():
    program = (
        "import sys; from dpwitness import claims\n"
        "claims(epsilon=1, relation='add-remove')(lambda database, rng: 0)\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not {"numpy", "hypothesis", "scipy", "click"} & set(done.stdout.split())
