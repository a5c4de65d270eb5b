"""Plain numpy for learners, descents and boosting; see `baselines`."""

import numpy as np

from dpwitness.mechanisms.interior_points.interior_point import depth_scores
from dpwitness.mechanisms.learning.labelled import labelled_counts

__all__ = [
    "boosting",
    "boxes",
    "counted_boxes",
    "finite_class",
    "greedy_conjunction",
    "interior_point",
    "noisy_conjunction",
    "noisy_gradient_descent",
    "rec_concave",
    "sampled_query",
    "sampled_query_counts",
    "vector_sum",
]


def softmax(logits):
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def interior_point(points, rng, draws, *, grid, epsilon):
    law = softmax(epsilon / 2 * depth_scores(points, grid=grid))
    return rng.choice(grid, size=draws, p=law)


def rec_concave(database, rng, draws, *, grid, epsilon, delta, base):
    # One level of recursion: a scale, two noisy leads, then one of the points of the leaders.
    scores, promise = depth_scores(database, grid=grid), np.ceil(len(database) / 2)
    step, stable = epsilon / 4, delta / 2
    widest = [
        np.lib.stride_tricks.sliding_window_view(scores, 2**j).min(axis=1).max()
        for j in range(int(np.log2(grid)) + 1)
    ]
    good = np.array([*widest, min(0, widest[-1])])
    inner = np.minimum(good[:-1] - promise / 2, promise - good[1:])
    scale = rng.choice(len(inner), size=draws, p=softmax(step / 2 * inner))
    bar = 2 + 2 / step * np.log(1 / (2 * stable))
    found = np.full(draws, -1)
    for power in range(len(inner)):
        here, taken, leaders = scale == power, [], []
        for shift in (0, 4 * 2**power):
            cells = (np.arange(grid) + shift) // (8 * 2**power)
            tops = np.array([scores[cells == cell].max() for cell in np.unique(cells)])
            lead = np.inf if len(tops) == 1 else np.diff(np.sort(tops)[-2:])[0]
            taken.append(lead + rng.laplace(scale=2 / step, size=draws) > bar)
            leaders.append(cells == cells[0] + tops.argmax())
        for one in (True, False):
            for two in (True, False):
                places = np.flatnonzero((leaders[0] & one) | (leaders[1] & two))
                some = here & (taken[0] == one) & (taken[1] == two)
                if len(places):
                    law = softmax(step / 2 * scores[places])
                    found[some] = rng.choice(places, size=some.sum(), p=law)
    return found


def boxes(database, rng, draws, *, grid, block, interior):
    rows = np.array(database)
    positives, ends = rows[rows[:, -1] == 1, :-1], []
    for column in positives.T:
        short = max(0, block - len(column))
        low = np.append(np.sort(column)[:block], np.full(short, grid - 1)).astype(int)
        high = np.append(np.zeros(short), np.sort(column)[-block:]).astype(int)
        ends += [interior_point(part, rng, draws, **interior.keywords) for part in (low, high)]
    return np.stack(ends, axis=-1).reshape(draws, -1, 2)


def counted_boxes(database, rng, draws, *, grid, block, interior, count_epsilon, count_beta):
    learnt = boxes(database, rng, draws, grid=grid, block=block, interior=interior)
    positives = sum(row[-1] for row in database)
    bar = 2 * block + np.log(1 / (2 * count_beta)) / count_epsilon
    enough = positives + rng.laplace(scale=1 / count_epsilon, size=draws) >= bar
    return np.where(enough[:, None, None], learnt, -1)


def finite_class(database, rng, draws, *, grid, hypotheses, epsilon, sensitivity):
    counts = labelled_counts(database, grid=grid)
    right = hypotheses @ counts[:, 1] + ~hypotheses @ counts[:, 0]
    return rng.choice(len(right), size=draws, p=softmax(epsilon * right / (2 * sensitivity)))


def noisy_conjunction(database, rng, draws, *, dimension, scale, threshold):
    rows = np.array(database).reshape(-1, dimension + 1)
    points = rows[rows[:, -1] == 1, :-1]
    violated = np.concatenate([(points == 0).sum(axis=0), (points == 1).sum(axis=0)])
    return violated + rng.laplace(scale=scale, size=(draws, len(violated))) <= threshold


def greedy_conjunction(database, rng, draws, *, dimension, most_literals, rounds, round_epsilon):
    rows = np.array(database).reshape(-1, dimension + 1)
    true = np.concatenate([rows[:, :-1] == 1, rows[:, :-1] == 0, np.ones((len(rows), 1))], axis=1)
    false, label = 1 - true, rows[:, -1]
    alive, chosen = np.ones((draws, len(rows))), []
    for _ in range(rounds):
        negatives = alive * (1 - label)
        share = negatives.sum(axis=1, keepdims=True) / most_literals
        scores = np.minimum(negatives @ false - share, -(alive * label) @ false)
        noise = rng.gumbel(size=scores.shape)
        chosen.append((round_epsilon / 2 * scores + noise).argmax(axis=1))
        alive = alive * true.T[chosen[-1]]
    return np.stack(chosen, axis=-1)


def noisy_gradient_descent(
    database,
    rng,
    draws,
    *,
    loss,
    lipschitz,
    start,
    step_size,
    steps,
    multiplier,
    projection,
    release,
):
    rows = np.array(database, dtype=float).reshape(-1, len(start))
    gradient, radius = loss.gradient(rows), projection.keywords["radius"]
    scale = multiplier * lipschitz / len(rows)
    weights, noisy, points = np.tile(start, (draws, 1)), [], []
    for _ in range(steps):
        slope = lipschitz * gradient(weights) + rng.laplace(scale=scale, size=weights.shape)
        weights = weights - step_size * slope
        length = np.sqrt((weights**2).sum(axis=-1, keepdims=True))
        weights = weights / np.maximum(length / radius, 1)
        noisy.append(slope)
        points.append(weights)
    if release.__name__ == "every_gradient":
        return np.stack(noisy, axis=1)
    return np.mean(points, axis=0)


def vector_sum(database, rng, draws, *, dimension, scale, clip):
    exact = clip(np.array(database, dtype=float).reshape(-1, dimension)).sum(axis=0)
    return exact + rng.laplace(scale=scale, size=(draws, dimension))


def weights_after(synopses, truth, accuracy, attenuation, advantage):
    agreed = np.clip(1 - 2 * (np.abs(synopses - truth) - accuracy) / attenuation, -1, 1)
    return softmax(-np.arctanh(2 * advantage) * agreed.cumsum(axis=0))


def sampled_query(
    database,
    rng,
    draws,
    *,
    queries,
    synopses,
    accuracy,
    attenuation,
    advantage,
    agreement,
    reweight,
):
    law = weights_after(synopses, queries(database), accuracy, attenuation, advantage)[-1]
    return rng.choice(len(law), size=draws, p=law)


def sampled_query_counts(database, rng, draws, *, queries, synopses, samples, **parameters):
    laws = weights_after(synopses, queries(database), **parameters)
    return rng.multinomial(samples, laws, size=(draws, len(laws)))


def boosting(
    database,
    rng,
    draws,
    *,
    queries,
    base,
    samples,
    rounds,
    combine,
    accuracy,
    attenuation,
    advantage,
):
    truth, table = queries(database), base.keywords["table"]
    agreed, synopses = np.zeros((draws, len(truth))), []
    for _ in range(rounds):
        steps = softmax(-np.arctanh(2 * advantage) * agreed).cumsum(axis=-1)[:, None, :-1]
        asked = (rng.random((draws, samples, 1)) >= steps).sum(axis=-1)
        noisy = truth[asked] + rng.laplace(scale=base.keywords["scale"], size=asked.shape)
        worst = np.abs(noisy[:, None] - table[:, asked].swapaxes(0, 1)).max(axis=-1)
        synopses.append(table[worst.argmin(axis=-1)])
        errors = np.abs(synopses[-1] - truth)
        agreed += np.clip(1 - 2 * (errors - accuracy) / attenuation, -1, 1)
    return combine(np.array(synopses))
