"""Bounds, measurements and counterexamples in words, the same for every face of a gallery."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from ...auditors.claims.claim_results import ClaimResult
from ...auditors.outputs.encoding import show
from ...auditors.results import AuditResult, Pair, Witness
from ..faces import wording
from ..terminal import printable

QUANTITY: Mapping[str, str] = {
    "privacy": "epsilon",
    "utility": "P",
    "threshold": "P",
    "expectation": "mean",
    "equality": "distance",
    "invariant": "margin",
    "identity": "value",
}
"""What is compared with the bound, in a word; distance is that of total variation."""


def number(value: Any) -> str:
    """A value of a table as text: numbers to four digits, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    try:
        as_float = float(value)
    except (TypeError, ValueError):
        return printable(str(value))
    if isinstance(value, str):
        return printable(value)
    # Adding zero makes minus zero plain zero.
    return f"{as_float + 0.0:.4g}"


def bound_phrase(result: ClaimResult) -> str:
    """What the statement allows."""
    name, bound = QUANTITY[result.kind], number(result.claimed)
    match result.kind:
        case "invariant":
            return "margin ≥ 0"
        case "equality" | "identity":
            return f"{name} = {bound}"
        case "privacy":
            delta = _audit(result).claim.delta if _audit(result) else 0.0
            return f"{name} ≤ {bound}" + (f", delta {delta:g}" if delta else "")
    return f"{name} ≤ {bound}"


def _audit(result: ClaimResult) -> Any:
    return result.details.get("audit")


def measured_phrase(result: ClaimResult) -> str:
    """The number set against the bound, with its interval."""
    found = result.measured
    if found is None:
        return ""
    if result.kind == "privacy":
        return f"≥ {wording.at_least(found.low)}"
    value = number(found.value)
    if result.kind == "identity" or found.low == found.high:
        return f"{found.value:.6g}"
    if result.kind == "invariant":
        return f"least {value}"
    return f"{value} [{_end(found.low)}, {_end(found.high)}]"


def _end(value: float) -> str:
    return number(value) if isfinite(value) else "∞" if value > 0 else "−∞"


def exact_phrase(result: ClaimResult) -> str:
    """The true value where the law is known."""
    if result.exact is None:
        return ""
    return number(result.exact) if isfinite(result.exact) else "∞"


def counterexample(result: ClaimResult) -> tuple[str, ...]:
    """What shows a refuted statement to be false, in sentences; none for another."""
    if not result.refuted:
        return ()
    match result.kind:
        case "privacy":
            return _pair(result)
        case "invariant":
            return (
                f"At {printable(show(result.witness))} the margin is {number(_value(result))}, "
                "and a true statement has none below 0.",
            )
        case "identity":
            return (f"Stated is {result.claimed:.10g}, but it comes out as {_value(result):.10g}.",)
        case "equality":
            return _laws(result)
    return _row(result)


def _value(result: ClaimResult) -> float:
    return float("nan") if result.measured is None else result.measured.value


def _pair(result: ClaimResult) -> tuple[str, ...]:
    audit: AuditResult = result.details["audit"]
    witness = result.witness
    sentences = []
    if isinstance(witness, Pair | Witness):
        one, two = wording.databases_phrases(Pair(witness.database, witness.neighbour))
        sentences.append(f"D is {one} and its neighbour D′ is {two}.")
    if isinstance(witness, Witness):
        counts = " and ".join(wording.count_phrases(audit)).replace("D'", "D′")
        sentences.append(f"The event {printable(witness.event.describe())} happens in {counts}.")
        bound = wording.at_least(audit.epsilon_lower, audit.claim.epsilon)
        sentences.append(
            f"So epsilon is at least {bound}, with confidence {wording.confidence(audit)}; "
            f"{audit.claim.epsilon:g} was claimed."
        )
    if result.exact is not None:
        sentences.append(
            f"By the exact laws epsilon is {exact_phrase(result)}, at the claimed delta "
            f"{audit.claim.delta:g}."
            if audit.claim.delta
            else f"By the exact laws epsilon is {exact_phrase(result)}."
        )
    return tuple(sentences)


def _laws(result: ClaimResult) -> tuple[str, ...]:
    rows = _rows(result)
    exact = all(row["exact mechanism"] is not None for row in rows) and result.exact is not None
    names = ("exact mechanism", "exact other") if exact else ("mechanism", "other")
    row = max(rows, key=lambda row: abs(row[names[0]] - row[names[1]]))
    return (
        f"On {printable(str(row['database']))} the output {printable(str(row['cell']))} has "
        f"{'probability' if exact else 'share'} {number(row[names[0]])} under the mechanism and "
        f"{number(row[names[1]])} under the stated law.",
    )


def _row(result: ClaimResult) -> tuple[str, ...]:
    rows = _rows(result)
    if result.kind == "expectation":
        row = max(rows, key=lambda row: row["mean"])
        exact = f" (exactly {number(row['exact'])})" if row["exact"] is not None else ""
        return (
            f"On {printable(str(row['database']))} the mean is {number(row['mean'])}{exact}, and "
            f"{number(row['bound'])} was claimed.",
        )
    row = rows[result.details["headline"]]
    verb = "goes above" if result.kind == "threshold" else "reaches"
    records = result.details.get("records")
    where = f"With {records:,} records, on the database" if records else "On the database"
    exact = f" Its exact probability is {number(row['exact'])}." if row["exact"] else ""
    return (
        f"{where} {printable(str(row['database']))}, the loss {verb} {number(row['bound'])} in "
        f"{row['hits']:,} of {row['draws']:,} draws; at most {number(100 * row['beta'])} % was "
        f"claimed.{exact}",
    )


def _rows(result: ClaimResult) -> list[dict[str, Any]]:
    if result.table is None:
        return []
    return [dict(zip(result.table.columns, row, strict=True)) for row in result.table.rows]
