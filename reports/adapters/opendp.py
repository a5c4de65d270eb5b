"""OpenDP measurements: the claim from `map`, the relation from the input metric."""

import importlib
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...auditors.errors import InvalidArgument
from ...mechanisms.model import Mechanism, PrivacyClaim, Relation

RELATIONS = {
    "SymmetricDistance": Relation.ADD_REMOVE,
    "InsertDeleteDistance": Relation.ADD_REMOVE,
    "ChangeOneDistance": Relation.REPLACE_ONE,
    "HammingDistance": Relation.REPLACE_ONE,
}
"""Neighbours by metric; of other metrics, such as distances of numbers, they are given as pairs."""
MEASURES = ("MaxDivergence", "Approximate(MaxDivergence)", "FixedSmoothedMaxDivergence")

BUILDERS = re.compile(
    r"(combinators|measurements|transformations)\.make_\w+|(domains|measures|metrics)\.[a-z]\w*"
    r"|core\.(measurement|transformation)_(input|output)_(domain|measure|metric)"
)
"""What a file may have called: constructors of OpenDP, and nothing else that its modules hold."""


def from_file(path: str) -> Mechanism:
    """The measurement in a file that holds what `opendp.prelude.serialize` gave.

    OpenDP's own `deserialize` calls any function of any of its modules; this calls constructors
    alone. It enables OpenDP's feature "contrib", without which it makes nothing. Raises
    InvalidArgument for a file that cannot be read and for anything but a measurement.
    """
    try:
        dp = importlib.import_module("opendp.prelude")
    except ImportError:
        raise InvalidArgument(
            f"opendp:{path} needs OpenDP in this environment; pip install opendp"
        ) from None
    dp.enable_features("contrib")
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"), object_hook=_constructed)
    except InvalidArgument as error:
        raise InvalidArgument(f"opendp:{path} {error}") from None
    except Exception as error:  # noqa: BLE001 - OpenDP has a type of its own, and Rust may panic
        said = (str(error).strip().splitlines() or [""])[0][:200]
        raise InvalidArgument(
            f"opendp:{path} could not be read as what opendp.prelude.serialize writes: "
            f"{type(error).__name__}: {said}"
        ) from None
    if not isinstance(found, dp.Measurement):
        raise InvalidArgument(
            f"opendp:{path} holds a {type(found).__name__}; expected a measurement, which "
            "opendp.prelude.serialize(measurement) writes"
        )
    return from_measurement(found, Path(path).stem)


def _constructed(part: dict[str, Any]) -> Any:
    """An object of a serialized measurement, made by the constructor it names."""
    if "__function__" in part:
        name = f"{part.get('__module__')}.{part['__function__']}"
        if not BUILDERS.fullmatch(name):
            raise InvalidArgument(f"asks for opendp.{name}, which is no constructor of OpenDP")
        module, _, function = name.partition(".")
        make = getattr(importlib.import_module(f"opendp.{module}"), function)
        return make(**part.get("__kwargs__", {}))
    if set(part) == {"__tuple__"}:
        return tuple(part["__tuple__"])
    if any(key.startswith("__") for key in part):
        raise InvalidArgument(
            f"holds {min(part)}, an object of another library; make the measurement in a Python "
            "file and name it there as FILE.py:NAME"
        )
    return part


def from_measurement(measurement: Any, name: str, d_in: Any = 1) -> Mechanism:
    """The measurement with the claim that its map gives for databases `d_in` apart.

    OpenDP draws from the operating system, so runs cannot be repeated bit for bit. A database
    is the measurement's argument. Raises InvalidArgument for a privacy measure that is no
    (epsilon, delta).
    """
    measure = str(measurement.output_measure)
    if not measure.startswith(MEASURES):
        raise InvalidArgument(
            f"{name} states its privacy as {measure}; expected epsilon or (epsilon, delta), so "
            "convert it, as with make_fix_delta(make_zCDP_to_approxDP(...), delta)"
        )
    metric = str(measurement.input_metric).partition("(")[0]
    loss = _mapped(measurement, d_in)
    epsilon, delta = loss if isinstance(loss, tuple) else (loss, 0.0)
    return Mechanism(
        name=name,
        run=partial(_called, measurement),
        seeded=False,
        reference=f"map({d_in}) of the measurement, {metric}",
        claims=(
            PrivacyClaim(
                epsilon=float(epsilon),
                delta=float(delta),
                relation=RELATIONS.get(metric, Relation.DECLARED),
                reference=f"the measurement's own map({d_in}), {metric}",
            ),
        ),
    )


def _mapped(measurement: Any, d_in: Any) -> Any:
    try:
        return measurement.map(d_in)
    except Exception:  # noqa: BLE001 - its own type; a float distance wants a float
        return measurement.map(float(d_in))


def _called(measurement: Any, database: Any, rng: np.random.Generator) -> Any:
    return measurement(database)
