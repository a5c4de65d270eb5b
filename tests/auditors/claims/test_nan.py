"""A loss that is no number is a bad loss, whatever the kind of claim."""

import numpy as np
import pytest

from dpwitness.auditors.claims.check import check
from dpwitness.auditors.results.results import Verdict
from dpwitness.mechanisms.model import (
    ExpectationClaim,
    Mechanism,
    Subject,
    ThresholdClaim,
    UtilityClaim,
)


def often_nan(database, rng, *, size=None):
    """NaN in nine of ten draws, and 0 in the others."""
    return np.where(rng.random(size) < 0.9, np.nan, 0.0)


def itself(database, output):
    return np.asarray(output, dtype=float)


CLAIMS = {
    "utility": UtilityClaim(loss=itself, bound=lambda beta: 1.0, databases=([],), levels=(0.05,)),
    "sample size": ThresholdClaim(
        needed=1, level=1.0, beta=0.05, loss=itself, instance=lambda n: (often_nan, [])
    ),
    "mean, no upper end": ExpectationClaim(quantity=itself, bound=0.5, databases=([],)),
    "mean, an upper end": ExpectationClaim(quantity=itself, bound=0.5, databases=([],), high=1.0),
}


@pytest.mark.long
@pytest.mark.parametrize("kind", CLAIMS)
def test_nan_is_bad(kind):
    subject = Subject(claim=CLAIMS[kind], mechanism=Mechanism(name="often nan", run=often_nan))
    assert check(subject, trials=5000).verdict is Verdict.REFUTED
