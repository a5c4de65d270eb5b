"""Claims beside privacy, checked again: an evidence file says what was found of them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from ...auditors.claims.check import check_within, claims_beside
from ...auditors.errors import EvidenceFormatError, InvalidArgument
from ...auditors.evidence.record import ClaimCheckRecord
from ...auditors.privacy.budget import Budget
from ...auditors.privacy.rerun import MOST_TRIALS
from ...auditors.results.results import Verdict
from ...mechanisms.model import Mechanism
from ..targets import targets, trust
from .comparing import MOST_NAMED, unlike, without
from .delivering import Beside, claim_to_json

BELIEVED = frozenset({"seconds", "target"})
"""How long it took, and words about where it was run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimReplay:
    """What checking one claim again gave, and in what it differs from the record."""

    record: ClaimCheckRecord
    verdict: Verdict
    differences: tuple[str, ...]


def claims_of(data: Mapping[str, Any]) -> list[ClaimCheckRecord]:
    """The entries of `claims`; EvidenceFormatError where they are malformed."""
    claims = data.get("claims", [])
    if not isinstance(claims, list) or not all(isinstance(one, dict) for one in claims):
        raise EvidenceFormatError("claims must be a list of objects")
    for index, one in enumerate(claims):
        for key in ("target", "mechanism", "identifier", "kind", "verdict"):
            if not isinstance(one.get(key), str):
                raise EvidenceFormatError(f"claims[{index}].{key} must be a string")
        if not isinstance(one.get("plan"), dict):
            raise EvidenceFormatError(f"claims[{index}].plan must be an object")
    return claims


def claims_replayed(
    claims: Sequence[ClaimCheckRecord],
    *,
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

    `warn` hears of those that cannot be compared: where the file is not `whole`, that is of other
    versions, which may draw otherwise, and of the targets that `ran` whose claims the file lacks.
    The other words are those of `replaying.replayed`.
    """
    for target in dict.fromkeys(ran):
        found = trust.find(target, timeout).mechanism
        others = claims_beside(found) if isinstance(found, Mechanism) else ()
        if others and not any(trust.same_target(target, one["target"]) for one in claims):
            warn(
                f"the file holds nothing of what {target} claims beside its privacy: "
                f"{', '.join(one.claim.identifier or one.claim.kind for one in others)}"
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
    for target in dict.fromkeys(one for one in chosen if one is not None):
        own = [one for one, name in zip(claims, chosen, strict=True) if name == target]
        found = trust.find(target, timeout)
        if isinstance(found.mechanism, Mechanism) and not found.mechanism.seeded:
            warn(f"{target} is not seeded, so its claims beside privacy are not compared")
        elif are_long(own):
            warn(f"claims of {target} took over {MOST_TRIALS:,} trials and are not compared")
        else:
            yield from claims_again(own, found)


def are_long(records: Sequence[ClaimCheckRecord]) -> bool:
    """Whether one of them took more trials than are made again."""
    every = (record["plan"].get("trials") for record in records)
    return any(isinstance(one, (int, float)) and one > MOST_TRIALS for one in every)


def claims_again(
    records: Sequence[ClaimCheckRecord], found: targets.Target
) -> Iterator[ClaimReplay]:
    """Each of the records, all of which are about one target, with what a check gives now.

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
    for record, subject in zip(records, subjects, strict=True):
        plan: Mapping[str, Any] = record["plan"]
        try:
            budget = Budget(alpha=plan["alpha"], trials=plan["trials"], seed=record["seed"])
        except (InvalidArgument, KeyError, TypeError) as error:
            raise EvidenceFormatError(
                f"claims: the plan or the seed of {record['identifier']!r:.60} is impossible: "
                f"{error}"
            ) from None
        seconds = record.get("seconds")
        if not isinstance(seconds, (int, float)) or not 0 <= seconds < float("inf"):
            raise EvidenceFormatError(
                f"claims: the seconds of {record['identifier']!r:.60} must be a number, at least 0"
            )
        # Believed, and so what is told of them need only agree with them.
        result = replace(check_within(budget, subject), seconds=seconds)
        now = claim_to_json(result, Beside(found.text, found.name, (), budget))
        old, new = (without(json.loads(json.dumps(dict(one))), BELIEVED) for one in (record, now))
        yield ClaimReplay(
            record=record,
            verdict=result.verdict,
            differences=tuple(islice(unlike(old, new, "claims"), MOST_NAMED)),
        )
