"""Runs of boosting against a scripted base generator, and how far each run is from its bounds.

A case is a script of `scripted_base`: it says which queries the generator answers wrongly, and by
how much. The generator keeps its promise in every round.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import exp, sqrt
from typing import Any

import numpy as np

from ..model import Array, Interval, InvariantCase, Record, Rows
from .boosting import Combination, boosting, every_synopsis, median_answers
from .boosting_adversaries import scripted_base
from .query_weights import (
    Agreement,
    Reweighting,
    attenuated_agreement,
    exponential_weights,
    lower_agreement,
    rounds_needed,
    upper_agreement,
    weight_rate,
)

ACCURACY = 0.125
ATTENUATION = 0.25
WILDEST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostedRun:
    """One run: arrays of shape (rounds, queries), the true answers being 0.

    `normalisers`, of shape (rounds,), are the means of exp(-rate agreement) under the weights.
    """

    synopses: Array
    distributions: Array
    agreements: Array
    lower: Array
    upper: Array
    normalisers: Array


def case_domain(*, queries: int) -> Record:
    """The domain of the scripts for so many queries."""
    return Record(
        fields={
            "priorities": Rows(row=Interval(low=0, high=1), min_size=queries, max_size=queries),
            "greed": Interval(low=0, high=1),
            "right": Rows(row=Interval(low=-1, high=1), min_size=1, max_size=6),
            "wrong": Rows(row=Interval(low=-WILDEST, high=WILDEST), min_size=1, max_size=6),
        }
    )


def near_edge(*, queries: int) -> tuple[dict[str, object], ...]:
    """Scripts that err on the same queries as often as they may, by as much as they may."""
    falling = [1 - place / queries for place in range(queries)]
    return tuple(
        {"priorities": priorities, "greed": greed, "right": right, "wrong": wrong}
        for priorities in ([0.0] * queries, falling)
        for greed in (1.0, 0.0)
        for right in ([0.0], [1.0, -1.0])
        for wrong in ([1.0], [-1.0, 1.0], [2.0], [0.5], [float(WILDEST)])
    )


def play(
    case: InvariantCase,
    *,
    queries: int,
    rounds: int,
    advantage: float,
    agreement: Agreement = attenuated_agreement,
    reweight: Reweighting = exponential_weights,
) -> BoostedRun:
    """The run of a case, `accuracy` and `attenuation` being those of this module."""
    levels: dict[str, Any] = {"accuracy": ACCURACY, "attenuation": ATTENUATION}
    synopses = boosting(
        np.zeros(queries),
        np.random.default_rng(0),
        queries=np.asarray,
        base=partial(scripted_base, script=case, advantage=advantage, **levels),
        samples=1,
        advantage=advantage,
        rounds=rounds,
        agreement=agreement,
        reweight=reweight,
        combine=every_synopsis,
        **levels,
    )
    rate = weight_rate(advantage)
    errors = np.abs(synopses)
    agreements = agreement(errors, **levels)
    before = np.cumsum(agreements, axis=0) - agreements
    distributions = reweight(before, rate)
    return BoostedRun(
        synopses=synopses,
        distributions=distributions,
        agreements=agreements,
        lower=lower_agreement(errors, **levels),
        upper=upper_agreement(errors, **levels),
        normalisers=(distributions * np.exp(-rate * agreements)).sum(axis=-1),
    )


def advantage_margin(case: InvariantCase, *, advantage: float, **variant: Any) -> float:
    """The least weighted lower agreement of a round, less 2 advantage."""
    run = play(case, advantage=advantage, **variant)
    return float((run.distributions * run.lower).sum(axis=-1).min() - 2 * advantage)


def normaliser_margin(case: InvariantCase, *, advantage: float, **variant: Any) -> float:
    """sqrt(1 - 4 advantage^2) less the largest normaliser."""
    run = play(case, advantage=advantage, **variant)
    return float(sqrt(1 - 4 * advantage**2) - run.normalisers.max())


def potential_margin(
    case: InvariantCase, *, advantage: float, rounds: int, **variant: Any
) -> float:
    """The least slack in the chain from the share of bad queries to exp(-2 advantage^2 T).

    Between potentials it is relative: they fall fast.
    """
    run = play(case, advantage=advantage, rounds=rounds, **variant)
    share = np.mean(run.upper.sum(axis=0) <= 0)
    potential = np.exp(-weight_rate(advantage) * run.agreements.sum(axis=0)).mean()
    bound = (1 - 4 * advantage**2) ** (rounds / 2)
    product = run.normalisers.prod()
    return float(
        min(
            potential - share,
            -abs(product / potential - 1),
            1 - potential / bound,
            exp(-2 * advantage**2 * rounds) - bound,
        )
    )


def answer_margin(
    case: InvariantCase,
    *,
    queries: int,
    advantage: float,
    rounds: Callable[..., int] = rounds_needed,
    combine: Combination = median_answers,
    **variant: Any,
) -> float:
    """How far below accuracy + attenuation the largest error after `rounds` rounds is."""
    run = play(
        case,
        queries=queries,
        rounds=rounds(queries=queries, advantage=advantage),
        advantage=advantage,
        **variant,
    )
    answers = combine(run.synopses[:, None])
    return float(ACCURACY + ATTENUATION - np.abs(answers).max())


def majority_margin(case: InvariantCase, **variant: Any) -> float:
    """Accuracy + attenuation less the median's largest error on queries with the upper hand.

    Those are the queries whose upper agreements add up to more than 0; inf without any.
    """
    run = play(case, **variant)
    kept = run.upper.sum(axis=0) > 0
    errors = np.abs(median_answers(run.synopses[:, None])[0][kept])
    return float(ACCURACY + ATTENUATION - errors.max(initial=-np.inf))
