"""Learning classes and conjunctions: how what is lost grows with records and with literals."""

from collections.abc import Callable
from functools import partial
from math import log

import numpy as np

from ..model import Array, Database, GrowthClaim, Output, Theorem, number, whole
from .conjunction_class import literals_at
from .finite_class import SOURCE as FINITE
from .finite_class import finite_class, thresholds
from .greedy_bounds import greedy_rounds, round_privacy, score_shortfall
from .greedy_conjunctions import SOURCE, greedy_conjunction_of_counts
from .greedy_transcripts import chosen_mistakes

BETA = 0.1


def _in_records(epsilon: float, points: int) -> GrowthClaim:
    """Of `points` thresholds one is right, and every step away from it costs a record."""

    def instance(records: float) -> tuple[Callable[..., Array], Database]:
        # One record at every point, and all others where no threshold near the right one errs.
        each = [(place, int(place >= points // 2)) for place in range(points)]
        more = [(0, 0), (points - 1, 1)]
        database = each + [more[place % 2] for place in range(int(records) - points)]
        run = partial(finite_class, grid=(points,), hypotheses=thresholds(points), epsilon=epsilon)
        return run, database

    def excess(records: float, database: Database, output: Output) -> Array:
        labels = np.array(database)
        said = thresholds(points)[:, labels[:, 0]]
        return (said != labels[:, 1]).sum(axis=1)[np.asarray(output)] / records

    return GrowthClaim(
        trust_rows=True,
        points=tuple(points * factor for factor in (2, 4, 8, 16)),
        instance=instance,
        quantity=excess,
        # The tail exp(-epsilon x / 2) of what is lost beyond ln |C|, summed up.
        bound=lambda records: 2 * (log(points + 1) + 1) / (epsilon * records),
        high=lambda records: 1.0,
        grows="share of records lost",
        over="n",
    )


def _in_literals(epsilon: float, delta: float, rows: int, variables: int) -> GrowthClaim:
    """Every variable loses the same number of rows, as many as half of the choices risk."""

    def budget(most_literals: float) -> tuple[int, float]:
        rounds = greedy_rounds(int(most_literals), rows)
        return rounds, round_privacy(epsilon, rounds, delta)

    ones = np.ones((1, variables), dtype=np.int64)
    points = np.vstack([ones, ones - np.eye(variables, dtype=np.int64)])
    table = literals_at(points, constant=True)

    def instance(most_literals: float) -> tuple[Callable[..., Array], Database]:
        rounds, each = budget(most_literals)
        lost = int(2 / each * (log(variables) + 0.5))
        counts = np.zeros((variables + 1, 2), dtype=np.int64)
        counts[:, 1] = [variables * lost, *[lost] * variables]
        run = partial(
            greedy_conjunction_of_counts,
            most_literals=int(most_literals),
            rounds=rounds,
            round_epsilon=each,
            table=table,
        )
        return run, counts

    def allowed(most_literals: float) -> float:
        rounds, each = budget(most_literals)
        return (rounds + 2 * most_literals) * score_shortfall(variables, rounds, each, BETA)

    return GrowthClaim(
        trust_rows=True,
        points=(1, 2, 4),
        instance=instance,
        quantity=lambda most_literals, database, output: chosen_mistakes(database, output, table),
        bound=allowed,
        high=allowed,
        grows="rows lost",
        over="k",
        attained=False,
    )


THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="PAC-EML-GROW-N",
        costly=5,
        statement="the error above the best falls as 1 / n, and is 2 (ln |C| + 1) / (epsilon n) "
        "at most on average",
        reference=f"{FINITE}, Theorem 3.4",
        subject=_in_records,
        constant=2,
        parameters={
            "epsilon": number(0.5, 0.1, 2, "nats"),
            "points": whole(32, 8, 128, "places of the line"),
        },
    ),
    Theorem(
        identifier="CONJ-P2-GROW-K",
        costly=50,
        statement="rows lost, alpha n, grow no faster than k^1.5 and its logarithms with delta",
        reference=f"{SOURCE}, conjunctions, take 2",
        subject=_in_literals,
        parameters={
            "epsilon": number(4.0, 0.5, 8, "nats"),
            "delta": number(0.01, 1e-6, 0.05, "of all rounds"),
            "rows": whole(20, 10, 200, "n of the rounds 2 k ln n"),
            "variables": whole(32, 16, 128, "d"),
        },
    ),
)
