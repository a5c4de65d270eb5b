"""Boosting for queries in pictures: what attenuation is for, and how the potential falls."""

import numpy as np

from ..model import Array, Axis, Plot, Series
from .boosting_cases import ACCURACY, ATTENUATION, near_edge, play
from .query_weights import (
    Agreement,
    Reweighting,
    attenuated_agreement,
    exponential_weights,
    log_weights,
    lower_agreement,
    sampling_loss,
    total_agreement,
    upper_agreement,
    weight_rate,
)

LEVELS = {"accuracy": ACCURACY, "attenuation": ATTENUATION}
ROUNDS, ADVANTAGE, QUERIES = 15, 0.25, 64
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
    earlier = np.arange(1, ROUNDS + 1)
    allowed = [
        sampling_loss(
            advantage=ADVANTAGE, sensitivity=SENSITIVITY, attenuation=ATTENUATION, earlier=int(t)
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
        x=Axis(label="rounds before the sample", low=0, high=ROUNDS + 0.5),
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
    signs = np.where(np.arange(QUERIES) % 2, 1.0, -1.0)
    truth, moved = np.zeros(QUERIES), SENSITIVITY * signs
    steep = ACCURACY + (ATTENUATION / 2 if agreement is attenuated_agreement else SENSITIVITY / 2)
    synopses: Array = np.full((earlier, QUERIES), steep)
    rate = weight_rate(ADVANTAGE)
    logs = [
        log_weights(total_agreement(synopses, answers, agreement=agreement, **LEVELS), rate)
        for answers in (truth, moved)
    ]
    return float(np.ptp(logs[0] - logs[1]))
