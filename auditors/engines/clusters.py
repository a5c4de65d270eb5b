"""Connections to dask and ray: schedulers started here or elsewhere, held while draws are made."""

import importlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

from ..errors import EngineError, InvalidArgument

PATIENCE = 10.0
"""Seconds to wait for a scheduler, and for its first worker."""


def loaded(backend: str, name: str) -> ModuleType:
    """The module of this name; InvalidArgument says what to install where there is none."""
    with suppress(ImportError):
        module = importlib.import_module(name)
        if module.__file__ is not None:  # else a folder that only bears the name
            return module
    raise InvalidArgument(
        f"the backend {backend} is not installed; pip install 'dpwitness[{backend}]', here and on "
        "every machine that draws",
        keywords=("backend",),
    )


@contextmanager
def dask(address: str | None, workers: int) -> Iterator[None]:
    """Hold a client of the scheduler at the address, or of one started here with workers."""
    distributed = loaded("dask", "distributed")
    loaded("dask", "dask").config.set({"distributed.comm.timeouts.connect": f"{PATIENCE:g}s"})
    cluster = None
    if address is None:
        cluster = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50
        )
    # A worker that goes away is normal here; what matters is told in a sentence.
    for name in ("distributed", *logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        try:
            client = distributed.Client(cluster or address, timeout=PATIENCE)
        except (OSError, ValueError) as error:
            reason = (str(error).splitlines() or [""])[0][:200]
            raise EngineError(
                f"no dask scheduler answers at {address} ({reason}); start one with `dask "
                "scheduler` and give the address it prints, such as tcp://10.0.0.5:8786",
                keywords=("scheduler",),
            ) from None
        try:
            _require_same_versions(client)
            yield
        finally:
            with suppress(Exception):
                client.close(timeout=2)
    finally:
        if cluster is not None:
            with suppress(Exception):
                cluster.close(timeout=5)


def versions() -> dict[str, str]:
    """What a worker must have as it is here: dpwitness and numpy, which decide the draws."""
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in ("dpwitness", "numpy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return found


def _require_same_versions(client: Any) -> None:
    """EngineError unless the workers can run our code and draw the same bits."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except Exception as error:
        if not isinstance(error, (TimeoutError, OSError)) and "Timeout" not in type(error).__name__:
            raise
        raise EngineError(
            f"the dask scheduler has no worker after {PATIENCE:g} s; start some with `dask worker "
            "--nthreads 1 ADDRESS`"
        ) from None
    here = versions()
    try:
        there = client.run(versions, on_error="return")
    except Exception as error:  # noqa: BLE001 - whatever a foreign process answers
        there = {"a worker": error}
    for worker, found in there.items():
        if isinstance(found, BaseException):
            reason = (str(found).splitlines() or [type(found).__name__])[0][:200]
            raise EngineError(
                f"the dask worker {worker} cannot run dpwitness ({reason}); install dpwitness "
                f"{here['dpwitness']} there"
            )
        for name, wanted in here.items():
            if found[name] != wanted:
                raise EngineError(
                    f"the dask worker {worker} has {name} {found[name]} and this machine {wanted}, "
                    "which may draw other bits; install the same versions on both"
                )


@contextmanager
def ray(address: str | None, workers: int) -> Iterator[None]:
    """Hold a connection to the ray cluster at the address, or to one started here."""
    module = loaded("ray", "ray")
    options: dict[str, Any] = {"address": address} if address else {"num_cpus": workers}
    try:
        module.init(
            **options,
            log_to_driver=False,
            logging_level="CRITICAL",
            configure_logging=False,
            include_dashboard=None if address else False,
        )
    except (OSError, ConnectionError, ValueError, RuntimeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise EngineError(
            f"ray could not be reached{f' at {address}' if address else ''}: {reason}; start it "
            "with `ray start --head` and give the address it prints",
            keywords=("address",),
        ) from None
    try:
        yield
    finally:
        with suppress(Exception):
            module.shutdown()
