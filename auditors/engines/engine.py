"""Engines: joblib's backends, dask and ray by their clients, on this machine and on others.

What a worker sends back are counts, and outputs only where they are to teach. A worker that is lost
costs the blocks it had, which are drawn again: they come from the same streams. A book holds what
is known of blocks before they are drawn, and hears of those that are. Schedulers of dask and ray
are started here or elsewhere; a connection to one is held while draws are made.
"""

import importlib
import importlib.util
import logging
import os
import sys
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
from types import ModuleType
from typing import Any, Protocol, TypeVar

from ..errors import ContractError, EngineError, InvalidArgument, MechanismHangs
from ..looking import attribute, inwards
from ..outputs.outputs import CountedEvent
from ..workers.streams import Block

Counted = Callable[[Sequence[Block]], Iterator[tuple[int, int]]]
"""Draws blocks and gives (place in the sequence, hits) of each as it is finished."""
T = TypeVar("T")
Done = TypeVar("Done")

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
PATIENCE = 10.0
"""Seconds to wait for a scheduler, and for its first worker."""


class _Future(Protocol[Done]):
    """A bundle of jobs at dask, as far as it matters here."""

    key: str
    status: str

    def result(self) -> list[tuple[int, Done]]:
        """What came of the jobs; raises what they raised."""
        ...

    def add_done_callback(self, tell: "Callable[[_Future[Done]], None]") -> None:
        """Tell that it is done."""
        ...


class _Client(Protocol):
    """A client of dask, as far as it matters for the versions of the workers."""

    def wait_for_workers(self, n_workers: int, timeout: float) -> object:
        """Wait until there are so many."""
        ...

    def run(
        self, function: Callable[[], dict[str, str]], on_error: str
    ) -> dict[str, dict[str, str] | BaseException]:
        """What the function returns on each worker, by the worker's address."""
        ...


class Book(Protocol):
    """Hits of blocks that were counted before, and a place for those counted now.

    The event of a block is fixed before the block is drawn, so its hits are a function of
    (mechanism, event, block): whoever drew it, and however often, they are the same.
    """

    def ahead(self, event: CountedEvent, blocks: Sequence[Block], count: Counted) -> None:
        """Blocks that an attempt may count from now on, in order, none of whose outputs teach."""

    def known(self, event: CountedEvent, block: Block) -> int | None:
        """Hits of this block, if they are known."""

    def enter(self, event: CountedEvent, block: Block, hits: int) -> None:
        """A block was counted."""

    def recall(self, block: Block) -> list[object] | None:
        """What the calls of this block returned, if that is known."""

    def remember(self, block: Block, returned: list[object]) -> None:
        """What the calls of a block returned that took long to draw and is to teach."""


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
        finished: Queue[_Future[T]] = Queue()
        running: dict[str, _Future[T]] = {}
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

    def __init__(
        self, parcel: "bytes | str", jobs: Sequence[tuple[int, tuple[object, ...]]]
    ) -> None:
        from cloudpickle import dumps

        self._parcel, self._jobs = parcel, dumps(jobs)

    def __call__(self) -> list[tuple[int, T]]:
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
def _parcel(function: Callable[..., object], *, near: bool) -> Iterator[bytes | str]:
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


def send_by_value(run: Callable[..., object]) -> None:
    """Let workers have functions of a module that they could not import by its name."""
    from cloudpickle import register_pickle_by_value

    for name in dict.fromkeys(str(attribute(step, "__module__")) for step in inwards(run)):
        module = sys.modules.get(name)
        if module is None or module.__name__ == "__main__":
            continue
        try:
            found = importlib.util.find_spec(module.__name__)
        except (ImportError, ValueError):
            found = None
        if found is None or found.origin != getattr(module, "__file__", None):
            register_pickle_by_value(module)


def _through_ray(
    tasks: Iterator[Callable[[], list[tuple[int, T]]]], patience: float
) -> Iterator[tuple[int, T]]:
    """Two tasks for each core at a time.

    Ray is asked directly: joblib's way through it starts its workers anew for every count.
    """
    module = loaded("ray", "ray")
    remote = module.remote(max_retries=0, num_cpus=1)(_called)
    running: list[object] = []
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


def _require_same_versions(client: _Client) -> None:
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
    options: dict[str, object] = {"address": address} if address else {"num_cpus": workers}
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
