"""Plain numpy for mechanisms that answer one query after the other; see `baselines`."""

import numpy as np

__all__ = ["multiplicative_weights", "numeric_sparse_vector", "sparse_vector"]


def sparse_vector(
    database, rng, draws, *, queries, threshold, threshold_scale, query_scale, positives
):
    values = queries(database)
    limit = threshold + rng.laplace(scale=threshold_scale, size=(draws, 1))
    above = values + rng.laplace(scale=query_scale, size=(draws, len(values))) >= limit
    earlier = above.cumsum(axis=-1) - above
    return np.where(earlier >= positives, 2, above.astype(np.int64))


def numeric_sparse_vector(database, rng, draws, *, queries, answer_scale, **bits):
    kinds = sparse_vector(database, rng, draws, queries=queries, **bits)
    answers = queries(database) + rng.laplace(scale=answer_scale, size=kinds.shape)
    return np.stack([kinds, np.where(kinds == 1, answers, np.nan)], axis=-1)


def multiplicative_weights(
    database, rng, draws, *, queries, length, threshold, learning_rate, noise_epsilon, updates
):
    records = sum(database)
    truth, scale = np.array(database) / records, 1 / (noise_epsilon * records)
    synthetic = np.full((draws, len(truth)), 1 / len(truth))
    limit, used = threshold + rng.laplace(scale=scale, size=draws), np.zeros(draws)
    output = np.empty((draws, length, 2))
    for step in range(length):
        query = queries(step, synthetic, truth)
        exact, estimate = (query * truth).sum(axis=-1), (query * synthetic).sum(axis=-1)
        gap = np.abs(exact - estimate) + rng.laplace(scale=scale, size=draws)
        halted, top = used >= updates, gap >= limit
        answer = np.where(top, exact + rng.laplace(scale=scale, size=draws), estimate)
        output[:, step, 0] = np.where(halted, 2, top)
        output[:, step, 1] = np.where(halted, np.nan, answer)
        turned = np.where(top, np.where(answer > estimate, 1, -1), 0)
        weights = synthetic * np.exp(learning_rate * turned[:, None] * query)
        synthetic = weights / weights.sum(axis=-1, keepdims=True)
        limit = np.where(top, threshold + rng.laplace(scale=scale, size=draws), limit)
        used += top
    return output
