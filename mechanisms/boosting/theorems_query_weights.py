"""Boosting for queries: the agreement of answers, the rate of re-weighting, the rounds needed."""

from collections.abc import Callable
from functools import partial
from itertools import count
from math import ceil, e, exp, floor, log
from typing import Any

import numpy as np

from ..model import (
    Array,
    IdentityClaim,
    Interval,
    InvariantCase,
    InvariantClaim,
    Plot,
    Record,
    Theorem,
    number,
    whole,
)
from .boosting import BOOK
from .boosting_pictures import agreement_plot
from .query_weights import (
    Agreement,
    attenuated_agreement,
    exponential_weights,
    lower_agreement,
    rounds_needed,
    upper_agreement,
    weight_rate,
)

ADVANTAGE = number(
    0.25, 0.05, 0.45, "by how much more than half of any distribution the generator serves, eta"
)
QUERIES = whole(64, 2, 256, "size of the query set")


def accurate_as_inaccurate(errors: Array, *, accuracy: float, attenuation: float) -> Array:
    """The upper agreement with its two cases exchanged: -1 where the answer is accurate."""
    return -upper_agreement(errors, accuracy=accuracy, attenuation=attenuation)


# --- the agreement ---------------------------------------------------------------------------

ERRORS = Record(
    fields={
        "errors": Interval(low=0, high=3),
        "other": Interval(low=0, high=3),
        "accuracy": Interval(low=0, high=1),
        "attenuation": Interval(low=0.01, high=2),
    }
)
EDGES = tuple(
    {"errors": one, "other": two, "accuracy": 0.25, "attenuation": 0.5}
    for one in (0.0, 0.25, 0.5, 0.75, 3.0)
    for two in (0.25, 0.75)
)


def _agreed(case: InvariantCase, which: Agreement, key: str = "errors") -> float:
    levels = {"accuracy": case["accuracy"], "attenuation": case["attenuation"]}
    return float(which(np.asarray(case[key]), **levels))


def _attenuation_margin(case: InvariantCase) -> float:
    near, far = sorted((case["errors"], case["other"]))
    high = _agreed({**case, "errors": near}, attenuated_agreement)
    low = _agreed({**case, "errors": far}, attenuated_agreement)
    middle = case["accuracy"] + case["attenuation"] / 2
    balance = abs(_agreed({**case, "errors": middle}, attenuated_agreement))
    steepest = 2 * (far - near) / case["attenuation"]
    return min(1 - abs(high), 1 - abs(low), high - low, steepest - (high - low), -balance)


def agreements_margin(case: InvariantCase, *, upper: Agreement = upper_agreement) -> float:
    """The least slack in lower <= attenuated <= upper agreement."""
    middle = _agreed(case, attenuated_agreement)
    return min(middle - _agreed(case, lower_agreement), _agreed(case, upper) - middle)


def _about_errors(
    identifier: str,
    statement: str,
    margin: Callable[[InvariantCase], float],
    plot: Callable[..., Plot],
    **rest: Any,
) -> Theorem:
    claim = InvariantClaim(cases=ERRORS, margin=margin, examples=EDGES)
    return Theorem(
        identifier=identifier,
        statement=statement,
        reference=BOOK,
        subject=lambda: claim,
        plot=plot,
        **rest,
    )


# --- numbers ---------------------------------------------------------------------------------


def _rate(advantage: float) -> IdentityClaim:
    return IdentityClaim(
        compute=partial(weight_rate, advantage),
        stated=log((1 + 2 * advantage) / (1 - 2 * advantage)) / 2,
    )


def _rounds(queries: int, advantage: float) -> IdentityClaim:
    bound = 1 - 4 * advantage**2
    return IdentityClaim(
        compute=lambda: float(rounds_needed(queries=queries, advantage=advantage)),
        # Counted up, where the formula takes logarithms.
        stated=float(next(t for t in count(1) if bound ** (t / 2) < 1 / queries)),
    )


def _printed_rounds_margin(case: InvariantCase) -> float:
    queries, advantage = case["queries"], case["advantage"]
    exact = rounds_needed(queries=queries, advantage=advantage)
    sharp = floor(log(queries) / (2 * advantage**2)) + 1
    book = ceil(log(queries) / advantage**2)
    return float(min(sharp - exact, book - exact))


def _printed_rounds() -> InvariantClaim:
    return InvariantClaim(
        cases=Record(
            fields={
                "queries": Interval(low=2, high=10**6, integer=True),
                "advantage": Interval(low=0.01, high=0.49),
            }
        ),
        margin=_printed_rounds_margin,
        examples=({"queries": 2, "advantage": 0.49}, {"queries": 64, "advantage": 0.25}),
    )


def _unhappy(share: float, queries: int = 1000) -> tuple[float, float]:
    """Weight of a query served badly under one database only: beside it, and on its own.

    The rate is 1; a `share` of the queries is served badly under the first database.
    """
    agreed = np.where(np.arange(queries) < round(share * queries), -1.0, 1.0)
    ours = float(exponential_weights(agreed, 1.0)[0])
    theirs = float(exponential_weights(np.ones(queries), 1.0)[0])
    return ours / theirs, ours * queries


def _factor(share: float) -> IdentityClaim:
    return IdentityClaim(
        compute=lambda: log(_unhappy(round(share * 1000) / 1000)[0]),
        stated=-log((used := round(share * 1000) / 1000) + (1 - used) * exp(-2)),
        tolerance=1e-10,
    )


def _printed_weight(queries: int) -> IdentityClaim:
    printed = (e / queries) / (0.9 / (e * queries) + 0.1 * e / queries)
    return IdentityClaim(
        compute=lambda: _unhappy(0.1, queries)[1] / queries, stated=printed, tolerance=1e-10
    )


THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="BQ-ALPHA",
        statement="the rate ln((1 + 2 eta) / (1 - 2 eta)) / 2 is artanh(2 eta)",
        reference=BOOK,
        subject=_rate,
        parameters={"advantage": ADVANTAGE},
    ),
    _about_errors(
        "BQ-ATT",
        "agreement falls from 1 to -1, 2/mu-Lipschitz in the error, and is 0 at lambda + mu/2",
        _attenuation_margin,
        agreement_plot,
    ),
    _about_errors(
        "BQ-APM", "lower <= attenuated <= upper agreement", agreements_margin, agreement_plot
    ),
    Theorem(
        identifier="BQ-T",
        statement="floor(2 ln|Q| / -ln(1 - 4 eta^2)) + 1 is the least T with (1 - 4 "
        "eta^2)^(T/2) < 1/|Q|",
        reference=BOOK,
        subject=_rounds,
        parameters={"queries": QUERIES, "advantage": ADVANTAGE},
    ),
    Theorem(
        identifier="BQ-T-BOOK",
        statement="ln|Q| / eta^2 rounds are enough, and so are ln|Q| / (2 eta^2) and one more",
        reference=BOOK,
        subject=_printed_rounds,
    ),
    Theorem(
        identifier="BQ-EX-F",
        statement="without attenuation one record moves ln D_2[q] by -ln(p + (1 - p) / e^2)",
        reference=BOOK,
        subject=_factor,
        parameters={
            "share": number(
                0.1, 0.001, 0.999, "share of the queries served badly under one database"
            )
        },
    ),
    _about_errors(
        "ERR-BQ-1",
        "attenuated agreement <= upper agreement, -1 where the answer is accurate",
        partial(agreements_margin, upper=accurate_as_inaccurate),
        partial(agreement_plot, upper=accurate_as_inaccurate),
        corrected="BQ-APM",
        remark="the upper agreement is -1 where the answer is NOT (lambda + mu)-accurate",
    ),
    Theorem(
        identifier="ERR-BQ-5",
        statement="the displayed weight of an unhappy query, without |Q| in its denominator",
        reference=BOOK,
        subject=_printed_weight,
        parameters={"queries": whole(1000, 1000, 1000, "size of the query set")},
        corrected="BQ-EX-F",
        remark="it is 4.5085, no probability: the denominator lacks a factor |Q|",
    ),
)
