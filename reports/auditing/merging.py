"""What `dpwitness tools fingerprint` and `merge` do, apart from reading their options."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count as count_from
from itertools import filterfalse, islice
from typing import Any

from ...auditors.engines import Book
from ...auditors.errors import HarnessError, InvalidArgument
from ...auditors.shards import checkpoint as checkpoints
from ...auditors.shards import running
from ...auditors.shards.running import Identity
from ...auditors.shards.shard import Collected, Shard
from ..formats import table
from ..sharding import documents
from ..sharding.options import engine_of
from ..shell.console import Console
from ..targets import targets
from ..writing.terminal import printable
from .commands import asked, audit, shared_out

Ask = Callable[[str], bool]
Head = Mapping[str, Any]
"""What the file of a shard says, checked when it was read, without its counts."""


def identify(console: Console, target: str, options: Mapping[str, object]) -> int:
    """Print the identity of the audit that these words ask for."""
    given = {key: value for key, value in options.items() if value not in (None, ())}
    engine_of(given)
    for name in ("checkpoint", "shard", "explain"):
        given.pop(name, None)
    found, request = asked(target, given)
    attackers, _ = shared_out(found, request)
    if "clock" in attackers:
        raise InvalidArgument(
            "what a clock measures is no function of the seed, so its audit has no identity"
        )
    for attacker in attackers:
        seen = targets.seen_by(attacker, found)
        identity = running.identify(seen.mechanism, **request, name=seen.name)
        if not console.quiet:
            console.say(identity.text)
        console.say(identity.digest)
    return 0


def merge(
    console: Console,
    shards: Sequence[str],
    *,
    target: str | None,
    databases: str | None,
    workers: int | None,
    timeout: float | None,
    checkpoint: str | None,
    paths: Mapping[str, str | None],
    github: bool,
    ask: Ask | None,
) -> int:
    """Collect the counts of the shards, run the audit on them, tell and write; the status.

    Of the files come the identity, the options that are part of it, and the counts: nothing in
    them says where or how this machine draws. `target` and `databases` are what the user allows to
    be run; `ask` puts a question to the user. `checkpoint` keeps what is drawn here.
    """
    table.require_places(paths)
    collected = Collected()
    reference = _collect(console, collected, shards)
    wanted = dict(reference["options"])
    documents.require_counted(wanted.get("trials", 0), collected.counts.draws)
    text = reference["target"]
    if target is not None or ":" in text or targets.program_of(text):  # else of the catalogue
        text = _allowed(text, target, "target", ask)
    if "databases" in wanted:
        wanted["databases"] = _allowed(wanted["databases"], databases, "databases", ask)
    wanted |= {"workers": workers, "timeout": timeout}
    for name in ("pair", "attackers"):
        if name in wanted:
            wanted[name] = tuple(wanted[name])
    split = any(claim.get("rows") for claim in reference["claims"]) or len(collected.counts) > 0

    @contextmanager
    def book(identity: Identity) -> Iterator[Book]:
        if identity.digest != reference["identity"]:
            raise InvalidArgument(
                "the shards are of another audit than this machine would make: "
                f"{identity.differences(reference['content'])}; use the mechanism and the versions "
                "that the shards were drawn with"
            )
        with ExitStack() as stack:
            if checkpoint is not None:
                opened = checkpoints.opened(checkpoint, identity, console.warn)
                collected.inner = stack.enter_context(opened)
            yield collected
        if split and not collected.used:
            raise HarnessError(
                "the shards counted another event or pair than this machine learns from the same "
                "seed, so their counts were not used; install the versions of dpwitness, numpy and "
                "scipy that the shards were drawn with"
            )

    return audit(console, text, wanted, paths=paths, github=github, book=book)


def _collect(console: Console, collected: Collected, paths: Sequence[str]) -> Head:
    """Enter all files; the first one of the audit that most are of, without its counts."""
    heads = [_head(path) for path in paths]
    (common, _), *_ = Counter(_audit_of(head) for head in heads).most_common(1)
    reference = next(head for head in heads if _audit_of(head) == common)
    foreign = [
        f"{path!r} ({_foreign(head, reference)})"
        for path, head in zip(paths, heads, strict=True)
        if _audit_of(head) != common
    ]
    if foreign:
        raise InvalidArgument(
            f"not all files are shards of one audit: {'; '.join(foreign[:8])}; leave out what does "
            "not belong, or draw it again"
        )
    for path in paths:
        data = documents.read(path)
        shard = Shard(data["shard"], data["shards"])
        before = collected.sources.get(shard)
        collected.add(shard, repr(path), documents.blocks_of(path, data))
        if before is not None:
            console.warn(f"shard {shard} was given twice, in {before} and {path!r}; counted once")
    missing = _absent(collected.sources)
    if missing and not len(collected.counts):
        raise InvalidArgument(f"shards {', '.join(missing[:12])} are missing; give all files")
    return reference


def _head(path: str) -> Head:
    """A shard's file without its counts, so that thousands fit in memory."""
    data = documents.read(path)
    return {**data, "claims": [{"rows": bool(claim.get("rows"))} for claim in data["claims"]]}


def _audit_of(head: Head) -> tuple[str, str]:
    """What all shards of one audit share."""
    return head["identity"], json.dumps(_options(head), sort_keys=True)


def _options(head: Head) -> dict[str, object]:
    """The options of a shard; where the file of the databases lies is each machine's own."""
    options = dict(head["options"])
    return {**options, "databases": "given"} if "databases" in options else options


def _foreign(head: Head, reference: Head) -> str:
    own = Identity(tuple(reference["content"]))
    if head["identity"] != own.digest:
        return printable(own.differences(head["content"])).replace("this audit has", "most have")
    options, most = _options(head), _options(reference)
    name = next(key for key in [*options, *most] if options.get(key) != most.get(key))
    said, wanted = (printable(str(one.get(name, "as by default"))) for one in (options, most))
    return f"it has {name} {said:.60} where most have {wanted:.60}"


def _absent(sources: Mapping[Shard, str]) -> list[str]:
    """The first dozen shards that are not there; there may be said to be any number of them."""
    return [
        str(shard)
        for count in sorted({shard.count for shard in sources})
        for shard in islice(
            filterfalse(sources.__contains__, (Shard(n, count) for n in count_from(1))),
            min(12, count - sum(shard.count == count for shard in sources)),
        )
    ]


def _allowed(recorded: str, typed: str | None, what: str, ask: Ask | None) -> str:
    """What may be run in the place of what a file names: what the user says."""
    if typed is not None:
        return typed
    if ask is not None and ask(recorded):
        return recorded
    raise InvalidArgument(
        f"the shards name {recorded!r}, which would be run or read; say that it may be with "
        f"--{what} {recorded}"
    )
