"""The adapters on the libraries themselves: ten mechanisms as their own objects state them.

    pip install opendp==0.16.0 python-dp==1.1.5 pure-ldp==1.2.0 statsmodels
    pip install diffprivlib==0.6.6 scikit-learn==1.5.2
    pytest -m real

The libraries draw from the operating system; a sound one is refuted with probability at most 1e-7.
"""

import pytest

from dpwitness import audit
from dpwitness.auditors.attackers.seen import through_bits
from dpwitness.reports.adapters import adapted
from dpwitness.reports.targets.targets import find_target

pytestmark = pytest.mark.real


def opendp_laplace():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    return dp.m.make_laplace(domain, dp.l1_distance(T=float), scale=1.0)


def opendp_integers():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    return dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0)


def opendp_response():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    return dp.m.make_randomized_response_bool(prob=0.75)


def diffprivlib(name, **settings):
    return getattr(pytest.importorskip("diffprivlib.mechanisms"), name)(**settings)


def python_dp_laplace():
    module = pytest.importorskip("pydp.algorithms.numerical_mechanisms")
    return module.LaplaceMechanism(epsilon=1, sensitivity=1)


def python_dp_sum():
    module = pytest.importorskip("pydp.algorithms.laplacian")
    return module.BoundedSum(epsilon=1, lower_bound=0, upper_bound=1, dtype="float")


def pure_ldp():
    module = pytest.importorskip("pure_ldp.frequency_oracles.unary_encoding")
    return module.UEClient(epsilon=1, d=2, index_mapper=lambda value: value)


UNIT = {"epsilon": 1.0, "sensitivity": 1.0}
CASES = {
    "opendp laplace": (opendp_laplace, ([0.0], [1.0]), False),
    "opendp integer laplace": (opendp_integers, (0, 1), False),
    "opendp randomized response": (opendp_response, (True, False), False),
    "diffprivlib Laplace": (lambda: diffprivlib("Laplace", **UNIT), (0.0, 1.0), True),
    "diffprivlib Staircase": (lambda: diffprivlib("Staircase", **UNIT), (0.0, 1.0), True),
    "diffprivlib Geometric": (
        lambda: diffprivlib("Geometric", epsilon=1.0, sensitivity=1), (0, 1), False
    ),
    "diffprivlib Snapping": (
        lambda: diffprivlib("Snapping", **UNIT, lower=-50, upper=50), (0.0, 1.0), False
    ),
    "python-dp laplace": (python_dp_laplace, (0.0, 1.0), False),
    "python-dp bounded sum": (python_dp_sum, ([0.0, 0.0], [0.0, 0.0, 1.0]), False),
    "pure-ldp unary encoding": (pure_ldp, (0, 1), False),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_keep_the_claim_and_bits_leak_where_noise_is_added_in_floats(name):
    make, pair, leaks = CASES[name]
    mechanism = adapted(make(), name)
    settings = {"pair": pair, "trials": 8000, "alpha": 1e-7}
    assert not audit(mechanism, **settings).refuted
    weaker = {"epsilon": 0.3, "relation": "declared"}
    assert audit(mechanism, **settings, **weaker).refuted
    assert audit(through_bits(mechanism), **settings).refuted is leaks


@pytest.mark.parametrize("make", [opendp_laplace, opendp_integers, opendp_response])
def test_a_measurement_that_opendp_wrote_is_the_same_measurement(make, tmp_path):
    dp = pytest.importorskip("opendp.prelude")
    made = make()
    (tmp_path / "it.json").write_text(dp.serialize(made))
    read = find_target(f"opendp:{tmp_path}/it.json").mechanism
    assert read.claims == adapted(made, "it").claims
