"""Frozen runs: a database's outputs with the generator in one fixed state, and what they show.

Two databases that are run from the same state share their noise, so that a few dozen runs on each
show what the difference of the databases does to the output and nothing else. The four scores of a
pair are looked at one by one and never added up: they are on scales of their own. A mechanism
whose use of the generator depends on the data shares less noise, or none; its scores are then as
noisy as ordinary ones, and the ordinary score decides.

Frozen runs also tell which lines of the mechanism ran while it was searched: a fact about the
search, not a verdict. Lines are followed in the mechanism's own Python code only, each until it has
run once. A debugger or a coverage tool that holds the interpreter's trace function keeps it; then
nothing is said.
"""

import dis
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import sqrt
from types import CodeType, FrameType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..outputs.features import Column, Feature
from ..outputs.nodes import Path
from ..outputs.outputs import Outputs
from ..sampling.blocks import frozen_draws
from ..sampling.calls import Calls
from ..workers import Worker
from ..workers.streams import Block

if TYPE_CHECKING:
    from _typeshed import TraceFunction

MOST_COLUMNS = 64
"""Columns of an output that a probe keeps, the first ones."""
FEW = 16
"""Different values of a column up to which they are counted."""
MOST = 50.0
"""The largest score, for outputs that moved where there is no noise."""
OTHER_FORM = 8.0
"""Score, as a log-ratio of counts, of outputs that have other parts or take a few values only."""
STEP = 20.0
"""How much larger than the usual a rare move is."""

Floats = NDArray[np.float64]


class Shift(NamedTuple):
    """How a pair's two frozen runs differ.

    `moved` is the sum over columns of the median move over the noise (the epsilon of Laplace
    noise), `outlier` the largest move of a single output over the noise, `counts` what values
    and labels became likelier (a log-ratio), `spread` how the amount of noise changed (likewise).
    """

    moved: float
    outlier: float
    counts: float
    spread: float


@dataclass(frozen=True, slots=True)
class Probe:
    """The outputs of one database, column by column."""

    paths: tuple[Path, ...]
    numbers: Floats
    """Shape (draws, columns); NaN where an output has no finite number there."""
    few: tuple[dict[object, int] | None, ...]
    """How often each value or label occurs in a column, where they are few."""
    spread: Floats
    """Mean absolute deviation of each column; NaN for columns of at most two values."""
    whole: bool
    """Whether all entries are numbers."""


def probe(outputs: Outputs) -> Probe:
    """What the scores need of a database's outputs."""
    paths = tuple(outputs.paths()[:MOST_COLUMNS])
    if not paths:
        return Probe((), np.zeros((len(outputs), 0)), (), np.zeros(0), whole=True)
    columns = [outputs.column(Feature("value", path)) for path in paths]
    # A row for each column: most are numbers and nothing else, and are looked at together.
    rows = np.array([np.asarray(column.values, dtype=np.float64) for column in columns])
    finite = np.isfinite(rows)
    for place, column in enumerate(columns):
        if column.codes is not None:
            finite[place] &= ~column.labelled()
    rows[~finite] = np.nan
    plain = finite.all(axis=1)
    found: list[tuple[dict[object, int] | None, float]] = []
    summed = iter(_summed(rows[plain]))
    for place, column in enumerate(columns):
        found.append(next(summed) if plain[place] else _summary(column, rows[place]))
    few, spread = zip(*found, strict=True)
    return Probe(paths, rows.T, few, np.array(spread), bool(plain.all()))


def _summed(rows: Floats) -> list[tuple[dict[object, int] | None, float]]:
    """How often the values of each row occur, if they are few, and their spread."""
    if not len(rows):
        return []
    draws = rows.shape[1]
    ordered = np.sort(rows, axis=1)
    new = np.ones(rows.shape, dtype=bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    distinct = new.sum(axis=1)
    middle = ordered[:, (draws - 1) // 2 : draws // 2 + 1].mean(axis=1)
    spread = np.abs(rows - middle[:, None]).mean(axis=1)
    spread[distinct == 1] = 0.0
    spread[distinct == 2] = np.nan
    few: list[dict[object, int] | None] = [None] * len(rows)
    for place in np.flatnonzero(distinct <= FEW).tolist():
        starts = np.flatnonzero(new[place])
        times = np.diff(starts, append=draws)
        few[place] = dict(zip(ordered[place, starts].tolist(), times.tolist(), strict=True))
    return list(zip(few, spread.tolist(), strict=True))


def _summary(column: Column, row: Floats) -> tuple[dict[object, int] | None, float]:
    """The same of a column in which not all entries are numbers; `row` has NaN for the others."""
    finite = ~np.isnan(row)
    kept = row[finite]
    ((counts, spread),) = _summed(kept[None]) if len(kept) else [({}, np.nan)]
    if counts is None:
        counts = {"a number": len(kept)}
    for index in np.flatnonzero(~finite):
        name = column.label(int(index)) or repr(float(column.values[index]))
        counts[name] = counts.get(name, 0) + 1
    return counts if len(counts) <= FEW + 1 else None, spread


def shift(one: Probe, two: Probe) -> Shift:
    """How two frozen runs differ; zero where they do not."""
    if one.paths != two.paths or one.numbers.shape != two.numbers.shape:
        return Shift(0.0, 0.0, OTHER_FORM, 0.0)
    moved = outlier = spread = 0.0
    numeric = ~np.isnan(one.spread) & ~np.isnan(two.spread)
    if numeric.any():
        noise = np.minimum(one.spread, two.spread)[numeric]
        move = np.abs(one.numbers[:, numeric] - two.numbers[:, numeric])
        if not (one.whole and two.whole):
            move = np.nan_to_num(move, nan=0.0, posinf=np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            middle = np.nan_to_num(np.median(move, axis=0) / noise, nan=0.0, posinf=MOST)
            largest = np.nan_to_num(move.max(axis=0) / noise, nan=0.0, posinf=MOST)
            ratio = np.abs(np.log(one.spread[numeric] / two.spread[numeric]))
        moved = float(np.minimum(middle, MOST).sum())
        outlier = float(min(largest.max(), MOST))
        spread = float(np.nan_to_num(ratio, nan=0.0, posinf=MOST).max())
    counts = sum(
        _likelier(first, second)
        for first, second in zip(one.few, two.few, strict=True)
        if (first is not None or second is not None) and first != second
    )
    return Shift(moved, outlier, min(counts, MOST), min(spread, MOST))


def _likelier(one: dict[object, int] | None, two: dict[object, int] | None) -> float:
    """The largest log-ratio of the counts of a value, less what luck would do."""
    if one is None or two is None:
        # Few values beside many: another kind of output, unless the few are only just few.
        few = one if two is None else two
        return 0.0 if few is None or len(few) > FEW // 2 else OTHER_FORM
    most = 0.0
    for value in dict.fromkeys((*one, *two)):
        a, b = one.get(value, 0), two.get(value, 0)
        gap = abs(float(np.log((a + 0.5) / (b + 0.5)))) - 1 / sqrt(max(a, b) + 0.5)
        most = max(most, gap)
    return most


def rare_moves(one: Probe, two: Probe) -> int:
    """How many outputs moved far more than the others: a leak that happens seldom."""
    if one.paths != two.paths or one.numbers.shape != two.numbers.shape:
        return len(one.numbers)
    most = 0
    for place in range(len(one.paths)):
        noise = float(np.nan_to_num([one.spread[place], two.spread[place]]).max())
        first, second = one.numbers[:, place], two.numbers[:, place]
        gone = np.isnan(first), np.isnan(second)
        # Where both sides have numbers and others, that one becomes the other is no leak by itself.
        lost = (gone[0] != gone[1]) & (not gone[0].any() or not gone[1].any())
        numbers = ~(gone[0] | gone[1])
        move = np.abs(first - second)[numbers]
        usual = float(np.median(move)) if len(move) else 0.0
        if usual > noise:
            # The two runs do not share their noise.
            continue
        # Rounding and the last bits of a float are no leak that a sample can show.
        far = (move > STEP * max(usual, 1e-9 * noise)) & (move > noise)
        if one.few[place] is not None and two.few[place] is not None:
            # Of few values those tell that the other side never has.
            a, b = first[numbers], second[numbers]
            far &= ~np.isin(a, b) | ~np.isin(b, a)
        many = int(far.sum()) + int(lost.sum())
        most = max(most, many if many < len(one.numbers) / 4 else 0)
    return most


Unreached = dict[tuple[str, str, int], set[int]]
"""Lines of functions. A function goes by its file, its name and its first line, in any process."""


@dataclass(slots=True)
class Lines:
    """The lines of some code that have not run yet."""

    missing: Unreached
    every: Unreached = field(default_factory=dict)
    looked: bool = False
    """Whether any run was followed."""

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

    def _enter(self, frame: FrameType, event: str, _: object) -> "TraceFunction | None":
        left = self.missing.get(_name(frame.f_code))
        if not left:
            return None
        frame.f_trace_opcodes = False
        left.discard(frame.f_lineno)
        if not left:
            return None

        def line(frame: FrameType, event: str, _: object) -> "TraceFunction | None":
            left.discard(frame.f_lineno)
            return line if left else None

        return line

    def ran(self, found: tuple[bool, Unreached]) -> None:
        """Take over what a worker found out about the same code."""
        looked, left = found
        self.looked |= looked
        for name, lines in self.missing.items():
            lines &= left[name]

    def unreached(self) -> tuple[str, ...]:
        """The lines that never ran, as "release.py lines 31-34"; empty where all did."""
        if not self.looked:
            return ()
        by_file: dict[str, set[int]] = {}
        run: dict[str, set[int]] = {}
        for name, left in self.missing.items():
            by_file.setdefault(name[0], set()).update(left)
            run.setdefault(name[0], set()).update(self.every[name] - left)
        # A line of two functions (a comprehension in a statement) ran if either of them did.
        return tuple(
            f"{file} line{'s' if len(lines) > 1 else ''} {spans_of(lines)}"
            for file, left in by_file.items()
            if (lines := left - run[file])
        )


def lines_of(codes: Iterable[CodeType]) -> Lines:
    """All lines of the code of a mechanism, but for what only makes it."""
    missing: Unreached = {}
    every: Unreached = {}
    for code in codes:
        if code.co_name != "__init__":
            name, first = _name(code), code.co_firstlineno
            lines = {line for _, line in dis.findlinestarts(code) if line is not None}
            every.setdefault(name, set()).update(lines)
            # A code object shows its first line on entry; one of a single line has no other.
            missing.setdefault(name, set()).update({one for one in lines if one > first} or {first})
    return Lines(missing, every)


def _name(code: CodeType) -> tuple[str, str, int]:
    return os.path.basename(code.co_filename), code.co_qualname, code.co_firstlineno


def followed_draws(
    worker: Worker,
    databases: Sequence[object],
    calls: Calls,
    block: Block,
    *,
    missing: Unreached,
) -> tuple[list[Outputs], tuple[bool, Unreached]]:
    """Frozen draws, and which of the missing lines have not run yet; where the mechanism runs."""
    lines = Lines(missing)
    with lines.followed():
        outputs = frozen_draws(worker, databases, calls, block)
    return outputs, (lines.looked, lines.missing)


def spans_of(lines: set[int]) -> str:
    """Whole numbers with runs written as such: 3, 31-34."""
    parts: list[list[int]] = []
    for line in sorted(lines):
        if parts and line == parts[-1][1] + 1:
            parts[-1][1] = line
        else:
            parts.append([line, line])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
