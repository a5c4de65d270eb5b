"""opendp through its releases: Laplace noise of scale 1 on a float, by whatever name it has."""

try:
    from opendp.measurements import make_base_laplace
except ImportError:
    from opendp.meas import make_base_laplace
from opendp.mod import enable_features

enable_features("floating-point", "contrib")
try:
    LAPLACE = make_base_laplace(1.0, D="VectorDomain<AllDomain<f64>>")
except Exception:  # noqa: BLE001 - from 0.8 on it takes a domain; errors differ by release
    from opendp.domains import atom_domain, vector_domain
    from opendp.metrics import l1_distance

    LAPLACE = make_base_laplace(vector_domain(atom_domain(T=float)), l1_distance(T=float), 1.0)


def laplace(value, rng):
    return float(LAPLACE([float(value)])[0])
