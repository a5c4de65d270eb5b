"""Engines: joblib's own backends, on this machine and on others.

What a worker sends back are counts, and outputs only where they are to teach. A worker that is lost
costs the blocks it had, which are drawn again: they come from the same streams.
"""

import importlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from ..errors import ContractError, EngineError, InvalidArgument, MechanismHangs

T = TypeVar("T")

BACKENDS = ("loky", "threading", "dask", "ray")
LOSSES = 2
"""How often in a row, with no block finished in between, workers may be lost."""
ROUND = 16
"""Jobs for each worker and round, where an engine gives its results only all at once."""
PATIENCE = 10.0
"""Seconds to wait for a scheduler, and for its first worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Where blocks are drawn: `backend` is one of joblib's, `address` where its scheduler listens.

    Without an address dask and ray are started on this machine, with as many workers as asked for.
    Raises InvalidArgument for a backend that there is none of, or an address that it has no use
    for.
    """

    backend: str = "loky"
    address: str | None = None

    def __post_init__(self) -> None:
        """Reject what no engine is called."""
        if self.backend not in BACKENDS:
            raise InvalidArgument(
                f"backend must be one of {', '.join(BACKENDS)}, got {self.backend!r}",
                keywords=("backend",),
            )
        if self.address is not None and not self.remote:
            raise InvalidArgument(
                f"backend {self.backend} draws on this machine and has no scheduler, but an "
                f"address was given ({self.address}); use the backend dask or ray, or no address"
            )

    @property
    def remote(self) -> bool:
        """Whether workers may be on other machines."""
        return self.backend in ("dask", "ray")

    @property
    def shares_process(self) -> bool:
        """Whether the workers are threads of this process."""
        return self.backend == "threading"

    @contextmanager
    def connected(self, workers: int = 1) -> Iterator[None]:
        """Hold the connection for the block: started before the first draw, ended after the last.

        Raises EngineError where the engine is not installed or its scheduler does not answer.
        """
        workers = workers if workers > 0 else os.cpu_count() or 1
        if self.backend == "dask":
            with _dask(self.address, workers):
                yield
        elif self.backend == "ray":
            with _ray(self.address, workers):
                yield
        else:
            yield

    def results(
        self,
        function: Callable[..., T],
        jobs: Sequence[tuple[Any, ...]],
        *,
        workers: int,
        patience: float,
        batch: int | str = "auto",
    ) -> Iterator[tuple[int, T]]:
        """(place, function(*jobs[place])) of every job, in the order in which they are finished.

        `patience` is how many seconds one job may take, `batch` how many jobs travel together, by
        default as many as take a good part of a second. Must be called where `connected`. Raises
        MechanismHangs, ContractError for a worker that is lost again and again, EngineError for a
        scheduler that is lost, and what the function raises.
        """
        left = dict(enumerate(jobs))
        losses = 0
        while left:
            before = len(left)
            try:
                for place, found in self._once(function, dict(left), workers, patience, batch):
                    del left[place]
                    yield place, found
                return
            except BrokenProcessPool:
                losses = 1 if len(left) < before else losses + 1
            except _timeouts() as error:
                if isinstance(error, CancelledError):
                    raise self._gone() from None
                raise MechanismHangs(
                    f"a worker did not return a block of draws within {patience:g} s; if the "
                    "mechanism is meant to be that slow, raise the limit with timeout=",
                    keywords=("timeout",),
                ) from None
            except OSError as error:
                if self.remote:
                    raise self._gone() from error
                raise
            except Exception as error:
                if not _is_loss(error):
                    raise
                losses = 1 if len(left) < before else losses + 1
            if losses > LOSSES:
                raise ContractError(
                    "a worker process died while running the mechanism (killed, out of memory or "
                    f"crashed in native code), {losses} times in a row; run it with workers=1 to "
                    "see where",
                    keywords=("workers",),
                )

    def _once(
        self,
        function: Callable[..., T],
        jobs: Mapping[int, tuple[Any, ...]],
        workers: int,
        patience: float,
        batch: int | str,
    ) -> Iterator[tuple[int, T]]:
        from joblib import Parallel, delayed, parallel_config

        calls = [delayed(_placed)(place, function, job) for place, job in jobs.items()]
        if self.backend == "ray":
            with parallel_config(backend="ray", n_jobs=workers):
                size = ROUND * workers
                for start in range(0, len(calls), size):
                    yield from Parallel()(calls[start : start + size])
            return
        with parallel_config(backend=self.backend, n_jobs=workers):
            parallel = Parallel(return_as="generator_unordered", timeout=patience, batch_size=batch)
        yield from parallel(calls)

    def _gone(self) -> EngineError:
        where = f" at {self.address}" if self.address else ""
        return EngineError(
            f"the {self.backend} scheduler{where} went away before all draws were made; start it "
            "and run the same command again: what was counted is kept where a checkpoint was given"
        )


def _placed(place: int, function: Callable[..., T], job: tuple[Any, ...]) -> tuple[int, T]:
    return place, function(*job)


def _timeouts() -> tuple[type[BaseException], ...]:
    # Some engines have a timeout of their own that is not the built-in one.
    return (TimeoutError, CancelledError)


def _is_loss(error: Exception) -> bool:
    """Whether an engine says that it lost a worker, and not that a job raised."""
    return type(error).__name__ in ("KilledWorker", "RayActorError", "ActorDiedError",
                                    "WorkerCrashedError", "ActorUnavailableError")  # fmt: skip


def _loaded(backend: str, name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise EngineError(
            f"the backend {backend} is not installed; pip install 'dpwitness[{backend}]', here and "
            "on every machine that draws",
            keywords=("backend",),
        ) from None


@contextmanager
def _dask(address: str | None, workers: int) -> Iterator[None]:
    distributed = _loaded("dask", "distributed")
    _loaded("dask", "dask").config.set({"distributed.comm.timeouts.connect": f"{PATIENCE:g}s"})
    cluster = None
    if address is None:
        cluster = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50
        )
    # A worker that goes away is normal here; what matters is told in a sentence.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
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
def _ray(address: str | None, workers: int) -> Iterator[None]:
    ray = _loaded("ray", "ray")
    register = _loaded("ray", "ray.util.joblib").register_ray
    options: dict[str, Any] = {"address": address} if address else {"num_cpus": workers}
    try:
        ray.init(**options, log_to_driver=False, logging_level="CRITICAL", configure_logging=False,
                 include_dashboard=None if address else False)  # fmt: skip
    except (OSError, ConnectionError, ValueError, RuntimeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise EngineError(
            f"ray could not be reached{f' at {address}' if address else ''}: {reason}; start it "
            "with `ray start --head` and give the address it prints",
            keywords=("address",),
        ) from None
    register()
    try:
        yield
    finally:
        with suppress(Exception):
            ray.shutdown()
