"""Learning a conjunction of at most k literals greedily, each by the exponential mechanism.

Stemmer, lecture notes on differential privacy, lecture 12, conjunctions, take 2, with the
constants written out: k is the most literals of a conjunction, J the number of rounds. The
literal TRUE stands among the candidates: without it no literal is good when all points are
positive.

In order: how many rounds and rows are needed, as arithmetic in nats; transcripts (lists of chosen
literals, numbered as in `labelled` with TRUE last), their scores, what is left after them and their
exact laws; the learner.
"""

from collections.abc import Callable, Iterator
from functools import partial
from math import ceil, exp, log, prod, sqrt
from typing import TypedDict

import numpy as np

from .._checks import require_delta, require_positive, require_whole, sample_shape
from ..accounting.composition import zcdp_root
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
from .labelled import (
    SOURCE,
    conjoined,
    cube_dimension,
    falsified_sums,
    grid_points,
    kept_literals,
    labelled_points,
    labelled_row,
    literals,
    literals_at,
    mistakes,
    packed_rows,
    some_conjunction_fits,
)


def greedy_rounds(most_literals: int, rows: int) -> int:
    """Rounds that leave few negatives: ceil(2 k ln n), at least 1. n is public."""
    return max(1, ceil(2 * most_literals * log(rows)))


def round_privacy(epsilon: float, rounds: int, delta: float = 0.0) -> float:
    """The epsilon of each round that makes all of them together (epsilon, delta)-private.

    With delta it uses that the exponential mechanism's loss has a range of epsilon only, Cesar
    and Rogers (2021), and zero-concentrated differential privacy.
    """
    require_positive(epsilon=epsilon, rounds=rounds)
    return sqrt(8 / rounds) * zcdp_root(epsilon, delta) if delta else epsilon / rounds


def score_shortfall(dimension: int, rounds: int, round_epsilon: float, beta: float) -> float:
    """With probability 1 - beta no chosen score is this far below the best one of its round."""
    return 2 / round_epsilon * log((2 * dimension + 1) * rounds / beta)


def greedy_sample_size(
    *,
    dimension: int,
    most_literals: int,
    epsilon: float,
    alpha: float,
    beta: float,
    delta: float = 0.0,
) -> int:
    """The least n with n >= (J + 2 k) shortfall / alpha, where the J rounds depend on n."""
    rows, needed = 1, 2
    while rows < needed:
        # The right side grows with n, so going up from below ends at the least solution.
        rows = needed
        rounds = greedy_rounds(most_literals, rows)
        each = round_privacy(epsilon, rounds, delta)
        shortfall = score_shortfall(dimension, rounds, each, beta)
        needed = ceil((rounds + 2 * most_literals) * shortfall / alpha)
    return rows


Sums = Callable[[Array], Array]
"""Weights (sets, m) to their sums over what makes each literal false, (sets, k)."""


def literal_scores(alive: Array, counts: Array, sums: Sums, most_literals: int) -> Array:
    """Score of every literal on the rows left, for several sets of them.

    `alive` of shape (sets, m) says which of m points are left, `counts` has shape (m, 2) and `sums`
    are the `falsified_sums` of the k literals. Returns floats of shape (sets, k), at most 0; 0 is
    reached when a conjunction of at most `most_literals` fits.
    """
    negatives, positives = alive * counts[:, 0], alive * counts[:, 1]
    share = negatives.sum(axis=1, keepdims=True) / most_literals
    return np.minimum(sums(negatives) - share, -sums(positives))


def all_alive(counts: Array, runs: int) -> tuple[Array, Array]:
    """The one set of all points, and its number for each run."""
    return np.ones((1, len(counts)), dtype=bool), np.zeros(runs, dtype=np.int64)


def remove_falsified(
    alive: Array, group: Array, chosen: Array, survivors: Array
) -> tuple[Array, Array]:
    """The sets of points left after each run's choice, and which of them each run has."""
    keys = group * len(survivors) + chosen
    occurs = np.bincount(keys, minlength=len(alive) * len(survivors)) > 0
    before, literal = np.divmod(np.flatnonzero(occurs), len(survivors))
    left = alive[before] & survivors[literal]
    _, first, place = np.unique(packed_rows(left), return_index=True, return_inverse=True)
    renumbered = np.zeros(len(occurs), dtype=np.int64)
    renumbered[occurs] = place
    return left[first], renumbered[keys]


def _replay(
    counts: Array, table: Array, chosen: Array, most_literals: int
) -> Iterator[tuple[Array, Array]]:
    """For each round of given transcripts (runs, rounds): all scores, and the one chosen.

    A point is left if no literal chosen before is false on it: this shares no step with the
    learner, so that one who removes other points, or none, is found out by the law.
    """
    sums = falsified_sums(table)
    left = np.ones((len(chosen), len(counts)), dtype=bool)
    for choice in chosen.T:
        _, first, place = np.unique(packed_rows(left), return_index=True, return_inverse=True)
        yield literal_scores(left[first], counts, sums, most_literals)[np.ravel(place)], choice
        left &= table[choice]


def worst_shortfall(
    counts: Array, chosen: Array, *, most_literals: int, table: Array | None = None
) -> Array:
    """How far below 0 the worst score of a chosen literal is; shape of the leading axes.

    `table` are the literals at the points that `counts` counts, by default all of the cube.
    """
    chosen = np.asarray(chosen)
    table = literals(cube_dimension(counts), constant=True) if table is None else table
    worst = np.zeros(prod(chosen.shape[:-1]))
    for scores, choice in _replay(counts, table, _runs(chosen), most_literals):
        worst = np.maximum(worst, -np.take_along_axis(scores, choice[:, None], axis=1)[:, 0])
    return worst.reshape(chosen.shape[:-1])


def _runs(chosen: Array) -> Array:
    return chosen.reshape(prod(chosen.shape[:-1]), chosen.shape[-1])


def chosen_mistakes(counts: Array, chosen: Array, table: Array | None = None) -> Array:
    """How many of the counted labels the AND of the chosen literals gets wrong.

    `table` as in `worst_shortfall`.
    """
    table = literals(cube_dimension(counts), constant=True) if table is None else table
    return mistakes(counts, conjoined(kept_literals(chosen, len(table)), table))


def greedy_conjunction_log_probability(
    database: Database,
    outputs: Output,
    *,
    dimension: int,
    most_literals: int,
    rounds: int,
    round_epsilon: float,
) -> Array:
    """Log-probability, in nats, of transcripts of `greedy_conjunction` of shape (..., rounds)."""
    points, counts = labelled_points(database, dimension=dimension)
    table = literals_at(points, constant=True)
    chosen = np.asarray(outputs)
    total = np.zeros(prod(chosen.shape[:-1]))
    for scores, choice in _replay(counts, table, _runs(chosen), most_literals):
        logs = log_probabilities(scores, sensitivity=1.0, epsilon=round_epsilon)
        total += np.take_along_axis(logs, choice[:, None], axis=1)[:, 0]
    return total.reshape(chosen.shape[:-1])


def greedy_conjunction_law(
    database: Database,
    *,
    dimension: int,
    most_literals: int,
    rounds: int,
    round_epsilon: float,
) -> FiniteLaw:
    """The exact law of `greedy_conjunction`, all (2 d + 1)**rounds transcripts listed."""
    outcomes = grid_points((2 * dimension + 1,) * rounds)
    logs = greedy_conjunction_log_probability(
        database,
        outcomes,
        dimension=dimension,
        most_literals=most_literals,
        rounds=rounds,
        round_epsilon=round_epsilon,
    )
    return FiniteLaw(outcomes=outcomes, log_probabilities=logs)


TAKE_2 = f"{SOURCE}, conjunctions, take 2"
MOST_LISTED = 4096
"""Up to this many transcripts the law lists them all."""
Score = Callable[[Array, Array, Sums, int], Array]


class BoundRounds(TypedDict):
    """What `greedy_conjunction`, its law and its density are bound to."""

    dimension: int
    most_literals: int
    rounds: int
    round_epsilon: float


def greedy_conjunction(
    database: Database,
    rng: np.random.Generator,
    *,
    dimension: int,
    most_literals: int,
    rounds: int,
    round_epsilon: float,
    size: Size = None,
) -> Array:
    """Choose `rounds` literals, each by the exponential mechanism on what the earlier ones left.

    Rows are [v_1, ..., v_d, label]. Among 2 d literals and TRUE, literal l has the score
    min(negatives it makes false - negatives / most_literals, - positives it makes false), which
    one record moves by at most 1; the rows on which the chosen one is false are then removed.
    The hypothesis is the AND of all chosen ones. `round_epsilon`, in nats, is of one round.
    Returns the chosen literals in order, whole numbers of shape `size` + (rounds,). Raises
    ValueError on a parameter that is not positive.
    """
    points, counts = labelled_points(database, dimension=dimension)
    return greedy_conjunction_of_counts(
        counts,
        rng,
        table=literals_at(points, constant=True),
        most_literals=most_literals,
        rounds=rounds,
        round_epsilon=round_epsilon,
        size=size,
    )


def greedy_conjunction_of_counts(
    counts: Array,
    rng: np.random.Generator,
    *,
    most_literals: int,
    rounds: int,
    round_epsilon: float,
    table: Array | None = None,
    survivors: Array | None = None,
    score: Score = literal_scores,
    size: Size = None,
) -> Array:
    """`greedy_conjunction` of a database given as counts of shape (2**d, 2).

    `table` are the literals to choose from, and row l of `survivors` tells which points stay
    when l is chosen: by default all literals and TRUE, and those on which l is true. With a `table`
    of shape (k, m) the counts are those of its m points, of shape (m, 2).
    """
    require_positive(most_literals=most_literals, rounds=rounds, round_epsilon=round_epsilon)
    table = literals(cube_dimension(counts), constant=True) if table is None else table
    leading = sample_shape(size)
    chosen = np.empty((rounds, prod(leading)), dtype=np.int64)
    # Runs that have the same points left share one set of scores.
    alive, group = all_alive(counts, prod(leading))
    survivors, sums = table if survivors is None else survivors, falsified_sums(table)
    for j in range(rounds):
        if j:
            alive, group = remove_falsified(alive, group, chosen[j - 1], survivors)
        scores = score(alive, counts, sums, most_literals)
        logs = log_probabilities(scores, sensitivity=1.0, epsilon=round_epsilon)
        chosen[j] = _draw(np.exp(logs), group, rng)
    return chosen.T.reshape(*leading, rounds)


def _draw(laws: Array, group: Array, rng: np.random.Generator) -> Array:
    """An index drawn from the law of each run's group."""
    cumulative = laws.cumsum(axis=1)[:, :-1].T
    return (cumulative[:, group] <= rng.random(len(group))).sum(axis=0)


def greedy_conjunction_mechanism(
    *,
    dimension: int,
    most_literals: int,
    rounds: int,
    epsilon: float,
    delta: float = 0.0,
    relation: Relation = Relation.REPLACE_ONE,
    most_rows: int = 40,
    name: str = "greedy-conjunction",
    identifier: str = "",
) -> Mechanism:
    """`greedy_conjunction` at fixed parameters, with the theorems it is claimed to satisfy."""
    require_whole(dimension=dimension, most_literals=most_literals, rounds=rounds)
    require_positive(epsilon=epsilon)
    require_delta(delta=delta)
    each = round_privacy(epsilon, rounds, delta)
    bound: BoundRounds = {
        "dimension": dimension,
        "most_literals": most_literals,
        "rounds": rounds,
        "round_epsilon": each,
    }

    def shortfall(database: Database, output: Output) -> Array:
        points, counts = labelled_points(database, dimension=dimension)
        table = literals_at(points, constant=True)
        realizable = some_conjunction_fits(table, counts, most_literals)
        found = worst_shortfall(counts, output, most_literals=most_literals, table=table)
        return found * int(realizable)

    def bound_at(beta: float) -> float:
        return score_shortfall(dimension, rounds, each, beta)

    def all_positive(level: float) -> Database:
        # Every literal but TRUE is false at one of two opposite points: it scores below - level.
        return ((0,) * dimension + (1,), (1,) * dimension + (1,)) * ceil(level)

    listed = (2 * dimension + 1) ** rounds <= MOST_LISTED
    return Mechanism(
        trust_rows=True,
        name=name,
        identifier=identifier,
        run=partial(greedy_conjunction, **bound),
        law=partial(greedy_conjunction_law, **bound) if listed else None,
        log_probability=partial(greedy_conjunction_log_probability, **bound),
        databases=Rows(row=labelled_row((2,) * dimension), max_size=most_rows),
        claims=(
            PrivacyClaim(
                epsilon=epsilon,
                delta=delta,
                relation=relation,
                identifier="CONJ-P2-PRIV",
                statement="Choosing the literals one after the other is private",
                reference=TAKE_2,
            ),
            UtilityClaim(
                loss=shortfall,
                bound=bound_at,
                databases=tuple(all_positive(bound_at(beta)) for beta in (0.1, 0.5)),
                identifier="CONJ-P2-STEP",
                statement="On realizable data no chosen score is below - the bound",
                reference=TAKE_2,
            ),
        ),
        reference=SOURCE,
    )


def spread_sample(rows: int, *, dimension: int, target: int) -> Array:
    """Counts of rows all over the cube, labelled by v_1 AND ... AND v_target.

    Seven rows in ten are positive, the others negative, each kind spread evenly over its points.
    """
    positive = literals(dimension)[:target].all(axis=0)
    counts = np.zeros((2**dimension, 2), dtype=np.int64)
    share = rows if positive.all() else 7 * rows // 10
    counts[positive, 1] = _evenly(share, int(positive.sum()))
    if not positive.all():
        counts[~positive, 0] = _evenly(rows - share, int((~positive).sum()))
    return counts


def _evenly(rows: int, places: int) -> Array:
    return (rows + np.arange(places)) // places


def costly_sample(
    rows: int, *, dimension: int, rounds: int, round_epsilon: float, alpha: float
) -> Array:
    """Counts of positive rows of which bad choices are likely to lose a share above `alpha`.

    The points are all ones, where most rows are, and those with a 0 in one place. Choosing a
    variable loses the rows with a 0 there, on top of what the others lose: so many rows as make
    the number of choices that it takes the likeliest to be made.
    """
    fewest, most = ceil(alpha * dimension), min(dimension, rounds)
    tried = range(max(1, min(fewest, most)), most + 1)
    lost = [min(int(alpha * rows / number) + 1, rows // dimension) for number in tried]
    chances = [
        _chance_of_losses(number, dimension, rounds, exp(-round_epsilon * each / 2))
        for number, each in zip(tried, lost, strict=True)
    ]
    each = lost[int(np.argmax(chances))]
    counts = np.zeros((dimension + 1, 2), dtype=np.int64)
    counts[:, 1] = [rows - dimension * each, *[each] * dimension]
    return counts


def _chance_of_losses(number: int, variables: int, rounds: int, weight: float) -> float:
    """That so many different variables are chosen, each of this weight beside 1 for the others.

    Once it is chosen a variable loses nothing more and weighs 1.
    """
    made = np.arange(rounds + 1)
    bad = np.maximum(variables - made, 0) * weight
    step = bad / (bad + 1 + made)
    chances = np.eye(1, rounds + 1)[0]
    for _ in range(rounds):
        moved = chances * step
        chances = chances - moved
        chances[1:] += moved[:-1]
    return float(chances[number:].sum())


def greedy_conjunction_threshold(
    *,
    dimension: int,
    most_literals: int,
    epsilon: float,
    alpha: float,
    beta: float,
    delta: float = 0.0,
    spread: int | None = None,
    constant: bool = True,
    keep_satisfied: bool = True,
) -> ThresholdClaim:
    """With `greedy_sample_size` realizable rows, error > alpha has probability at most beta.

    The instance is the `costly_sample`, or with `spread` the `spread_sample` whose target has so
    many literals. `constant` False leaves TRUE out of the candidates; `keep_satisfied` False
    removes the rows on which the chosen literal is true in place of the others.
    """
    require_positive(epsilon=epsilon, alpha=alpha, beta=beta)
    ones = np.ones((1, dimension), dtype=np.int64)
    flipped = np.vstack([ones, ones - np.eye(dimension, dtype=np.int64)])
    points = flipped if spread is None else grid_points((2,) * dimension)
    table = literals_at(points, constant=constant)

    def instance(rows: int) -> tuple[Callable[..., Output], Database]:
        rounds = greedy_rounds(most_literals, rows)
        each = round_privacy(epsilon, rounds, delta)
        if spread is None:
            counts = costly_sample(
                rows, dimension=dimension, rounds=rounds, round_epsilon=each, alpha=alpha
            )
        else:
            counts = spread_sample(rows, dimension=dimension, target=spread)
        run = partial(
            greedy_conjunction_of_counts,
            most_literals=most_literals,
            rounds=rounds,
            round_epsilon=each,
            table=table,
            survivors=table if keep_satisfied else ~table,
        )
        return run, counts

    def error(database: Database, output: Output) -> Array:
        return chosen_mistakes(database, output, table) / database.sum()

    needed = greedy_sample_size(
        dimension=dimension,
        most_literals=most_literals,
        epsilon=epsilon,
        alpha=alpha,
        beta=beta,
        delta=delta,
    )
    return ThresholdClaim(
        trust_rows=True,
        needed=needed,
        instance=instance,
        loss=error,
        level=alpha,
        beta=beta,
        identifier="CONJ-P2-MAIN",
        statement="n >= (J + 2 k) shortfall / alpha rows give error at most alpha",
        reference=TAKE_2,
    )


GREEDY_CONJUNCTION = greedy_conjunction_mechanism(
    dimension=2, most_literals=1, rounds=2, epsilon=1.0, identifier="CONJ-P2-PRIV"
)
