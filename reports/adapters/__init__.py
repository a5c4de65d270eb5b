"""Mechanisms of other libraries, with the claims that their own objects state.

`adapted(found, name)` makes a Mechanism of an object of a library known here and gives None for
any other. A library is told by the module its object's class comes from, and nothing of it is
imported before such an object is there. What does not say which databases are neighbours is
wrapped by hand: `from_tool` and `from_model` of diffprivlib, `from_sampler` for anything else.
`serialized(text)` makes one of a measurement that OpenDP wrote to a file.
"""

from typing import Any

from ...mechanisms.model import Mechanism
from .diffprivlib import from_model, from_tool
from .samplers import from_sampler

__all__ = ["adapted", "from_model", "from_sampler", "from_tool", "serialized"]

OPENDP = "opendp:"
"""How a target begins that names a file of OpenDP's own; with any other ending it is a module."""


def serialized(text: str) -> Mechanism | None:
    """The mechanism of a target `opendp:FILE.json`; None for any other text."""
    if not (text.startswith(OPENDP) and text.endswith(".json")):
        return None
    from .opendp import from_file

    return from_file(text.removeprefix(OPENDP))


def adapted(found: Any, name: str) -> Mechanism | None:
    """The object as a mechanism, if its library is known; InvalidArgument if it cannot be one.

    opendp: a Measurement. diffprivlib: an object with `randomise`. python-dp: an algorithm or a
    numerical mechanism. pure-ldp: a client with `privatise`.
    """
    homes = {kind.__module__.partition(".")[0] for kind in type(found).__mro__}
    if "opendp" in homes:
        from .opendp import from_measurement

        return from_measurement(found, name)
    if "diffprivlib" in homes:
        from .diffprivlib import from_mechanism

        return from_mechanism(found, name)
    if "pydp" in homes:
        from .python_dp import from_object

        return from_object(found, name)
    if "pure_ldp" in homes:
        from .pure_ldp import from_client

        return from_client(found, name)
    return None
