"""What mechanisms are measured against does the same; nothing is timed here."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpwitness.mechanisms import catalogue
from dpwitness.mechanisms.model.domains import Asked

CATALOGUE = tuple(one for one in catalogue.CATALOGUE if not isinstance(one.databases, Asked))

DRAWS = 4_000


@pytest.fixture
def draws_module(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[2] / "benchmarks")
    import draws

    return draws


@pytest.mark.parametrize("mechanism", CATALOGUE, ids=lambda m: m.name)
def test_the_baseline_draws_the_same(draws_module, mechanism):
    database = draws_module.database_of(mechanism)
    rng = np.random.default_rng(20240601)
    plain = draws_module.baseline_of(mechanism)(database, rng, DRAWS)
    ours = mechanism(database, rng, size=DRAWS)
    assert np.shape(plain) == np.shape(ours)
    assert plain.dtype.kind in (ours.dtype.kind, "i" if ours.dtype.kind == "f" else "f")
    if ours.dtype.kind == "U":
        plain, ours = (np.searchsorted(np.unique(ours), one) for one in (plain, ours))
    plain, ours = plain.astype(float), ours.astype(float)
    require_equal_means(np.isnan(plain), np.isnan(ours))
    plain, ours = np.nan_to_num(plain), np.nan_to_num(ours)
    require_equal_means(plain, ours)
    centre = ours.mean(axis=0)
    require_equal_means((plain - centre) ** 2, (ours - centre) ** 2)


def require_equal_means(one, two):
    """Within six standard errors, for every number of the output."""
    apart = np.abs(one.mean(axis=0) - two.mean(axis=0))
    assert (apart <= 6 * np.sqrt((one.var(axis=0) + two.var(axis=0)) / DRAWS) + 1e-9).all()


def test_every_baseline_is_for_a_mechanism(draws_module):
    assert draws_module.BASELINES.keys() == {mechanism.name for mechanism in CATALOGUE}


def test_a_mechanism_without_a_baseline_is_named(draws_module, monkeypatch):
    monkeypatch.setattr(draws_module, "CATALOGUE", (replace(CATALOGUE[0], name="new"),))
    with pytest.raises(SystemExit, match=r"^new has no baseline: write one in "):
        draws_module.main(10)


def test_a_slow_mechanism_fails_the_run(draws_module, monkeypatch, capsys):
    monkeypatch.setattr(draws_module, "CATALOGUE", CATALOGUE[:2])
    measured = iter([(1.0, 0.2, 0.1), (2.0, 0.1, 0.1)])
    monkeypatch.setattr(draws_module, "measure", lambda mechanism, draws: next(measured))
    with pytest.raises(SystemExit, match=r"^at least 10 times slower .*: laplace-vector$"):
        draws_module.main(10)
    table = capsys.readouterr().out.splitlines()
    assert [line.split()[4] for line in table[1:]] == ["ok", "SLOW"]
