"""Base generators that serve as few queries as their promise allows, to test boosting with.

They see the true answers, so they are not private; they only serve to test the accuracy of
boosting. In each round they answer queries of total weight 1/2 - advantage or less wrongly, which
the definition of a base generator allows, and the others accurately.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..model import Array

ROUNDING = 1e-12


def wronged_queries(distribution: Array, preference: Array, *, share: float) -> Array:
    """Take queries, the most preferred first, as long as their weights fit into `share`.

    `distribution` and `preference` have shape (runs, queries), and so has the answer, booleans.
    Among equals the one with the lowest index is taken first; a query whose weight no longer fits
    is skipped.
    """
    order = np.argsort(-preference, axis=-1, kind="stable")
    wronged = np.zeros(distribution.shape, dtype=bool)
    for places, weights, chosen in zip(order.tolist(), distribution.tolist(), wronged, strict=True):
        taken, least = 0.0, min(weights, default=1.0)
        for place in places:
            if taken + least > share + ROUNDING:
                break
            if taken + weights[place] <= share + ROUNDING:
                chosen[place] = True
                taken += weights[place]
    return wronged


def scripted_base(
    rng: np.random.Generator,
    truth: Array,
    sampled: Array,
    distribution: Array,
    earlier: Array,
    *,
    script: Mapping[str, Any],
    advantage: float,
    accuracy: float,
    attenuation: float,
) -> Array:
    """Err as the script says.

    `script["priorities"]`, one for each query, in [0, 1], and `script["greed"]`, in [0, 1], say
    which queries to answer wrongly; greed 1 prefers those answered wrongly most often before.
    `script["right"]` are errors in units of `accuracy`, at most 1; `script["wrong"]` are errors
    beyond `accuracy`, in units of `attenuation`. Both are signed, and repeated from the start.
    """
    step, count = len(earlier), distribution.shape[-1]
    often = (np.abs(earlier - truth) > accuracy).sum(axis=0) / max(step, 1)
    greed = script["greed"]
    preference = greed * often + (1 - greed) * np.resize(script["priorities"], count)
    wronged = wronged_queries(distribution, preference, share=0.5 - advantage)
    # Queries meet the errors at another place every round.
    place = step + np.arange(count)
    right = accuracy * np.asarray(script["right"], dtype=float)[place % len(script["right"])]
    beyond = np.asarray(script["wrong"], dtype=float)[place % len(script["wrong"])]
    wrong = np.where(beyond < 0, -1.0, 1.0) * (accuracy + attenuation * np.abs(beyond))
    return truth + np.where(wronged, wrong, right)
