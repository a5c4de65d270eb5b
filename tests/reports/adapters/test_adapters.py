"""Objects made like those of each library; tests/real runs the libraries themselves."""

import json
import sys
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpwitness import ConcentratedCurve, InvalidArgument, Mechanism, Relation, audit
from dpwitness.auditors.errors import EvidenceFormatError
from dpwitness.reports.adapters import adapted, from_model, from_sampler, from_tool
from dpwitness.reports.adapters.opendp import databases_of as opendp_databases
from dpwitness.reports.targets.targets import find_target


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


class Profile:
    """As OpenDP's privacy profile of a Laplace mechanism of scale 1."""

    def epsilon(self, delta):
        return max(0.0, 1 + 2 * np.log(1 - delta))


@pytest.mark.long
@pytest.mark.parametrize(
    ("measure", "mapped", "curve"),
    [
        ("ZeroConcentratedDivergence", 0.125, ConcentratedCurve(0.125)),
        ("Approximate(ZeroConcentratedDivergence)", (0.5, 1e-6), ConcentratedCurve(0.5, 1e-6)),
        ("RenyiDivergence", lambda order: order / 2, "Renyi epsilon 0.625 at order 1.25"),
        ("SmoothedMaxDivergence", Profile(), "the curve of 12 points"),
    ],
)
def test_a_measurement_under_any_measure_brings_its_curve(measure, mapped, curve):
    content = {
        "output_measure": measure,
        "input_metric": "SymmetricDistance()",
        "input_domain": "VectorDomain(AtomDomain(bounds=[0, 10], T=i32))",
        "map": lambda self, d_in: mapped,
        "__call__": lambda self, rows: sum(rows),
    }
    found = adapted(made_by("opendp", **content), "release")
    (claim,) = found.claims
    assert claim.curve == curve or str(claim.curve).startswith(str(curve))
    judged = audit(found, trials=500)  # a sum without noise, and nothing else is said
    assert judged.refuted
    assert all(0 <= value <= 10 for value in judged.witness.database)


@pytest.mark.parametrize(
    ("domain", "metric", "holds"),
    [
        ("AtomDomain(T=f64)", "AbsoluteDistance", lambda a, b: b - a == pytest.approx(2)),
        ("AtomDomain(bounds=[0, 10], T=i32)", "AbsoluteDistance",
         lambda a, b: (b - a == 2) and 0 <= a <= 8),
        ("VectorDomain(AtomDomain(T=f64), size=3)", "L2Distance",
         lambda a, b: np.linalg.norm(np.subtract(a, b)) == 2),
        ("VectorDomain(AtomDomain(T=i32), size=3)", "LInfDistance",
         lambda a, b: np.subtract(b, a).tolist() == [2, 2, 2]),
        ("AtomDomain(T=bool)", "DiscreteDistance", lambda a, b: {a, b} <= {True, False}),
    ],
)  # fmt: skip
def test_pairs_of_plain_input_domains_are_as_far_apart_as_asked(domain, metric, holds):
    @settings(max_examples=20)
    @given(opendp_databases(domain, metric, 2))
    def law(pair):
        assert holds(pair.database, pair.neighbour)

    law()


def test_of_other_input_domains_no_database_is_made_up():
    for domain, metric in (("FrameDomain(..)", "SymmetricDistance"), ("AtomDomain(T=String)", "x"),
                           ("AtomDomain(bounds=[0, 1], T=i32)", "AbsoluteDistance")):  # fmt: skip
        assert opendp_databases(domain, metric, 2) is None


class Measurement:
    """As OpenDP's, with what was asked for."""

    output_measure, input_metric = "MaxDivergence", "SymmetricDistance()"

    def __init__(self, **asked):
        self.asked = asked

    def map(self, d_in):
        return d_in * self.asked["scale"]


@pytest.fixture
def opendp(monkeypatch):
    """A package with a constructor, and beside it what a file must not reach."""
    made = {name: ModuleType(f"opendp.{name}") for name in ("prelude", "measurements", "mod")}
    made["prelude"].enable_features, made["prelude"].Measurement = print, Measurement
    made["measurements"].make_laplace = Measurement
    monkeypatch.setattr(Measurement, "__module__", "opendp.measurements")
    for module in made.values():
        module.run = module.system = module._made = module.make_gaussian = pytest.fail
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(sys.modules, "opendp", ModuleType("opendp"))


def test_a_file_of_opendp_is_a_target(opendp, tmp_path):
    asked = {"scale": 2.0, "bounds": {"__tuple__": [0, 1]}}
    call = {"__function__": "make_laplace", "__module__": "measurements", "__kwargs__": asked}
    (tmp_path / "noisy.json").write_text(json.dumps(call))
    found = find_target(f"opendp:{tmp_path}/noisy.json")
    assert found.name == "noisy"
    assert found.mechanism.claims[0].epsilon == 2.0
    assert found.mechanism.run.args[0].asked == {"scale": 2.0, "bounds": (0, 1)}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"__function__": "run", "__module__": "mod"}', "no constructor"),
        ('{"__function__": "run", "__module__": "measurements"}', "no constructor"),
        ('{"__function__": "_made", "__module__": "measurements"}', "no constructor"),
        ('{"__function__": "make_gaussian", "__module__": "measurements"}', "comes from"),
        ('{"__function__": "deserialize", "__module__": "domains"}', "no constructor"),
        ('{"__function__": ["make_laplace"], "__module__": {}}', "no constructor"),
        ('{"__function__": "make_laplace.mro", "__module__": "measurements"}', "no constructor"),
        ('{"__function__": "make_x", "__module__": "measurements.os"}', "no constructor"),
        ('[{"__function__": "system", "__module__": "mod.os"}]', "no constructor"),
        ('{"__expr__": "gASV"}', "another library"),
        ('{"__function__": "make_geometric", "__module__": "measurements"}', "make_geometric"),
        ('{"scale": 1}', "holds a dict"),
        ("[1, 2", "is not JSON"),
        (None, "no such file"),
    ],
)
def test_a_file_reaches_nothing_but_constructors(opendp, tmp_path, text, sentence):
    path = tmp_path / "it.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises((InvalidArgument, EvidenceFormatError), match=sentence):
        find_target(f"opendp:{path}")


@pytest.mark.parametrize(
    ("home", "content", "database", "relation"),
    [
        ("pydp", {"add_noise": lambda self, x: x}, 3, Relation.DECLARED),
        ("pydp", {"quick_result": lambda self, x: sum(x)}, [1, 2], Relation.ADD_REMOVE),
        ("pure_ldp", {"privatise": lambda self, x: x}, 3, Relation.REPLACE_ONE),
    ],
)
def test_other_objects_bring_their_epsilon(home, content, database, relation):
    found = adapted(made_by(home, epsilon=2, **content), "it")
    (claim,) = found.claims
    assert (claim.epsilon, claim.relation, found.run(database, None)) == (2.0, relation, 3)


def test_no_search_takes_numbers_too_far_apart_for_neighbours():
    found = adapted(made_by("pydp", epsilon=1, add_noise=lambda self, x: x), "it")
    with pytest.raises(InvalidArgument, match="pair"):
        audit(found, databases=st.floats(0, 10), trials=100)


@pytest.mark.parametrize("home", ["pydp", "pure_ldp", "diffprivlib"])
def test_an_object_that_draws_nothing_gets_a_sentence(home):
    with pytest.raises(InvalidArgument, match="Thing"):
        adapted(made_by(home, epsilon=1), "it")


@pytest.mark.parametrize("other", [3, np.array([1]), print, Mechanism(name="m", run=print)])
def test_what_is_of_no_known_library_is_left_alone(other):
    assert adapted(other, "it") is None


def noisy_mean(rows, epsilon, bounds, random_state):
    low, high = bounds
    noise = np.random.default_rng(random_state).laplace(scale=(high - low) / epsilon / len(rows))
    return np.clip(rows, low, high).mean() + noise


class Model:
    """A model that learns the mean of the labels, with noise made for a span of 1."""

    epsilon = 2.0
    random_state = None

    def fit(self, rows, labels):
        self.mean_ = noisy_mean(labels, self.epsilon, (0, 1), self.random_state)


@pytest.mark.long
def test_tools_and_models_are_audited_at_the_relation_that_is_said():
    tool = from_tool(noisy_mean, relation="replace-one", epsilon=0.5, bounds=(0, 1))
    model = from_model(Model(), relation="replace-one", released=["mean_"])
    pairs = {tool: ([0.0, 0.0], [0.0, 1.0]), model: ([[5, 0], [5, 0]], [[5, 0], [5, 1]])}
    for mechanism, pair in pairs.items():
        (claim,) = mechanism.claims
        assert claim.epsilon == (0.5 if mechanism is tool else 2.0)
        assert not audit(mechanism, pair=pair, trials=1500).refuted
        weaker = {"epsilon": claim.epsilon / 4, "relation": "replace-one"}
        assert audit(mechanism, pair=pair, trials=1500, **weaker).refuted


def test_a_callable_of_dataset_and_number_is_a_mechanism():
    own = np.random.default_rng(3)
    sampler = from_sampler(
        lambda rows, n: sum(rows) + own.laplace(size=n), epsilon=1.0, relation="add-remove"
    )
    assert not audit(sampler, pair=([0], [0, 1]), trials=1500).refuted
    weaker = {"epsilon": 0.3, "relation": "add-remove"}
    assert audit(sampler, pair=([0], [0, 1]), trials=1500, **weaker).refuted
