from dataclasses import replace
from math import pi

import numpy as np
import pytest

from dpwitness import HarnessError, InvalidArgument, Verdict, check, check_purity
from dpwitness.auditors.claims import check as theorems
from dpwitness.auditors.claims.claim_results import Finding
from dpwitness.mechanisms.catalogue import CATALOGUE, NEGATIVE_CONTROLS
from dpwitness.mechanisms.model import (
    BrokenStatement,
    IdentityClaim,
    Interval,
    InvariantClaim,
    Parameter,
    PrivacyClaim,
    Subject,
    Theorem,
)
from dpwitness.mechanisms.noise.laplace import LAPLACE


def circle(sides: float = 1000, digits: float = 2) -> Subject:
    """The perimeter of a polygon in a circle is nearly pi."""
    return Subject(
        claim=IdentityClaim(
            compute=lambda: sides * np.sin(pi / sides), stated=pi, tolerance=10**-digits
        )
    )


THEOREM = Theorem(
    identifier="PI",
    statement="polygons approach the circle",
    reference="Archimedes",
    subject=circle,
    parameters={
        "sides": Parameter(
            default=1000, within=Interval(low=3, high=1e6, integer=True), meaning="number of sides"
        ),
        "digits": Parameter(default=2, within=Interval(low=0, high=9), meaning="digits"),
    },
)


def test_a_theorem_at_its_defaults_and_elsewhere():
    result = check(THEOREM)
    assert result.verdict is Verdict.PROVED
    assert (result.identifier, result.kind) == ("PI", "identity")
    assert result.statement == "polygons approach the circle"
    assert result.reference == "Archimedes"
    assert result.finding.exact == pytest.approx(pi, abs=1e-4)
    assert result.finding.sampled is None
    assert check(THEOREM, parameters={"sides": 4}).refuted


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"corners": 3}, "no parameter 'corners'; it has: digits, sides"),
        ({"sides": 2}, "a whole number from 3 to 1e\\+06, got 2"),
        ({"sides": 3.5}, "a whole number"),
        ({"digits": -1}, "from 0 to 9"),
    ],
)
def test_parameters_outside_the_theorem_are_refused(parameters, message):
    with pytest.raises(InvalidArgument, match=message):
        check(THEOREM, parameters=parameters)


def test_only_theorems_have_parameters():
    with pytest.raises(InvalidArgument, match="only a theorem"):
        check(circle(), parameters={"sides": 4})


@pytest.mark.long
def test_a_broken_statement_and_a_negative_control():
    claim = InvariantClaim(cases=Interval(low=-1, high=1), margin=lambda x: 0.5 - x)
    broken = BrokenStatement(identifier="MUT-X", claim=claim, defect="half the range")
    result = check(broken, trials=10_000)
    assert result.refuted
    assert (result.identifier, result.finding.witness) == ("MUT-X", 1.0)
    naive = next(c for c in NEGATIVE_CONTROLS if c.mechanism.name == "EM-NAIVE")
    assert check(naive, trials=20_000).finding.sampled is Verdict.REFUTED


@pytest.mark.parametrize("mechanism", CATALOGUE[:5], ids=lambda m: m.name)
def test_utility_claims_of_the_catalogue(mechanism):
    for claim in (one for one in mechanism.claims if not isinstance(one, PrivacyClaim)):
        result = check(Subject(claim=claim, mechanism=mechanism), trials=20_000)
        assert not result.refuted
        assert result.kind == "utility"


def test_a_disagreement_is_an_error_of_the_harness(monkeypatch):
    found = Finding(claimed=0.0, sampled=Verdict.REFUTED, proved=Verdict.PROVED, scope="a universe")
    monkeypatch.setattr(theorems, "audit_identity", lambda claim, budget: found)
    with pytest.raises(HarnessError, match="one of the two is wrong"):
        check(THEOREM)


def test_the_headline_is_the_exact_verdict_where_it_decides():
    for sampled, proved, verdict in (
        (Verdict.NOT_REFUTED, Verdict.PROVED, Verdict.PROVED),
        (Verdict.NOT_REFUTED, Verdict.REFUTED, Verdict.REFUTED),
        (Verdict.REFUTED, Verdict.INCONCLUSIVE, Verdict.REFUTED),
        (Verdict.INCONCLUSIVE, None, Verdict.INCONCLUSIVE),
        (None, None, Verdict.INCONCLUSIVE),
    ):
        assert Finding(claimed=0.0, sampled=sampled, proved=proved).verdict is verdict


def test_purity():
    kept = check_purity(LAPLACE)
    assert kept.verdict is Verdict.NOT_REFUTED
    assert kept.identifier == "T-LAP-3:purity"

    def impure(database, rng, *, size=None):
        return np.random.default_rng().normal(size=size)

    broken = check_purity(replace(LAPLACE, run=impure))
    assert broken.refuted
    assert "randomness from elsewhere" in broken.finding.note
    assert broken.finding.witness is not None
