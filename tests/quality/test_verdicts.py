"""Does the tool find what it should, and nothing else, at its default budget?"""

import pytest

from dpwitness.auditors import Verdict, audit
from dpwitness.mechanisms import CATALOGUE
from dpwitness.mechanisms.broken import NEGATIVE_CONTROLS

pytestmark = pytest.mark.quality

# The seeds are fixed so that a run can be repeated. A sound mechanism is refuted by luck with
# probability at most alpha = 1e-3 for one seed; this seed was not chosen, it is the default.

SMALLEST = {
    "EM-NAIVE": ([0, 0], [0, 1]),
    "EM-DDR": ([], [0]),
    "laplace-understated-sensitivity": ([], [2]),
    "laplace-shared-noise": ([], [0]),
    "laplace-one-sided-noise": ([], [0]),
    "laplace-inverted-scale": ([], [1]),
    "geometric-truncated-to-data": ([], [0]),
    "randomized-response-too-honest": ("no", "yes"),
    "laplace-empty-database-unnoised": ([], [0]),
}
"""The smallest pair on which the defect shows beyond doubt, in either order."""


@pytest.mark.parametrize("mechanism", CATALOGUE, ids=lambda m: m.name)
def test_sound_mechanisms_are_not_refuted(mechanism):
    result = audit(mechanism)
    assert result.verdict is Verdict.NOT_REFUTED
    assert result.epsilon_lower <= result.claim.epsilon
    assert result.detectable_epsilon < 1.2 * result.claim.epsilon


@pytest.mark.parametrize("control", NEGATIVE_CONTROLS, ids=lambda c: c.mechanism.name)
def test_negative_controls_are_refuted(control):
    result = audit(control.mechanism)
    assert result.verdict is Verdict.REFUTED
    assert result.epsilon_lower > result.claim.epsilon
    witness = result.witness
    assert witness is not None
    expected = SMALLEST.get(control.mechanism.name)
    if expected is not None:
        found = {str(unordered(witness.database)), str(unordered(witness.neighbour))}
        assert found == {str(unordered(database)) for database in expected}


def unordered(database):
    """The order of the rows means nothing to these mechanisms."""
    return sorted(database) if isinstance(database, list) else database
