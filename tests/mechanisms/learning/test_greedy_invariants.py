import pytest

from dpwitness.mechanisms.learning.broken_conjunctions import GREATER_SCORE, NO_SHARE_OF_NEGATIVES
from dpwitness.mechanisms.learning.theorems_greedy_conjunctions import THEOREMS
from dpwitness.mechanisms.model import Interval

NAMED = {theorem.identifier: theorem for theorem in THEOREMS}


def default(identifier, **changed):
    theorem = NAMED[identifier]
    values = {name: p.default for name, p in theorem.parameters.items()}
    return theorem.at(**{**values, **changed})


def random_case(claim, rng):
    case = {}
    for name, field in claim.cases.fields.items():
        if isinstance(field, Interval):
            case[name] = int(rng.integers(field.low, field.high + 1))
        else:
            length = rng.integers(field.min_size, field.max_size + 1)
            high = rng.choice([min(1, field.row.high), field.row.high])
            case[name] = rng.integers(field.row.low, high + 1, size=length).tolist()
    return case


def margins(claim, rng, cases=300):
    random = (random_case(claim, rng) for _ in range(cases))
    return [claim.margin(case) for case in (*claim.examples, *random)]


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("identifier", ["SENS", "OPT", "POS", "NEG"])
def test_invariants(identifier, k, rng):
    for dimension in (1, 2, 3):
        claim = default(f"CONJ-P2-{identifier}", dimension=dimension, most_literals=k).claim
        least = min(margins(claim, rng))
        assert least >= -claim.tolerance
        if dimension > 1 and not (identifier == "POS" and dimension < 3):
            assert least == pytest.approx(0, abs=claim.tolerance)


@pytest.mark.parametrize("slack", [1.0, 2.5, 10.0])
def test_invariants_at_other_shortfalls(slack, rng):
    for identifier in ("CONJ-P2-POS", "CONJ-P2-NEG"):
        claim = default(identifier, slack=slack).claim
        assert min(margins(claim, rng, cases=100)) >= -claim.tolerance


@pytest.mark.parametrize(
    "claim",
    [GREATER_SCORE.claim, NO_SHARE_OF_NEGATIVES.claim, default("ERR-PAC-4").claim],
    ids=["MUT-PAC-10", "MUT-PAC-10-SHARE", "ERR-PAC-4"],
)
def test_broken_invariants(claim, rng):
    assert min(claim.margin(case) for case in claim.examples) < -1
    assert min(margins(claim, rng)) < -1


def test_true_is_missing_at_every_dimension():
    for dimension in (1, 2, 4):
        claim = default("ERR-PAC-4", dimension=dimension).claim
        assert min(claim.margin(case) for case in claim.examples) == -(2**dimension)
