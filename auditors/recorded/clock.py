"""The attacker who holds a clock: does the running time tell two databases apart?

Calls on the two databases are interleaved in a random order drawn beforehand, so that whatever
else the machine does falls on both alike: given the machine's state at each call, a mechanism
whose time does not depend on the database gives times that are exchangeable between the sides.
The first quarter of the times teaches an event, the rest is counted
once. A second, equal run with the first database on both sides says whether this machine is fit
for the question.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Output, Pair
from ..errors import InvalidArgument
from ..outputs.outputs import Outputs
from ..results.results import Verdict
from ..sampling.calls import guarded
from ..workers import Door, Key, Stream, Worker
from ..workers.streams import generator
from . import Judged, judge_samples

NOISY = 0.5
"""Width of nine tenths of the times, as a part of their median, from which a machine is noisy."""
WARM = 20
"""Calls before the first that is timed."""
PIECE = 256
"""Calls timed in one request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """The verdict on running times in nanoseconds, the typical times and a warning, if any.

    `control` is the verdict of the same test where both sides are the first database: REFUTED
    there means that this machine refutes what is true, and the verdict is INCONCLUSIVE.
    """

    judged: Judged
    control: Judged
    typical: tuple[float, float]
    warning: str

    @property
    def verdict(self) -> Verdict:
        """That of the times, unless the control failed."""
        failed = self.control.verdict is Verdict.REFUTED
        return Verdict.INCONCLUSIVE if failed else self.judged.verdict


def judge_times(
    run: Callable[..., Output],
    pair: Pair,
    *,
    epsilon: float,
    delta: float = 0.0,
    distance: int = 1,
    trials: int = 20_000,
    alpha: float = 1e-3,
    seed: int = 0,
    limit: float = 10.0,
    seeded: bool = True,
) -> Timed:
    """Time `trials` calls a side of run(database, rng) and judge the claim on the times.

    A mechanism whose running time has the same law on both databases, and one that keeps the
    claim in its running time, is refuted with probability at most `alpha`. `limit` is the longest
    one call may take, in seconds.
    """
    if trials < 200:
        raise InvalidArgument(f"the clock needs at least 200 trials a side, got {trials}")
    claim = {"epsilon": epsilon, "delta": delta, "distance": distance}
    settings = {"trials": trials, "seed": seed, "limit": limit, "seeded": seeded}
    same = Pair(pair.database, pair.database)
    # The control comes first and is warm-up for the rest; it has an error probability of its own.
    calm = _times(run, same, stage=0, **settings)  # type: ignore[arg-type]
    control = judge_samples(*map(_outputs, calm), **claim, alpha=alpha)  # type: ignore[arg-type]
    times = _times(run, pair, stage=1, **settings)  # type: ignore[arg-type]
    judged = judge_samples(*map(_outputs, times), **claim, alpha=alpha)  # type: ignore[arg-type]
    typical = (float(np.median(times[0])), float(np.median(times[1])))
    return Timed(judged=judged, control=control, typical=typical, warning=_warning(calm, control))


def _outputs(times: NDArray[np.int64]) -> Outputs:
    return Outputs.of(times.astype(float), len(times))


def _warning(calm: tuple[NDArray[np.int64], NDArray[np.int64]], control: Judged) -> str:
    if control.verdict is Verdict.REFUTED:
        return (
            "on this machine one database is told from itself by the clock, so its clock proves "
            "nothing; run again on a quiet machine"
        )
    low, middle, high = np.quantile(np.concatenate(calm), [0.05, 0.5, 0.95])
    spread = float((high - low) / max(middle, 1.0))
    if spread > NOISY:
        return (
            f"this machine is noisy: nine tenths of the calls on one database differ by up to "
            f"{spread:.0%} of the typical time, which hides small differences"
        )
    return ""


def _times(
    run: Callable[..., object],
    pair: Pair,
    *,
    stage: int,
    trials: int,
    seed: int,
    limit: float,
    seeded: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    order = generator(seed, 0, "clock", 0, stage).permutation(np.repeat([0, 1], trials))
    door = Door(run, limit=limit)
    found: tuple[list[int], list[int]] = ([], [])
    for start in range(0, len(order), PIECE):
        piece = order[start : start + PIECE].tolist()
        times = door.ask(_timed, (pair.database, pair.neighbour), seed, stage, start, piece)
        for side, took in zip(piece, times, strict=True):
            found[side].append(took)
    return np.array(found[0]), np.array(found[1])


def _timed(
    worker: Worker, databases: Sequence[object], seed: int, stage: int, start: int, sides: list[int]
) -> list[int]:
    """Nanoseconds of a call on each of the sides in order; runs where the mechanism runs."""
    # Both sides draw from one stream, so that its state says nothing about the side either.
    stream, clock, found = Stream(Key(seed, 0, "clock", 1, stage)), time.perf_counter_ns, []
    with guarded(worker, databases[0]), guarded(worker, databases[1]):
        rng = stream.at(start)
        if start == 0:
            for _ in range(WARM):
                worker.beat()
                worker.run(databases[0], rng)
                worker.run(databases[1], rng)
        for side in sides:
            worker.beat()
            database = databases[side]
            before = clock()
            worker.run(database, rng)
            found.append(clock() - before)
    return found
