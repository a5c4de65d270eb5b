"""The looks at one event, planned before its draws: their sizes, and what level each spends."""

from math import ceil

Plan = tuple[tuple[int, float], ...]
"""Looks: draws a side in all when it is made, and its level."""
EARLY = ((0.25, 0.15), (0.5, 0.2), (1.0, 0.35), (2.0, 0.3))
"""Looks of an early attempt: parts of the draws foreseen, and of its error probability."""
LAST = ((0.125, 0.05), (0.25, 0.1), (0.5, 0.15), (1.0, 0.7))
"""Looks of a last attempt that may well end sooner: parts of all its draws."""


def early_looks(draws: float, level: float) -> Plan:
    """Four looks that double, up to twice the draws foreseen."""
    sizes = [max(1, ceil(part * draws)) for part, _ in EARLY]
    return _plan(sizes, [share * level for _, share in EARLY])


def last_looks(draws: int, level: float, *, sooner: bool) -> Plan:
    """One look at all draws, or four where it may well be over `sooner`."""
    if not sooner:
        return ((draws, level),)
    sizes = [max(1, int(part * draws)) for part, _ in LAST]
    return _plan(sizes, [share * level for _, share in LAST])


def _plan(sizes: list[int], levels: list[float]) -> Plan:
    """Looks of growing size; one that would repeat a size is left out, its level unspent."""
    merged = {size: level for size, level in zip(sizes, levels, strict=True)}
    return tuple(sorted(merged.items()))
