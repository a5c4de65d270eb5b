"""Boosting for queries: why the median is accurate, step by step.

The statements about runs hold whenever the base generator keeps its promise in every round. They
are tested against a generator that promises no more than it must and follows a script of errors.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ..model import Array, InvariantClaim, Theorem, whole
from .boosting import SOURCE
from .boosting_cases import (
    advantage_margin,
    answer_margin,
    case_domain,
    majority_margin,
    near_edge,
    normaliser_margin,
    potential_margin,
)
from .boosting_pictures import potential_plot
from .query_weights import exponential_weights
from .theorems_query_weights import ADVANTAGE, QUERIES

ROUNDS = whole(15, 1, 60, "rounds, T")


def favouring_weights(agreed: Array, rate: float) -> Array:
    """Weights that grow where the synopses agree with the data."""
    return exponential_weights(-agreed, rate)


def _about_runs(
    identifier: str,
    statement: str,
    margin: Callable[..., float],
    *,
    parameters: tuple[str, ...] = ("queries", "advantage", "rounds"),
    queries: int = 16,
    **rest: Any,
) -> Theorem:
    """A statement about runs; `margin(case, **parameters)` is that of a script."""

    def subject(queries: int, **given: float) -> InvariantClaim:
        return InvariantClaim(
            cases=case_domain(queries=queries),
            margin=partial(margin, queries=queries, **given),
            examples=near_edge(queries=queries),
        )

    known = {"queries": replace(QUERIES, default=queries), "advantage": ADVANTAGE, "rounds": ROUNDS}
    return Theorem(
        identifier=identifier,
        statement=statement,
        reference=SOURCE,
        subject=subject,
        parameters={name: known[name] for name in parameters},
        **rest,
    )


THEOREMS: tuple[Theorem, ...] = (
    _about_runs(
        "BQ-6.3",
        "in every round the weighted lower agreement is 2 eta or more",
        advantage_margin,
    ),
    _about_runs(
        "BQ-Z",
        "in every round the normaliser is at most sqrt(1 - 4 eta^2)",
        normaliser_margin,
    ),
    _about_runs(
        "BQ-POT",
        "bad queries <= potential = product of normalisers <= (1 - 4 eta^2)^(T/2)",
        potential_margin,
        queries=64,
        plot=potential_plot,
    ),
    _about_runs(
        "BQ-MAJ",
        "where upper agreements add up to more than 0 the median errs by less than lambda + mu",
        majority_margin,
    ),
    _about_runs(
        "BQ-6.1-ACC-EVENT",
        "after T rounds no median errs by more than lambda + mu",
        answer_margin,
        parameters=("queries", "advantage"),
        queries=64,
    ),
    _about_runs(
        "ERR-BQ-4",
        "a query's weight is increased when its answer is accurate, decreased when it is not",
        partial(potential_margin, reweight=favouring_weights),
        plot=partial(potential_plot, reweight=favouring_weights),
        corrected="BQ-POT",
        remark="the words are exchanged: inaccurate queries gain weight, accurate ones lose it",
    ),
)
