"""Evidence counted again, for the command line and for Python alike.

The results of an audit are counted again on their own streams, and claims beside privacy are
checked again, as far as the evidence says what was found of them. Each is set beside the record,
and the differences are named by the paths of fields.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice
from math import isclose
from os import PathLike, fspath

from ...auditors.arguments import checked
from ...auditors.claims.check import check_within, claims_beside
from ...auditors.claims.derive import record_of
from ...auditors.claims.derive import revived as revived_claim
from ...auditors.errors import DpWitnessError, EvidenceFormatError, InvalidArgument
from ...auditors.evidence.conversion import finding_of, revived
from ...auditors.evidence.record import ClaimCheckRecord, ResultRecord
from ...auditors.looking import is_a
from ...auditors.privacy.replay import Replay, recount
from ...auditors.privacy.rerun import MOST_TRIALS, audited_again
from ...auditors.results.results import AuditResult, Verdict
from ...mechanisms.model import Mechanism, NegativeControl
from ..faces.claim_faces import finding_beside
from ..record import evidence, reading
from ..targets import targets, trust
from ..targets.targets import Target

MOST_NAMED = 8
"""Fields that one sentence after another is spent on."""
READ = frozenset({"schema", "results", "findings", "environment", "claims", "claim_findings"})
BELIEVED = frozenset({"seconds", "target", "replay", "cause"})
"""What no rerun decides: how long it took, and words about where it was run."""
UNDECIDED = ("environment", "plan.precision")
"""What a rerun is made with; another wish for precision may lead to the same audit."""
BELIEVED_OF_CLAIMS = frozenset({"seconds", "target"})
"""How long it took, and words about where it was run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimReplay:
    """What checking one claim again gave, and in what it differs from the record."""

    record: ClaimCheckRecord
    verdict: Verdict
    differences: tuple[str, ...]


@checked
def replay(
    recorded: str | PathLike[str] | Mapping[str, object] | AuditResult,
    mechanism: Mechanism | NegativeControl | Callable[..., object] | None = None,
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
    mechanism: object,
    claims: Sequence[ClaimCheckRecord],
    told: object,
    *,
    whole: bool,
    warn: Callable[[str], None],
) -> Iterator[ClaimReplay]:
    """The claims of a mechanism that was given, checked again; `warn` hears why they are not."""
    beside = claims_beside(mechanism) if is_a(mechanism, Mechanism) else ()
    if not (claims or beside):
        return
    comparable = claims and beside and whole and not are_long(claims)
    if not (comparable and is_a(mechanism, Mechanism) and mechanism.seeded):
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


def unread(data: Mapping[str, object]) -> str:
    """A sentence about the parts of an evidence file beside its results; empty without any."""
    parts = sorted(str(key) for key in data.keys() - READ)
    return f"Not read, and so not checked: {', '.join(parts)}." if parts else ""


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


def claims_of(data: Mapping[str, object]) -> list[ClaimCheckRecord]:
    """The entries of `claims`; EvidenceFormatError where they are malformed."""
    claims = data.get("claims", [])
    if not isinstance(claims, list):
        raise EvidenceFormatError("claims must be a list of objects")
    for index, one in enumerate(claims):
        reading.require(one, ClaimCheckRecord, f"claims[{index}]")
    return claims


def findings_of(
    claims: Sequence[ClaimCheckRecord], told: object
) -> Sequence[Mapping[str, object] | None]:
    """What a file tells other programs of each claim; None of each if it tells nothing."""
    if told is None:
        return [None] * len(claims)
    if not isinstance(told, list) or len(told) != len(claims):
        raise EvidenceFormatError("claim_findings: there is one for each of the claims")
    return told


def claims_replayed(
    claims: Sequence[ClaimCheckRecord],
    *,
    told: object = None,
    whole: bool,
    warn: Callable[[str], None],
    ran: Sequence[str] = (),
    named: Sequence[str] = (),
    program: str | None = None,
    ask: trust.Ask | None = None,
    path: str = "EVIDENCE.json",
    timeout: float = 10.0,
) -> Iterator[ClaimReplay]:
    """Each claim of the targets that may be run, with what a check of it gives now.

    `told` is what the file tells other programs of them, which is to follow from their counts.
    `warn` hears of those that cannot be compared: where the file is not `whole`, that is of other
    versions, which may draw otherwise, and of the targets that `ran` whose claims the file lacks.
    The other words are those of `replaying.replayed`.
    """
    for target in dict.fromkeys(ran):
        found = trust.find(target, timeout).mechanism
        others = claims_beside(found) if is_a(found, Mechanism) else ()
        if others and not any(trust.same_target(target, one["target"]) for one in claims):
            warn(
                f"the file records the privacy of {target} alone; not replayed: "
                f"{', '.join(dict.fromkeys(o.claim.identifier or o.claim.kind for o in others))}"
            )
    if claims and not whole:
        warn("the claims beside privacy were checked by other versions and are not compared")
    if not claims or not whole:
        return
    try:
        chosen = trust.allowed(claims, named, program=program, ask=ask, path=path)
    except InvalidArgument:
        if not (named and ran):
            raise
        return  # what was named is among the results
    findings = findings_of(claims, told)
    for target in dict.fromkeys(one for one in chosen if one is not None):
        places = [place for place, name in enumerate(chosen) if name == target]
        own = [claims[place] for place in places]
        found = trust.find(target, timeout)
        if is_a(found.mechanism, Mechanism) and not found.mechanism.seeded:
            warn(f"{target} is not seeded, so its claims beside privacy are not compared")
        elif are_long(own):
            warn(f"claims of {target} took over {MOST_TRIALS:,} trials and are not compared")
        else:
            yield from claims_again(own, found, [findings[place] for place in places])


def are_long(records: Sequence[ClaimCheckRecord]) -> bool:
    """Whether one of them took more trials than are made again."""
    every = (record["plan"].get("trials") for record in records)
    return any(isinstance(one, (int, float)) and one > MOST_TRIALS for one in every)


def claims_again(
    records: Sequence[ClaimCheckRecord],
    found: targets.Target,
    findings: Sequence[Mapping[str, object] | None] = (),
) -> Iterator[ClaimReplay]:
    """Each of the records, all of which are about one target, counted again.

    What a file tells other programs of them, if it does, is compared with what their counts give.
    Raises EvidenceFormatError for a malformed record and ContractError when the mechanism fails.
    """
    carried = found.mechanism if is_a(found.mechanism, Mechanism) else None
    subjects = claims_beside(carried) if carried is not None else ()
    if len(subjects) != len(records):
        raise EvidenceFormatError(
            f"claims: the file holds {len(records)} of {found.name}, which makes {len(subjects)} "
            "beside its privacy"
        )
    if are_long(records):
        raise EvidenceFormatError(f"claims: over {MOST_TRIALS:,} trials are not made again")
    told = findings or [None] * len(records)
    for record, subject, finding in zip(records, subjects, told, strict=True):
        try:
            recorded = revived_claim(record)
            follows = json.loads(json.dumps(finding_beside(recorded)))
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise EvidenceFormatError(
                f"claims: nothing follows from {record['identifier']!r:.60}: {error}"
            ) from None
        made = replace(
            recorded,
            mechanism=found.name,
            target=found.text,
            result=check_within(recorded.budget, subject),
        )
        old, new = (
            without(json.loads(json.dumps(dict(one))), BELIEVED_OF_CLAIMS)
            for one in (record, record_of(made))
        )
        differences = [*islice(unlike(old, new, "claims"), MOST_NAMED)]
        if finding is not None:
            unlikes = unlike(finding, follows, "claim_findings", "its counts give")
            differences += islice(unlikes, MOST_NAMED)
        yield ClaimReplay(
            record=record, verdict=made.result.verdict, differences=tuple(differences)
        )


def without(data: Mapping[str, object], fields: Set[str]) -> dict[str, object]:
    """The data with nothing in these fields; whether they are there still shows."""
    return {key: None if key in fields else value for key, value in data.items()}


def unlike(
    then: object, now: object, place: str, gives: str = "the same audit now gives"
) -> Iterator[str]:
    """Each field that differs, by its path, with both values; `gives` introduces the second."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in dict.fromkeys((*then, *now)):
            inner = f"{place}.{key}" if place else key
            if key not in then or key not in now:
                which = "missing" if key not in then else "not one that this audit writes"
                yield f"{inner}: {which}"
            else:
                yield from unlike(then[key], now[key], inner, gives)
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for index, (one, other) in enumerate(zip(then, now, strict=True)):
            yield from unlike(one, other, f"{place}[{index}]", gives)
    elif type(then) is bool or type(now) is bool or not _near(then, now):
        if then is not now:
            yield f"{place}: recorded {_short(then)}, {gives} {_short(now)}"


def _near(one: object, other: object) -> bool:
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return bool(one == other)


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
