import math

import pytest

from dpwitness.mechanisms.model import Mechanism, PrivacyClaim, Relation


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"epsilon": -1}, "epsilon must be finite and at least 0"),
        ({"epsilon": math.inf}, "epsilon must be finite and at least 0"),
        ({"epsilon": math.nan}, "epsilon must be finite and at least 0"),
        ({"delta": 1}, "delta must be in"),
        ({"delta": -1e-9}, "delta must be in"),
        ({"distance": 0}, "distance must be a whole number"),
        ({"distance": 1.5}, "distance must be a whole number"),
        ({"relation": "add_remove"}, "relation must be one of 'add-remove'"),
    ],
)
def test_claims_outside_the_definition_are_refused(numbers, message):
    with pytest.raises(ValueError, match=message):
        PrivacyClaim(**{"epsilon": 1, "relation": Relation.ADD_REMOVE, **numbers})


def test_a_claim_names_its_relation():
    with pytest.raises(TypeError):
        PrivacyClaim(epsilon=1)
    for relation in Relation:
        assert PrivacyClaim(epsilon=1, relation=relation.value).relation is relation


def test_a_claim_of_perfect_privacy_is_a_claim():
    assert PrivacyClaim(epsilon=0, relation=Relation.REPLACE_ONE).delta == 0


def test_calling_a_mechanism_runs_it():
    mechanism = Mechanism(name="echo", run=lambda database, rng, size=None: (database, size))
    assert mechanism([1], None) == ([1], None)
    assert mechanism([1], None, size=3) == ([1], 3)
