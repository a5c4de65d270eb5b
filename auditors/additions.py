"""What other packages add: the objects that their entry points name, found when they are needed.

A package states them in its own metadata, for instance in its pyproject.toml:

    [project.entry-points."dpwitness.adapters"]
    mylib = "mylib.audit:adapt"

Nothing is registered by an import, and no file that an audit reads can name any of this.
"""

from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from .errors import InvalidArgument

LEARNERS = "dpwitness.learners"
ADAPTERS = "dpwitness.adapters"


@cache
def added(group: str) -> tuple[Callable[..., Any], ...]:
    """The functions of the entry points of a group, in the order of their names.

    Raises InvalidArgument, which names the entry point, where it cannot be imported or is no
    function.
    """
    return tuple(_loaded(one) for one in sorted(entry_points(group=group), key=lambda e: e.name))


def _loaded(entry: EntryPoint) -> Callable[..., Any]:
    place = f"the entry point {entry.name!r} of {entry.group}, {entry.value}"
    try:
        found = entry.load()
    except Exception as error:  # noqa: BLE001 - whatever the import of a package raises
        raise InvalidArgument(
            f"{place}, cannot be imported ({type(error).__name__}: {error!s:.100}); fix or "
            "uninstall the package that states it"
        ) from None
    if not callable(found):
        raise InvalidArgument(f"{place}, must be a function, got {type(found).__name__}")
    return found
