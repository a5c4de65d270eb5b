"""Private multiplicative weights: how often its real noise spoils what the proof needs.

Tails of runs of the shipped mechanism, with its own noise and its own constants: the largest noise,
an update that lowers the potential too little, more updates than the potential pays for, an answer
that errs too much. Each stands beside the invariant that holds while the noise is small, and has a
database on which the bound is approached. With b the scale of the noises and x = accuracy / (4 b):

- the difference of two of them exceeds accuracy / 4 with probability (2 + x) exp(-x) / 4. An
  update at a gap below accuracy / 4 needs that, and so does a public answer that errs by more than
  3 accuracy / 4. A run over k queries compares the noise of query i with a threshold's drawn at a
  step j <= i: k (k + 1) / 2 pairs, by the union bound, whoever asks.
- an update at a gap of accuracy / 4 or more goes the wrong way only if the answer's noise passes
  accuracy / 4 on one side: probability exp(-x) / 2. An answer by the data errs by more than
  3 accuracy / 4 with probability exp(-3 x).
- at a gap of accuracy / 4 or more an update the right way lowers the potential by
  15 accuracy^2 / 512 (PMW-KL-3S): updates that cost more than all of it contain one that did not.
"""

from collections.abc import Callable
from functools import partial
from math import ceil, exp, floor, log, prod
from typing import Any

import numpy as np

from .._checks import sample_shape
from ..model import (
    Array,
    Database,
    Histogram,
    Mechanism,
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
from .pmw_updates import answer_errors, potentials

DROP = 15 / 512
"""Of accuracy^2: what an update at a gap of accuracy / 4 lowers the potential by, at least."""
ROUNDING = 1e-12

LENGTH = whole(1, 1, 6, "queries")
ACCURACY = number(0.5, 0.2, 0.6, "alpha")
RECORDS = whole(1000, 200, 1e5, "n")
ON_RUNS = {"length": LENGTH, "accuracy": ACCURACY, "records": RECORDS}
DISTANCE = number(3.0, 1.5, 8, "accuracy / 4 in units of the noises' scale, x")


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


def _shipped(length: int, accuracy: float, records: int, distance: float) -> Mechanism:
    """The mechanism on two elements, asked for the share of the first over and over."""
    noise_epsilon = 4 * distance / (accuracy * records)
    return private_multiplicative_weights_mechanism(
        queries=partial(asked_in_turn, elements=(0,) * length),
        length=length,
        bins=2,
        records=records,
        accuracy=accuracy,
        updates=length,
        epsilon=4 * length * noise_epsilon,
        noise_epsilon=noise_epsilon,
    )


def _tail(
    mechanism: Mechanism,
    loss: Callable[[Database, Any], Array],
    level: float,
    chance: float,
    databases: tuple[Database, ...],
) -> Subject:
    """P[loss > level] <= chance on runs of the mechanism."""
    claim = UtilityClaim(
        loss=loss,
        bound=lambda beta: level,
        levels=(min(chance, 0.999),),
        databases=databases,
    )
    return Subject(claim=claim, mechanism=mechanism)


def _rate(mechanism: Mechanism) -> dict[str, Any]:
    """What of the mechanism decides how its public distribution moves, as it is shipped."""
    run: Any = mechanism.run
    return {name: run.keywords[name] for name in ("queries", "learning_rate")}


def _apart(queries: int, distance: float) -> float:
    """That the noises of some threshold and some query differ by accuracy / 4 in one direction."""
    return queries * (queries + 1) / 2 * (2 + distance) * exp(-distance) / 4


def _little_update(queries: int, distance: float) -> float:
    return _apart(queries, distance) + queries * exp(-distance) / 2


def _drops(length: float, accuracy: float, records: float, distance: float) -> Subject:
    queries, total = round(length), round(records)
    mechanism = _shipped(queries, accuracy, total, distance)
    rate = _rate(mechanism)

    def missing(database: Database, output: Any) -> Array:
        transcripts = np.asarray(output, dtype=float)
        potential = potentials(database, transcripts, **rate)
        lowered = np.where(
            transcripts[..., 0] == ABOVE, potential[..., :-1] - potential[..., 1:], np.inf
        )
        return DROP * accuracy**2 - lowered.min(axis=-1)

    # Just inside the gap at which an update still helps enough, and far outside.
    near = ceil(total / 2 + accuracy * total / 4) - 1
    return _tail(
        mechanism,
        missing,
        ROUNDING,
        _little_update(queries, distance),
        ([near, total - near], [total, 0]),
    )


def _updates(length: float, accuracy: float, records: float, distance: float) -> Subject:
    queries, total = round(length), round(records)
    mechanism = _shipped(queries, accuracy, total, distance)

    rate = _rate(mechanism)

    def spent(database: Database, output: Any) -> Array:
        made = (np.asarray(output)[..., 0] == ABOVE).sum(axis=-1)
        start = potentials(database, output, **rate)[..., 0]
        return made * DROP * accuracy**2 - start

    # The potential does not pay for a single update.
    near = floor(total / 2 + 0.12 * accuracy * total)
    return _tail(
        mechanism,
        spent,
        ROUNDING,
        _little_update(queries, distance),
        ([near, total - near], [total, 0]),
    )


def _errors(length: float, accuracy: float, records: float, distance: float) -> Subject:
    queries, total = round(length), round(records)
    mechanism = _shipped(queries, accuracy, total, distance)
    rate = _rate(mechanism)

    def worst(database: Database, output: Any) -> Array:
        errors = answer_errors(database, output, **rate)
        return np.nan_to_num(errors, nan=0.0).max(axis=-1)

    # Just outside the error that is allowed: a public answer fails.
    far = min(total, floor(total / 2 + 3 * accuracy * total / 4) + 1)
    chance = _apart(queries, distance) + queries * exp(-3 * distance)
    return _tail(
        mechanism,
        worst,
        3 * accuracy / 4 + ROUNDING,
        chance,
        ([far, total - far], [total // 2, total - total // 2]),
    )


THEOREMS: tuple[Theorem, ...] = (
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
        "(K (2 + x) + 2 k) exp(-x) / 4 at most, x = alpha / (4 b), K = k (k + 1) / 2",
        reference=f"{SOURCE}, with constants",
        subject=_drops,
        parameters={**ON_RUNS, "distance": DISTANCE},
    ),
    Theorem(
        identifier="PMW-UPD-TAIL",
        statement="updates are more than 512 KL(X || uniform) / (15 alpha^2) with chance "
        "(K (2 + x) + 2 k) exp(-x) / 4 at most, x = alpha / (4 b), K = k (k + 1) / 2",
        reference=f"{SOURCE}, with constants",
        subject=_updates,
        parameters={**ON_RUNS, "distance": number(2.0, 1.5, 8, DISTANCE.meaning)},
    ),
    Theorem(
        identifier="PMW-ACC-TAIL",
        statement="an answer errs by more than 3 alpha / 4 with chance "
        "K (2 + x) exp(-x) / 4 + k exp(-3 x) at most, x = alpha / (4 b), K = k (k + 1) / 2",
        reference=f"{SOURCE}, with constants",
        subject=_errors,
        parameters={**ON_RUNS, "distance": DISTANCE},
    ),
)
