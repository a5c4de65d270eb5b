"""The whole catalogue: every verdict, and the numbers of the literature."""

import pytest

from dpwitness import Verdict
from dpwitness.auditors.asked import Budget
from dpwitness.mechanisms.catalogue import PARTS
from dpwitness.mechanisms.model import (
    EqualityClaim,
    ExpectationClaim,
    InvariantClaim,
    PrivacyClaim,
    ThresholdClaim,
    UtilityClaim,
)
from dpwitness.reports.reproduce.run import Chosen, controls, find, run, select

pytestmark = pytest.mark.quality

# The default seed. A true statement is refuted by luck with probability at most 1e-9 in all.
ALPHA = 1e-9
DRAWS = 30_000
"""A third of the default budget: what continuous integration can bear."""


def reproduced(chosen):
    sections = run(chosen, Budget(alpha=ALPHA, trials=DRAWS, seed=0), workers=1, pictures=False)
    return {section.identifier: section.reproductions[0] for section in sections}


def share_of(finding):
    bound = finding.claimed
    found = [finding.exact, finding.measured.value if finding.measured else None]
    return max(value / bound for value in found if value is not None)


@pytest.mark.parametrize("part", PARTS)
def test_every_verdict_is_the_expected_one_and_a_weak_measurement_says_why(part):
    chosen = [one for one in select([], []) if find(one.identifier).part == part]
    found = reproduced(chosen)
    assert len(found) == len(chosen) > 2
    assert [name for name, one in found.items() if not one.as_expected] == []
    kinds = (PrivacyClaim, UtilityClaim, ThresholdClaim)
    for name, one in found.items():
        verdicts = {one.result.finding.sampled, one.result.finding.proved}
        assert not {Verdict.REFUTED, Verdict.PROVED} <= verdicts
        rated = find(name).holds and isinstance(find(name).at().claim, kinds)
        if rated and share_of(one.result.finding) < 1 / 20:
            assert find(name).weak, name


@pytest.mark.parametrize("part", PARTS)
def test_few_trials_make_no_check_fail(part):
    chosen = [one for one in select([], []) if find(one.identifier).part == part]
    few = Budget(alpha=ALPHA, trials=20, seed=0)
    sections = list(run(chosen, few, workers=1, pictures=False))
    assert [one.identifier for one in sections] == [one.identifier for one in chosen]
    verdicts = [(one.holds, one.reproductions[0].result.verdict) for one in sections]
    assert (True, Verdict.REFUTED) not in verdicts


EXACT = {
    "T-COMP-ADV": ("claimed", 6.292, 5e-4),
    "T-COMP-ADV-ZCDP": ("claimed", 4.792, 5e-4),
    "EM-3.10": ("exact", 0.8970, 5e-5),
    "EM-3.12": ("exact", 0.2482, 5e-5),
    "EM-3.6": ("exact", 0.1192, 5e-5),
    "EM-OSNM": ("exact", 1.0, 5e-5),
    "EM-RNM": ("exact", 0.9937, 5e-5),
    "EM-OSNM-3.6": ("exact", 0.18394, 5e-6),
    "EM-3.13a": ("exact", 0.0, 1e-9),
    "EM-3.13b": ("exact", 0.0, 1e-9),
    "BQ-6.4": ("claimed", 0.4, 1e-9),
    "BQ-T": ("exact", 29, 0),
    "BQ-EX-F": ("exact", 1.505971, 5e-7),
    "PAC-IP-EM": ("exact", 0.7990, 5e-5),
    "CONJ-P1": ("exact", 1.0, 5e-5),
    "CONJ-P2-PRIV": ("exact", 0.6140, 5e-5),
    "GD-T2": ("claimed", 0.1281, 5e-5),
}
"""What the default instances come to, to the digits that are published."""


@pytest.mark.parametrize("identifier", EXACT)
def test_the_numbers_of_the_literature(identifier):
    which, expected, tolerance = EXACT[identifier]
    (found,) = reproduced(select([identifier], [])).values()
    assert getattr(found.result.finding, which) == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize(
    ("identifier", "low", "high"),
    [
        ("T-COMP-ADV", 0.9999e-4, 1.0001e-4),
        ("T-COMP-ADV-ZCDP", 1.0085e-4, 1.0095e-4),
        ("GD-T3", 1.5e-4, 1.6e-4),
        ("GD-T3-LIT", 0.0415, 0.0423),
        ("ERR-BQ-2", 7.9e-4, 8.1e-4),
    ],
)
def test_the_exact_delta_at_the_claimed_epsilon(identifier, low, high):
    (one,) = reproduced(select([identifier], [])).values()
    found = one.result.finding.details["exact"].delta
    assert low <= found[0] <= found[1] <= high


OTHER = [
    control.identifier for control in controls() if not isinstance(control.at().claim, PrivacyClaim)
]


def test_there_are_controls_of_claims_of_every_other_kind():
    kinds = {type(control.at().claim) for control in controls()}
    assert {UtilityClaim, ExpectationClaim, InvariantClaim, EqualityClaim, ThresholdClaim} <= kinds


@pytest.mark.parametrize("identifier", OTHER)
def test_every_control_of_another_claim_than_privacy_is_refuted_on_it(identifier):
    (one,) = reproduced([Chosen(identifier=identifier, settings=({},))]).values()
    assert one.result.refuted
    assert one.result.finding.witness is not None
