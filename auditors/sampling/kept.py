"""Draws of the pair that is judged, kept while it is judged, so that no end of a run loses them.

Only of mechanisms whose calls are slow: draws of the others are made again sooner than read. They
are kept in the order of their streams, both sides as many, and up to the first draw that did not
come back. Which of them there are follows from when the run ended and from nothing else that the
draws say of each other, so `judge` can judge them: see docs/statistics.md, 3c.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...mechanisms.model import Pair, PrivacyClaim
from ..outputs.encoding import to_json
from ..workers.streams import Block

FORMAT = "dpwitness draws 1"
SLOW = 1e-3
"""Seconds of a call from which the draws of a mechanism are kept."""
MOST = 1 << 27
"""Characters that are kept; draws beyond them are not."""
Stream = tuple[str, int]
"""The stage and the chunk."""


@dataclass(slots=True)
class KeptLines:
    """What came back of the draws of one pair, each as a line of JSON; empty before `begin`."""

    pair: Pair | None = None
    claim: PrivacyClaim | None = None
    planned: dict[Stream, int] = field(default_factory=dict)
    """Draws a side that were asked of each stream, in the order in which they were asked."""
    lines: dict[tuple[str, int, int, int], list[str]] = field(default_factory=dict)
    """By stage, chunk, side and the number of the first."""
    size: int = 0

    def begin(self, pair: Pair, claim: PrivacyClaim) -> None:
        """Keep the draws of this pair from now on, and of no other; the claim is judged on it."""
        self.pair, self.claim = pair, claim

    def expect(self, pair: Pair, blocks: Sequence[Block]) -> None:
        """These blocks of the pair are drawn next."""
        if pair is self.pair:
            for block in blocks:
                stream = block.stage, block.chunk
                last = block.first + block.size
                self.planned[stream] = max(self.planned.get(stream, 0), last)

    def enter(self, pair: Pair, block: Block, returned: object) -> None:
        """What single calls returned, as plain data."""
        if pair is not self.pair or not isinstance(returned, list) or self.size > MOST:
            return
        lines = [json.dumps(one) for one in returned]
        self.size += sum(map(len, lines))
        self.lines[block.stage, block.chunk, block.side, block.first] = lines

    def pairs(self) -> list[tuple[str, str]]:
        """The outputs of both sides, in the order of their streams, up to the first missing."""
        found: list[tuple[str, str]] = []
        for (stage, chunk), planned in self.planned.items():
            one, two = (self._of(stage, chunk, side) for side in (0, 1))
            both = list(zip(one, two, strict=False))
            found += both
            if len(both) < planned:
                break
        return found

    def _of(self, stage: str, chunk: int, side: int) -> list[str]:
        found: list[str] = []
        while (more := self.lines.get((stage, chunk, side, len(found)))) is not None:
            found += more
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptDraws:
    """The draws of an audit that ended before its verdict, for `judge`.

    `pairs` are the outputs under the database and under its neighbour, each as JSON; `spent` is
    the error probability of the audit itself.
    """

    mechanism: str
    target: str
    claim: PrivacyClaim
    pair: Pair
    seed: int
    spent: float
    pairs: tuple[tuple[str, str], ...]

    def text(self) -> str:
        """The file: a line that says what it is, then a line [output, output] for each draw."""
        try:
            pair = to_json([self.pair.database, self.pair.neighbour])
        except Exception:  # noqa: BLE001 - a database of an odd type; the draws count without it
            pair = None
        head = {
            "format": FORMAT,
            "mechanism": self.mechanism,
            "target": self.target,
            "claim": {
                "epsilon": self.claim.epsilon,
                "delta": self.claim.delta,
                "distance": self.claim.steps,
            },
            "pair": pair,
            "seed": self.seed,
            "alpha_spent": self.spent,
        }
        lines = [json.dumps(head), *(f"[{one}, {two}]" for one, two in self.pairs)]
        return "\n".join(lines) + "\n"


Keeping = Callable[[KeptDraws], None]
"""Who is told of the draws of an audit that ended before its verdict."""
