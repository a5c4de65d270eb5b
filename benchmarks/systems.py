"""The 13 systems at the sizes people use, with data, queries, losses and bases of one's own.

    python benchmarks/systems.py

One release of each: CPU seconds of the process, and what came out, as a row of a table. Printed in
docs/how-to/own-systems.md as it was seen.
"""

import time
from functools import partial

import numpy as np

from dpwitness import Histogram, Interval, Relation, Rows, Session
from dpwitness.mechanisms.boosting.boosting import boosting
from dpwitness.mechanisms.gradient_descent.gradient_descent import Loss, onto_ball
from dpwitness.mechanisms.gradient_descent.noisy_gradient_descent import noisy_gradient_descent
from dpwitness.mechanisms.gradient_descent.vector_sum import vector_sum_mechanism
from dpwitness.mechanisms.interior_points.boxes import boxes_mechanism
from dpwitness.mechanisms.interior_points.interior_point import interior_point, rec_concave
from dpwitness.mechanisms.learning.conjunctions import deletion_threshold, noisy_conjunction
from dpwitness.mechanisms.learning.finite_class import finite_class, thresholds
from dpwitness.mechanisms.multiplicative_weights.pmw import private_multiplicative_weights
from dpwitness.mechanisms.multiplicative_weights.pmw_session import pmw_interaction
from dpwitness.mechanisms.noise.laplace import laplace_mechanism
from dpwitness.mechanisms.queries import histogram
from dpwitness.mechanisms.selection.exponential import exponential
from dpwitness.mechanisms.selection.report_noisy_max import permute_and_flip, report_noisy_max
from dpwitness.mechanisms.sparse_vector.above_threshold import above_threshold

RNG = np.random.default_rng(0)


def noise():
    made = laplace_mechanism(
        query=partial(histogram, categories=1000), sensitivity=1.0, epsilon=1.0,
        relation=Relation.ADD_REMOVE, coordinates=1000,
        databases=Rows(row=Interval(low=0, high=999, integer=True)),
    )  # fmt: skip
    return made(RNG.integers(0, 1000, 100_000), RNG)


SCORES = RNG.normal(size=1_000_000)


def selected(mechanism):
    return mechanism([], RNG, score=lambda rows: SCORES, sensitivity=1.0, epsilon=1.0)


def vector():
    values = RNG.normal(size=10_000)
    return above_threshold(
        [], RNG, queries=lambda rows: values, threshold=6.0, threshold_scale=0.1, query_scale=0.1,
        positives=1,
    )  # fmt: skip


COUNTS = RNG.multinomial(1_000_000, RNG.dirichlet(np.full(1000, 0.1)))


def adapting(step, synthetic, truth):
    """Ask for half of the elements that the public distribution, so far, finds heavier."""
    chosen = np.random.default_rng(step).random(synthetic.shape[-1]) < 0.5
    return (chosen & (synthetic > np.median(synthetic))).astype(float)


def multiplicative_weights():
    return private_multiplicative_weights(
        COUNTS, RNG, queries=adapting, length=10_000, threshold=0.1, learning_rate=0.025,
        noise_epsilon=0.01, updates=11_053,
    )  # fmt: skip


def session():
    opened = Session(pmw_interaction(accuracy=0.2, noise_epsilon=0.01, updates=11_053), COUNTS, RNG)
    last = 0.0
    for step in range(10_000):
        # The next query depends on the last answer.
        chosen = np.random.default_rng([step, int(1e6 * abs(last))]).random(1000) < 0.5
        last = opened.ask(chosen)
    return np.array([answer for _, answer in opened.transcript])


def boosted():
    weights = RNG.integers(0, 2, (2000, 50)).astype(float)

    def base(rng, truth, sampled, distribution, earlier):
        noisy = truth[sampled] + rng.laplace(scale=20, size=sampled.shape)
        guess = np.linalg.lstsq(weights[sampled[0]], noisy[0], rcond=None)[0]
        return np.broadcast_to(weights @ guess, distribution.shape)

    return boosting(
        RNG.integers(0, 200, 50), RNG, queries=lambda counts: weights @ counts, base=base,
        samples=200, accuracy=50.0, attenuation=100.0, advantage=0.25, rounds=40,
    )  # fmt: skip


def descent():
    features = RNG.normal(size=(10_000, 100)) / 10
    rows = np.column_stack([features, np.sign(features @ RNG.normal(size=100))])

    def slope(data):
        x = data[:, :100] / np.maximum(1, np.linalg.norm(data[:, :100], axis=1))[:, None]
        return lambda w: (np.sign(np.asarray(w) @ x.T - data[:, 100]) @ x) / len(data)

    loss = Loss(
        name="|<w, x> - y|", gradient=slope, minimiser=lambda row, radius: np.zeros(100),
        value=lambda w, data: np.abs(np.asarray(w) @ data[:, :100].T - data[:, 100]).mean(-1),
        columns=101,
    )  # fmt: skip
    return noisy_gradient_descent(
        rows, RNG, loss=loss, lipschitz=1.0, start=np.zeros(100), step_size=0.1, steps=500,
        multiplier=10.0, projection=partial(onto_ball, radius=1.0),
    )  # fmt: skip


def summed():
    made = vector_sum_mechanism(
        dimension=1000, epsilon=1.0, delta=1e-6,
        databases=Histogram(bins=2, total=2),
    )  # fmt: skip
    return made.run(RNG.normal(size=(10_000, 1000)) / 40, RNG)


def boxed():
    made = boxes_mechanism(dimension=5, grid=1024, block=200, records=100_000, epsilon=1.0)
    return made.run(
        np.column_stack([RNG.integers(300, 700, (100_000, 5)), RNG.integers(0, 2, 100_000)]), RNG
    )


def conjunction():
    points = RNG.integers(0, 2, (100_000, 1000))
    rows = np.column_stack([points, points[:, 0] & points[:, 1]])
    scale = 2.0 * 1000
    bar = deletion_threshold(1000, scale, 0.05)
    return noisy_conjunction(rows, RNG, dimension=1000, scale=scale, threshold=bar)


def learnt():
    points = RNG.integers(0, 1000, 100_000)
    rows = np.column_stack([points, points >= 300])
    return finite_class(rows, RNG, grid=(1000,), hypotheses=thresholds(1000), epsilon=1.0)


SYSTEMS = {
    "Laplace noise, 1,000 counts of 100,000 records": noise,
    "exponential mechanism, 1e6 candidates": partial(selected, exponential),
    "report noisy max, 1e6 candidates": partial(selected, report_noisy_max),
    "permute and flip, 1e6 candidates": partial(selected, permute_and_flip),
    "sparse vector, 10,000 queries": vector,
    "PMW, 1,000 elements, 10,000 adaptive queries": multiplicative_weights,
    "PMW session, 1,000 elements, 10,000 adaptive queries": session,
    "boosting, 2,000 queries, own base, 40 rounds": boosted,
    "interior point, grid 1e6, 1,000 points": lambda: interior_point(
        RNG.integers(0, 10**6, 1000), RNG, grid=10**6, epsilon=1.0
    ),
    "RecConcave, grid 1e6, 1,000 points": lambda: rec_concave(
        RNG.integers(0, 10**6, 1000), RNG, grid=10**6, epsilon=1.0, delta=1e-6
    ),
    "boxes, d = 5, grid 1,024, n = 1e5": boxed,
    "finite class, 1,000 thresholds, n = 1e5": learnt,
    "conjunctions, d = 1,000, n = 1e5": conjunction,
    "noisy gradient descent, supervised, n = 1e4, d = 100, T = 500": descent,
    "vector sum, n = 1e4, d = 1,000": summed,
}


def main():
    print("| system | CPU seconds of one release |\n|---|---|")
    for name, release in SYSTEMS.items():
        started = time.process_time()
        try:
            released = np.asarray(release())
            told = f"{time.process_time() - started:.2f}"
            assert released.dtype.kind != "f" or not np.isnan(released).all()
        except (ValueError, MemoryError) as error:
            told = f"refused: {error}"
        print(f"| {name} | {told} |", flush=True)


if __name__ == "__main__":
    main()
