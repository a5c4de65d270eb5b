"""Claims of every kind are judged on single calls, each of which stands alone.

The seed is fixed: a sound mechanism is refuted by others with probability at most 0.001.
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


def wide(database, rng, *, size=None):
    """Single calls reach .9 with probability .1 exactly; rows always."""
    return rng.random() if size is None else np.full(size, 0.95)


@pytest.mark.parametrize("kind", list(subjects(plain)))
@pytest.mark.parametrize("run", [plain, shared, other_law, wide])
def test_rows_accuse_nobody(kind, run):
    """The claims are exactly true of single calls, whatever the rows of a call are."""
    assert not check(subjects(run)[kind], trials=2000).refuted


def kept():
    answers = {}

    def run(database, rng, *, size=None):
        return answers.setdefault((tuple(database), size), rng.random(size=size))

    return run


def running():
    own = np.random.default_rng(5)
    return lambda database, rng, *, size=None: own.random(size)


def seldom():
    """One answer in seven repeats the one before it."""
    last = [0.5]

    def run(database, rng):
        last[0] = last[0] if rng.random() < 1 / 7 else rng.random()
        return last[0]

    return run


@pytest.mark.long
@pytest.mark.parametrize("kind", list(subjects(plain)))
@pytest.mark.parametrize("make", [kept, running, seldom])
def test_what_depends_on_earlier_calls_is_a_broken_contract(kind, make):
    with pytest.raises(ContractError, match="came out in two ways"):
        check(subjects(make())[kind], trials=2000)
