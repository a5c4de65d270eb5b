"""Types are judged by who asks for them: a leak of the type alone is told and refutes nothing."""

from decimal import Decimal

import numpy as np
import pytest

from dpwitness import InvalidArgument, Verdict, audit, replay
from dpwitness.auditors.attackers.seen import through_types
from dpwitness.auditors.evidence.conversion import record_of
from dpwitness.auditors.privacy.rerun import recheck
from dpwitness.auditors.privacy.run import TYPES
from dpwitness.mechanisms.model import Mechanism

EMPTY, ONE = np.array([]), np.array([1.0])


def builtin_sum(database, rng):
    return sum(database) + rng.laplace()


def mean_or_zero(database, rng):
    return 0 if len(database) == 0 else np.float64(0.0)


def counted(database, rng):
    noise = int(rng.geometric(0.5)) - int(rng.geometric(0.5))
    return (len(database) or np.int64(0)) + noise


def any_large(database, rng):
    answer = len(database) > 0 and np.float64(database[0]) > 5
    return answer if rng.random() < 0.7 else not answer


def nested(database, rng):
    return {"total": [sum(database) + rng.laplace()], "count": 3}


def clamped(database, rng):
    return max(0, float(sum(database)) + float(rng.laplace()))


def mixed_decimal(database, rng):
    return max(0, round(float(sum(database)) + float(rng.laplace()), 2))


def asked(run, attacker="values"):
    return audit(run, epsilon=1.0, pair=(EMPTY, ONE), trials=4000, attacker=attacker, exact=False)


@pytest.mark.slow
@pytest.mark.parametrize("run", [builtin_sum, mean_or_zero, nested, counted, any_large])
def test_where_only_the_type_differs_values_are_not_refuted_and_types_are(run):
    values, types = asked(run), asked(run, "types")
    assert values.verdict is Verdict.NOT_REFUTED
    assert TYPES in values.note
    assert "float(x)" in values.note
    assert types.verdict is Verdict.REFUTED
    assert "types" in types.witness.event.describe()
    assert types.target.startswith("types=")
    for result in (values, types):
        (again,) = replay(result, run)
        assert again.same, again.differences


@pytest.mark.long
@pytest.mark.parametrize("run", [clamped, mixed_decimal])
def test_a_type_that_follows_from_the_value_is_no_leak(run):
    """`max(0, x)` is an int exactly where it clamps."""
    for attacker in ("values", "types"):
        result = asked(run, attacker)
        assert result.verdict is Verdict.NOT_REFUTED
        assert TYPES not in result.note


@pytest.mark.long
def test_values_are_judged_whatever_the_types_are():
    def leaks(database, rng):
        return Decimal(len(database)) if rng.random() < 0.5 else len(database)

    assert asked(leaks).refuted


@pytest.mark.long
def test_a_witness_of_types_is_counted_again_by_their_attacker():
    result = asked(builtin_sum, "types")
    again = recheck(
        builtin_sum, record_of(result), claims=(result.claim,), trials=4000, alpha=1e-3, seed=7
    )
    assert again.refuted
    assert again.mechanism == result.mechanism


def test_who_looks_twice_sees_once():
    seen = through_types(Mechanism(name="sum", run=builtin_sum))
    assert through_types(seen) is seen


def test_an_attacker_that_is_none_is_refused():
    with pytest.raises(InvalidArgument, match="values, bits or types"):
        asked(builtin_sum, "clock")
