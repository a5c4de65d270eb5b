"""Private multiplicative weights: why it is accurate, and from how many records on it is.

The statements about runs hold whenever no noise exceeds accuracy / 8, and are tested with noise
chosen inside that event, at its edge first.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import ceil, exp, floor, inf, log, sqrt
from typing import TypedDict, Unpack

import numpy as np

from ..model import (
    Array,
    Database,
    IdentityClaim,
    Interval,
    InvariantCase,
    InvariantClaim,
    Output,
    Plot,
    Record,
    Remarks,
    Rows,
    Theorem,
    ThresholdClaim,
    number,
    whole,
)
from ..queries import shares_of
from ..sparse_vector.above_threshold import HALTED
from .pmw import (
    SOURCE,
    largest_noise,
    most_updates,
    noise_epsilon_for,
    private_multiplicative_weights,
    private_multiplicative_weights_mechanism,
    query_of_gap,
    records_needed,
    updates_needed,
    worst_query,
)
from .pmw_cases import (
    accuracy_margin,
    answers_plot,
    case_domain,
    count_margin,
    drop_margin,
    gap_margin,
    gaps_plot,
    near_edge,
    potential_plot,
    updates_plot,
)
from .pmw_updates import (
    DROP,
    Dynamics,
    answer_errors,
    expected,
    kl_divergence,
    multiplicative_update,
)
from .theorems_pmw_tails import runs_with_noises

BINS = whole(4, 2, 16, "elements of the domain")
ACCURACY = number(0.5, 0.2, 0.9, "the accuracy asked for, alpha")
ON_RUNS = {"bins": BINS, "accuracy": ACCURACY}


class MarginEdge(TypedDict, total=False):
    """What a margin is from, on one side or the other."""

    high: float
    low: float


def _about_runs(
    identifier: str,
    statement: str,
    margin: Callable[..., Callable[[InvariantCase], float]],
    plot: Callable[..., Plot],
    bound: Callable[[float], MarginEdge],
    **rest: Unpack[Remarks],
) -> Theorem:
    """A statement about runs: `margin(bins, accuracy)` of a case, `plot` of the hardest case.

    `bound(accuracy)` is the `high` or the `low` that the margin is from.
    """

    def subject(bins: int, accuracy: float) -> InvariantClaim:
        return InvariantClaim(
            cases=case_domain(bins=bins),
            margin=margin(bins, accuracy),
            examples=near_edge(bins=bins),
            **bound(accuracy),
        )

    return Theorem(
        identifier=identifier,
        statement=statement,
        reference=SOURCE,
        subject=subject,
        parameters=ON_RUNS,
        plot=lambda **given: plot(subject(**given), **given),
        **rest,
    )


def _drop(multiple: float) -> Callable[[int, float], Callable[[InvariantCase], float]]:
    return lambda bins, accuracy: partial(
        drop_margin, bins=bins, accuracy=accuracy, least=multiple * accuracy**2
    )


def _with_run(
    margin: Callable[..., float],
) -> Callable[[int, float], Callable[[InvariantCase], float]]:
    return lambda bins, accuracy: partial(margin, bins=bins, accuracy=accuracy)


def _printed_updates(*, bins: int, accuracy: float) -> int:
    return floor(log(bins) / accuracy**2)


def _histogram(rows: Sequence[int], bins: int) -> Array:
    return np.bincount(np.asarray(rows, dtype=np.int64), minlength=bins) / len(rows)


def _normalised(weights: Sequence[float]) -> Array:
    return np.asarray(weights, dtype=float) / sum(weights)


def _records(bins: int) -> Rows:
    return Rows(row=Interval(low=0, high=bins - 1, integer=True), min_size=1, max_size=12)


def _weights(bins: int) -> Rows:
    return Rows(row=Interval(low=1e-3, high=1), min_size=bins, max_size=bins)


def _sensitivity(bins: int) -> InvariantClaim:
    member = Interval(low=0, high=1, integer=True)

    def margin(case: InvariantCase) -> float:
        rows = list(case["rows"])
        public = _normalised(case["weights"])
        query = np.asarray(case["query"], dtype=float)
        gaps = [
            abs(expected(query, _histogram(data, bins)) - expected(query, public))
            for data in (rows, [*rows[1:], case["entering"]])
        ]
        return float(1 / len(rows) - abs(gaps[0] - gaps[1]))

    return InvariantClaim(
        cases=Record(
            fields={
                "rows": _records(bins),
                "entering": Interval(low=0, high=bins - 1, integer=True),
                "query": Rows(row=member, min_size=bins, max_size=bins),
                "weights": _weights(bins),
            }
        ),
        margin=margin,
        examples=(
            {
                "rows": [0, 0, 0],
                "entering": 1,
                "query": [1] + [0] * (bins - 1),
                "weights": [1.0] * bins,
            },
        ),
    )


def _divergence(bins: int) -> InvariantClaim:
    return InvariantClaim(
        cases=Record(fields={"rows": _records(bins), "weights": _weights(bins)}),
        margin=lambda case: float(
            kl_divergence(_histogram(case["rows"], bins), _normalised(case["weights"]))
        ),
        examples=({"rows": list(range(bins)), "weights": [1.0] * bins},),
    )


def _from_uniform(bins: int) -> InvariantClaim:
    uniform = np.full(bins, 1 / bins)
    return InvariantClaim(
        cases=Record(fields={"rows": _records(bins)}),
        margin=lambda case: float(
            log(bins) - kl_divergence(_histogram(case["rows"], bins), uniform)
        ),
        examples=({"rows": [0]}, {"rows": [0, 0, 1]}),
    )


def _update(bins: int) -> InvariantClaim:
    """The update against its definition: minus the largest error of a log-odds after it."""

    def margin(case: InvariantCase) -> float:
        public = _normalised(case["weights"])
        query, turned = np.asarray(case["query"], dtype=float), 2.0 * case["up"] - 1
        rate = case["learning_rate"]
        made = multiplicative_update(public[None], query, np.array([turned]), rate)[0]
        moved = np.log(made / made[0]) - np.log(public / public[0])
        return -float(np.abs(moved - rate * turned * (query - query[0])).max())

    member = Interval(low=0, high=1, integer=True)
    return InvariantClaim(
        cases=Record(
            fields={
                "weights": _weights(bins),
                "query": Rows(row=member, min_size=bins, max_size=bins),
                "up": member,
                "learning_rate": Interval(low=1e-3, high=1),
            }
        ),
        margin=margin,
        examples=(
            {
                "weights": [1.0] * (bins - 1) + [1e-3],
                "query": [1] + [0] * (bins - 1),
                "up": 1,
                "learning_rate": 0.05,
            },
        ),
    )


def _exponential() -> InvariantClaim:
    return InvariantClaim(
        cases=Interval(low=-30, high=1),
        margin=lambda y: 1 + y + y * y - exp(y),
        examples=(1.0, 0.0, 1e-4, -1e-4, -30.0),
    )


def _example(element: int) -> IdentityClaim:
    rows = np.array([1, 1, 7, 3, 1, 3, 2])
    shares = {1: 3 / 7, 2: 1 / 7, 3: 2 / 7, 7: 1 / 7}
    return IdentityClaim(
        compute=lambda: float(shares_of(np.bincount(rows, minlength=11))[0][element]),
        stated=shares.get(element, 0.0),
    )


ON_BINS = {"bins": BINS}


def _spread(records: int, bins: int) -> list[int]:
    """Counts far from uniform, halving from bin to bin."""
    counts = [records >> (place + 1) for place in range(bins)]
    counts[0] += records - sum(counts)
    return counts


def _concentrated(records: int, bins: int, accuracy: float) -> list[int]:
    """All records on two elements, if either of them errs by too much at first, else on one."""
    two = 1 / 2 - 1 / bins > 3 * accuracy / 4
    rest = records // 2 if two else 0
    return [records - rest, rest, *[0] * (bins - 2)]


def _accurate(
    bins: int,
    accuracy: float,
    epsilon: float,
    delta: float,
    length: int,
    beta: float,
) -> ThresholdClaim:
    updates = updates_needed(bins=bins, accuracy=accuracy)
    dynamics: Dynamics = {
        # An error just above the one that is allowed is the likeliest to be overlooked.
        "queries": partial(query_of_gap, gap=0.76 * accuracy),
        "learning_rate": accuracy / 8,
    }

    def instance(records: int) -> tuple[Callable[..., Output], Database]:
        run = partial(
            private_multiplicative_weights,
            length=length,
            threshold=accuracy / 2,
            noise_epsilon=noise_epsilon_for(epsilon=epsilon, delta=delta, updates=updates),
            updates=updates,
            **dynamics,
        )
        return run, _concentrated(records, bins, accuracy)

    def loss(database: Database, output: Output) -> Array:
        errors = answer_errors(database, output, **dynamics)
        halted = np.asarray(output)[..., 0] == HALTED
        return np.where(halted, inf, errors).max(axis=-1)

    return ThresholdClaim(
        trust_rows=True,
        needed=records_needed(
            bins=bins,
            accuracy=accuracy,
            epsilon=epsilon,
            delta=delta,
            length=length,
            beta=beta,
        ),
        instance=instance,
        loss=loss,
        level=3 * accuracy / 4,
        beta=beta,
    )


def _noises(
    bins: int, accuracy: float, epsilon: float, delta: float, length: int, beta: float
) -> ThresholdClaim:
    """So small an accuracy that nearly every query is answered by the data, with all its noises."""
    updates = updates_needed(bins=bins, accuracy=accuracy)

    def instance(records: int) -> tuple[Callable[..., Output], Database]:
        made = private_multiplicative_weights_mechanism(
            queries=worst_query,
            length=length,
            bins=bins,
            records=records,
            accuracy=accuracy,
            updates=updates,
            epsilon=epsilon,
            delta=delta,
        )
        return partial(runs_with_noises, run=made.run), [records, *[0] * (bins - 1)]

    return ThresholdClaim(
        trust_rows=True,
        needed=records_needed(
            bins=bins, accuracy=accuracy, epsilon=epsilon, delta=delta, length=length, beta=beta
        ),
        instance=instance,
        loss=lambda database, output: np.asarray(output),
        level=accuracy / 8,
        beta=beta,
    )


def _enough_updates() -> InvariantClaim:
    """What so many updates lower the potential by, at least, over the most it can be at first."""

    def margin(case: InvariantCase) -> float:
        bins, accuracy = int(case["bins"]), float(case["accuracy"])
        lowered = updates_needed(bins=bins, accuracy=accuracy) * DROP * accuracy**2
        return lowered - log(bins)

    return InvariantClaim(
        cases=Record(
            fields={
                "bins": Interval(low=2, high=10**6, integer=True),
                "accuracy": Interval(low=0.01, high=1),
            }
        ),
        margin=margin,
        examples=({"bins": 2, "accuracy": 1.0}, {"bins": 10**6, "accuracy": 0.01}),
    )


def _root_of_log(length: int) -> ThresholdClaim:
    """The printed number of records, exact for 100 length, for many more."""
    accuracy, beta = 0.25, 0.05
    noise_epsilon = noise_epsilon_for(epsilon=1.0, delta=1e-6, updates=2130)
    at_100 = 8 * log(100 / beta) / (accuracy * noise_epsilon)

    def instance(records: int) -> tuple[Callable[..., Output], Database]:
        run = partial(largest_noise, noises=length, noise_epsilon=noise_epsilon)
        return run, _spread(records, 8)

    return ThresholdClaim(
        trust_rows=True,
        needed=ceil(at_100 * sqrt(log(length) / log(100))),
        instance=instance,
        loss=lambda database, output: np.asarray(output),
        level=accuracy / 8,
        beta=beta,
    )


THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="PMW-EX1",
        statement="the data 1, 1, 7, 3, 1, 3, 2 as a distribution over 1 to 10",
        reference=SOURCE,
        subject=_example,
        parameters={"element": whole(3, 1, 10, "an element")},
    ),
    Theorem(
        identifier="PMW-EXP",
        statement="e^y <= 1 + y + y^2 for y <= 1",
        reference=SOURCE,
        subject=_exponential,
    ),
    Theorem(
        identifier="PMW-UPDATE",
        statement="an update moves the log-odds of two elements by eta (f(x) - f(y)), and no more",
        reference=SOURCE,
        subject=_update,
        parameters=ON_BINS,
    ),
    Theorem(
        identifier="PMW-SENS",
        statement="replacing a record moves the gap |f(X) - f(Xh)| by at most 1/n",
        reference=SOURCE,
        subject=_sensitivity,
        parameters=ON_BINS,
    ),
    Theorem(
        identifier="PMW-KL-1",
        statement="KL(X || Xh) >= 0",
        reference=SOURCE,
        subject=_divergence,
        parameters=ON_BINS,
    ),
    Theorem(
        identifier="PMW-KL-2",
        statement="KL(X || uniform) <= ln(bins)",
        reference=SOURCE,
        subject=_from_uniform,
        parameters=ON_BINS,
    ),
    _about_runs(
        "PMW-ACC-EVENT",
        "no answer errs by more than 3 alpha / 4",
        _with_run(accuracy_margin),
        answers_plot,
        lambda accuracy: {"high": 3 * accuracy / 4},
        constant=3 / 4,
    ),
    _about_runs(
        "PMW-GAP",
        "at an update the public answer errs by alpha / 4 or more, and is moved the right way",
        _with_run(gap_margin),
        gaps_plot,
        lambda accuracy: {"low": accuracy / 4},
        constant=4,
    ),
    _about_runs(
        "PMW-KL-3",
        "an update lowers KL(X || Xh) by alpha^2 / 64 or more",
        _drop(1 / 64),
        partial(potential_plot, 1 / 64, "α²/64"),
        lambda accuracy: {"low": accuracy**2 / 64},
        constant=64,
    ),
    _about_runs(
        "PMW-KL-3S",
        "an update lowers KL(X || Xh) by 15 alpha^2 / 512 or more",
        _drop(15 / 512),
        partial(potential_plot, 15 / 512, "15 α²/512"),
        lambda accuracy: {"low": 15 * accuracy**2 / 512},
        constant=512 / 15,
    ),
    _about_runs(
        "PMW-UPD",
        "updates are at most 64 ln(bins) / alpha^2, and 64 / alpha^2 for each nat of KL lost",
        _with_run(partial(count_margin, most=most_updates)),
        partial(updates_plot, 64.0, "64 ln(bins)/α²"),
        lambda accuracy: {"high": 1.0},
        constant=64,
    ),
    _about_runs(
        "ERR-PMW-4",
        "an update lowers KL(X || Xh) by alpha^2 or more",
        _drop(1.0),
        partial(potential_plot, 1.0, "α²"),
        lambda accuracy: {"low": accuracy**2},
        corrected="PMW-KL-3",
        remark="the goal of the proof drops the constant 1/64",
    ),
    _about_runs(
        "ERR-PMW-5",
        "updates are at most ln(bins) / alpha^2",
        _with_run(partial(count_margin, most=_printed_updates)),
        partial(updates_plot, 1.0, "ln(bins)/α²", by_loss=False),
        lambda accuracy: {"high": 1.0},
        corrected="PMW-UPD",
        remark="with the constant 1 a greedy adversary makes the run halt",
    ),
    Theorem(
        identifier="PMW-MAIN",
        costly=4,
        slow=True,
        statement="with n >= 8 ln(N / beta) / (alpha noise_epsilon) all answers err by 3 "
        "alpha / 4 at most",
        reference=SOURCE,
        subject=_accurate,
        constant=8,
        parameters={
            "bins": whole(16, 2, 16, "of the domain"),
            "accuracy": number(0.5, 0.25, 0.9, "alpha"),
            "epsilon": number(1.0, 0.1, 4, "nats"),
            "delta": number(1e-6, 1e-9, 0.1, "of the whole run"),
            "length": whole(100, 1, 5000, "queries"),
            "beta": number(0.05, 0.001, 0.5, "chance of failure"),
        },
        weak="no instance can: at so many records x is 2 ln(N / beta) in PMW-RUN-ERR and "
        "PMW-RUN-UPD, whose chances are (1 + ln(N / beta)) beta^2 / N together at most; "
        "PMW-MAIN-EVENT reaches the bound on the noise",
    ),
    Theorem(
        identifier="PMW-MAIN-EVENT",
        statement="with n >= 8 ln(N / beta) / (alpha noise_epsilon) no noise of a run exceeds "
        "alpha / 8, but for chance beta",
        reference=SOURCE,
        subject=_noises,
        constant=8,
        parameters={
            "bins": whole(4, 2, 16, "of the domain"),
            "accuracy": number(0.02, 0.01, 0.05, "alpha"),
            "epsilon": number(1.0, 0.1, 4, "nats"),
            "delta": number(1e-6, 1e-9, 0.1, "of the whole run"),
            "length": whole(20, 1, 200, "queries"),
            "beta": number(0.05, 0.001, 0.5, "chance of failure"),
        },
    ),
    Theorem(
        identifier="PMW-BUDGET",
        statement="64 ln(bins) / alpha^2 + 1 updates that lower KL by 15 alpha^2 / 512 each are "
        "more than there can be",
        reference=SOURCE,
        subject=_enough_updates,
    ),
    Theorem(
        identifier="ERR-PMW-3",
        statement="records that grow as the root of ln(queries) keep the noises small",
        reference=SOURCE,
        subject=_root_of_log,
        parameters={"length": whole(1_000_000, 1e4, 1e8, "queries")},
        corrected="PMW-MAIN",
        remark="ln(queries) belongs outside the root",
    ),
)
