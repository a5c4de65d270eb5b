"""Boosting for queries: what attenuation is for, and how the potential falls round by round."""

from typing import Any

import numpy as np

from ...mechanisms.boosting.boosting_cases import ACCURACY, ATTENUATION, near_edge, play
from ...mechanisms.boosting.query_weights import (
    Agreement,
    attenuated_agreement,
    exponential_weights,
    log_weights,
    lower_agreement,
    sampling_loss,
    total_agreement,
    upper_agreement,
    weight_rate,
)
from ...mechanisms.model import Array
from ..faces.svg import INK
from ..reproduce.statements import Statement
from . import marks
from .marks import Drawn

LEVELS = {"accuracy": ACCURACY, "attenuation": ATTENUATION}
ROUNDS, ADVANTAGE, QUERIES = 15, 0.25, 64
SENSITIVITY = 0.01


def agreement_figure(statement: Statement) -> Drawn:
    """The attenuated agreement between the two that bound it, as the statement has them."""
    errors = np.linspace(0, ACCURACY + 2 * ATTENUATION, 301)
    lower, middle, upper = (
        which(errors, **LEVELS)
        for which in (lower_agreement, attenuated_agreement, upper_agreement)
    )
    upper = upper if statement.theorem.holds else -upper

    def paint(axes: Any) -> None:
        marks.bound_curve(axes, errors, lower, "bound: lower, upper")
        axes.plot(errors, upper, color=marks.BOUND, linewidth=1.7, linestyle=marks.DASHES)
        marks.exact_curve(axes, errors, middle, "exact: attenuated")
        over = np.flatnonzero(middle > upper + 1e-9)
        if len(over):
            marks.counterexample(axes, errors[over[0]], middle[over[0]])
        axes.set_ylim(-1.12, 1.12)
        axes.set_xlim(0, errors[-1])
        axes.set_xticks(
            [0, ACCURACY, ACCURACY + ATTENUATION / 2, ACCURACY + ATTENUATION],
            ["0", "λ", "λ + μ/2", "λ + μ"],
        )
        axes.set_xlabel("error of the synopsis on the query")
        axes.set_ylabel("agreement")

    return Drawn(
        key="agreement",
        title="Attenuated agreement",
        caption=(
            f"Agreement of a synopsis with the data, at λ = {ACCURACY:g} and μ = {ATTENUATION:g}. "
            "It falls slowly between λ and λ + μ, so that one record moves it little."
        ),
        paint=paint,
    )


def potential_fall_figure(statement: Statement) -> Drawn:
    """The potential after every round on the hardest script, and the bound."""
    return _potential(statement, exponential_weights)


def favoured_potential_figure(statement: Statement) -> Drawn:
    """The same with weights that grow where the synopses agree, as printed."""
    return _potential(statement, lambda agreed, rate: exponential_weights(-agreed, rate))


def _potential(statement: Statement, reweight: Any) -> Drawn:
    given = statement.parameters
    advantage = given.get("advantage", ADVANTAGE)
    rounds = max(1, round(given.get("rounds", ROUNDS)))
    queries = round(given.get("queries", QUERIES))
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

    def paint(axes: Any) -> None:
        marks.bound_curve(axes, after, bound)
        marks.measured_curve(axes, after, potential, "potential", marker="o", markersize=3.5)
        axes.plot(
            after[1:], np.where(bad > 0, bad, np.nan), color=marks.MEASURED, linewidth=1.2,
            linestyle=(0, (1, 1.5)), label="share of bad queries",
        )  # fmt: skip
        over = np.flatnonzero(potential > bound * (1 + 1e-9))
        if len(over):
            marks.counterexample(axes, after[over[-1]], potential[over[-1]])
        marks.log_axis(axes, "y", bound[-1] / 2, 2 * max(1.0, float(potential.max())))
        axes.set_xlim(0, rounds)
        axes.set_xlabel("rounds")
        axes.set_ylabel("potential, share of queries")

    return Drawn(
        key="potential",
        title="The potential falls",
        caption=(
            "The mean weight exp(-rate agreement) over the queries after each round, against the "
            f"hardest of {len(runs)} hand-made generators with advantage {advantage:g}. It may not "
            "be above the bound; the share of badly answered queries is below it."
        ),
        paint=paint,
    )


def ratio_figure(statement: Statement) -> Drawn:
    """How far apart the laws of the next query are, with attenuation and without."""
    given = statement.parameters
    advantage = given.get("advantage", ADVANTAGE)
    earlier = np.arange(1, ROUNDS + 1)
    allowed = [
        sampling_loss(
            advantage=advantage, sensitivity=SENSITIVITY, attenuation=ATTENUATION, earlier=int(t)
        )
        for t in earlier
    ]
    with_it, without = (
        [log_ratio_width(which, advantage, int(t)) for t in earlier]
        for which in (attenuated_agreement, lower_agreement)
    )

    def paint(axes: Any) -> None:
        marks.bound_curve(axes, earlier, allowed)
        marks.exact_points(axes, earlier.tolist(), with_it, "exact: attenuated")
        axes.plot(
            earlier, without, color=INK, linestyle="none", marker="X", markersize=6,
            markeredgewidth=0, label="without attenuation",
        )  # fmt: skip
        marks.log_axis(axes, "y", min(with_it) / 2, max(without) * 2)
        axes.set_xlim(0, ROUNDS + 0.5)
        axes.set_xlabel("rounds before the sample")
        axes.set_ylabel("width of log-ratios (nats)")

    return Drawn(
        key="ratios",
        title="Log-ratios of the next query's laws",
        caption=(
            "The laws of the sampled query on two databases whose answers differ by "
            f"{SENSITIVITY:g}, given the same synopses, chosen against each agreement: the length "
            "of the interval that holds all log-ratios. Without attenuation one record turns "
            "agreement into disagreement at once."
        ),
        paint=paint,
    )


def log_ratio_width(agreement: Agreement, advantage: float, earlier: int) -> float:
    """Length of the interval of log-ratios after rounds whose synopses lie at the steepest place.

    Half of the answers go up and half go down by the sensitivity.
    """
    signs = np.where(np.arange(QUERIES) % 2, 1.0, -1.0)
    truth, moved = np.zeros(QUERIES), SENSITIVITY * signs
    steep = ACCURACY + (ATTENUATION / 2 if agreement is attenuated_agreement else SENSITIVITY / 2)
    synopses: Array = np.full((earlier, QUERIES), steep)
    rate = weight_rate(advantage)
    logs = [
        log_weights(total_agreement(synopses, answers, agreement=agreement, **LEVELS), rate)
        for answers in (truth, moved)
    ]
    ratios = logs[0] - logs[1]
    return float(np.ptp(ratios))
