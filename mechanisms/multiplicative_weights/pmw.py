"""Private multiplicative weights, Hardt and Rothblum (2010).

As in Stemmer, lecture notes on differential privacy, lecture 13, with the constants made
explicit. The number of records n is public and neighbours replace one record. A public
distribution, uniform at first, answers the queries it is good at; on the others the data answer,
with noise, and the distribution learns from the answer.
"""

from functools import partial
from math import ceil, floor, log, prod, sqrt
from typing import Any

import numpy as np

from .._checks import require_delta, require_positive, require_whole, sample_shape
from ..accounting.composition import zcdp_root
from ..accounting.tails import least_distance
from ..model import (
    Array,
    Database,
    Histogram,
    Mechanism,
    Output,
    PrivacyClaim,
    Relation,
    Size,
    UtilityClaim,
)
from ..sparse_vector.sparse_vector_law import HALTED
from .pmw_adversaries import Noise, asked_in_turn, laplace_noise, lightest_element
from .pmw_chances import (
    DROP,
    ROUNDING,
    cost_of_updates,
    excess_error,
    little_update,
    per_nat,
)
from .pmw_law import log_probability
from .pmw_updates import (
    Direction,
    Queries,
    Release,
    Update,
    answer_errors,
    away_from_estimate,
    expected,
    fresh_answers,
    multiplicative_update,
    shares_of,
)

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
    bound: dict[str, Any] = {
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
    bound: dict[str, Any], accuracy: float, spoilt: float, halts: float, hard: tuple[Database, ...]
) -> tuple[UtilityClaim, UtilityClaim]:
    """That updates lower the potential as they should, and that so many of them are enough."""
    dynamics = {name: bound[name] for name in ("queries", "learning_rate")}

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
