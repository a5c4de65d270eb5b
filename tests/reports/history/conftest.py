"""Results in the form of an evidence file, made by hand."""

import pytest

from dpwitness.reports.history.entry import entries_of
from dpwitness.reports.history.store import open_store


def a_result(hits=((60, 20), (120, 40)), *, seed=0, source="5" * 32, mechanism="noisy", **changes):
    """An audit that refuted nothing, judged on chunks of 100, 200, ... draws a side."""
    counts = [
        {
            "stage": "attempt",
            "chunk": number,
            "event": {"kind": "half-line", "threshold": 0.5, "upper": True},
            "reversed": False,
            "hits": list(both),
            "trials": [100 * 2**number] * 2,
            "predicted": 1.0,
            "spread": 0.1,
            "rates": [0.6, 0.2],
        }
        for number, both in enumerate(hits)
    ]
    return {
        "mechanism": mechanism,
        "target": "file.py:noisy",
        "claim": {"kind": "privacy", "epsilon": 1.0, "delta": 0.0, "relation": "replace-one",
                  "distance": 1, "reference": ""},
        "verdict": "not_refuted",
        "epsilon_lower": 0.7,
        "detectable_epsilon": "inf",
        "pair": {"database": [0], "neighbour": [1]},
        "evidence": {"alpha": 1e-3, "counts": counts},
        "draws": 600,
        "seed": seed,
        "seconds": 0.25,
        "seeded": True,
        "note": "",
        "source": source,
        **changes,
    }  # fmt: skip


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
