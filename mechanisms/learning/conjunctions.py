"""Learning a conjunction by deleting literals: Valiant's algorithm, and with noisy counts.

Valiant (1984) starts from all 2 d literals and deletes those that some positive point makes false.
Stemmer, lecture notes on differential privacy, lecture 12, makes that private by deleting on noisy
counts. Literals are numbered as in `labelled`.

Then: what holds of both for every sample, and every noise of an event. A case is a record of plain
values. Its rows are counts or the numbers of points; a target conjunction labels them, so the
sample is realizable.
"""

from collections.abc import Callable
from functools import partial
from math import ceil, log, sqrt
from typing import TypedDict

import numpy as np

from .._checks import require_delta, require_positive, require_whole, sample_shape
from ..accounting.composition import zcdp_root
from ..accounting.privacy_loss import log_laplace_cdf
from ..model import (
    Array,
    Choices,
    Database,
    FiniteLaw,
    Interval,
    InvariantCase,
    InvariantClaim,
    Law,
    Mechanism,
    Output,
    PrivacyClaim,
    ProductLaw,
    Record,
    Relation,
    Row,
    Rows,
    Size,
    ThresholdClaim,
    UtilityClaim,
)
from .labelled import (
    SOURCE,
    conjoined,
    cube_dimension,
    grid_points,
    labelled_points,
    labelled_row,
    labelled_rows,
    literals,
    literals_at,
    mistakes,
)

MOST_CELLS = 2**24
"""The hard instance of a utility claim is spelt out up to rows times assignments."""
MOST_LISTED = 4
"""Up to this dimension the law lists all 2**(2 d) outputs."""


def without_violated_literals(counts: Array) -> Array:
    """Valiant's algorithm: keep the literals that no positive point makes false.

    `counts` has shape (2**d, 2); returns which literals are kept, booleans of shape (2 d,).
    The order of the points plays no part. Not private.
    """
    return violations(counts) == 0


def violations(counts: Array) -> Array:
    """How many positive points make each literal false: whole numbers of shape (2 d,).

    Each moves by at most 1; all 2 d together by at most d under add-remove and by at most 2 d
    under replace-one, which a positive point replaced by its complement attains.
    """
    return violations_at(grid_points((2,) * cube_dimension(counts)), counts)


def violations_at(points: Array, counts: Array) -> Array:
    """`violations` of the points (m, d) that occur, `counts` of shape (m, 2): time m d."""
    true = counts[:, 1] @ points.astype(np.int64)
    return np.concatenate([counts[:, 1].sum() - true, true])


class BoundDeletion(TypedDict):
    """What `noisy_conjunction` and its law are bound to."""

    dimension: int
    scale: float
    threshold: float


def noisy_conjunction(
    database: Database,
    rng: np.random.Generator,
    *,
    dimension: int,
    scale: float,
    threshold: float,
    size: Size = None,
) -> Array:
    """Delete each literal whose violations + Laplace(scale) exceed `threshold`, keep the others.

    Rows are [v_1, ..., v_d, label]. `scale` 2 d / epsilon makes all 2 d decisions together
    epsilon-private under replace-one.
    Returns which literals are kept, booleans of shape `size` + (2 d,). Raises ValueError on a
    scale that is not positive.
    """
    violated = violations_at(*labelled_points(database, dimension=dimension))
    return _delete(violated, rng, scale=scale, threshold=threshold, size=size)


def noisy_conjunction_of_counts(
    counts: Array,
    rng: np.random.Generator,
    *,
    scale: float,
    threshold: float,
    size: Size = None,
) -> Array:
    """`noisy_conjunction` of a database given as counts of shape (2**d, 2)."""
    return _delete(violations(counts), rng, scale=scale, threshold=threshold, size=size)


def _delete(
    violated: Array, rng: np.random.Generator, *, scale: float, threshold: float, size: Size
) -> Array:
    require_positive(scale=scale)
    noise = rng.laplace(scale=scale, size=sample_shape(size) + violated.shape)
    return noisy_counts_keep(violated, noise, threshold)


def noisy_counts_keep(violated: Array, noise: Array, threshold: float) -> Array:
    """The decision of `noisy_conjunction` at given noise."""
    return violated + noise <= threshold


def noisy_conjunction_law(
    database: Database, *, dimension: int, scale: float, threshold: float
) -> Law:
    """The exact law of `noisy_conjunction`: 2 d independent decisions.

    Up to dimension 4 they are multiplied out to a law over the 2**(2 d) vectors.
    """
    violated = violations_at(*labelled_points(database, dimension=dimension))
    slack = (threshold - violated) / scale
    logs = np.stack([log_laplace_cdf(-slack), log_laplace_cdf(slack)], axis=1)
    decisions = np.array([False, True])
    if dimension > MOST_LISTED:
        return ProductLaw(
            parts=tuple(FiniteLaw(outcomes=decisions, log_probabilities=pair) for pair in logs)
        )
    places = grid_points((2,) * len(violated))
    total = logs[np.arange(len(violated)), places].sum(axis=1)
    return FiniteLaw(outcomes=decisions[places], log_probabilities=total)


def deletion_threshold(dimension: int, scale: float, beta: float) -> float:
    """The level that all 2 d noises keep below in absolute value with probability 1 - beta."""
    return scale * log(2 * dimension / beta)


def laplace_scale(dimension: int, epsilon: float, delta: float) -> float:
    """Laplace scale that makes 2 d counts of sensitivity 1 together (epsilon, delta)-private."""
    if delta == 0:
        return 2 * dimension / epsilon
    return sqrt(dimension) / zcdp_root(epsilon, delta)


def conjunction_mistakes(counts: Array, kept: Array) -> Array:
    """How many of the counted labels the conjunction of the kept literals gets wrong."""
    return mistakes_at(grid_points((2,) * cube_dimension(counts)), counts, kept)


def mistakes_at(points: Array, counts: Array, kept: Array) -> Array:
    """`conjunction_mistakes` on the points (m, d) that occur, `counts` of shape (m, 2)."""
    return mistakes(counts, conjoined(kept, literals_at(points)))


def noisy_conjunction_mechanism(
    *,
    dimension: int,
    epsilon: float,
    beta: float,
    delta: float = 0.0,
    relation: Relation = Relation.REPLACE_ONE,
    most_rows: int = 40,
    name: str = "noisy-conjunction",
    identifier: str = "",
) -> Mechanism:
    """`noisy_conjunction` at fixed parameters, with the theorems it is claimed to satisfy.

    It is (epsilon, delta)-private under replace-one. Under add-remove a point violates d
    literals only, and without delta epsilon / 2 is claimed.
    """
    require_positive(epsilon=epsilon, beta=beta)
    require_whole(dimension=dimension)
    require_delta(delta=delta)
    if delta and relation is Relation.ADD_REMOVE:
        raise ValueError("the calibration with delta is for replace-one")
    scale = laplace_scale(dimension, epsilon, delta)
    threshold = deletion_threshold(dimension, scale, beta)
    bound: BoundDeletion = {"dimension": dimension, "scale": scale, "threshold": threshold}
    half = 0.5 if relation is Relation.ADD_REMOVE else 1.0

    def excess(database: Database, output: Output) -> Array:
        sample = labelled_points(database, dimension=dimension)
        best = violations_at(*sample) == 0
        # Nothing is promised unless some conjunction fits, and then this one does.
        realizable = mistakes_at(*sample, best) == 0
        return mistakes_at(*sample, output) * int(realizable)

    most_mistakes = 4 * dimension * threshold
    rows = 4 * ceil(most_mistakes + 1)
    # So many rows that all literals are kept that lose them with a chance above beta.
    lost = dimension, threshold - scale * log(2 * (1.1 * beta) ** (1 / dimension))
    hard: tuple[Database, ...] = ()
    if rows * 2**dimension <= MOST_CELLS:
        samples = guarded_sample(rows, dimension), leaning_sample(rows, dimension, *lost)
        hard = tuple(labelled_rows(one, grid=(2,) * dimension) for one in samples)
    return Mechanism(
        trust_rows=True,
        name=name,
        identifier=identifier,
        run=partial(noisy_conjunction, **bound),
        law=partial(noisy_conjunction_law, **bound),
        databases=Rows(row=labelled_row((2,) * dimension), max_size=most_rows),
        claims=(
            PrivacyClaim(
                epsilon=epsilon * half,
                delta=delta,
                relation=relation,
                identifier="CONJ-P1",
                statement="Deleting literals by noisy counts is private",
                reference=f"{SOURCE}, conjunctions, take 1",
            ),
            UtilityClaim(
                loss=excess,
                bound=lambda _: most_mistakes,
                levels=(beta,),
                databases=hard,
                identifier="CONJ-P1-MISTAKES",
                statement="At most 4 d threshold mistakes on realizable data",
                reference=f"{SOURCE}, conjunctions, take 1",
            ),
        ),
        reference=SOURCE,
    )


def guarded_sample(rows: int, dimension: int) -> Array:
    """Counts of a hard realizable database: all depends on not deleting one of a few literals.

    The target is v_1 AND ... AND v_t with t at most 3. A tenth of the rows are the positive point
    1 ... 1, enough to delete all negations; the others are negative, each of them ruled out by
    one literal of the target only.
    """
    guarded = min(3, dimension)
    counts = np.zeros((2**dimension, 2), dtype=np.int64)
    counts[-1, 1] = rows // 10
    for literal in range(guarded):
        flipped = 2**dimension - 1 - 2 ** (dimension - 1 - literal)
        counts[flipped, 0] = (rows - rows // 10 + literal) // guarded
    return counts


def mixed_sample(rows: int, dimension: int, alpha: float) -> Array:
    """Counts of a realizable database that deleting a literal spoils, and keeping others.

    A third of the literals are guarded as in `guarded_sample`, one at least. Each of the others is
    false on a few positive points; all of these together are just too many to lose.
    """
    counts = np.zeros((2**dimension, 2), dtype=np.int64)
    guarded = max(1, dimension // 3)
    leaning = dimension - guarded
    each = int(alpha * rows / leaning) + 1 if leaning else 0
    flipped = 2**dimension - 1 - 2 ** np.arange(dimension - 1, -1, -1)
    counts[flipped[guarded:], 1] = each
    counts[-1, 1] = rows // 10
    rest = max(0, rows - int(counts.sum()))
    counts[flipped[:guarded], 0] = (rest + np.arange(guarded)) // guarded
    return counts


def leaning_sample(rows: int, dimension: int, literals: int, each: float) -> Array:
    """Counts of positive points alone: `each` with a 0 in one of the first `literals` places.

    The other rows are 1 ... 1. Each literal is false on few points, and keeping all of them loses
    the rows of all; the conjunction that makes no mistake is that of none.
    """
    counts = np.zeros((2**dimension, 2), dtype=np.int64)
    wrong = max(0, min(int(each), rows // (2 * literals)))
    for literal in range(literals):
        counts[2**dimension - 1 - 2 ** (dimension - 1 - literal), 1] = wrong
    counts[-1, 1] = rows - wrong * literals
    return counts


def noisy_conjunction_threshold(
    *,
    dimension: int,
    epsilon: float,
    alpha: float,
    beta: float,
    delta: float = 0.0,
    threshold: float | None = None,
    mixed: bool = False,
) -> ThresholdClaim:
    """With n >= 4 d threshold / alpha realizable rows, error > alpha has probability <= beta.

    That is (8 d**2 / (alpha epsilon)) ln(2 d / beta) without delta. `threshold`, where given,
    is run in place of the right one. The rows are the `guarded_sample`, or the `mixed_sample`.
    """
    require_positive(epsilon=epsilon, alpha=alpha, beta=beta)
    scale = laplace_scale(dimension, epsilon, delta)
    right = deletion_threshold(dimension, scale, beta)
    used = right if threshold is None else threshold

    def instance(rows: int) -> tuple[Callable[..., Output], Database]:
        run = partial(noisy_conjunction_of_counts, scale=scale, threshold=used)
        if mixed:
            return run, mixed_sample(rows, dimension, alpha)
        return run, guarded_sample(rows, dimension)

    def error(database: Database, output: Output) -> Array:
        return conjunction_mistakes(database, output) / database.sum()

    return ThresholdClaim(
        trust_rows=True,
        needed=ceil(4 * dimension * right / alpha),
        instance=instance,
        loss=error,
        level=alpha,
        beta=beta,
        identifier="CONJ-P1-UTILITY",
        statement="n >= (8 d**2 / (alpha epsilon)) ln(2 d / beta) rows give error at most alpha",
        reference=f"{SOURCE}, conjunctions, take 1",
    )


NOISY_CONJUNCTION = noisy_conjunction_mechanism(
    dimension=2, epsilon=1.0, beta=0.1, identifier="CONJ-P1"
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


def _sample(dimension: int, most: int) -> dict[str, Row]:
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
