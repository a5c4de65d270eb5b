"""Engines change who draws and never what is counted."""

import importlib
import os
import threading
import time
from pathlib import Path

import pytest

from dpwitness import ContractError, InvalidArgument, audit
from dpwitness.auditors.engines import Engine
from dpwitness.auditors.errors import EngineError
from dpwitness.auditors.evidence.conversion import record_of
from dpwitness.reports.targets.targets import find_target

OPTIONS = {"pair": ([], [1]), "epsilon": 0.7, "trials": 4000, "seed": 2}


def scalar(database, rng):
    return len(database) + rng.laplace()


def slow_scalar(database, rng):
    time.sleep(1e-3)
    return len(database) + rng.laplace()


scalar.block = slow_scalar.block = 128


DIES_ONCE = """
import os
from pathlib import Path

def dies_once(database, rng):
    if os.getpid() != {home} and not Path({flag!r}).exists():
        Path({flag!r}).touch()
        os.kill(os.getpid(), 9)
    return len(database) + rng.laplace()

dies_once.block = 128
"""


def essence(result):
    return result.verdict, result.evidence, result.judged, result.draws, result.sketch


@pytest.fixture(scope="module")
def alone():
    return essence(audit(scalar, **OPTIONS))


@pytest.mark.long
@pytest.mark.parametrize("options", [{"workers": 2}, {"workers": 3}, {"in_process": True}])
def test_any_number_of_workers_gives_the_same_counts(options, alone):
    assert essence(audit(scalar, **options, **OPTIONS)) == alone


def lasting(database, rng):
    """A call of 100 us."""
    time.sleep(1e-4)
    return len(database) + rng.laplace()


lasting.block = 64


def test_a_slow_mechanism_gives_the_same_record_wherever_it_is_drawn():
    options = {"pair": ([], [1]), "epsilon": 1.0, "trials": 300, "seed": 3}
    records = [
        {**record_of(audit(lasting, **options, **where)), "seconds": 0}
        for where in (
            {},
            {"workers": 2},
        )
    ]
    assert records[0] == records[1]


@pytest.mark.parametrize(("seconds", "size"), [(1e-6, 13), (0.01, 5), (0.02, 2), (10.0, 1)])
def test_the_cost_of_a_draw_decides_how_many_blocks_travel_together(seconds, size, monkeypatch):
    sizes = []
    monkeypatch.setattr(
        Engine, "_once", lambda self, function, todo, *options: sizes.append(options[-1]) or todo
    )
    list(Engine().results(abs, [(n,) for n in range(100)], workers=2, patience=9, seconds=seconds))
    assert sizes == [size]


@pytest.mark.parametrize("seconds", [1e-6, 0.01, 10.0])
def test_every_job_is_done_once_however_many_travel_together(seconds):
    jobs = [(place,) for place in range(50)]
    found = list(Engine().results(abs, jobs, workers=2, patience=60, seconds=seconds))
    assert sorted(found) == [(place, place) for place in range(50)]


@pytest.mark.long
def test_a_large_database_is_sent_to_a_worker_once_and_changes_nothing(monkeypatch, alone):
    monkeypatch.setattr("dpwitness.auditors.workers.door.LARGE", 1)
    assert essence(audit(scalar, workers=2, **OPTIONS)) == alone


class Elsewhere:
    """Loads a module that the workers do not have."""

    def __reduce__(self):
        return importlib.import_module, ("of_another_machine",)


@pytest.mark.parametrize(
    ("held", "error", "sentence"),
    [
        (threading.Lock(), ContractError, "cannot be sent to workers .*lock"),
        (Elsewhere(), EngineError, "cannot load the mechanism .*'of_another_machine'.* install"),
    ],
)
def test_what_cannot_reach_a_worker_is_a_sentence(held, error, sentence):
    with pytest.raises(error, match=sentence):
        list(Engine().results(lambda job: held, [(1,), (2,)], workers=2, patience=60))


@pytest.mark.long
def test_the_blocks_of_a_lost_worker_are_drawn_again(tmp_path, alone):
    flag = tmp_path / "died"
    home = os.getpid()

    def dies_once(database, rng, flag=str(flag), home=home):
        if os.getpid() != home and not Path(flag).exists():
            Path(flag).touch()
            os.kill(os.getpid(), 9)
        return len(database) + rng.laplace()

    dies_once.block = 128
    found = audit(dies_once, workers=2, **OPTIONS)
    assert flag.exists()
    assert essence(found) == alone


def test_a_worker_that_dies_every_time_is_named():
    home = os.getpid()

    def dies(database, rng, home=home):
        if os.getpid() != home:
            os.kill(os.getpid(), 9)
        return len(database) + rng.laplace()

    dies.block = 128
    with pytest.raises(ContractError, match=r"ended the process it ran in .* killed by SIGKILL"):
        audit(dies, workers=2, **OPTIONS)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"backend": "spark"}, "backend must be one of loky, dask, ray"),
        ({"backend": "loky", "address": "tcp://a"}, "has no scheduler, but an address was given"),
    ],
)
def test_an_engine_that_there_is_none_of_is_refused(options, sentence):
    with pytest.raises(InvalidArgument, match=sentence):
        Engine(**options)


class Deserted:
    """A client of a dask scheduler that is alive and has no worker any more."""

    status = "running"

    def scheduler_info(self, **_):
        return {"workers": {}}

    def submit(self, task, **_):
        return type("Waiting", (), {"key": id(task), "add_done_callback": lambda *_: None})()

    def cancel(self, *_, **__):
        pass


@pytest.mark.parametrize("patience", [0.01, 1e6])
def test_a_scheduler_without_workers_is_not_waited_for_for_ever(monkeypatch, patience):
    module = importlib.import_module("dpwitness.auditors.engines.engine")
    fake = type("distributed", (), {"get_client": lambda: Deserted()})
    monkeypatch.setattr(module, "loaded", lambda *_: fake)
    monkeypatch.setattr(module, "POLL", 0.01)
    monkeypatch.setattr(module, "ALONE", 0.05)
    with pytest.raises(EngineError, match=r"has had no worker for 0\.05 s.* is kept"):
        list(Engine(backend="dask").results(abs, [(1,), (2,)], workers=2, patience=patience))


def test_an_engine_that_is_not_installed_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with (
        pytest.raises(InvalidArgument, match=r"pip install 'dpwitness\[dask\]'"),
        Engine(backend="dask").connected(2),
    ):
        pass


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_dask_on_two_processes_one_of_which_is_killed(tmp_path, alone):
    distributed = pytest.importorskip("distributed")
    flag = tmp_path / "died"
    # In a file of the user's, which the workers could not import by any name.
    (tmp_path / "own.py").write_text(DIES_ONCE.format(flag=str(flag), home=os.getpid()))
    dies_once = find_target(f"{tmp_path}/own.py:dies_once").mechanism
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as cluster:
        engine = Engine(backend="dask", address=cluster.scheduler_address)
        found = audit(dies_once, workers=2, engine=engine, **OPTIONS)
    assert flag.exists()
    assert essence(found) == alone


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ray_on_two_processes_one_of_which_is_killed(tmp_path, alone):
    pytest.importorskip("ray")
    flag = tmp_path / "died"
    (tmp_path / "own.py").write_text(DIES_ONCE.format(flag=str(flag), home=os.getpid()))
    dies_once = find_target(f"{tmp_path}/own.py:dies_once").mechanism
    found = audit(dies_once, workers=2, engine=Engine(backend="ray"), **OPTIONS)
    assert flag.exists()
    assert essence(found) == alone


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_named():
    pytest.importorskip("distributed")
    with (
        pytest.raises(EngineError, match=r"no dask scheduler answers at tcp://127\.0\.0\.1:9"),
        Engine(backend="dask", address="tcp://127.0.0.1:9").connected(2),
    ):
        pass
