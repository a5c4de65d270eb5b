"""Claims of every kind are judged on draws: rows of a `size=` call that are none end the check.

Every check accuses a sound mechanism with probability at most 1e-6; the seeds are fixed besides.
"""

import numpy as np
import pytest

from dpwitness import (
    ContractError,
    EqualityClaim,
    ExpectationClaim,
    Mechanism,
    Subject,
    ThresholdClaim,
    UtilityClaim,
    check,
)


def shared(database, rng, *, size=None):
    """One draw for all rows of a call."""
    made = rng.random()
    return made if size is None else np.full(size, made)


def other_law(database, rng, *, size=None):
    return rng.random(size) if size is None else rng.random(size) ** 4


def plain(database, rng, *, size=None):
    return rng.random(size)


def loss(database, output):
    return np.asarray(output, dtype=float)


def subjects(run):
    mechanism = Mechanism(name="rows", run=run)
    utility = UtilityClaim(loss=loss, bound=lambda beta: 1 - beta, databases=([],))
    mean = ExpectationClaim(quantity=loss, bound=0.5, databases=([],), high=1.0)
    size = ThresholdClaim(needed=1, instance=lambda n: (run, []), loss=loss, level=0.9, beta=0.1)
    return {
        "utility": Subject(claim=utility, mechanism=mechanism),
        "mean": Subject(claim=mean, mechanism=mechanism),
        "sample size": Subject(claim=size),
        "equality": Subject(claim=EqualityClaim(other=plain, databases=([],)), mechanism=mechanism),
        "equality, the other": Subject(
            claim=EqualityClaim(other=run, databases=([],)),
            mechanism=Mechanism(name="plain", run=plain),
        ),
    }


@pytest.mark.parametrize("kind", list(subjects(plain)))
@pytest.mark.parametrize("run", [shared, other_law])
def test_rows_that_are_no_draws_end_the_check(kind, run):
    with pytest.raises(ContractError, match="size="):
        check(subjects(run)[kind], trials=2000)


@pytest.mark.parametrize("kind", list(subjects(plain)))
def test_sound_rows_are_judged(kind):
    assert not check(subjects(plain)[kind], trials=2000).refuted
