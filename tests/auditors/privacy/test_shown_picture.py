"""The picture of a refutation is of the pair that is shown, and not of the pair of the bound."""

import pytest
from hypothesis import strategies as st

from dpwitness.auditors.privacy.run import audit

AGES = st.lists(st.integers(0, 100), max_size=20)


def narrow(database, rng, *, size=None):
    return sum(database) + rng.laplace(scale=50, size=size)


def test_the_histogram_has_the_shares_of_the_witness():
    # Seed 0: the smallest pair is not the one with the largest bound.
    found = audit(narrow, epsilon=1, relation="add-remove", databases=AGES, trials=20_000)
    assert found.worst is not found.witness
    evidence = found.witness.evidence
    for hits, trials, side in zip(evidence.hits, evidence.trials, found.sketch.counts, strict=True):
        shaded = sum(n for n, inside in zip(side, found.sketch.inside, strict=True) if inside)
        # Some hundred outputs and bins of a fifth of the spread: .12 is four standard errors.
        assert shaded / sum(side) == pytest.approx(hits / trials, abs=0.12)
