"""A bound that is counted once more, on the few draws that are left after a refutation."""

import numpy as np
import pytest

from dpwitness.auditors.privacy import attempt
from dpwitness.auditors.privacy.judge import Judging
from dpwitness.auditors.sampling.sampling import Sampler
from dpwitness.mechanisms.model import Pair, PrivacyClaim, Relation

CLAIM = PrivacyClaim(epsilon=1.0, relation=Relation.REPLACE_ONE)


def two(database, rng, *, size=None):
    return database + rng.laplace(scale=0.5, size=size)


def sharpened(seed):
    judging = Judging(
        Sampler(run=two, seed=seed, trust_rows=True), Pair(0, 1),
        attempt.Test(claim=CLAIM, trials=200_000, alpha=1e-3), precision=0.05,
    )  # fmt: skip
    judging.run()
    assert judging.refuted
    judging.sharpen(2000)
    return max(look.epsilon_lower for look in judging.looks)


@pytest.mark.long
def test_the_event_is_chosen_for_the_draws_that_count_it():
    # An event of the tail, chosen for sixteen times as many draws, proved 1.15 for seeds 0 to 29.
    found = [sharpened(seed) for seed in range(30)]
    assert min(found) > 1.4
    assert np.mean(found) > 1.65
