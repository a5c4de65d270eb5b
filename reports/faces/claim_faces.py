"""How reports tell of each kind of claim: one face for a kind, and all that differs stands in it.

A face has the word for the quantity, the axis of a picture, the words of the bound, of what was
measured and of a counterexample, and the pictures. A kind without a face is a type error here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from math import isfinite, isnan, nan
from typing import TYPE_CHECKING, Any, assert_never, cast, get_args

import numpy as np

from ...auditors.claims.claim_results import ClaimCheck, ClaimResult
from ...auditors.claims.derive import record_of
from ...auditors.evidence.record import ClaimFindingRecord
from ...auditors.outputs.encoding import show
from ...auditors.results.results import AuditResult, Verdict, Witness
from ...mechanisms.model import (
    Claim,
    EqualityClaim,
    ExpectationClaim,
    GrowthClaim,
    IdentityClaim,
    InvariantClaim,
    Pair,
    PrivacyClaim,
    ThresholdClaim,
    UtilityClaim,
)
from ..writing.terminal import printable
from . import wording

if TYPE_CHECKING:
    from ..figures.marks import PendingPicture
    from ..statements.statements import Statement, TableRow

Draw = Callable[["Statement"], "PendingPicture | None"]
Sentences = tuple[str, ...]


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


def _bounded(face: "Face", result: ClaimResult) -> str:
    return f"{face.quantity} ≤ {number(result.finding.claimed)}"


def _interval(result: ClaimResult) -> str:
    found = result.finding.measured
    if found is None:
        return ""
    if found.low == found.high:
        return f"{found.value:.6g}"
    return f"{number(found.value)} [{_end(found.low)}, {_end(found.high)}]"


def _end(value: float) -> str:
    return number(value) if isfinite(value) else "∞" if value > 0 else "−∞"


@dataclass(frozen=True, slots=True, kw_only=True)
class Face:
    """What reports say of one kind of claim.

    `quantity` is what is compared with the bound, in a word, and `axis` the same with its unit.
    `counterexample` tells in sentences why a refuted claim is false, and `pictures` are drawn from
    a statement of this kind. `curve` and `points` are the labels of the bound and of the
    measurements in a picture of a sweep; `spent` is what a check costs.
    """

    quantity: str
    axis: str
    counterexample: Callable[[ClaimResult], Sentences]
    pictures: Callable[[ClaimResult], tuple[Draw, ...]]
    bound: Callable[["Face", ClaimResult], str] = _bounded
    measured: Callable[[ClaimResult], str] = _interval
    curve: str = "bound"
    points: str = "measured"
    spent: str = "draws"


def bound_phrase(result: ClaimResult) -> str:
    """What the statement allows."""
    face = FACES[result.kind]
    return face.bound(face, result)


def measured_phrase(result: ClaimResult) -> str:
    """The number set against the bound, with its interval; empty where there is none."""
    return "" if result.finding.measured is None else FACES[result.kind].measured(result)


def exact_phrase(result: ClaimResult) -> str:
    """The true value where the law is known."""
    exact = result.finding.exact
    if exact is None:
        return ""
    return number(exact) if isfinite(exact) else "∞"


def smallest_phrase(result: ClaimResult, constant: float = 1.0) -> str:
    """The smallest constant that still holds on the hardest instance; empty where there is none."""
    edge = result.finding.edge
    if edge is None:
        return ""
    told = f"{number(edge.share)} times the stated {edge.of}"
    if constant != 1:
        told = f"{number(edge.share * constant)} in place of the stated {number(constant)}"
    return f"{told}, on the hardest instance found, by {edge.method}"


def caveat(result: ClaimResult, reason: str = "") -> tuple[str, str] | None:
    """Why the check says little, as (label, text); None where it does not.

    `reason` is why no instance comes nearer to the bound.
    """
    found = result.finding
    if found.vacuous:
        return "vacuous", (
            f"{bound_phrase(result)} is claimed, and nothing can exceed {number(found.most)}: "
            "every mechanism keeps this claim"
        )
    if found.weak:
        told = "what was measured is below a twentieth of the bound"
        hidden = "a mechanism that is many times worse would pass this check too"
        return "weak check", f"{told}: {reason or hidden}"
    return None


def counterexample(result: ClaimResult) -> Sentences:
    """What shows a refuted statement to be false, in sentences; none for another."""
    return FACES[result.kind].counterexample(result) if result.refuted else ()


def witness_words(result: ClaimResult) -> str:
    """The counterexample of a refuted claim in words; empty where there is none."""
    witness, shown = result.finding.witness, result.finding.shown
    if shown or witness is None:
        return shown
    if isinstance(witness, Witness):
        return (
            f"D = {show(witness.database)}, D' = {show(witness.neighbour)}, "
            f"event: {witness.event.describe()}"
        )
    return show(witness)


def headline(result: ClaimResult, mechanism: str) -> str:
    """The verdict on one claim of a mechanism in a sentence."""
    claim = (
        f"{result.identifier} ({result.kind})" if result.identifier else f"a {result.kind} claim"
    )
    told = f": {bound_phrase(result)} is claimed"
    told += ", which is vacuous" if result.finding.vacuous else ""
    for how, found in (("found", measured_phrase(result)), ("exactly", exact_phrase(result))):
        told += f", {how} {found}" if found else ""
    if result.verdict is Verdict.PROVED:
        told += f", proved for these inputs alone: {printable(result.finding.scope)}"
    return f"{wording.verdict_word(result.verdict)}: {printable(f'{mechanism}, {claim}')}{told}."


def story(result: ClaimResult) -> Iterator[tuple[str, str]]:
    """One checked claim in (label, text) lines, the same wherever it is told."""
    found = result.finding
    lines = (
        ("claim", printable(result.statement)),
        ("source", printable(result.reference)),
        ("bound", bound_phrase(result)),
        ("found", measured_phrase(result) or exact_phrase(result)),
        ("needed", smallest_phrase(result)),
        *filter(None, (caveat(result),)),
        ("witness", printable(witness_words(result))),
        ("scope", printable(found.scope)),
        ("note", printable(found.note)),
        ("search", f"{found.draws:,} runs in {result.seconds:.1f} s, seed {result.seed}."),
    )
    return ((label, text) for label, text in lines if text)


def next_step(verdict: str, rerun: str) -> str:
    """What to do now about a claim with this verdict; empty where nothing need be done."""
    if verdict != Verdict.REFUTED.value:
        return ""
    return f"Fix the mechanism or weaken the claim, then run: {rerun}"


def _value(result: ClaimResult) -> float:
    measured = result.finding.measured
    return nan if measured is None else measured.value


def _rows(result: ClaimResult) -> "list[TableRow]":
    table = result.finding.table
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows] if table else []


def _privacy_bound(face: Face, result: ClaimResult) -> str:
    audit: AuditResult = result.finding.details["audit"]
    delta = audit.claim.delta
    if (curve := audit.claim.curve) is not None:
        return f"{curve.parameter} ≤ {number(curve.size)}"
    return _bounded(face, result) + (f", delta {delta:g}" if delta else "")


def _privacy_measured(result: ClaimResult) -> str:
    found = result.finding.measured
    return "" if found is None else f"≥ {wording.at_least(found.low)}"


def _privacy_counterexample(result: ClaimResult) -> Sentences:
    audit: AuditResult = result.finding.details["audit"]
    witness = result.finding.witness
    sentences = []
    if isinstance(witness, Pair | Witness):
        one, two = wording.databases_phrases(Pair(witness.database, witness.neighbour))
        sentences.append(f"D is {one} and its neighbour D′ is {two}.")
    if isinstance(witness, Witness):
        counts = " under D and in ".join(wording.count_phrases(audit))
        event = printable(witness.event.describe())
        sentences.append(f"The event {event} occurs in {counts} under D′.")
        bound = wording.at_least(audit.epsilon_lower, audit.claim.epsilon)
        held = f"with confidence {wording.confidence(audit)}"
        curve = audit.claim.curve
        sentences.append(
            f"So epsilon is at least {bound}, {held}; {audit.claim.epsilon:g} was claimed."
            if curve is None
            else f"So {curve.parameter} is at least {wording.at_least(audit.size_lower)}, {held}; "
            f"{curve.size:g} was claimed."
        )
    if result.finding.exact is not None and audit.claim.curve is not None:
        name = audit.claim.curve.parameter
        sentences.append(f"By the exact laws {name} is {exact_phrase(result)}.")
    elif result.finding.exact is not None:
        at = f", at the claimed delta {audit.claim.delta:g}" if audit.claim.delta else ""
        sentences.append(f"By the exact laws epsilon is {exact_phrase(result)}{at}.")
    return tuple(sentences)


def _privacy_pictures(result: ClaimResult) -> tuple[Draw, ...]:
    from ..figures.privacy_figures import curve_figure, loss_figure, outputs_figure

    curve = (curve_figure,) if "curve" in result.finding.details else ()
    return (*curve, loss_figure, *((outputs_figure,) if result.refuted else ()))


def _tail_counterexample(result: ClaimResult) -> Sentences:
    details = result.finding.details
    row = _rows(result)[details["headline"]]
    needed = details.get("needed")
    verb = "reaches" if needed is None else "goes above"
    where = "On the database"
    if needed is not None:
        where = f"With {needed:,} {details['counted']}, on the database"
    exact = f" Its exact probability is {number(row['exact'])}." if row["exact"] else ""
    return (
        f"{where} {printable(str(row['database']))}, the loss {verb} {number(row['bound'])} in "
        f"{row['hits']:,} of {row['draws']:,} draws; at most {number(100 * row['beta'])} % was "
        f"claimed.{exact}",
    )


def _utility_pictures(result: ClaimResult) -> tuple[Draw, ...]:
    from ..figures.tails_figures import tail_figure

    return () if result.finding.vacuous else (tail_figure,)


def _threshold_pictures(_: ClaimResult) -> tuple[Draw, ...]:
    from ..figures.tails_figures import records_figure

    return (records_figure,)


def _mean_counterexample(result: ClaimResult) -> Sentences:
    row = max(_rows(result), key=lambda row: row["mean"])
    exact = f" (exactly {number(row['exact'])})" if row["exact"] is not None else ""
    return (
        f"On {printable(str(row['database']))} the mean is {number(row['mean'])}{exact}, and "
        f"{number(row['bound'])} was claimed.",
    )


def _mean_pictures(_: ClaimResult) -> tuple[Draw, ...]:
    from ..figures.laws_figures import mean_figure

    return (mean_figure,)


def _invariant_counterexample(result: ClaimResult) -> Sentences:
    return (
        f"At {printable(witness_words(result))} the margin is {number(_value(result))}, "
        "and a true statement has none below 0.",
    )


def _invariant_measured(result: ClaimResult) -> str:
    found = result.finding.measured
    told = _interval(result)
    return told if found is None or found.low == found.high else f"least {number(found.value)}"


def _invariant_pictures(_: ClaimResult) -> tuple[Draw, ...]:
    from ..figures.laws_figures import margin_figure

    return (margin_figure,)


def _equal(face: Face, result: ClaimResult) -> str:
    return f"{face.quantity} = {number(result.finding.claimed)}"


def _equality_counterexample(result: ClaimResult) -> Sentences:
    rows, known = _rows(result), result.finding.exact is not None
    exact = known and all(row["exact mechanism"] is not None for row in rows)
    names = ("exact mechanism", "exact other") if exact else ("mechanism", "other")
    row = max(rows, key=lambda row: abs(row[names[0]] - row[names[1]]))
    return (
        f"On {printable(str(row['database']))} the output {printable(str(row['cell']))} has "
        f"{'probability' if exact else 'share'} {number(row[names[0]])} under the mechanism and "
        f"{number(row[names[1]])} under the stated law.",
    )


def _equality_pictures(_: ClaimResult) -> tuple[Draw, ...]:
    from ..figures.laws_figures import law_figure

    return (law_figure,)


def _growth_bound(face: Face, result: ClaimResult) -> str:
    told, slack = number(result.finding.claimed), number(result.finding.details["slack"])
    if result.finding.details["attained"]:
        return f"{face.quantity} {told} ± {slack}"
    return f"{face.quantity} ≤ {told} + {slack}"


def _growth_counterexample(result: ClaimResult) -> Sentences:
    found = result.finding
    if found.details["above_bound"]:
        row = max(_rows(result), key=lambda row: row["share"])
        return (
            f"At {number(row['x'])} the mean is {number(row['mean'])}, and no more than "
            f"{number(row['bound'])} was claimed.",
        )
    return (
        f"The {found.details['grows']} grow by the exponent {_interval(result)} of "
        f"{found.details['over']}, and {number(found.claimed)} was claimed.",
    )


def _growth_pictures(_: ClaimResult) -> tuple[Draw, ...]:
    from ..figures.laws_figures import growth_figure

    return (growth_figure,)


def _identity_counterexample(result: ClaimResult) -> Sentences:
    stated = result.finding.claimed
    return (f"Stated is {stated:.10g}, but it comes out as {_value(result):.10g}.",)


def _identity_pictures(_: ClaimResult) -> tuple[Draw, ...]:
    from ..figures.laws_figures import identity_figure

    return (identity_figure,)


def face_of(claim: type[Claim]) -> Face:
    """The face of one kind of claim."""
    if issubclass(claim, PrivacyClaim):
        return Face(
            quantity="epsilon",
            axis="epsilon (nats)",
            bound=_privacy_bound,
            measured=_privacy_measured,
            counterexample=_privacy_counterexample,
            pictures=_privacy_pictures,
            points="lower bound",
        )
    if issubclass(claim, UtilityClaim):
        return Face(
            quantity="P",
            axis="P[loss ≥ bound]",
            counterexample=_tail_counterexample,
            pictures=_utility_pictures,
        )
    if issubclass(claim, ThresholdClaim):
        return Face(
            quantity="P",
            axis="P[error above its level]",
            counterexample=_tail_counterexample,
            pictures=_threshold_pictures,
        )
    if issubclass(claim, ExpectationClaim):
        return Face(
            quantity="mean",
            axis="mean of the quantity",
            counterexample=_mean_counterexample,
            pictures=_mean_pictures,
        )
    if issubclass(claim, EqualityClaim):
        # The distance is that of total variation.
        return Face(
            quantity="distance",
            axis="total variation",
            bound=_equal,
            counterexample=_equality_counterexample,
            pictures=_equality_pictures,
        )
    if issubclass(claim, InvariantClaim):
        return Face(
            quantity="margin",
            axis="least margin",
            bound=lambda face, result: f"{face.quantity} ≥ 0",
            measured=_invariant_measured,
            counterexample=_invariant_counterexample,
            pictures=_invariant_pictures,
            spent="cases",
        )
    if issubclass(claim, GrowthClaim):
        return Face(
            quantity="exponent",
            axis="fitted exponent",
            bound=_growth_bound,
            counterexample=_growth_counterexample,
            pictures=_growth_pictures,
            curve="stated",
        )
    if issubclass(claim, IdentityClaim):
        return Face(
            quantity="value",
            axis="value",
            bound=_equal,
            counterexample=_identity_counterexample,
            pictures=_identity_pictures,
            measured=lambda result: f"{_value(result):.6g}",
            curve="stated",
        )
    assert_never(claim)


FACES: Mapping[str, Face] = {claim.kind: face_of(claim) for claim in get_args(Claim)}
"""The face of every kind by its name; the kinds of the JSON schema are its keys."""


def finding_to_json(result: ClaimResult) -> dict[str, object]:
    """What was found of one claim, as JSON data."""
    found = result.finding
    return {
        "claimed": plain_data(found.claimed),
        "measured": plain_data(found.measured),
        "exact": plain_data(found.exact),
        "weak": found.weak,
        "vacuous": found.vacuous,
        "verdict": result.verdict.value,
        "sampled": found.sampled.value if found.sampled else None,
        "proved": found.proved.value if found.proved else None,
        "scope": found.scope,
        "method": found.method,
        "note": found.note,
        "draws": found.draws,
        "seconds": round(result.seconds, 4),
        "seed": result.seed,
        "alpha": found.error,
        "witness": witness_words(result) or None,
        "table": plain_data(found.table),
    }


def plain_data(value: object) -> object:
    """A value as JSON data; what JSON has no word for as the text a reader is shown."""
    match value:
        case None | bool() | str() | int():
            return value
        case np.generic():
            return plain_data(value.item())
        case float():
            return value if isfinite(value) else "nan" if isnan(value) else f"{value:+}".lstrip("+")
        case Mapping():
            return {str(key): plain_data(item) for key, item in value.items()}
        case list() | tuple():
            return [plain_data(item) for item in value]
        case np.ndarray():
            return plain_data(value.tolist())
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain_data(getattr(value, field.name)) for field in fields(value)}
    return show(value)


def claims_part(checks: Sequence[ClaimCheck]) -> dict[str, object]:
    """What an evidence file holds of claims beside privacy; nothing if there are none."""
    if not checks:
        return {}
    return {
        "claims": list(map(record_of, checks)),
        "claim_findings": list(map(finding_beside, checks)),
    }


def finding_beside(check: ClaimCheck) -> ClaimFindingRecord:
    """What follows from the counts of one claim, for programs that read no counts."""
    words = {"headline": headline(check.result, check.mechanism)}
    return cast(ClaimFindingRecord, {**finding_to_json(check.result), **words})
