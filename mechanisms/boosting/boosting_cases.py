"""Runs of boosting against a scripted base generator, their margins, and pictures of boosting.

A case is a script of `scripted_base`: it says which queries the generator answers wrongly, and by
how much. Such generators serve as few queries as their promise allows. They see the true answers,
so they are not private; they only serve to test the accuracy of boosting. In each round they answer
queries of total weight 1/2 - advantage or less wrongly, which the definition of a base generator
allows, and the others accurately.

The pictures show what attenuation is for, and how the potential falls.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import exp, sqrt
from typing import TypedDict, Unpack

import numpy as np

from ..model import Array, Axis, Interval, InvariantCase, Plot, Record, Rows, Series, number, whole
from .boosting import Combination, boosting, every_synopsis, median_answers
from .query_weights import (
    Agreement,
    AgreementLevels,
    Reweighting,
    attenuated_agreement,
    exponential_weights,
    log_weights,
    lower_agreement,
    rounds_needed,
    sampling_loss,
    total_agreement,
    upper_agreement,
    weight_rate,
)

ROUNDING = 1e-12


def wronged_queries(distribution: Array, preference: Array, *, share: float) -> Array:
    """Take queries, the most preferred first, as long as their weights fit into `share`.

    `distribution` and `preference` have shape (runs, queries), and so has the answer, booleans.
    Among equals the one with the lowest index is taken first; a query whose weight no longer fits
    is skipped.
    """
    order = np.argsort(-preference, axis=-1, kind="stable")
    wronged = np.zeros(distribution.shape, dtype=bool)
    for places, weights, chosen in zip(order.tolist(), distribution.tolist(), wronged, strict=True):
        taken, least = 0.0, min(weights, default=1.0)
        for place in places:
            if taken + least > share + ROUNDING:
                break
            if taken + weights[place] <= share + ROUNDING:
                chosen[place] = True
                taken += weights[place]
    return wronged


def scripted_base(
    rng: np.random.Generator,
    truth: Array,
    sampled: Array,
    distribution: Array,
    earlier: Array,
    *,
    script: InvariantCase,
    advantage: float,
    accuracy: float,
    attenuation: float,
) -> Array:
    """Err as the script says.

    `script["priorities"]`, one for each query, in [0, 1], and `script["greed"]`, in [0, 1], say
    which queries to answer wrongly; greed 1 prefers those answered wrongly most often before.
    `script["right"]` are errors in units of `accuracy`, at most 1; `script["wrong"]` are errors
    beyond `accuracy`, in units of `attenuation`. Both are signed, and repeated from the start.
    """
    step, count = len(earlier), distribution.shape[-1]
    often = (np.abs(earlier - truth) > accuracy).sum(axis=0) / max(step, 1)
    greed = script["greed"]
    preference = greed * often + (1 - greed) * np.resize(script["priorities"], count)
    wronged = wronged_queries(distribution, preference, share=0.5 - advantage)
    # Queries meet the errors at another place every round.
    place = step + np.arange(count)
    right = accuracy * np.asarray(script["right"], dtype=float)[place % len(script["right"])]
    beyond = np.asarray(script["wrong"], dtype=float)[place % len(script["wrong"])]
    wrong = np.where(beyond < 0, -1.0, 1.0) * (accuracy + attenuation * np.abs(beyond))
    return truth + np.where(wronged, wrong, right)


ADVANTAGE = number(
    0.25, 0.05, 0.45, "by how much more than half of any distribution the generator serves, eta"
)
QUERIES = whole(64, 2, 256, "size of the query set")
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
    levels: AgreementLevels = {"accuracy": ACCURACY, "attenuation": ATTENUATION}
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


class AlteredBoosting(TypedDict, total=False):
    """What of a run is not as it should be."""

    agreement: Agreement
    reweight: Reweighting


class QueriesOfRun(AlteredBoosting):
    """A run on so many queries."""

    queries: int


class BoostingVariant(QueriesOfRun):
    """A run on so many queries in so many rounds."""

    rounds: int


def advantage_margin(
    case: InvariantCase, *, advantage: float, **variant: Unpack[BoostingVariant]
) -> float:
    """The least weighted lower agreement of a round, less 2 advantage."""
    run = play(case, advantage=advantage, **variant)
    return float((run.distributions * run.lower).sum(axis=-1).min() - 2 * advantage)


def normaliser_margin(
    case: InvariantCase, *, advantage: float, **variant: Unpack[BoostingVariant]
) -> float:
    """sqrt(1 - 4 advantage^2) less the largest normaliser."""
    run = play(case, advantage=advantage, **variant)
    return float(sqrt(1 - 4 * advantage**2) - run.normalisers.max())


def potential_margin(
    case: InvariantCase, *, advantage: float, rounds: int, **variant: Unpack[QueriesOfRun]
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
    **variant: Unpack[AlteredBoosting],
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


def majority_margin(
    case: InvariantCase, *, advantage: float, **variant: Unpack[BoostingVariant]
) -> float:
    """Accuracy + attenuation less the median's largest error on queries with the upper hand.

    Those are the queries whose upper agreements add up to more than 0; inf without any.
    """
    run = play(case, advantage=advantage, **variant)
    kept = run.upper.sum(axis=0) > 0
    errors = np.abs(median_answers(run.synopses[:, None])[0][kept])
    return float(ACCURACY + ATTENUATION - errors.max(initial=-np.inf))


LEVELS = {"accuracy": ACCURACY, "attenuation": ATTENUATION}
SHOWN_ROUNDS, SHOWN_ADVANTAGE, SHOWN_QUERIES = 15, 0.25, 64
SENSITIVITY = 0.01


def agreement_plot(*, upper: Agreement = upper_agreement) -> Plot:
    """The attenuated agreement between the two that bound it; `upper` as the statement has it."""
    errors = np.linspace(0, ACCURACY + 2 * ATTENUATION, 301)
    lower, middle, above = (
        which(errors, **LEVELS) for which in (lower_agreement, attenuated_agreement, upper)
    )
    over = np.flatnonzero(middle > above + 1e-9)[:1]
    return Plot(
        key="agreement",
        title="Attenuated agreement",
        caption=(
            f"Agreement of a synopsis with the data, at λ = {ACCURACY:g} and μ = {ATTENUATION:g}. "
            "It falls slowly between λ and λ + μ, so that one record moves it little."
        ),
        x=Axis(
            label="error of the synopsis on the query",
            low=0,
            high=float(errors[-1]),
            ticks={
                "0": 0,
                "λ": ACCURACY,
                "λ + μ/2": ACCURACY + ATTENUATION / 2,
                "λ + μ": ACCURACY + ATTENUATION,
            },
        ),
        y=Axis(label="agreement", low=-1.12, high=1.12),
        series=(
            Series(meaning="bound", x=errors, y=lower, label="bound: lower, upper"),
            Series(meaning="bound", x=errors, y=above, label="bound: lower, upper"),
            Series(meaning="exact", x=errors, y=middle, label="exact: attenuated"),
            Series(meaning="counterexample", x=errors[over], y=middle[over]),
        ),
    )


def potential_plot(
    *,
    queries: int,
    advantage: float,
    rounds: int,
    reweight: Reweighting = exponential_weights,
) -> Plot:
    """The potential after every round on the hardest script, and the bound."""
    runs = [
        play(case, queries=queries, rounds=rounds, advantage=advantage, reweight=reweight)
        for case in near_edge(queries=queries)
    ]
    potentials = [
        np.exp(-weight_rate(advantage) * run.agreements.cumsum(axis=0)).mean(axis=-1)
        for run in runs
    ]
    worst = max(range(len(runs)), key=lambda place: float(potentials[place][-1]))
    after = np.arange(rounds + 1)
    potential = np.append(1.0, potentials[worst])
    bad = (runs[worst].upper.cumsum(axis=0) <= 0).mean(axis=-1)
    bound = (1 - 4 * advantage**2) ** (after / 2)
    over = np.flatnonzero(potential > bound * (1 + 1e-9))[-1:]
    return Plot(
        key="potential",
        title="The potential falls",
        caption=(
            "The mean weight exp(-rate agreement) over the queries after each round, against the "
            f"hardest of {len(runs)} hand-made generators with advantage {advantage:g}. It may not "
            "be above the bound; the share of badly answered queries is below it."
        ),
        x=Axis(label="rounds", low=0, high=rounds),
        y=Axis(
            label="potential, share of queries",
            low=float(bound[-1]) / 2,
            high=2 * max(1.0, float(potential.max())),
            log=True,
        ),
        series=(
            Series(meaning="bound", x=after, y=bound),
            Series(meaning="measured", x=after, y=potential, style="marked", label="potential"),
            Series(
                meaning="measured", x=after[1:], y=np.where(bad > 0, bad, np.nan), style="dotted",
                label="share of bad queries",
            ),
            Series(meaning="counterexample", x=after[over], y=potential[over]),
        ),
    )  # fmt: skip


def ratios_plot() -> Plot:
    """How far apart the laws of the next query are, with attenuation and without."""
    earlier = np.arange(1, SHOWN_ROUNDS + 1)
    allowed = [
        sampling_loss(
            advantage=SHOWN_ADVANTAGE,
            sensitivity=SENSITIVITY,
            attenuation=ATTENUATION,
            earlier=int(t),
        )
        for t in earlier
    ]
    attenuated, without = (
        np.array([log_ratio_width(which, int(t)) for t in earlier])
        for which in (attenuated_agreement, lower_agreement)
    )
    return Plot(
        key="ratios",
        title="Log-ratios of the next query's laws",
        caption=(
            "The laws of the sampled query on two databases whose answers differ by "
            f"{SENSITIVITY:g}, given the same synopses, chosen against each agreement: the length "
            "of the interval that holds all log-ratios. Without attenuation one record turns "
            "agreement into disagreement at once."
        ),
        x=Axis(label="rounds before the sample", low=0, high=SHOWN_ROUNDS + 0.5),
        y=Axis(label="width of log-ratios (nats)", log=True),
        series=(
            Series(meaning="bound", x=earlier, y=np.array(allowed)),
            Series(
                meaning="exact", x=earlier, y=attenuated, style="points", label="exact: attenuated"
            ),
            Series(
                meaning="contrast", x=earlier, y=without, style="points",
                label="without attenuation",
            ),
        ),
    )  # fmt: skip


def log_ratio_width(agreement: Agreement, earlier: int) -> float:
    """Length of the interval of log-ratios after rounds whose synopses lie at the steepest place.

    Half of the answers go up and half go down by the sensitivity. In nats.
    """
    signs = np.where(np.arange(SHOWN_QUERIES) % 2, 1.0, -1.0)
    truth, moved = np.zeros(SHOWN_QUERIES), SENSITIVITY * signs
    steep = ACCURACY + (ATTENUATION / 2 if agreement is attenuated_agreement else SENSITIVITY / 2)
    synopses: Array = np.full((earlier, SHOWN_QUERIES), steep)
    rate = weight_rate(SHOWN_ADVANTAGE)
    logs = [
        log_weights(total_agreement(synopses, answers, agreement=agreement, **LEVELS), rate)
        for answers in (truth, moved)
    ]
    return float(np.ptp(logs[0] - logs[1]))
