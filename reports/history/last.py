"""What the last run that is recorded had found of a test, read before another run is added."""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ...auditors.errors import DpWitnessError
from .entry import stated
from .places import is_on_network
from .schema import digest
from .store import NAME, open_store


@dataclass(frozen=True, slots=True)
class Last:
    """The newest audit of one test: its verdict, its bound (nats) and the digest of its claim."""

    verdict: str
    epsilon_lower: float
    claim: str

    def of_claim(self, claim: Mapping[str, object]) -> bool:
        """Whether it was of this claim."""
        return self.claim == digest(json.dumps(stated(claim), sort_keys=True))


def last_of(directory: Path) -> dict[str, Last] | None:
    """The newest audit of each test; None if it is not known, as the history cannot be read.

    It is a remark for readers: what is wrong with a history is said when the run is recorded. On
    a network file system, where the runs are lines that must all be read, it is left out.
    """
    with suppress(DpWitnessError, sqlite3.Error, OSError):
        if is_on_network(directory):
            return None
        if not (directory / NAME).is_file():
            return {}
        store = open_store(directory)
        try:
            found = store.connection.execute(
                "SELECT test, verdict, epsilon_lower, claim FROM audits WHERE sequence IN "
                "(SELECT max(sequence) FROM audits GROUP BY test)"
            ).fetchall()
        finally:
            store.close()
        return {test: Last(*values) for test, *values in found}
    return None
