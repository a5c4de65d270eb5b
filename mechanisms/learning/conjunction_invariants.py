"""Invariants of the learners of conjunctions: for every sample, and every noise of an event.

A case is a record of plain values. Its rows are counts or the numbers of points; a target
conjunction labels them, so the sample is realizable.
"""

from functools import partial
from typing import Any

import numpy as np

from ..model import Array, Choices, Interval, InvariantCase, InvariantClaim, Record, Rows
from .conjunction_class import conjoined, literals
from .conjunctions import (
    SOURCE,
    conjunction_mistakes,
    deletion_threshold,
    noisy_counts_keep,
    violations,
    without_violated_literals,
)


def falsified_literals(*, dimension: int) -> InvariantClaim:
    """Every assignment makes exactly d of the 2 d literals false."""

    def margin(assignment: int) -> float:
        return -abs(float((~literals(dimension)[:, assignment]).sum()) - dimension)

    return InvariantClaim(
        cases=Interval(low=0, high=2**dimension - 1, integer=True),
        margin=margin,
        examples=(0, 2**dimension - 1),
        identifier="CONJ-DEF",
        statement="An assignment makes exactly d of the 2 d literals false",
        reference=f"{SOURCE}, conjunctions",
    )


def _sample(dimension: int, most: int) -> dict[str, Any]:
    """Fields of a case: which literals the target has, and the points."""
    flags = Rows(row=Choices(values=(0, 1)), min_size=2 * dimension, max_size=2 * dimension)
    points = Rows(row=Interval(low=0, high=2**dimension - 1, integer=True), max_size=most)
    return {"target": flags, "points": points}


def _counts(case: InvariantCase, dimension: int) -> Array:
    """The points of a case as counts, labelled by its target."""
    label = conjoined(np.array(case["target"], dtype=bool), literals(dimension))
    number = np.bincount(np.asarray(case["points"], dtype=np.int64), minlength=2**dimension)
    return np.stack([number * ~label, number * label], axis=1)


def kept_literals_contain_the_target(*, dimension: int) -> InvariantClaim:
    """Valiant's algorithm keeps all literals of a target that fits, and makes no mistake."""

    def margin(case: InvariantCase) -> float:
        counts = _counts(case, dimension)
        kept = without_violated_literals(counts)
        lost = np.array(case["target"], dtype=bool) & ~kept
        return -float(lost.sum() + conjunction_mistakes(counts, kept))

    none, ones = [0] * 2 * dimension, [1] * dimension + [0] * dimension
    everywhere = list(range(2**dimension))
    return InvariantClaim(
        cases=Record(fields=_sample(dimension, 12)),
        margin=margin,
        examples=(
            {"target": none, "points": everywhere},
            {"target": ones, "points": everywhere},
            {"target": [1] * 2 * dimension, "points": everywhere},
            {"target": ones, "points": []},
        ),
        identifier="CONJ-NP",
        statement="The kept literals contain those of any target that fits, and make no mistake",
        reference="Valiant (1984)",
    )


def noisy_counts_event(
    *, dimension: int, scale: float, beta: float, most: float, threshold: float | None = None
) -> InvariantClaim:
    """While all noise is within the deletion threshold tau, nothing of the target is deleted.

    Then no negative is mistaken, and at most `most` positives are. `threshold`, where given, is
    run in place of tau.
    """
    tau = deletion_threshold(dimension, scale, beta)
    used = tau if threshold is None else threshold
    noise = Rows(row=Interval(low=-1, high=1), min_size=2 * dimension, max_size=2 * dimension)
    none, ones = [0] * 2 * dimension, [1] * dimension + [0] * dimension
    upward, downward = [1.0] * 2 * dimension, [-1.0] * 2 * dimension
    opposite = [0, 2**dimension - 1] * int(2 * tau)
    # Each violates one of the variables, and of these none is deleted: 2 d tau mistakes.
    apart = [2**dimension - 1 - 2**place for place in range(dimension)] * int(2 * tau)
    return InvariantClaim(
        cases=Record(
            fields={**_sample(dimension, max(40, len(opposite), len(apart))), "noise": noise}
        ),
        margin=partial(
            _noisy_counts_margin, dimension=dimension, tau=tau, threshold=used, most=most
        ),
        examples=(
            {"target": ones, "points": list(range(2**dimension)), "noise": upward},
            {"target": none, "points": opposite, "noise": downward},
            {"target": none, "points": opposite, "noise": upward},
            {
                "target": none,
                "points": apart,
                "noise": [*downward[:dimension], *upward[dimension:]],
            },
        ),
        identifier="CONJ-P1-EVENT",
        statement="With all noise within tau, negatives are right and 4 d tau positives wrong",
        reference=f"{SOURCE}, conjunctions, take 1",
    )


def _noisy_counts_margin(
    case: InvariantCase, *, dimension: int, tau: float, threshold: float, most: float
) -> float:
    counts = _counts(case, dimension)
    noise = tau * np.array(case["noise"])
    violated = violations(counts)
    kept = noisy_counts_keep(violated, noise, threshold)
    target = np.array(case["target"], dtype=bool)
    room = np.where(target, threshold - violated - noise, np.inf).min()
    negatives, positives = counts * [[1, 0]], counts * [[0, 1]]
    wrong = conjunction_mistakes(negatives, kept)
    if wrong:
        return -float(wrong)
    return float(min(room, most - conjunction_mistakes(positives, kept)))
