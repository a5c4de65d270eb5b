"""Asking a mechanism for something: the one way to run code that is not ours.

A `Door` belongs to one mechanism. What is asked is a function of ours, `function(worker,
databases, *arguments)`, that runs where the mechanism runs; `worker.run` is the mechanism there.
Neither the mechanism nor a module that somebody has patched needs to travel: the worker is a copy
of this process. This process never calls the mechanism, so each new worker is one in which it was
never called, however long the audit has gone on; see `fresh`.
"""

import inspect
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any, TypeVar, TypeVarTuple

from ...mechanisms.model import Database, Output
from ..errors import ContractError, InvalidArgument, MechanismDied, MechanismHangs
from ..looking import attribute
from .anew import Anew, has_modules
from .children import CAN_FORK, Child, Ended, aside, wait
from .outside import Outside
from .wire import packed, requested

LARGE = 1 << 14
"""Bytes from which a pickled database is sent to a worker once and held there."""
HELD = 4
"""Large databases that a worker holds at a time: a pair, and the one that is tried beside it."""

COPIES = 1 << 26
"""Bytes of pickled copies of one database that are made for one check: a million floats are copied
seven times, .04 s each, and 10,000 records of four fields whenever a copy is due."""
FEWEST_COPIES = 4
"""Copies of a database that are made however large it is."""

CLIENT = "dpwitness_client"
"""What a client is known by; no attribute that a mechanism has by chance, and True, which an object
that answers whatever it is asked for is not."""
LOSSES = 1
"""How often one job may end its worker: the system may have killed it, and hardly twice."""

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


def _nothing() -> None:
    """No beat: nobody waits for it."""


@dataclass(slots=True)
class Worker:
    """Who answers: a child process, or this one where there is no other.

    `beat` is called whenever a call of the mechanism begins. `memory` is what functions that are
    asked keep from one request to the next.
    """

    run: Callable[..., Output]
    alone: bool = True
    """Whether the process is the worker's own, so that nothing in it needs to be put back."""
    beat: Callable[[], None] = _nothing
    memory: dict[str, Any] = field(default_factory=dict)
    outside: Outside = field(default_factory=Outside)
    databases: dict[int, Database] = field(default_factory=dict)

    def serve(self, request: bytes, beats: memoryview) -> object:
        """Do what a request asks."""
        if self.beat is _nothing:
            self.outside.watch()
            self.outside.calls = beats

            def beat() -> None:
                beats[0] += 1

            self.beat = beat
        function, given, arguments = requested(request)
        databases = []
        for number, data in given:
            if number is None:
                databases.append(copied(data))
                continue
            if data is not None:
                while len(self.databases) >= HELD:
                    self.databases.pop(next(iter(self.databases)))
                self.databases[number] = copied(data)
            databases.append(self.databases[number])
        return function(self, databases, *arguments)


class Door:
    """Workers of one mechanism, started when they are first needed and ended with this object.

    `limit` is how many seconds one call may take. With `apart` false, or where processes cannot be
    forked, the mechanism is called in this process, without a limit; nothing can be made again in
    a fresh process then, and `remakes` is false.
    """

    def __init__(
        self,
        run: Callable[..., Output],
        *,
        workers: int = 1,
        limit: float = 10.0,
        show_output: bool = False,
        apart: bool = True,
    ) -> None:
        self.run, self.limit, self.show_output = run, limit, show_output
        self.workers = workers if workers > 0 else os.cpu_count() or 1
        # A client of another language runs in a process of its own already.
        client = is_client(run)
        self.remakes = client or (apart and CAN_FORK)
        self._near = Worker(run, alone=False) if client or not self.remakes else None
        self._children: list[tuple[Child, list[int]]] = []
        self._large: list[tuple[Database, int, bytes]] = []
        self._sent = 0
        self._outside: set[str] = set()

    def ask(
        self,
        function: Callable[[Worker, Sequence[Database], *Ts], T],
        databases: Sequence[Database],
        *arguments: *Ts,
    ) -> T:
        """What the first worker answers; raises what the function raised, or ContractError."""
        if self._near is not None:
            return function(self._near, list(databases), *arguments)
        for losses in range(LOSSES + 1):
            if not self._children:
                self._children.append(self._started())
            child, held = self._children[0]
            try:
                child.send(self._request(function, databases, arguments, held))
                wait([child])
                answer: T = child.receive()
                return answer
            except Ended as ended:
                self.close()
                if losses == LOSSES:
                    raise _died(ended) from None
            except BaseException as error:
                if not isinstance(error, ContractError) or isinstance(error, MechanismHangs):
                    self.close()
                raise
        raise AssertionError("every loss is answered above")

    def each(
        self,
        function: Callable[[Worker, Sequence[Database], *Ts], T],
        databases: Sequence[Database],
        jobs: Sequence[tuple[*Ts]],
    ) -> Iterator[tuple[int, T]]:
        """(place, answer) of every job, shared out among all workers as they become free."""
        if self._near is not None or self.workers == 1 or len(jobs) == 1:
            for place, job in enumerate(jobs):
                yield place, self.ask(function, databases, *job)
            return
        left = list(enumerate(jobs))[::-1]
        busy: dict[Child, tuple[int, tuple[*Ts]]] = {}
        losses: Counter[int] = Counter()
        finished = False
        try:
            while left or busy:
                while len(self._children) < min(self.workers, len(left) + len(busy)):
                    self._children.append(self._started())
                for child, held in self._children:
                    if left and child not in busy:
                        place, job = busy[child] = left.pop()
                        child.send(self._request(function, databases, job, held))
                for child in wait(list(busy)):
                    place, job = busy.pop(child)
                    try:
                        answer = child.receive()
                    except Ended as ended:
                        losses[place] += 1
                        if losses[place] > LOSSES:
                            raise _died(ended) from None
                        # What it was asked is asked again: a draw is the same wherever it is made.
                        left.append((place, job))
                        self._children = [one for one in self._children if one[0] is not child]
                        continue
                    yield place, answer
            finished = True
        except Ended as ended:
            raise _died(ended) from None
        finally:
            if not finished:
                self.close()  # answers to what nobody waits for are still to come

    def fresh(
        self,
        function: Callable[[Worker, Sequence[Database], *Ts], T],
        databases: Sequence[Database],
        *arguments: *Ts,
    ) -> T:
        """What a worker answers that has never called the mechanism; it ends afterwards."""
        if is_client(self.run):
            worker = Worker(copy(self.run), alone=False)  # which starts a program of its own
            return function(worker, list(databases), *arguments)
        door = Door(self.run, limit=self.limit, show_output=False)
        try:
            return door.ask(function, databases, *arguments)
        finally:
            self._outside.update(door.outside())
            door.close()

    def anew(
        self,
        function: Callable[[Worker, Sequence[Database], *Ts, int], T],
        *arguments: *Ts,
        imports: int,
        seconds: float,
    ) -> tuple[list[T], float]:
        """What up to so many processes answer that import the mechanism's modules anew each.

        With the part of their time that the imports took.

        The last argument of the function is the number of the process, from 0 on. There are two
        processes at least, and more until `seconds` have passed or one fails. No answers where
        there are no such modules or importing them again fails, and where the mechanism is a
        program of its own, which begins anew with each process.
        """
        if not CAN_FORK or is_client(self.run) or not has_modules(self.run):
            return [], 0.0
        door = Door(self.run, limit=self.limit)
        try:
            return door.ask(_anew, (), function, arguments, imports, seconds)
        except ContractError:
            return [], 0.0
        finally:
            door.close()

    def outside(self) -> tuple[str, ...]:
        """What the mechanism used outside its processes: see `Outside`."""
        found = set(self._outside)
        for child, held in self._children:
            try:
                child.send(self._request(_names, (), (), held))
                found.update(child.receive())
            except (Ended, ContractError):
                continue
        return tuple(sorted(found))

    def close(self) -> None:
        """End all workers; the next question starts new ones."""
        while self._children:
            self._children.pop()[0].end()

    def _started(self) -> tuple[Child, list[int]]:
        worker = Worker(self.run)
        worker.outside.inherit()
        return Child(worker.serve, self.limit, show_output=self.show_output), []

    def _request(
        self,
        function: Callable[..., object],
        databases: Sequence[Database],
        arguments: tuple[object, ...],
        held: list[int],
    ) -> bytes:
        given: list[tuple[int | None, bytes | None]] = []
        for database in databases:
            number, data = self._pickled(database)
            if number is not None and number in held:
                given.append((number, None))
                continue
            if number is not None:
                held[:] = [*held[-HELD + 1 :], number]
            given.append((number, data))
        return packed((function, given, arguments))

    def _pickled(self, database: Database) -> tuple[int | None, bytes]:
        """The bytes of a database, and a number if it is large; large ones are pickled once."""
        for known, number, data in self._large:
            if known is database:
                return number, data
        data = pickled(database)
        if len(data) < LARGE:
            return None, data
        self._sent += 1
        self._large = [*self._large[-HELD + 1 :], (database, self._sent, data)]
        return self._sent, data


def is_client(run: object) -> bool:
    """Whether the mechanism is a program in another language, which has a process of its own."""
    return attribute(run, CLIENT) is True


def require_signature(run: Callable[..., Output]) -> None:
    """Check that `run` can be called as run(database, rng)."""
    if not callable(run):
        raise InvalidArgument(
            f"expected a function of (database, rng) or a Mechanism, got {type(run).__name__}"
        )
    taken = signature_of(run)
    if taken is None:
        return
    try:
        taken.bind(None, None)
    except TypeError as error:
        if isinstance(run, type):
            raise InvalidArgument(
                f"{run.__name__} is a class, and a mechanism is a function of (database, rng); "
                "name a function, or an object of the class that can be called so"
            ) from None
        if "self" in taken.parameters:
            raise InvalidArgument(
                f"{attribute(run, '__qualname__', 'it')} is a method; name that of an object, or a "
                "function of (database, rng)"
            ) from None
        raise ContractError(
            f"a mechanism is called as mechanism(database, rng), and this one takes "
            f"{taken}, so that it cannot be ({error}); name a function of these "
            "two, for instance one whose other arguments functools.partial has bound"
        ) from None


def signature_of(run: Callable[..., Output]) -> inspect.Signature | None:
    """What `run` says that it takes; None for compiled code, and an object that says nonsense."""
    try:
        return inspect.signature(run)
    except Exception:  # noqa: BLE001 - an attribute that is asked for is code of its author
        return None


def accepts_size(run: Callable[..., Output]) -> bool:
    """Whether `run` takes the keyword `size`, so that one call can give many draws."""
    taken = signature_of(run)
    size = taken.parameters.get("size") if taken is not None else None
    return size is not None and size.kind in (size.KEYWORD_ONLY, size.POSITIONAL_OR_KEYWORD)


def _anew(
    worker: Worker,
    _: Sequence[Database],
    function: Callable[[Worker, Sequence[Database], *Ts, int], T],
    arguments: tuple[*Ts],
    imports: int,
    seconds: float,
) -> tuple[list[T], float]:
    def one(number: int) -> tuple[T, float] | None:
        begun = monotonic()
        try:
            worker.run = modules.imported()
            importing = monotonic() - begun
            return function(worker, (), *arguments, number), importing
        except BaseException:  # noqa: BLE001 - whatever a module does when it is imported
            return None

    modules = Anew(worker.run)
    found: list[T] = []
    importing, began = 0.0, monotonic()
    while len(found) < 2 or (len(found) < imports and monotonic() - began < seconds):
        worker.beat()
        answer = aside(partial(one, len(found)))
        if answer is None:
            break
        found.append(answer[0])
        importing += answer[1]
    return (found if len(found) > 1 else []), importing / max(monotonic() - began, 1e-9)


def _names(worker: Worker, _: Sequence[Database]) -> tuple[str, ...]:
    return worker.outside.names


def copied(data: bytes) -> Database:
    """The database that `pickled` made these bytes of; in the process that made them, or a copy."""
    return requested(data)


def pickled(database: Database) -> bytes:
    """A database as bytes that make an equal one; ContractError where it cannot be copied."""
    try:
        return packed(database)
    except Exception:  # noqa: BLE001 - whatever somebody's __reduce__ raises
        from cloudpickle import dumps
    try:
        return bytes(dumps(database, protocol=5))
    except Exception as error:  # noqa: BLE001 - the same
        raise ContractError(
            f"a database of type {type(database).__name__} cannot be copied "
            f"({type(error).__name__}: {str(error)[:100]}), and an audit gives the mechanism fresh "
            "copies of it; let databases hold plain values, arrays or tables"
        ) from None


class Copies:
    """Copies of the databases of one check, each new one unpickled; few of a large one."""

    def __init__(self, encoded: Sequence[bytes]) -> None:
        """`encoded` are the databases as `pickled` made them."""
        self._encoded = encoded
        self._left = [max(FEWEST_COPIES, COPIES // max(len(one), 1)) for one in encoded]
        self._last: dict[int, Database] = {}

    def of(self, place: int, *, new: bool) -> Database:
        """The database at a place: another copy where a new one is due and not too dear."""
        if place not in self._last or (new and self._left[place] > 0):
            self._left[place] -= 1
            self._last[place] = copied(self._encoded[place])
        return self._last[place]


def _died(ended: Ended) -> MechanismDied:
    return MechanismDied(
        f"the mechanism ended the process it ran in without an answer: {ended}; a mechanism must "
        "return (if the system killed it, it may have run out of memory)"
    )
