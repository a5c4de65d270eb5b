"""Private multiplicative weights: why it is accurate, step by step.

The statements about runs hold whenever no noise exceeds accuracy / 8, and are tested with noise
chosen inside that event, at its edge first.
"""

from collections.abc import Callable
from functools import partial
from math import exp, floor, log
from typing import Any

import numpy as np

from ..model import (
    IdentityClaim,
    Interval,
    InvariantCase,
    InvariantClaim,
    Plot,
    Record,
    Rows,
    Theorem,
    number,
    whole,
)
from .pmw import SOURCE
from .pmw_bounds import most_updates
from .pmw_cases import (
    accuracy_margin,
    case_domain,
    count_margin,
    drop_margin,
    gap_margin,
    near_edge,
)
from .pmw_pictures import answers_plot, gaps_plot, potential_plot, updates_plot
from .pmw_updates import expected, kl_divergence, multiplicative_update, shares_of

BINS = whole(4, 2, 16, "elements of the domain")
ACCURACY = number(0.5, 0.2, 0.9, "the accuracy asked for, alpha")
ON_RUNS = {"bins": BINS, "accuracy": ACCURACY}


def _about_runs(
    identifier: str,
    statement: str,
    margin: Callable[..., Callable[[Any], float]],
    plot: Callable[..., Plot],
    bound: Callable[[float], dict[str, Any]],
    **rest: Any,
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


def _drop(multiple: float) -> Callable[[int, float], Callable[[Any], float]]:
    return lambda bins, accuracy: partial(
        drop_margin, bins=bins, accuracy=accuracy, least=multiple * accuracy**2
    )


def _with_run(margin: Callable[..., float]) -> Callable[[int, float], Callable[[Any], float]]:
    return lambda bins, accuracy: partial(margin, bins=bins, accuracy=accuracy)


def _printed_updates(*, bins: int, accuracy: float) -> int:
    return floor(log(bins) / accuracy**2)


def _histogram(rows: Any, bins: int) -> Any:
    return np.bincount(np.asarray(rows, dtype=np.int64), minlength=bins) / len(rows)


def _normalised(weights: Any) -> Any:
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
)
