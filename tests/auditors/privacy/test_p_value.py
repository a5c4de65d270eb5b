"""P-values of audits, and witnesses counted again."""

import numpy as np
import pytest
from scipy.special import bdtrc

from dpwitness import audit
from dpwitness.auditors.errors import EvidenceFormatError
from dpwitness.auditors.evidence.conversion import revived
from dpwitness.auditors.evidence.derive import p_value
from dpwitness.auditors.privacy.rerun import recheck
from dpwitness.mechanisms.model import PrivacyClaim, Relation
from dpwitness.mechanisms.noise.randomized_response import RANDOMIZED_RESPONSE
from dpwitness.reports.record import evidence

CLAIM = PrivacyClaim(epsilon=1.0, relation=Relation.REPLACE_ONE)


def shifted(x, rng, *, scale=1.0, size=None):
    return x + rng.laplace(scale=scale, size=() if size is None else size)


def too_quiet(x, rng, *, size=None):
    return shifted(x, rng, scale=0.5, size=size)


@pytest.mark.quality
def test_p_values_at_the_boundary_are_no_smaller_than_promised():
    """Exactly at the claim; seeds fixed, so that a pass stays a pass.

    If P[p <= a] were a, this many hits or more would have probability below 1e-6.
    """
    audits = 200
    found = np.array(
        [
            p_value(audit(RANDOMIZED_RESPONSE, pair=("no", "yes"), trials=600, seed=seed))
            for seed in range(audits)
        ]
    )
    assert (found < 1).any()
    for level in (0.02, 0.05, 0.1, 0.2, 0.3):
        hits = np.count_nonzero(found <= level)
        assert hits == 0 or bdtrc(hits - 1, audits, level) > 1e-6


@pytest.mark.long
def test_a_refutation_has_a_p_value_of_its_own_and_a_sound_mechanism_none():
    result = audit(too_quiet, pair=(0, 1), epsilon=1.0, alpha=0.01, trials=20_000)
    assert result.refuted
    assert p_value(result) < 0.01
    sound = audit(shifted, pair=(0, 1), epsilon=1.5, alpha=0.01, trials=20_000)
    assert p_value(sound) == 1.0


def record_of(mechanism, **options):
    options = {"relation": CLAIM.relation, "pair": (0, 1), "trials": 20_000, **options}
    result = audit(mechanism, **options)
    return evidence.document([result], replay="")["results"][0]


@pytest.mark.long
def test_a_witness_holds_on_new_draws_and_not_on_a_mended_mechanism():
    record = record_of(too_quiet, epsilon=1.0)
    options = {"claims": (CLAIM,), "trials": 10_000, "alpha": 1e-3, "seed": 5}
    again = recheck(too_quiet, record, **options)
    assert again.refuted
    assert again.witness.event.describe() == revived(record).witness.event.describe()
    assert again.evidence.counts[0].stage == "recheck"
    assert not recheck(shifted, record, **options).refuted
    assert again.evidence == recheck(too_quiet, record, **options).evidence


@pytest.mark.long
def test_a_witness_of_another_relation_is_not_counted():
    record = record_of(too_quiet, epsilon=1.0)
    other = PrivacyClaim(epsilon=1.0, relation=Relation.ADD_REMOVE)
    options = {"trials": 100, "alpha": 1e-3, "seed": 5}
    assert recheck(too_quiet, record, claims=(other,), **options) is None
    with pytest.raises(EvidenceFormatError):
        recheck(too_quiet, {"verdict": "refuted"}, claims=(CLAIM,), **options)


@pytest.mark.long
def test_a_counted_witness_replays():
    from dpwitness.auditors.privacy.replay import recount

    record = record_of(too_quiet, epsilon=1.0)
    again = recheck(too_quiet, record, claims=(CLAIM,), trials=5_000, alpha=1e-3, seed=9)
    data = evidence.document([again], replay="")["results"][0]
    assert recount(too_quiet, data).same
