"""Private learning of a finite class by the exponential mechanism.

The generic learner of Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011). A class is
the table of its hypotheses: row i holds what hypothesis i says of every point of a finite grid.
"""

from collections.abc import Callable
from functools import partial
from math import ceil, floor, log, prod
from typing import TypedDict

import numpy as np

from .._checks import require_listable, require_positive
from ..model import (
    Array,
    Database,
    FiniteLaw,
    Mechanism,
    Output,
    PrivacyClaim,
    Relation,
    Rows,
    Size,
    ThresholdClaim,
    UtilityClaim,
)
from ..selection.exponential import log_probabilities
from .labelled import grid_points, labelled_counts, labelled_row, mistakes

KASIVISWANATHAN = "Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011)"


class BoundLearner(TypedDict):
    """What `finite_class` and its law are bound to."""

    grid: tuple[int, ...]
    hypotheses: Array
    epsilon: float
    sensitivity: float


def finite_class(
    database: Database,
    rng: np.random.Generator,
    *,
    grid: tuple[int, ...],
    hypotheses: Array,
    epsilon: float,
    sensitivity: float = 1.0,
    size: Size = None,
) -> Array:
    """Draw hypothesis h with probability proportional to exp(epsilon right(h) / (2 sensitivity)).

    right(h) is how many rows [x_1, ..., x_d, label] it labels rightly; one record moves it by 1.
    Under add-remove `sensitivity` 1/2 is enough, because an added record lowers no score.
    `hypotheses` is the class as booleans of shape (m, points of the grid); `epsilon` is in nats.
    Returns indices of hypotheses, whole numbers of shape `size`. Raises ValueError on a
    parameter that is not positive.
    """
    law = finite_class_law(
        database, grid=grid, hypotheses=hypotheses, epsilon=epsilon, sensitivity=sensitivity
    )
    return rng.choice(law.outcomes, size=size, p=np.exp(law.log_probabilities))


def finite_class_law(
    database: Database,
    *,
    grid: tuple[int, ...],
    hypotheses: Array,
    epsilon: float,
    sensitivity: float = 1.0,
) -> FiniteLaw:
    """The exact law of `finite_class`."""
    counts = labelled_counts(database, grid=grid)
    right = counts.sum() - mistakes(counts, hypotheses)
    logs = log_probabilities(right, sensitivity=sensitivity, epsilon=epsilon)
    return FiniteLaw(outcomes=np.arange(len(hypotheses)), log_probabilities=logs)


def thresholds(points: int) -> Array:
    """The class of all x >= t, t = 0, ..., points, on the grid (points,): (points + 1, points)."""
    return np.arange(points) >= np.arange(points + 1)[:, None]


def boxes(grid: tuple[int, ...]) -> Array:
    """All boxes a_i <= x_i <= b_i of the grid and, last, the empty one; shape (m, points).

    m is the product of side (side + 1) / 2 over the sides, plus 1.
    """
    number = prod(side * (side + 1) // 2 for side in grid) + 1
    require_listable(number * prod(grid) // 64, "boxes times points")
    points = grid_points(grid)
    found = np.ones((1, len(points)), dtype=bool)
    for coordinate, side in enumerate(grid):
        low, high = np.triu_indices(side)
        x = points[:, coordinate]
        inside = (low[:, None] <= x) & (x <= high[:, None])
        found = (found[:, None] & inside).reshape(-1, len(points))
    return np.vstack([found, np.zeros_like(found[:1])])


def finite_class_mechanism(
    *,
    grid: tuple[int, ...],
    hypotheses: Array,
    epsilon: float,
    relation: Relation = Relation.REPLACE_ONE,
    most_rows: int = 40,
    name: str = "finite-class",
    identifier: str = "",
) -> Mechanism:
    """`finite_class` at fixed parameters, with the theorems it is claimed to satisfy.

    Under add-remove the scores are monotone and the weights are exp(epsilon right(h)), which
    halves the regret.
    """
    require_positive(epsilon=epsilon)
    sensitivity = 0.5 if relation is Relation.ADD_REMOVE else 1.0
    bound: BoundLearner = {
        "grid": grid,
        "hypotheses": hypotheses,
        "epsilon": epsilon,
        "sensitivity": sensitivity,
    }

    def regret(database: Database, output: Output) -> Array:
        wrong = mistakes(labelled_counts(database, grid=grid), hypotheses)
        return wrong[output] - wrong.min()

    def regret_bound(beta: float) -> float:
        return 2 * sensitivity / epsilon * log(len(hypotheses) / beta)

    return Mechanism(
        trust_rows=True,
        name=name,
        identifier=identifier,
        run=partial(finite_class, **bound),
        law=partial(finite_class_law, **bound),
        databases=Rows(row=labelled_row(grid), max_size=most_rows),
        claims=(
            PrivacyClaim(
                epsilon=epsilon,
                relation=relation,
                identifier="PAC-EML",
                statement="The exponential mechanism over a finite class is epsilon-private",
                reference=f"{KASIVISWANATHAN}, Theorem 3.4",
            ),
            UtilityClaim(
                loss=regret,
                bound=regret_bound,
                # One point, again and again: whatever errs on it errs by just the bound.
                databases=tuple(
                    ((0,) * len(grid) + (1,),) * ceil(regret_bound(beta)) for beta in (0.05, 0.5)
                ),
                identifier="PAC-EML-REGRET",
                statement="Mistakes exceed the best by less than (2/epsilon) ln(|C| / beta)",
                reference=f"{KASIVISWANATHAN}, Theorem 3.4",
            ),
        ),
        reference=KASIVISWANATHAN,
    )


def finite_class_rows(epsilon: float, alpha: float, beta: float, logarithm: float) -> int:
    """Rows that suffice for error alpha on realizable data: 2 (ln|C| + ln(1/beta)) / alpha epsilon.

    `logarithm` is ln|C|, or a bound on it.
    """
    require_positive(epsilon=epsilon, alpha=alpha, beta=beta)
    return ceil(2 / (alpha * epsilon) * (logarithm + log(1 / beta)))


def finite_class_threshold(
    *,
    grid: tuple[int, ...],
    hypotheses: Array,
    hard: Callable[[int, int], Database],
    needed: int,
    epsilon: float,
    alpha: float,
    beta: float,
    identifier: str = "PAC-EML-UTILITY",
) -> ThresholdClaim:
    """With `needed` realizable rows the error exceeds alpha with probability at most beta.

    `hard(rows, wrong)` is a realizable database on which many hypotheses make `wrong` mistakes.
    """

    def instance(rows: int) -> tuple[Callable[..., Output], Database]:
        run = partial(finite_class, grid=grid, hypotheses=hypotheses, epsilon=epsilon)
        return run, hard(rows, floor(alpha * rows) + 1)

    def error(database: Database, output: Output) -> Array:
        counts = labelled_counts(database, grid=grid)
        return mistakes(counts, hypotheses)[output] / counts.sum()

    return ThresholdClaim(
        trust_rows=True,
        needed=needed,
        instance=instance,
        loss=error,
        level=alpha,
        beta=beta,
        identifier=identifier,
        statement="n >= (2 / (alpha epsilon)) ln(|C| / beta) rows give error at most alpha",
        reference=f"{KASIVISWANATHAN}, Theorem 3.4",
    )


THRESHOLD_CLASS = finite_class_mechanism(
    grid=(16,),
    hypotheses=thresholds(16),
    epsilon=1.0,
    name="finite-class-thresholds",
    identifier="PAC-EML",
)

BOX_CLASS = finite_class_mechanism(
    grid=(3, 3),
    hypotheses=boxes((3, 3)),
    epsilon=1.0,
    name="finite-class-boxes",
)
