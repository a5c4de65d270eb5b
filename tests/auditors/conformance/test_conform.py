"""Laws and the tests against them: every sampler that follows its law is left alone."""

import numpy as np
import pytest

from dpwitness.auditors.conformance import conform, parse_law
from dpwitness.auditors.errors import InvalidArgument
from dpwitness.auditors.results.results import Verdict


def whole(rng, scale, size):
    p = -np.expm1(-1 / scale)
    return rng.geometric(p, size) - rng.geometric(p, size)


SAMPLERS = {
    "laplace(1.5)": lambda r, n: r.laplace(0, 1.5, n),
    "gaussian(2)": lambda r, n: r.normal(0, 2, n),
    "uniform(-1, 3)": lambda r, n: r.uniform(-1, 3, n),
    "bernoulli(0.3)": lambda r, n: r.random(n) < 0.3,
    "constant(2)": lambda r, n: np.full(n, 2.0),
    "discrete-laplace(20)": lambda r, n: whole(r, 20, n),
    "discrete-laplace(20) + discrete-laplace(20)": lambda r, n: whole(r, 20, n) + whole(r, 20, n),
    "0.5 * discrete-laplace(3) - 0.25": lambda r, n: 0.5 * whole(r, 3, n) - 0.25,
    "7 - 2 * laplace(1)": lambda r, n: 7 - r.laplace(0, 2, n),
    "laplace(1) + gaussian(2)": lambda r, n: r.laplace(0, 1, n) + r.normal(0, 2, n),
    "laplace(1) - discrete-laplace(2)": lambda r, n: r.laplace(0, 1, n) - whole(r, 2, n),
    "mix(0.9, laplace(1), 0.1, gaussian(9))": lambda r, n: np.where(
        r.random(n) < 0.9, r.laplace(0, 1, n), r.normal(0, 9, n)
    ),
    "scipy.gamma(2, scale=3)": lambda r, n: r.gamma(2, 3, n),
    "scipy.binom(10, 0.3)": lambda r, n: r.binomial(10, 0.3, n),
}
NEAR = {
    "laplace(1.5)": lambda r, n: r.laplace(0, 1.6, n),
    "gaussian(2)": lambda r, n: r.standard_t(30, n) * 2,
    "discrete-laplace(20)": lambda r, n: np.round(r.laplace(0, 21.5, n)),
    "bernoulli(0.3)": lambda r, n: r.random(n) < 0.32,
    "laplace(1) + gaussian(2)": lambda r, n: r.laplace(0, 1.3, n) + r.normal(0, 2, n),
    "mix(0.9, laplace(1), 0.1, gaussian(9))": lambda r, n: np.where(
        r.random(n) < 0.88, r.laplace(0, 1, n), r.normal(0, 9, n)
    ),
}


@pytest.mark.parametrize("text", SAMPLERS)
def test_who_follows_the_law_is_not_refuted_and_brackets_are_right(text):
    # Refuted by luck with probability at most 1e-9 each.
    law = parse_law(text)
    draws = np.asarray(SAMPLERS[text](np.random.default_rng(1), 20_000), dtype=float)
    assert conform(draws, law, name=text, alpha=1e-9).verdict is Verdict.NOT_REFUTED
    points = np.linspace(-30, 30, 13)
    (low, high), (under, over) = law.up_to(points), law.below(points)
    assert (low <= high).all()
    assert (np.diff(low) >= -1e-9).all()
    assert (over <= high + 1e-9).all()
    assert (high - low < 0.01).all()
    assert (over - under < 0.01).all()


@pytest.mark.parametrize("text", NEAR)
def test_who_is_near_the_law_is_refuted_by_enough_draws(text):
    # Fixed seed; the power of each is beyond 1 - 1e-6 at this size.
    draws = np.asarray(NEAR[text](np.random.default_rng(2), 200_000), dtype=float)
    found = conform(draws, parse_law(text), name=text, alpha=1e-9)
    assert found.verdict is Verdict.REFUTED
    assert found.findings[0].error <= found.findings[0].spent


@pytest.mark.parametrize(
    ("text", "draws", "test"),
    [
        ("discrete-laplace(2)", lambda r: r.laplace(0, 2, 1000), "support"),
        ("2 * discrete-laplace(2)", lambda r: whole(r, 4, 1000), "support"),
        ("laplace(1)", lambda r: np.append(r.laplace(0, 1, 1000), np.nan), "support"),
        ("laplace(1)", lambda r: np.repeat(r.laplace(0, 1, 1000), 2), "independence"),
        ("laplace(1)", lambda r: np.tile(r.laplace(0, 1, 1000), 2), "independence"),
    ],
)
def test_impossible_values_and_copies_are_called_so(text, draws, test):
    found = conform(draws(np.random.default_rng(3)), parse_law(text), name=text)
    assert found.verdict is Verdict.REFUTED
    assert found.findings[0].test == test


@pytest.mark.long
def test_alpha_holds():
    # 300 samples at a alpha rate of .05: 39 refutations or more have probability below 1e-7.
    rng, law = np.random.default_rng(4), parse_law("discrete-laplace(2)")
    found = [conform(whole(rng, 2, 300), law, name="law", alpha=0.05) for _ in range(300)]
    assert sum(one.verdict is Verdict.REFUTED for one in found) < 39


def test_few_draws_are_inconclusive_and_fewer_are_refused():
    law = parse_law("laplace(1)")
    draws = np.random.default_rng(5).laplace(0, 1, 100)
    assert conform(draws, law, name="laplace").verdict is Verdict.INCONCLUSIVE
    for wrong in (draws[:5], draws.reshape(50, 2), np.array(["a"] * 30)):
        with pytest.raises(InvalidArgument):
            conform(wrong, law, name="laplace")


@pytest.mark.parametrize(
    "text",
    [
        "", "3", "laplac(1)", "laplace()", "laplace(0)", "laplace(-1)", "laplace(1, 2, 3)",
        "laplace(1) * laplace(1)", "0 * laplace(1)", "laplace(1) / 0", "laplace(laplace(1))",
        "__import__('os').system('true')", "scipy._continuous(1)", "scipy.norm(1, -1)",
        "scipy.sum(3)",
        "mix(0.5, laplace(1))", "mix(0.5, laplace(1), 0.5, 2)", "bernoulli(2)", "uniform(1, 0)",
        "lambda: 1", "[1]", "laplace(1) if 1 else 2", "laplace(True)", "laplace(1e400)",
        "(" * 500, "discrete-laplace(1e9)", "-" * 300 + "1",
    ],
)  # fmt: skip
def test_what_is_no_law_gets_a_sentence(text):
    with pytest.raises(InvalidArgument) as caught:
        parse_law(text)
    assert "\n" not in str(caught.value)
