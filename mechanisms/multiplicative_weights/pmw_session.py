"""Private multiplicative weights as a session: the analyst sees an answer before asking again.

The same algorithm as `pmw`, one query at a time; the threshold's noise is drawn when the next
query arrives.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import inf, log

import numpy as np

from .._checks import require_positive, require_whole
from ..model import (
    Analyst,
    Array,
    Database,
    Histogram,
    Interaction,
    Mechanism,
    Output,
    Relation,
    UtilityClaim,
    asked_mechanism,
    told,
)
from ..queries import shares_of
from ..sparse_vector.above_threshold import log_bits
from .pmw_updates import DROP, away_from_estimate, expected, little_update, multiplicative_update


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
    state: PmwState, query: int, rng: np.random.Generator, *, accuracy: float
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


# --- the session as a mechanism: what its transcripts say, worked out without its code -----------

ROUNDING = 1e-9
"""Difference up to which an answer is the public estimate, rounded otherwise."""
SOURCE = "Stemmer, lecture notes on differential privacy, lecture 13"
QUERIES = ((1, 0, 0), (0, 1, 0), (1, 1, 0))
"""What each query counts of the three bins."""
CUTS = (0.3,)
"""An answer that reaches it is high, any other is low."""
INSISTENT = Analyst(asks=(0, 1), moves=((1, 0), (0, 1)))
"""Asks one query until its answer is low, and then the other."""
IN_TURN = Analyst.scripted(0, 1)
"""Asks both queries in turn."""


def public_shares(steps: Array, *, accuracy: float) -> Array:
    """The public distribution before each step and at the end, from the transcript alone.

    Weights are exp(accuracy / 8 times the updates for less the updates against an element). A
    step is an update if its answer is not that of the distribution. Shape (steps + 1, bins).
    """
    asked = np.array([QUERIES[int(number)] for number in steps[:, 0]], dtype=float)
    turns = np.zeros(len(QUERIES[0]))
    found = []
    for number in range(len(steps) + 1):
        weights = np.exp(accuracy / 8 * turns)
        found.append(weights / weights.sum())
        if number < len(steps):
            gap = float(steps[number, 1] - asked[number] @ found[-1])
            turns = turns + np.sign(gap) * (abs(gap) > ROUNDING) * asked[number]
    return np.array(found)


@lru_cache(maxsize=1 << 15)
def _iteration(below: tuple[float, ...], above: tuple[float, ...], scale: float) -> float:
    return log_bits(below, above, threshold_scale=scale, query_scale=scale)


def pmw_density(
    data: Database,
    steps: Array,
    refused: int | None,
    *,
    accuracy: float,
    noise_epsilon: float,
    updates: int,
) -> float:
    """Log-density of one transcript: each round between updates is a sparse vector of its own."""
    counts = np.asarray(data, dtype=float)
    truth, scale = counts / counts.sum(), 1 / (noise_epsilon * counts.sum())
    public = public_shares(steps, accuracy=accuracy)
    total, used, below = 0.0, 0, []
    for (number, answer), shares in zip(steps.tolist(), public, strict=False):
        if used == updates:
            return -inf
        query = np.array(QUERIES[int(number)], dtype=float)
        exact, estimate = float(query @ truth), float(query @ shares)
        margin = round(abs(exact - estimate) - accuracy / 2, 12)
        if abs(answer - estimate) <= ROUNDING:
            below.append(margin)
            continue
        total += _iteration(tuple(sorted(below)), (margin,), scale)
        total += -abs(answer - exact) / scale - log(2 * scale)
        used, below = used + 1, []
    if (refused is not None) and used < updates:
        return -inf
    return total + (_iteration(tuple(sorted(below)), (), scale) if below else 0.0)


def unlikeliest(length: int, updates: int, accuracy: float) -> tuple[Analyst, Array]:
    """An analyst and a transcript in which a record costs nearly all that it may.

    One query stays below the threshold again and again although its error is large, so that the
    threshold is surely high; then the other is above it, and its answer far off.
    """
    steps: list[tuple[float, float]] = []
    each = length // updates
    for step in range(each * updates):
        last = step % each == each - 1
        shares = public_shares(np.array(steps).reshape(-1, 2), accuracy=accuracy)[-1]
        asked = 0 if last else 1
        steps.append((asked, 5.0 if last else float(np.array(QUERIES[asked]) @ shares)))
    rest = [(np.nan, np.nan)] * (length - len(steps))
    return Analyst.scripted(*(int(asked) for asked, _ in steps)), np.array([*steps, *rest])


def _worst_update(truth: Array, steps: Array, accuracy: float) -> float:
    """15 accuracy^2 / 512 as a multiple of what the worst update lowers the KL divergence by."""
    public = public_shares(steps, accuracy=accuracy)
    there = truth > 0
    divergences = (truth[there] * np.log(truth[there] / public[:, there])).sum(axis=1)
    lowered = (divergences[:-1] - divergences[1:])[(public[1:] != public[:-1]).any(axis=1)]
    if not lowered.size:
        return 0.0
    least = float(lowered.min())
    return DROP * accuracy**2 / least if least > 0 else inf


def pmw_session_mechanism(
    *,
    accuracy: float,
    noise_epsilon: float,
    updates: int,
    records: int,
    length: int = 6,
    opened: Callable[..., Interaction] = pmw_interaction,
    name: str = "pmw-session",
    identifier: str = "",
) -> Mechanism:
    """A session about three elements, against every analyst of two states.

    It loses 4 noise_epsilon an update. Beside its privacy it claims that every update lowers the
    KL divergence of the data from the public distribution by 15 accuracy^2 / 512, whose updates
    are told by the answers: one that is not that of the distribution at rate accuracy / 8 is one.
    `opened` makes the session, to be replaced by a broken one.
    """
    require_positive(accuracy=accuracy, noise_epsilon=noise_epsilon)
    require_whole(updates=updates, records=records, length=length)
    core = opened(accuracy=accuracy, noise_epsilon=noise_epsilon, updates=updates)
    unit = 1 / (noise_epsilon * records)
    chance = little_update(length, min(updates, length), accuracy / (4 * unit))

    def cost(database: Database, output: Output) -> Array:
        outputs = np.asarray(output, dtype=float)
        truth = np.asarray(database[0], dtype=float) / records
        found = [
            inf if one is None else _worst_update(truth, one[0], accuracy)
            for one in told(database, outputs.reshape(-1, length, 2), cuts=CUTS)
        ]
        return np.array(found).reshape(outputs.shape[:-2])

    shift = 2 * records // 5
    analyst, output = unlikeliest(length, updates, accuracy)
    pairs = [
        (
            [[shift, records - shift, 0], one.written()],
            [[shift - 1, records - shift + 1, 0], one.written()],
        )
        for one in (analyst, INSISTENT)
    ]
    # One query errs by much and the other not at all, so that what was learnt is told by the next.
    third = records // 3
    uneven = [[records - third - records // 15, third, records // 15], IN_TURN.written()]
    # An error just too small for an update to help enough: one that noise lets through fails.
    first = int(records * (1 / 3 + 0.24 * accuracy))
    second = (records - first) // 2
    small = [[first, second, records - first - second], Analyst.scripted(0).written()]
    learns = UtilityClaim(
        loss=cost,
        bound=lambda beta: 1 + ROUNDING,
        levels=(chance,),
        databases=(small, uneven),
        identifier="PMW-KL-3S",
        statement="every update lowers the KL divergence by 15 alpha^2 / 512",
        reference=f"{SOURCE}, with constants",
    )
    return asked_mechanism(
        core,
        data=Histogram(bins=3, total=records),
        relation=Relation.REPLACE_ONE,
        queries=QUERIES,
        epsilon=4 * noise_epsilon * updates,
        length=length,
        cuts=CUTS,
        states=2,
        name=name,
        trust_rows=True,
        identifier=identifier,
        reference=SOURCE,
        examples=tuple(pairs),
        outputs=(output,),
        beside=(learns,),
        density=partial(
            pmw_density, accuracy=accuracy, noise_epsilon=noise_epsilon, updates=updates
        ),
    )


PMW_SESSION = pmw_session_mechanism(
    accuracy=0.4, noise_epsilon=0.25, updates=2, records=400, identifier="PMW-SESSION"
)
