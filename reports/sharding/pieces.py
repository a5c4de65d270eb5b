"""An audit that is kept in a checkpoint, or of which one shard is drawn."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ...auditors.errors import InvalidArgument
from ...auditors.shards import checkpoint as checkpoints
from ...auditors.shards import running
from ...auditors.shards.shard import Shard
from ..shell.console import UNUSABLE, Console, save
from . import documents
from .environment import shard_of


def shard_for(text: str, paths: Mapping[str, str | None]) -> Shard:
    """The shard that was asked for; InvalidArgument where its counts have no place to go."""
    found = shard_of(text, os.environ)
    others = [name for name, path in paths.items() if path is not None and name != "json"]
    if others:
        raise InvalidArgument(
            f"a shard has no verdict to write to --{others[0]}; give it to dpwitness tools merge"
        )
    if paths.get("json") is None:
        raise InvalidArgument("a shard writes its counts to a file; name it with --json FILE")
    return found


def require_one_attacker(attackers: Sequence[str]) -> None:
    """InvalidArgument where an audit cannot be kept or split, because of who looks."""
    if len(attackers) > 1 or "clock" in attackers:
        raise InvalidArgument(
            "checkpoints and shards are of one attacker, values, bits or types: what a clock "
            "measures is no function of the seed; run the others by themselves, with their part of "
            "alpha"
        )


def opening(console: Console, path: str) -> running.Opening:
    """The checkpoint at `path`, opened once the identity of the audit is known."""
    return lambda identity: checkpoints.opened(path, identity, console.warn)


def draw(
    console: Console,
    shard: Shard,
    mechanism: Any,
    request: Mapping[str, object],
    *,
    given: Mapping[str, object],
    target: str,
    path: str,
    checkpoint: str | None,
) -> int:
    """Draw a shard, write its counts, say so; the exit status.

    `request` is what `audit_claims` takes, `given` what was typed.
    """
    identity, books = running.draw_shard(
        shard,
        mechanism,
        inner=opening(console, checkpoint) if checkpoint else None,
        progress=console.progress,
        **request,
    )
    text = documents.written(shard, identity, target, given, books)
    if not save(console, path, text, ".json"):
        return UNUSABLE
    drawn = sum(book.counts.draws for book in books)
    blocks, planned = sum(len(book.counts) for book in books), sum(book.planned for book in books)
    if not console.quiet:
        console.say(
            f"Shard {shard}: {drawn:,} draws counted in {blocks:,} of {planned:,} blocks, kept in "
            f"{path}. Nothing is judged before dpwitness tools merge has all shards."
        )
    return 0
