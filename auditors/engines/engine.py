"""Engines: joblib's backends, dask and ray by their clients, on this machine and on others.

What a worker sends back are counts, and outputs only where they are to teach. A worker that is lost
costs the blocks it had, which are drawn again: they come from the same streams.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from math import ceil, inf
from pathlib import Path
from queue import Empty, Queue
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, TypeVar

from ..errors import ContractError, EngineError, InvalidArgument, MechanismHangs
from .clusters import dask, loaded, ray

T = TypeVar("T")

BACKENDS = ("loky", "dask", "ray")
LOSSES = 2
"""How often in a row, with no block finished in between, workers may be lost."""
BUNDLE = {False: 0.05, True: 0.5}
"""Seconds that the jobs which travel together should take: on this machine, and on others."""
SHARES = 4
"""Bundles for each worker at least, so that none waits long for the last ones."""
LARGE = 1 << 20
"""Bytes from which what all jobs share goes to workers of this machine by a file."""
ALONE = 30.0
"""Seconds that a scheduler may be without any worker."""
POLL = 0.5
"""Seconds between two looks at whether a scheduler is still there."""


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

    @contextmanager
    def connected(self, workers: int = 1) -> Iterator[None]:
        """Hold the connection for the block: started before the first draw, ended after the last.

        Raises EngineError where the engine is not installed or its scheduler does not answer.
        """
        workers = workers if workers > 0 else os.cpu_count() or 1
        if self.backend == "dask":
            with dask(self.address, workers):
                yield
        elif self.backend == "ray":
            with ray(self.address, workers):
                yield
        else:
            yield

    def results(
        self,
        function: Callable[..., T],
        jobs: Sequence[tuple[object, ...]],
        *,
        workers: int,
        patience: float,
        seconds: float = inf,
    ) -> Iterator[tuple[int, T]]:
        """(place, function(*jobs[place])) of every job, in the order in which they are finished.

        `patience` is how many seconds a job, or those that travel with it, may take, `seconds` how
        many one is expected to take: quick ones travel together. What `function` holds is pickled
        once. Must be called where `connected`. Raises MechanismHangs, ContractError for a worker
        that is lost again and again or a function that cannot travel, EngineError for a scheduler
        that is lost, and what the function raises.
        """
        workers = workers if workers > 0 else os.cpu_count() or 1
        left = dict(enumerate(jobs))
        size = max(1, int(BUNDLE[self.remote] / max(seconds, 1e-9)))
        size = min(size, ceil(len(jobs) / (SHARES * workers)))
        losses = 0
        while left:
            before = len(left)
            try:
                todo = list(left.items())
                for place, found in self._once(function, todo, workers, patience, size):
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
        jobs: Sequence[tuple[int, tuple[object, ...]]],
        workers: int,
        patience: float,
        size: int,
    ) -> Iterator[tuple[int, T]]:
        if workers == 1 and not self.remote:
            # One worker is this process: there is nobody to wait for.
            yield from ((place, function(*job)) for place, job in jobs)
            return
        bundles = (jobs[start : start + size] for start in range(0, len(jobs), size))
        with _parcel(function, near=not self.remote) as parcel:
            tasks = (_Task(parcel, some) for some in bundles)
            if self.backend == "dask":
                yield from self._through_dask(tasks, patience)
            elif self.backend == "ray":
                yield from _through_ray(tasks, patience)
            else:
                yield from self._through_joblib(tasks, workers, patience)

    def _through_joblib(
        self,
        tasks: Iterator[Callable[[], list[tuple[int, T]]]],
        workers: int,
        patience: float,
    ) -> Iterator[tuple[int, T]]:
        from joblib import Parallel, delayed, parallel_config

        with parallel_config(backend=self.backend, n_jobs=workers):
            parallel = Parallel(return_as="generator_unordered", timeout=patience, batch_size=1)
        for found in parallel(delayed(task)() for task in tasks):
            yield from found

    def _through_dask(
        self, tasks: Iterator[Callable[[], list[tuple[int, T]]]], patience: float
    ) -> Iterator[tuple[int, T]]:
        """Two tasks for each worker at a time.

        The client is asked directly: joblib's way through dask does not hear of a job that a
        worker could not load, nor of a scheduler that went away, and would wait for ever.
        """
        client = loaded("dask", "distributed").get_client()
        finished = Queue[Any]()
        running: dict[str, Any] = {}
        quiet, seen = 0.0, monotonic()

        def send() -> None:
            cores = max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
            for task in islice(tasks, max(0, 2 * cores - len(running))):
                future = client.submit(task, pure=False)
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
                    if client.scheduler_info(n_workers=-1)["workers"]:
                        seen = monotonic()
                        if quiet > patience:
                            raise TimeoutError from None
                    elif monotonic() - seen > ALONE:
                        raise self._gone(f"has had no worker for {ALONE:g} s") from None
                    continue
                quiet, seen = 0.0, monotonic()
                running.pop(future.key, None)
                if future.status in ("cancelled", "lost"):
                    raise self._gone()
                yield from future.result()
                send()
        finally:
            with suppress(Exception):
                client.cancel(list(running.values()), force=True)

    def _gone(self, what: str = "went away before all draws were made") -> EngineError:
        where = f" at {self.address}" if self.address else ""
        return EngineError(
            f"the {self.backend} scheduler{where} {what}; start it and its workers and run the "
            "same command again: what was counted is kept where a checkpoint was given"
        )


class _Task:
    """A bundle of jobs as it travels: all of it pickled here, by value where it must be.

    Engines pickle by name what they can, and a worker could not import the user's file by the name
    it has here. What all bundles share is pickled once, and opened once by a worker.
    """

    def __init__(self, parcel: "bytes | str", jobs: Sequence[tuple[int, tuple[Any, ...]]]) -> None:
        from cloudpickle import dumps

        self._parcel, self._jobs = parcel, dumps(jobs)

    def __call__(self) -> list[tuple[int, Any]]:
        """(place, result) of each job; runs on a worker."""
        from cloudpickle import loads

        try:
            function, jobs = _opened(self._parcel), loads(self._jobs)
        except ImportError as error:
            raise EngineError(
                f"a worker cannot load the mechanism ({error}); install there what it imports"
            ) from None
        return _bundle(function, jobs)


def _bundle(
    function: Callable[..., T], jobs: Sequence[tuple[int, tuple[object, ...]]]
) -> list[tuple[int, T]]:
    return [(place, function(*job)) for place, job in jobs]


@contextmanager
def _parcel(function: Callable[..., Any], *, near: bool) -> Iterator[bytes | str]:
    """A function with all that it holds, pickled; a file of this machine where it is large."""
    from cloudpickle import dumps

    try:
        pickled = dumps(function)
    except Exception as error:  # noqa: BLE001 - whatever somebody's __reduce__ raises
        raise ContractError(
            f"the mechanism or its database cannot be sent to workers ({error}); make "
            "what it holds in the function, or run it with workers=1",
            keywords=("workers",),
        ) from None
    if not near or len(pickled) < LARGE:
        yield pickled
        return
    # By the number of the process its folder is found if it is killed.
    with TemporaryDirectory(prefix=f"dpwitness-{os.getpid()}-") as folder:
        # Named by its content, which workers remember it by.
        path = Path(folder) / blake2b(pickled, digest_size=16).hexdigest()
        path.write_bytes(pickled)
        yield str(path)


@lru_cache(maxsize=1)
def _opened(parcel: bytes | str) -> Callable[..., Any]:
    from cloudpickle import loads

    function: Callable[..., Any] = loads(
        Path(parcel).read_bytes() if isinstance(parcel, str) else parcel
    )
    return function


def _through_ray(
    tasks: Iterator[Callable[[], list[tuple[int, T]]]], patience: float
) -> Iterator[tuple[int, T]]:
    """Two tasks for each core at a time.

    Ray is asked directly: joblib's way through it starts its workers anew for every count.
    """
    module = loaded("ray", "ray")
    remote = module.remote(max_retries=0, num_cpus=1)(_called)
    running: list[Any] = []
    quiet = 0.0

    def send() -> None:
        cores = max(1, int(module.cluster_resources().get("CPU", 1)))
        running.extend(
            remote.remote(task) for task in islice(tasks, max(0, 2 * cores - len(running)))
        )

    try:
        send()
        while running:
            ready, running[:] = module.wait(running, num_returns=1, timeout=POLL)
            quiet = 0.0 if ready else quiet + POLL
            if quiet > patience:
                raise TimeoutError
            for one in ready:
                try:
                    found = module.get(one)
                except module.exceptions.RayTaskError as error:
                    raise getattr(error, "cause", error) from None
                yield from found
            send()
    finally:
        with suppress(Exception):
            for one in running:
                module.cancel(one, force=True)


def _called(task: Callable[[], T]) -> T:
    return task()


def _timeouts() -> tuple[type[BaseException], ...]:
    # Some engines have a timeout of their own that is not the built-in one.
    return (TimeoutError, CancelledError)


def _is_loss(error: Exception) -> bool:
    """Whether an engine says that it lost a worker, and not that a job raised."""
    return type(error).__name__ in (
        "KilledWorker",
        "WorkerCrashedError",
        "NodeDiedError",
        "ObjectLostError",
        "OutOfMemoryError",
    )
