"""What an accountant says a run costs, as points (epsilon, delta) that are claimed all at once.

Read are accountants and privacy loss distributions of dp_accounting, its events, whatever has one
as `dp_event` (an execution plan of jax_privacy), accountants and engines of Opacus, and a function
of delta, for accountants that ask for more than delta (those of training in jax_privacy). These
bound epsilon from above at every delta, so each point is a promise, and all of them hold together.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from inspect import isroutine
from math import inf, isnan
from typing import Any

DELTAS = tuple(10.0 ** (k / 2) for k in range(-20, 0))
"""Deltas at which epsilon is asked for: 1e-10, two for each power of ten, up to .32."""


def points_of(found: object) -> tuple[tuple[float, float], ...] | None:
    """The points of an accountant, an event, a distribution or a function; None for others.

    Raises ValueError if what was asked fails, answers no number, or knows no finite epsilon.
    """
    ask = _epsilon_at(found)
    if ask is None:
        return None
    name = getattr(found, "__name__", type(found).__name__)
    known = [(_number(ask, delta, name), delta) for delta in DELTAS]
    points = tuple((max(epsilon, 0.0), delta) for epsilon, delta in known if epsilon < inf)
    if not points:
        raise ValueError(f"{name} bounds epsilon at no delta; expected a finite one")
    # Of those where nothing is lost the least delta says it.
    free = [point for point in points if not point[0]]
    return (*(point for point in points if point[0]), *free[:1])


def _number(ask: Callable[[float], Any], delta: float, name: str) -> float:
    """Epsilon at a delta; NaN is no bound, so it says nothing, as infinity does."""
    try:
        epsilon = float(ask(delta))
    except Exception as error:
        raise ValueError(
            f"{name} was asked for epsilon at delta {delta:.3g} and raised {type(error).__name__}: "
            f"{str(error)[:200]}; expected a finite number, or infinity if nothing is known"
        ) from error
    return inf if isnan(epsilon) else epsilon


def _epsilon_at(found: object) -> Callable[[float], Any] | None:
    """Epsilon at a delta, as the object tells it."""
    for name in ("get_epsilon_for_delta", "get_epsilon"):
        if callable(ask := getattr(found, name, None)):
            told: Callable[[float], Any] = ask
            return told
    if isroutine(found) or isinstance(found, partial):
        asked: Callable[[float], Any] = found
        return asked
    event = getattr(found, "dp_event", found)
    if not any(one.__module__.startswith("dp_accounting.") for one in type(event).__mro__):
        return None
    pld, rdp = import_module("dp_accounting.pld"), import_module("dp_accounting.rdp")
    for accountant in (pld.PLDAccountant, rdp.RdpAccountant):
        if (made := accountant()).supports(event):
            made.compose(event)
            told = made.get_epsilon
            return told
    raise ValueError(f"no accountant of dp_accounting knows {type(event).__name__}")
