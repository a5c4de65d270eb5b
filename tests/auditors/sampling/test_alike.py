"""What a mechanism that is not seeded keeps is found in the law of its outputs, and nothing else.

Sound draws are accused with the probability that is asked for; the levels are those of the rooms
under test, so that the seeds of what is not to be accused leave a chance below 1e-6 in all.
"""

from importlib import import_module
from math import log

import numpy as np
import pytest
from scipy.special import bdtrc

from dpwitness import (
    ContractError,
    EqualityClaim,
    ExpectationClaim,
    Mechanism,
    Subject,
    UtilityClaim,
    check,
)
from dpwitness.auditors.sampling.alike import of_another_law, require_no_clumps
from dpwitness.auditors.sampling.draws import Draws
from dpwitness.auditors.workers import Key

LEVEL, RUNS = 0.05, 1000
LAWS = {
    "numbers": lambda rng, size: rng.laplace(size=(size, 2)),
    "bits": lambda rng, size: rng.random((size, 1)) < 0.9,
    "a constant": lambda rng, size: np.ones((size, 1)),
    "words": lambda rng, size: rng.choice(["a", "b", "c"], (size, 2)),
    "bytes": lambda rng, size: np.array([[b"%d" % x] for x in rng.integers(9, size=size)]),
    "objects": lambda rng, size: np.array(
        [[None, b"", 3][x] for x in rng.integers(3, size=size)], dtype=object
    ).reshape(-1, 1),
    "nothing": lambda rng, size: np.empty((size, 0)),
    "what is no number": lambda rng, size: np.where(rng.random((size, 1)) < 0.2, np.nan, 1.0),
}


@pytest.mark.parametrize("name", LAWS)
def test_independent_draws_of_one_law_are_seldom_of_another(name):
    rng = np.random.default_rng(1)
    law, accused = LAWS[name], 0
    for _ in range(RUNS):
        accused += of_another_law(law(rng, 60), law(rng, 20), LEVEL)
    assert bdtrc(accused - 1, RUNS, LEVEL) > 1e-9 or not accused


@pytest.mark.parametrize("name", LAWS)
def test_independent_draws_come_seldom_in_clumps(name):
    rng = np.random.default_rng(2)
    law, accused = LAWS[name], 0
    for _ in range(200):
        try:
            require_no_clumps([law(rng, 8) for _ in range(16)], LEVEL)
        except ContractError:
            accused += 1
    assert bdtrc(accused - 1, 200, LEVEL) > 1e-9 or not accused


@pytest.mark.parametrize("kept", [-3.0, 0.0, 0.01, 5.0])
def test_a_value_that_is_kept_is_of_another_law(kept):
    alone = np.random.default_rng(3).laplace(size=(64, 1))
    assert of_another_law(np.full((400, 1), kept), alone, 1e-9)
    assert not of_another_law(alone, np.full((0, 1), kept), 1e-9)


@pytest.mark.parametrize("value", [0, 1])
def test_a_bit_that_fell_alike_in_nearly_all_is_of_another_law(value):
    """Twelve of 490 draws that stand alone differ, and none of 4,000 others."""
    alone = np.where(np.arange(490) < 12, 1 - value, value).reshape(-1, 1)
    assert of_another_law(np.full((4000, 1), value), alone, 1e-7)


@pytest.mark.parametrize("dtype", [float, str])
def test_what_each_process_keeps_comes_in_clumps(dtype):
    rng = np.random.default_rng(4)
    processes = [np.full((16, 1), rng.integers(9)).astype(dtype) for _ in range(32)]
    with pytest.raises(ContractError, match=r"draws of D in processes .* 0 to 16 of 16"):
        require_no_clumps(processes, 1e-9, " of D")


@pytest.mark.parametrize("value", [0, 1])
def test_a_likely_coin_of_an_import_comes_in_clumps(value):
    processes = [np.full((16, 1), value if place % 40 else 1 - value) for place in range(320)]
    with pytest.raises(ContractError, match="come in clumps"):
        require_no_clumps(processes, 1e-9)


IMPORTED = """
import numpy as np
OWN = np.random.default_rng()
NOISE, COIN = OWN.laplace(), float(OWN.random() < 0.5)

def noise(database, rng):
    return float(NOISE)

def sum_of_both(database, rng):
    return float(NOISE + 0.01 * np.random.default_rng().normal())

def coin(database, rng):
    return COIN

def vector(database, rng):
    return np.array([np.random.default_rng().normal(), NOISE])
"""


def kept_bit():
    """1 with probability .5, as the first call of a process finds it, for as long as it lives."""
    kept = []

    def answered(database, rng):
        if not kept:
            kept.append(float(np.random.default_rng().random() < 0.5))
        return kept[0]

    return answered


def last(database, output):
    """The last number of each output."""
    found = np.asarray(output, dtype=float)
    return found[..., -1] if found.ndim > 1 else found


def from_above(database, output):
    return np.abs(last(database, output))


def missing(database, output):
    return 1 - last(database, output)


def laplace(database, rng):
    return rng.laplace()


def laplace_claims(run):
    """What a single call promises whose last number is Laplace noise."""
    mechanism = Mechanism(name="imported", run=run, seeded=False)
    return {
        "tail": UtilityClaim(loss=from_above, bound=lambda beta: log(1 / beta), databases=([],)),
        "mean": ExpectationClaim(quantity=last, bound=0.0, low=-30.0, high=30.0, databases=([],)),
        "equality": EqualityClaim(other=laplace, databases=([],)),
    }, mechanism


def bit_claims(run):
    mechanism = Mechanism(name="a bit", run=run, seeded=False)
    return {
        "tail": UtilityClaim(loss=missing, bound=lambda beta: 1.5 - (beta >= 0.1), databases=([],)),
        "mean": ExpectationClaim(quantity=last, bound=0.9, high=1.0, databases=([],)),
    }, mechanism


def accused(claims, mechanism, **options):
    found = []
    for claim in claims.values():
        try:
            found.append(check(Subject(claim=claim, mechanism=mechanism), **options).refuted)
        except ContractError:
            found.append(False)
    return found


@pytest.mark.long
@pytest.mark.parametrize("name", ["noise", "sum_of_both", "vector"])
def test_noise_of_an_import_breaks_no_claim(tmp_path, monkeypatch, name):
    """Five of six such modules were accused of a tail that each keeps."""
    monkeypatch.syspath_prepend(tmp_path)
    for seed in range(3):
        (tmp_path / f"own_{name}_{seed}.py").write_text(IMPORTED)
        claims, mechanism = laplace_claims(getattr(import_module(f"own_{name}_{seed}"), name))
        if name == "vector":
            del claims["equality"]  # of one number
        assert not any(accused(claims, mechanism, trials=3000, seed=seed))


@pytest.mark.long
@pytest.mark.parametrize("name", ["kept", "coin"])
def test_a_bit_that_fell_alike_where_it_was_counted_breaks_no_claim(tmp_path, monkeypatch, name):
    """It falls alike in the 48 processes that are looked at with probability 4e-15."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / f"own_{name}.py").write_text(IMPORTED)
    own = import_module(f"own_{name}")
    draws = Draws(run=kept_bit() if name == "kept" else own.coin, seed=1, seeded=False)
    counted = np.full(3000, 1.0 if name == "kept" else own.COIN)
    draws.counted.entered.append(([], Key(1, 5, "claim", 0), (0, len(counted)), counted))
    with pytest.raises(ContractError, match="come in clumps"):
        draws.gate(refuted=True, unlike=0.5)


@pytest.mark.long
def test_a_false_claim_of_what_keeps_nothing_is_refuted_as_before():
    def wider(database, rng):
        return float(np.random.default_rng().laplace(0.5, 1.5))

    assert accused(*laplace_claims(wider), trials=3000, seed=1) == [True] * 3

    def once_in(probability):
        return lambda database, rng: float(np.random.default_rng().random() < probability)

    assert accused(*bit_claims(once_in(0.8)), trials=3000, seed=1) == [True, False]
    assert accused(*bit_claims(once_in(0.97)), trials=3000, seed=1) == [False, True]
