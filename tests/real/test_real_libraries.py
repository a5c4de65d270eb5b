"""Real libraries, pinned: what they break is refuted, what they keep is not.

    pip install diffprivlib==0.6.6 scikit-learn==1.5.2
    pip install pure-ldp==1.1.2 scikit-learn==1.5.2      (or pure-ldp==1.2.0)
    pytest -m real

The libraries draw from the operating system, so these are fresh experiments each time: a sound
one is refuted with probability at most alpha = 1e-7, and the power of every refutation is beyond
1 - 1e-7 at these numbers of draws.
"""

from importlib.metadata import PackageNotFoundError, version

import pytest

from dpwitness import audit

pytestmark = pytest.mark.real


def need(package, *versions):
    """The installed version, if it is one of those this test knows."""
    try:
        found = version(package)
    except PackageNotFoundError:
        found = "none"
    if found not in versions:
        pytest.skip(f"needs {package} {' or '.join(versions)}, found {found}")
    return found


@pytest.mark.parametrize(("epsilon", "refuted"), [(1.0, False), (0.8, True)])
def test_diffprivlib_geometric_loses_what_it_says(epsilon, refuted):
    need("diffprivlib", "0.6.6")
    from diffprivlib.mechanisms import Geometric

    def geometric(value, rng):
        return Geometric(epsilon=1, sensitivity=1).randomise(value)

    result = audit(
        geometric, pair=(0, 1), epsilon=epsilon, seeded=False, trials=100_000, alpha=1e-7
    )
    assert result.refuted is refuted


def test_pure_ldp_unary_encoding_was_broken_and_is_fixed():
    found = need("pure-ldp", "1.1.2", "1.2.0")
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

    def unary(value, rng):
        return tuple(int(bit) for bit in client.privatise(value))

    client = UEClient(epsilon=1, d=2, index_mapper=lambda value: value)
    result = audit(unary, pair=(0, 1), epsilon=1.0, seeded=False, trials=100_000, alpha=1e-7)
    assert result.refuted is (found == "1.1.2")
