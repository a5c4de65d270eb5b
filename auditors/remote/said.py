"""The claims that a program states in its greeting (docs/protocol.md, section 2), as claims."""

from typing import Any

from ...mechanisms.model import (
    ConcentratedCurve,
    Curve,
    PointsCurve,
    PrivacyClaim,
    Relation,
    RenyiCurve,
)


def claims_of(stated: object) -> tuple[PrivacyClaim, ...]:
    """The claims in a list of objects; ValueError with a sentence where one is none.

    Each has a `relation` and one of `epsilon` with `delta`, `rho` with `delta`, `renyi` and
    `points`, in nats; it may have a `distance` and a `reference`.
    """
    if not isinstance(stated, list):
        raise ValueError(f"the claims are {stated!r:.80}; expected a list of objects")
    return tuple(map(_claim, stated))


def _claim(stated: object) -> PrivacyClaim:
    if not isinstance(stated, dict):
        raise ValueError(f"a claim is {stated!r:.80}; expected an object")
    relation = stated.get("relation")
    if relation not in {one.value for one in Relation}:
        raise ValueError(
            f"a claim has the relation {relation!r:.40}; expected one of "
            f"{', '.join(one.value for one in Relation)}"
        )
    told: dict[str, Any] = {
        "relation": Relation(relation),
        "reference": str(stated.get("reference", ""))[:200],
        "distance": _number(stated, "distance", 1),
    }
    if (curve := _curve(stated)) is not None:
        return PrivacyClaim.of_curve(curve, **told)
    if "epsilon" not in stated:
        raise ValueError(
            f"a claim is {stated!r:.80}; expected one of epsilon, rho, renyi and points"
        )
    epsilon, delta = _number(stated, "epsilon"), _number(stated, "delta", 0.0)
    return PrivacyClaim(epsilon=epsilon, delta=delta, **told)


def _curve(stated: dict[str, object]) -> Curve | None:
    if "rho" in stated:
        return ConcentratedCurve(_number(stated, "rho"), _number(stated, "delta", 0.0))
    if "renyi" in stated:
        return RenyiCurve(_couples(stated, "renyi"))
    if "points" in stated:
        return PointsCurve(_couples(stated, "points"))
    return None


def _number(stated: dict[str, object], key: str, default: object = None) -> int | float:
    value = stated.get(key, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"a claim has the {key} {value!r:.40}; expected a number")
    return value


def _couples(stated: dict[str, object], key: str) -> tuple[tuple[float, float], ...]:
    listed = stated[key]
    if not isinstance(listed, list) or not all(isinstance(c, list) and len(c) == 2 for c in listed):
        raise ValueError(
            f"a claim has the {key} {listed!r:.80}; expected a list of two numbers each"
        )
    return tuple((_number({key: a}, key), _number({key: b}, key)) for a, b in listed)
