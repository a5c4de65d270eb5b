"""Outputs of many numbers are drawn in blocks that fit in memory, and compared in full."""

from functools import partial

import numpy as np
import pytest

from dpwitness import ContractError
from dpwitness.auditors.sampling.draws import KEPT, OUTPUTS, Draws

WIDTH = 10_000


def wide(database, rng, *, size=None):
    return rng.random((size, WIDTH))


def counted(database, rng, *, calls, size=None):
    """The last of the numbers says how many calls came before."""
    made = rng.random((size, WIDTH))
    made[:, -1] = len(calls)
    calls.append(size)
    return made


def test_a_block_holds_no_more_bytes_than_it_may_and_all_draws_are_made():
    blocks = list(Draws(run=wide, seed=1, trust_rows=True).blocks([], "claim", 0, 500))
    assert max(one.nbytes for one in blocks) <= OUTPUTS
    assert sum(len(one) for one in blocks) == 500
    assert len(np.unique(np.concatenate(blocks)[:, 0])) == 500


def test_what_is_kept_of_wide_outputs_is_little_and_still_tells_a_memory():
    draws = Draws(run=partial(counted, calls=[]), seed=1, trust_rows=True)
    list(draws.blocks([], "claim", 0, 500))
    assert sum(first.nbytes for *_, first in draws.counted.entered) <= max(KEPT, 64 * 8 * WIDTH)
    with pytest.raises(ContractError, match="came out in two ways"):
        draws.gate(refuted=True)
