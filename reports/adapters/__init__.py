"""Mechanisms of other libraries, with the claims that their own objects state.

`adapted(found, name)` makes a Mechanism of an object of a library known to
`auditors.remote.libraries`, whichever process it is in, and gives None for any other. What does not
say which databases are neighbours is wrapped by hand: `from_tool` and `from_model` of diffprivlib,
`from_sampler` for anything else. `serialized(text)` makes one of a measurement that OpenDP wrote to
a file, and `with_databases` adds what a measurement's domain says of databases.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...auditors.additions import ADAPTERS, added
from ...auditors.errors import InvalidArgument
from ...auditors.looking import is_a
from ...auditors.remote import claims_of, libraries
from ...mechanisms.model import Mechanism
from .diffprivlib import from_model, from_tool
from .samplers import from_sampler

__all__ = ["adapted", "from_model", "from_sampler", "from_tool", "serialized", "with_databases"]

OPENDP = "opendp:"
"""How a target begins that names a file of OpenDP's own; with any other ending it is a module."""


def serialized(text: str) -> Mechanism | None:
    """The mechanism of a target `opendp:FILE.json`; None for any other text."""
    if not (text.startswith(OPENDP) and text.endswith(".json")):
        return None
    from .opendp import measurement_in

    path = text.removeprefix(OPENDP)
    return adapted(measurement_in(path), Path(path).stem)


def adapted(found: object, name: str, released: Sequence[str] = ()) -> Mechanism | None:
    """The object as a mechanism, if its library is known; InvalidArgument if it cannot be one.

    opendp: a Measurement. diffprivlib: an object with `randomise`. python-dp: an algorithm or a
    numerical mechanism. pure-ldp: a client with `privatise`. torch: a module. scikit-learn and
    whatever else has `fit`: an estimator, with the attributes that it releases. What else there is
    is for the adapters of other packages (entry points "dpwitness.adapters"): functions of the
    object and its name that return a Mechanism, or None for what they do not know.
    """
    if is_a(found, Mechanism):
        return None
    try:
        opened = libraries.opened(found, name, released)
    except TypeError as error:
        raise InvalidArgument(str(error)) from None
    if opened is None:
        return _added(found, name)
    made = Mechanism(
        name=name,
        run=opened.run,
        seeded=opened.seeded,
        reference=opened.said["reference"],
        claims=claims_of(opened.said.get("claims", [])),
    )
    return with_databases(made, opened.said)


def _added(found: object, name: str) -> Mechanism | None:
    """What the first adapter of another package that knows the object makes of it."""
    for adapter in added(ADAPTERS):
        made = adapter(found, name)
        if made is None:
            continue
        if not isinstance(made, Mechanism):
            raise InvalidArgument(
                f"the adapter {adapter.__module__}.{adapter.__qualname__} must return a Mechanism "
                f"or None, got {type(made).__name__}"
            )
        return made
    return None


def with_databases(made: Mechanism, said: Mapping[str, Any]) -> Mechanism:
    """The mechanism with the databases of an OpenDP measurement's domain, if it says so."""
    if "opendp" not in said:
        return made
    from .opendp import databases_of

    domain, metric, d_in = said["opendp"]
    return replace(made, databases=databases_of(str(domain), str(metric), d_in))
