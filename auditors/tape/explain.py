"""Why a claim is broken, as lines of the mechanism: a guide, and never a verdict.

D and D' are put on held tapes, both ways, with the lines that ask for each draw. What is looked
for, the worst first: an answer without noise, one that is no number or raises under one database
only; noise of scale 0, or times 0; one noise for several numbers that move apart; data that pass
beside all noise; draws that one database alone asks for; scales that depend on the data; and how
much of the loss each line's noise has to hide. On selections the parts are upper bounds, so the
mean of the weights given the output, which is exact, is told beside them.
"""

import itertools
import linecache
import os
import re
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from time import process_time
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...mechanisms.model import Database, Output
from .. import looking
from ..outputs.encoding import canonical
from ..results.results import Cause, CauseLine
from ..workers import Key, Worker
from ..workers.door import accepts_size
from .generator import Call, Drawn, Floats, Place, Playing, bits_of, through
from .held import HeldTape, Run, agreeing, hold, single

if TYPE_CHECKING:
    from _typeshed import TraceFunction

MOST = 4
"""Lines that are told."""
ROWS = 401
"""Rows of a size= call; a prime, so that no other axis is taken for them."""
SINGLES = 64
"""Single calls that are put on tape each way, if SECONDS do not end them before."""
SECONDS = 0.3
"""CPU seconds after which no further single call is put on tape, each way."""
ENOUGH = 20
"""Outputs alike from which a mean of weights is told."""
FEW = 64
"""Different outputs up to which a mean of weights is told."""
KEY = "explain"
AGAIN = 16
"""Runs that are made again, to see whether all their randomness is on the tape."""
ELSEWHERE_DRAWN = (
    "the same draws, given again, lead to other answers: there is randomness from elsewhere than "
    "the generator, numpy.random and random, so no line can be named"
)
FURTHER = "belongs to the line above"
INTO = "goes into the line above"
OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
ELSEWHERE = tuple(
    os.path.join(os.path.dirname(os.path.abspath(one)), "")
    for one in (np.__file__, sysconfig.__file__)
)
CONTAINERS = re.compile(r"[/\\](?:scipy|pandas)[/\\]")
CONTINUOUS = frozenset({"laplace", "normal", "gumbel", "logistic", "exponential", "gamma",
                        "standard_cauchy", "standard_t", "beta"})  # fmt: skip
MOST_EVENTS = 20_000
"""Values that lines made, of one run."""
GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it are far apart modulo 1."""
SCALED = frozenset({"laplace", "normal", "gumbel", "logistic", "exponential"})


def places_of(frame: FrameType | None) -> tuple[Place, ...]:
    """The lines of the mechanism that a frame stands in, the innermost first."""
    found: list[Place] = []
    while frame is not None and len(found) < 3:
        name = frame.f_code.co_filename
        if name.startswith(OURS):
            if found:
                break
        elif not _foreign(name):
            found.append((name, frame.f_lineno))
        frame = frame.f_back
    return tuple(found)


def _foreign(name: str) -> bool:
    """Whether a file is Python's, numpy's, scipy's or pandas's, or none at all."""
    packaged = "site-packages" in name or "dist-packages" in name
    ours = name.startswith(ELSEWHERE[1]) and not packaged
    return ours or name.startswith(("<", ELSEWHERE[0])) or bool(CONTAINERS.search(name))


def explained(
    worker: Worker,
    databases: Sequence[Database],
    epsilon: float,
    delta: float,
    refuted: bool,
    seed: int,
    stated: str = "",
) -> tuple[list[tuple[str, int, str, str]], str, bool]:
    """The parts of a `Cause` as plain data; runs where the mechanism runs."""
    worker.beat()
    cause = explain(worker.run, databases[0], databases[1], epsilon, delta=delta, refuted=refuted,
                    seed=seed, beat=worker.beat, stated=stated)  # fmt: skip
    lines = [(one.file, one.line, one.source, one.reason) for one in cause.lines]
    return lines, cause.summary, cause.accused


def explain(
    run: Run,
    database: Database,
    neighbour: Database,
    epsilon: float,
    *,
    delta: float = 0.0,
    refuted: bool = False,
    seed: int = 0,
    beat: Callable[[], None] = lambda: None,
    stated: str = "",
) -> Cause:
    """Which lines spend the privacy loss of a pair, beside the `epsilon` (nats) claimed of it.

    `refuted` says that the claim is known to be broken, so that a suspicion may be told. `stated`
    is the claim in a word or two, if it is not this epsilon alone.
    """
    with np.errstate(all="ignore"):
        stated = stated or f"{epsilon:g}"
        pair = database, neighbour
        return _Inquiry(run, pair, epsilon, delta, refuted, seed, beat, stated).cause()


class _Inquiry:
    """One explanation on its way."""

    def __init__(self, run: Run, pair: tuple[Database, Database], epsilon: float, delta: float,
                 refuted: bool, seed: int, beat: Callable[[], None], stated: str
                 ) -> None:  # fmt: skip
        self.run, self.pair, self.epsilon, self.delta = run, pair, epsilon, delta
        self.refuted, self.seed, self.beat, self.stated = refuted, seed, beat, stated
        self.rows: int | None = None
        self.sides: tuple[list[HeldTape], list[HeldTape]] = ([], [])
        self.raising = ""

    def cause(self) -> Cause:
        for side in (0, 1):
            try:
                self.sides[side].extend(self._tapes(side))
            except Exception as error:  # noqa: BLE001 - the mechanism
                return self._raised(side, error)
        tapes = [tape for side in self.sides for tape in side]
        if self._elsewhere():
            return Cause(lines=(), summary=ELSEWHERE_DRAWN, accused=False)
        found = list(self._accusations(tapes))
        if not found and self.refuted and self._fixed():
            found = [(self._beside(tapes), "the answer is the same whatever is drawn"),
                     *self._suspects(tapes)]  # fmt: skip
        given = self._conditional()
        parts = self._parts(tapes)
        total = sum(loss for loss, *_ in parts)
        held = float(np.mean([np.mean(tape.held) for tape in tapes]))
        over = self._over(tapes, given)
        spent = total if given is None else min(total, given)
        accused = bool(found) or over
        suspects = list(self._suspects(tapes)) if self.refuted and not accused else []
        within = spent <= self.epsilon * 1.001 + 1e-9
        if within:
            # No noise that hides data spends what was lost: the draws that hide none come first.
            hiding = {at[:1] for loss, at, _ in parts if loss > 1e-9}
            found += sorted(suspects, key=lambda one: one[0][:1] in hiding)
        if not accused or total > self.epsilon:
            for number, (loss, at, part) in enumerate(parts):
                if loss > 1e-9:
                    found.append((at[:1], self._hides(loss, given, *part[1:], within=within)))
                    found += list(self._makers(*part)) if self.refuted and not number else ()
                    found.append((at[1:], FURTHER))
        found += suspects
        lines = _lines(found)
        return Cause(lines=lines, summary=self._summary(total, given, held, accused, lines),
                     accused=accused or (self.refuted and bool(lines)))  # fmt: skip

    def _tapes(self, side: int) -> Iterator[HeldTape]:
        one, two = self.pair if side == 0 else self.pair[::-1]
        words = Key(self.seed, side, KEY, side).words
        if accepts_size(self.run):
            self.beat()
            tape = hold(self.run, one, two, lambda: bits_of(words, 0), ROWS, lines=places_of)
            if "belong to no row" not in tape.reason:
                self.rows = ROWS
                yield tape
                return
        self.rows = None
        alone, started = single(self.run), process_time()
        for draw in range(SINGLES):
            self.beat()
            yield hold(alone, one, two, lambda n=draw: bits_of(words, n + 1), lines=places_of)  # type: ignore[misc]
            if process_time() - started > SECONDS:
                break

    def _elsewhere(self) -> bool:
        """Whether the same draws, given again, lead to other answers."""
        return any(
            not np.all(agreeing(tape.outputs, again, self.rows))
            for tape in self.sides[0][:AGAIN]
            if tape.outputs is not None
            for again in self._answers(tape, [one.value for one in tape.calls])
        )

    def _answers(self, tape: HeldTape, values: Sequence[Drawn]) -> list[Output]:
        """What the mechanism answers when its draws are these: one answer, or none if it raises."""
        with suppress(Exception):
            return [self._played(self._side(tape), tape, values)]
        return []

    def _played(self, side: int, tape: HeldTape, values: Sequence[Drawn]) -> Output:
        """What a database is answered when the draws of a tape are these; raises what that does."""
        run = self.run if self.rows else single(self.run)
        more = {} if self.rows is None else {"size": self.rows}
        player = Playing(np.random.PCG64(0), [one.name for one in tape.calls], values)
        with through(player):
            return run(self.pair[side], player, **more)

    def _side(self, tape: HeldTape) -> int:
        """Which of both databases a tape was recorded on."""
        return 0 if any(tape is one for one in self.sides[0]) else 1

    # What is wrong whatever the claim.

    def _accusations(self, tapes: Sequence[HeldTape]) -> Iterator[tuple[tuple[Place, ...], str]]:
        for tape in tapes:
            if tape.raised is not None:
                error = tape.raised[1]
                yield _raised_at(error), f"raises {type(error).__name__} under one database only"
        calls, silent = [one for tape in tapes for one in tape.calls], False
        if not calls and any(not np.all(tape.same) for tape in tapes):
            yield self._beside(tapes), "the answer is made without a draw from the generator"
            return
        for of, one in [(tape, one) for tape in tapes for one in tape.calls]:
            scale = one.parameters[-1] if one.name in SCALED else None
            if scale is not None and np.all(np.asarray(scale) == 0):
                yield one.places[:1], "noise of scale 0"
                if not silent:
                    yield from self._makers(of, one, one)
                silent = True
                yield one.places[1:], FURTHER
            elif any(np.size(step.k) and np.all(np.asarray(step.k) == 0) for step in one.steps):
                yield one.met or one.places, "the noise is multiplied by 0"
        if nan := self._nan(tapes):
            yield nan
        for tape in tapes:
            for one in tape.replayed:
                if one.shared:
                    yield one.places, "one noise for several numbers that move apart"
        beside = [t for t in tapes if not t.reason and not np.all(t.same | ~np.isfinite(
            t.log_weights)) and not any(one.shared for one in t.replayed)]  # fmt: skip
        if (
            beside
            and all(one.name in CONTINUOUS for one in calls)
            and not any(map(self._unheld, beside))
        ):
            yield self._beside(beside), "data pass beside the noise: the answer changes although " \
                "every noisy number is held"  # fmt: skip
            for one in calls:
                yield one.places, "this noise does not cover them"
            yield from _meetings(beside)
        if self.refuted:
            yield from self._suspicions(tapes)

    def _unheld(self, tape: HeldTape) -> bool:
        """Whether the answer depends on noise that met the data where the tape did not see it.

        `float(noise)`, `math.exp(noise)` and the like leave a plain number, and the same number
        under both databases covers what it is added to afterwards. So the draws that held nothing
        are changed: if the answer stays as it was, nothing is made of them.
        """
        loose = {one.number for one in tape.replayed if not one.held}
        if not loose:
            return False
        values = [_another(one) if one.number in loose else one.value for one in tape.calls]
        return not any(
            tape.outputs is not None and np.all(agreeing(tape.outputs, again, self.rows))
            for again in self._answers(tape, values)
        )

    def _fixed(self) -> bool:
        """Whether each database has one answer, another one than the other has."""
        one, two = (
            {
                name
                for tape in side
                if tape.outputs is not None
                for name in _names(tape.outputs, self.rows)
            }
            for side in self.sides
        )
        return len(one) == len(two) == 1 and one != two

    def _suspicions(self, tapes: Sequence[HeldTape]) -> Iterator[tuple[tuple[Place, ...], str]]:
        """What sound mechanisms may do too."""
        for tape in tapes:
            if tape.parted is not None:
                yield tape.parted.places, str(tape.parted)
                yield from _meetings([tape])
        for tape in tapes:
            for old, new in zip(tape.calls, tape.replayed, strict=False):
                if old.name not in SCALED or old.name != new.name:
                    continue
                one, two = old.parameters[-1], new.parameters[-1]
                sides: tuple[object, object]
                if np.shape(one) != np.shape(two) or not np.array_equal(one, two):
                    at, what, sides = old.places, "the scale of the noise", (one, two)
                elif _slope(old) != _slope(new):
                    at, what = new.met or old.places, "what multiplies the noise"
                    sides = _slope(old), _slope(new)
                else:
                    continue
                yield at, (f"{what} depends on the data: {_number(sides[0])} under one database, "
                           f"{_number(sides[1])} under the other")  # fmt: skip

    def _nan(self, tapes: Sequence[HeldTape]) -> tuple[tuple[Place, ...], str] | None:
        for tape in tapes:
            one, two = (_no_number(y) for y in (tape.outputs, tape.others))
            if tape.others is not None and one != two:
                at = [call.met or call.places for call in tape.replayed
                      if any(np.any(np.isnan(step.c)) for step in call.steps)]  # fmt: skip
                return (at[0] if at else self._beside([tape]),
                        "the answer is NaN under one database only")  # fmt: skip
        return None

    def _beside(self, tapes: Sequence[HeldTape]) -> tuple[Place, ...]:
        """The line that makes what differs between two outputs with equal noise."""
        tape = next((one for one in tapes if one.others is not None), tapes[0])
        side = self._side(tape)
        # Each database with the draws that gave its output.
        one, output = self._history(tape, [call.value for call in tape.calls], side)
        two, other = self._history(tape, [call.moved for call in tape.replayed], 1 - side)
        return _made_at((one, two), (output, other)) if one and two else ()

    # How much each line's noise has to hide.

    def _parts(
        self, tapes: Sequence[HeldTape]
    ) -> list[tuple[float, tuple[Place, ...], tuple[HeldTape, Call, Call]]]:
        by_line: dict[object, list[tuple[float, HeldTape, Call, Call]]] = {}
        for tape in tapes:
            of_tape: dict[tuple[Place, ...], tuple[Floats, Call, Call]] = {}
            for old, new in zip(tape.calls, tape.replayed, strict=False):
                part = tape.parts.get(old.number)
                if part is None or not old.places:
                    continue
                kept = np.where(np.isfinite(part), part, 0.0)
                key = old.places
                if key in of_tape:
                    of_tape[key] = (of_tape[key][0] + kept, *of_tape[key][1:])
                else:
                    of_tape[key] = (kept, old, new)
            for key, (kept, old, new) in of_tape.items():
                loss = float(np.max(np.abs(kept), initial=0.0))
                by_line.setdefault(key, []).append((loss, tape, old, new))
        found = []
        for found_at in by_line.values():
            loss, tape, old, new = max(found_at, key=lambda one: one[0])
            at = old.places
            if new.met and new.met[0] != at[0]:
                at = (*at, *(one for one in new.met[:1] if one not in at))
            found.append((loss, at, (tape, old, new)))
        return sorted(found, key=lambda one: -one[0])

    def _makers(
        self, tape: HeldTape, old: Call, new: Call
    ) -> Iterator[tuple[tuple[Place, ...], str]]:
        """The lines that make the scale of a noise, or the chances of a draw, and what it hides."""
        wanted: list[tuple[Sequence[object], str]] = []
        if old.name != "uniform":  # that has 0 and 1, as have many lines
            wanted += [(old.parameters[-1:], "makes the parameter of the draw above")]
        apart = [one.c for one, two in zip(old.steps, new.steps, strict=False)
                 if not np.array_equal(one.c, two.c)]  # fmt: skip
        wanted += [(apart[:1], "computes the number to which that noise is added")]
        if old.name in SCALED and len(old.parameters) == 2:
            wanted += [(old.parameters[:1], "computes the number to which that noise is added")]
        history, _ = self._history(tape, [one.value for one in tape.calls], self._side(tape))
        used = (new.met or old.places)[:1]
        end = next((k for k, one in enumerate(history) if one.at[:1] == used), None)
        words, makers = _words(*old.places[:1], *used), []
        for values, reason in wanted:
            for k in range(len(history[:end]) - 1, -1, -1) if values else ():
                made = history[k]
                if made.at and made.name in words and _equal(made.value, values[0]):
                    k = _maker(history, k)
                    yield history[k].at[:1], reason
                    makers.append(k)
                    break
        if not makers:
            # A threshold is worked out on the line that draws.
            of = None if end is None else history[end].made_in
            makers = list(_ingredients(history[:end], used, of))
            yield from ((history[k].at[:1], INTO) for k in makers)
        for k in makers:
            for j in _ingredients(history[:k], history[k].at[:1], history[k].made_in):
                yield history[j].at[:1], INTO

    def _history(
        self, tape: HeldTape, values: Sequence[Drawn], side: int
    ) -> "tuple[History, Output]":
        """What each line made when the draws are these, in order, and the answer.

        Up to where the mechanism raises, with None for its answer; it did not when it was recorded.
        """
        history, trace = _followed()
        output = None
        with suppress(Exception):
            sys.settrace(trace)
            try:
                output = self._played(side, tape, values)
            finally:
                sys.settrace(None)
        return history, output

    def _hides(
        self, loss: float, given: float | None, old: Call, new: Call, *, within: bool
    ) -> str:
        beside = f"within the {self.stated} claimed" if within else f"and {self.stated} is claimed"
        spent = f"privacy loss is up to {loss:.3g}, {beside}"
        if given is not None and given < loss:
            # A draw that only decides among outputs loses more than any output shows.
            spent = f"privacy loss is about {given:.2g} in the outputs tried, {beside}"
        if old.name in ("choice", "integers", "binomial", "poisson", "uniform"):
            return f"the probabilities of this draw depend on the data: its {spent}"
        move = np.abs(np.asarray(new.moved, float) - np.asarray(old.value, float)) * _slope(new)
        if old.name in SCALED and len(old.parameters) == 2:
            apart = np.abs(np.asarray(new.parameters[0]) - np.asarray(old.parameters[0]))
            move = move + np.broadcast_to(apart, np.shape(move))
        size = 1 if self.rows is None else self.rows
        most = float(np.max(np.sum(move.reshape(size, -1), axis=1))) if move.size % size == 0 \
            else float(np.max(move))  # fmt: skip
        scale = f" of scale {_number(np.asarray(old.parameters[-1]) * _slope(old))}" \
            if old.name in SCALED else ""  # fmt: skip
        return f"noise{scale} against a change of {most:.3g}: its {spent}"

    def _conditional(self) -> float | None:
        """The largest loss of an output that comes often, by the mean of the weights given it."""
        counts, masses, odd = dict[bytes, int](), dict[bytes, float](), dict[bytes, int]()
        sizes = []
        for place, side in enumerate(self.sides):
            size = 0
            for tape in side:
                if tape.reason or tape.outputs is None:
                    return None
                names = _names(tape.outputs, self.rows)
                size += len(names)
                for name, weight, held in zip(names, tape.weights, tape.held, strict=True):
                    if place == 0:
                        counts[name] = counts.get(name, 0) + 1
                        masses[name] = masses.get(name, 0.0) + float(weight)
                    elif not held:
                        odd[name] = odd.get(name, 0) + 1
            sizes.append(size)
        if not counts or len(counts) > FEW or min(sizes) == 0:
            return None
        losses = [
            abs(float(np.log((masses[name] / sizes[0] + odd.get(name, 0) / sizes[1])
                             / (count / sizes[0]))))
            for name, count in counts.items() if count >= ENOUGH
        ]  # fmt: skip
        return max((one for one in losses if np.isfinite(one)), default=None)

    def _over(self, tapes: Sequence[HeldTape], given: float | None) -> bool:
        """Whether the weights themselves say that more is lost than is claimed."""
        usable = [tape for tape in tapes if not tape.reason and np.all(tape.held)]
        if not usable or len(usable) < len(tapes):
            return False
        if given is not None:
            return given > self.epsilon + 0.3 and self.refuted
        losses = -np.concatenate([tape.log_weights for tape in usable])
        if not self.delta:
            return self.refuted and float(np.max(losses)) > self.epsilon * 1.001 + 1e-9
        beyond = float(np.mean(np.maximum(0.0, 1 - np.exp(self.epsilon - losses))))
        return self.refuted and beyond > self.delta

    def _suspects(self, tapes: Sequence[HeldTape]) -> Iterator[tuple[tuple[Place, ...], str]]:
        """The draws themselves, where nothing else is known."""
        seen = dict[tuple[Place, ...], None]()
        for tape in tapes:
            for one in () if np.all(tape.held) else tape.calls:
                if one.places and one.places not in seen:
                    seen[one.places] = None
                    yield one.places, "a draw here decides among data, which no alignment of " \
                        "the draws follows"  # fmt: skip
        if not seen:
            return
        values = [one.value for one in tapes[0].calls]
        history, _ = self._history(tapes[0], values, self._side(tapes[0]))
        for at, *_ in seen:
            end = next((k for k, one in enumerate(history) if one.at[:1] == (at,)), None)
            if end is not None:
                for k in _ingredients(history[:end], (at,), history[end].made_in):
                    yield history[k].at[:1], INTO

    def _raised(self, side: int, error: Exception) -> Cause:
        at = _raised_at(error)
        text = f"raises {type(error).__name__} under {('D', 'D′')[side]}"
        return Cause(lines=_lines([(at, text)]), summary="", accused=True)

    def _summary(self, total: float, given: float | None, held: float, accused: bool,
                 lines: Sequence[CauseLine]) -> str:  # fmt: skip
        said = []
        if total > 1e-9:
            said.append(f"the losses of all draws add up to at most {total:.3g}")
        if given is not None and held > 0.5:
            said.append(f"the output that shows most of it has a loss of about {given:.2g}")
        if held < 1 - 1e-9:
            said.append(f"the alignment of the draws covers {held:.0%} of the outputs")
        if not accused and not self.refuted:
            said.append("nothing is refuted, so no line is accused")
        elif not lines:
            said.append("this alignment does not tell the cause")
        return "; ".join(said)


def _number(value: object) -> str:
    flat = np.unique(np.asarray(value, dtype=float).ravel())
    return f"{flat[0]:.3g}" if flat.size == 1 else f"{flat[0]:.3g} to {flat[-1]:.3g}"


def _slope(call: Call) -> float:
    """By what the noise was multiplied before it was fixed."""
    found = [np.abs(np.asarray(step.k)) for step in call.steps]
    return float(np.max(found[-1], initial=0.0)) if found and np.size(found[-1]) else 1.0


def _another(call: Call) -> Drawn:
    """Another value that the law of a continuous draw allows; no two draws change alike."""
    turn = (call.number + 1) * GOLDEN % 1
    if call.name == "uniform":
        low, high = call.parameters[:2]
        return low + (call.value - low + turn * (high - low)) % (high - low)
    return call.value * (0.25 + turn / 2)


def _no_number(output: Output) -> bool:
    with suppress(Exception):
        return bool(np.any(np.isnan(np.asarray(output, dtype=float))))
    return False


def _names(outputs: Output, rows: int | None) -> list[bytes]:
    if rows is None:
        return [canonical(outputs)]
    if isinstance(outputs, np.ndarray):
        return [one.tobytes() for one in np.ascontiguousarray(outputs.reshape(rows, -1))]
    if isinstance(outputs, tuple):
        return [b"|".join(one) for one in zip(*(_names(part, rows) for part in outputs),
                                              strict=True)]  # fmt: skip
    return [canonical(one) for one in outputs]


def _meetings(tapes: Sequence[HeldTape]) -> Iterator[tuple[tuple[Place, ...], str]]:
    """Where data meet noise that is moved to hide them: what it does not hide, passes there."""
    for tape in tapes:
        for one in tape.replayed:
            yield one.met[:1], "the data meet this noise here"


def _raised_at(error: BaseException) -> tuple[Place, ...]:
    found, trace = [], error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if not name.startswith(OURS) and not _foreign(name):
            found.append((name, trace.tb_lineno))
        trace = trace.tb_next
    return tuple(found[::-1][:2])


def _lines(found: Sequence[tuple[tuple[Place, ...], str]]) -> tuple[CauseLine, ...]:
    """At most four, each place once, the line that draws before the one that calls it."""
    told: dict[Place, CauseLine] = {}
    for at, reason in found:
        for number, (file, line) in enumerate(at[:2]):
            if (file, line) not in told:
                source = linecache.getline(file, line).strip()
                words = reason if number == 0 else FURTHER
                told[file, line] = CauseLine(file=file, line=line, source=source, reason=words)
    return tuple(told.values())[:MOST]


# Which line made a value: the plain runs once more, line by line.


class Assignment(NamedTuple):
    """A line, and what it gave a local name or a function returned there."""

    at: tuple[Place, ...]
    name: str
    value: object
    returned: bool
    known_in: int
    """The call, counted from the first, in which the name is known: two may have one name."""
    made_in: int
    """The call that ran the line."""


History = list[Assignment]


def _words(*places: Place, more: int = 2) -> set[str]:
    """The names on these lines, and on as many after each: a call may go on there."""
    text = "".join(
        linecache.getline(file, line + k) for file, line in places for k in range(more + 1)
    )
    return set(re.findall(r"[A-Za-z_]\w*", text))


def _ingredients(history: History, at: tuple[Place, ...], made_in: int | None) -> Iterator[int]:
    """What made the numbers of which a line makes others, by its place, the last first.

    Of the names on the line only those count that the call `made_in` knows; None: any. Whole
    numbers in a tuple are a shape more often than data, so they come after all others.
    """
    words, seen, shapes = _words(*at, more=0), set[str](), list[int]()
    for k in range(len(history) - 1, -1, -1):
        made = history[k]
        if made_in not in (None, made.known_in):
            continue
        if made.name in words - seen and made.at and made.at[:1] != at and _numeric(made.value):
            seen.add(made.name)
            if type(made.value) is tuple and all(type(one) is int for one in made.value):
                shapes.append(_maker(history, k))
            else:
                yield _maker(history, k)
    yield from shapes


def _maker(history: History, k: int) -> int:
    """The place of what made a value: a function that had just returned it, or the line itself."""
    inner = k > 0 and history[k - 1].returned and _equal(history[k - 1].value, history[k].value)
    return k - 1 if inner else k


def _made_at(
    histories: "tuple[History, History]", outputs: tuple[Output, Output]
) -> tuple[Place, ...]:
    """The line that makes what differs between two answers, and the last that takes it on."""
    one, two = (_flat(output) for output in outputs)
    if one.shape != two.shape:
        return histories[0][-1].at
    places = np.flatnonzero(~np.isclose(one, two, rtol=1e-9, atol=1e-9, equal_nan=True))
    a, b = (one[places[0]], two[places[0]]) if len(places) else (np.nan, np.nan)
    both = [(before, after) for before, after in zip(*histories, strict=False) if before.at]
    found = [before for before, after in both
             if _equal(before.value, one) and _equal(after.value, two)]  # fmt: skip
    found = found or [before for before, after in both
                      if _contains(before.value, a) and _contains(after.value, b)]  # fmt: skip
    if found:
        kept = [one for one in found if not one.returned] or found
        return tuple(dict.fromkeys((found[0].at[0], kept[-1].at[0])))
    return histories[0][-1].at


def _followed() -> "tuple[History, TraceFunction]":
    """A list that fills with what each line makes, and the trace function that fills it."""
    history: History = []
    known: dict[int, dict[str, int]] = {}
    last: dict[int, tuple[Place, ...]] = {}
    origin: dict[int, tuple[tuple[Place, ...], int]] = {}
    calls: dict[int, int] = {}
    count = itertools.count()

    def trace(frame: FrameType, event: str, argument: object) -> "TraceFunction | None":
        name = frame.f_code.co_filename
        if name.startswith(OURS) or _foreign(name):
            return None
        if event == "call":
            calls[id(frame)] = here = next(count)
            locals_ = _known(frame)
            known[id(frame)] = {local: id(value) for local, value in locals_.items()}
            caller = frame.f_back
            if caller is None or caller.f_code.co_filename.startswith(OURS):
                return trace
            # What is worked out in the call itself is made on the line that calls; what is handed
            # on has another name here.
            passed = {*known.get(id(caller), {}).values()}
            at = places_of(caller), calls.get(id(caller), -1)
            for local, value in locals_.items() if len(history) < MOST_EVENTS else ():
                if type(value) is float or looking.is_a(value, (np.floating, np.ndarray)):
                    made = origin.get(id(value)) if id(value) in passed else at
                    made = origin.setdefault(id(value), made or at)
                    history.append(Assignment(made[0], local, value, False, here, made[1]))
        elif len(history) < MOST_EVENTS:
            line, before = last.get(id(frame), ()), known.setdefault(id(frame), {})
            here = calls.get(id(frame), -1)
            for local, value in _known(frame).items():
                if before.get(local) != id(value):
                    before[local] = id(value)
                    if line:
                        origin.setdefault(id(value), (line, here))
                        history.append(Assignment(line, local, value, False, here, here))
            if event == "return":
                outside = calls.get(id(frame.f_back), -1)
                name = frame.f_code.co_name
                history.append(Assignment(places_of(frame), name, argument, True, outside, here))
        last[id(frame)] = places_of(frame) if event == "line" else ()
        return trace

    return history, trace


def _known(frame: FrameType) -> dict[str, object]:
    """The names of a frame, and the attributes of its `self`."""
    names = frame.f_locals
    return {**dict(looking.held(names.get("self"))), **names}


def _flat(value: Output) -> Floats:
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (list, tuple)):
        parts = [_flat(one) for one in value]
        return np.concatenate(parts) if parts else np.zeros(0)
    try:
        return np.atleast_1d(np.asarray(value, dtype=float)).ravel()
    except (TypeError, ValueError):
        return np.array([float(hash(canonical(value)) % 2**31)])


def _numeric(value: object) -> bool:
    return type(value) in (float, int) or looking.is_a(value, (np.number, np.ndarray, list, tuple))


def _equal(value: object, wanted: object) -> bool:
    """Whether a value that a line made is this number, or these numbers."""
    if not _numeric(value):
        return False
    try:
        one, two = (np.asarray(x, dtype=float).ravel() for x in (value, wanted))
    except (TypeError, ValueError):
        return False
    if two.size > one.size > 0 and np.array_equal(two, np.resize(one, two.size)):
        return True  # a row for all rows
    return one.size == two.size > 0 and bool(np.allclose(one, two, rtol=1e-12, atol=0))


def _contains(value: object, wanted: float) -> bool:
    if _numeric(value):
        with suppress(TypeError, ValueError):  # a list of something else
            return bool(np.any(np.asarray(value, dtype=float) == wanted))
    return False
