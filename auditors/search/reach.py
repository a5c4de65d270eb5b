"""Which lines of a mechanism ran while it was searched: a fact about the search, not a verdict.

Lines are followed in the mechanism's own Python code only, each until it has run once. A debugger
or a coverage tool that holds the interpreter's trace function keeps it; then nothing is said.
"""

import dis
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from ..engines.book import Block
from ..outputs.outputs import Outputs
from ..results.results import Reach
from ..sampling.calls import Calls, frozen_draws
from ..workers import Worker
from .constants import codes_of


@dataclass(slots=True)
class Lines:
    """The lines of some code that have not run yet."""

    codes: tuple[CodeType, ...]
    missing: dict[CodeType, set[int]] = field(default_factory=dict)
    looked: bool = False
    """Whether any run was followed."""

    def __post_init__(self) -> None:
        """All lines that stand in the code; a code object shows its first line on entry."""
        for code in self.codes:
            lines = {
                line
                for _, line in dis.findlinestarts(code)
                if line is not None and line > code.co_firstlineno
            }
            # A function of one line has nothing but its first.
            self.missing[code] = lines or {code.co_firstlineno}

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Follow what runs in the block, unless somebody else already does."""
        if not any(self.missing.values()) or sys.gettrace() is not None:
            yield
            return
        self.looked = True
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(None)

    def _enter(self, frame: FrameType, event: str, _: object) -> Any:
        left = self.missing.get(frame.f_code)
        if not left:
            return None
        frame.f_trace_opcodes = False
        left.discard(frame.f_lineno)
        if not left:
            return None

        def line(frame: FrameType, event: str, _: Any) -> Any:
            left.discard(frame.f_lineno)
            return line if left else None

        return line

    def ran(self, found: "tuple[bool, tuple[set[int], ...]]") -> None:
        """Take over what a worker found out about the same code."""
        looked, left = found
        self.looked |= looked
        for code, lines in zip(self.codes, left, strict=True):
            self.missing[code] &= lines

    def unreached(self) -> tuple[str, ...]:
        """The lines that never ran, as "release.py lines 31-34"; empty where all did."""
        if not self.looked:
            return ()
        by_file: dict[str, set[int]] = {}
        run: dict[str, set[int]] = {}
        for code, left in self.missing.items():
            name = os.path.basename(code.co_filename)
            by_file.setdefault(name, set()).update(left)
            every = {line for _, line in dis.findlinestarts(code) if line is not None}
            run.setdefault(name, set()).update(every - left)
        # A line shared by two code objects (a comprehension in a statement) ran if either did.
        return tuple(
            f"{name} line{'s' if len(lines) > 1 else ''} {spans_of(lines)}"
            for name, every in by_file.items()
            if (lines := every - run[name])
        )


def searched(codes: Iterable[CodeType]) -> tuple[CodeType, ...]:
    """The code of a mechanism whose lines are followed."""
    return tuple(code for code in codes if code.co_name != "__init__")


def followed_draws(
    worker: Worker, databases: Sequence[object], calls: Calls, block: Block
) -> "tuple[list[Outputs], tuple[bool, tuple[set[int], ...]]]":
    """Frozen draws, and which lines of the mechanism have not run yet; where it runs."""
    lines = worker.memory.get("lines")
    if lines is None:
        lines = worker.memory["lines"] = Lines(searched(codes_of(worker.run)))
    with lines.followed():
        outputs = frozen_draws(worker, databases, calls, block)
    return outputs, (lines.looked, tuple(lines.missing[code] for code in lines.codes))


def spans_of(lines: set[int]) -> str:
    """Whole numbers with runs written as such: 3, 31-34."""
    parts: list[list[int]] = []
    for line in sorted(lines):
        if parts and line == parts[-1][1] + 1:
            parts[-1][1] = line
        else:
            parts.append([line, line])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def reached(scout: Any, passed_over: int = 0) -> Reach:
    """The record of a finished search, which passed over so many listed examples."""
    return Reach(
        databases=len({key for pair in scout.seen for key in pair}),
        pairs=len(scout.seen),
        smallest=min(scout.sizes, default=None),
        largest=max(scout.sizes, default=None),
        unreached=scout.lines.unreached() if scout.lines.looked else None,
        passed_over=passed_over,
    )
