"""End to end at the exact boundary: audits of mechanisms whose true epsilon is the claim.

Everything random about an audit follows from its seed, so each of these is a fixed computation;
the seeds 0, 1, 2, ... were not selected. The number of refutations among n audits at level alpha
is stochastically at most Bin(n, alpha), and must not exceed its quantile at 1 - 1e-7.
"""

import numpy as np
import pytest
from scipy.special import bdtrc

from dpwitness import audit
from dpwitness.mechanisms.noise.geometric import GEOMETRIC
from dpwitness.mechanisms.noise.laplace import LAPLACE
from dpwitness.mechanisms.noise.randomized_response import RANDOMIZED_RESPONSE

pytestmark = pytest.mark.quality

ALPHA = 0.05
AUDITS = 120
TRIALS = 2000


def allowed(audits):
    """Most refutations that Bin(audits, ALPHA) exceeds with probability above 1e-7."""
    counts = np.arange(audits + 1)
    return int(np.argmax(bdtrc(counts, audits, ALPHA) <= 1e-7))


def leaky_bit(database, rng, *, size=None):
    """A bit with P[1] = 0.2 for 0 and e 0.2 + 0.01 for 1: tight at (1, 0.01)."""
    return rng.random(size) < (0.2, np.e * 0.2 + 0.01)[database]


BOUNDARY = {
    "randomized response": (RANDOMIZED_RESPONSE, ("no", "yes")),
    "geometric": (GEOMETRIC, ([], [0])),
    "laplace": (LAPLACE, ([], [1])),
    "delta": (leaky_bit, (0, 1)),
}


@pytest.mark.parametrize("name", BOUNDARY)
def test_refutations_at_the_boundary_are_as_rare_as_promised(name):
    mechanism, pair = BOUNDARY[name]
    options = {} if name != "delta" else {"epsilon": 1.0, "delta": 0.01}
    refuted = sum(
        audit(
            mechanism, pair=pair, trials=TRIALS, alpha=ALPHA, seed=seed, exact=False, **options
        ).refuted
        for seed in range(AUDITS)
    )
    assert refuted <= allowed(AUDITS)
