"""Does the tool find what it should, and nothing else, at its default budget?"""

from itertools import pairwise

import pytest

from dpwitness import Verdict, audit_claims
from dpwitness.auditors.bounds.power import refutable_epsilon
from dpwitness.auditors.evidence.derive import two_digits
from dpwitness.mechanisms.catalogue import CATALOGUE, NEGATIVE_CONTROLS
from dpwitness.mechanisms.model import PrivacyClaim, size_lower

pytestmark = pytest.mark.quality

# The seeds are fixed so that a run can be repeated. A sound mechanism is refuted by luck with
# probability at most alpha = 1e-3 for one seed; this seed was not chosen, it is the default.

SMALLEST = {
    "EM-NAIVE": ([0, 0], [0, 1]),
    "EM-DDR": ([], [0]),
    "exponential-overflow": ([], [0]),
    "laplace-understated-sensitivity": ([], [2]),
    "laplace-shared-noise": ([], [0]),
    "laplace-one-sided-noise": ([], [0]),
    "laplace-inverted-scale": ([], [1]),
    "geometric-truncated-to-data": ([], [0]),
    "randomized-response-too-honest": ("no", "yes"),
    "laplace-empty-database-unnoised": ([], [0]),
}
"""The smallest pair on which the defect shows beyond doubt, in either order."""

ALIKE = {"EM-NAIVE": ([1, 1], [0, 1])}
"""The same with its two candidates exchanged: the mechanism treats them alike."""


def promises_privacy(mechanism):
    return any(isinstance(claim, PrivacyClaim) for claim in mechanism.claims)


SOUND = [mechanism for mechanism in CATALOGUE if promises_privacy(mechanism)]
BROKEN = [c for c in NEGATIVE_CONTROLS if isinstance(c.breaks, PrivacyClaim) and c.detectable]
HIDDEN = [c for c in NEGATIVE_CONTROLS if isinstance(c.breaks, PrivacyClaim) and not c.detectable]


@pytest.mark.parametrize("mechanism", SOUND, ids=lambda m: m.name)
def test_sound_mechanisms_are_not_refuted(mechanism):
    for result in audit_claims(mechanism):
        assert result.verdict is Verdict.NOT_REFUTED
        assert result.epsilon_lower <= result.claim.epsilon
        # What the budget shows is asked of an event of probability 1/2, whichever the learner took.
        figures = dict(result.power)
        assert sized(result, figures[0.5]) < 1.2 * claimed(result)
        # The figure of the event that was counted is the same function at its rate, so that only
        # its rarity makes it larger.
        look = result.evidence.looks[-1]
        (judged,) = {two_digits(max(look.hits[0], 1) / look.trials[0])} & set(figures)
        assert result.detectable_epsilon == figures[judged]
        ordered = [epsilon for _, epsilon in sorted(result.power, reverse=True)]
        assert all(one <= other * (1 + 1e-3) for one, other in pairwise(ordered))
        # As with the last look's own trials and level, which see at most as much.
        half = refutable_epsilon(
            0.5,
            look.trials,
            epsilon=result.claim.epsilon,
            delta=result.claim.delta,
            level=look.level,
            distance=result.claim.distance,
        )
        assert sized(result, half) < 1.2 * claimed(result)


def sized(result, epsilon):
    """An epsilon of the judged point in the claim's own parameter."""
    claim = result.claim
    if claim.curve is None:
        return epsilon
    return size_lower(claim.curve, epsilon, claim.delta, claim.distance)


def claimed(result):
    return result.claim.epsilon if result.claim.curve is None else result.claim.curve.size


def broken(control):
    """The result of the claim that the control breaks; of a curve a point was judged."""
    wanted = control.breaks
    (result,) = [
        r for r in audit_claims(control.mechanism)
        if r.claim == wanted or (wanted.curve is not None and r.claim.curve == wanted.curve)
    ]  # fmt: skip
    return result


@pytest.mark.parametrize("control", BROKEN, ids=lambda c: c.mechanism.name)
def test_negative_controls_are_refuted(control):
    result = broken(control)
    assert result.verdict is Verdict.REFUTED
    # What bets alone refute is bounded by the claim.
    assert result.epsilon_lower >= result.claim.epsilon
    assert result.witness is not None


NAMED = [control for control in BROKEN if control.mechanism.name in SMALLEST]


@pytest.mark.parametrize("control", NAMED, ids=lambda c: c.mechanism.name)
def test_the_witness_is_the_smallest_pair(control):
    result = broken(control)
    found = {str(unordered(one)) for one in (result.witness.database, result.witness.neighbour)}
    name = control.mechanism.name
    pairs = [pairs[name] for pairs in (SMALLEST, ALIKE) if name in pairs]
    assert found in [{str(unordered(one)) for one in pair} for pair in pairs]


@pytest.mark.parametrize("control", HIDDEN, ids=lambda c: c.mechanism.name)
def test_what_sampling_cannot_show_is_not_called_safe(control):
    result = broken(control)
    assert result.verdict is not Verdict.PROVED
    assert result.detectable_epsilon > result.claim.epsilon


def unordered(database):
    """The order of the rows means nothing to these mechanisms."""
    return sorted(database) if isinstance(database, list) else database
