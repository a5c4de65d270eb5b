"""Private multiplicative weights: what it loses, step by step and in all, and as a session.

The law of a whole transcript of a session has too many outcomes for few draws. So two statements
look at what every noise of a session leaves behind if one query is asked again and again: the steps
of the updates, which the noises of thresholds and comparisons decide, and the noise of the answers.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import log, prod
from typing import TypedDict, Unpack

import numpy as np

from .._checks import refuses, sample_shape
from ..accounting.composition import Spending, bound, spends
from ..model import (
    Analyst,
    Array,
    Database,
    EqualityClaim,
    Histogram,
    IdentityClaim,
    Interval,
    Mechanism,
    Parameter,
    PrivacyClaim,
    Relation,
    Session,
    Size,
    Subject,
    Theorem,
    number,
    whole,
)
from ..sparse_vector.above_threshold import ABOVE, HALTED, above_threshold_mechanism, log_bits, take
from ..sparse_vector.above_threshold import BELOW as BELOW_THRESHOLD
from .pmw import SOURCE, asked_in_turn, private_multiplicative_weights_mechanism
from .pmw_session import ROUNDING, pmw_interaction, pmw_session_mechanism

RECORDS = 40
EPSILON = Interval(low=0.1, high=4)
BELOW = whole(5, 0, 12, "queries before the last")
NOISE_EPSILON = number(1.0, 0.2, 2, "1 / (n times the scale of the noises)")


class HardInstance(TypedDict, total=False):
    """Where a claim is nearly tight, as the claim says it."""

    examples: tuple[tuple[Database, Database], ...]
    outputs: tuple[object, ...]


def _claiming(mechanism: Mechanism, epsilon: float, **hard: Unpack[HardInstance]) -> Subject:
    """The mechanism with this claim of pure privacy beside its others."""
    first = mechanism.claims[0]
    assert isinstance(first, PrivacyClaim)
    claim = replace(first, epsilon=epsilon, **hard)
    return Subject(claim=claim, mechanism=mechanism)


def _iteration(multiple: float, noise_epsilon: float, below: int) -> Subject:
    mechanism = private_multiplicative_weights_mechanism(
        queries=partial(asked_in_turn, elements=(1,) * below + (0,)),
        length=below + 1,
        bins=4,
        records=RECORDS,
        accuracy=0.4,
        updates=1,
        epsilon=4 * noise_epsilon,
        name="pmw-iteration",
    )
    # Only where queries stay below although the public distribution errs much on them is a
    # threshold high enough that it and the comparison cost all that they may; draws never get
    # there, and the density needs no draws. An answer far off costs its share at all sizes.
    below_first = [[BELOW_THRESHOLD, 1 / 4]] * below
    outputs = tuple(np.array([*below_first, [ABOVE, far]]) for far in (-5.0, 5.0))
    return _claiming(
        mechanism,
        multiple * noise_epsilon,
        examples=(([12, 28, 0, 0], [11, 29, 0, 0]),),
        outputs=outputs,
    )


def _comparisons(
    threshold_epsilon: float, query_epsilon: float, below: int, epsilon: float
) -> Subject:
    mechanism = above_threshold_mechanism(
        queries=partial(take, bins=(1,) * below + (0,)),
        length=below + 1,
        threshold=10.0,
        sensitivity=1.0,
        threshold_epsilon=threshold_epsilon,
        query_epsilon=query_epsilon,
        relation=Relation.REPLACE_ONE,
        databases=Histogram(bins=2, total=20),
    )
    return _claiming(mechanism, epsilon)


def _comparisons_hold(threshold_epsilon: float, query_epsilon: float, below: int) -> Subject:
    epsilon = threshold_epsilon + query_epsilon
    return _comparisons(threshold_epsilon, query_epsilon, below, epsilon)


def _comparisons_printed(noise_epsilon: float, below: int) -> Subject:
    # The same scale 1 / noise_epsilon twice: that of the queries stands for 2 noise_epsilon.
    return _comparisons(noise_epsilon, 2 * noise_epsilon, below, noise_epsilon)


def _whole_run(epsilon: float, delta: float, updates: int) -> Mechanism:
    # The noise is wider than the gaps, so that a run spends all of its updates.
    made = private_multiplicative_weights_mechanism(
        queries=partial(asked_in_turn, elements=(1, 0) * updates),
        length=2 * updates,
        bins=4,
        records=RECORDS,
        accuracy=0.4,
        updates=updates,
        epsilon=epsilon,
        delta=delta,
    )
    first = made.claims[0]
    assert isinstance(first, PrivacyClaim)
    # Both elements that are asked for change, in opposite ways.
    hard = replace(first, examples=(([20, 20, 0, 0], [21, 19, 0, 0]),))
    return replace(made, claims=(hard, *made.claims[1:]))


def _updates_spend(epsilon: float, delta: float, updates: int) -> IdentityClaim:
    def iterations(slack: float) -> Spending:
        made = _whole_run(epsilon, slack, updates)
        return Spending(pure=[4 * bound(made)["noise_epsilon"]] * updates, delta=slack)

    return spends(lambda: [iterations(0.0), iterations(delta)], epsilon=epsilon)


def _changing_scale(distance: float, records: int, epsilon: float) -> IdentityClaim:

    def compute() -> float:
        logs = [log(epsilon * m / 2) - epsilon * m * distance for m in (records - 1, records)]
        return logs[0] - logs[1]

    return IdentityClaim(compute=compute, stated=epsilon * distance - log(records / (records - 1)))


def _released_count(
    database: Database,
    rng: np.random.Generator,
    *,
    noise_epsilon: float,
    size: Size = None,
) -> Array:
    """The share of element 0 with the noise of an answer, scaled by the records there are.

    Without records there is nothing to divide by: one is taken. Floats of shape `size`.
    """
    counts = np.asarray(database, dtype=float)
    records = max(counts.sum(), 1.0)
    return counts[0] / records + rng.laplace(scale=1 / (noise_epsilon * records), size=size)


def _size_not_public(noise_epsilon: float) -> Subject:
    claim = PrivacyClaim(epsilon=noise_epsilon, relation=Relation.ADD_REMOVE)
    return Subject(
        claim=claim,
        mechanism=Mechanism(
            trust_rows=True,
            name="pmw-answer-size-not-public",
            run=partial(_released_count, noise_epsilon=noise_epsilon),
            databases=Histogram(bins=2, max_count=4),
            claims=(claim,),
            reference=SOURCE,
        ),
    )


ACCURACY = 0.4
BINS = 3
"""Elements that a session is about."""


class SessionParameters(TypedDict):
    """The parameters of a session."""

    noise_epsilon: float
    updates: int
    records: int


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


def _sessions_law(**parameters: Unpack[SessionParameters]) -> Subject:
    session, run = _unheeding(**parameters)

    def other(database: Database, rng: np.random.Generator, *, size: Size = None) -> Array:
        return as_session(run.run(database[0], rng, size=size))

    claim = EqualityClaim(other=other, databases=(list(_uneven(parameters["records"])),))
    return Subject(claim=claim, mechanism=session)


def _sessions_density(**parameters: Unpack[SessionParameters]) -> IdentityClaim:
    def apart() -> float:
        session, run = _unheeding(**parameters)
        data, analyst = _uneven(parameters["records"])
        assert session.log_probability is not None
        assert run.log_probability is not None
        some = np.asarray(run.run(data, np.random.default_rng(0), size=100))
        heard = session.log_probability([data, analyst], as_session(some))
        return float(np.abs(heard - run.log_probability(data, some)).max())

    return IdentityClaim(compute=apart, stated=0.0, tolerance=1e-6)


def _session_learns(**parameters: Unpack[SessionParameters]) -> Subject:
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


def _updates_law(
    part: int,
    data: Callable[[int, float], list[int]],
    noise_epsilon: float,
    updates: int,
    records: int,
) -> Subject:
    """Steps, or noise, of the updates of a session whose data are these."""
    session = _session(noise_epsilon, updates, records)
    counts = data(records, noise_epsilon)
    database = [counts, Analyst.scripted(INSISTED).written()]
    law = partial(updates_by_law, noise_epsilon=noise_epsilon, updates=updates)
    claim = EqualityClaim(other=_one_of(law, part), databases=(database,))
    shows = partial(updates_of, run=session.run, noise_epsilon=noise_epsilon, updates=updates)
    shown = Mechanism(
        trust_rows=True,
        name="pmw-session-updates",
        run=_one_of(shows, part),
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
        identifier="PMW-AR",
        statement="laws of n and n - 1 records, noise 1 / n: the loss grows without bound",
        reference=SOURCE,
        subject=_changing_scale,
        parameters={
            "distance": number(5.0, 1, 20, "from the common centre"),
            "records": whole(10, 2, 1000, "n"),
            "epsilon": NOISE_EPSILON,
        },
    ),
    Theorem(
        identifier="PMW-AT",
        statement="with Lap(D / e1) on the threshold, Lap(2 D / e2) on queries, the bits "
        "lose e1 + e2",
        reference="Dwork and Roth (2014), Theorem 3.23, for any division of the loss",
        subject=_comparisons_hold,
        parameters={
            "threshold_epsilon": Parameter(default=1.0, within=EPSILON, meaning="e1, nats"),
            "query_epsilon": Parameter(default=2.0, within=EPSILON, meaning="e2, nats"),
            "below": BELOW,
        },
    ),
    Theorem(
        identifier="PMW-ITER",
        slow=True,
        statement="an outer iteration, its bits and its answer, loses at most 4 noise_epsilon",
        reference=SOURCE,
        subject=partial(_iteration, 4),
        constant=4,
        parameters={"noise_epsilon": NOISE_EPSILON, "below": BELOW},
    ),
    Theorem(
        identifier="PMW-PRIV",
        slow=True,
        statement="noise_epsilon = sqrt(2 / updates) s(epsilon, delta) / 4 makes the run private",
        reference=SOURCE,
        subject=_whole_run,
        parameters={
            "epsilon": Parameter(default=4.0, within=EPSILON, meaning="nats, of the whole run"),
            "delta": number(0.05, 1e-9, 0.1, "of the whole run"),
            "updates": whole(10, 1, 24, "iterations"),
        },
        weak="an iteration loses 4 noise_epsilon, the bound that PMW-ITER comes near, only where "
        "many comparisons stay below first; such losses are too rare to add up over ten iterations",
    ),
    Theorem(
        identifier="PMW-SPENT",
        statement="iterations of 4 noise_epsilon each lose just epsilon, with delta and without",
        reference=SOURCE,
        subject=_updates_spend,
        parameters={
            "epsilon": Parameter(default=4.0, within=EPSILON, meaning="nats, of the whole run"),
            "delta": number(0.05, 1e-9, 0.1, "of the whole run"),
            "updates": whole(10, 1, 24, "iterations"),
        },
    ),
    Theorem(
        identifier="ERR-PMW-1",
        slow=True,
        statement="an outer iteration loses at most noise_epsilon",
        reference=SOURCE,
        subject=_iteration,
        parameters={
            "noise_epsilon": NOISE_EPSILON,
            "below": whole(5, 5, 10, BELOW.meaning),
            "multiple": number(1, 1, 2, "noise_epsilons charged for it"),
        },
        corrected="PMW-ITER",
        remark="the threshold costs 1, the comparison that reaches it 2 and the answer 1",
    ),
    Theorem(
        identifier="ERR-PMW-2",
        statement="with Lap(D / e) on the threshold and on queries, the bits lose e",
        reference=SOURCE,
        subject=_comparisons_printed,
        parameters={
            "noise_epsilon": NOISE_EPSILON,
            "below": whole(5, 3, 10, BELOW.meaning),
        },
        corrected="PMW-AT",
        remark="it is not AboveThreshold at noise_epsilon: the cost is 3 noise_epsilon",
    ),
    Theorem(
        identifier="ERR-PMW-7",
        statement="noise of scale 1 / (noise_epsilon |X|) is enough when records come and go",
        reference=SOURCE,
        subject=_size_not_public,
        parameters={"noise_epsilon": NOISE_EPSILON},
        corrected="PMW-ITER",
        remark="the relation is not stated; it must be replace-one, with the size public",
    ),
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
