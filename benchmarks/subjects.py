"""Mechanisms whose power is measured: DP-Sniper's twenty, the textbook ones, and a held-out set.

Written from their published descriptions (Bichsel et al. 2021, section VI and appendix; Lyu, Su
and Li 2017 for the sparse vector's variants; Erlingsson et al. 2014 for RAPPOR). Each has the pair
that separates its databases best as far as known, and, where there is one, its law: the log of
the density of outputs, up to a constant that no database changes.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from math import ceil, e, exp, inf, log
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy.special import log_ndtr, ndtr

from dpwitness.mechanisms.multiplicative_weights.pmw import PMW_ITERATION

UP_DOWN = ([0.0] * 5 + [1.0] * 5, [1.0] * 5 + [0.0] * 5)
NODES = 4001
NUMBER = re.compile(r"-?\d+\.\d+")


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A mechanism with its true loss on the relation named, a good pair and its law."""

    name: str
    run: Callable[..., Any]
    pair: tuple[Any, Any]
    true: float
    delta: float = 0.0
    law: Callable[[Any, Any], Any] | None = None
    pairs: Any = None
    """A strategy of databases and neighbours for a search; None where only the pair is used."""
    published: tuple[float, float] | None = None
    """DP-Sniper's bounds at its published default, by regression and by neural network."""


def laplace_cdf(x):
    return np.where(x < 0, np.exp(np.minimum(x, 0)) / 2, 1 - np.exp(-np.maximum(x, 0)) / 2)


def laplace_vector(database, rng, size=1, *, scale):
    shape = (size, len(database))
    return np.asarray(database, float) + rng.laplace(0, scale, shape)


def laplace_law(y, database, *, scale):
    gaps = np.abs(np.asarray(y) - np.asarray(database, float)) / scale
    return -gaps.sum(axis=1) if gaps.ndim > 1 else -gaps


def laplace_number(database, rng, size=1, *, scale):
    return database + rng.laplace(0, scale, size)


def gaussian(database, rng, size=1, *, sigma):
    return rng.normal(database, sigma, size)


def gaussian_law(y, database, *, sigma):
    return -((y - database) ** 2) / (2 * sigma**2)


def geometric(database, rng, size=1, *, epsilon, most=None):
    ratio = 1 - exp(-epsilon)
    noisy = database + rng.geometric(ratio, size) - rng.geometric(ratio, size)
    return noisy if most is None else np.clip(noisy, 0, most)


def geometric_law(y, database, *, epsilon, most=None):
    inside = -epsilon * np.abs(y - database)
    if most is None:
        return inside
    # The ends hold the whole tail beyond them.
    return inside - np.where((y == 0) | (y == most), log(1 - exp(-epsilon)), 0.0)


def choice(database, rng, size=1, *, weights):
    p = weights(np.asarray(database, float))
    return rng.choice(len(p), size=size, p=p)


def choice_law(y, database, *, weights):
    return np.log(weights(np.asarray(database, float)))[y]


def exponential_weights(scores, *, epsilon):
    found = np.exp(epsilon * (scores - scores.max()) / 2)
    return found / found.sum()


def noisy_max_weights(scores, *, noise, scale):
    grid = np.linspace(-40, 60, 200_001)
    at = (grid[:, None] - scores) / scale
    if noise == "laplace":
        cdf, density = laplace_cdf(at), np.exp(-np.abs(at)) / 2
    else:
        positive = np.maximum(at, 0)
        cdf, density = -np.expm1(-positive), np.where(at >= 0, np.exp(-positive), 0.0)
    p = np.array(
        [(density[:, i] * np.delete(cdf, i, axis=1).prod(axis=1)).sum() for i in range(len(scores))]
    )
    return p / p.sum()


def noisy_max(database, rng, size=1, *, noise, scale, value):
    draw = rng.laplace if noise == "laplace" else _exponential(rng)
    noisy = np.asarray(database, float) + draw(0, scale, (size, len(database)))
    return noisy.max(axis=1) if value else noisy.argmax(axis=1)


def _exponential(rng):
    return lambda _, scale, shape: rng.exponential(scale, shape)


def max_value_law(y, database, *, noise, scale):
    at = (np.asarray(y)[:, None] - np.asarray(database, float)) / scale
    if noise == "laplace":
        density, cdf = np.exp(-np.abs(at)) / 2, laplace_cdf(at)
    else:
        density, cdf = (
            np.where(at >= 0, np.exp(-np.maximum(at, 0)), 0.0),
            -np.expm1(-np.maximum(at, 0)),
        )
    total = np.zeros(len(at))
    for i in range(at.shape[1]):
        total += density[:, i] * np.delete(cdf, i, axis=1).prod(axis=1)
    with np.errstate(divide="ignore"):
        return np.log(total)


ABOVE, BELOW, STOPPED = 1, 0, -1


def sparse_vector(
    database,
    rng,
    size=1,
    *,
    threshold,
    rho,
    nu,
    most=None,
    refresh=False,
    numeric=None,
    reuse=False,
):
    """Flags of a sparse vector: 1 above, 0 below, -1 after `most` answers above.

    `rho` and `nu` are the scales of the noise of the threshold and of the queries. With `reuse`
    the noisy query is released, with `numeric` a fresh answer of that scale; NaN stands for
    "below" and infinity for "stopped" then.
    """
    queries = np.asarray(database, float)
    barrier = threshold + rng.laplace(0, rho, size)
    noisy = queries + (rng.laplace(0, nu, (size, len(queries))) if nu else 0.0)
    flags = np.empty((size, len(queries)), dtype=np.int8)
    seen = np.zeros(size, dtype=np.int64)
    for place in range(len(queries)):
        above = noisy[:, place] >= barrier if nu else queries[place] >= barrier
        going = np.full(size, True) if most is None else seen < most
        flags[:, place] = np.where(going, above, STOPPED)
        hit = above & going
        seen += hit
        if refresh and hit.any():
            barrier = np.where(hit, threshold + rng.laplace(0, rho, size), barrier)
    if not reuse and numeric is None:
        return flags if most is not None else flags.astype(bool)
    answers = noisy if reuse else queries + rng.laplace(0, numeric, (size, len(queries)))
    return np.where(flags == ABOVE, answers, np.where(flags == STOPPED, np.inf, np.nan))


def flags_law(y, database, *, threshold, rho, nu, most=None):
    """Log-probabilities of flags, by quadrature over the noise of the threshold."""
    queries = np.asarray(database, float)
    shapes, places = np.unique(np.asarray(y).astype(int), axis=0, return_inverse=True)
    quantiles = (np.arange(NODES) + 0.5) / NODES
    barrier = threshold + rho * np.where(
        quantiles < 0.5, np.log(2 * quantiles), -np.log(2 - 2 * quantiles)
    )
    below = laplace_cdf((barrier[:, None] - queries) / nu)
    found = []
    for shape in shapes:
        parts = np.where(shape == ABOVE, 1 - below, np.where(shape == BELOW, below, 1.0))
        found.append(np.log(parts.prod(axis=1).mean()))
    return np.array(found)[places.reshape(-1)]


def numeric_law(y, database, *, threshold, rho, nu, most, numeric):
    """The law of the flags times the densities of the fresh answers."""
    flags = np.where(np.isposinf(y), STOPPED, np.isfinite(y))
    answers = np.where(flags == ABOVE, (np.nan_to_num(y, posinf=0) - database) / numeric, 0)
    return flags_law(flags, database, threshold=threshold, rho=rho, nu=nu, most=most) - np.abs(
        answers
    ).sum(axis=1)


def reused_law(y, database, *, threshold, rho, nu, most=1, reuse=True):
    """The noisy query that ends a sparse vector, released: its barrier lay below it."""
    queries, found = np.asarray(database, float), np.empty(len(y))
    quantiles = (np.arange(NODES) + 0.5) / NODES
    barrier = threshold + rho * np.where(
        quantiles < 0.5, np.log(2 * quantiles), -np.log(2 - 2 * quantiles)
    )
    before = np.cumprod(laplace_cdf((barrier[:, None] - queries) / nu), axis=1)
    released = np.isfinite(y)
    found[~released.any(axis=1)] = np.log(before[:, -1].mean())
    for place, query in enumerate(queries):
        rows = released[:, place]
        so_far = before[:, place - 1] if place else np.ones(NODES)
        below = np.append(0, np.cumsum(so_far)) / NODES
        at = y[rows, place]
        reached = np.interp(
            laplace_cdf((at - threshold) / rho) * NODES, np.arange(NODES + 1), below
        )
        found[rows] = np.log(reached) - np.abs(at - query) / nu
    return found


def prefix_sums(database, rng, size=1, *, scale):
    return np.cumsum(laplace_vector(database, rng, size, scale=scale), axis=1)


def prefix_law(y, database, *, scale):
    return laplace_law(np.diff(y, prepend=0, axis=1), database, scale=scale)


def noisy_bits(database, rng, size=1, *, one, zero):
    return rng.random((size, len(database))) < np.where(np.asarray(database) > 0, one, zero)


def bits_law(y, database, *, one, zero):
    p = np.where(np.asarray(database) > 0, one, zero)
    return np.where(y, np.log(p), np.log(1 - p)).sum(axis=1)


def parallel(database, rng, size=1, *, count, scale):
    return database + rng.laplace(0, scale, (size, count))


def parallel_law(y, database, *, scale, count):
    return laplace_law(y, [database] * count, scale=scale)


def two_sparse_vectors(database, rng, size=1, *, first, second):
    return {"one": first(database, rng, size), "two": second(database, rng, size)}


def categories(database, rng, size=1, *, keep, kinds):
    truth = np.asarray(database)
    other = rng.integers(0, kinds, (size, len(truth)))
    return np.where(rng.random((size, len(truth))) < keep, truth, other)


def categories_law(y, database, *, keep, kinds):
    hit = np.log(keep + (1 - keep) / kinds) - np.log((1 - keep) / kinds)
    return ((np.asarray(y) == np.asarray(database)) * hit).sum(axis=1)


def median_weights(values, *, epsilon, most):
    ranks = np.array([abs((values <= c).sum() - (values >= c).sum()) for c in range(most + 1)])
    return exponential_weights(-ranks.astype(float) / 2, epsilon=epsilon)


def discrete_pair(database, rng, size=1, *, epsilon):
    ratio = 1 - exp(-epsilon)
    noise = rng.geometric(ratio, (size, 2)) - rng.geometric(ratio, (size, 2))
    return np.asarray(database) + noise


def discrete_pair_law(y, database, *, epsilon):
    return -epsilon * np.abs(np.asarray(y) - np.asarray(database)).sum(axis=1)


def stability_histogram(database, rng, size=1, *, scale, threshold):
    """Counts by key: those that are positive, with noise, if they reach the threshold."""
    keys = [key for key, count in database.items() if count > 0]
    noisy = np.array([database[key] for key in keys]) + rng.laplace(0, scale, (size, len(keys)))
    return [
        {key: value for key, value in zip(keys, row, strict=True) if value >= threshold}
        for row in noisy.tolist()
    ]


def top_two(database, rng, size=1, *, scale):
    scores = np.asarray(database, float) / scale + rng.gumbel(size=(size, len(database)))
    return np.argsort(-scores, axis=1)[:, :2]


def top_two_law(y, database, *, scale):
    weights = np.exp(np.asarray(database, float) / scale)
    weights = weights / weights.sum()
    first, second = weights[y[:, 0]], weights[y[:, 1]]
    return np.log(first * second / (1 - first))


def subsampled(database, rng, size=1, *, rate, scale):
    kept = rng.binomial(database, rate, size)
    return kept + rng.laplace(0, scale, size)


def subsampled_law(y, database, *, rate, scale):
    from scipy.special import gammaln, xlog1py, xlogy

    k = np.arange(database + 1)
    mass = gammaln(database + 1) - gammaln(k + 1) - gammaln(database - k + 1)
    mass = np.exp(mass + xlogy(k, rate) + xlog1py(database - k, -rate))
    return np.log((mass * np.exp(-np.abs(np.asarray(y)[:, None] - k) / scale)).sum(axis=1))


def probit_bits(database, rng, size=1, *, sigma):
    """Signs of sums that share one normal noise: bits that agree more or less often."""
    shared = rng.normal(0, sigma, (size, 1))
    return (np.asarray(database) + shared + rng.normal(size=(size, len(database)))) > 0


def probit_law(y, database, *, sigma):
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    at = np.asarray(database, float)[None] + sigma * nodes[:, None]
    shapes, places = np.unique(np.asarray(y).astype(int), axis=0, return_inverse=True)
    logs = np.array(
        [np.log(weights @ np.exp(log_ndtr(np.where(s > 0, at, -at)).sum(axis=1))) for s in shapes]
    )
    return logs[places.reshape(-1)]


def with_law(run, law, **options):
    """A mechanism and its law with the same parameters."""
    return {"run": partial(run, **options), "law": partial(law, **options)}


def number(low, high, step, whole=False):
    """Databases that are one number, and neighbours a step away, both inside the range."""
    values = st.integers(low, high) if whole else st.floats(low, high)
    shifts = st.sampled_from([-step, step])
    return st.tuples(values, shifts).map(lambda d: (d[0], min(max(d[0] + d[1], low), high)))


def bloom(value):
    """The 20 bits of a value of RAPPOR, set by four hashes."""
    places = (sha256(f"rappor {i} {value}".encode()).digest()[0] % 20 for i in range(4))
    found = [0] * 20
    for place in places:
        found[place] = 1
    return found


def blooms(low, high):
    """The bits of two whole numbers one apart."""
    return number(low, high, 1, whole=True).map(lambda d: (bloom(d[0]), bloom(d[1])))


def answers(low, high, count, *, everywhere):
    """Lists of whole answers, and neighbours that differ by 1 in one place or in any."""
    values = st.lists(st.integers(low, high), min_size=count, max_size=count)
    if everywhere:
        steps = st.lists(st.sampled_from([-1, 0, 1]), min_size=count, max_size=count)
    else:
        steps = st.tuples(st.integers(0, count - 1), st.sampled_from([-1, 1])).map(
            lambda d: [d[1] if i == d[0] else 0 for i in range(count)]
        )
    return st.tuples(values, steps).map(
        lambda d: (d[0], [min(max(v + s, low), high) for v, s in zip(*d, strict=True)])
    )


def delta_of(sigma, epsilon):
    """delta of the Gaussian mechanism of sensitivity 1 at epsilon."""
    return float(ndtr(0.5 / sigma - epsilon * sigma)) - exp(epsilon) * float(
        ndtr(-0.5 / sigma - epsilon * sigma)
    )


def sigma_of(epsilon, delta):
    """The sigma whose delta at epsilon is the one given."""
    low, high = 0.1, 100.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle, epsilon) > delta else (low, middle)
    return high


def sniper():
    """DP-Sniper's benchmark at epsilon .1; pairs as their relation allows, not as theirs were."""
    ten = answers(-10, 10, 10, everywhere=True)
    five = answers(-10, 10, 5, everywhere=True)
    counts = answers(0, 10, 5, everywhere=False)
    one_up = ([0.0] * 5, [1.0] + [0.0] * 4)
    lost = ([1.0] + [0.0] * 4, [0.0] + [1.0] * 4)
    all_up = ([0.0] * 5, [1.0] * 5)
    truncated = log(1 + 2.0 ** -ceil(log(2 / 0.1)))
    wide_laplace = partial(noisy_max_weights_wide, noise="laplace")
    wide_exponential = partial(noisy_max_weights_wide, noise="exponential")
    own, shifted = [1] * 4 + [0] * 16, [0] * 4 + [1] * 4 + [0] * 12
    one = {"threshold": 0.5, "rho": 20, "nu": 40, "most": 1}
    two = {"threshold": 1, "rho": 20, "nu": 40, "most": 1}
    four = {"threshold": 1, "rho": 40, "nu": 1 / 0.075, "most": 1}
    six = {"threshold": 1, "rho": 20, "nu": 20}
    three = {"threshold": 1, "rho": 20, "nu": 20, "most": 1, "reuse": True}
    return [
        Subject(name="Laplace", **with_law(laplace_number, laplace_law, scale=10), pair=(0.0, 1.0),
                true=0.1, pairs=number(-10.0, 10.0, 1.0), published=(0.097, 0.098)),
        Subject(name="TruncatedGeometric",
                **with_law(geometric, geometric_law, epsilon=truncated, most=5), pair=(0, 1),
                true=truncated, pairs=number(0, 5, 1, whole=True), published=(0.116, 0.116)),
        Subject(name="NoisyHist1", **with_law(laplace_vector, laplace_law, scale=10), pair=one_up,
                true=0.1, pairs=counts, published=(0.098, 0.098)),
        Subject(name="NoisyHist2", **with_law(laplace_vector, laplace_law, scale=0.1), pair=one_up,
                true=10.0, pairs=counts, published=(4.602, 4.601)),
        Subject(name="NoisyMax1", run=partial(noisy_max, noise="laplace", scale=20, value=False),
                law=partial(choice_law, weights=wide_laplace),
                pair=lost, true=0.1, pairs=five, published=(0.092, 0.093)),
        Subject(name="NoisyMax2",
                run=partial(noisy_max, noise="exponential", scale=20, value=False),
                law=partial(choice_law, weights=wide_exponential),
                pair=lost, true=0.1, pairs=five, published=(0.098, 0.098)),
        Subject(name="NoisyMax3", run=partial(noisy_max, noise="laplace", scale=20, value=True),
                law=partial(max_value_law, noise="laplace", scale=20), pair=all_up, true=0.25,
                pairs=five, published=(0.248, 0.249)),
        Subject(name="NoisyMax4", run=partial(noisy_max, noise="exponential", scale=20, value=True),
                law=partial(max_value_law, noise="exponential", scale=20), pair=all_up, true=inf,
                pairs=five, published=(0.346, 0.353)),
        Subject(name="SVT1", **with_law(sparse_vector, flags_law, **one), pair=UP_DOWN, true=0.1,
                pairs=ten, published=(0.086, 0.086)),
        Subject(name="SVT2", **with_law(sparse_vector, flags_law, **two), pair=UP_DOWN, true=0.1,
                pairs=ten, published=(0.086, 0.085)),
        Subject(name="SVT3", **with_law(sparse_vector, reused_law, **three), pair=UP_DOWN, true=0.5,
                pairs=ten, published=(0.172, 0.182)),
        Subject(name="SVT4", **with_law(sparse_vector, flags_law, **four), pair=UP_DOWN,
                true=0.175, pairs=ten, published=(0.169, 0.170)),
        Subject(name="SVT5", run=partial(sparse_vector, threshold=1, rho=20, nu=0), pair=UP_DOWN,
                true=inf, pairs=ten, published=(1.761, 1.761)),
        Subject(name="SVT6", **with_law(sparse_vector, flags_law, **six), pair=UP_DOWN, true=0.5,
                pairs=ten, published=(0.272, 0.270)),
        Subject(name="RAPPOR", **with_law(noisy_bits, bits_law, one=0.5125, zero=0.4875),
                pair=(own, shifted), true=8 * log(0.5125 / 0.4875), pairs=blooms(-10, 10),
                published=(0.293, 0.301)),
        Subject(name="OneTimeRAPPOR", **with_law(noisy_bits, bits_law, one=0.525, zero=0.475),
                pair=(own, shifted), true=8 * log(0.525 / 0.475), pairs=blooms(-10, 10),
                published=(0.598, 0.600)),
        Subject(name="LaplaceParallel", **with_law(parallel, parallel_law, count=20, scale=200),
                pair=(0.0, 1.0), true=0.1, pairs=number(-10.0, 10.0, 1.0),
                published=(0.035, 0.030)),
        Subject(name="SVT34Parallel",
                run=partial(two_sparse_vectors,
                            first=partial(sparse_vector, threshold=1, rho=20, nu=40, most=2,
                                          reuse=True),
                            second=partial(sparse_vector, threshold=1, rho=40, nu=1 / 0.075,
                                           most=2)),
                pair=UP_DOWN, true=0.575, pairs=ten, published=(0.261, 0.262)),
        Subject(name="PrefixSum", **with_law(prefix_sums, prefix_law, scale=10),
                pair=([0.0] * 10, [1.0] * 10), true=1.0, pairs=ten, published=(0.504, 0.577)),
        Subject(name="NumericalSVT",
                **with_law(sparse_vector, numeric_law, threshold=1, rho=30, nu=120, most=2,
                           numeric=60),
                pair=UP_DOWN, true=0.1, pairs=ten, published=(0.034, 0.035)),
    ]  # fmt: skip


def noisy_max_weights_wide(scores, *, noise):
    """Probabilities of the index for noise of scale 20, by quadrature on its own scale."""
    return noisy_max_weights(scores / 20, noise=noise, scale=1.0)


def given():
    """The textbook mechanisms, nearly all at epsilon 1, on the pair where they are tight."""
    sigma = sigma_of(1.0, 1e-5)
    correct = {"threshold": 0.0, "rho": 2, "nu": 4, "most": 1}
    broken = {"threshold": 0.0, "rho": 2, "nu": 2}
    lead = ([0.0] * 7 + [1.0], [1.0] * 7 + [0.0])
    five = ([1.0] + [0.0] * 4, [0.0] + [1.0] * 4)
    weights = partial(exponential_weights, epsilon=1.0)
    largest = partial(noisy_max_weights, noise="laplace", scale=2.0)
    return [
        Subject(name="laplace", **with_law(laplace_number, laplace_law, scale=1), pair=(0.0, 1.0),
                true=1.0),
        Subject(name="geometric", **with_law(geometric, geometric_law, epsilon=1.0), pair=(0, 1),
                true=1.0),
        Subject(name="exponential", **with_law(choice, choice_law, weights=weights), pair=lead,
                true=1.0),
        Subject(name="noisy-max", run=partial(noisy_max, noise="laplace", scale=2, value=False),
                law=partial(choice_law, weights=largest), pair=five, true=1.0),
        Subject(name="histogram", **with_law(laplace_vector, laplace_law, scale=1),
                pair=([0.0] * 5, [1.0] + [0.0] * 4), true=1.0),
        Subject(name="sparse-vector", **with_law(sparse_vector, flags_law, **correct),
                pair=UP_DOWN, true=1.0),
        Subject(name="laplace-vector", **with_law(laplace_vector, laplace_law, scale=1),
                pair=([0.0] * 10, [0.1] * 10), true=1.0),
        Subject(name="gaussian", **with_law(gaussian, gaussian_law, sigma=sigma), pair=(0.0, 1.0),
                true=1.0, delta=1e-5),
        Subject(name="sparse-vector-broken", **with_law(sparse_vector, flags_law, **broken),
                pair=UP_DOWN, true=5.0),
        # Five comparisons that fall short and one that does not, each moved by the pair.
        Subject(name="pmw-transcript", run=PMW_ITERATION.run, law=transcript_law,
                pair=((17, 19, 2, 2), (18, 18, 2, 2)), true=4.0),
        *(s for s in sniper()
          if s.name in ("PrefixSum", "RAPPOR", "OneTimeRAPPOR", "LaplaceParallel")),
    ]  # fmt: skip


def weak():
    """Where losses are weak or outputs are texts, and some that are neither, on the known pair."""
    wanted = ("NumericalSVT", "SVT3", "SVT4", "SVT2", "NoisyMax3", "SVT6", "RAPPOR",
              "laplace-vector", "sparse-vector", "gumbel-top-2")  # fmt: skip
    every = {subject.name: subject for table in (sniper, given, held_out) for subject in table()}
    text = Subject(name="text of numbers", **with_law(numbers_as_text, text_law, scale=8.0),
                   pair=([0.0] * 4, [1.0] * 4), true=0.5)  # fmt: skip
    return [*(every[name] for name in wanted), text]


def numbers_as_text(database, rng, size=1, *, scale):
    rows = laplace_vector(database, rng, size, scale=scale)
    return [f"{a:.2f} of {b:.2f}, {c:.2f} left, {d:.2f} in all" for a, b, c, d in rows.tolist()]


def text_law(y, database, *, scale):
    numbers = [[float(word) for word in NUMBER.findall(text)] for text in y]
    return laplace_law(np.array(numbers), database, scale=scale)


def transcript_law(y, database):
    return PMW_ITERATION.log_probability(database, y)


def held_out():
    """Mechanisms that no constant of the learner was set on."""
    median = partial(median_weights, epsilon=1.0, most=20)
    return [
        Subject(name="categories", **with_law(categories, categories_law, keep=0.1, kinds=6),
                pair=([0, 1, 2, 3], [1, 1, 4, 0]), true=3 * log(1 + 6 * 0.1 / 0.9)),
        Subject(name="median", **with_law(choice, choice_law, weights=median),
                pair=([3.0, 5.0, 9.0, 12.0, 15.0], [3.0, 5.0, 16.0, 12.0, 15.0]), true=1.0),
        Subject(name="discrete-2d", **with_law(discrete_pair, discrete_pair_law, epsilon=0.5),
                pair=([0, 0], [1, 1]), true=1.0),
        Subject(name="stability-histogram",
                run=partial(stability_histogram, scale=1.0, threshold=3.0),
                pair=({"a": 4, "b": 2, "c": 1}, {"a": 4, "b": 2, "c": 0}), true=inf),
        Subject(name="gumbel-top-2", **with_law(top_two, top_two_law, scale=4.0),
                pair=([0.0] * 5 + [1.0], [1.0] * 5 + [0.0]), true=1.0),
        Subject(name="subsampled", **with_law(subsampled, subsampled_law, rate=0.3, scale=1.0),
                pair=(5, 6), true=log(1 + 0.3 * (e - 1))),
        Subject(name="probit-bits", **with_law(probit_bits, probit_law, sigma=2.0),
                pair=([0.2] * 6, [-0.2] * 6), true=inf),
        Subject(name="laplace-mixed-scales",
                run=partial(scaled_vector, scales=(1.0, 5.0, 20.0, 100.0)),
                law=partial(scaled_law, scales=(1.0, 5.0, 20.0, 100.0)),
                pair=([0.0] * 4, [0.3, 1.5, 6.0, 30.0]), true=1.2),
    ]  # fmt: skip


def scaled_vector(database, rng, size=1, *, scales):
    return np.asarray(database) + rng.laplace(size=(size, len(scales))) * np.array(scales)


def scaled_law(y, database, *, scales):
    return -(np.abs(np.asarray(y) - np.asarray(database)) / np.array(scales)).sum(axis=1)


TABLES = {"sniper": sniper, "given": given, "held-out": held_out, "weak": weak}
