"""The file of a shard: who it is a part of, what was asked, and its counts, with a check sum."""

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Annotated, Any, TypedDict

from msgspec import Meta

from ...auditors.engines.engine import versions
from ...auditors.errors import EvidenceFormatError, InvalidArgument
from ...auditors.evidence.record import TWO, RelationWord, Text, Whole, one_of
from ...auditors.shards.running import Identity
from ...auditors.shards.shard import BlockRow, Shard, ShardBook, blocks_in
from ..record import reading
from ..targets.targets import find_curve

FORMAT = "dpwitness shard"
VERSION = 1
"""The version of this format: a file of another one is not merged."""
LARGEST = 1 << 26
"""Bytes: the counts of some ten million blocks, 3e11 draws of a vectorised mechanism."""
LEAST_COUNTED = 1000
"""One draw of so many that are asked for must have been counted by the shards, beyond ALONE."""
ALONE = 10_000_000
"""Draws a side that merge makes itself for shards that counted nothing."""


class OptionsRecord(TypedDict, total=False):
    """What a shard's file keeps of the options that were typed, and all that is taken from one.

    They say which audit it is. Where and how draws are made is said by whoever merges.
    """

    epsilon: float
    delta: float
    mu: float
    rho: float
    renyi: Sequence[Text]
    curve: Sequence[Annotated[Sequence[float], TWO]]
    relation: RelationWord
    distance: Whole
    databases: Text
    pair: Annotated[Sequence[Annotated[str, Meta(max_length=LARGEST)]], TWO]
    trials: Whole
    precision: float | Annotated[str, one_of("none")]
    alpha: float
    seed: Whole
    claims: Annotated[str, one_of("all", "privacy")]
    attackers: Annotated[Sequence[Annotated[str, Meta(max_length=10)]], Meta(max_length=1)]
    exceptions: Annotated[str, one_of("error", "output")]
    histogram: bool
    exact: bool


class _Counted(TypedDict):
    """The counts of one claim."""

    planned: Whole
    rows: Sequence[Any]


class _Shard(TypedDict):
    """The file of a shard, without its check sum."""

    identity: Text
    content: Sequence[str]
    shard: Whole
    shards: Whole
    target: Text
    options: OptionsRecord
    versions: Mapping[str, Any]
    claims: Sequence[_Counted]


OPTIONS = frozenset(OptionsRecord.__annotations__)


def written(
    shard: Shard,
    identity: Identity,
    target: str,
    options: Mapping[str, object],
    books: Sequence[ShardBook],
) -> str:
    """The text of a shard's file."""
    data: dict[str, object] = {
        "format": FORMAT,
        "version": VERSION,
        "identity": identity.digest,
        "content": list(identity.lines),
        "shard": shard.number,
        "shards": shard.count,
        "target": target,
        "options": {
            # The points of a curve and not their file, which is somewhere else for a reader.
            key: find_curve(value) if key == "curve" else value
            for key, value in options.items()
            if key in OPTIONS
        },
        "versions": versions(),
        "claims": [book.to_json() for book in books],
    }
    data = json.loads(json.dumps(data))
    return json.dumps({**data, "checksum": _checksum(data)}, separators=(",", ":")) + "\n"


def read(path: str) -> dict[str, Any]:
    """What a shard's file says. Raises EvidenceFormatError, which names the file."""
    data = reading.load_document(path, "the file of a shard", LARGEST)
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
    try:
        _require(data)
    except (EvidenceFormatError, InvalidArgument) as error:
        raise EvidenceFormatError(f"{path!r}: {error}; draw the shard again") from None
    return data


def _require(data: dict[str, Any]) -> None:
    """Every field is of its kind; nothing but what is listed here is ever used."""
    reading.require(data, _Shard, "the shard")
    Shard(data["shard"], data["shards"])
    content = data["content"]
    if Identity(tuple(content)).digest != data["identity"]:
        raise EvidenceFormatError("its identity is not that of its content")
    for key in data["options"]:
        if key not in OPTIONS:
            raise EvidenceFormatError(
                f"options has {key!r:.60}, which is no part of an audit; give it to merge, which "
                "makes the runs"
            )
    if data["versions"] != versions():
        drawn, here = (_said(one) for one in (data["versions"], versions()))
        raise EvidenceFormatError(
            f"it was drawn with {drawn} and here is {here}, which may draw other bits; merge with "
            "the versions that the shards were drawn with"
        )


def _said(found: Mapping[str, object]) -> str:
    return ", ".join(f"{name!s:.20} {number!s:.20}" for name, number in list(found.items())[:5])


def require_counted(trials: int, draws: int) -> None:
    """InvalidArgument where nearly all of what the shards ask for would be drawn by the merge."""
    if trials > max(ALONE, LEAST_COUNTED * draws):
        raise InvalidArgument(
            f"the shards ask for {trials:,} runs per database and counted {draws:,}, so that "
            "nearly all of them would be made here; give the shards that counted them"
        )


def blocks_of(path: str, data: Mapping[str, Any]) -> Iterator[tuple[BlockRow, int, int]]:
    """The counts of all claims. Raises EvidenceFormatError, which names the file."""
    try:
        for claim in data["claims"]:
            yield from blocks_in(claim, data["shards"])
    except EvidenceFormatError as error:
        raise EvidenceFormatError(f"{path!r}: {error}; draw the shard again") from None


def _checksum(data: Mapping[str, object]) -> str:
    return sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
