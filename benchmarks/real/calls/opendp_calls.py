"""opendp from 0.12 on: Laplace noise on a float."""

import opendp.prelude as dp

dp.enable_features("contrib", "floating-point")
SPACE = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
LAPLACE = dp.m.make_laplace(*SPACE, scale=1.0)


def laplace(value, rng):
    return float(LAPLACE([value])[0])
