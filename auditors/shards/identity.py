"""What an audit is: the text of its content, and the hash of that text.

Two runs of one identity draw the same blocks from the same streams wherever they run. What a run
may cost (trials, seconds, workers, engine, timeout) and where things lie is no part of it: trials
say how many of the blocks are drawn, and each block says by itself which one it is.
"""

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256

from ...mechanisms.model import Pair
from ..bounds import power
from ..outputs.encoding import canonical
from ..privacy import budget, judge
from ..privacy.verdicts import Audit
from ..sampling.fingerprint import fingerprint

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
    learnt = (budget.LEARNING, judge.FAR, judge.HOPELESS)
    early = (judge.EARLY_SHARE, judge.HASTY_SHARE)
    planned = (power.EARLY, power.LAST, *learnt, *early)
    constants = [dataclasses.astuple(p) if dataclasses.is_dataclass(p) else p for p in planned]
    return "rules " + blake2b(repr(constants).encode(), digest_size=8).hexdigest()
