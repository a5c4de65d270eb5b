"""Audits with a book: kept in a checkpoint, drawn as a shard, or put together from shards."""

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from typing import Any

from ..engines import Book
from ..errors import InvalidArgument
from ..privacy.request import AuditRequest, Progress
from ..privacy.run import prepared, run_audit
from ..privacy.verdicts import Audit
from ..results.results import AuditResult
from .identity import Identity, identity_of
from .shard import Shard, ShardBook, ShardDrawn

Opening = Callable[[Identity], AbstractContextManager[Book]]


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
    booked.sampler.gate(refuted=True)
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
