"""Plain numpy for the same arithmetic as each mechanism of the catalogue, to measure against.

Each function is called as baseline(database, rng, draws, **keywords) with the keywords the
mechanism runs with, and returns `draws` outputs of the same shape. It checks nothing, validates
nothing and takes no care of memory or of runs that have ended. What depends on the database alone
is computed once by the project's own queries and scores. `BASELINES` has one for each mechanism.
"""

import numpy as np
from baselines_learning import (
    boosting,
    boxes,
    counted_boxes,
    finite_class,
    greedy_conjunction,
    interior_point,
    noisy_conjunction,
    noisy_gradient_descent,
    rec_concave,
    sampled_query,
    sampled_query_counts,
    vector_sum,
)
from baselines_transcripts import multiplicative_weights, numeric_sparse_vector, sparse_vector

__all__ = ["BASELINES"]


def laplace(database, rng, draws, *, query, sensitivity, epsilon):
    answer = query(database)
    return answer + rng.laplace(scale=sensitivity / epsilon, size=(draws, *np.shape(answer)))


def gaussian(database, rng, draws, *, query, sensitivity, mu):
    answer = query(database)
    return answer + rng.normal(scale=sensitivity / mu, size=(draws, *np.shape(answer)))


def grid_laplace(database, rng, draws, *, query, sensitivity, epsilon, granularity):
    # The exact sampler: whole numbers and comparisons only, drawn until there are enough.
    scale = int(np.ceil(np.ceil(sensitivity / granularity) / epsilon))
    kept = np.empty(0, dtype=np.int64)
    while len(kept) < draws:
        rest = rng.integers(scale, size=draws)
        rest = rest[coins(rng, rest, scale)]
        whole = np.zeros(len(rest), dtype=np.int64)
        going = np.arange(len(rest))
        while len(going):
            going = going[coins(rng, np.ones(len(going), dtype=np.int64), 1)]
            whole[going] += 1
        size, minus = rest + scale * whole, rng.integers(2, size=len(rest)) == 1
        kept = np.append(kept, np.where(minus, -size, size)[(size > 0) | ~minus])
    return (np.rint(query(database) / granularity) + kept[:draws]) * granularity


def coins(rng, over, under):
    """True with probability exp(-over / under), at most 1 each, without logarithms."""
    result, going, k = np.ones(len(over), dtype=bool), np.arange(len(over)), 1
    while len(going):
        going = going[rng.random(len(going)) * k * under < over[going]]
        result[going] = k % 2 == 0
        k += 1
    return result


def geometric(database, rng, draws, *, query, sensitivity, epsilon):
    stop = 1 - np.exp(-epsilon / sensitivity)
    return query(database) + rng.geometric(stop, draws) - rng.geometric(stop, draws)


def randomized_response(database, rng, draws, *, values, epsilon):
    truth, k = values.index(database), len(values)
    honest = rng.random(draws) < np.exp(epsilon) / (np.exp(epsilon) + k - 1)
    return np.array(values)[np.where(honest, truth, (truth + rng.integers(1, k, draws)) % k)]


def leaky_response(database, rng, draws, *, epsilon, delta, rounds):
    leaks = rng.random(draws) < 1 - (1 - delta) ** rounds
    right = rng.binomial(rounds, 1 / (1 + np.exp(-epsilon)), draws)
    ones, leak = (right, rounds + 1) if database else (rounds - right, -1)
    return np.where(leaks, leak, ones)


def composed(database, rng, draws, *, mechanisms):
    return np.stack([laplace(database, rng, draws, **m.run.keywords) for m in mechanisms], axis=-1)


def drill_down(database, rng, draws, *, steps):
    first, second = (1 / step.keywords["epsilon"] for step in steps)
    counts = np.bincount(database, minlength=4)
    halves = counts[2] + counts[3] - counts[0] - counts[1] + rng.laplace(scale=first, size=draws)
    end = np.where(halves > 0, counts[3], counts[0]) + rng.laplace(scale=second, size=draws)
    return np.stack([halves, end], axis=-1)


def scaled(database, score, sensitivity, epsilon, monotone):
    return score(database) * epsilon / ((1 if monotone else 2) * sensitivity)


def gumbel_max(database, rng, draws, *, score, sensitivity, epsilon, monotone=False):
    logits = scaled(database, score, sensitivity, epsilon, monotone)
    return (logits + rng.gumbel(size=(draws, len(logits)))).argmax(axis=-1)


def laplace_max(database, rng, draws, *, score, sensitivity, epsilon, monotone=False):
    scores = scaled(database, score, sensitivity, epsilon, monotone)
    return (scores + rng.laplace(size=(draws, len(scores)))).argmax(axis=-1)


def exponential_max(database, rng, draws, *, score, sensitivity, epsilon, monotone=False):
    scores = scaled(database, score, sensitivity, epsilon, monotone)
    return (scores + rng.exponential(size=(draws, len(scores)))).argmax(axis=-1)


def permute_and_flip(database, rng, draws, *, score, sensitivity, epsilon, monotone=False):
    scores = scaled(database, score, sensitivity, epsilon, monotone)
    heads = rng.random((draws, len(scores))) < np.exp(scores - scores.max())
    return np.where(heads, rng.random(heads.shape), 2).argmin(axis=-1)


def sampled_answers(database, rng, draws, *, queries, sampled, scale):
    return queries(database)[list(sampled)] + rng.laplace(scale=scale, size=(draws, len(sampled)))


def base_synopsis(database, rng, draws, *, queries, table, sampled, scale):
    noisy = sampled_answers(database, rng, draws, queries=queries, sampled=sampled, scale=scale)
    return np.abs(noisy[:, None] - table[:, list(sampled)]).max(axis=-1).argmin(axis=-1)


BASELINES = {
    "laplace": laplace,
    "laplace-vector": laplace,
    "gaussian": gaussian,
    "grid-laplace": grid_laplace,
    "geometric": geometric,
    "randomized-response": randomized_response,
    "leaky-response": leaky_response,
    "composed": composed,
    "drill-down": drill_down,
    "exponential": gumbel_max,
    "exponential-monotone": gumbel_max,
    "exponential-auction": gumbel_max,
    "report-noisy-max": laplace_max,
    "report-gumbel-max": gumbel_max,
    "one-sided-noisy-arg-max": exponential_max,
    "permute-and-flip": permute_and_flip,
    "above-threshold": sparse_vector,
    "sparse-vector": sparse_vector,
    "numeric-sparse-vector": numeric_sparse_vector,
    "pmw-iteration": multiplicative_weights,
    "private-multiplicative-weights": multiplicative_weights,
    "base-synopsis": base_synopsis,
    "noisy-sampled-answers": sampled_answers,
    "boosting": boosting,
    "sampled-query": sampled_query,
    "sampled-query-counts": sampled_query_counts,
    "interior-point": interior_point,
    "rec-concave": rec_concave,
    "boxes": boxes,
    "boxes-counted": counted_boxes,
    "finite-class-thresholds": finite_class,
    "finite-class-boxes": finite_class,
    "noisy-conjunction": noisy_conjunction,
    "noisy-gradients": noisy_gradient_descent,
    "noisy-gradient-descent": noisy_gradient_descent,
    "vector-sum": vector_sum,
    "greedy-conjunction": greedy_conjunction,
}
