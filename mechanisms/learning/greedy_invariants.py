"""What holds for every sample and every choice inside its event, of the greedy learner.

A case is a record of plain values: counts of the points, a target that labels them, and picks.
A pick is a place in the list of the literals whose score is high enough, worst first; so the
choices are the worst that the event allows, and not those the mechanism is likely to make.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from math import ceil

import numpy as np

from ..model import Array, Interval, InvariantCase, InvariantClaim, Record, Row, Rows
from .greedy_conjunctions import TAKE_2, Score, greedy_rounds, literal_scores
from .labelled import conjoined, falsified_sums, kept_literals, literals


def score_sensitivity(*, dimension: int, most_literals: int) -> InvariantClaim:
    """No score moves by more than 1 when a record is removed or replaced, whatever was chosen.

    A case has counts of the labelled points, the record taken out of them, the one put in, with
    -1 for none, and the literals chosen before.
    """
    table = literals(dimension, constant=True)
    sums = falsified_sums(table)
    cells = 2 ** (dimension + 1)

    def scores(counts: list[int], record: int, chosen: Sequence[int]) -> Array:
        changed = np.array(counts)
        if record >= 0:
            changed[record] += 1
        alive = conjoined(kept_literals(np.array([chosen], dtype=int), len(table)), table)
        return literal_scores(alive, changed.reshape(-1, 2), sums, most_literals)

    def margin(case: InvariantCase) -> float:
        out, into = (scores(case["counts"], case[end], case["chosen"]) for end in ("out", "into"))
        return 1 - float(np.abs(out - into).max())

    counts = Rows(row=Interval(low=0, high=5, integer=True), min_size=cells, max_size=cells)
    few = Rows(row=Interval(low=0, high=2 * dimension, integer=True), max_size=3)
    return InvariantClaim(
        cases=Record(
            fields={
                "counts": counts,
                "out": Interval(low=0, high=cells - 1, integer=True),
                "into": Interval(low=-1, high=cells - 1, integer=True),
                "chosen": few,
            }
        ),
        margin=margin,
        examples=tuple(
            {"counts": [1] * cells, "out": out, "into": into, "chosen": []}
            for out, into in ((0, 1), (1, cells - 1), (0, -1), (1, -1), (0, cells - 1))
        ),
        identifier="CONJ-P2-SENS",
        statement="One record moves no score by more than 1, also after removals",
        reference=TAKE_2,
    )


def _case_fields(dimension: int, most_literals: int, most: int, picks: int) -> dict[str, Row]:
    literal = Interval(low=0, high=2 * dimension, integer=True)
    return {
        "counts": Rows(
            row=Interval(low=0, high=most, integer=True),
            min_size=2**dimension,
            max_size=2**dimension,
        ),
        "target": Rows(row=literal, min_size=most_literals, max_size=most_literals),
        "picks": Rows(row=literal, min_size=1, max_size=picks),
    }


def _labelled(case: InvariantCase, dimension: int) -> Array:
    """The counts of a case, labelled by its target."""
    table = literals(dimension, constant=True)
    label = conjoined(kept_literals(np.array(case["target"], dtype=int), len(table)), table)
    number = np.array(case["counts"])
    return np.stack([number * ~label, number * label], axis=1)


def _everywhere(
    dimension: int, most_literals: int, copies: int
) -> tuple[dict[str, list[int]], ...]:
    """Cases with the same count at every point: all positive, and a conjunction of k literals."""
    true, first = [2 * dimension] * most_literals, [0] * most_literals
    mixed = [i % dimension for i in range(most_literals)]
    return tuple(
        {"counts": [copies] * 2**dimension, "target": target, "picks": [0]}
        for target in (true, first, mixed)
    )


def best_score_is_zero(
    *, dimension: int, most_literals: int, constant: bool = True, score: Score = literal_scores
) -> InvariantClaim:
    """Some literal scores 0, and none more, whatever was chosen before, on realizable data.

    `constant` False leaves the literal TRUE out.
    """
    sums = falsified_sums(literals(dimension, constant=constant))
    whole = literals(dimension, constant=True)

    def margin(case: InvariantCase) -> float:
        chosen = kept_literals(np.array([case["picks"]], dtype=int), len(whole))
        alive = conjoined(chosen, whole)
        return -abs(float(score(alive, _labelled(case, dimension), sums, most_literals).max()))

    return InvariantClaim(
        cases=Record(fields=_case_fields(dimension, most_literals, 5, 3)),
        margin=margin,
        examples=_everywhere(dimension, most_literals, 2)
        + tuple(
            {**case, "picks": [2 * dimension]} for case in _everywhere(dimension, most_literals, 2)
        ),
        identifier="CONJ-P2-OPT",
        statement="On data that a conjunction of k literals fits, the best score is 0 every round",
        reference=TAKE_2,
    )


def _choices(
    counts: Array, picks: list[int], rounds: int, most_literals: int, slack: float, score: Score
) -> Iterator[tuple[Array, Array]]:
    """The points left before and after each round of the worst choices that the event allows."""
    table = literals(len(counts).bit_length() - 1, constant=True)
    alive, sums = np.ones(len(counts), dtype=bool), falsified_sums(table)
    for j in range(rounds):
        scores = score(alive[None], counts, sums, most_literals)[0]
        allowed = np.flatnonzero(scores >= -slack)
        worst_first = allowed[np.argsort(scores[allowed], kind="stable")]
        chosen = worst_first[picks[j % len(picks)] % len(worst_first)]
        left = alive & table[chosen]
        yield alive, left
        alive = left


def few_positives_lost(
    *, dimension: int, most_literals: int, rounds: int, slack: float
) -> InvariantClaim:
    """While every chosen score is at least - slack, J rounds lose at most J slack positives."""

    def margin(case: InvariantCase) -> float:
        counts = _labelled(case, dimension)
        steps = _choices(counts, case["picks"], rounds, most_literals, slack, literal_scores)
        *_, (_, left) = steps
        return rounds * slack - float(counts[~left, 1].sum())

    whole = int(slack)
    # Each pick loses `slack` positives: every point has the wrong value of one variable only.
    flips = [whole if bin(point).count("1") == 1 else 0 for point in range(2**dimension)]
    true = [2 * dimension] * most_literals
    edge = {"counts": flips, "target": true, "picks": [0]}
    return InvariantClaim(
        cases=Record(fields=_case_fields(dimension, most_literals, 2 * whole + 1, rounds)),
        margin=margin,
        examples=(edge, *_everywhere(dimension, most_literals, whole)),
        identifier="CONJ-P2-POS",
        statement="If all chosen scores are >= -Delta, J rounds lose at most J Delta positives",
        reference=TAKE_2,
    )


def few_negatives_left(
    *, dimension: int, most_literals: int, slack: float, score: Score = literal_scores
) -> InvariantClaim:
    """While every chosen score is at least - slack, at most 2 k slack negatives are left.

    A round that begins with at least that many removes a share 1 / 2 k of them; there are
    2 k ln n rounds, and 2 k slack >= 1.
    """
    most = max(20, ceil(2 * most_literals * slack))
    return InvariantClaim(
        cases=Record(fields=_case_fields(dimension, most_literals, most, 8)),
        margin=partial(
            _negatives_margin,
            dimension=dimension,
            most_literals=most_literals,
            slack=slack,
            score=score,
        ),
        examples=(
            *_least_removed(dimension, most_literals, slack),
            *_everywhere(dimension, most_literals, 20),
            *_everywhere(dimension, most_literals, 4),
        ),
        identifier="CONJ-P2-NEG",
        statement="If all chosen scores are >= -Delta, at most 2 k Delta negatives stay wrong",
        reference=TAKE_2,
    )


def _least_removed(dimension: int, most_literals: int, slack: float) -> tuple[object, ...]:
    """The target is v_1, and v_2 is just good enough and removes no more than it has to."""
    if dimension == 1:
        return ()
    negatives = ceil(2 * most_literals * slack)
    removed = ceil(negatives / most_literals - slack)
    counts = [0] * 2**dimension
    counts[0], counts[2 ** (dimension - 2)] = removed, negatives - removed
    return ({"counts": counts, "target": [0] * most_literals, "picks": [0]},)


def _negatives_margin(
    case: InvariantCase, *, dimension: int, most_literals: int, slack: float, score: Score
) -> float:
    counts = _labelled(case, dimension)
    many = 2 * most_literals * slack
    room, negatives = np.inf, float(counts[:, 0].sum())
    rounds = greedy_rounds(most_literals, max(1, int(counts.sum())))
    for alive, left in _choices(counts, case["picks"], rounds, most_literals, slack, score):
        before, negatives = (float(counts[rows, 0].sum()) for rows in (alive, left))
        if before >= many:
            room = min(room, before - negatives - before / (2 * most_literals))
    return min(room, many - negatives)
