"""Private multiplicative weights, Hardt and Rothblum (2010).

As in Stemmer, lecture notes on differential privacy, lecture 13, with the constants made explicit.
The number of records n is public and neighbours replace one record. A public distribution, uniform
at first, answers the queries it is good at; on the others the data answer, with noise, and the
distribution learns from the answer.

Who asks: a stream of queries is a function (step, synthetic, truth): `synthetic` of shape (runs,
bins) is the public distribution of every run, `truth` of shape (bins,) the private one. It
returns 0/1 queries of shape (bins,) or (runs, bins). Privacy is promised against streams that
leave `truth` alone, accuracy against every stream. A source of noise is a function (rng, step,
scale, part, count) that returns `count` noises for the part "threshold", "query" or "answer" at a
step.

The exact law: given the transcript so far everything public is known, so the iterations are
independent sparse vectors of one positive answer each.

The constants of the accuracy theorem stand last. The event behind it: no noise of the run exceeds
accuracy / 8. Then an update lowers the divergence of the data from the public distribution by a
fixed amount, and it starts at no more than ln(bins), which bounds the number of updates.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from math import ceil, floor, inf, log, prod, sqrt
from typing import TypedDict

import numpy as np

from .._checks import require_delta, require_positive, require_whole, sample_shape
from ..accounting.composition import zcdp_root
from ..accounting.privacy_loss import least_distance
from ..model import (
    Array,
    Database,
    Histogram,
    InvariantCase,
    Mechanism,
    Output,
    PrivacyClaim,
    Relation,
    Size,
    UtilityClaim,
)
from ..queries import shares_of
from ..sparse_vector.above_threshold import ABOVE, BELOW, HALTED, log_bits
from .pmw_updates import (
    DROP,
    ROUNDING,
    Direction,
    Dynamics,
    Queries,
    Release,
    Update,
    answer_errors,
    away_from_estimate,
    cost_of_updates,
    excess_error,
    expected,
    fresh_answers,
    little_update,
    multiplicative_update,
    per_nat,
    replay,
)

Noise = Callable[..., Array]
"""(rng, step, scale, part, count) -> noises of shape (count,)."""


def asked_in_turn(step: int, synthetic: Array, truth: Array, *, elements: Sequence[int]) -> Array:
    """Ask for the share of one element of the domain, `elements[step]`."""
    query = np.zeros(truth.shape)
    query[elements[step]] = 1.0
    return query


def lightest_element(step: int, synthetic: Array, truth: Array) -> Array:
    """Ask for the share of the element that has least public weight, the first of several.

    It adapts to the answers and knows nothing else.
    """
    return np.eye(synthetic.shape[-1])[synthetic.argmin(axis=-1)]


def worst_query(step: int, synthetic: Array, truth: Array) -> Array:
    """Ask the counting query, of all 2^bins, on which the public distribution errs most.

    The largest sum of differences over a set is that of all positive ones, or, with the same
    size, of all negative ones.
    """
    return (truth > synthetic).astype(float)


def query_of_gap(step: int, synthetic: Array, truth: Array, *, gap: float) -> Array:
    """Ask a query on which the public distribution errs by nearly `gap`.

    Of the elements that it undervalues the query has the least undervalued ones, as many as keep
    the error within `gap`, and one at least. Until an update is made the query is the same, so
    that the noises of the comparisons get one chance after another.
    """
    short = np.maximum(truth - synthetic, 0.0)
    order = np.argsort(short, axis=-1)
    rising = np.take_along_axis(short, order, axis=-1)
    error = np.cumsum(rising, axis=-1)
    taken = (rising > 0) & ((error <= gap) | (error == rising))
    query = np.zeros(short.shape)
    np.put_along_axis(query, order, taken.astype(float), axis=-1)
    return query


def shaving_query(step: int, synthetic: Array, truth: Array, *, gap: float) -> Array:
    """Ask for all elements but the most overvalued ones, as few as err by `gap` together.

    With many elements the error is little above `gap` until the public distribution is good
    everywhere, so that every update helps as little as it can.
    """
    over = np.maximum(synthetic - truth, 0.0)
    order = np.argsort(-over, axis=-1)
    falling = np.take_along_axis(over, order, axis=-1)
    query = np.ones(over.shape)
    left_out = np.cumsum(falling, axis=-1) - falling < gap
    np.put_along_axis(query, order, 1.0 - left_out, axis=-1)
    return query


def scripted_queries(step: int, synthetic: Array, truth: Array, *, masks: Sequence[int]) -> Array:
    """Ask the queries with these bit masks, over and over; a mask of 2^bins asks `worst_query`."""
    mask = masks[step % len(masks)]
    if mask >= 2 ** len(truth):
        return worst_query(step, synthetic, truth)
    return ((mask >> np.arange(len(truth))) & 1).astype(float)


def laplace_noise(
    rng: np.random.Generator, step: int, scale: float, part: str, count: int
) -> Array:
    """Fresh Laplace noise of the given scale for every part."""
    return rng.laplace(scale=scale, size=count)


def no_query_noise(
    rng: np.random.Generator, step: int, scale: float, part: str, count: int
) -> Array:
    """Laplace noise on the thresholds and answers, none on the comparisons."""
    return np.zeros(count) if part == "query" else laplace_noise(rng, step, scale, part, count)


def scripted_noise(
    rng: np.random.Generator,
    step: int,
    scale: float,
    part: str,
    count: int,
    *,
    script: InvariantCase,
    limit: float,
) -> Array:
    """Noise read from `script[part]`, numbers in [-1, 1] in units of `limit`, over and over."""
    shares = script[part]
    return np.full(count, limit * shares[step % len(shares)])


class BoundRun(TypedDict):
    """What a run and its density are bound to."""

    queries: Queries
    threshold: float
    learning_rate: float
    noise_epsilon: float
    updates: int


SAME_ANSWER = 1e-9
"""Difference up to which an answer is the public estimate, rounded otherwise."""
KEPT = 1 << 15
"""Iterations whose integral is remembered."""


def log_probability(
    database: Database,
    outputs: Output,
    *,
    queries: Queries,
    threshold: float,
    learning_rate: float,
    noise_epsilon: float,
    updates: int,
    compared_with_noise: bool = True,
) -> Array:
    """Log-density of transcripts (..., k, 2) of private multiplicative weights, in nats.

    The measure counts kinds and public answers and is Lebesgue on noisy answers; -inf for what
    no run can give. `compared_with_noise` is False for comparisons without noise of their own.
    """
    outputs = np.asarray(outputs, dtype=float)
    flat = outputs.reshape(-1, *outputs.shape[-2:])
    truth, records = shares_of(database)
    scale = 1 / (noise_epsilon * records)
    kinds, answers = flat[..., 0].astype(np.int64), flat[..., 1]
    margins = np.empty(kinds.shape)
    logs = np.zeros(len(flat))
    shares = replay(truth, flat, queries=queries, learning_rate=learning_rate)
    for step, (query, synthetic) in zip(range(kinds.shape[1]), shares, strict=False):
        estimate, exact = expected(query, synthetic), expected(query, truth)
        margins[:, step] = np.abs(exact - estimate) - threshold
        noise = np.abs(answers[:, step] - exact) / scale
        public = np.where(np.abs(answers[:, step] - estimate) <= SAME_ANSWER, 0.0, -inf)
        answered = np.nan_to_num(-noise - np.log(2 * scale), nan=-inf)
        kind = kinds[:, step]
        logs += np.select(
            [kind == ABOVE, kind == BELOW, kind == HALTED], [answered, public, 0.0], -inf
        )
    iteration = partial(
        _iteration, threshold_scale=scale, query_scale=scale if compared_with_noise else 0.0
    )
    bits = _log_bits_of_runs(kinds, margins.round(12), iteration, updates)
    return (logs + bits).reshape(outputs.shape[:-2])


@lru_cache(maxsize=KEPT)
def _iteration(
    below: tuple[float, ...],
    above: tuple[float, ...],
    *,
    threshold_scale: float,
    query_scale: float,
) -> float:
    """`log_bits`, kept: few iterations differ in bits and margins, whatever the transcripts."""
    return log_bits(below, above, threshold_scale=threshold_scale, query_scale=query_scale)


def _log_bits_of_runs(
    kinds: Array, margins: Array, iteration: Callable[..., float], updates: int
) -> Array:
    """Log-probabilities of the kinds of runs (runs, k), given their margins gap - threshold.

    `iteration(below, above)` is that of one outer iteration with these margins; it is asked once
    for all iterations alike. -inf for runs that halt too early or too late.
    """
    runs, steps = kinds.shape
    logs, used = np.zeros(runs), np.zeros(runs, dtype=np.int64)
    # Runs with the same number have had the same margins since their iterations `began`.
    began, since = np.zeros(runs, dtype=np.int64), np.zeros(runs, dtype=np.int64)
    values, codes = np.unique(margins, return_inverse=True)
    codes = codes.reshape(margins.shape)
    for step in range(steps):
        kind, going = kinds[:, step], used < updates
        logs[(kind == HALTED) == going] = -inf
        top = going & (kind == ABOVE)
        since = np.unique(since * len(values) + codes[:, step], return_inverse=True)[1]
        # An iteration ends with its only positive answer, or goes on to the end of the run.
        ended = np.flatnonzero((top | (step == steps - 1)) & going & np.isfinite(logs))
        _, first, alike = np.unique(
            2 * since[ended] + top[ended], return_index=True, return_inverse=True
        )
        found = []
        for run in ended[first].tolist():
            asked = margins[run, began[run] : step + 1].tolist()
            last = len(asked) - int(top[run])
            found.append(iteration(tuple(sorted(asked[:last])), tuple(asked[last:])))
        logs[ended] += np.array(found)[alike] if found else 0.0
        used += kind == ABOVE
        began[top] = step + 1
        since = np.where(top, 0, since + 1)
    return logs


SOURCE = "Stemmer, lecture notes on differential privacy, lecture 13"


def private_multiplicative_weights(
    database: Database,
    rng: np.random.Generator,
    *,
    queries: Queries,
    length: int,
    threshold: float,
    learning_rate: float,
    noise_epsilon: float,
    updates: int,
    noise: Noise = laplace_noise,
    release: Release = fresh_answers,
    direction: Direction = away_from_estimate,
    update: Update = multiplicative_update,
    size: Size = None,
) -> Array:
    """Answer `length` counting queries, from the public distribution wherever it is near enough.

    `database` holds counts, shape (bins,), of n records; `queries` is a stream as in
    `pmw_adversaries`. Every noise has scale 1 / (noise_epsilon n). A run halts after `updates`
    noisy answers. `noise`, `release`, `direction` and `update` are the parts of the algorithm,
    to be replaced in experiments.
    Returns floats of shape `size` + (length, 2): the kind (0 answered by the public
    distribution, 1 by the data, 2 halted) and the answer, NaN when halted. Raises ValueError on
    a parameter that is not positive and without records.
    """
    require_positive(noise_epsilon=noise_epsilon, updates=updates)
    truth, records = shares_of(database)
    scale = 1 / (noise_epsilon * records)
    shape = sample_shape(size)
    runs = prod(shape)
    kinds = np.full((length, runs), float(HALTED))
    answers = np.full((length, runs), np.nan)
    alive, used = np.arange(runs), np.zeros(runs, dtype=np.int64)
    synthetic = np.full((runs, len(truth)), 1 / len(truth))
    limit, fresh = np.empty(runs), np.ones(runs, dtype=bool)
    for step in range(length):
        if not alive.size:
            break
        draw = partial(noise, rng, step, scale)
        if fresh.any():
            limit[fresh] = threshold + draw("threshold", np.count_nonzero(fresh))
        query = queries(step, synthetic, truth)
        estimate = expected(query, synthetic)
        exact = np.full(estimate.shape, expected(query, truth))
        compared = np.abs(exact - estimate) + draw("query", alive.size)
        top = compared >= limit
        given = release(partial(draw, "answer"), top, exact, estimate, compared)
        kinds[step, alive], answers[step, alive] = top, given
        if top.any():
            turned = direction(given[top], estimate[top], exact[top])
            asked = query if query.ndim == 1 else query[top]
            synthetic[top] = update(synthetic[top], asked, turned, learning_rate)
        used, fresh = used + top, top
        if (going := used < updates).all():
            continue
        # Runs that have halted cost no more noise.
        alive, used, fresh = alive[going], used[going], fresh[going]
        synthetic, limit = synthetic[going], limit[going]
    return np.stack([kinds.T, answers.T], axis=-1).reshape(*shape, length, 2)


def noise_epsilon_for(*, epsilon: float, delta: float, updates: int) -> float:
    """The noise_epsilon that makes a run with so many updates (epsilon, delta)-private.

    An outer iteration loses 4 noise_epsilon: one for the threshold, two for the comparison that
    reaches it, one for the answer. Pure composition if `delta` is 0, else by zCDP.
    """
    if delta == 0:
        return epsilon / (4 * updates)
    return zcdp_root(epsilon, delta) * sqrt(2 / updates) / 4


def noises_drawn(*, length: int, updates: int) -> int:
    """The most noises a run over `length` queries draws: a comparison each, two more an update."""
    return length + 2 * min(updates, length)


def private_multiplicative_weights_mechanism(
    *,
    queries: Queries,
    length: int,
    bins: int,
    records: int,
    accuracy: float,
    updates: int,
    epsilon: float,
    delta: float = 0.0,
    noise_epsilon: float | None = None,
    name: str = "private-multiplicative-weights",
    identifier: str = "",
) -> Mechanism:
    """`private_multiplicative_weights` with threshold accuracy / 2 and learning rate accuracy / 8.

    `noise_epsilon` follows from (epsilon, delta) unless it is given. The stream must not look
    at the data.
    """
    require_positive(accuracy=accuracy, epsilon=epsilon)
    require_whole(length=length, bins=bins, records=records, updates=updates)
    require_delta(delta=delta)
    if noise_epsilon is None:
        noise_epsilon = noise_epsilon_for(epsilon=epsilon, delta=delta, updates=updates)
    bound: BoundRun = {
        "queries": queries,
        "threshold": accuracy / 2,
        "learning_rate": accuracy / 8,
        "noise_epsilon": noise_epsilon,
        "updates": updates,
    }
    unit = 1 / (noise_epsilon * records)

    def worst_error(database: Database, output: Output) -> Array:
        errors = answer_errors(
            database, output, queries=queries, learning_rate=bound["learning_rate"]
        )
        return np.nan_to_num(errors, nan=0.0).max(axis=-1)

    def error_bound(beta: float) -> float:
        too_far = partial(excess_error, length, updates, margin=accuracy / (2 * unit))
        return accuracy / 2 + unit * least_distance(lambda distance: too_far(distance), beta)

    # The public distribution errs on the first element by just so much that an error counts.
    levels = (0.5, 0.2, 0.1, 0.05, 0.01)
    first = [min(records, ceil(records * (1 / bins + error_bound(beta)))) for beta in levels]
    spoilt = little_update(length, min(updates, length), accuracy / (4 * unit))
    # So few updates may all be made, however well they go.
    halts = spoilt if updates * DROP * accuracy**2 > log(bins) else 1.0
    hard: tuple[Database, ...] = ([records, *[0] * (bins - 1)],)
    # Gaps just under the threshold, which noise lifts above it, are those that teach least.
    near = floor(records * (1 / bins + 0.44 * accuracy))
    if bins > 2 and 2 * near <= records:
        hard = (*hard, [near, near, *[0] * (bins - 3), records - 2 * near])
    learns = _learning(bound, accuracy, spoilt, halts, hard)
    return Mechanism(
        trust_rows=True,
        name=name,
        identifier=identifier,
        run=partial(private_multiplicative_weights, length=length, **bound),
        databases=Histogram(bins=bins, total=records),
        claims=(
            PrivacyClaim(
                epsilon=epsilon,
                delta=delta,
                relation=Relation.REPLACE_ONE,
                identifier="PMW-PRIV",
                statement="every outer iteration loses 4 noise_epsilon, and they compose",
                reference=f"{SOURCE}, with constants",
            ),
            UtilityClaim(
                loss=worst_error,
                bound=error_bound,
                levels=levels,
                databases=tuple(
                    [share, *[0] * (bins - 2), records - share][:bins] for share in first
                ),
                identifier="PMW-ACC-TAIL",
                statement="an answer errs by t more than the threshold with chance "
                "c' ((2 + t / b) / 4 + exp(-alpha / 2 b)) exp(-t / b) at most, c' = min(c, k)",
                reference=f"{SOURCE}, with constants",
            ),
            *learns,
        ),
        reference="Hardt and Rothblum (2010)",
        log_probability=partial(log_probability, **bound),
    )


def _learning(
    bound: BoundRun,
    accuracy: float,
    spoilt: float,
    halts: float,
    hard: tuple[Database, ...],
) -> tuple[UtilityClaim, UtilityClaim]:
    """That updates lower the potential as they should, and that so many of them are enough."""
    dynamics: Dynamics = {"queries": bound["queries"], "learning_rate": bound["learning_rate"]}

    def cost(database: Database, output: Output) -> Array:
        updated, lowered = cost_of_updates(database, output, **dynamics)
        return per_nat(updated.sum(axis=-1), lowered.sum(axis=-1))

    def halted(database: Database, output: Output) -> Array:
        return (np.asarray(output)[..., 0] == HALTED).any(axis=-1).astype(float)

    most = (1 + ROUNDING) / (DROP * accuracy**2)
    return (
        UtilityClaim(
            loss=cost,
            bound=lambda beta: most,
            levels=(spoilt,),
            databases=hard,
            identifier="PMW-RUN-UPD",
            statement="every nat of KL that was lost pays for 512 / (15 alpha^2) updates at most",
            reference=f"{SOURCE}, with constants",
        ),
        UtilityClaim(
            loss=halted,
            bound=lambda beta: 1.0,
            levels=(halts,),
            databases=hard,
            identifier="PMW-RUN-ACC",
            statement="the run does not halt",
            reference=SOURCE,
        ),
    )


PMW_ITERATION = private_multiplicative_weights_mechanism(
    queries=partial(asked_in_turn, elements=(1, 1, 1, 1, 1, 0)),
    length=6,
    bins=4,
    records=40,
    accuracy=0.4,
    updates=1,
    epsilon=4.0,
    name="pmw-iteration",
    identifier="PMW-ITER",
)
PRIVATE_MULTIPLICATIVE_WEIGHTS = private_multiplicative_weights_mechanism(
    queries=lightest_element,
    length=6,
    bins=4,
    records=40,
    accuracy=0.4,
    updates=2,
    epsilon=2.0,
    identifier="PMW-PRIV",
)
"""So few updates are charged by plain addition, which is then the cheaper way."""


def most_updates(*, bins: int, accuracy: float) -> int:
    """The most updates a run makes in the event: floor(64 ln(bins) / accuracy^2)."""
    require_positive(bins=bins, accuracy=accuracy)
    return floor(64 * log(bins) / accuracy**2)


def updates_needed(*, bins: int, accuracy: float) -> int:
    """Outer iterations with which a run never halts in the event: one more than its updates."""
    return most_updates(bins=bins, accuracy=accuracy) + 1


def records_needed(
    *, bins: int, accuracy: float, epsilon: float, delta: float, length: int, beta: float
) -> int:
    """Records from which a private run over `length` queries is accurate but for chance `beta`.

    Accurate: no answer errs by more than 3 accuracy / 4 and the run does not halt.
    """
    updates = updates_needed(bins=bins, accuracy=accuracy)
    noise_epsilon = noise_epsilon_for(epsilon=epsilon, delta=delta, updates=updates)
    noises = noises_drawn(length=length, updates=updates)
    return ceil(8 * log(noises / beta) / (accuracy * noise_epsilon))


def largest_noise(
    database: Database,
    rng: np.random.Generator,
    *,
    noises: int,
    noise_epsilon: float,
    size: Size = None,
) -> Array:
    """The largest of `noises` absolute values of Laplace noise of scale 1 / (noise_epsilon n).

    `database` holds the counts of n records. Returns floats of shape `size`.
    """
    require_positive(noises=noises, noise_epsilon=noise_epsilon)
    _, records = shares_of(database)
    # Each is below t with probability 1 - exp(-t / scale); the uniform is that to the power.
    below = rng.uniform(size=(prod(sample_shape(size)))) ** (1 / noises)
    largest = -np.log1p(-below) / (noise_epsilon * records)
    return largest.reshape(sample_shape(size))[()]
