"""Engines: joblib's backends, and dask by its client, on this machine and on others.

What a worker sends back are counts, and outputs only where they are to teach. A worker that is lost
costs the blocks it had, which are drawn again: they come from the same streams.
"""

import importlib
import logging
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, Queue
from time import monotonic
from typing import Any, TypeVar

from ..errors import ContractError, EngineError, InvalidArgument, MechanismHangs

T = TypeVar("T")

BACKENDS = ("loky", "threading", "dask", "ray")
LOSSES = 2
"""How often in a row, with no block finished in between, workers may be lost."""
ROUND = 16
"""Jobs for each worker and round, where an engine gives its results only all at once."""
BUNDLE = 0.5
"""Seconds that the jobs which travel together should take."""
POLL = 0.5
"""Seconds between two looks at whether a scheduler is still there."""
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
        if self.backend == "dask":
            yield from self._through_dask(function, jobs, patience, batch)
            return
        from joblib import Parallel, delayed, parallel_config

        if self.backend == "ray":
            calls = [
                delayed(_opened)(_ByValue((place, function, job))) for place, job in jobs.items()
            ]
            with parallel_config(backend="ray", n_jobs=workers):
                size = ROUND * workers
                for start in range(0, len(calls), size):
                    yield from Parallel()(calls[start : start + size])
            return
        if workers == 1:
            # One worker is this process: there is nobody to wait for.
            yield from ((place, function(*job)) for place, job in jobs.items())
            return
        calls = [delayed(_placed)(place, function, job) for place, job in jobs.items()]
        with parallel_config(backend=self.backend, n_jobs=workers):
            parallel = Parallel(return_as="generator_unordered", timeout=patience, batch_size=batch)
        yield from parallel(calls)

    def _through_dask(
        self,
        function: Callable[..., T],
        jobs: Mapping[int, tuple[Any, ...]],
        patience: float,
        batch: int | str,
    ) -> Iterator[tuple[int, T]]:
        """Bundles of jobs, as large as take about `BUNDLE` seconds, two for each worker at a time.

        The client is asked directly: joblib's way through dask does not hear of a job that a
        worker could not load, nor of a scheduler that went away, and would wait for ever.
        """
        client = _loaded("dask", "distributed").get_client()
        waiting, finished = deque(jobs.items()), Queue[Any]()
        running: dict[str, Any] = {}
        size, quiet = batch if isinstance(batch, int) else 1, 0.0

        def send() -> None:
            cores = max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
            while waiting and len(running) < 2 * cores:
                some = [waiting.popleft() for _ in range(min(size, len(waiting)))]
                future = client.submit(_bundle, _ByValue((function, some)), pure=False)
                running[future.key] = future
                future.add_done_callback(finished.put)

        try:
            send()
            while running:
                if client.status != "running":
                    raise self._gone()
                try:
                    future = finished.get(timeout=POLL)
                except Empty:
                    quiet += POLL
                    if quiet > patience * max(1, size):
                        raise TimeoutError from None
                    continue
                quiet = 0.0
                running.pop(future.key, None)
                if future.status in ("cancelled", "lost"):
                    raise self._gone()
                seconds, results = future.result()
                if not isinstance(batch, int):
                    one = max(seconds / len(results), 1e-6)
                    size = max(1, min(2 * size, int(BUNDLE / one)))
                yield from results
                send()
        finally:
            with suppress(Exception):
                client.cancel(list(running.values()), force=True)

    def _gone(self) -> EngineError:
        where = f" at {self.address}" if self.address else ""
        return EngineError(
            f"the {self.backend} scheduler{where} went away before all draws were made; start it "
            "and run the same command again: what was counted is kept where a checkpoint was given"
        )


class _ByValue:
    """Something that arrives as itself, with functions of files that only this machine has.

    Engines pickle by name what they can, and a worker could not import the user's file by the name
    it has here.
    """

    def __init__(self, held: Any) -> None:
        self._held = held

    def __reduce__(self) -> Any:
        from cloudpickle import dumps, loads

        return loads, (dumps(self._held),)


def _bundle(
    held: tuple[Callable[..., T], Sequence[tuple[int, tuple[Any, ...]]]],
) -> tuple[float, list[tuple[int, T]]]:
    """Seconds, and (place, result) of each job of a bundle; runs on a worker."""
    function, jobs = held
    started = monotonic()
    found = [(place, function(*job)) for place, job in jobs]
    return monotonic() - started, found


def _opened(held: tuple[int, Callable[..., T], tuple[Any, ...]]) -> tuple[int, T]:
    return _placed(*held)


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
