"""A child process as a function of (database, rng), one request for each block of draws.

What the child says of itself comes first: its claims are data of docs/protocol.md in the greeting.
"""

import os
import shlex
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ...mechanisms.model import (
    Array,
    ConcentratedCurve,
    Curve,
    Database,
    Mechanism,
    Output,
    PointsCurve,
    PrivacyClaim,
    Relation,
    RenyiCurve,
)
from ..errors import ContractError, EvidenceFormatError, InvalidArgument
from ..outputs import tables
from ..outputs.decoding import from_json
from ..outputs.encoding import to_json
from ..outputs.kinds import Foreign
from . import libraries
from .process import Program

VERSION = 1
"""The version of docs/protocol.md; both programs name it in their handshake."""
BLOCK = 32_768
"""Most outputs that one request asks for; a child may want fewer, as "block" of its greeting."""
CLIENT = Path(__file__).with_name("dpwitness_client.py")
BESIDE = {"client_tables.py": tables.__file__, "client_libraries.py": libraries.__file__}
"""What copies of `tables` and `libraries` beside a copy of the client are called."""
_INHERITED: list[list[Program]] = []
"""Children of the process that this one is a copy of, kept so that nothing here ends them."""
ABOVE = -1000
"""Depth at which an output's JSON begins: how deep values may be is asked when they are packed."""
TYPES = frozenset("|b1 |i1 |u1 <i2 <u2 <i4 <u4 <i8 <u8 <f4 <f8".split())
MOST_BYTES = 1 << 31
"""Bytes of the array of one answer; docs/protocol.md promises as many."""


class RemoteFailure(Exception):
    """The mechanism in the child raised; a subclass carries the name of what it raised."""


class RemoteRun:
    """The mechanism that a child process runs, as run(database, rng, *, size=None).

    `words` are the command and its arguments, `limit` the seconds it may stay silent. The child
    starts at once, is started again after a failure, and ends with this object; a copy sent to
    a worker starts one of its own. `block` is the number of draws it wants to be asked for at
    most, `seeded` whether it draws from the seed it is sent, `said` its whole greeting. A forked
    process that uses it starts a child of its own. Raises
    InvalidArgument when the command cannot be started or says that there is no mechanism, and
    ContractError when it does not keep to protocol 1.
    """

    __slots__ = ("__weakref__", "_child", "_owner", "_requests", "block", "limit", "name", "said",
                 "seeded", "words")  # fmt: skip
    dpwitness_client = True

    def __init__(self, words: Sequence[str], limit: float = 10.0) -> None:
        self.words, self.limit = tuple(words), limit
        self._child: list[Program] = []
        self._owner = os.getpid()
        self._requests = 0
        weakref.finalize(self, _end, self._child)
        greeting = self.said = self._started()
        self.name = str(greeting.get("name") or Path(self.words[0]).name)
        self.seeded = greeting.get("seeded", True) is not False
        block = greeting.get("block", BLOCK)
        if isinstance(block, bool) or not isinstance(block, int) or block < 1:
            raise ContractError(
                f"{self.words[0]} says it takes blocks of {block!r:.40}; expected a whole number "
                "of draws from 1"
            )
        self.block = min(block, BLOCK)

    def __reduce__(self) -> tuple[object, ...]:
        return RemoteRun, (self.words, self.limit)

    def __call__(
        self, database: Database, rng: np.random.Generator, *, size: int | None = None
    ) -> object:
        """`size` outputs, or one, on a seed taken from `rng`."""
        wanted = 1 if size is None else int(size)
        data = to_json(database)
        parts = []
        try:
            for start in range(0, wanted, self.block):
                seed = int(rng.integers(2**53))
                parts.append(self._request(seed, min(self.block, wanted - start), data))
        except RemoteFailure:
            raise  # a whole answer: the child is ready for the next request
        except BaseException:
            # Half an answer may be in the pipe, also when an alarm or Ctrl-C came in between.
            _end(self._child, kill=True)
            raise
        outputs = parts[0] if len(parts) == 1 else _joined(parts)
        return outputs if size is not None else _first(outputs)

    def _started(self) -> dict[str, object]:
        child = Program(self.words, self.limit)
        self._child.append(child)
        try:
            child.send({"dpwitness": VERSION})
            greeting = child.receive()
            if "error" in greeting:
                raise InvalidArgument(str(greeting["error"])[:500])
            if greeting.get("dpwitness") != VERSION:
                raise ContractError(
                    f"{self.words[0]} answered the handshake with {greeting!r:.120}; expected "
                    f'{{"dpwitness": {VERSION}}}, the version of the protocol'
                )
        except BaseException:
            _end(self._child, kill=True)
            raise
        return greeting

    def _request(self, seed: int, size: int, data: object) -> object:
        if self._owner != os.getpid():
            # A copy of the process that started the child: two must not speak into one pipe.
            _INHERITED.append(self._child.copy())
            self._child.clear()
            self._owner = os.getpid()
        if not self._child:
            self._started()
        child = self._child[0]
        self._requests += 1
        child.send({"id": self._requests, "seed": seed, "size": size, "database": data})
        while (header := self._header(child)).get("working") is True:
            pass
        if "error" in header:
            kind = str(header.get("type") or "")
            raise _failure(kind)(str(header["error"])[:500])
        if "lines" in header:
            return self._lines(child, header["lines"], size)
        if header.get("whole") is True:
            return self._values(child, 1)[0]
        found = self._array(child, header, size)
        match header.get("each"):
            case "float":
                return found.tolist()
            case "numpy":
                return list(found)
        return found

    def _header(self, child: Program) -> dict[str, object]:
        header = child.receive()
        if header.get("id") != self._requests:
            raise ContractError(
                f"{self.words[0]} answered request {self._requests} with {header!r:.120}; "
                f'expected "id": {self._requests}'
            )
        return header

    def _lines(self, child: Program, lines: object, size: int) -> list[object]:
        if lines != size or isinstance(lines, bool):
            raise self._wrong_size(f"{lines!r:.40} lines", size)
        return self._values(child, size)

    def _values(self, child: Program, count: int) -> list[object]:
        try:
            return [from_json(child.value(), ABOVE) for _ in range(count)]
        except EvidenceFormatError as error:
            raise ContractError(f"an output of {self.words[0]} cannot be read: {error}") from None

    def _array(self, child: Program, header: dict[str, object], size: int) -> Array:
        kind, shape = header.get("dtype"), header.get("shape")
        if kind not in TYPES or not isinstance(shape, list):
            raise ContractError(
                f"{self.words[0]} answered with {header!r:.120}; expected the number of "
                '"lines" that follow, or the "shape" and the "dtype" of the bytes that follow, '
                f"one of {', '.join(sorted(TYPES))}"
            )
        if not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in shape):
            raise ContractError(
                f"{self.words[0]} gives the shape {shape!r:.80}; expected whole numbers"
            )
        if shape[:1] != [size]:
            raise self._wrong_size(f"an array of shape {shape}", size)
        dtype = np.dtype(kind)
        length = prod(shape) * dtype.itemsize
        if length > MOST_BYTES:
            raise ContractError(
                f"{self.words[0]} announces {length} bytes in one answer; at most {MOST_BYTES} "
                'are read, so ask for smaller blocks with "block" in the handshake'
            )
        return np.frombuffer(bytearray(child.exactly(length)), dtype).reshape(shape)

    def _wrong_size(self, found: str, size: int) -> ContractError:
        return ContractError(
            f"{self.words[0]} was asked for {size} outputs and announces {found}; expected one "
            "output for each draw"
        )


def _failure(kind: str) -> type[RemoteFailure]:
    """An exception class with the name that the child gave, so that reports show that name."""
    # Reports show an exception's module but for the built-in ones; the child says the whole name.
    if not all(part.isidentifier() for part in kind.replace(".<locals>", "").split(".")):
        return RemoteFailure
    inside = {"__module__": "builtins", "__qualname__": kind}
    return type(kind.rpartition(".")[2], (RemoteFailure,), inside)


def _joined(parts: list[Output]) -> object:
    """The answers to several requests as one answer."""
    first = parts[0]
    if all(isinstance(p, np.ndarray) and p.shape[1:] == first.shape[1:] for p in parts):
        return np.concatenate(parts)
    if all(type(p) is tuple and len(p) == len(first) for p in parts):
        return tuple(_joined(list(some)) for some in zip(*parts, strict=True))
    if all(type(p) is dict and p.keys() == first.keys() for p in parts):
        return {key: _joined([part[key] for part in parts]) for key in first}
    if all(isinstance(p, Foreign) and type(p) is type(first) for p in parts):
        held = [part.content for part in parts]
        return type(first)([[*one[0][:2], _joined([o[2] for o in one])]
                            for one in zip(*held, strict=True)])  # fmt: skip
    return [row for part in parts for row in part]


def _first(outputs: Output) -> object:
    """The only one of an answer to a request for one."""
    if type(outputs) is tuple:
        return tuple(map(_first, outputs))
    if type(outputs) is dict:
        return {key: _first(part) for key, part in outputs.items()}
    if isinstance(outputs, Foreign) and outputs.how in ("object", "record"):
        return type(outputs)([[*part[:2], _first(part[2])] for part in outputs.content])
    return outputs[0]


def _end(children: list[Program], *, kill: bool = False) -> None:
    while children:
        child = children.pop()
        if kill:
            child.kill()
        child.close()


def from_command(command: str, limit: float = 10.0) -> Mechanism:
    """The mechanism that a command runs; `command` is split as a shell would split it."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InvalidArgument(
            f"--command {command!r} cannot be split into words: {str(error).lower()}"
        ) from None
    if not words:
        raise InvalidArgument("--command is empty; expected a program and its arguments")
    return _mechanism(RemoteRun(words, limit))


def from_python(python: str, target: str, limit: float = 10.0) -> Mechanism:
    """The mechanism `target` (file.py:NAME or module:NAME) run by another Python, 3.8 or later.

    Only the client and the files that take tables apart and know libraries go there, as copies in
    a folder. The name of a model is followed by the attributes that it releases once it is fitted:
    file.py:MODEL[coef_,intercept_].
    """
    if ":" not in target:
        raise InvalidArgument(
            "--python runs a function of yours, named as file.py:NAME or module:NAME, not "
            f"{target!r}"
        )
    # By the number of the process its folder is found if it is killed.
    folder = tempfile.mkdtemp(prefix=f"dpwitness-{os.getpid()}-client-")
    copy = shutil.copy(CLIENT, folder)
    for name, source in BESIDE.items():
        shutil.copy(str(source), Path(folder) / name)
    run = RemoteRun([python, copy, target], limit)
    weakref.finalize(run, shutil.rmtree, folder, ignore_errors=True)
    return _mechanism(run)


def _mechanism(run: RemoteRun) -> Mechanism:
    try:
        claims = claims_of(run.said.get("claims", []))
    except ValueError as error:
        raise ContractError(f"{run.words[0]} states a claim that is none: {error}") from None
    reference = str(run.said.get("reference", ""))[:200]
    return Mechanism(name=run.name, run=run, seeded=run.seeded, claims=claims, reference=reference)


def claims_of(stated: object) -> tuple[PrivacyClaim, ...]:
    """The claims in a list of objects; ValueError with a sentence where one is none.

    Each has a `relation` and one of `epsilon` with `delta`, `rho` with `delta`, `renyi` and
    `points`, in nats; it may have a `distance` and a `reference`.
    """
    if not isinstance(stated, list):
        raise ValueError(f"the claims are {stated!r:.80}; expected a list of objects")
    return tuple(map(_claim, stated))


def _claim(stated: object) -> PrivacyClaim:
    if not isinstance(stated, dict):
        raise ValueError(f"a claim is {stated!r:.80}; expected an object")
    relation = stated.get("relation")
    if relation not in {one.value for one in Relation}:
        raise ValueError(
            f"a claim has the relation {relation!r:.40}; expected one of "
            f"{', '.join(one.value for one in Relation)}"
        )
    told: dict[str, Any] = {
        "relation": Relation(relation),
        "reference": str(stated.get("reference", ""))[:200],
        "distance": _number(stated, "distance", 1),
    }
    if (curve := _curve(stated)) is not None:
        return PrivacyClaim.of_curve(curve, **told)
    if "epsilon" not in stated:
        raise ValueError(
            f"a claim is {stated!r:.80}; expected one of epsilon, rho, renyi and points"
        )
    epsilon, delta = _number(stated, "epsilon"), _number(stated, "delta", 0.0)
    return PrivacyClaim(epsilon=epsilon, delta=delta, **told)


def _curve(stated: dict[str, object]) -> Curve | None:
    if "rho" in stated:
        return ConcentratedCurve(_number(stated, "rho"), _number(stated, "delta", 0.0))
    if "renyi" in stated:
        return RenyiCurve(_couples(stated, "renyi"))
    if "points" in stated:
        return PointsCurve(_couples(stated, "points"))
    return None


def _number(stated: dict[str, object], key: str, default: object = None) -> int | float:
    value = stated.get(key, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"a claim has the {key} {value!r:.40}; expected a number")
    return value


def _couples(stated: dict[str, object], key: str) -> tuple[tuple[float, float], ...]:
    listed = stated[key]
    if not isinstance(listed, list) or not all(isinstance(c, list) and len(c) == 2 for c in listed):
        raise ValueError(
            f"a claim has the {key} {listed!r:.80}; expected a list of two numbers each"
        )
    return tuple((_number({key: a}, key), _number({key: b}, key)) for a, b in listed)
