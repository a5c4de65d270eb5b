"""Evidence counted again, for the command line and for Python alike."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from os import PathLike, fspath
from typing import Any

from ...auditors.arguments import checked
from ...auditors.claims.check import claims_beside
from ...auditors.errors import DpWitnessError, EvidenceFormatError, InvalidArgument
from ...auditors.evidence.conversion import finding_of, revived
from ...auditors.evidence.record import (
    ClaimCheckRecord,
    ResultRecord,
)
from ...auditors.privacy.replay import Replay, recount
from ...auditors.privacy.rerun import audited_again
from ...auditors.results.results import AuditResult
from ...mechanisms.model import Mechanism, NegativeControl
from ..record import evidence, reading
from ..targets import trust
from ..targets.targets import Target
from .comparing import MOST_NAMED, unlike, without
from .replaying_claims import (
    ClaimReplay,
    are_long,
    claims_again,
    claims_of,
    claims_replayed,
    findings_of,
)


@checked
def replay(
    recorded: str | PathLike[str] | Mapping[str, Any] | AuditResult,
    mechanism: Mechanism | NegativeControl | Callable[..., Any] | None = None,
    *,
    workers: int = 1,
    timeout: float = 10.0,
) -> tuple[Replay, ...]:
    """Draw the recorded streams again and count the recorded events; one Replay for each result.

    `recorded` is the path of an evidence file, what such a file holds, or the result of an audit.
    Without a `mechanism` only a target of the catalogue is run: other code that the evidence names
    is not, because somebody else may have written the file.
    `workers` are processes to draw in, `timeout` the seconds one call may take.

    What a file says of claims beside privacy is checked again too. A difference is among those of
    the result of the same target, or of the first result; where the claims could not be compared,
    "claims" is among what is `believed`.

    Raises EvidenceFormatError for evidence that is damaged, InvalidArgument where it names no
    target and no mechanism is given, or holds claims beside privacy alone, and ContractError when
    the mechanism fails.
    """
    if isinstance(recorded, AuditResult):
        recorded = dict(evidence.document([recorded], replay=""))
    if isinstance(recorded, Mapping):
        data, label = dict(recorded), "the evidence"
    else:
        data, label = reading.load_document(fspath(recorded)), repr(fspath(recorded))
    records, claims = reading.entries_of(data, label), claims_of(data)
    if claims and not records:
        raise InvalidArgument(
            f"{label} holds claims beside privacy and no result to count again; `dpwitness replay` "
            "checks them"
        )
    whole = made_by_this_version(data)
    outcomes = [
        outcome
        for _, outcome in replayed(
            records,
            mechanism,
            workers=workers,
            timeout=timeout,
            findings=data.get("findings"),
            whole=whole,
        )
    ]
    skipped, told = list[str](), data.get("claim_findings")
    if mechanism is None:
        ran = [record["target"] for record in records]
        again = claims_replayed(
            claims, told=told, whole=whole, warn=skipped.append, ran=ran, timeout=timeout
        )
    else:
        again = _claims_of_given(mechanism, claims, told, whole=whole, warn=skipped.append)
    for one in again:
        _say_of_claim(outcomes, records, one)
    if skipped:
        outcomes = [replace(one, believed=(*one.believed, "claims")) for one in outcomes]
    return tuple(outcomes)


def _claims_of_given(
    mechanism: Any,
    claims: Sequence[ClaimCheckRecord],
    told: object,
    *,
    whole: bool,
    warn: Callable[[str], None],
) -> Iterator[ClaimReplay]:
    """The claims of a mechanism that was given, checked again; `warn` hears why they are not."""
    beside = claims_beside(mechanism) if isinstance(mechanism, Mechanism) else ()
    if not (claims or beside):
        return
    if not (claims and beside and whole and mechanism.seeded) or are_long(claims):
        warn("the claims beside privacy are not compared")
        return
    found = Target(text="", name=mechanism.name, mechanism=mechanism)
    yield from claims_again(claims, found, findings_of(claims, told))


def _say_of_claim(
    outcomes: list[Replay], records: Sequence[ResultRecord], again: ClaimReplay
) -> None:
    """Put what differs in a claim among the differences of the result of its target."""
    name = again.record["target"]
    same = (i for i, one in enumerate(records) if trust.same_target(name, one["target"]))
    number = next(same, 0)
    outcome = outcomes[number]
    outcomes[number] = replace(outcome, differences=(*outcome.differences, *again.differences))


def made_by_this_version(data: Mapping[str, object]) -> bool:
    """Whether evidence was written by the versions that run now, by what it says of itself.

    Another version counts the same and may learn or plan otherwise.
    """
    now, then = evidence.environment(), data.get("environment")
    names = ("dpwitness", "numpy", "scipy")
    return isinstance(then, Mapping) and all(then.get(name) == now[name] for name in names)


def replayed(
    records: Sequence[ResultRecord],
    mechanism: object = None,
    *,
    workers: int = 1,
    timeout: float = 10.0,
    tell: Callable[[str], None] = lambda target: None,
    named: Sequence[str] = (),
    program: str | None = None,
    ask: trust.Ask | None = None,
    path: str = "EVIDENCE.json",
    findings: object = None,
    whole: bool = False,
) -> Iterator[tuple[ResultRecord, Replay]]:
    """Each record with what counting it again gave; `tell` hears the target before it is run.

    `named` are the targets and `program` the program that the user typed, `ask` puts a question
    to the user; see `trust`. What `findings` tell to other programs is compared with what follows
    from the records. With `whole` the audit is also made again where the record holds all
    that was asked, and all that it says is compared.
    """
    if not records:
        return
    told = findings if isinstance(findings, list) and len(findings) == len(records) else None
    if findings is not None and told is None:
        raise EvidenceFormatError("findings: there is one for each of the results")
    if mechanism is not None:
        for place, record in enumerate(records):
            outcome = recount(mechanism, record, workers=workers, timeout=timeout)
            outcome = _told(outcome, record, told, place)
            if whole:
                outcome = _compared(outcome, mechanism, record, "", workers, timeout)
            yield record, outcome
        return
    chosen = trust.allowed(records, named, program=program, ask=ask, path=path)
    for place, (record, target) in enumerate(zip(records, chosen, strict=True)):
        if target is None:
            continue
        found = trust.find(target, timeout)
        tell(target)
        outcome = recount(
            found.mechanism, record, name=found.name, workers=workers, timeout=timeout
        )
        outcome = _told(outcome, record, told, place)
        if whole:
            outcome = _compared(outcome, found.mechanism, record, found.name, workers, timeout)
        # Evidence saved from Python names none: what it says of the mechanism was compared.
        if record["target"] and not trust.moved(target, record["target"]):
            sentence = f"target: recorded {record['target']}, replayed {target}"
            outcome = replace(outcome, differences=(*outcome.differences, sentence))
        yield record, outcome


def _told(
    outcome: Replay, record: ResultRecord, findings: Sequence[object] | None, place: int
) -> Replay:
    """The outcome with what a file tells other programs and does not follow from its counts."""
    if findings is None:
        return outcome
    found = json.loads(json.dumps(finding_of(revived(record))))
    named = unlike(findings[place], found, f"findings[{place}]", "its counts give")
    return replace(outcome, differences=(*outcome.differences, *islice(named, MOST_NAMED)))


READ = frozenset({"schema", "results", "findings", "environment", "claims", "claim_findings"})


def unread(data: Mapping[str, object]) -> str:
    """A sentence about the parts of an evidence file beside its results; empty without any."""
    parts = sorted(str(key) for key in data.keys() - READ)
    return f"Not read, and so not checked: {', '.join(parts)}." if parts else ""


BELIEVED = frozenset({"seconds", "target", "replay", "cause"})
"""What no rerun decides: how long it took, and words about where it was run."""
UNDECIDED = ("environment", "plan.precision")
"""What a rerun is made with; another wish for precision may lead to the same audit."""


def _compared(
    outcome: Replay,
    mechanism: object,
    record: ResultRecord,
    name: str,
    workers: int,
    timeout: float,
) -> Replay:
    """The outcome with the fields in which the same audit, made again, says something else."""
    if not outcome.same:
        return outcome
    if missing := tuple(islice(_missing(record), MOST_NAMED)):
        return replace(outcome, differences=missing)
    try:
        again = audited_again(mechanism, record, name=name, workers=workers, timeout=timeout)
    except DpWitnessError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise EvidenceFormatError(
            f"the evidence asks for an audit that cannot be made ({error!r:.120})"
        ) from None
    if again is None:
        return _doubted(outcome, mechanism, record, name, workers, timeout)
    laws = (one for one in outcome.believed if one.startswith("exact."))
    believed = (*sorted(BELIEVED), *UNDECIDED, *laws)
    named = tuple(islice(_differences(record, again), MOST_NAMED))
    return replace(outcome, differences=named, believed=believed)


def _missing(record: ResultRecord) -> Iterator[str]:
    """The parts of the plan that every audit of this version has and this one lacks."""
    attempted = any(one["stage"] in ("attempt", "standing") for one in record["evidence"]["counts"])
    seen = ("made_again", *(["rng"] if record["seeded"] else []))
    for key in ("precision", "betting", "search", "vectorised", "trust_rows", *seen):
        if attempted and key not in record["plan"]:
            yield f"plan.{key}: missing"


def _differences(record: ResultRecord, again: AuditResult) -> Iterator[str]:
    now = json.loads(evidence.to_text(evidence.document([again], replay="")))["results"][0]
    then = json.loads(json.dumps(dict(record)))
    if "cause" in then:
        now.setdefault("cause", None)  # a guide, which is not made again
    skipped = BELIEVED | ({"draws"} if float(then["claim"]["epsilon"]) == 0 else set())
    return unlike(without(then, skipped), without(now, skipped), "")


def _doubted(
    outcome: Replay,
    mechanism: object,
    record: ResultRecord,
    name: str,
    workers: int,
    timeout: float,
) -> Replay:
    """The outcome of a record that says that its audit cannot be made again.

    Where the audit that the record denies gives all the rest of it, the denial is named: a clock
    that decides costs draws, which are counted, and leaves a trace.
    """
    if float(record["claim"]["epsilon"]) == 0 or not record["remark"]:
        return outcome
    try:
        again = audited_again(
            mechanism, record, name=name, workers=workers, timeout=timeout, boldly=True
        )
    except (DpWitnessError, KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return outcome
    if again is None:
        return outcome
    named = [one for one in _differences(record, again) if not one.startswith("plan.search")]
    alone = len(named) == 1 and named[0].startswith("remark")
    return replace(outcome, differences=tuple(named)) if alone else outcome
