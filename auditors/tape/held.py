"""The held tape: what D's draws would have to be under D' for the same output, and how likely.

Let D's draws be x, with joint density p, and let T(x) be the draws that `follow` proposes for D',
whose density there is p'. The weight of x is w = p'(T(x)) |det T'(x)| / p(x). Let H be the x for
which T(x) exists, has p' > 0 and leads to the output that x led to; T is one to one on H, and the
same construction from D' to D undoes it. Change of variables gives, for every event A,

    P_D'(A) = E_D[w; A and H] + P_D'(A and not H'),

H' being the draws of D' that are held on the way back. Where all draws are held this is
P_D'(y) / P_D(y) = E_D[w | y]: what a mechanism does after the draws does not matter. docs/tape.md
has the proof. Each output is looked at as it is: the mechanism is called with x on D and with T(x)
on D', with plain numbers, and a row is held if both return the same.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Database
from ..outputs.encoding import canonical
from ..sampling.calls import accepts_size, row_of
from .densities import LOG_DENSITY
from .follow import Recording, Replaying
from .generator import Call, Parted, Place, Playing, through

Floats = NDArray[np.float64]
Run = Callable[..., Any]
Lines = Callable[[Any], tuple[Place, ...]]
CLOSE = 1e-9
"""Relative difference of two numbers that differ by rounding."""
DRAWS = 200_000
"""Questions of one run that are followed; a run that asks for more is left alone."""


@dataclass(slots=True)
class HeldTape:
    """D recorded and replayed on D': `rows` outputs of both, and how they hang together.

    `outputs` are those under D, `others` those of the same draws as T moves them under D'.
    `log_weights` and `held` are of shape (rows,). `reason` says why nothing is held; "" where
    something may be. `calls` and `replayed` are the questions under either database.
    """

    outputs: Any
    others: Any = None
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
    bits: Callable[[], Any],
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

    def nothing(reason: str, outputs: Any, **found: Any) -> HeldTape:
        return HeldTape(outputs, log_weights=np.zeros(count), held=none, same=none, reason=reason,
                    calls=tape.calls, **found)  # fmt: skip

    def played(what: Any, calls: Sequence[Call], values: Sequence[Any]) -> tuple[object, Playing]:
        player = Playing(bits(), [one.name for one in calls], values)
        with through(player):
            return run(what, player, **more), player

    failed = ""
    try:
        with through(tape):
            run(database, tape, **more)
    except Exception as error:  # noqa: BLE001 - the mechanism, or what it makes of such numbers
        failed = f"{type(error).__name__}: {error}"
    values = [one.value for one in tape.calls]
    if failed:
        plain = Playing(bits(), (), ())
        plain.asked = _drawing(plain)  # type: ignore[method-assign]
        with through(plain):
            outputs = run(database, plain, **more)
        return nothing(f"its numbers cannot be followed: {failed}", outputs)
    try:
        outputs, _player = played(database, tape.calls, values)
    except Parted as parted:
        return nothing(f"it goes another way with plain numbers: {parted}", None)
    if len(tape.calls) > DRAWS:
        return nothing("it asks for too many draws to be followed", outputs)
    replay = Replaying(bits(), tape.calls, lines=lines)
    try:
        with through(replay):
            run(neighbour, replay, **more)
    except Parted as parted:
        return nothing(str(parted), outputs, replayed=replay.calls, parted=parted)
    except Exception as error:  # noqa: BLE001 - the same
        with suppress(Exception):
            plain = Playing(bits(), (), ())
            plain.asked = _drawing(plain)  # type: ignore[method-assign]
            with through(plain):
                run(neighbour, plain, **more)
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
        others, _ = played(neighbour, replay.calls, [one.moved for one in replay.calls])
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


def _drawing(player: Playing) -> Callable[..., Any]:
    """Ordinary draws, for a mechanism that cannot be followed."""

    def asked(name: str, parameters: Any, draw: Any, *, scalar: bool) -> Any:
        value = draw(player.inner)
        return value.item() if scalar else value

    return asked


def _weights(old: Call, new: Call, count: int, rows: bool) -> tuple[Floats | None, str]:
    """The log weights of one call, a number a row; None where they are all 0, and why not."""
    still = new.now is None or not new.held
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

    def one(database: Database, rng: np.random.Generator) -> Any:
        try:
            return run(database, rng)
        except TypeError:
            return row_of(run(database, rng, size=1))

    return one


def agreeing(one: Any, two: Any, rows: int | None) -> NDArray[np.bool_]:
    """Row by row, whether two outputs are the same up to rounding."""
    if rows is None:
        return np.array([_alike(one, two)])
    if type(one) is not type(two):
        return np.zeros(rows, dtype=bool)
    parts: list[tuple[Any, Any]]
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


def _alike(one: Any, two: Any) -> bool:
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
