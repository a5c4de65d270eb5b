"""Every case of benchmarks/real, each version in an environment of its own.

    pytest -m real tests/real/test_corpus.py

Makes the environments with pip in a temporary folder, or in DPWITNESS_REAL_ENVIRONMENTS. A sound
case is refuted with probability at most 1e-3; the seed is fixed, but most libraries draw from
the operating system.
"""

import os
import sys
from math import inf
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks" / "real"))
import audits
import known

pytestmark = pytest.mark.real


@pytest.fixture(scope="session")
def environments(tmp_path_factory):
    given = os.environ.get("DPWITNESS_REAL_ENVIRONMENTS")
    return Path(given) if given else tmp_path_factory.mktemp("environments")


CASES = list(known.cases())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_case_gets_the_verdict_it_deserves(case, environments):
    found = audits.audited(case, environments, 20_000, 0)
    assert found["verdict"] == case["wanted"], found
    if case["wanted"] == "refuted":
        assert found["epsilon_lower"] >= case["hand"] / 2
        assert audits.records(found) <= case.get("hand_records", inf)
