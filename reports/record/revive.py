"""An audit's result, back from the evidence it was written to."""

from collections.abc import Mapping
from math import nan
from typing import Any

from ...auditors.events.events import event_from_json
from ...auditors.outputs.encoding import from_json
from ...auditors.privacy.replay import read_count
from ...auditors.results import (
    AuditResult,
    Evidence,
    Learning,
    Look,
    Pair,
    Reach,
    Sketch,
    Verdict,
    Witness,
)
from ...mechanisms.model import PrivacyClaim, Relation


def revived(record: Mapping[str, Any]) -> AuditResult:
    """The result that one entry of `results` in an evidence file was written from.

    The file is one that dpwitness wrote a moment ago; a damaged one raises KeyError, TypeError,
    ValueError or EvidenceFormatError.
    """
    evidence, claim, sketch = record["evidence"], record["claim"], record["sketch"]
    return AuditResult(
        mechanism=record["mechanism"],
        target=record["target"],
        claim=PrivacyClaim(
            epsilon=float(claim["epsilon"]),
            delta=float(claim["delta"]),
            relation=Relation(claim["relation"]),
            distance=claim["distance"],
            identifier=claim.get("identifier", ""),
            statement=claim.get("statement", ""),
            reference=claim["reference"],
        ),
        verdict=Verdict(record["verdict"]),
        epsilon_lower=float(record["epsilon_lower"]),
        detectable_epsilon=float(record["detectable_epsilon"]),
        detectable_probability=float(record["detectable_probability"]),
        pair=_pair(record["pair"]),
        witness=_witness(record["witness"]),
        evidence=_evidence(evidence),
        draws=record["draws"],
        seed=record["seed"],
        seconds=record["seconds"],
        seeded=record["seeded"],
        note=record["note"],
        growth=tuple((draws, float(bound)) for draws, bound in record["growth"]),
        sketch=_sketch(sketch),
        plan={key: from_json(value) for key, value in record["plan"].items()},
        judged=tuple(read_count(count) for count in record.get("judged", ())),
        source=str(record.get("source", "")),
        power=tuple((float(one["probability"]), float(one["epsilon"])) for one in record["power"]),
        learning=_learning(record["learning"]),
        unread=record["unread"],
        reached=_reached(record.get("reached")),
    )


def _reached(data: Mapping[str, Any] | None) -> Reach | None:
    if data is None:
        return None
    lines = data["unreached"]
    return Reach(
        databases=data["databases"],
        pairs=data["pairs"],
        smallest=data["smallest"],
        largest=data["largest"],
        unreached=None if lines is None else tuple(map(str, lines)),
    )


def _evidence(data: Mapping[str, Any]) -> Evidence:
    return Evidence(
        counts=tuple(read_count(count) for count in data["counts"]),
        alpha=float(data["alpha"]),
        level=float(data["level"]),
        looks=tuple(_look(look) for look in data["looks"]),
        decided_after=data["decided_after"],
    )


def _look(data: Mapping[str, Any]) -> Look:
    (x, y), (n, m) = data["hits"], data["trials"]
    return Look(
        attempt=data["attempt"],
        draws=data["draws"],
        hits=(x, y),
        trials=(n, m),
        level=float(data["level"]),
        epsilon_lower=float(data["epsilon_lower"]),
    )


def _learning(data: Mapping[str, Any] | None) -> Learning | None:
    if data is None:
        return None
    return Learning(draws=data["draws"], gain=nan if data["gain"] is None else float(data["gain"]))


def _pair(data: Mapping[str, Any]) -> Pair:
    return Pair(from_json(data["database"]), from_json(data["neighbour"]))


def _witness(data: Mapping[str, Any] | None) -> Witness | None:
    if data is None:
        return None
    pair = _pair(data)
    return Witness(
        database=pair.database,
        neighbour=pair.neighbour,
        event=event_from_json(data["event"]),
        epsilon_lower=float(data["epsilon_lower"]),
        evidence=None if data["evidence"] is None else _evidence(data["evidence"]),
    )


def _sketch(data: Mapping[str, Any] | None) -> Sketch | None:
    if data is None:
        return None
    first, second = (tuple(side) for side in data["counts"])
    return Sketch(
        feature=data["feature"],
        edges=tuple(float(edge) for edge in data["edges"]),
        labels=tuple(data["labels"]),
        counts=(first, second),
        inside=tuple(data["inside"]),
    )
