"""The page of an estimate: which claims are ruled out, and what the mechanism itself states."""

import json
from math import exp, inf

import numpy as np
import pytest
from scipy.special import ndtr

import dpwitness
from dpwitness import GaussianCurve, PrivacyClaim, Relation
from dpwitness.reports.faces.as_html import contradicted, curve_caption, stated_deltas

PAIR = {"pair": ([], [1]), "relation": "add-remove"}
RELEASE = """
import dpwitness

@dpwitness.claims(mu=1.0, relation="add-remove")
def narrow(database, rng, *, size=None):
    return sum(database) + rng.normal(scale=0.7, size=size)
"""


def test_what_a_claim_leaves_to_delta_is_what_theory_says():
    epsilons = [0.0, 0.5, 1.0, 1.5]
    pure = PrivacyClaim(epsilon=1.0, relation=Relation.DECLARED)
    # Randomized response is the worst mechanism of its epsilon (Kairouz, Oh and Viswanath, 2015).
    worst = [max(0.0, (exp(1) - exp(e)) / (1 + exp(1))) for e in epsilons]
    assert stated_deltas(pure, epsilons) == pytest.approx(worst, abs=1e-12)
    leak = PrivacyClaim(epsilon=1.0, delta=0.1, relation=Relation.DECLARED)
    assert stated_deltas(leak, [1.0, 3.0]) == pytest.approx([0.1, 0.1])
    mu = PrivacyClaim.of_curve(GaussianCurve(1.0), Relation.DECLARED)
    true = [ndtr(0.5 - e) - exp(e) * ndtr(-0.5 - e) for e in epsilons]
    assert stated_deltas(mu, epsilons) == pytest.approx(true, rel=0.01)


def noise(scale):
    def run(database, rng, *, size=None):
        return sum(database) + rng.normal(scale=scale, size=size)

    return run


@pytest.mark.long
@pytest.mark.parametrize(("scale", "false"), [(1.0, False), (0.7, True)])
def test_a_claim_below_the_proved_edge_is_told_to_be_false(scale, false):
    claim = PrivacyClaim.of_curve(GaussianCurve(1.0), Relation.ADD_REMOVE)
    other = PrivacyClaim(epsilon=0.1, relation=Relation.REPLACE_ONE)
    carried = dpwitness.Mechanism(name="noise", run=noise(scale), claims=(other, claim))
    made = dpwitness.estimate(carried, curve=True, trials=20_000, **PAIR)
    assert made.claims == (claim,)
    assert contradicted(made, claim) == false
    assert ("so the claim is false" in curve_caption(made)) == false
    assert "mu 1" in curve_caption(made)


@pytest.mark.long
def test_the_page_is_saved_with_and_without_a_curve(tmp_path):
    for name, asked, pictures in (("with", {"delta": 0.01}, 2), ("without", {}, 1)):
        made = dpwitness.estimate(noise(1.0), trials=8000, **PAIR, **asked)
        made.save(tmp_path / f"{name}.html")
        text = (tmp_path / f"{name}.html").read_text("utf-8")
        assert text.count("<svg") == pictures
        assert ("Claims that these runs rule out" in text) == bool(asked)
        made.save(tmp_path / f"{name}.json")
        data = json.loads((tmp_path / f"{name}.json").read_text("utf-8"))
        assert data["estimate"]["epsilon_lower"] == made.epsilon_lower
    with pytest.raises(dpwitness.InvalidArgument, match=r"\.json"):
        made.save(tmp_path / "x.md")


def test_nothing_shown_still_makes_a_page(tmp_path):
    def constant(database, rng, *, size=None):
        return np.zeros(() if size is None else size)

    made = dpwitness.estimate(constant, curve=True, trials=2000, **PAIR)
    made.save(tmp_path / "page.html")
    assert "No privacy loss" in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.long
def test_a_mechanism_that_gives_its_input_away_is_drawn(tmp_path):
    def naked(database, rng, *, size=None):
        return np.full(() if size is None else size, float(len(database)))

    made = dpwitness.estimate(naked, delta=1e-5, mu=True, rho=True, trials=4000, **PAIR)
    assert made.curve.delta_lower[-1] > 0
    assert made.curve.rho_lower < inf
    made.save(tmp_path / "page.html")
    assert "<svg" in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.long
def test_the_command_line_writes_the_page(run, tmp_path):
    (tmp_path / "release.py").write_text(RELEASE)
    asked = ("--curve", "--pair", "[]", "[1]", "--trials", "8000")
    done = run("estimate", "release.py:narrow", *asked, "-o", "page.html", "-o", "e.json")
    assert done.exit_code == 0, done.output
    text = (tmp_path / "page.html").read_text("utf-8")
    assert "so the claim is false" in text
    assert "replay e.json release.py:narrow" in text
    wrong = run("estimate", "release.py:narrow", "-o", "page.txt")
    assert (wrong.exit_code, ".json, .html" in wrong.output) == (2, True)
