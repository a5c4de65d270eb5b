"""Repeating a finding once, on new streams, with one event: the counts that a witness shows."""

from math import ceil, sqrt

from ..bounds import two_sample
from ..events.choose import Choice
from ..results import Count, Pair
from ..sampling.sampling import Sampler
from .judge import Judgement, Test, bound_of, counted

__all__ = ["confirm", "confirm_size"]

PRECISION = 0.005
LEAST_CONFIRMED = 4096


def confirm_size(judgement: Judgement, choice: Choice, test: Test) -> int:
    """Draws a side for the confirmation, at most the trials allowed.

    After a full run: as many again. After an early stop: four times what was used, and at least
    4096, or as many as bring the half-width of the bound to half a percent if that is more.
    """
    if judgement.decided_after is None:
        return test.trials
    p, q = choice.rates
    _, delta = test.null
    wanted = max(4.0 * judgement.draws, LEAST_CONFIRMED)
    if choice.predicted > 0 and q > 10 / judgement.draws and p > delta:
        per_draw = sqrt((1 - p) * p / (p - delta) ** 2 + (1 - q) / q)
        width = PRECISION * choice.predicted
        wanted = max(
            wanted, (two_sample.threshold(test.alpha, test.alpha / 50) * per_draw / width) ** 2
        )
    return min(test.trials, ceil(wanted))


def confirm(
    sampler: Sampler,
    pair: Pair,
    choice: Choice,
    test: Test,
    *,
    chunk: int,
    draws: int,
    stage: str = "confirm",
) -> tuple[Count, float]:
    """Count one event on `draws` new outputs a side; the bound has error `test.alpha`."""
    hits, _, _ = sampler.count(pair, choice.event, stage, chunk, draws)
    count = counted(stage, chunk, choice, hits, (draws, draws))
    return count, bound_of((count,), test, test.alpha)
