"""The limits that the system sets a process, such as RLIMIT_AS on memory: who lowered which.

Where little memory, few files or no threads are left, anything may fail, at last in native code,
and what fails says nothing of the cause. So the limits are compared and put back as soon as code
of others has run, and the limits of a process that died are read before it is forgotten.
"""

from collections.abc import Mapping

try:
    import resource
except ImportError:  # pragma: no cover - there are no such limits there
    NAMES: dict[int, str] = {}
else:
    # RLIMIT_OFILE is an older name of RLIMIT_NOFILE.
    NAMES = {
        getattr(resource, name): name
        for name in dir(resource)
        if name.startswith("RLIMIT_") and name != "RLIMIT_OFILE"
    }

Limits = Mapping[int, tuple[int, int]]
"""The soft and the hard limit of each number in `NAMES`."""


def limits() -> Limits:
    """Those of this process."""
    return {number: resource.getrlimit(number) for number in NAMES}


def limits_of(process: int) -> Limits:
    """Those of another process, also of one that died and was not waited for; {} if unknown."""
    try:
        return {number: resource.prlimit(process, number) for number in NAMES}
    except (OSError, ValueError, AttributeError):
        return {}


def lowered(before: Limits, after: Limits) -> list[str]:
    """The names of the limits that are lower than they were."""
    return [
        NAMES[number]
        for number, old in before.items()
        if any(_below(one, two) for one, two in zip(after.get(number, old), old, strict=True))
    ]


def _below(one: int, two: int) -> bool:
    return one != two and one != resource.RLIM_INFINITY and not 0 <= two < one


def restore(before: Limits) -> tuple[list[str], list[str]]:
    """Put the limits back; the names of (those that were lower, those that stay lower)."""
    now = limits()
    if now == before:
        return [], []
    low = lowered(before, now)
    for number, old in before.items():
        if now[number] == old:
            continue
        try:
            resource.setrlimit(number, old)
        except (OSError, ValueError):
            # Nobody but root raises a hard limit again.
            hard = now[number][1]
            soft = old[0] if hard == resource.RLIM_INFINITY or 0 <= old[0] < hard else hard
            resource.setrlimit(number, (soft, hard))
    return low, [name for name in lowered(before, limits()) if name in low]


def said(names: list[str]) -> str:
    """The limit RLIMIT_AS, or the limits RLIMIT_AS, RLIMIT_CPU; in the middle of a sentence."""
    return f"the limit{'s' * (len(names) > 1)} {', '.join(names)}"
