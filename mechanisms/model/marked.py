"""From a function that carries its claims to the mechanism that it is."""

from typing import Any

from .claims import PrivacyClaim
from .curves import curve_of
from .domains import Relation
from .mechanism import Mechanism

MARK = "__dpwitness_claims__"
"""Where `claims` puts them; `mechanisms.marks`, which loads nothing, has the same word."""


def carried(function: Any, name: str = "") -> Mechanism | None:
    """The mechanism that a marked function is; None for one that carries no mark.

    Raises ValueError for numbers that are no claim, or marks that name different databases.
    """
    marks: tuple[Any, ...] = getattr(function, MARK, ())
    if not marks:
        return None
    made = []
    for one in marks:
        relation = Relation(one.relation)
        points = {"points" if key == "curve" else key: value for key, value in one.curve.items()}
        curve = curve_of(**points, delta=one.delta) if points else None
        if curve is not None:
            made.append(PrivacyClaim.of_curve(curve, relation, distance=one.distance))
        else:
            made.append(
                PrivacyClaim(
                    epsilon=one.epsilon if one.epsilon is not None else 0.0,
                    delta=one.delta or 0.0,
                    relation=relation,
                    distance=one.distance,
                )
            )
    found = [one.databases for one in marks if one.databases is not None]
    if any(one is not found[0] for one in found):
        raise ValueError(f"the claims of {name or function.__name__} name different databases")
    return Mechanism(
        name=name or getattr(function, "__name__", "mechanism"),
        run=function,
        claims=tuple(made),
        databases=found[0] if found else None,
        seeded=all(one.seeded for one in marks),
        trust_rows=all(one.trust_rows for one in marks),
    )
