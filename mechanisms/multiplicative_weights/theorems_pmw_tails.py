"""Private multiplicative weights with its own noise: tails, runs of real length, and growth.

- Tails of runs of the shipped mechanism, with its own noise and its own constants: the largest
  noise, an update that lowers the potential too little, more updates than the potential pays for,
  an answer that errs too much. Each stands beside the invariant that holds while the noise is
  small, and has a database on which the bound is approached. The chances and their proofs are in
  `pmw_updates`. The noise follows from the stated chance, which is therefore below 1 at every
  length.
- Runs of hundreds of queries and many updates: how many updates a nat of the potential pays for,
  what the dearest of them cost, and how far the worst answer is off. The analyst sees the data
  and asks, again and again, a query on which the public distribution errs by a chosen gap
  (`query_of_gap`). A gap near accuracy / 2 draws out updates that help little, one above 3
  accuracy / 4 draws out the largest errors.
- How the updates grow with the accuracy and with the domain. All records are one element, and the
  analyst, who sees the data, asks for everything but elements that the public distribution
  overvalues by just over the threshold together. Every update then helps as little as it can, and
  the updates are a quarter of those that are allowed.
"""

from collections.abc import Callable
from functools import partial
from math import ceil, exp, floor, log, prod
from typing import Any, Unpack

import numpy as np

from .._checks import sample_shape
from ..accounting.composition import bound
from ..accounting.privacy_loss import least_distance
from ..model import (
    Array,
    Database,
    GrowthClaim,
    Histogram,
    Mechanism,
    Output,
    Parameter,
    Size,
    Subject,
    Theorem,
    UtilityClaim,
    number,
    whole,
)
from ..sparse_vector.above_threshold import ABOVE, HALTED
from .pmw import (
    SOURCE,
    asked_in_turn,
    most_updates,
    noises_drawn,
    private_multiplicative_weights,
    private_multiplicative_weights_mechanism,
    query_of_gap,
    shaving_query,
    updates_needed,
    worst_query,
)
from .pmw_updates import (
    DROP,
    ROUNDING,
    Dynamics,
    Queries,
    answer_errors,
    cost_of_updates,
    large_error,
    little_update,
    per_nat,
    potentials,
)

ACCURACY = number(0.5, 0.2, 0.6, "alpha")
RECORDS = whole(1000, 200, 1e6, "n")
BETA = number(0.1, 0.001, 0.5, "chance of failure, from which the noise follows")


def _on_runs(length: int) -> dict[str, Parameter]:
    queries = whole(length, 1, 1000, "queries, k")
    return {"length": queries, "accuracy": ACCURACY, "records": RECORDS, "beta": BETA}


def runs_with_noises(
    database: Database,
    rng: np.random.Generator,
    *,
    run: Callable[..., Array],
    size: Size = None,
) -> Array:
    """The largest absolute value of the noises that each run of the mechanism draws.

    `run` is that of the shipped mechanism; its own source of noise is listened to, not replaced.
    A transcript says whose noises a call returned: a comparison's belong to the runs that have
    not halted, an answer's to those that were answered by the data, a threshold's to those of the
    step before. Returns floats of shape `size`.
    """
    heard: list[tuple[int, str, Array]] = []
    own = _noise_of(run)

    def listened(
        generator: np.random.Generator, step: int, scale: float, part: str, count: int
    ) -> Array:
        drawn = own(generator, step, scale, part, count)
        heard.append((step, part, np.abs(drawn)))
        return drawn

    shape = sample_shape(size)
    transcripts = run(database, rng, noise=listened, size=prod(shape))
    kinds = transcripts[..., 0]
    answered = kinds == ABOVE
    largest = np.zeros(len(kinds))
    for step, part, drawn in heard:
        alive = kinds[:, step] != HALTED
        owners = {
            "query": alive,
            "answer": answered[:, step],
            "threshold": alive & (answered[:, step - 1] if step else True),
        }[part]
        largest[owners] = np.maximum(largest[owners], drawn)
    return largest.reshape(shape)[()]


def _noise_of(run: Any) -> Callable[..., Array]:
    """The source of noise that a partial of the algorithm uses."""
    while isinstance(run, partial):
        if "noise" in run.keywords:
            return run.keywords["noise"]
        run = run.func
    return run.__kwdefaults__["noise"]


def _noises(length: float, records: float, noise_epsilon: float) -> Subject:
    queries, total = round(length), round(records)
    mechanism = private_multiplicative_weights_mechanism(
        queries=worst_query,
        length=queries,
        bins=4,
        records=total,
        accuracy=0.02,
        updates=queries,
        epsilon=4 * queries * noise_epsilon,
        noise_epsilon=noise_epsilon,
    )
    noises = noises_drawn(length=queries, updates=queries)
    claim = UtilityClaim(
        loss=lambda database, output: np.asarray(output),
        bound=lambda beta: log(noises / beta) / (noise_epsilon * total),
        # The public distribution errs by 3/4 and learns slowly: nearly every query is answered by
        # the data, so that nearly all of the noises are drawn.
        databases=([total, 0, 0, 0],),
    )
    return Subject(
        claim=claim,
        mechanism=Mechanism(
            trust_rows=True,
            name="pmw-noises",
            run=partial(runs_with_noises, run=mechanism.run),
            databases=Histogram(bins=4, total=total),
            claims=(claim,),
            reference=SOURCE,
        ),
    )


def shipped(
    chance: Callable[[int, int, float], float],
    *,
    beta: float,
    length: int,
    accuracy: float,
    records: int,
    bins: int = 2,
    queries: Queries | None = None,
    updates: int | None = None,
) -> Mechanism:
    """The mechanism with the widest noise for which chance(length, updates, x) is at most `beta`.

    It is asked for the share of the first element over and over unless `queries` says more, and
    may answer every query by the data unless `updates` says less.
    """
    updates = length if updates is None else min(updates, length)
    distance = least_distance(partial(chance, length, updates), beta)
    noise_epsilon = 4 * distance / (accuracy * records)
    return private_multiplicative_weights_mechanism(
        queries=queries or partial(asked_in_turn, elements=(0,) * length),
        length=length,
        bins=bins,
        records=records,
        accuracy=accuracy,
        updates=updates,
        epsilon=4 * updates * noise_epsilon,
        noise_epsilon=noise_epsilon,
    )


def dynamics_of(mechanism: Mechanism) -> Dynamics:
    """What of the mechanism decides how its public distribution moves, as it is shipped."""
    shipped = bound(mechanism)
    return {"queries": shipped["queries"], "learning_rate": shipped["learning_rate"]}


def tail(
    mechanism: Mechanism,
    loss: Callable[[Database, Output], Array],
    level: float,
    chance: float,
    databases: tuple[Database, ...],
) -> Subject:
    """P[loss >= level (1 + rounding)] <= chance on runs of the mechanism."""
    claim = UtilityClaim(
        loss=loss,
        bound=lambda beta: level * (1 + ROUNDING),
        levels=(chance,),
        databases=databases,
    )
    return Subject(claim=claim, mechanism=mechanism)


def dearest_update(database: Database, output: Output, **dynamics: Unpack[Dynamics]) -> Array:
    """1 / the least drop of the potential in an update of the run; 0 without updates."""
    updated, lowered = cost_of_updates(database, output, **dynamics)
    least = np.where(updated, lowered, np.inf).min(axis=-1)
    return per_nat(updated.any(axis=-1).astype(float), least)


def _drops(length: int, accuracy: float, records: int, beta: float) -> Subject:
    mechanism = shipped(little_update, beta=beta, length=length, accuracy=accuracy, records=records)
    # Just inside the gap at which an update still helps enough, and far outside.
    near = ceil(records / 2 + accuracy * records / 4) - 1
    return tail(
        mechanism,
        partial(dearest_update, **dynamics_of(mechanism)),
        1 / (DROP * accuracy**2),
        beta,
        ([near, records - near], [records, 0]),
    )


def _updates(length: int, accuracy: float, records: int, beta: float) -> Subject:
    mechanism = shipped(little_update, beta=beta, length=length, accuracy=accuracy, records=records)
    rate = dynamics_of(mechanism)

    def spent(database: Database, output: Output) -> Array:
        made = (np.asarray(output)[..., 0] == ABOVE).sum(axis=-1)
        return per_nat(made, potentials(database, output, **rate)[..., 0])

    # The potential does not pay for a single update.
    near = floor(records / 2 + 0.12 * accuracy * records)
    return tail(
        mechanism,
        spent,
        1 / (DROP * accuracy**2),
        beta,
        ([near, records - near], [records, 0]),
    )


def _errors(length: int, accuracy: float, records: int, beta: float) -> Subject:
    mechanism = shipped(large_error, beta=beta, length=length, accuracy=accuracy, records=records)
    rate = dynamics_of(mechanism)

    def worst(database: Database, output: Output) -> Array:
        errors = answer_errors(database, output, **rate)
        return np.nan_to_num(errors, nan=0.0).max(axis=-1)

    # Just outside the error that is allowed: a public answer fails.
    far = min(records, floor(records / 2 + 3 * accuracy * records / 4) + 1)
    return tail(
        mechanism,
        worst,
        3 * accuracy / 4,
        beta,
        ([far, records - far], [records // 2, records - records // 2]),
    )


def _claimed(length: int, records: int, noise_epsilon: float) -> Subject:
    """What the mechanism claims of its errors, on the databases that it names."""
    made = private_multiplicative_weights_mechanism(
        queries=partial(asked_in_turn, elements=(0,) * length),
        length=length,
        bins=4,
        records=records,
        accuracy=0.5,
        updates=length,
        epsilon=4 * length * noise_epsilon,
        noise_epsilon=noise_epsilon,
    )
    return Subject(claim=made.claims[1], mechanism=made)


BINS, MANY = 8, 128
RECORDS_OF_RUNS = whole(100_000, 1000, 1e6, "n")


def _parameters(gap: float) -> dict[str, Parameter]:
    return {
        "length": whole(100, 1, 1000, "queries, k"),
        "accuracy": ACCURACY,
        "records": RECORDS_OF_RUNS,
        "beta": BETA,
        "gap": number(gap, 0.25, 2, "the error on which the analyst insists, in alpha"),
    }


def _databases(records: int, accuracy: float) -> tuple[list[int], ...]:
    """Shares just inside the gap at which an update helps enough, and three that take many.

    In the last one two elements are undervalued by just over 3 accuracy / 4 together.
    """
    two = 2 / BINS + 0.755 * accuracy
    near = (1 + accuracy / 2 - 4 / records) / BINS
    shapes = (
        [near] * (BINS // 2) + [2 / BINS - near] * (BINS // 2),
        range(BINS),
        [0.7**place for place in range(BINS)],
        [1 - two, two / 2, two / 2] + [0] * (BINS - 3),
    )
    made = []
    for shape in shapes:
        shares = np.array(shape)
        counts = np.floor(shares / shares.sum() * records).astype(int)
        counts[-1] += records - counts.sum()
        made.append(counts.tolist())
    return tuple(made)


def _cost(length: int, accuracy: float, records: int, beta: float, gap: float) -> Subject:
    mechanism = shipped(
        little_update,
        beta=beta,
        length=length,
        accuracy=accuracy,
        records=records,
        bins=BINS,
        queries=partial(query_of_gap, gap=gap * accuracy),
    )

    rate = dynamics_of(mechanism)

    def cost(database: Database, output: Output) -> Array:
        updated, lowered = cost_of_updates(database, output, **rate)
        return per_nat(updated.sum(axis=-1), lowered.sum(axis=-1))

    return tail(mechanism, cost, 1 / (DROP * accuracy**2), beta, _databases(records, accuracy))


def _least_drop(length: int, accuracy: float, records: int, beta: float, gap: float) -> Subject:
    mechanism = shipped(
        little_update,
        beta=beta,
        length=length,
        accuracy=accuracy,
        records=records,
        bins=BINS,
        queries=partial(query_of_gap, gap=gap * accuracy),
    )
    return tail(
        mechanism,
        partial(dearest_update, **dynamics_of(mechanism)),
        1 / (DROP * accuracy**2),
        beta,
        _databases(records, accuracy),
    )


def _large_error_or_halt(length: int, updates: int, distance: float) -> float:
    return large_error(length, updates, distance) + little_update(length, updates, distance)


def _errors_of_runs(
    chance: Callable[[int, int, float], float],
    length: int,
    accuracy: float,
    records: int,
    beta: float,
    gap: float,
) -> Subject:
    """Half of many elements are undervalued, by so little each that every query errs by the gap."""
    mechanism = shipped(
        chance,
        beta=beta,
        length=length,
        accuracy=accuracy,
        records=records,
        bins=MANY,
        queries=partial(query_of_gap, gap=gap * accuracy),
        updates=updates_needed(bins=MANY, accuracy=accuracy),
    )
    rate = dynamics_of(mechanism)

    def worst(database: Database, output: Output) -> Array:
        errors = answer_errors(database, output, **rate)
        halted = np.asarray(output)[..., 0] == HALTED
        return np.where(halted, np.inf, errors).max(axis=-1)

    half = [records // (MANY // 2)] * (MANY // 2)
    half[0] += records - sum(half)
    return tail(mechanism, worst, 3 * accuracy / 4, beta, ([*half, *[0] * (MANY // 2)],))


QUIET = 64
"""The scale of the noise is so small a part of accuracy / 8: the theorem's event is nearly sure."""
ALIKE = 10_000
GAP = 0.52
"""The error of a query, of accuracy: the threshold is a half."""


def _count_updates(x: float, database: Database, output: Output) -> Array:
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
        noise_epsilon=8 * QUIET / (accuracy * ALIKE),
        updates=length,
    )
    return run, [ALIKE] + [0] * (bins - 1)


def _allowed(bins: int, accuracy: float) -> float:
    return 64 * log(bins) / accuracy**2


def _in_accuracy(bins: int, finest: float) -> GrowthClaim:
    return GrowthClaim(
        trust_rows=True,
        points=tuple(finest * 2 ** (step / 2) for step in range(4)),
        instance=lambda accuracy: _insisting(bins, accuracy),
        quantity=_count_updates,
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
        quantity=_count_updates,
        bound=lambda logarithm: _allowed(bins_of(logarithm), accuracy),
        high=lambda logarithm: _allowed(bins_of(logarithm), accuracy),
        grows="updates",
        over="ln |D|",
        # The run ends a little before the potential is used up.
        slack=0.35,
    )


THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="PMW-ACC",
        statement="an answer errs by t more than the threshold with chance "
        "c' ((2 + t / b) / 4 + exp(-alpha / 2 b)) exp(-t / b) at most, c' = min(c, k)",
        reference=f"{SOURCE}, with constants",
        subject=_claimed,
        parameters={
            # One query would not show that the chances of several add up.
            "length": whole(6, 1, 100, "queries, k"),
            "records": whole(1000, 100, 1e6, "n"),
            "noise_epsilon": number(0.02, 0.01, 2, "1 / (n times the scale of the noises)"),
        },
    ),
    Theorem(
        identifier="PMW-NOISE",
        statement="of the k + 2 min(c, k) noises of a run none exceeds t but for chance "
        "(k + 2 min(c, k)) exp(-t / b)",
        reference=SOURCE,
        subject=_noises,
        parameters={
            "length": whole(20, 1, 200, "queries, k"),
            "records": whole(1000, 1, 1e6, "n"),
            "noise_epsilon": number(0.5, 0.01, 2, "1 / (n times the scale of the noises)"),
        },
    ),
    Theorem(
        identifier="PMW-KL-TAIL",
        statement="an update lowers KL(X || Xh) by less than 15 alpha^2 / 512 with chance "
        "(k (2 + x) + 2 c) exp(-x) / 4 at most, x = alpha / (4 b)",
        reference=f"{SOURCE}, with constants",
        subject=_drops,
        constant=1 / DROP,
        parameters=_on_runs(200),
    ),
    Theorem(
        identifier="PMW-UPD-TAIL",
        statement="updates are more than 512 KL(X || uniform) / (15 alpha^2) with chance "
        "(k (2 + x) + 2 c) exp(-x) / 4 at most, x = alpha / (4 b)",
        reference=f"{SOURCE}, with constants",
        subject=_updates,
        constant=1 / DROP,
        parameters=_on_runs(1),
    ),
    Theorem(
        identifier="PMW-ACC-TAIL",
        statement="an answer errs by more than 3 alpha / 4 with chance "
        "c' ((2 + x) exp(-x) / 4 + exp(-3 x)) at most, x = alpha / (4 b), c' = min(c, k)",
        reference=f"{SOURCE}, with constants",
        subject=_errors,
        constant=3 / 4,
        parameters=_on_runs(1),
    ),
    Theorem(
        identifier="PMW-RUN-UPD",
        slow=True,
        statement="for each nat of KL that a run has lost it made 512 / (15 alpha^2) updates at "
        "most, but for chance (k (2 + x) + 2 c) exp(-x) / 4, x = alpha / (4 b)",
        reference=f"{SOURCE}, with constants",
        subject=_cost,
        constant=1 / DROP,
        parameters=_parameters(0.5),
    ),
    Theorem(
        identifier="PMW-RUN-KL",
        slow=True,
        statement="every update of a run lowers KL by 15 alpha^2 / 512, but for chance "
        "(k (2 + x) + 2 c) exp(-x) / 4, x = alpha / (4 b)",
        reference=f"{SOURCE}, with constants",
        subject=_least_drop,
        constant=1 / DROP,
        parameters=_parameters(0.5),
    ),
    Theorem(
        identifier="PMW-RUN-ERR",
        slow=True,
        costly=4,
        statement="an answer of a run errs by more than 3 alpha / 4 with chance "
        "c' ((2 + x) exp(-x) / 4 + exp(-3 x)) at most, x = alpha / (4 b), c' = min(c, k)",
        reference=f"{SOURCE}, with constants",
        subject=partial(_errors_of_runs, large_error),
        constant=3 / 4,
        parameters={**_parameters(0.77), "length": whole(8, 1, 1000, "queries, k")},
    ),
    Theorem(
        identifier="PMW-RUN-ACC",
        slow=True,
        costly=4,
        statement="a run with 64 ln(bins) / alpha^2 + 1 updates errs by 3 alpha / 4 at most and "
        "does not halt, but for the chances of a large error and of a little update",
        reference=f"{SOURCE}, with constants",
        subject=partial(_errors_of_runs, _large_error_or_halt),
        constant=3 / 4,
        parameters={**_parameters(0.77), "length": whole(16, 1, 1000, "queries, k")},
    ),
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
