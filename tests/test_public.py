"""The public surface: what a user may import from dpwitness, and how it answers mistakes."""

import ast
import dataclasses
import inspect
import re
import subprocess
import sys
import typing
from pathlib import Path

import numpy as np
import pytest
from hypothesis.strategies import SearchStrategy

import dpwitness

ROOT = Path(__file__).resolve().parents[1]
VALUES = {"__version__", "Claim", "Domain", "Law"}
"""A string and unions of types: these carry no docstring of their own."""
every_name = pytest.mark.parametrize("name", dpwitness.__all__)
HERE = {"relation": "add-remove", "pair": ([], [1])}
FUNCTIONS = [name for name in dpwitness.__all__ if name.islower() and name not in VALUES]


def fresh(code):
    """What a new interpreter prints; this one has everything loaded already."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT / "tests",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@every_name
def test_every_public_name_can_be_imported_and_is_documented(name):
    found = getattr(dpwitness, name)
    if name not in VALUES:
        assert inspect.getdoc(found), name
        assert found.__module__.startswith("dpwitness.")


def test_type_checkers_are_told_the_same_names():
    source = ast.parse((ROOT / "dpwitness" / "__init__.py").read_text(encoding="utf-8"))
    told = next(one for one in source.body if ast.unparse(one).startswith("if TYPE_CHECKING"))
    assert isinstance(told, ast.If)
    imported = {
        (node.module, alias.name)
        for node in told.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert {name for _, name in imported} == set(dpwitness.__all__) - {"__version__"}
    for module, name in imported:
        home = sys.modules[f"dpwitness.{module}"] if getattr(dpwitness, name) is not None else None
        assert getattr(home, name) is getattr(dpwitness, name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures_are_written_out(name):
    function = getattr(dpwitness, name)
    hints = typing.get_type_hints(function, localns={"SearchStrategy": SearchStrategy})
    parameters = inspect.signature(function).parameters
    assert hints["return"] is not typing.Any
    for parameter in parameters.values():
        assert parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        assert parameter.name in hints
    free = [hint for key, hint in hints.items() if hint is typing.Any]
    assert len(free) < len(hints) - 1 or len(hints) <= 3


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_argument_is_documented(name):
    function = getattr(dpwitness, name)
    told = inspect.getdoc(function)
    for argument in inspect.signature(function).parameters:
        assert re.search(rf"`{argument}[`=]|:param {argument}:", told), argument


def test_the_names_that_most_people_need_come_first():
    told = inspect.getdoc(dpwitness)
    for name in dpwitness.__all__[:6]:
        assert f"\n    {name} " in told


@pytest.mark.slow
def test_every_result_is_a_report_a_line_and_a_view():
    rng = np.random.default_rng(0)  # some numbers, whatever they say
    inside, outside = rng.normal(2, 1, 300), rng.normal(0, 1, 300)
    refuted = dpwitness.audit(
        noisy, epsilon=0.1, distance=9, **{**HERE, "pair": ([], [1] * 9)}, trials=2000
    )
    assert refuted.witness is not None
    results = [
        refuted,
        dpwitness.audit_claims(noisy, epsilon=9, **HERE, trials=100),
        refuted.witness,
        dpwitness.estimate(noisy, **HERE, trials=1000),
        dpwitness.plan(epsilon=1, notice=1.5),
        dpwitness.judge(inside, list(outside), epsilon=1),
        dpwitness.scores(inside, outside, delta=1e-5),
        dpwitness.scores_of_one_run([*inside, *outside], [1] * 300 + [0] * 300, delta=1e-5),
        dpwitness.guesses_of_one_run(1000, 100, 80, delta=1e-5),
        dpwitness.check("EM-3.12", trials=1000),
        dpwitness.reproduce("EM-3.12", trials=10_000),
        dpwitness.mutants(noisy, epsilon=1, **HERE, trials=100),
    ]
    for one in results:
        assert "\n" not in repr(one)
        assert len(repr(one)) < 300
        assert str(one) != repr(one)
        assert max(map(len, str(one).splitlines())) <= 100
        assert "<" in one._repr_html_()
    (again,) = dpwitness.replay(refuted, noisy)
    assert repr(again) == "<replay: refuted, as recorded>"


def test_recorded_outputs_are_judged_alike_however_they_are_held():
    rng = np.random.default_rng(1)  # any
    outputs = rng.laplace(0, 1, 400), rng.laplace(3, 1, 400)
    bounds = {
        dpwitness.judge(*map(held, outputs), epsilon=0.5).epsilon_lower
        for held in (np.asarray, list, np.ndarray.tolist, tuple, lambda one: one[:, None])
    }
    assert len(bounds) == 1
    with pytest.raises(dpwitness.InvalidArgument, match="an entry for each run"):
        dpwitness.judge("d.csv", outputs[0], epsilon=1)


def test_importing_it_loads_nothing_heavy():
    loaded = set(fresh("import sys, dpwitness; print(*sys.modules)").split())
    assert not loaded & {"numpy", "scipy", "hypothesis", "click"}
    assert {name for name in loaded if name.startswith("dpwitness")} == {"dpwitness"}


@pytest.mark.parametrize(
    ("name", "unneeded"),
    [
        ("InvalidArgument", {"numpy", "scipy", "hypothesis", "dpwitness.mechanisms"}),
        ("Mechanism", {"scipy", "hypothesis", "dpwitness.auditors"}),
        ("Pair", {"scipy", "hypothesis", "dpwitness.mechanisms.catalogue"}),
        (
            "audit",
            {
                "matplotlib",
                "click",
                "scipy.optimize",
                "dpwitness.mechanisms.catalogue",
                "dpwitness.reports",
            },
        ),
    ],
)
def test_a_name_loads_what_it_needs_only(name, unneeded):
    loaded = fresh(f"import sys, dpwitness; dpwitness.{name}; print(*sys.modules)").split()
    assert not set(loaded) & unneeded


def test_a_misspelt_name_is_answered_with_the_nearest():
    with pytest.raises(AttributeError, match="did you mean audit"):
        dpwitness.audti  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean Mechanism"):
        dpwitness.mechanism  # noqa: B018
    with pytest.raises(ImportError, match="Witnes"):
        exec("from dpwitness import Witnes")


def test_it_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "dpwitness", "--version"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT / "tests",
    )
    assert (done.returncode, done.stdout.strip()) == (0, f"dpwitness {dpwitness.__version__}")


def noisy(database, rng):
    return len(database) + rng.laplace()


@pytest.mark.parametrize(
    ("function", "given", "nearest"),
    [
        ("audit", {"eps": 1.0}, "epsilon"),
        ("audit", {"trails": 500}, "trials"),
        ("audit", {"samples": 500}, "trials"),
        ("audit", {"neighbouring": "add-remove"}, "relation"),
        ("audit_claims", {"epsilom": 1.0}, "epsilon"),
        ("check", {"alhpa": 0.1}, "alpha"),
        ("replay", {"n_jobs": 2}, "workers"),
    ],
)
def test_an_unknown_keyword_is_answered_with_the_nearest(function, given, nearest):
    with pytest.raises(TypeError, match=rf"takes no .*did you mean {nearest}\?") as caught:
        getattr(dpwitness, function)(noisy, **given)
    assert isinstance(caught.value, dpwitness.InvalidArgument)


def test_an_estimate_asked_for_an_epsilon_says_who_takes_it():
    with pytest.raises(dpwitness.UnknownArgument, match="tests no claim; audit takes epsilon"):
        dpwitness.estimate("laplace", epsilon=1)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"epsilon": "1"}, r"epsilon must be a number or None, got '1' \(str\)"),
        ({"epsilon": True}, r"epsilon must be a number or None, got True \(bool\)"),
        ({"trials": 1.5}, r"trials must be a whole number, got 1.5 \(float\)"),
        ({"trials": "many"}, r"trials must be a whole number, got 'many' \(str\)"),
        ({"alpha": None}, r"alpha must be a number, got None"),
        (
            {"relation": 3},
            r"relation must be a Relation, 'add-remove', 'replace-one', 'declared' or None, "
            r"got 3 \(int\)",
        ),
        ({"relation": "addremove"}, r"did you mean add-remove\?"),
        ({"pair": ([], [1], [2])}, r"pair must be a Pair, a tuple of 2 or None"),
        ({"progress": 1}, r"progress must be a function or None, got 1 \(int\)"),
        ({"relation": None}, r"give it with relation="),
        ({"epsilon": None}, r"state one with epsilon="),
        ({"pair": None}, r"databases=, or two databases with pair="),
    ],
)
def test_a_wrong_value_is_answered_in_the_words_of_python(given, sentence):
    asked = {"epsilon": 1.0, "relation": "add-remove", "pair": ([], [1]), "trials": 100, **given}
    if given == {"relation": None}:
        asked["pair"] = None
    with pytest.raises(dpwitness.InvalidArgument, match=sentence) as caught:
        dpwitness.audit(noisy, **asked)
    assert "--" not in str(caught.value)


def test_whole_numbers_may_be_written_as_floats_and_numpy_numbers():
    import numpy as np

    asked = {"epsilon": np.float32(2), "relation": "add-remove", "pair": ([], [1])}
    one = dpwitness.audit(noisy, **asked, trials=1e3, seed=np.int64(1))
    two = dpwitness.audit(noisy, **asked, trials=1000, seed=1)
    assert one.evidence.counts == two.evidence.counts


@pytest.mark.slow
def test_a_result_is_replayed_from_python(tmp_path):
    from dpwitness.reports.record import evidence

    result = dpwitness.audit(noisy, epsilon=0.5, relation="add-remove", pair=([], [1]), trials=5000)
    document = evidence.document([result], replay="")
    path = tmp_path / "evidence.json"
    path.write_text(evidence.to_text(document))
    for recorded in (result, document, path, str(path)):
        (again,) = dpwitness.replay(recorded, noisy)
        assert again.same
        assert again.counts == result.evidence.counts
    with pytest.raises(dpwitness.InvalidArgument, match="names no target; give the mechanism"):
        dpwitness.replay(result)
    with pytest.raises(dpwitness.EvidenceFormatError, match="no field 'schema'"):
        dpwitness.replay({}, noisy)


OF_FIELDS = [one for one in dpwitness.__all__ if dataclasses.is_dataclass(getattr(dpwitness, one))]


@pytest.mark.parametrize("name", OF_FIELDS)
def test_every_public_class_answers_a_wrong_field_in_words(name):
    made = getattr(dpwitness, name)
    with pytest.raises(dpwitness.UnknownArgument, match=f"{name} takes no 'nonsense'"):
        made(nonsense=1)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: dpwitness.PrivacyClaim(epsilon=1), "PrivacyClaim: it needs relation= too"),
        (lambda: dpwitness.PrivacyClaim(1, "add-remove"), "by name, such as epsilon="),
        (lambda: dpwitness.Pair([1]), "Pair: it needs neighbour= too"),
        (lambda: dpwitness.UtilityClaim(loss=1, bound=2), r"loss must be a function, got 1 \(int"),
        (lambda: dpwitness.Mechanism(name="m", run=[]), r"run must be a function, got \[\] "),
        (
            lambda: dpwitness.UtilityClaim(loss=max, bound=abs, databases=3),
            r"databases must be a tuple, got 3 \(int\)",
        ),
        (lambda: dpwitness.reproduce("EM-3.12", set={}), "did you mean parameters"),
        (lambda: dpwitness.Interval(low="0", high=1), r"low must be a number, got '0' \(str\)"),
        (lambda: dpwitness.Rows(row=int), "row must be an Interval, a Choices, "),
        (lambda: dpwitness.RenyiCurve("2:1"), "bounds must be a tuple"),
        (lambda: dpwitness.scores(3, 4, delta=1e-5), "must be numbers, as a list or an array"),
        (lambda: dpwitness.add_remove(3), "must be a Hypothesis strategy"),
    ],
)
def test_a_class_says_what_it_takes(call, sentence):
    with pytest.raises(dpwitness.InvalidArgument, match=sentence):
        call()
