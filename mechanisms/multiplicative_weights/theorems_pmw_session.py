"""Private multiplicative weights as a session: what it loses, and that it does as the run does.

The law of a whole transcript has too many outcomes for few draws. So two statements look at what
every noise of a session leaves behind if one query is asked again and again: the steps of the
updates, which the noises of thresholds and comparisons decide, and the noise of the answers.
"""

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from .._checks import refuses, sample_shape
from ..model import (
    Analyst,
    Array,
    Database,
    EqualityClaim,
    IdentityClaim,
    Mechanism,
    Session,
    Size,
    Subject,
    Theorem,
    number,
    whole,
)
from ..sparse_vector.sparse_vector_law import HALTED, log_bits
from .pmw import SOURCE, private_multiplicative_weights_mechanism
from .pmw_adversaries import asked_in_turn
from .pmw_session import ROUNDING, pmw_interaction, pmw_session_mechanism

ACCURACY = 0.4
BINS = 3
"""Elements that a session is about."""


def _session(noise_epsilon: float, updates: int, records: int) -> Mechanism:
    return pmw_session_mechanism(
        accuracy=ACCURACY, noise_epsilon=noise_epsilon, updates=updates, records=records
    )


def _answered(noise_epsilon: float, updates: int, records: int) -> IdentityClaim:
    """How many queries are answered whose answer a record may move by more than 1 / n."""
    core = pmw_interaction(accuracy=ACCURACY, noise_epsilon=noise_epsilon, updates=updates)
    asked = ((0, 0, 2), (0.5, 0, 0), (-1, 1, 0), (1, 0), (1, 0, 0, 0))

    def taken() -> float:
        sessions = [Session(core, [records, 0, 0], np.random.default_rng(0)) for _ in asked]
        asks = map(partial, [one.ask for one in sessions], asked)
        return list(map(refuses, asks)).count(False)

    return IdentityClaim(compute=taken, stated=0.0)


ASKED = (0, 0, 1, 0, 0, 0)
"""Which element a session is asked for whose analyst heeds no answer."""


def _unheeding(noise_epsilon: float, updates: int, records: int) -> tuple[Mechanism, Mechanism]:
    """A session, and the run in which the same elements are asked for."""
    run = private_multiplicative_weights_mechanism(
        queries=partial(asked_in_turn, elements=ASKED),
        length=len(ASKED),
        bins=BINS,
        records=records,
        accuracy=ACCURACY,
        updates=updates,
        epsilon=4 * noise_epsilon * updates,
        noise_epsilon=noise_epsilon,
    )
    return _session(noise_epsilon, updates, records), run


def as_session(transcripts: Array) -> Array:
    """Transcripts (..., k, 2) of a run as a session whose analyst heeds no answer is heard."""
    kinds, answers = np.moveaxis(transcripts, -1, 0)
    asked = np.where(kinds == HALTED, np.nan, np.broadcast_to(ASKED, kinds.shape))
    return np.stack([asked, answers], axis=-1)


def _uneven(records: int) -> tuple[list[int], list[object]]:
    """Data with errors of half the threshold, so that noise decides and is told, and who asks."""
    far = 13 * records // 30
    return [far, records // 4, records - far - records // 4], Analyst.scripted(*ASKED).written()


def _sessions_law(**parameters: Any) -> Subject:
    session, run = _unheeding(**parameters)

    def other(database: Database, rng: np.random.Generator, *, size: Size = None) -> Array:
        return as_session(run.run(database[0], rng, size=size))

    claim = EqualityClaim(other=other, databases=(list(_uneven(parameters["records"])),))
    return Subject(claim=claim, mechanism=session)


def _sessions_density(**parameters: Any) -> IdentityClaim:
    def apart() -> float:
        session, run = _unheeding(**parameters)
        data, analyst = _uneven(parameters["records"])
        assert session.log_probability is not None
        assert run.log_probability is not None
        some = np.asarray(run.run(data, np.random.default_rng(0), size=100))
        heard = session.log_probability([data, analyst], as_session(some))
        return float(np.abs(heard - run.log_probability(data, some)).max())

    return IdentityClaim(compute=apart, stated=0.0, tolerance=1e-6)


def _session_learns(**parameters: Any) -> Subject:
    made = _session(**parameters)
    return Subject(claim=made.claims[1], mechanism=made)


# --- the updates of a session, by their law -------------------------------------------------------

INSISTED = 0
"""The element that is asked for in every step, and of the queries the one that asks for it."""


def estimate_of(turns: Array) -> Array:
    """The public share of the element after so many updates for it less those against it."""
    weights = np.exp(ACCURACY / 8 * turns)
    return np.asarray(weights / (weights + BINS - 1))


def updates_of(
    database: Database,
    rng: np.random.Generator,
    *,
    run: Callable[..., Array],
    noise_epsilon: float,
    updates: int,
    size: Size = None,
) -> Array:
    """What a session shows of its updates: `run` is that of a session with one query only.

    Returns shape `size` + (updates, 2): the step of each update, counted from 1 and negative if
    it was against the element, 0 for none; and the noise of its answer in scales, NaN for none.
    """
    heard = run(database, rng, size=size)
    answers = heard.reshape(-1, *heard.shape[-2:])[..., 1]
    exact, scale = _share_and_scale(database, noise_epsilon)
    found = np.zeros((len(answers), updates, 2))
    found[..., 1] = np.nan
    turns, used = np.zeros(len(answers)), np.zeros(len(answers), dtype=int)
    for step, given in enumerate(answers.T):
        gap = given - estimate_of(turns)
        there = np.flatnonzero((np.abs(gap) > ROUNDING) & (used < updates))
        side = np.sign(gap[there])
        noise = (given[there] - exact) / scale
        found[there, used[there]] = np.stack([side * (step + 1), noise], axis=-1)
        turns[there] += side
        used[there] += 1
    return found.reshape(*heard.shape[:-2], updates, 2)


def updates_by_law(
    database: Database,
    rng: np.random.Generator,
    *,
    noise_epsilon: float,
    updates: int,
    size: Size = None,
) -> Array:
    """`updates_of` a sound session, drawn from the law of each iteration and without a session.

    The margin of the one query changes with an update only. So the step of the next update has
    the law of a sparse vector of equal margins, the noise of its answer is Laplace, and nothing
    else is random.
    """
    shape = sample_shape(size)
    runs = prod(shape)
    exact, scale = _share_and_scale(database, noise_epsilon)
    found = np.zeros((runs, updates, 2))
    found[..., 1] = np.nan
    turns, steps = np.zeros(runs), np.zeros(runs, dtype=int)
    for each in range(updates):
        noise = rng.laplace(size=runs)
        for turn, step in np.unique(np.stack([turns, steps], axis=1), axis=0):
            alike = np.flatnonzero((turns == turn) & (steps == step) & (steps < len(ASKED)))
            estimate = float(estimate_of(turn))
            margin = abs(exact - estimate) - ACCURACY / 2
            logs = [
                log_bits((margin,) * missed, (margin,), threshold_scale=scale, query_scale=scale)
                for missed in range(len(ASKED) - int(step))
            ]
            missed = np.cumsum(np.exp(logs)).searchsorted(rng.random(len(alike)), side="right")
            steps[alike] += missed + 1
            there = alike[steps[alike] <= len(ASKED)]
            side = np.sign(exact + scale * noise[there] - estimate)
            found[there, each] = np.stack([side * steps[there], noise[there]], axis=-1)
            turns[there] += side
    return found.reshape(*shape, updates, 2)


def _share_and_scale(database: Database, noise_epsilon: float) -> tuple[float, float]:
    """The share of the element in the data, and the scale of the noises."""
    counts = np.asarray(database[0], dtype=float)
    return float(counts[INSISTED] / counts.sum()), 1 / (noise_epsilon * counts.sum())


def _one_of(run: Callable[..., Array], part: int) -> Callable[..., Array]:
    """The sampler's numbers of this place in their last axis."""

    def drawn(database: Database, rng: np.random.Generator, *, size: Size = None) -> Array:
        return np.asarray(run(database, rng, size=size))[..., part]

    return drawn


def _updates_law(part: int, data: Callable[[int, float], list[int]], **parameters: Any) -> Subject:
    """Steps, or noise, of the updates of a session whose data are these."""
    session = _session(**parameters)
    law = {name: parameters[name] for name in ("noise_epsilon", "updates")}
    counts = data(parameters["records"], parameters["noise_epsilon"])
    database = [counts, Analyst.scripted(INSISTED).written()]
    claim = EqualityClaim(
        other=_one_of(partial(updates_by_law, **law), part), databases=(database,)
    )
    shown = Mechanism(
        trust_rows=True,
        name="pmw-session-updates",
        run=_one_of(partial(updates_of, run=session.run, **law), part),
        databases=session.databases,
        claims=(claim,),
        reference=SOURCE,
    )
    return Subject(claim=claim, mechanism=shown)


def _at_the_threshold(records: int, noise_epsilon: float) -> list[int]:
    """Errors from one noise above the threshold down to it, so that all noises decide.

    There the steps of the updates tell most of the scales, and of a threshold that is kept.
    """
    first = min(round(records * (1 / BINS + ACCURACY / 2) + 1 / noise_epsilon), records)
    second = (records - first) // 2
    return [first, second, records - first - second]


def _far_above(records: int, noise_epsilon: float) -> list[int]:
    """Every comparison is above, so that each answer has noise of its own."""
    return [records, *[0] * (BINS - 1)]


THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="PMW-SESSION",
        weak="a whole session is one dear draw, and few are made; its density shows .97 of it",
        costly=10,
        statement="a session of c updates loses 4 c noise_epsilon, the next query chosen by the "
        "answers",
        reference=SOURCE,
        subject=_session,
        parameters=(
            session := {
                "noise_epsilon": number(0.25, 0.02, 2, "1 / (n times the scale of the noises)"),
                "updates": whole(2, 1, 4, "updates, c"),
                "records": whole(400, 50, 10_000, "n"),
            }
        ),
    ),
    Theorem(
        identifier="PMW-SESSION-LAW",
        costly=6,
        statement="a session whose analyst heeds no answer is the run with those queries",
        reference=SOURCE,
        subject=_sessions_law,
        parameters=(noisy := {**session, "records": whole(80, 50, 10_000, "n")}),
    ),
    Theorem(
        identifier="PMW-SESSION-BITS",
        costly=3,
        statement="the updates of a session come as those of a sparse vector with a threshold of "
        "its own after each",
        reference=SOURCE,
        subject=partial(_updates_law, 0, _at_the_threshold),
        parameters={
            **session,
            "updates": whole(3, 1, 4, "updates, c"),
            "records": whole(160, 50, 10_000, "n"),
        },
    ),
    Theorem(
        identifier="PMW-SESSION-QUERIES",
        statement="a session answers counting queries, 0 or 1 for each element, and no others: a "
        "record moves their answers by 1 / n at most",
        reference=SOURCE,
        subject=_answered,
        parameters={**session, "records": whole(80, 50, 10_000, "n")},
    ),
    Theorem(
        identifier="PMW-SESSION-NOISE",
        costly=6,
        statement="an answer by the data is off by Laplace noise of scale 1 / (noise_epsilon n)",
        reference=SOURCE,
        subject=partial(_updates_law, 1, _far_above),
        parameters=noisy,
    ),
    Theorem(
        identifier="PMW-SESSION-DENSITY",
        statement="such a session has the density of the run, each worked out in its own way",
        reference=SOURCE,
        subject=_sessions_density,
        parameters=noisy,
    ),
    Theorem(
        identifier="PMW-SESSION-KL",
        costly=10,
        statement="every update of a session lowers the KL divergence by 15 alpha^2 / 512",
        reference=SOURCE,
        subject=_session_learns,
        parameters={
            **session,
            "noise_epsilon": number(0.125, 0.1, 2, "1 / (n times the scale of the noises)"),
            "records": whole(400, 250, 10_000, "n"),
        },
    ),
)
