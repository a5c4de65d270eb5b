"""The held tape: what D's draws would have to be under D' for the same output, and how likely.

Let D's draws be x, with joint density p, and let T(x) be the draws that are proposed for D', whose
density there is p'. The weight of x is w = p'(T(x)) |det T'(x)| / p(x). Let H be the x for which
T(x) exists, has p' > 0 and leads to the output that x led to; T is one to one on H, and the same
construction from D' to D undoes it. Change of variables gives, for every event A,

    P_D'(A) = E_D[w; A and H] + P_D'(A and not H'),

H' being the draws of D' that are held on the way back. Where all draws are held this is
P_D'(y) / P_D(y) = E_D[w | y]: what a mechanism does after the draws does not matter. docs/tape.md
has the proof. Each output is looked at as it is: the mechanism is called with x on D and with T(x)
on D', with plain numbers, and a row is held if both return the same.

T(x) comes of numbers that know which draws they are made of, as long as these enter by sums and
products. A drawn number x becomes k x + c with k and c of the data: noise on a sum, a mean of it,
noise times a scale. Under D every such step is remembered. Under D' the same step has k' and c',
and the draw is moved to x' = (k x + c - c') / k', so that what the mechanism holds is the same
number; dx'/dx = k / k'. The last step wins, until the number is used in any other way: from then on
it is fixed. A uniform draw that is compared keeps the outcome instead: the thresholds met so far
cut its range into cells, and its cell under D is mapped onto that under D'. So a moved draw depends
on itself by an increasing function with a known derivative, and else on draws that were fixed
before it.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...mechanisms.model import Array, Database, Output
from ..outputs.encoding import canonical
from ..sampling.calls import row_of
from ..workers.door import accepts_size
from .generator import (
    LOG_DENSITY,
    NOTHING,
    WHOLE,
    Call,
    Draw,
    Drawn,
    Floats,
    Given,
    Numbers,
    Parameters,
    Parted,
    Place,
    Places,
    Playing,
    Seam,
    Step,
    plain_like,
    through,
)

Run = Callable[..., Output]
Lines = Callable[[FrameType], tuple[Place, ...]]
Change = Callable[[Array], Array]
"""Another shape for an array."""
SUMS = (np.add, np.subtract)
ORDERS = (np.less, np.less_equal, np.greater, np.greater_equal)
CLOSE = 1e-9
"""Relative difference of two numbers that differ by rounding."""
DRAWS = 200_000
"""Questions of one run that are followed; a run that asks for more is left alone."""


class Trace(NamedTuple):
    """k x + c: `places` are numbers of draws in the value of the call, of the number's shape.

    `parent` is the number of the step that it came of, -1 for the draw itself.
    """

    tape: "Following"
    call: Call
    places: Places
    k: Numbers
    c: Numbers
    parent: int = -1

    def shaped(self, change: Change) -> "Trace":
        """The same for the numbers in another shape."""
        shape = np.shape(self.places)
        k, c = (change(np.broadcast_to(one, shape)) for one in (self.k, self.c))
        return self._replace(places=change(self.places), k=k, c=c)


class Following(Seam):
    """A tape whose draws are followed."""

    def __init__(self, bits: np.random.BitGenerator, *, lines: Lines | None) -> None:
        super().__init__(bits)
        self._lines = lines

    def given(self, call: Call, value: Drawn, *, scalar: bool) -> Drawn:
        """The value of a call as the mechanism gets it."""
        if self._lines is not None:
            call.places = self._lines(sys._getframe(2))
        self.calls.append(call)
        if call.name in ("choice", "sample", "permutation") or not isinstance(value, np.ndarray) \
                or value.dtype.kind not in "fi":  # fmt: skip
            return plain_like(value, scalar)
        call.begin()
        places = np.arange(value.size).reshape(value.shape)
        return traced(value.copy(), Trace(self, call, places, 1.0, 0.0), scalar=scalar)

    def before(self, call: Call) -> Call | None:
        """The same call under D, while D' is replayed."""
        return None

    def step(self, trace: Trace, made: Numbers) -> Numbers:
        """A sum or product of a draw that is not fixed; what the mechanism gets for `made`."""
        call, number = trace.call, len(trace.call.steps)
        call.steps.append(Step(trace.places, trace.k, trace.c))
        old = self.before(call)
        if old is None or call.cells or number >= len(old.steps):
            return made
        was = old.steps[number]
        if was.threshold is not None or np.shape(was.places) != np.shape(trace.places):
            return made
        return self._moved(trace, was, made)

    def _moved(self, trace: Trace, was: Step, made: Numbers) -> Numbers:
        call, places = trace.call, trace.places
        x = np.asarray(call.value).ravel()[places]
        with np.errstate(all="ignore"):
            wanted = x + ((was.c - trace.c) + (was.k - trace.k) * x) / trace.k
            slope = np.log(np.abs(was.k / trace.k))
        if call.name in WHOLE:
            wanted = np.where(np.abs(np.rint(wanted) - wanted) < CLOSE, np.rint(wanted), np.nan)
        free = np.isfinite(wanted) & np.isfinite(slope) & ~call.frozen[places]
        wanted, slope = (
            np.broadcast_to(wanted, np.shape(places)),
            np.broadcast_to(slope, np.shape(places)),
        )
        # One draw that meets several numbers can hide one move only.
        first = call.asked.setdefault(trace.parent, np.full(call.now.size, np.nan))
        known = first[places]
        first[places] = np.where(free & np.isnan(known), wanted, known)
        with np.errstate(all="ignore"):
            apart = free & (np.abs(first[places] - wanted) > CLOSE * (1 + np.abs(wanted)))
        call.now[places] = np.where(free, wanted, call.now[places])
        call.jacobian[places] = np.where(free, slope, call.jacobian[places])
        if np.any(apart):
            call.shared = True
            torn = np.asarray(places)[apart]
            call.now[torn] = np.asarray(call.value, dtype=float).ravel()[torn]
            call.jacobian[torn] = 0.0
            call.frozen[torn] = True
            free = free & ~np.isin(places, torn)
        call.held = True
        if self._lines is not None and not call.met and np.any(free & (wanted != x)):
            call.met = self._lines(sys._getframe(2))
        kept = np.where(free, was.k * x + was.c, trace.k * call.now[places] + trace.c)
        return kept.astype(np.asarray(made).dtype) if np.asarray(made).dtype.kind in "fi" else kept

    def compared(self, trace: Trace, other: Numbers, uf: np.ufunc, turned: bool) -> object:
        """The outcome of a comparison of a draw with a plain number."""
        call = trace.call
        if call.name == "uniform":
            return self._cut(trace, other, uf, turned)
        if call.name == "integers":
            return None
        less = trace._replace(c=trace.c - other)
        with np.errstate(all="ignore"):
            gap = np.asarray(trace.k * call.now[trace.places] + less.c)
        gap = np.asarray(self.step(less, gap))
        self.fix(trace)
        return uf(0.0, gap) if turned else uf(gap, 0.0)

    def _cut(self, trace: Trace, other: Numbers, uf: np.ufunc, turned: bool) -> object:
        """The outcome of a comparison of a uniform draw, which has the same cell under D'."""
        call, number = trace.call, len(trace.call.steps)
        with np.errstate(all="ignore"):
            bar = np.asarray((other - trace.c) / trace.k, dtype=float)
        shape = np.broadcast_shapes(np.shape(bar), np.shape(trace.places))
        bar, places = np.broadcast_to(bar, shape), np.broadcast_to(trace.places, shape)
        call.steps.append(Step(places, trace.k, trace.c, bar))
        old = self.before(call)
        was = old.steps[number] if old is not None and number < len(old.steps) else None
        up = (uf in (np.less, np.less_equal)) != turned
        up = up != (np.asarray(trace.k) < 0)
        if was is None or was.threshold is None or np.shape(was.threshold) != shape:
            below = call.now[places] < bar
            return np.where(up, below, ~below)[()]
        x = np.asarray(call.value, dtype=float).ravel()
        free = ~call.frozen[places] & np.isfinite(bar) & np.isfinite(was.threshold)
        below = np.where(free, x[places] < was.threshold, call.now[places] < bar)
        if not call.cells and old is not None:
            ends = [np.broadcast_to(one, np.shape(call.value)).ravel()
                    for one in (*old.parameters, *call.parameters)]  # fmt: skip
            call.cells = [one.copy() for one in ends]
        low, high, low2, high2 = call.cells
        for upper, lower, bars in ((high, low, was.threshold), (high2, low2, bar)):
            np.minimum.at(upper, places[free & below], bars[free & below])
            np.maximum.at(lower, places[free & ~below], bars[free & ~below])
        with np.errstate(all="ignore"):
            slope = (high2 - low2) / (high - low)
            moved = np.clip(low2 + (x - low) * slope, low2, high2)
            empty = ~(slope > 0)
        touched = np.unique(places[free])
        call.now[touched] = np.where(empty, x, moved)[touched]
        call.jacobian[touched] = np.where(empty, -np.inf, np.log(np.abs(slope)))[touched]
        call.held = True
        return np.where(up, below, ~below)[()]

    def fix(self, trace: Trace) -> None:
        """From now on the draws are what they are."""
        trace.call.frozen[trace.places] = True


class Recording(Following):
    """Draws, and remembers."""

    def asked(self, name: str, parameters: Parameters, draw: Draw, *, scalar: bool) -> Drawn:
        """A fresh draw."""
        value = draw(self.inner)
        return self.given(Call(len(self.calls), name, parameters, value, scalar), value,
                          scalar=scalar)  # fmt: skip


class Replaying(Following):
    """Gives what was drawn under D, moved so that the steps under D' lead to the same numbers."""

    def __init__(self, bits: np.random.BitGenerator, recorded: Sequence[Call], *,
                 lines: Lines | None) -> None:  # fmt: skip
        super().__init__(bits, lines=lines)
        self.recorded = recorded

    def before(self, call: Call) -> Call | None:
        """The call of this number under D."""
        return self.recorded[call.number]

    def asked(self, name: str, parameters: Parameters, draw: Draw, *, scalar: bool) -> Drawn:
        """What was drawn under D; Parted if another law or shape is asked for."""
        number = len(self.calls)
        places = self._lines(sys._getframe(1)) if self._lines is not None else ()
        if number >= len(self.recorded):
            raise Parted(number, f"a draw ({name}) is asked for under one database only", places)
        old = self.recorded[number]
        if old.name != name:
            raise Parted(
                number, f"a draw ({name}) is asked for under one database and another one "
                f"({old.name}) under the other", places)  # fmt: skip
        value = old.value
        if isinstance(value, np.ndarray) and name not in ("choice", "sample"):
            shape = np.shape(draw(self.inner)) if value.shape else np.shape(value)
            if shape != value.shape:
                raise Parted(
                    number, f"a draw ({name}) gives {np.prod(value.shape):g} numbers under one "
                    f"database and {np.prod(shape):g} under the other", places)  # fmt: skip
        return self.given(Call(number, name, parameters, value, scalar), value, scalar=scalar)


def trace_of(value: object) -> Trace | None:
    """What a number is made of, if that is followed."""
    return value.made_of if isinstance(value, _Traced) else None


def plain(value: Drawn) -> Drawn:
    """A number that is used in another way: its draws are fixed, and it is followed no further."""
    if isinstance(value, _Traced):
        trace = value.made_of
        if trace is not None:
            trace.tape.fix(trace)
        return _bare(value)
    if isinstance(value, (list, tuple)) and any(isinstance(one, (_Traced, list, tuple))
                                                for one in value):  # fmt: skip
        return type(value)(map(plain, value)) if type(value) in (list, tuple) else value
    return value


def _bare(value: Drawn) -> Drawn:
    if isinstance(value, TracedArray):
        return value.view(np.ndarray)
    return int(int.__int__(value)) if isinstance(value, int) else float.__float__(value)


def operated(uf: np.ufunc, given: Sequence[object]) -> object:
    """A ufunc of one or two arguments, of which one or both are followed."""
    traces = [trace_of(one) for one in given]
    alive = [k for k, one in enumerate(traces)
             if one is not None and not np.all(one.call.frozen[one.places])]  # fmt: skip
    if not alive:
        return uf(*map(_bare_or, given))
    first = alive[0]
    trace = traces[first]
    assert trace is not None
    if uf in (np.negative, np.positive) and len(given) == 1:
        made = uf(_bare(given[0]))
        sign = -1 if uf is np.negative else 1
        return _stepped(trace._replace(k=sign * trace.k, c=sign * trace.c), made)
    if len(given) != 2:
        return uf(*map(plain, given))
    other = plain(given[1 - first])
    pair = (_bare(given[0]), other) if first == 0 else (other, _bare(given[1]))
    number = not isinstance(other, (str, bytes)) and np.asarray(other).dtype.kind in "biuf"
    if number and uf in ORDERS and len(alive) == 1:
        found = trace.tape.compared(trace, np.asarray(other, float), uf, first == 1)
        if found is not None:
            return found
    scaled = uf is np.multiply or (uf in (np.divide, np.true_divide) and first == 0)
    if not number or not (uf in SUMS or scaled):
        plain(given[first])
        return uf(*pair)
    made = uf(*pair)
    by = np.asarray(other, dtype=float)
    k, c = np.asarray(trace.k), np.asarray(trace.c)
    if uf is np.multiply:
        k, c = k * by, c * by
    elif scaled:
        with np.errstate(all="ignore"):
            k, c = k / by, c / by
    elif uf is np.add:
        c = c + by
    else:
        c = c - by if first == 0 else by - c
        k = k if first == 0 else -k
    places = np.broadcast_to(trace.places, np.shape(made))
    return _stepped(trace._replace(places=places, k=k, c=c), made)


def _stepped(trace: Trace, made: Numbers) -> object:
    kept = np.asarray(trace.tape.step(trace, made))
    trace = trace._replace(parent=len(trace.call.steps) - 1)
    return traced(kept, trace, scalar=kept.ndim == 0)


def _bare_or(value: Drawn) -> Drawn:
    return _bare(value) if isinstance(value, _Traced) else value


def traced(value: Array, trace: Trace, *, scalar: bool) -> object:
    """The number or array with its trace."""
    if not scalar:
        made = value.view(TracedArray)
        made.made_of = trace
        return made
    alone: TracedInt | TracedFloat
    alone = TracedInt(int(value)) if value.dtype.kind == "i" else TracedFloat(float(value))
    alone.made_of = trace.shaped(lambda one: np.asarray(one).reshape(())[()])
    return alone


class _Traced:
    """What numbers that are followed have in common."""

    made_of: Trace | None = None

    def __array_ufunc__(
        self, uf: np.ufunc, how: str, *given: Given, out: Given = None, **more: Given
    ) -> object:
        if how == "__call__" and not more:
            made = operated(uf, given)
        elif how == "reduce" and uf is np.add and isinstance(self, TracedArray):
            made = self._summed(*given, **more)
        else:
            made = getattr(uf, how)(*map(plain, given), **{k: plain(v) for k, v in more.items()})
        if out is not None and out[0] is not None and not isinstance(out[0], _Traced):
            np.copyto(out[0], _bare_or(made), casting="unsafe")
            return out[0] if not isinstance(made, TracedArray) else made
        return made

    def __array_function__(
        self, function: Any, types: object, given: Sequence[Given], named: Mapping[str, object]
    ) -> object:
        if function in (np.sum, np.mean):
            return function._implementation(*given, **named)
        if function in _SHAPES and isinstance(given[0], TracedArray):
            return given[0]._shaped(lambda one: function(one, *given[1:], **named))
        if function is np.searchsorted and len(given) == 2 and isinstance(given[1], _Traced):
            return _places(given[0], given[1])
        return function(*map(plain, given), **{k: plain(v) for k, v in named.items()})


def _places(edges: ArrayLike, draw: object) -> object:
    """np.searchsorted of a draw among edges: how many of them it is not below."""
    edges = np.asarray(edges)
    if isinstance(draw, TracedArray):
        draw = draw._shaped(lambda one: one[..., None])
    return np.sum(np.asarray(operated(np.greater_equal, (draw, edges))), axis=-1)


_SHAPES = frozenset({np.reshape, np.ravel, np.transpose, np.broadcast_to, np.expand_dims,
                     np.squeeze, np.take, np.flip, np.moveaxis, np.swapaxes})  # fmt: skip


class TracedArray(_Traced, np.ndarray):  # type: ignore[misc]
    """An array of followed numbers."""

    def __array_finalize__(self, made_from: object) -> None:
        self.made_of = None

    def _shaped(self, change: Change) -> object:
        made = change(self.view(np.ndarray))
        if self.made_of is None:
            return made
        return traced(np.asarray(made), self.made_of.shaped(change), scalar=np.ndim(made) == 0)

    def _summed(self, whole: object, axis: Given = 0, **more: Given) -> object:
        """Of several draws the first stands for the sum; the others are fixed."""
        if more.pop("keepdims", False) or any(v is not None for v in more.values()) or \
                whole is not self or self.made_of is None or isinstance(axis, tuple) or \
                not self.size:  # fmt: skip
            return np.add.reduce(plain(whole), axis=axis, **more)
        if axis is None:
            return np.add.reduce(self.ravel(), axis=0)
        made = np.add.reduce(self.view(np.ndarray), axis=axis)
        trace = self.made_of
        rest = trace.shaped(lambda one: np.delete(one, 0, axis))
        trace.tape.fix(rest)
        first = trace.shaped(lambda one: np.take(one, 0, axis))
        c = made - first.k * first.call.now[first.places]
        return _stepped(first._replace(c=c), made)

    def __getitem__(self, key: Given) -> Drawn:
        return self._shaped(lambda one: one[plain(key)])

    def __setitem__(self, key: Given, value: object) -> None:
        if self.made_of is not None:
            part = self.made_of.shaped(lambda one: one[key])
            self.made_of.tape.fix(part)
        self.view(np.ndarray)[key] = plain(value)

    def __iter__(self) -> Iterator[Drawn]:
        return (self[k] for k in range(len(self)))

    @property
    def T(self) -> Drawn:
        """As numpy's."""
        return self._shaped(np.transpose)

    def astype(self, dtype: Given, *more: Given, **named: Given) -> Drawn:
        """As numpy's; whole numbers made of others are followed no further."""
        if np.dtype(dtype).kind != "f":
            return plain(self).astype(dtype, *more, **named)
        return self._shaped(lambda one: one.astype(dtype) if one.dtype.kind == "f" else one)


def _reshaping(name: str) -> Callable[..., object]:
    def method(self: TracedArray, *given: object, **named: object) -> object:
        return self._shaped(lambda one: getattr(one, name)(*given, **named))

    return method


for _name in ("copy", "reshape", "ravel", "flatten", "transpose", "squeeze", "swapaxes", "take"):
    setattr(TracedArray, _name, _reshaping(_name))


def _method(name: str) -> Callable[..., object]:
    def method(self: object, *given: object, **named: object) -> object:
        return getattr(plain(self), name)(*map(plain, given), **named)

    return method


for _name in ("argmax", "argmin", "argsort", "tolist", "item", "round", "cumsum", "cumprod", "dot",
              "nonzero", "tobytes", "__str__", "__repr__", "__format__", "__bool__", "__float__",
              "__int__", "__index__", "mean", "max", "min"):  # fmt: skip
    if hasattr(np.ndarray, _name):
        setattr(TracedArray, _name, _method(_name))


class TracedFloat(_Traced, float):
    """One followed number."""

    ndim, shape, size, dtype = 0, (), 1, np.dtype(float)

    def item(self) -> float:
        """The number."""
        return float(plain(self))


class TracedInt(_Traced, int):
    """One followed whole number."""

    ndim, shape, size, dtype = 0, (), 1, np.dtype(np.int64)

    def item(self) -> int:
        """The number."""
        return int(plain(self))


def _operator(uf: np.ufunc, turned: bool, name: str) -> Callable[[object, object], object]:
    def method(self: object, other: object) -> object:
        if isinstance(other, np.ndarray) and not isinstance(other, _Traced):
            return uf(other, self) if turned else uf(self, other)
        if not isinstance(other, (int, float, np.number, np.bool_, _Traced)):
            return getattr(plain(self), name)(other)
        made = operated(uf, (other, self) if turned else (self, other))
        return bool(made) if isinstance(made, np.bool_) else made

    return method


_SIGNS: dict[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide,
}  # fmt: skip
_ORDERED: dict[str, np.ufunc] = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_USED = (
    "__round__", "__floor__", "__ceil__", "__trunc__", "__int__", "__str__", "__repr__",
    "__format__", "__bool__", "__eq__", "__ne__", "__hash__", "__abs__", "__pow__", "__rpow__",
    "__mod__", "__rmod__", "__floordiv__", "__rfloordiv__", "__divmod__", "__index__",
    "is_integer", "hex",
)  # fmt: skip


def _negated(self: object) -> object:
    return operated(np.negative, (self,))


for _kind in (TracedFloat, TracedInt):
    for _name, _uf in _SIGNS.items():
        setattr(_kind, f"__{_name}__", _operator(_uf, False, f"__{_name}__"))
        setattr(_kind, f"__r{_name}__", _operator(_uf, True, f"__r{_name}__"))
    for _name, _uf in _ORDERED.items():
        setattr(_kind, f"__{_name}__", _operator(_uf, False, f"__{_name}__"))
    for _name in (one for one in _USED if hasattr(_kind, one)):
        setattr(_kind, _name, _method(_name))
    setattr(_kind, "__neg__", _negated)  # noqa: B010 - a type checker takes it for another method


class _Found(TypedDict, total=False):
    """What of a `HeldTape` is known where nothing is held."""

    replayed: Sequence[Call]
    parts: dict[int, Floats]
    parted: Parted
    raised: tuple[str, Exception]


@dataclass(slots=True)
class HeldTape:
    """D recorded and replayed on D': `rows` outputs of both, and how they hang together.

    `outputs` are those under D, `others` those of the same draws as T moves them under D'.
    `log_weights` and `held` are of shape (rows,). `reason` says why nothing is held; "" where
    something may be. `calls` and `replayed` are the questions under either database.
    """

    outputs: Output
    others: Output = None
    log_weights: Floats = field(default_factory=lambda: np.zeros(1))
    held: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(1, dtype=bool))
    same: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(1, dtype=bool))
    reason: str = ""
    calls: Sequence[Call] = ()
    replayed: Sequence[Call] = ()
    parts: dict[int, Floats] = field(default_factory=dict)
    """The log weights of each call, by its number."""
    parted: Parted | None = None
    raised: tuple[str, Exception] | None = None
    """Under which database alone the mechanism raised, D or D', and what."""

    @property
    def weights(self) -> Floats:
        """W of every row; 0 where it is not held."""
        return np.where(self.held, np.exp(np.minimum(self.log_weights, 700.0)), 0.0)


def hold(
    run: Run,
    database: Database,
    neighbour: Database,
    bits: Callable[[], np.random.BitGenerator],
    rows: int | None = None,
    *,
    lines: Lines | None = None,
) -> HeldTape:
    """Record a call on the database and replay it on the neighbour.

    `bits()` makes the bit generator anew. `rows` are those of one size= call, None is a single
    call. `lines` tells of a frame which lines of the mechanism it stands in. Whatever the
    mechanism raises under D is raised here.
    """
    more = {} if rows is None else {"size": rows}
    count = 1 if rows is None else rows
    tape, none = Recording(bits(), lines=lines), np.zeros(count, dtype=bool)

    def nothing(reason: str, outputs: Output, **found: Unpack[_Found]) -> HeldTape:
        return HeldTape(outputs, log_weights=np.zeros(count), held=none, same=none, reason=reason,
                    calls=tape.calls, **found)  # fmt: skip

    def drawn(what: Database, seam: Seam) -> Output:
        with through(seam):
            return run(what, seam, **more)

    def played(what: Database, calls: Sequence[Call], values: Sequence[Drawn]) -> Output:
        return drawn(what, Playing(bits(), [one.name for one in calls], values))

    failed = ""
    try:
        drawn(database, tape)
    except Exception as error:  # noqa: BLE001 - the mechanism, or what it makes of such numbers
        failed = f"{type(error).__name__}: {error}"
    if failed:
        outputs = drawn(database, Seam(bits()))
        return nothing(f"its numbers cannot be followed: {failed}", outputs)
    try:
        outputs = played(database, tape.calls, [one.value for one in tape.calls])
    except Parted as parted:
        return nothing(f"it goes another way with plain numbers: {parted}", None)
    if len(tape.calls) > DRAWS:
        return nothing("it asks for too many draws to be followed", outputs)
    replay = Replaying(bits(), tape.calls, lines=lines)
    try:
        drawn(neighbour, replay)
    except Parted as parted:
        return nothing(str(parted), outputs, replayed=replay.calls, parted=parted)
    except Exception as error:  # noqa: BLE001 - the same
        with suppress(Exception):
            drawn(neighbour, Seam(bits()))
            return nothing(f"its numbers cannot be followed: {error}", outputs)
        return nothing("it raises under one database only", outputs, replayed=replay.calls,
                       raised=("D'", error))  # fmt: skip
    if len(replay.calls) < len(tape.calls):
        rest = tape.calls[len(replay.calls)]
        ended = Parted(rest.number, f"a draw ({rest.name}) is asked for under one database only",
                        rest.places)  # fmt: skip
        return nothing(str(ended), outputs, replayed=replay.calls, parted=ended)
    parts, reason = {}, ""
    for old, new in zip(tape.calls, replay.calls, strict=True):
        part, why = _weights(old, new, count, rows is not None)
        reason = reason or why
        if part is not None:
            parts[old.number] = part
    log_weights = sum(parts.values(), np.zeros(count))
    if reason:
        return nothing(reason, outputs, replayed=replay.calls, parts=parts)
    try:
        others = played(neighbour, replay.calls, [one.moved for one in replay.calls])
    except Parted as parted:
        return nothing(f"it goes another way with plain numbers: {parted}", outputs,
                       replayed=replay.calls, parts=parts)  # fmt: skip
    except Exception as error:  # noqa: BLE001 - the mechanism
        return nothing("it raises under one database only", outputs, replayed=replay.calls,
                       raised=("D'", error))  # fmt: skip
    same = agreeing(outputs, others, rows)
    held = same & (log_weights > -np.inf)
    return HeldTape(outputs, others, log_weights, held, same, calls=tape.calls,
                replayed=replay.calls, parts=parts)  # fmt: skip


def _weights(old: Call, new: Call, count: int, rows: bool) -> tuple[Floats | None, str]:
    """The log weights of one call, a number a row; None where they are all 0, and why not."""
    still = new.now is NOTHING or not new.held
    equal = len(old.parameters) == len(new.parameters) and all(
        np.shape(one) == np.shape(two) and np.array_equal(one, two)
        for one, two in zip(old.parameters, new.parameters, strict=False)
    )
    if still and equal:
        return None, ""
    with np.errstate(all="ignore"):
        if old.name == "choice":
            (p,), (q,) = old.parameters, new.parameters
            known = np.append(q, 0.0)[np.minimum(old.value, len(q))]
            each = np.log(known) - np.log(p[old.value])
        elif old.name in LOG_DENSITY:
            density = LOG_DENSITY[old.name]
            x, now = np.asarray(old.value, dtype=float), np.asarray(new.moved, dtype=float)
            each = density(now, *new.parameters) - density(x, *old.parameters)
            each = each + new.jacobian.reshape(x.shape)
            whole = new.now.reshape(x.shape)
            each = np.where(whole == now, each, -np.inf)
        else:
            return None, (
                f"rng.{old.name} has other parameters under D', and its density is not known here"
            )
    each = np.where(np.isnan(each), -np.inf, np.broadcast_to(each, np.shape(old.value)))
    if not rows:
        return np.array([np.sum(each)]), ""
    if each.ndim and each.shape[0] == count:
        return each.reshape(count, -1).sum(axis=1), ""
    if not np.any(each):
        return None, ""
    return None, f"draws of rng.{old.name} belong to no row of their own"


def single(run: Run) -> Run:
    """The mechanism as one that gives one output a call."""
    if not accepts_size(run):
        return run

    def one(database: Database, rng: np.random.Generator) -> Output:
        try:
            return run(database, rng)
        except TypeError:
            return row_of(run(database, rng, size=1))

    return one


def agreeing(one: Output, two: Output, rows: int | None) -> NDArray[np.bool_]:
    """Row by row, whether two outputs are the same up to rounding."""
    if rows is None:
        return np.array([_alike(one, two)])
    if type(one) is not type(two):
        return np.zeros(rows, dtype=bool)
    parts: list[tuple[Output, Output]]
    if isinstance(one, dict):
        parts = [(one[key], two.get(key)) for key in one] if one.keys() == two.keys() else []
    elif isinstance(one, tuple):
        parts = list(zip(one, two, strict=False)) if len(one) == len(two) else []
    elif isinstance(one, np.ndarray) and one.dtype.kind in "fiub" and one.shape == two.shape:
        with np.errstate(all="ignore"):
            equal = np.isclose(one, two, rtol=CLOSE, atol=CLOSE, equal_nan=True)
        return np.asarray(equal.reshape(rows, -1).all(axis=1))
    else:
        if len(one) != rows or len(two) != rows:
            return np.zeros(rows, dtype=bool)
        return np.array([_alike(a, b) for a, b in zip(one, two, strict=True)])
    found = np.full(rows, bool(parts))
    for a, b in parts:
        found &= agreeing(a, b, rows)
    return found


def _alike(one: Output, two: Output) -> bool:
    if type(one) is float or isinstance(one, np.floating):
        both = isinstance(two, (float, np.floating))
        return both and bool(np.isclose(one, two, rtol=CLOSE, atol=CLOSE, equal_nan=True))
    if type(one) is not type(two):
        return False
    if isinstance(one, (list, tuple)):
        return len(one) == len(two) and all(map(_alike, one, two))
    if isinstance(one, dict):
        return list(one) == list(two) and all(_alike(one[key], two[key]) for key in one)
    if isinstance(one, np.ndarray):
        return one.shape == two.shape and all(map(_alike, one.ravel().tolist(),
                                                  two.ravel().tolist()))  # fmt: skip
    return canonical(one) == canonical(two)
