"""Private multiplicative weights as a session: the analyst sees an answer before asking again.

The same algorithm as `pmw`, one query at a time; the threshold's noise is drawn when the next
query arrives.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .._checks import require_positive
from ..model import Array, Database, Interaction
from .pmw_updates import away_from_estimate, expected, multiplicative_update, shares_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PmwState:
    """What a session knows: the data's shares and the scale of the noises, both private to it;

    the public distribution; the noisy threshold, None before it is drawn; updates made.
    """

    truth: Array
    scale: float
    synthetic: Array
    limit: float | None = None
    used: int = 0


def pmw_interaction(*, accuracy: float, noise_epsilon: float, updates: int) -> Interaction:
    """Threshold accuracy / 2 and learning rate accuracy / 8; noises of scale 1/(noise_epsilon n).

    The data are counts of n records, shape (bins,); a query is an array of 0 and 1, shape (bins,),
    its answer a float. The session is over after `updates` noisy answers, and has then lost at
    most 4 noise_epsilon for each under replace-one, whoever asks: pure, or by zCDP.
    Raises ValueError on a parameter that is not positive.
    """
    require_positive(accuracy=accuracy, noise_epsilon=noise_epsilon, updates=updates)
    return Interaction(
        start=partial(_start, noise_epsilon=noise_epsilon),
        answer=partial(_answer, accuracy=accuracy),
        over=lambda state: state.used >= updates,
    )


def _start(database: Database, rng: np.random.Generator, *, noise_epsilon: float) -> PmwState:
    truth, records = shares_of(database)
    bins = len(truth)
    return PmwState(
        truth=truth, scale=1 / (noise_epsilon * records), synthetic=np.full(bins, 1 / bins)
    )


def _answer(
    state: PmwState, query: Any, rng: np.random.Generator, *, accuracy: float
) -> tuple[PmwState, float]:
    asked = np.asarray(query, dtype=float)
    if asked.shape != state.truth.shape or not ((asked == 0) | (asked == 1)).all():
        raise ValueError(f"a query must be {len(state.truth)} numbers 0 or 1, got {query!r:.60}")
    limit = state.limit
    if limit is None:
        limit = accuracy / 2 + float(rng.laplace(scale=state.scale))
    estimate = float(expected(asked, state.synthetic))
    exact = float(expected(asked, state.truth))
    if abs(exact - estimate) + rng.laplace(scale=state.scale) < limit:
        return replace(state, limit=limit), estimate
    given = exact + float(rng.laplace(scale=state.scale))
    turned = away_from_estimate(np.array([given]), np.array([estimate]), np.array([exact]))
    synthetic = multiplicative_update(state.synthetic[None], asked, turned, accuracy / 8)[0]
    return replace(state, synthetic=synthetic, limit=None, used=state.used + 1), given
