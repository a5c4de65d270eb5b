"""OpenDP measurements: the claim from `map`, the relation from the input metric."""

from functools import partial
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
