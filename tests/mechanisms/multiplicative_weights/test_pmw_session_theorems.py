"""Few draws of a session tell when one of its noises is not as stated."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

from dpwitness.auditors.claims.check import check
from dpwitness.mechanisms.model import Interaction
from dpwitness.mechanisms.multiplicative_weights import theorems_pmw_privacy as statements
from dpwitness.mechanisms.multiplicative_weights.pmw_session import (
    pmw_interaction,
    pmw_session_mechanism,
)

THEOREMS = {theorem.identifier: theorem for theorem in statements.THEOREMS}
SMALL = 10_000
"""Draws of the small budget."""
NOISES = ("threshold", "query", "answer")


@dataclass
class Scaled:
    """Laplace noise that is scaled by the next of these factors."""

    rng: np.random.Generator
    factors: list

    def laplace(self, scale):
        return self.rng.laplace(scale=scale * self.factors.pop(0))


def broken(*, accuracy, noise_epsilon, updates, noise="", factor=1.0, kept=False):
    """A session with one noise of another scale, or whose threshold outlives an update."""
    core = pmw_interaction(accuracy=accuracy, noise_epsilon=noise_epsilon, updates=updates)
    factors = {name: factor if name == noise else 1.0 for name in NOISES}

    def answer(state, query, rng):
        if state.limit is None:
            drawn = Scaled(rng, [factors["threshold"]]).laplace(state.scale)
            state = replace(state, limit=accuracy / 2 + drawn)
        later = Scaled(rng, [factors["query"], factors["answer"]])
        new, given = core.answer(state, query, later)
        return (replace(new, limit=state.limit) if kept else new), given

    return Interaction(start=core.start, answer=answer, over=core.over)


def judged(identifier, seed, monkeypatch, **fault):
    made = partial(pmw_session_mechanism, opened=partial(broken, **fault))
    monkeypatch.setattr(statements, "pmw_session_mechanism", made)
    theorem = THEOREMS[identifier]
    return check(theorem.at(), trials=SMALL // theorem.costly, alpha=1e-3, seed=seed)


@pytest.mark.long
@pytest.mark.parametrize(
    ("identifier", "fault"),
    [
        *(("PMW-SESSION-BITS", {"noise": "threshold", "factor": x}) for x in (0.5, 0.7)),
        *(("PMW-SESSION-BITS", {"noise": "query", "factor": x}) for x in (0.5, 0.7)),
        ("PMW-SESSION-BITS", {"kept": True}),
        *(("PMW-SESSION-NOISE", {"noise": "answer", "factor": x}) for x in (0.5, 0.7, 1.4)),
    ],
)
def test_few_draws_tell_a_noise_that_is_not_as_stated(identifier, fault, monkeypatch):
    assert judged(identifier, 0, monkeypatch, **fault).refuted


@pytest.mark.long
@pytest.mark.parametrize("identifier", ["PMW-SESSION-BITS", "PMW-SESSION-NOISE"])
@pytest.mark.parametrize("seed", range(3))
def test_a_sound_session_is_not_accused(identifier, seed, monkeypatch):
    # Each by luck with probability 1e-3 at most.
    assert not judged(identifier, seed, monkeypatch).refuted


@pytest.mark.long
@pytest.mark.parametrize("identifier", ["PMW-SESSION-BITS", "PMW-SESSION-NOISE"])
def test_nor_at_the_ends_of_the_parameters(identifier):
    theorem = THEOREMS[identifier]
    for name, one in theorem.parameters.items():
        for end in (one.within.low, one.within.high):
            assert not check(theorem.at(**{name: end}), trials=1000, alpha=1e-4, seed=0).refuted
