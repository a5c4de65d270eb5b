"""A child process that draws: lines of JSON and raw bytes through its pipes, with time-outs.

A child that is silent, dies or says something else than docs/protocol.md allows ends in a
ContractError whose sentence quotes it.
"""

import json
import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

from ..errors import ContractError, InvalidArgument, MechanismHangs
from ..silence import Silence

PIECE = 1 << 20
"""Bytes that are asked for by one read from the pipe."""
LITTLE = 1 << 16
"""Bytes that end a silence: fewer in `limit` seconds are a child that only drips."""
LONGEST_LINE = 1 << 26
"""Bytes, 64 MiB, that a child may write before the end of a line must come."""
QUOTED = 200
"""Characters that an error quotes of what a child wrote."""
GRACE = 1.0
"""Seconds a child has to end after its standard input is closed."""


STRANGER = (
    ". It never answered the greeting: a program is asked for outputs by lines of JSON on its "
    "standard input, as docs/protocol.md tells with examples in several languages; if yours only "
    "prints an output and ends, collect its outputs on two databases in two files for "
    "`dpwitness judge`"
)


class Program:
    """One running child; `limit` is the longest it may stay silent, in seconds of its own.

    Raises InvalidArgument when the command cannot be started.
    """

    def __init__(self, words: Sequence[str], limit: float) -> None:
        self.limit = limit
        self._name = words[0]
        self._left = b""
        self._greeted = False
        self._errors: IO[bytes] = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen(
                list(words),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
                start_new_session=True,  # so that Ctrl-C reaches it through us only
            )
        except (OSError, ValueError) as error:
            self._errors.close()
            reason = getattr(error, "strerror", None) or str(error)
            raise InvalidArgument(
                f"the command {words[0]!r} could not be started: {reason.lower()}; expected a "
                "program that can be run, with its arguments, as one text"
            ) from None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._input, False)
        os.set_blocking(self._output, False)

    def send(self, data: object) -> None:
        """Write one line of JSON."""
        # "database" comes last in every request, so that a small client can cut it off.
        text = json.dumps(data, separators=(",", ":"), allow_nan=False)
        rest, patience = memoryview(text.encode() + b"\n"), _Patience(self._process.pid, self.limit)
        while rest:
            self._wait(patience, writing=True)
            try:
                written = os.write(self._input, rest)
            except BlockingIOError:
                continue
            except OSError:
                raise self._died() from None
            rest = rest[written:]
            patience.came(written)

    def receive(self) -> dict[str, object]:
        """The next line, which must be a JSON object."""
        line = self._line()
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise ContractError(
                f"{self._name} wrote {_quoted(line)} where protocol 1 wants a line with a JSON "
                "object; its standard output belongs to the protocol, so print to standard error"
                + self._stranger()
            )
        self._greeted = True
        return found

    def value(self) -> object:
        """The next line as any JSON value."""
        line = self._line()
        try:
            return json.loads(line, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise ContractError(
                f"{self._name} wrote {_quoted(line)} where protocol 1 wants an output as one line "
                'of JSON; write not-a-number as {"$float": "nan"}'
            ) from None

    def exactly(self, size: int) -> bytes:
        """The next `size` raw bytes."""
        pieces, missing = [self._left[:size]], size - len(self._left[:size])
        self._left = self._left[size:]
        patience = _Patience(self._process.pid, self.limit)
        while missing > 0:
            wanted = f"{missing} bytes of its outputs"
            piece = self._more(min(PIECE, missing), wanted, patience)
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)

    def close(self) -> None:
        """End the child: close its input, wait a moment, then kill it."""
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError, AttributeError):
                stream.close()  # type: ignore[union-attr]
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self.kill()
        self._errors.close()

    def kill(self) -> None:
        """End the child at once, with the processes it started."""
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()

    def _line(self) -> bytes:
        parts = [self._left]
        length = len(self._left)
        patience = _Patience(self._process.pid, self.limit)
        while b"\n" not in parts[-1]:
            if length > LONGEST_LINE:
                raise ContractError(
                    f"{self._name} wrote {length} bytes without the end of a line; protocol 1 "
                    "wants lines of JSON"
                )
            parts.append(self._more(PIECE, "a line", patience))
            length += len(parts[-1])
        line, _, self._left = b"".join(parts).partition(b"\n")
        return line

    def _more(self, most: int, wanted: str, patience: "_Patience") -> bytes:
        self._wait(patience, writing=False)
        try:
            piece = os.read(self._output, most)
        except BlockingIOError:
            return b""
        if not piece:
            raise self._died(wanted)
        patience.came(len(piece))
        return piece

    def _wait(self, patience: "_Patience", *, writing: bool) -> None:
        while (left := patience.left()) > 0:
            reading, ready, _ = select.select(
                [] if writing else [self._output], [self._input] if writing else [], [], left
            )
            if reading or ready:
                return
        raise MechanismHangs(
            f"{self._name} was silent for {self.limit:g} s; if it is meant to be that slow, raise "
            'the limit with --timeout, or let it write {"id": ..., "working": true} now and then'
            + self._stranger()
        )

    def _stranger(self) -> str:
        """What to tell whose program has not answered the greeting, and perhaps knows of none."""
        return "" if self._greeted else STRANGER

    def _died(self, wanted: str = "a request") -> ContractError:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)
        code = self._process.returncode
        if code is None:
            how = "closed its output"
        elif code < 0:
            how = f"was killed by signal {-code}"
        else:
            how = f"ended with status {code}"
        said = self._last_words()
        return ContractError(
            f"{self._name} {how} while dpwitness waited for {wanted}; "
            + (f"its last words: {said}" if said else "it wrote nothing to standard error")
            + ("; install it for that Python" if "No module named 'numpy'" in said else
               self._stranger())
        )  # fmt: skip

    def _last_words(self) -> str:
        with suppress(OSError, ValueError):
            self._errors.seek(0, os.SEEK_END)
            self._errors.seek(max(0, self._errors.tell() - 4096))
            lines = self._errors.read().decode("utf-8", "backslashreplace").split("\n")
            return next((line.strip() for line in reversed(lines) if line.strip()), "")[:QUOTED]
        return ""


class _Patience(Silence):
    """Until when a line, an array or a request has to come; `LITTLE` bytes more end a silence."""

    __slots__ = ("_bytes",)

    def __init__(self, pid: int, limit: float) -> None:
        super().__init__(pid, limit)
        self._bytes = 0

    def came(self, size: int) -> None:
        """So many bytes came through."""
        self._bytes += size
        if self._bytes >= LITTLE:
            self._bytes = 0
            self.broken()


def _no_constant(text: str) -> object:
    raise ValueError(text)


def _quoted(line: bytes) -> str:
    text = line[: QUOTED + 1].decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= QUOTED else text[:QUOTED] + "...")
