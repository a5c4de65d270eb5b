"""Audits with a book: what an audit is, and how it is kept, drawn as a shard or put together.

An audit is the text of its content, and the hash of that text. Two runs of one identity draw the
same blocks from the same streams wherever they run. What a run may cost (trials, seconds, workers,
engine, timeout) and where things lie is no part of it: trials say how many of the blocks are drawn,
and each block says by itself which one it is.
"""

import dataclasses
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from hashlib import blake2b, sha256
from typing import Any

from ...mechanisms.model import Pair
from ..bounds import power
from ..engines import Book
from ..errors import InvalidArgument
from ..outputs.encoding import canonical
from ..privacy import judge
from ..privacy.planning import LEARNING
from ..privacy.preparing import Audit, prepared
from ..privacy.request import AuditRequest, Progress
from ..privacy.run import run_audit
from ..results.results import AuditResult
from ..sampling.fingerprint import fingerprint
from ..sampling.gate import pass_gate
from .shard import Shard, ShardBook, ShardDrawn

VERSION = 2
"""Grows when streams or the order of what is drawn change."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The content of an audit, a line for each part; `digest` is 64 hex digits."""

    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(self.lines)

    @property
    def digest(self) -> str:
        """SHA-256 of the text as UTF-8."""
        return sha256(self.text.encode()).hexdigest()

    def differences(self, other: Sequence[str]) -> str:
        """The first part in which another identity differs, in words; "" for none."""
        for own, foreign in zip(self.lines, other, strict=False):
            if own != foreign:
                return f"it has {foreign!r} where this audit has {own!r}"
        return "" if len(self.lines) == len(other) else "it has other parts"


Opening = Callable[[Identity], AbstractContextManager[Book]]


def identity_of(audits: Sequence[Audit], databases: object = None) -> Identity:
    """The identity of the audits of one call; `databases` are those the caller gave, if any."""
    first, given = audits[0], audits[0].given
    sampler = first.sampler
    made = fingerprint(first.subject.run)
    of_claims = [
        f"claim epsilon {float(one.claim.epsilon)!r}, delta {float(one.claim.delta)!r}, "
        f"{one.claim.relation.value}, distance {one.claim.distance}"
        + (f", curve {dict(one.claim.curve.to_json())!r}" if one.claim.curve else "")
        for one in audits
    ]
    alpha = sum(one.budget.alpha for one in audits)
    return Identity(
        (
            f"dpwitness audit {VERSION}",
            f"mechanism {made or 'without a fingerprint: ' + first.subject.name}",
            *of_claims,
            f"pair {_pair(given)}"
            if given is not None
            else f"pair found among databases {_source(first, databases)}",
            "event learnt on draws that do not judge",
            f"plan alpha {alpha!r}, precision {first.budget.precision!r}, "
            f"exceptions {sampler.exceptions}, blocks of {sampler.block}"
            f"{' by size=' if sampler.vectorised else ''}"
            f"{', rows are trusted' if sampler.by_rows('attempt') else ''}, {_rules()}",
            f"seed {sampler.seed}",
        )
    )


def _pair(pair: Pair) -> str:
    digest = blake2b(digest_size=16)
    for database in (pair.database, pair.neighbour):
        encoded = canonical(database)
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.hexdigest()


def _source(audit: Audit, databases: object) -> str:
    """A hash of what describes where databases come from: code, bounds, examples."""
    own = audit.subject.databases if databases is None else databases
    said = [re.sub(r" at 0x[0-9a-f]+", "", repr(own)), fingerprint(own)]
    definition = getattr(getattr(own, "wrapped_strategy", own), "definition", None)
    said += [fingerprint(definition)] if definition is not None else []
    if audit.source is not None:
        said += [_pair(pair) for pair in audit.source.templates]
    return blake2b("\n".join(said).encode(), digest_size=16).hexdigest()


def _rules() -> str:
    """The rules by which blocks and levels are planned, as their constants."""
    learnt = (LEARNING, judge.FAR, judge.HOPELESS)
    early = (judge.EARLY_SHARE, judge.HASTY_SHARE)
    planned = (power.EARLY, power.LAST, *learnt, *early)
    constants = [dataclasses.astuple(p) if dataclasses.is_dataclass(p) else p for p in planned]
    return "rules " + blake2b(repr(constants).encode(), digest_size=8).hexdigest()


def identify(mechanism: object, **options: object) -> Identity:
    """The identity of the audit that `audit_claims` would make of these arguments."""
    audits = _prepared(mechanism, options)
    return identity_of(audits, options.get("databases"))


def audit_in(
    book: Opening, mechanism: object, *, progress: Progress | None = None, **options: object
) -> tuple[AuditResult, ...]:
    """`audit_claims` with a book that is opened for its identity.

    Raises InvalidArgument where the draws could not be repeated: for a mechanism that is not
    seeded, and a budget in seconds.
    """
    audits = _prepared(mechanism, options)
    _require_repeatable(audits)
    identity = identity_of(audits, options.get("databases"))
    sampler = audits[0].sampler
    with book(identity) as opened, sampler.engine.connected(sampler.workers):
        return tuple(run_audit(_with(one, opened), progress) for one in audits)


def draw_shard(
    shard: Shard,
    mechanism: object,
    *,
    inner: Opening | None = None,
    progress: Progress | None = None,
    **options: object,
) -> tuple[Identity, list[ShardBook]]:
    """Draw one shard of the audits: for each claim a book of its counts. Nothing is judged.

    `inner` is a checkpoint to take blocks from and to keep them in.
    """
    audits = _prepared(mechanism, options)
    _require_repeatable(audits)
    identity = identity_of(audits, options.get("databases"))
    sampler = audits[0].sampler
    with sampler.engine.connected(sampler.workers):
        if inner is None:
            return identity, [_drawn(one, shard, None, progress) for one in audits]
        with inner(identity) as opened:
            return identity, [_drawn(one, shard, opened, progress) for one in audits]


def _drawn(audit: Audit, shard: Shard, inner: Book | None, progress: Progress | None) -> ShardBook:
    book = ShardBook(shard, inner)
    booked = _with(audit, book)
    with suppress(ShardDrawn):
        run_audit(booked, progress)
    # Nobody knows yet whether these counts refute, so as many are made again as if they did.
    booked.sampler.tally.deciding.judged = False
    pass_gate(booked.sampler, refuted=True)
    return book


def _prepared(mechanism: object, options: dict[str, Any]) -> tuple[Audit, ...]:
    request = AuditRequest(mechanism, **options)
    return prepared(request, request.budget, request.epsilon)


def _with(audit: Audit, book: Book) -> Audit:
    return replace(audit, sampler=replace(audit.sampler, book=book))


def _require_repeatable(audits: tuple[Audit, ...]) -> None:
    if not audits[0].sampler.seeded:
        raise InvalidArgument(
            f"{audits[0].subject.name} is not seeded: nobody could draw its blocks again, so its "
            "audit has neither checkpoints nor shards; run it in one process"
        )
    if audits[0].budget.seconds is not None:
        raise InvalidArgument(
            "a budget in seconds makes the number of draws depend on the machine, so that neither "
            "a checkpoint nor shards could go on from it; say trials=",
            keywords=("trials",),
        )
