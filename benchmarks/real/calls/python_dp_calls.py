"""python-dp: Laplace noise, a bounded sum and a bounded mean."""

from pydp.algorithms import numerical_mechanisms
from pydp.algorithms.laplacian import BoundedMean, BoundedSum

LAPLACE = numerical_mechanisms.LaplaceMechanism(epsilon=1, sensitivity=1)


def laplace(value, rng):
    return float(LAPLACE.add_noise(value))


def bounded_sum(rows, rng):
    query = BoundedSum(epsilon=1, lower_bound=0, upper_bound=1, dtype="float")
    return float(query.quick_result(list(rows)))


def bounded_mean(rows, rng):
    query = BoundedMean(epsilon=1, lower_bound=0, upper_bound=1, dtype="float")
    return float(query.quick_result(list(rows)))
