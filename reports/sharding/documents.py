"""The file of a shard: who it is a part of, what was asked, and its counts, with a check sum."""

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from ...auditors.engines.clusters import versions
from ...auditors.errors import EvidenceFormatError
from ...auditors.shards.counts import Row
from ...auditors.shards.identity import Identity
from ...auditors.shards.shard import Shard, ShardBook, blocks_in
from .. import files
from ..record import reading

FORMAT = "dpwitness shard"
VERSION = 1
LARGEST = 1 << 26
"""Bytes: the counts of some ten million blocks, 3e11 draws of a vectorised mechanism."""


def written(
    shard: Shard,
    identity: Identity,
    target: str,
    options: Mapping[str, Any],
    books: Sequence[ShardBook],
) -> str:
    """The text of a shard's file."""
    data: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "identity": identity.digest,
        "content": list(identity.lines),
        "shard": shard.number,
        "shards": shard.count,
        "target": target,
        "options": dict(options),
        "versions": versions(),
        "claims": [book.to_json() for book in books],
    }
    return json.dumps({**data, "checksum": _checksum(data)}, separators=(",", ":")) + "\n"


def read(path: str) -> dict[str, Any]:
    """What a shard's file says. Raises EvidenceFormatError, which names the file."""
    data = reading.parse_json(files.read_limited(path, LARGEST), repr(path))
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise EvidenceFormatError(
            f"{path!r} is not the file of a shard; expected what `dpwitness audit --shard i/n "
            "--json FILE` writes"
        )
    if data.get("version") != VERSION:
        raise EvidenceFormatError(
            f"{path!r} was written by another version of dpwitness; draw the shard again"
        )
    said = data.pop("checksum", None)
    if said != _checksum(data):
        raise EvidenceFormatError(
            f"{path!r} was edited or damaged: its check sum does not fit; draw the shard again"
        )
    kinds = {"identity": str, "content": list, "shard": int, "shards": int, "target": str,
             "options": dict, "claims": list}  # fmt: skip
    for key, kind in kinds.items():
        if not isinstance(data.get(key), kind):
            raise EvidenceFormatError(f"{path!r} has no usable {key!r}; draw the shard again")
    return data


def blocks_of(path: str, data: Mapping[str, Any]) -> Iterator[tuple[Row, int, int]]:
    """The counts of all claims. Raises EvidenceFormatError, which names the file."""
    try:
        for claim in data["claims"]:
            yield from blocks_in(claim)
    except EvidenceFormatError as error:
        raise EvidenceFormatError(f"{path!r}: {error}; draw the shard again") from None


def _checksum(data: Mapping[str, Any]) -> str:
    return sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
