"""opendp 0.4.0: Laplace noise on a float."""

from opendp.meas import make_base_laplace
from opendp.mod import enable_features

enable_features("floating-point", "contrib")
LAPLACE = make_base_laplace(1.0, D="VectorDomain<AllDomain<f64>>")


def laplace(value, rng):
    return float(LAPLACE.invoke([float(value)])[0])
