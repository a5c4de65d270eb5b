"""Objects made like those of each library; tests/real runs the libraries themselves."""

import numpy as np
import pytest

from dpwitness import InvalidArgument, Mechanism, Relation
from dpwitness.reports.adapters import adapted


def made_by(home, **content):
    """An object whose class says it comes from a module of that library."""
    return type("Thing", (), {"__module__": f"{home}.inner", **content})()


def test_a_measurement_brings_the_claim_of_its_map():
    content = {
        "output_measure": "Approximate(MaxDivergence)",
        "input_metric": "SymmetricDistance()",
        "map": lambda self, d_in: (0.5 * d_in, 1e-6),
        "__call__": lambda self, rows: sum(rows),
    }
    found = adapted(made_by("opendp", **content), "release")
    (claim,) = found.claims
    assert (claim.epsilon, claim.delta, claim.relation) == (0.5, 1e-6, Relation.ADD_REMOVE)
    assert not found.seeded
    assert found.run([1, 2], None) == 3
    with pytest.raises(InvalidArgument, match="convert it"):
        adapted(made_by("opendp", **{**content, "output_measure": "ZeroConcentrated"}), "release")


@pytest.mark.parametrize(
    ("home", "content", "database", "relation"),
    [
        ("pydp", {"add_noise": lambda self, x: x}, 3, Relation.REPLACE_ONE),
        ("pydp", {"quick_result": lambda self, x: sum(x)}, [1, 2], Relation.ADD_REMOVE),
        ("pure_ldp", {"privatise": lambda self, x: x}, 3, Relation.REPLACE_ONE),
    ],
)
def test_other_objects_bring_their_epsilon(home, content, database, relation):
    found = adapted(made_by(home, epsilon=2, **content), "it")
    (claim,) = found.claims
    assert (claim.epsilon, claim.relation, found.run(database, None)) == (2.0, relation, 3)


@pytest.mark.parametrize("home", ["pydp", "pure_ldp", "diffprivlib"])
def test_an_object_that_draws_nothing_gets_a_sentence(home):
    with pytest.raises(InvalidArgument, match="Thing"):
        adapted(made_by(home, epsilon=1), "it")


@pytest.mark.parametrize("other", [3, np.array([1]), print, Mechanism(name="m", run=print)])
def test_what_is_of_no_known_library_is_left_alone(other):
    assert adapted(other, "it") is None
