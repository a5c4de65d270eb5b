"""Laplace noise of dpwitness on a grid of powers of two, the answer rounded to the grid."""

from dpwitness.mechanisms.noise.grid_laplace import grid_laplace


def laplace(value, rng, *, size=None):
    return grid_laplace(value, rng, query=float, sensitivity=1.0, epsilon=1.0, size=size)
