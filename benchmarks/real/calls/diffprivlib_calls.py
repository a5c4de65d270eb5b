"""diffprivlib: mechanisms, and the moments behind its linear regression."""

import numpy as np
from diffprivlib.mechanisms import (
    Binary,
    Exponential,
    Gaussian,
    GaussianAnalytic,
    Geometric,
    Laplace,
    LaplaceBoundedDomain,
    LaplaceTruncated,
    Snapping,
    Staircase,
)
from diffprivlib.models.linear_regression import _construct_regression_obj


def laplace(value, rng):
    return float(Laplace(epsilon=1, sensitivity=1).randomise(value))


def truncated(value, rng):
    return float(LaplaceTruncated(epsilon=1, sensitivity=1, lower=-50, upper=50).randomise(value))


def bounded(value, rng):
    domain = LaplaceBoundedDomain(epsilon=1, sensitivity=1, lower=-50, upper=50)
    return float(domain.randomise(value))


def staircase(value, rng):
    return float(Staircase(epsilon=1, sensitivity=1).randomise(value))


def gaussian(value, rng):
    return float(Gaussian(epsilon=1, delta=1e-5, sensitivity=1).randomise(value))


def analytic(value, rng):
    return float(GaussianAnalytic(epsilon=1, delta=1e-5, sensitivity=1).randomise(value))


def snapping(value, rng):
    return float(Snapping(epsilon=1, sensitivity=1, lower=-50, upper=50).randomise(value))


def geometric(value, rng):
    return int(Geometric(epsilon=1, sensitivity=1).randomise(value))


def binary(value, rng):
    return Binary(epsilon=1, value0="0", value1="1").randomise(value)


def exponential(scores, rng):
    chosen = Exponential(epsilon=1, sensitivity=1, utility=list(scores), monotonic=True)
    return int(chosen.randomise())


def second_moment(rows, rng):
    """The noisy sum of squares among the moments from which coefficients are fitted."""
    points = np.asarray(rows, dtype=float).reshape(-1, 1)
    ends = np.zeros(1), np.ones(1)
    _, moments = _construct_regression_obj(
        points, points.ravel(), bounds_X=ends, bounds_y=ends, epsilon=1.0, alpha=0,
        random_state=np.random.RandomState(int(rng.integers(2**31))),
    )  # fmt: skip
    return float(np.ravel(moments[-1])[0])
