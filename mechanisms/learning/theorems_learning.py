"""Theorems about learning: conjunctions by deleting literals, and finite classes.

A finite class is learnt by the exponential mechanism.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import ceil, floor, log

import numpy as np

from ..accounting.composition import Spending, bound, spends
from ..model import (
    Array,
    Database,
    IdentityClaim,
    Interval,
    InvariantClaim,
    PrivacyClaim,
    Relation,
    Subject,
    Theorem,
    ThresholdClaim,
    UtilityClaim,
    number,
    whole,
)
from .conjunctions import (
    deletion_threshold,
    falsified_literals,
    kept_literals_contain_the_target,
    laplace_scale,
    noisy_conjunction_mechanism,
    noisy_conjunction_threshold,
    noisy_counts_event,
    without_violated_literals,
)
from .finite_class import (
    KASIVISWANATHAN,
    boxes,
    finite_class_mechanism,
    finite_class_rows,
    finite_class_threshold,
    thresholds,
)
from .labelled import (
    SOURCE,
    conjoined,
    conjunctions,
    labelled_counts,
    literals,
    number_of_conjunctions,
)

EXAMPLE = (("010101", 1), ("010110", 0), ("111101", 1), ("111111", 0), ("000000", 0))
"""Labelled points that v2 AND not v5 AND v6 fits."""
WORKED_RUN = (*EXAMPLE, ("101101", 1), ("111101", 1), ("000101", 1))
"""A sample on which the algorithm that is not private keeps v4, not v5 and v6."""
_epsilon = number(1.0, 0.05, 8.0, "privacy of the whole, in nats")
_delta = number(1e-6, 1e-12, 0.1, "the delta")
_alpha = number(0.25, 0.05, 0.9, "error allowed")
_beta = number(0.1, 0.001, 0.5, "chance of failure")


def _counts_of(sample: tuple[tuple[str, int], ...]) -> Array:
    rows = [[*map(int, point), label] for point, label in sample]
    return labelled_counts(rows, grid=(2,) * 6)


def _flags(*numbers: int) -> Array:
    """Literals of six variables as booleans: 2 is v2 and -5 is not v5."""
    places = [abs(n) - 1 + (6 if n < 0 else 0) for n in numbers]
    return np.isin(np.arange(12), places)


def _example_agrees() -> float:
    """How many of the seven stated values of v2 AND not v5 AND v6 are right."""
    truth = conjoined(_flags(2, -5, 6), literals(6))
    stated = (*EXAMPLE, ("010101", 1), ("010110", 0))
    return float(sum(truth[int(point, 2)] == label for point, label in stated))


def _worked_run_differs() -> float:
    kept = without_violated_literals(_counts_of(WORKED_RUN))
    return float((kept != _flags(4, -5, 6)).sum())


def _identity(compute: Callable[[], float], stated: float) -> IdentityClaim:
    return IdentityClaim(compute=compute, stated=stated)


def _counted(*, dimension: int, most_literals: int) -> IdentityClaim:
    def listed() -> float:
        return float(len(np.unique(_all_subsets(dimension, most_literals), axis=0)))

    return _identity(listed, number_of_conjunctions(dimension, most_literals))


def _all_subsets(dimension: int, most: int) -> Array:
    """The ANDs of all sets of at most `most` literals, as they are, repeats and all."""
    table = literals(dimension)
    found = tried = np.ones((1, 2**dimension), dtype=bool)
    for _ in range(most):
        tried = np.unique((tried[:, None] & table).reshape(-1, 2**dimension), axis=0)
        found = np.vstack([found, tried])
    return found


def _event(*, dimension: int, epsilon: float, beta: float) -> InvariantClaim:
    """The mistakes that the mechanism says it makes at most, where its noise is the worst."""
    made = noisy_conjunction_mechanism(dimension=dimension, epsilon=epsilon, beta=beta)
    most = next(claim.bound(beta) for claim in made.claims if isinstance(claim, UtilityClaim))
    scale = 2 * dimension / epsilon
    return noisy_counts_event(dimension=dimension, scale=scale, beta=beta, most=most)


def _opposites(dimension: int, at_zeros: int, at_ones: int) -> tuple[Database, Database]:
    """So many positives at 0 ... 0 and at 1 ... 1, and one more of the former or of the latter."""
    zeros, ones = ([bit] * dimension + [1] for bit in (0, 1))
    rest = [*[zeros] * at_zeros, *[ones] * at_ones]
    return [*rest, zeros], [*rest, ones]


def _private(
    *,
    dimension: int,
    epsilon: float,
    beta: float,
    delta: float = 0.0,
    relation: Relation = Relation.REPLACE_ONE,
) -> Subject:
    """The first claim of the mechanism, with a pair on which it is nearly tight.

    Purely: decisions as far as can be from the threshold. With delta: all of them even.
    """
    made = noisy_conjunction_mechanism(
        dimension=dimension, epsilon=epsilon, beta=beta, delta=delta, relation=relation
    )
    claim = made.claims[0]
    if isinstance(claim, PrivacyClaim) and claim.relation is Relation.REPLACE_ONE:
        scale = laplace_scale(dimension, epsilon, delta)
        even = int(deletion_threshold(dimension, scale, beta))
        counts = (even, even) if delta else (39, 0)
        claim = replace(claim, examples=(_opposites(dimension, *counts),))
    return Subject(claim=claim, mechanism=made)


def _literals_spend(*, dimension: int, epsilon: float, delta: float) -> IdentityClaim:
    """A replaced positive moves d counts down and d others up, each by one."""

    def counts(slack: float) -> Spending:
        made = noisy_conjunction_mechanism(
            dimension=dimension, epsilon=epsilon, delta=slack, beta=0.1
        )
        return Spending(pure=[1 / bound(made)["scale"]] * 2 * dimension, delta=slack)

    return spends(lambda: [counts(0.0), counts(delta)], epsilon=epsilon)


def _mistakes(*, dimension: int, epsilon: float, beta: float) -> Subject:
    made = noisy_conjunction_mechanism(dimension=dimension, epsilon=epsilon, beta=beta)
    return Subject(claim=made.claims[1], mechanism=made)


_dimension = whole(2, 1, 4, "variables")
_six = whole(6, 1, 8, "variables")
_class = {"dimension": whole(3, 1, 6, "variables"), "most_literals": whole(2, 0, 4, "literals")}
_take_1 = f"{SOURCE}, conjunctions, take 1"
_budget = {"dimension": _dimension, "epsilon": _epsilon, "beta": _beta}
_class_error = number(0.2, 0.02, 0.45, "error allowed")
_class_failure = number(0.05, 0.001, 0.5, "chance of failure")
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


_reference = f"{KASIVISWANATHAN}, Theorem 3.4"
_line = {"points": _points, "epsilon": _epsilon}
_class_learning = {"epsilon": _epsilon, "alpha": _class_error, "beta": _class_failure}


THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="CONJ-DEF",
        statement="An assignment makes exactly d of the 2 d literals false",
        reference=f"{SOURCE}, conjunctions",
        subject=falsified_literals,
        parameters={"dimension": _six},
    ),
    Theorem(
        identifier="CONJ-COUNT",
        statement="There are sum_{i <= k} C(d, i) 2**i conjunctions and, if k >= 2, the constant 0",
        reference=f"{SOURCE}, conjunctions",
        subject=_counted,
        parameters=_class,
    ),
    Theorem(
        identifier="CONJ-EX1",
        statement="v2 AND not v5 AND v6 on seven points",
        reference=f"{SOURCE}, conjunctions, the example",
        subject=lambda: _identity(_example_agrees, 7.0),
    ),
    Theorem(
        identifier="CONJ-EX2",
        statement="The worked run keeps v4, not v5 and v6: the literals that differ are none",
        reference=f"{SOURCE}, conjunctions, the worked run",
        subject=lambda: _identity(_worked_run_differs, 0.0),
    ),
    Theorem(
        identifier="CONJ-NP",
        statement="The kept literals contain those of any target that fits, and make no mistake",
        reference="Valiant (1984)",
        subject=kept_literals_contain_the_target,
        parameters={"dimension": whole(3, 1, 6, "variables")},
    ),
    Theorem(
        identifier="CONJ-P1",
        slow=True,
        statement="Deleting 2 d literals by counts + Lap(2 d / epsilon) is epsilon-private",
        reference=_take_1,
        subject=_private,
        parameters=_budget,
    ),
    Theorem(
        identifier="CONJ-P1-AR",
        statement="The same is epsilon / 2-private under add-remove: a point violates d literals",
        reference=_take_1,
        subject=partial(_private, relation=Relation.ADD_REMOVE),
        parameters=_budget,
    ),
    Theorem(
        identifier="CONJ-P1-SPENT",
        statement="The noisy counts of 2 d literals lose just epsilon, with delta and without",
        reference=_take_1,
        subject=_literals_spend,
        parameters={
            "dimension": whole(4, 1, 12, "variables, d"),
            "epsilon": _epsilon,
            "delta": _delta,
        },
    ),
    Theorem(
        identifier="CONJ-P1-ADVANCED",
        statement="With noise of scale sqrt(d) / s(epsilon, delta) it is (epsilon, delta)-private",
        reference=_take_1,
        subject=_private,
        parameters={
            **_budget,
            "dimension": replace(_dimension, default=4),
            "delta": replace(_delta, default=0.05),
        },
    ),
    Theorem(
        identifier="CONJ-P1-EVENT",
        statement="With all noise within tau, negatives are right and 4 d tau positives wrong",
        reference=_take_1,
        subject=_event,
        parameters={**_budget, "epsilon": replace(_epsilon, within=Interval(low=0.5, high=8.0))},
    ),
    Theorem(
        identifier="CONJ-P1-MISTAKES",
        statement="P[mistakes >= (8 d**2 / epsilon) ln(2 d / beta)] <= beta on realizable data",
        reference=_take_1,
        subject=_mistakes,
        parameters=_budget,
    ),
    Theorem(
        identifier="CONJ-P1-UTILITY",
        statement="n >= (8 d**2 / (alpha epsilon)) ln(2 d / beta) rows give error at most alpha",
        reference=_take_1,
        subject=noisy_conjunction_threshold,
        parameters={"dimension": _six, "epsilon": _epsilon, "alpha": _alpha, "beta": _beta},
    ),
    Theorem(
        identifier="CONJ-P1-UTILITY-LEANING",
        statement="As many rows do where literals are each false on few positive points",
        reference=_take_1,
        subject=partial(noisy_conjunction_threshold, mixed=True),
        parameters={"dimension": _six, "epsilon": _epsilon, "alpha": _alpha, "beta": _beta},
    ),
    Theorem(
        identifier="CONJ-P1-ADVANCED-UTILITY",
        statement="n >= (4 d**1.5 / (alpha s)) ln(2 d / beta) rows suffice with noise sqrt(d) / s",
        reference=_take_1,
        subject=noisy_conjunction_threshold,
        parameters={
            "dimension": _six,
            "epsilon": _epsilon,
            "alpha": _alpha,
            "beta": _beta,
            "delta": _delta,
        },
    ),
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
        parameters={"points": _points, **_class_learning},
    ),
    Theorem(
        identifier="PAC-EML-BOXES",
        statement="Boxes: n >= (2 / (alpha epsilon)) (2 d ln|D| + ln(1/beta)) rows suffice, d = 2",
        reference=_reference,
        subject=_boxes_utility,
        parameters={
            "side": whole(4, 2, 8, "values a side"),
            **_class_learning,
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
            **_class_learning,
        },
    ),
    Theorem(
        identifier="ERR-PAC-5",
        statement="Mistakes exceed the best by at most (1/epsilon) ln|C|",
        reference=f"{SOURCE}, the generic learner, as printed",
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
