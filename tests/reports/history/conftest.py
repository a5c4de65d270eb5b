"""Results made by hand, as the history takes them."""

from math import inf

import pytest

from dpwitness.auditors.events.events import HalfLine
from dpwitness.auditors.outputs.features import Feature
from dpwitness.auditors.results.results import AuditResult, Count, Evidence, Verdict
from dpwitness.mechanisms.model import Pair, PrivacyClaim, Relation
from dpwitness.reports.history.recorder import entries_of
from dpwitness.reports.history.store import open_store


def a_result(hits=((60, 20), (120, 40)), *, seed=0, source="5" * 32, mechanism="noisy", **changes):
    """An audit that refuted nothing, judged on chunks of 100, 200, ... draws a side."""
    counts = tuple(
        Count(
            stage="attempt",
            chunk=number,
            event=HalfLine(Feature(), 0.5, True),
            reversed=False,
            hits=both,
            trials=(100 * 2**number, 100 * 2**number),
            predicted=1.0,
            spread=0.1,
            rates=(0.6, 0.2),
        )
        for number, both in enumerate(hits)
    )
    told = {
        "mechanism": mechanism,
        "target": "file.py:noisy",
        "claim": PrivacyClaim(epsilon=1.0, relation=Relation.REPLACE_ONE),
        "verdict": Verdict.NOT_REFUTED,
        "epsilon_lower": 0.7,
        "detectable_epsilon": inf,
        "detectable_probability": inf,
        "pair": Pair([0], [1]),
        "alpha": 1e-3,
        "judged": counts,
        "evidence": Evidence(counts=counts, alpha=1e-3, level=1e-3),
        "witness": None,
        "draws": 600,
        "seed": seed,
        "seconds": 0.25,
        "source": source,
        **changes,
    }
    return AuditResult(**told)


@pytest.fixture
def result():
    return a_result


@pytest.fixture
def entry():
    def made(run="run-1", test="test_a", **changes):
        return entries_of(run, [a_result(**changes)], [test], "1.0")[0]

    return made


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path)
    yield opened
    opened.close()
