"""Theorems about learning a finite class by the exponential mechanism."""

from collections.abc import Callable
from dataclasses import replace
from math import ceil, floor, log

import numpy as np

from ..model import (
    Database,
    PrivacyClaim,
    Relation,
    Subject,
    Theorem,
    ThresholdClaim,
    UtilityClaim,
    number,
    whole,
)
from .conjunction_class import conjunctions
from .finite_class import (
    SOURCE,
    boxes,
    finite_class_mechanism,
    finite_class_rows,
    finite_class_threshold,
    thresholds,
)

LECTURE = "Stemmer, lecture notes on differential privacy, lecture 12"

_epsilon = number(1.0, 0.05, 8.0, "privacy of the whole, in nats")
_alpha = number(0.2, 0.02, 0.45, "error allowed")
_beta = number(0.05, 0.001, 0.5, "chance of failure")
_points = whole(16, 2, 64, "points of the line")


def _on_the_line(claim: int, relation: Relation) -> Callable[..., Subject]:
    """A claim of the learner of thresholds, by its place among the mechanism's claims."""

    def subject(*, points: int, epsilon: float) -> Subject:
        made = finite_class_mechanism(
            grid=(points,),
            hypotheses=thresholds(points),
            epsilon=epsilon,
            relation=relation,
            name="finite-class-thresholds",
        )
        named = made.claims[claim]
        if isinstance(named, UtilityClaim):
            wrong = [ceil(named.bound(beta)) for beta in (0.05, 0.5)]
            hard = tuple(_around_the_middle(points, 4 * w, w) for w in wrong)
            named = replace(named, databases=hard)
        return Subject(claim=named, mechanism=made)

    return subject


def _around_the_middle(points: int, rows: int, wrong: int) -> Database:
    """Rows on which x >= points / 2 is right and nearly all other thresholds err `wrong` times."""
    middle = points // 2
    beside = [(middle - 1, 0)] * wrong + [(middle, 1)] * wrong
    return (*beside[:rows], *[(points - 1, 1)] * (rows - 2 * wrong))


def _thresholds_utility(
    *, points: int, epsilon: float, alpha: float, beta: float
) -> ThresholdClaim:
    claim = finite_class_threshold(
        grid=(points,),
        hypotheses=thresholds(points),
        hard=lambda rows, wrong: _around_the_middle(points, rows, wrong),
        needed=finite_class_rows(epsilon, alpha, beta, log(points + 1)),
        epsilon=epsilon,
        alpha=alpha,
        beta=beta,
    )
    return claim


def _boxes_utility(*, side: int, epsilon: float, alpha: float, beta: float) -> ThresholdClaim:
    def hard(rows: int, wrong: int) -> Database:
        # One box holds the corner without its two neighbours, and most hold none of the three.
        last = max(rows - 2 * wrong, 0)
        return (*[(0, 0, 1)] * wrong, *[(0, 1, 0)] * wrong, *[(1, 0, 0)] * last)

    claim = finite_class_threshold(
        grid=(side, side),
        hypotheses=boxes((side, side)),
        hard=hard,
        needed=finite_class_rows(epsilon, alpha, beta, 4 * log(side)),
        epsilon=epsilon,
        alpha=alpha,
        beta=beta,
        identifier="PAC-EML-BOXES",
    )
    return claim


def _conjunctions_utility(
    *, dimension: int, most_literals: int, epsilon: float, alpha: float, beta: float
) -> ThresholdClaim:
    def hard(rows: int, wrong: int) -> Database:
        # All conjunctions but TRUE are wrong on one of two opposite positive points.
        zeros, ones = (0,) * dimension + (1,), (1,) * dimension + (1,)
        return (*[zeros] * wrong, *[ones] * (rows - wrong))

    claim = finite_class_threshold(
        grid=(2,) * dimension,
        hypotheses=conjunctions(dimension, most_literals),
        hard=hard,
        needed=finite_class_rows(epsilon, alpha, beta, most_literals * log(2 * dimension + 1)),
        epsilon=epsilon,
        alpha=alpha,
        beta=beta,
        identifier="PAC-EML-CONJUNCTIONS",
    )
    return claim


def _one_good_hypothesis(*, others: int, epsilon: float) -> Subject:
    """One hypothesis that is right, and `others` just beyond the regret that is promised."""
    bits = max(1, (others - 1).bit_length())
    # All of them differ on points without rows; the first point decides.
    binary = (np.arange(others)[:, None] >> np.arange(bits)) & 1 == 1
    poor = np.column_stack([np.zeros(others, dtype=bool), binary])
    good = np.ones((1, bits + 1), dtype=bool)
    gap = floor(log(others + 1) / epsilon) + 1
    made = finite_class_mechanism(
        grid=(bits + 1,),
        hypotheses=np.vstack([good, poor]),
        epsilon=epsilon,
        name="finite-class-one-good",
    )
    privacy, regret = made.claims
    assert isinstance(privacy, PrivacyClaim)
    assert isinstance(regret, UtilityClaim)
    claim = replace(regret, bound=lambda _: log(others + 1) / epsilon, databases=(((0, 1),) * gap,))
    return Subject(claim=claim, mechanism=made)


_reference = f"{SOURCE}, Theorem 3.4"
_line = {"points": _points, "epsilon": _epsilon}
_learning = {"epsilon": _epsilon, "alpha": _alpha, "beta": _beta}

THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="PAC-EML",
        statement="The exponential mechanism over a finite class, weights exp(epsilon q / 2), "
        "is epsilon-private under replace-one",
        reference=_reference,
        subject=_on_the_line(0, Relation.REPLACE_ONE),
        parameters=_line,
    ),
    Theorem(
        identifier="PAC-EML-AR",
        statement="Weights exp(epsilon q) are epsilon-private under add-remove, q being monotone",
        reference=_reference,
        subject=_on_the_line(0, Relation.ADD_REMOVE),
        parameters=_line,
    ),
    Theorem(
        identifier="PAC-EML-REGRET",
        statement="P[mistakes - fewest >= (2/epsilon) ln(|C| / beta)] <= beta",
        reference=_reference,
        subject=_on_the_line(1, Relation.REPLACE_ONE),
        parameters={**_line, "epsilon": replace(_epsilon, default=0.7)},
    ),
    Theorem(
        identifier="PAC-EML-UTILITY",
        statement="Thresholds: n >= (2 / (alpha epsilon)) ln(|C| / beta) rows suffice",
        reference=_reference,
        subject=_thresholds_utility,
        parameters={"points": _points, **_learning},
    ),
    Theorem(
        identifier="PAC-EML-BOXES",
        statement="Boxes: n >= (2 / (alpha epsilon)) (2 d ln|D| + ln(1/beta)) rows suffice, d = 2",
        reference=_reference,
        subject=_boxes_utility,
        parameters={
            "side": whole(4, 2, 8, "values a side"),
            **_learning,
        },
    ),
    Theorem(
        identifier="PAC-EML-CONJUNCTIONS",
        statement="Conjunctions: n >= (2 / (alpha epsilon)) (k ln(2d + 1) + ln(1/beta)) suffice",
        reference=_reference,
        subject=_conjunctions_utility,
        parameters={
            "dimension": whole(3, 1, 6, "variables"),
            "most_literals": whole(2, 1, 3, "most literals"),
            **_learning,
        },
    ),
    Theorem(
        identifier="ERR-PAC-5",
        statement="Mistakes exceed the best by at most (1/epsilon) ln|C|",
        reference=f"{LECTURE}, the generic learner, as printed",
        subject=_one_good_hypothesis,
        parameters={
            "others": whole(10_000, 1_000, 20_000, "poor hypotheses"),
            "epsilon": _epsilon,
        },
        corrected="PAC-EML-REGRET",
        remark="The constant is 2, and ln(1/beta) is missing: many hypotheses just beyond the "
        "bound outweigh the one that is right",
    ),
)
