"""Private multiplicative weights: how often its real noise spoils what the proof needs.

Tails of runs of the shipped mechanism, with its own noise and its own constants: the largest noise,
an update that lowers the potential too little, more updates than the potential pays for, an answer
that errs too much. Each stands beside the invariant that holds while the noise is small, and has a
database on which the bound is approached. The chances and their proofs are in `pmw_chances`.

The noise follows from the stated chance, which is therefore below 1 at every length.
"""

from collections.abc import Callable
from functools import partial
from math import ceil, floor, log, prod
from typing import Any

import numpy as np

from .._checks import sample_shape
from ..accounting.tails import least_distance
from ..model import (
    Array,
    Database,
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
from ..sparse_vector.sparse_vector_law import ABOVE, HALTED
from .pmw import SOURCE, noises_drawn, private_multiplicative_weights_mechanism
from .pmw_adversaries import asked_in_turn, worst_query
from .pmw_chances import (
    DROP,
    ROUNDING,
    cost_of_updates,
    large_error,
    little_update,
    per_nat,
)
from .pmw_updates import Queries, answer_errors, potentials

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


def dynamics_of(mechanism: Mechanism) -> dict[str, object]:
    """What of the mechanism decides how its public distribution moves, as it is shipped."""
    run: Any = mechanism.run
    return {name: run.keywords[name] for name in ("queries", "learning_rate")}


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


def dearest_update(database: Database, output: Output, **dynamics: Any) -> Array:
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
)
