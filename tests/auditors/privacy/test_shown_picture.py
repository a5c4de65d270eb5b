"""The picture of a refutation is of the pair that is shown, and not of the pair of the bound."""

import numpy as np
import pytest
from hypothesis import strategies as st

from dpwitness.auditors.events.events import HalfLine
from dpwitness.auditors.outputs.features import Feature
from dpwitness.auditors.outputs.outputs import Outputs
from dpwitness.auditors.privacy.run import audit
from dpwitness.auditors.privacy.shown import sketch

AGES = st.lists(st.integers(0, 100), max_size=20)


def narrow(database, rng, *, size=None):
    return sum(database) + rng.laplace(scale=50, size=size)


@pytest.mark.long
def test_the_histogram_lies_where_the_witness_says():
    # The first seeds: one of which shows a smaller pair than that of the largest bound.
    each = (
        audit(narrow, epsilon=1, relation="add-remove", databases=AGES, trials=20_000, seed=seed)
        for seed in range(10)
    )
    found = next(found for found in each if found.worst is not found.witness)
    shown = found.witness.database, found.witness.neighbour
    for database, side in zip(shown, found.sketch.counts, strict=True):
        # The median of the outputs is the sum: its error is 50 / sqrt(n), so 4 of them and a bin.
        at = np.searchsorted(np.cumsum(side), sum(side) / 2)
        width = found.sketch.edges[1] - found.sketch.edges[0]
        median = found.sketch.edges[at] + width / 2
        assert median == pytest.approx(sum(database), abs=4 * 50 / sum(side) ** 0.5 + width)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize(
    ("threshold", "scale", "shift"),
    [(-31.7, 50, 95), (0.4, 50, 95), (55.0, 50, 95), (4.0, 0.5, 18), (9.0, 0.5, 18),
     (15.0, 0.5, 18)],
)  # fmt: skip
def test_the_event_is_shaded_to_where_it_ends(threshold, scale, shift, upper):
    """Also where no output lies near the end of the event."""
    rng = np.random.default_rng(0)
    sides = [Outputs.of_list(rng.laplace(at, scale, size=400).tolist()) for at in (0, shift)]
    shown = sketch(HalfLine(Feature(), threshold, upper=upper), *sides)
    shaded = np.flatnonzero(np.array(shown.inside) != upper)
    assert shaded.tolist() == list(range(len(shaded)))
    assert shown.edges[len(shaded)] == pytest.approx(threshold)
