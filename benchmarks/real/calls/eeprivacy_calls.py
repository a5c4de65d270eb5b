"""eeprivacy: a clamped mean, a clamped mean of vectors, a quantile."""

import numpy as np
from eeprivacy.operations import (
    PrivateClampedMean,
    PrivateQuantile,
    PrivateVectorClampedMeanLaplace,
)


def mean(rows, rng):
    return float(PrivateClampedMean(lower_bound=0, upper_bound=1).execute(values=rows, epsilon=1))


def vector_mean(rows, rng):
    query = PrivateVectorClampedMeanLaplace(lower_bound=0, upper_bound=1, k=2, N=len(rows))
    return tuple(float(v) for v in query.execute(vectors=rows, epsilon=1, delta=0))


def quantile(rows, rng):
    query = PrivateQuantile(options=[0, 1, 2, 3])
    return float(query.execute(values=np.asarray(rows), epsilon=1, quantile=0.5))
