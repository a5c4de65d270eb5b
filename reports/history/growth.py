"""The evidence accumulated after each recorded audit: `auditors.accumulate` over the store.

Evidence adds up over the audits of one mechanism name, one source and one claim: one version of
the code. What is kept here follows from the chained rows and has a chain of its own.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from ...auditors.errors import EvidenceFormatError, InvalidArgument
from ...auditors.privacy.accumulate import (
    Capital,
    FixedCount,
    capital_from_json,
    carried,
    epsilon_lower,
    log_wealth,
    start,
)
from ...mechanisms.model import PrivacyClaim, Relation, curve_from_json
from .schema import digest, row_digest

REPEATED = "repeated seed"
UNKNOWN_SOURCE = "unknown source"


def grow(connection: sqlite3.Connection) -> int:
    """Add every recorded audit that is not in the evidence yet, in order; how many there were.

    In the transaction that recorded them, so that no audit is ever without its row.
    """
    added = 0
    while row := _next_audit(connection):
        _add(connection, row)
        added += 1
    return added


def _next_audit(connection: sqlite3.Connection) -> Mapping[str, object] | None:
    (last,) = connection.execute("SELECT coalesce(max(sequence), 0) FROM capital").fetchone()
    names = ("sequence", "run", "test", "mechanism", "source", "claim", "seed", "digest")
    row = connection.execute(
        f"SELECT {', '.join(names)} FROM audits WHERE sequence > ? ORDER BY sequence LIMIT 1",
        (last,),
    ).fetchone()
    return dict(zip(names, row, strict=True)) if row else None


def _add(connection: sqlite3.Connection, audit: Mapping[str, Any]) -> None:
    key = digest([audit["mechanism"], audit["source"], audit["claim"]])
    capital, remark = _latest(connection, key) or _beginning(connection, audit["claim"]), ""
    if capital is None:
        remark = "unknown claim"
    elif not audit["source"]:
        remark = UNKNOWN_SOURCE
    else:
        try:
            capital = carried(
                capital, _bets(connection, audit["run"], audit["test"]), seed=audit["seed"]
            )
        except InvalidArgument:
            remark = REPEATED
    figures = (log_wealth(capital), epsilon_lower(capital)) if capital else (0.0, float("-inf"))
    state = json.dumps(capital.to_json()) if capital else ""
    said = (key, int(not remark), remark, *figures)
    head = connection.execute("SELECT digest FROM capital ORDER BY sequence DESC LIMIT 1")
    (previous,) = head.fetchone() or ("",)
    link = capital_digest(previous, audit["sequence"], audit["digest"], said, digest(state))
    # Only the newest state of a key is ever read.
    connection.execute(
        "UPDATE capital SET state = '' WHERE sequence = "
        "(SELECT max(sequence) FROM capital WHERE key = ?)",
        (key,),
    )
    connection.execute(
        "INSERT INTO capital (sequence, key, counted, remark, log_wealth, epsilon_lower, state, "
        "state_digest, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (audit["sequence"], *said, state, digest(state), link),
    )


def capital_digest(
    previous: str, sequence: int, audit: str, said: Sequence[Any], state: str
) -> str:
    """The link of one row of `capital`: over the one before it, its audit and all it says."""
    return row_digest(previous, sequence, [audit, *said, state])


def _latest(connection: sqlite3.Connection, key: str) -> Capital | None:
    row = connection.execute(
        "SELECT state, state_digest FROM capital WHERE key = ? ORDER BY sequence DESC LIMIT 1",
        (key,),
    ).fetchone()
    if row is None or row == ("", digest("")):
        return None
    if digest(row[0]) != row[1]:
        raise EvidenceFormatError(
            "the evidence accumulated in the history was changed after it was written, so nothing "
            "is added to it; `dpwitness history` names the row"
        )
    try:
        return capital_from_json(json.loads(row[0]))
    except ValueError as error:
        raise EvidenceFormatError(
            f"the evidence accumulated in the history cannot be read ({error!r:.80}), so nothing "
            "is added to it"
        ) from None


def _beginning(connection: sqlite3.Connection, claim: str) -> Capital | None:
    row = connection.execute("SELECT text FROM definitions WHERE digest = ?", (claim,)).fetchone()
    if row is None:
        return None
    data = json.loads(row[0])
    return start(
        PrivacyClaim(
            epsilon=float(data["epsilon"]),
            delta=float(data["delta"]),
            relation=Relation(data["relation"]),
            distance=int(data["distance"]),
            curve=curve_from_json(data["curve"]) if "curve" in data else None,
        )
    )


def _bets(connection: sqlite3.Connection, run: str, test: str) -> list[FixedCount]:
    """The judged counts of one audit in the order they were made, likelier side first."""
    rows = connection.execute(
        "SELECT first.pair, first.event, first.reversed, first.hits, first.trials, first.rate, "
        "second.hits, second.trials, second.rate FROM counts AS first JOIN counts AS second "
        "USING (run, test, pair, event, chunk) "
        "WHERE run = ? AND test = ? AND first.side = 0 AND second.side = 1 ORDER BY chunk",
        (run, test),
    )
    bets = []
    for pair, event, turned, *figures in rows:
        one, two = figures[:3], figures[3:]
        if turned:
            one, two = two, one
        bets.append(
            FixedCount(
                place=f"{pair} {event} {turned}",
                hits=(one[0], two[0]),
                trials=(one[1], two[1]),
                rates=(one[2], two[2]),
            )
        )
    return bets
