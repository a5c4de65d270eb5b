"""Claims beside privacy, checked again: an evidence file says what was found of them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from ...auditors.claims.check import check_within, claims_beside
from ...auditors.claims.derive import record_of, revived
from ...auditors.errors import EvidenceFormatError, InvalidArgument
from ...auditors.evidence.record import ClaimCheckRecord
from ...auditors.privacy.rerun import MOST_TRIALS
from ...auditors.results.results import Verdict
from ...mechanisms.model import Mechanism
from ..formats.audited import finding_beside
from ..record import reading
from ..targets import targets, trust
from .comparing import MOST_NAMED, unlike, without

BELIEVED = frozenset({"seconds", "target"})
"""How long it took, and words about where it was run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimReplay:
    """What checking one claim again gave, and in what it differs from the record."""

    record: ClaimCheckRecord
    verdict: Verdict
    differences: tuple[str, ...]


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
        others = claims_beside(found) if isinstance(found, Mechanism) else ()
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
        if isinstance(found.mechanism, Mechanism) and not found.mechanism.seeded:
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
    carried = found.mechanism if isinstance(found.mechanism, Mechanism) else None
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
            recorded = revived(record)
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
            without(json.loads(json.dumps(dict(one))), BELIEVED)
            for one in (record, record_of(made))
        )
        differences = [*islice(unlike(old, new, "claims"), MOST_NAMED)]
        if finding is not None:
            unlikes = unlike(finding, follows, "claim_findings", "its counts give")
            differences += islice(unlikes, MOST_NAMED)
        yield ClaimReplay(
            record=record, verdict=made.result.verdict, differences=tuple(differences)
        )
