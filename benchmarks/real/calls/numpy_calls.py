"""The textbook's Laplace mechanism in floating point."""


def laplace(value, rng):
    return value + rng.laplace()
