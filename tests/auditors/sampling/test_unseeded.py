"""Mechanisms with randomness of their own: what a process keeps is no independent draw."""

from importlib import import_module

import numpy as np
import pytest

from dpwitness import ContractError, audit
from dpwitness.auditors.events.events import HalfLine
from dpwitness.auditors.outputs.features import Feature
from dpwitness.auditors.sampling.draws import Draws
from dpwitness.auditors.sampling.sampling import Sampler
from dpwitness.auditors.sampling.unseeded import require_alike


class Kept:
    """Noise that is drawn at the first call; `again` is how much of it each call draws anew."""

    def __init__(self, again=0.0, words=""):
        self.again, self.words, self.noise = again, words, None

    def __call__(self, database, rng):
        own = np.random.default_rng()
        if self.noise is None:
            self.noise = own.choice(list(self.words)) if self.words else own.laplace()
        if self.words:
            return str(self.noise)
        return len(database) + self.noise + self.again * own.laplace()


def noisy(database, rng):
    return len(database) + np.random.default_rng().laplace()


def label(database, rng):
    return "ab"[np.random.default_rng().random() < 0.3]


def rare(database, rng):
    return bool(np.random.default_rng().random() < 0.01)


def constant(database, rng):
    return 1.0


BEFORE = np.random.default_rng()


def copied(database, rng):
    """Each process has a copy of one generator."""
    return len(database) + BEFORE.laplace()


WORDS = "".join(map(chr, range(0x4E00, 0x4E00 + 10_000)))
KEPT = [Kept(), Kept(0.05), Kept(1.0), Kept(words=WORDS)]
SOUND = [noisy, label, rare, constant, copied]


@pytest.mark.parametrize("run", KEPT[:1] + KEPT[3:], ids=["number", "word"])
def test_one_answer_in_each_process_is_a_broken_contract(run):
    """All four processes draw one of 10,000 words with probability 1e-12: then none is seen."""
    with pytest.raises(ContractError, match="one answer in each process"):
        audit(run, pair=([], [1]), epsilon=1, relation="add-remove", seeded=False, trials=500)


@pytest.mark.parametrize("run", KEPT, ids=["number", "some", "more", "word"])
def test_claims_beside_privacy_count_nothing_that_processes_keep(run):
    with pytest.raises(ContractError, match=r"one answer in each process|not independent"):
        Draws(run=run, seed=1, seeded=False).array([1], "claim", 0, 4000)


@pytest.mark.parametrize(
    "run", [SOUND[0], *(pytest.param(run, marks=pytest.mark.long) for run in SOUND[1:])]
)
def test_what_is_drawn_anew_is_counted(run):
    """By chance one of them fails with probability below 2e-7."""
    draws = Draws(run=run, seed=1, seeded=False)
    assert len(draws.array([1], "claim", 0, 4000)) == 4000
    draws.gate(refuted=True)


def kept_bit():
    """Fresh noise beside a fair bit that a process keeps for each database."""
    kept = {}

    def answered(database, rng):
        own = np.random.default_rng()
        place = len(database)
        if place not in kept:
            kept[place] = own.integers(2)
        return 100 * kept[place] + own.random()

    return answered


def beside_alone(run, counted):
    sampler = Sampler(run=run, seeded=False, seed=1)
    require_alike(
        sampler.door, ([], [1]), sampler.calls("attempt"), HalfLine(Feature(), 50.0, True), counted,
        each=32, seconds=60.0, seed=1,
    )  # fmt: skip


@pytest.mark.long
def test_a_bit_that_fell_alike_in_a_few_processes_refutes_nothing():
    """Of 64 fair bits fewer than 4 speak against it with probability 2e-15."""
    for counted in (((4000, 4000), (0, 4000)), ((0, 4000), (4000, 4000))):
        with pytest.raises(ContractError, match="each came from a process of its own"):
            beside_alone(kept_bit(), counted)


@pytest.mark.long
def test_a_global_generator_is_another_in_each_process():
    """A constant beside it hides that processes have copies, and none draws as another does."""

    def answered(database, rng):
        return 100.0 * (bool(database) and np.random.random() < 0.5)  # noqa: NPY002

    for state in range(8):
        np.random.seed(state)  # noqa: NPY002
        beside_alone(answered, ((0, 4000), (2000, 4000)))


@pytest.mark.long
def test_draws_that_remember_nothing_may_refute():
    def answered(database, rng):
        return 100.0 * (np.random.default_rng().random() < (0.75 if database else 0.25))

    beside_alone(answered, ((1000, 4000), (3000, 4000)))  # accused with probability 1e-8
    beside_alone(lambda database, rng: 100.0 * len(database), ((0, 4000), (4000, 4000)))


@pytest.mark.long
def test_an_audit_refutes_what_leaks_and_remembers_nothing():
    found = audit(
        lambda database, rng: len(database) + np.random.default_rng().laplace(0, 0.3),
        pair=([], [1]), epsilon=1, relation="add-remove", seeded=False, trials=2000,
    )  # fmt: skip
    assert found.refuted  # otherwise with probability below 1e-9: the loss is 3.3


IMPORTED = """
import numpy as np
COIN, NOISE = np.random.default_rng().integers(2), np.random.default_rng().laplace()

def coin(database, rng):
    return 10 * ((len(database) % 2) ^ COIN) + np.random.default_rng().laplace()

def noise(database, rng):
    return len(database) + NOISE

def sum_of_both(database, rng):
    return len(database) + NOISE + 0.01 * np.random.default_rng().laplace()
"""


@pytest.mark.long
@pytest.mark.parametrize("name", ["coin", "noise", "sum_of_both"])
def test_noise_of_an_import_accuses_nobody(tmp_path, monkeypatch, name):
    """A coin falls alike in 32 processes with probability 5e-10."""
    (tmp_path / f"unseeded_{name}.py").write_text(IMPORTED)
    monkeypatch.syspath_prepend(tmp_path)
    run = getattr(import_module(f"unseeded_{name}"), name)
    with pytest.raises(ContractError, match=r"imports? the mechanism's modules anew"):
        audit(run, pair=([], [0]), epsilon=1, relation="add-remove", seeded=False, trials=8000)
