"""Results made by hand, so that the outward face is tested without sampling."""

from dataclasses import replace
from math import inf

import pytest
from click.testing import CliRunner

from dpwitness.auditors.events.events import Among, HalfLine
from dpwitness.auditors.outputs.features import Feature
from dpwitness.auditors.results.results import (
    AuditResult,
    Count,
    Evidence,
    Learning,
    Sketch,
    Verdict,
    Witness,
)
from dpwitness.mechanisms.model import Pair, PrivacyClaim, Relation
from dpwitness.reports.cli import main

OUTPUT = Feature()
CLAIM = PrivacyClaim(epsilon=1.0, relation=Relation.ADD_REMOVE, reference="Dwork and Roth (2014)")


def a_count(event, hits, trials, **changes):
    made = Count(
        stage="attempt", chunk=7, event=event, reversed=False, hits=hits, trials=trials, level=1e-4
    )
    return replace(made, **changes)


@pytest.fixture(scope="session")
def sound():
    """A result that refutes nothing, judged on two chunks."""
    event = HalfLine(OUTPUT, 1.0, False)
    counts = (
        a_count(event, (500, 184), (1000, 1000)),
        a_count(event, (1000, 368), (2000, 2000), chunk=8, predicted=1.0, spread=0.05),
    )
    sketch = Sketch(
        feature="output",
        edges=(float("-inf"), 0.0, 1.0, 2.0, float("inf")),
        labels=(),
        counts=((10, 40, 40, 10), (5, 20, 45, 30)),
        inside=(True, True, False, False),
    )
    return AuditResult(
        mechanism="laplace",
        target="laplace",
        claim=CLAIM,
        verdict=Verdict.NOT_REFUTED,
        epsilon_lower=0.8712,
        detectable_epsilon=1.21,
        detectable_probability=0.004,
        pair=Pair([0, 1], [0, 1, 1]),
        witness=None,
        alpha=1e-3,
        judged=counts,
        evidence=Evidence(counts=counts, alpha=1e-3, level=9e-4),
        draws=12345,
        seed=7,
        seconds=1.25,
        growth=((1000, 0.7), (3000, 0.8712)),
        power=((0.5, 1.21), (0.01, 2.5), (0.001, inf)),
        learning=Learning(draws=1000),
        gain=0.003,
        sketch=sketch,
        plan={
            "trials": 4000,
            "block": 32768,
            "vectorised": True,
            "trust_rows": False,
            "made_again": True,
            "precision": 0.05,
            "betting": 0.0,
            "rng": ["laplace"],
            "search": "given",
        },
    )


@pytest.fixture(scope="session")
def refuted(sound):
    """A refutation, in which the neighbour as judged is the likelier side."""
    event = Among(OUTPUT, (1,))
    count = a_count(event, (119, 500), (1000, 1000), stage="attempt", chunk=0, reversed=True)
    sketch = Sketch(
        feature="output",
        edges=(),
        labels=("0", "1"),
        counts=((500, 500), (881, 119)),
        inside=(False, True),
    )
    return replace(
        sound,
        mechanism="EM-NAIVE",
        target="EM-NAIVE",
        verdict=Verdict.REFUTED,
        epsilon_lower=1.2345678,
        pair=Pair([0, 0], [0, 1]),
        witness=Witness(database=[0, 1], neighbour=[0, 0], event=event),
        judged=(count,),
        evidence=Evidence(counts=(count,), alpha=1e-3, level=5e-4, decided_after=512),
        growth=(),
        sketch=sketch,
    )


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the command line in an empty folder; gives the exit code and both streams."""
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments, **keywords):
        return CliRunner().invoke(main, [str(argument) for argument in arguments], **keywords)

    return invoke


@pytest.fixture
def engine(monkeypatch):
    """Replace the audit by an answer (results or an exception); gives the calls made."""
    calls = []

    def pretend(answer):
        def audit_claims(mechanism, **options):
            calls.append((mechanism, options))
            if isinstance(answer, BaseException):
                raise answer
            return answer

        monkeypatch.setattr("dpwitness.auditors.privacy.run.audit_claims", audit_claims)
        beside = "dpwitness.reports.auditing.commands.claims_beside"
        monkeypatch.setattr(beside, lambda mechanism: ())
        return calls

    return pretend
