"""Theorems on Laplace and Gaussian noise.

How far Laplace noise reaches, and the inequality that entropies rest on; the Laplace mechanism:
its error, its privacy, and what can be made of it; and what Gaussian noise loses: its mu and its
rho, both attained.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import ceil, exp

import numpy as np

from .._checks import sample_shape
from ..accounting.privacy_loss import (
    discrete_laplace_loss,
    hockey_stick,
    laplace_difference_tail,
    laplace_hockey_stick,
    laplace_tail,
    log_sum_gap,
)
from ..model import (
    Array,
    Choices,
    Database,
    EqualityClaim,
    ExpectationClaim,
    FiniteLaw,
    IdentityClaim,
    Interval,
    InvariantCase,
    InvariantClaim,
    Mechanism,
    Output,
    PrivacyClaim,
    Product,
    Relation,
    Rows,
    Size,
    Subject,
    Theorem,
    UtilityClaim,
    number,
    whole,
)
from ..queries import count, histogram
from .geometric import ROUNDING, geometric_mechanism
from .grid_laplace import grid_laplace_mechanism, grid_total
from .laplace import gaussian_mechanism, laplace_mechanism, post_process

BOOK = "Dwork and Roth (2014)"
CONVOLUTION = "Kotz, Kozubowski and Podgorski (2001), chapter 2"
SCALE = number(2.0, 0.01, 100, "of the noise")
NOISES = whole(3, 1, 64, "number of noises")
THRESHOLD = number(3.0, 0, 30, "distance, in scales of the noise")
# Laplace noise beyond 60 scales has probability 1e-26.
FAR = 60.0
NODES, WEIGHTS = np.polynomial.legendre.leggauss(120)


def integral(function: Callable[[Array], Array], low: float, high: float) -> float:
    """Gauss-Legendre quadrature, exact to rounding where `function` has no kink inside."""
    half = (high - low) / 2
    return float(half * (WEIGHTS @ function(low + half * (NODES + 1))))


def density(noise: Array) -> Array:
    """Density of Laplace(1)."""
    return np.exp(-np.abs(noise)) / 2


def noisy_counts(*, coordinates: int, sensitivity: float, epsilon: float) -> Mechanism:
    """Counts of `coordinates` kinds of rows, in units of `sensitivity`, with Laplace noise."""

    def query(database: Database) -> Array:
        return sensitivity * histogram(database, categories=coordinates)

    return laplace_mechanism(
        query=query,
        sensitivity=sensitivity,
        epsilon=epsilon,
        relation=Relation.ADD_REMOVE,
        databases=Rows(row=Interval(low=0, high=coordinates - 1, integer=True)),
        coordinates=coordinates,
    )


def _noise(*, scale: float, coordinates: int = 1) -> Mechanism:
    return noisy_counts(coordinates=coordinates, sensitivity=1.0, epsilon=1 / scale)


def _largest(*, scale: float, coordinates: int = 1) -> Subject:
    mechanism = _noise(scale=scale, coordinates=coordinates)
    utility = next(claim for claim in mechanism.claims if isinstance(claim, UtilityClaim))
    claim = replace(utility, databases=([],))
    return Subject(claim=claim, mechanism=mechanism)


def _tail_number(*, threshold: float) -> IdentityClaim:
    return IdentityClaim(
        compute=lambda: 2 * integral(density, threshold, threshold + FAR),
        stated=laplace_tail(threshold, 1.0),
        tolerance=1e-12,
    )


def _difference_number(*, threshold: float) -> IdentityClaim:
    def joint(noise: Array) -> Array:
        above = noise + threshold
        tail = np.exp(-np.abs(above)) / 2
        return density(noise) * np.where(above > 0, tail, 1 - tail)

    def compute() -> float:
        edges = (-threshold - FAR, -threshold, 0.0, FAR)
        return sum(integral(joint, *edges[i : i + 2]) for i in range(3))

    return IdentityClaim(
        compute=compute, stated=laplace_difference_tail(threshold, 1.0), tolerance=1e-12
    )


def _exponential_difference(
    database: Database, rng: np.random.Generator, *, scale: float, size: Size = None
) -> Array:
    shape = (*sample_shape(size), 1)
    return (
        histogram(database, categories=1)
        + rng.exponential(scale, size=shape)
        - rng.exponential(scale, size=shape)
    )


def _difference_law(*, scale: float) -> Subject:
    mechanism = _noise(scale=scale)
    claim = EqualityClaim(
        other=partial(_exponential_difference, scale=scale), databases=([], [0, 0])
    )
    return Subject(claim=claim, mechanism=mechanism)


def _log_sum() -> InvariantClaim:
    number = Interval(low=0, high=10)

    def margin(case: InvariantCase) -> float:
        return log_sum_gap([a for a, _ in case], [b for _, b in case])

    return InvariantClaim(
        cases=Rows(row=Product(parts=(number, number)), min_size=1, max_size=12),
        margin=margin,
        examples=(
            [[0, 0]],
            [[0, 1], [1, 0]],
            [[1, 2], [2, 4]],
            [[1e-300, 1e300], [1e300, 1e-300]],
            [[0, 3], [0, 0], [5, 1e-9]],
        ),
    )


GHOSH = "Ghosh, Roughgarden and Sundararajan (2012)"
DMNS = "Dwork, McSherry, Nissim and Smith (2006)"
EPSILON = number(1.0, 0.01, 8, "in nats")
# No default is 1: what is multiplied by 1, or is its own square, would not be looked at.
SENSITIVITY = number(2.0, 0.01, 10, "of the query, in L1")
COORDINATES = whole(3, 1, 64, "length of the answer")


def _square(*, scale: float, coordinates: int) -> Subject:
    mechanism = noisy_counts(coordinates=coordinates, sensitivity=1.0, epsilon=1 / scale)

    def squared_error(database: Database, output: Output) -> Array:
        errors = np.asarray(output) - histogram(database, categories=coordinates)
        return (errors**2).sum(axis=-1)

    claim = ExpectationClaim(
        quantity=squared_error,
        bound=2 * coordinates * scale**2,
        databases=([],),
        # The fourth moment of the noise is 24 scale**4.
        variance=20 * coordinates * scale**4,
    )
    return Subject(claim=claim, mechanism=mechanism)


def _loss_number(*, shift: float, share: float) -> IdentityClaim:
    """At a level between -e and e, and at one below, of which every output has more."""

    def apart(level: float) -> float:
        def excess(noise: Array) -> Array:
            return density(noise) - exp(level) * density(noise - shift)

        # Outputs below the crossing count, where the density ratio is exp(level); all if none is.
        crossing = (shift - level) / 2
        ends = [-60.0, 0.0, crossing] if level >= -shift else [-60.0, 0.0, shift, shift + 60.0]
        whole = sum(integral(excess, a, b) for a, b in pairwise(ends))
        return whole - laplace_hockey_stick(level, shift)

    return IdentityClaim(
        compute=lambda: max(abs(apart(share * shift)), abs(apart(-1.5 * shift))),
        stated=0.0,
        tolerance=1e-12,
    )


def _post(*, epsilon: float, threshold: float) -> Mechanism:
    mechanism = laplace_mechanism(
        query=count,
        sensitivity=1.0,
        epsilon=epsilon,
        relation=Relation.ADD_REMOVE,
        databases=Rows(row=Interval(low=0, high=1, integer=True), max_size=8),
    )

    def law(database: Database) -> FiniteLaw:
        gap = epsilon * (threshold - len(database))
        near, far = np.log1p(-exp(-abs(gap)) / 2), -abs(gap) - np.log(2)
        below, above = (near, far) if gap > 0 else (far, near)
        return FiniteLaw(outcomes=np.array([0, 1]), log_probabilities=np.array([below, above]))

    def passes(output: Output) -> Array:
        return (np.asarray(output) > threshold).astype(np.int64)

    return post_process(mechanism, passes, name="laplace-above-threshold", law=law)


def _processed() -> IdentityClaim:
    """How many claims other than privacy a function of a noisy count has."""

    def others() -> float:
        claims = _post(epsilon=1.0, threshold=2.5).claims
        private = sum(isinstance(one, PrivacyClaim) for one in claims)
        return len(claims) - private + abs(private - 1)

    return IdentityClaim(compute=others, stated=0.0)


def _grid(*, epsilon: float, sensitivity: float, fineness: int) -> Mechanism:
    """Answers lie half-way between two places of the grid, where rounding is hardest."""
    granularity = 2.0**-fineness

    def half_way(database: Database) -> float:
        return grid_total(database, granularity=granularity) + granularity / 2

    return grid_laplace_mechanism(
        query=half_way,
        sensitivity=sensitivity,
        epsilon=epsilon,
        relation=Relation.ADD_REMOVE,
        databases=Rows(row=Interval(low=0, high=sensitivity)),
        granularity=granularity,
    )


def _middle(database: Database) -> float:
    """An answer half-way between two places of a grid of whole numbers."""
    return len(database) + 0.5


def _whole_steps(query: Callable[[Database], float], scale: int) -> Mechanism:
    """Steps of 1, and noise of so many of them."""
    return grid_laplace_mechanism(
        query=query,
        sensitivity=float(scale),
        epsilon=1.0,
        relation=Relation.ADD_REMOVE,
        databases=Rows(row=Interval(low=0, high=1, integer=True), max_size=8),
        granularity=1.0,
    )


def _grid_tail(*, scale: int) -> Subject:
    """Rounding loses half a step, and noise of whole steps comes on top.

    At every other level the bound without that half is an error that occurs, so that a bound
    without it is refuted. Levels are raised a little, lest rounding of the loss decide.
    """
    mechanism = _whole_steps(_middle, scale)
    claim = mechanism.claims[1]
    assert isinstance(claim, UtilityClaim)
    steps = (0.5, 1.0, scale + 0.5, scale + 1.0)
    tails = [2 * exp(-one / scale) / (1 + exp(-1 / scale)) for one in steps]
    levels = tuple(min(tail * (1 + ROUNDING), 0.99) for tail in tails)
    claim = replace(claim, levels=levels, databases=([], [1] * 8))
    return Subject(claim=claim, mechanism=mechanism)


def _columns(database: Database, *, width: int) -> Array:
    return np.asarray(database, dtype=float).reshape(-1, width).sum(axis=0)


def _grid_vector(*, epsilon: float, coordinates: int) -> Subject:
    """A row moves every coordinate by little, and each of them by a whole step once rounded."""
    row = (0.02,) * coordinates
    mechanism = grid_laplace_mechanism(
        query=partial(_columns, width=coordinates),
        sensitivity=sum(row),
        epsilon=epsilon,
        relation=Relation.ADD_REMOVE,
        databases=Rows(row=Choices(values=(row,)), max_size=20),
        granularity=0.5,
        coordinates=coordinates,
        name="grid-laplace-vector",
    )
    claim = replace(_private(mechanism), examples=(([row] * 12, [row] * 13),))
    return Subject(claim=claim, mechanism=mechanism)


def _private(mechanism: Mechanism) -> PrivacyClaim:
    return next(one for one in mechanism.claims if isinstance(one, PrivacyClaim))


def _grid_law(*, scale: int) -> Subject:
    """Steps so coarse that the noise is often 0, and every part of its sampler counts."""
    mechanism = _whole_steps(count, scale)

    def differences(database: Database, rng: np.random.Generator, *, size: Size = None) -> Array:
        first, second = (rng.geometric(-np.expm1(-1 / scale), size=size) for _ in range(2))
        return np.asarray(len(database) + first - second, dtype=float)

    return Subject(
        claim=EqualityClaim(other=differences, databases=([], [1] * 8)), mechanism=mechanism
    )


def _times(database: Database, *, categories: int, unit: int) -> Array:
    return unit * histogram(database, categories=categories)


def _geometric(*, coordinates: int, epsilon: float, sensitivity: int) -> Mechanism:
    return geometric_mechanism(
        query=partial(_times, categories=coordinates, unit=sensitivity),
        sensitivity=sensitivity,
        epsilon=epsilon,
        relation=Relation.ADD_REMOVE,
        databases=Rows(row=Interval(low=0, high=coordinates - 1, integer=True)),
    )


def _geometric_loss(*, epsilon: float, shift: int, share: float) -> IdentityClaim:
    """The hockey-stick of the loss law, by a sum over the noise."""
    level, far = share * shift * epsilon, shift + ceil(60 / epsilon)
    noise = np.arange(-far, far + 1)

    def excess() -> float:
        near, moved = (np.exp(-epsilon * np.abs(noise - at)) for at in (0, shift))
        return float(np.maximum(near - exp(level) * moved, 0).sum() * np.tanh(epsilon / 2))

    return IdentityClaim(
        compute=excess,
        stated=hockey_stick(discrete_laplace_loss(shift, 1 / epsilon), level),
        tolerance=1e-9,
    )


def _geometric_tail(*, epsilon: float, steps: int) -> Subject:
    """The noise is at least so many steps with just the chance 2 r^t / (1 + r)."""
    ratio = exp(-epsilon)
    made = geometric_mechanism(
        query=count,
        sensitivity=1,
        epsilon=epsilon,
        relation=Relation.ADD_REMOVE,
        databases=Rows(row=Interval(low=0, high=1, integer=True)),
    )
    tail = made.claims[1]
    assert isinstance(tail, UtilityClaim)
    # At the first level the bound is so many steps, at the others a number between two of them.
    levels = (2 * ratio**steps / (1 + ratio) * (1 + ROUNDING), *tail.levels)
    return Subject(claim=replace(tail, levels=levels, databases=([], [1] * 8)), mechanism=made)


MU = number(0.8, 0.05, 4, "of Gaussian differential privacy")
EUCLIDEAN = number(2.0, 0.01, 10, "of the query, in Euclidean length")


def _noisy_counts(*, mu: float, sensitivity: float, coordinates: int) -> Mechanism:
    """Counts of kinds of rows, in units of `sensitivity`."""
    return gaussian_mechanism(
        query=lambda database: sensitivity * histogram(database, categories=coordinates),
        sensitivity=sensitivity,
        mu=mu,
        relation=Relation.ADD_REMOVE,
        databases=Rows(row=Interval(low=0, high=coordinates - 1, integer=True)),
        coordinates=coordinates,
        name="gaussian-counts",
    )


def _claim(place: int, mu: float, sensitivity: float, coordinates: int) -> Subject:
    made = _noisy_counts(mu=mu, sensitivity=sensitivity, coordinates=coordinates)
    return Subject(claim=made.claims[place], mechanism=made)


PARAMETERS = {"mu": MU, "sensitivity": EUCLIDEAN, "coordinates": COORDINATES}


THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="T-LAP-1",
        statement="|Laplace(b)| is above b ln(1/beta) with probability beta",
        reference=f"{BOOK}, Fact 3.7",
        subject=_largest,
        parameters={"scale": SCALE},
    ),
    Theorem(
        identifier="T-LAP-1-NUM",
        statement="the Laplace density integrates to exp(-t) outside [-t, t]",
        reference=f"{BOOK}, Fact 3.7",
        subject=_tail_number,
        parameters={"threshold": THRESHOLD},
    ),
    Theorem(
        identifier="T-LAP-4",
        statement="the difference of two Laplace(1) is above t with probability (2 + t) e^-t / 4",
        reference=CONVOLUTION,
        subject=_difference_number,
        parameters={"threshold": THRESHOLD},
    ),
    Theorem(
        identifier="T-LAP-4-EXP",
        statement="the difference of two exponential variables of mean b is Laplace(b)",
        reference=CONVOLUTION,
        subject=_difference_law,
        parameters={"scale": SCALE},
    ),
    Theorem(
        identifier="T-UB",
        statement="the largest of N noises |Laplace(b)| is above b ln(N/beta) at most beta often",
        reference=f"{BOOK}, Theorem 3.8",
        subject=_largest,
        parameters={"scale": SCALE, "coordinates": NOISES},
    ),
    Theorem(
        identifier="T-KL-0",
        statement="sum a ln(a/b) >= A ln(A/B), where A and B are the sums of the a and b",
        reference="Cover and Thomas (2006), Theorem 2.7.1",
        subject=_log_sum,
    ),
    Theorem(
        identifier="T-LAP-2",
        statement="d noises Laplace(b) have 2 d b^2 as the mean of their sum of squares",
        reference=f"{BOOK}, Definition 3.2",
        subject=_square,
        parameters={"scale": SCALE, "coordinates": COORDINATES},
    ),
    Theorem(
        identifier="T-LAP-3",
        statement="noise Laplace(L1 sensitivity / eps) on each coordinate is eps-private",
        reference=f"{BOOK}, Theorem 3.6",
        subject=noisy_counts,
        parameters={
            "coordinates": replace(COORDINATES, default=2),
            "sensitivity": SENSITIVITY,
            "epsilon": EPSILON,
        },
    ),
    Theorem(
        identifier="T-LAP-3-LAW",
        statement="at epsilon x, answers e scales apart need delta 1 - exp(-(e - x) / 2), and "
        "1 - exp(x) at one below -e",
        reference=DMNS,
        subject=_loss_number,
        parameters={
            "shift": number(1.0, 0.01, 20, "distance in scales"),
            "share": number(0.5, -1, 1, "x as a part of the shift"),
        },
    ),
    Theorem(
        identifier="T-POST",
        statement="a function of a private output is as private",
        reference=f"{BOOK}, Proposition 2.1",
        subject=_post,
        parameters={
            "epsilon": EPSILON,
            "threshold": number(2.5, -2, 10, "of the noisy count"),
        },
    ),
    Theorem(
        identifier="T-POST-PROMISES",
        statement="a function of an output keeps its privacy, and no claim about its error",
        reference=f"{BOOK}, Proposition 2.1",
        subject=_processed,
    ),
    Theorem(
        identifier="T-GRID",
        statement="whole-number noise on a grid of powers of two is eps-private as computed",
        reference="Canonne, Kamath and Steinke (2020)",
        subject=_grid,
        parameters={
            # Three steps, and a scale of noise, 3 1/3, which rounding up alone makes 4.
            "epsilon": replace(EPSILON, default=0.9),
            "sensitivity": replace(SENSITIVITY, default=1.5),
            "fineness": whole(1, 0, 14, "the step of the grid is 2**-fineness"),
        },
    ),
    Theorem(
        identifier="T-GRID-VECTOR",
        statement="on a grid k coordinates are at most ceil(D / step) + k - 1 steps apart, and "
        "noise for so many is eps-private",
        reference="Canonne, Kamath and Steinke (2020)",
        subject=_grid_vector,
        parameters={"epsilon": EPSILON, "coordinates": replace(COORDINATES, default=3)},
    ),
    Theorem(
        identifier="T-GRID-LAW",
        statement="noise of scale b on a grid has the law of the difference of two geometric "
        "numbers with ratio exp(-1 / b)",
        reference="Canonne, Kamath and Steinke (2020), Proposition 29",
        subject=_grid_law,
        parameters={"scale": whole(3, 1, 1000, "of the noise, in steps")},
    ),
    Theorem(
        identifier="T-GRID-TAIL",
        statement="P[|error| >= (1/2 + b ln(2 / ((1 + exp(-1 / b)) beta))) steps] <= beta: "
        "rounding adds half a step to noise of scale b",
        reference="Canonne, Kamath and Steinke (2020)",
        subject=_grid_tail,
        parameters={"scale": whole(2, 1, 1000, "b, of the noise, in steps")},
    ),
    Theorem(
        identifier="T-GEO",
        statement="two-sided geometric noise of ratio exp(-eps / D) on counts of D each is eps-DP",
        reference=GHOSH,
        subject=_geometric,
        parameters={
            "coordinates": replace(COORDINATES, default=2),
            "epsilon": replace(EPSILON, default=0.8),
            "sensitivity": whole(2, 1, 10, "D, of the counts"),
        },
    ),
    Theorem(
        identifier="T-GEO-LAW",
        statement="the loss of two-sided geometric noise k steps apart has the delta at x that the "
        "sum over all noises says",
        reference=GHOSH,
        subject=_geometric_loss,
        parameters={
            "epsilon": replace(EPSILON, default=0.4),
            "shift": whole(5, 1, 64, "k"),
            "share": number(0.3, -1, 1, "x as a part of k epsilon"),
        },
    ),
    Theorem(
        identifier="T-GEO-TAIL",
        statement="P[|noise| >= t] = 2 r^t / (1 + r) with r = exp(-eps)",
        reference=GHOSH,
        subject=_geometric_tail,
        parameters={"epsilon": EPSILON, "steps": whole(3, 1, 100, "t")},
    ),
    Theorem(
        identifier="T-GAUSS",
        statement="noise N(0, (D / mu)^2) on each coordinate, D the Euclidean sensitivity, is "
        "mu-Gaussian differentially private",
        reference="Dong, Roth and Su (2022), Theorem 2.7",
        subject=partial(_claim, 0),
        parameters=PARAMETERS,
    ),
    Theorem(
        identifier="T-GAUSS-RHO",
        statement="noise N(0, (D / mu)^2) on each coordinate is (mu^2 / 2)-zCDP",
        reference="Bun and Steinke (2016), Proposition 1.6",
        subject=partial(_claim, 1),
        parameters=PARAMETERS,
    ),
    Theorem(
        identifier="T-GAUSS-TAIL",
        statement="no coordinate errs by more than sigma Phi^-1(1 - beta / (2 k))",
        reference="tail of the normal law, union bound",
        subject=partial(_claim, 2),
        parameters={**PARAMETERS, "coordinates": replace(COORDINATES, default=1)},
    ),
)
