"""From one result to the rows of the store, as plain JSON."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...auditors.evidence.pairs import pair_record
from ...auditors.evidence.write import claim_record, number
from ...auditors.results.results import AuditResult, Count
from .schema import COLUMNS, digest, now

STATED = ("epsilon", "delta", "relation", "distance", "curve")
LONGEST = 200_000
"""Characters of a definition that are kept; of a longer one only the digest is."""


def entries_of(
    run: str,
    results: Sequence[AuditResult],
    tests: Sequence[str],
    version: str,
) -> tuple[dict[str, Any], ...]:
    """One entry for each result: its audit, its counts and the texts behind their digests.

    `tests` names the test of each result. Tests of several results get a number each, so the
    same results give the same keys.
    """
    recorded = now()
    made, seen = [], dict[str, int]()
    for result, test in zip(results, tests, strict=True):
        seen[test] = seen.get(test, 0) + 1
        name = numbered(test, seen[test])
        made.append(_entry(run, name, result, recorded, version))
    return tuple(made)


def numbered(test: str, number: int) -> str:
    """The name of one result of a test, `number` counted from 1."""
    return test if number == 1 else f"{test} ({number})"


def stated(claim: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a claim that tells it apart."""
    return {key: value for key, value in claim.items() if key in STATED}


def _entry(
    run: str, test: str, result: AuditResult, recorded: str, version: str
) -> dict[str, object]:
    definitions: dict[str, str] = {}

    def defined(data: object) -> str:
        text = json.dumps(data, sort_keys=True)
        name = digest(text)
        if len(text) <= LONGEST:
            definitions[name] = text
        return name

    claim = defined(stated(claim_record(result.claim)))
    pair = defined(pair_record(result.pair))
    counts = [
        row
        for count in result.judged
        if count.stage == "attempt"
        for row in _sides(run, test, pair, defined(count.event.to_json()), count)
    ]
    audit = {
        "run": run,
        "test": test,
        "recorded": recorded,
        "claim": claim,
        "alpha": result.alpha,
        "draws": result.draws,
        # A mechanism that ignores its generator has no seed that could repeat its draws.
        "seed": str(result.seed) if result.seeded else "",
        "source": result.source,
        "version": version,
        "evidence": evidence_digest(counts),
        "mechanism": result.mechanism,
        "target": result.target,
        "verdict": result.verdict.value,
        "epsilon_lower": number(result.epsilon_lower),
        "detectable_epsilon": number(result.detectable_epsilon),
        "seconds": round(result.seconds, 3),
        "note": result.note,
    }
    return {"audit": audit, "counts": counts, "definitions": definitions}


def _sides(run: str, test: str, pair: str, event: str, count: Count) -> list[dict[str, object]]:
    rates = count.rates[:: -1 if count.reversed else 1]
    return [
        {
            "run": run,
            "test": test,
            "pair": pair,
            "event": event,
            "side": side,
            "chunk": count.chunk,
            "hits": count.hits[side],
            "trials": count.trials[side],
            "rate": rates[side],
            "reversed": int(count.reversed),
        }
        for side in (0, 1)
    ]


def evidence_digest(counts: Sequence[Mapping[str, object]]) -> str:
    """The digest of the counts of one audit, whatever order they come in."""
    return digest(sorted([row[name] for name in COLUMNS["counts"]] for row in counts))


def checked(data: Any) -> dict[str, Any]:
    """The entry if it is one; KeyError, TypeError or ValueError if not."""
    audit, counts, definitions = data["audit"], data["counts"], data["definitions"]
    for row, table in [(audit, "audits"), *((row, "counts") for row in counts)]:
        for name in COLUMNS[table]:
            row[name]
    if evidence_digest(counts) != audit["evidence"]:
        raise ValueError("the counts are not those of the audit")
    if any(digest(text) != name for name, text in definitions.items()):
        raise ValueError("a definition is not the one its digest names")
    return {"audit": audit, "counts": counts, "definitions": definitions}
