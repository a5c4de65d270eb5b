"""What the pictures of one statement are drawn from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...auditors.claims.claim_results import ClaimResult
from ...auditors.sampling.draws import Draws
from ...mechanisms.model import Array, Claim, Database, Mechanism, Subject, Theorem


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A theorem at one setting, with the result of its check.

    `seed` names the streams of what is drawn for pictures only.
    """

    theorem: Theorem
    parameters: Mapping[str, float]
    result: ClaimResult
    subject: Subject
    seed: int

    @property
    def claim(self) -> Claim:
        """What is claimed."""
        return self.subject.claim

    @property
    def mechanism(self) -> Mechanism | None:
        """What it is claimed of."""
        return self.subject.mechanism

    def draw(self, database: Database, draws: int, run: Any = None, side: int = 0) -> Array:
        """Fresh outputs, on a stream that no check uses; of `run` if it is given.

        `side` tells the streams of two functions on one database apart.
        """
        if run is None:
            source = Draws.of(self.mechanism, self.seed)
        else:
            source = Draws(run=run, seed=self.seed, side=side)
        return source.array(database, "figure", 0, draws)


def columns_of(result: ClaimResult) -> Iterator[dict[str, Any]]:
    """The rows of a result's table as dictionaries."""
    if result.finding.table is not None:
        for row in result.finding.table.rows:
            yield dict(zip(result.finding.table.columns, row, strict=True))


def abridged(text: str, most: int = 60) -> str:
    """The text on one line of at most `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
