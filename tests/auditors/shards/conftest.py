"""Tiny audits on one given pair, so that nothing is searched for."""

from dataclasses import replace

import pytest

from dpwitness.auditors.privacy.run import audit_claims
from dpwitness.auditors.sampling.sampling import Sampler

SMALL = {"pair": ([], [1]), "trials": 2000, "seed": 5}


def noisy_count(database, rng):
    """The count with Laplace noise; the claim decides whether it is sound."""
    return len(database) + rng.laplace()


noisy_count.block = 64


def essence(results):
    return [replace(result, seconds=0.0) for result in results]


@pytest.fixture(params=[1.0, 0.7, 0.2], ids=["sound", "broken", "gross"])
def small(request):
    """A mechanism, options of an audit of it, and its results in one undisturbed process."""
    options = {**SMALL, "epsilon": request.param}
    return noisy_count, options, essence(audit_claims(noisy_count, **options))


@pytest.fixture
def asked(monkeypatch):
    """How many draws workers were asked for, request by request."""
    sizes, ask = [], Sampler._asked

    def noted(self, pair, calls, event, asks, returned, jobs):
        sizes.extend(block.size for block, *_ in jobs)
        return ask(self, pair, calls, event, asks, returned, jobs)

    monkeypatch.setattr(Sampler, "_asked", noted)
    return sizes
