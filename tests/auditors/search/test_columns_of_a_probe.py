"""What a probe says of a column does not depend on the columns beside it."""

import numpy as np
import pytest

from dpwitness.auditors.outputs.outputs import Outputs
from dpwitness.auditors.search.probe import probe


def columns(rng, size):
    """Numbers, few numbers, one number, two, numbers with gaps, without end, and labels."""
    coin = rng.integers(0, 2, size).tolist()
    noise = rng.laplace(size=size)
    return [
        noise.tolist(),
        rng.integers(0, 5, size).astype(float).tolist(),
        [3.5] * size,
        coin,
        np.where(coin, noise, np.nan).tolist(),
        np.where(coin, noise, np.inf).tolist(),
        [None if one else float(two) for one, two in zip(coin, noise, strict=True)],
        ["high" if one else "low" for one in coin],
        [0.0 if one else -0.0 for one in coin],
        rng.permutation(size).astype(float).tolist(),
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 16, 17, 24, 64])
def test_columns_that_are_looked_at_together_are_as_each_alone(size):
    every = columns(np.random.default_rng(size), size)
    together = probe(Outputs.of_list(list(zip(*every, strict=True))))
    assert len(together.paths) == len(every)
    for place, values in enumerate(every):
        alone = probe(Outputs.of_list(values))
        assert together.few[place] == alone.few[0]
        np.testing.assert_array_equal(together.spread[place], alone.spread[0])
        np.testing.assert_array_equal(together.numbers[:, [place]], alone.numbers)
        numbers = [v for v in values if isinstance(v, int | float) and np.isfinite(v)]
        distinct = set(map(float, numbers))
        if len(distinct) > 2:
            middle = np.median(numbers)
            np.testing.assert_allclose(alone.spread[0], np.abs(np.array(numbers) - middle).mean())
        elif len(distinct) == 1:
            assert alone.spread[0] == 0
        else:
            assert np.isnan(alone.spread[0])
        if alone.few[0] is not None:
            assert sum(alone.few[0].values()) == size
        assert alone.whole == (len(numbers) == size)
    assert together.whole == all(probe(Outputs.of_list(values)).whole for values in every)
