"""Private multiplicative weights: how its updates grow with the accuracy and with the domain.

All records are one element, and the analyst, who sees the data, asks for everything but elements
that the public distribution overvalues by just over the threshold together. Every update then helps
as little as it can, and the updates are a quarter of those that are allowed.
"""

from collections.abc import Callable
from functools import partial
from math import ceil, exp, log

import numpy as np

from ..model import Array, Database, GrowthClaim, Output, Theorem, number, whole
from ..sparse_vector.sparse_vector_law import ABOVE
from .pmw import SOURCE, private_multiplicative_weights
from .pmw_adversaries import shaving_query
from .pmw_bounds import most_updates

QUIET = 64
"""The scale of the noise is so small a part of accuracy / 8: the theorem's event is nearly sure."""
RECORDS = 10_000
GAP = 0.52
"""The error of a query, of accuracy: the threshold is a half."""


def _updates(x: float, database: Database, output: Output) -> Array:
    return (np.asarray(output)[..., 0] == ABOVE).sum(axis=-1)


def _insisting(bins: int, accuracy: float) -> tuple[Callable[..., Array], Database]:
    """A run with half as many queries as updates are allowed, all of which may be updates."""
    length = ceil(most_updates(bins=bins, accuracy=accuracy) / 2)
    run = partial(
        private_multiplicative_weights,
        queries=partial(shaving_query, gap=GAP * accuracy),
        length=length,
        threshold=accuracy / 2,
        learning_rate=accuracy / 8,
        noise_epsilon=8 * QUIET / (accuracy * RECORDS),
        updates=length,
    )
    return run, [RECORDS] + [0] * (bins - 1)


def _allowed(bins: int, accuracy: float) -> float:
    return 64 * log(bins) / accuracy**2


def _in_accuracy(bins: int, finest: float) -> GrowthClaim:
    return GrowthClaim(
        trust_rows=True,
        points=tuple(finest * 2 ** (step / 2) for step in range(4)),
        instance=lambda accuracy: _insisting(bins, accuracy),
        quantity=_updates,
        bound=lambda accuracy: _allowed(bins, accuracy),
        high=lambda accuracy: _allowed(bins, accuracy),
        grows="updates",
        over="alpha",
    )


def _in_domain(accuracy: float, most: int) -> GrowthClaim:
    def bins_of(logarithm: float) -> int:
        return round(exp(logarithm))

    return GrowthClaim(
        trust_rows=True,
        points=tuple(log(most // 4**step) for step in (2, 1, 0)),
        instance=lambda logarithm: _insisting(bins_of(logarithm), accuracy),
        quantity=_updates,
        bound=lambda logarithm: _allowed(bins_of(logarithm), accuracy),
        high=lambda logarithm: _allowed(bins_of(logarithm), accuracy),
        grows="updates",
        over="ln |D|",
        # The run ends a little before the potential is used up.
        slack=0.35,
    )


THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="PMW-GROW-ALPHA",
        costly=25,
        slow=True,
        statement="updates grow as 1 / alpha^2, and are 64 ln(bins) / alpha^2 at most",
        reference=SOURCE,
        subject=_in_accuracy,
        constant=64,
        parameters={
            "bins": whole(16, 8, 64, "elements of the domain"),
            "finest": number(0.25, 0.2, 0.3, "the smallest of four alphas"),
        },
    ),
    Theorem(
        identifier="PMW-GROW-DOMAIN",
        costly=50,
        slow=True,
        statement="updates grow as ln |D|, and are 64 ln |D| / alpha^2 at most",
        reference=SOURCE,
        subject=_in_domain,
        constant=64,
        parameters={
            "accuracy": number(0.6, 0.4, 0.8, "alpha"),
            "most": whole(256, 128, 1024, "elements of the largest of three domains"),
        },
    ),
)
