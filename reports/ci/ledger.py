"""One alpha for a whole run: how it is shared out before anything is drawn, and Holm at the end.

Every audit decides alone at its share, so that no order, worker or early end changes a verdict;
the shares add up to at most alpha, so that by the union bound nothing sound fails the run with a
larger probability. Shares come from the weights of all collected tests, or from a committed lock
file, with which selecting some tests, splitting a run over machines or adding a test shifts
nobody's share: tests that the lock does not list live on its reserve. When a run is split over
machines each listed test is collected by one of them, so a machine that takes of the reserve the
part that its listed tests have of all listed weight takes nothing that another may take.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypedDict

from msgspec import Meta

from ...auditors.errors import EvidenceFormatError
from ...auditors.evidence.record import one_of
from ..record import reading

SCHEMA = "dpwitness-lock/1"


Weight = Annotated[float, Meta(gt=0, lt=1e12)]


class LockRecord(TypedDict):
    """The lock file: weights by name of test, and the weight kept for those not listed."""

    schema: Annotated[str, one_of(SCHEMA)]
    reserve: Weight
    tests: Mapping[str, Weight]


class LockError(ValueError):
    """A lock file that cannot be used, in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """Weights by name of test, and the weight kept for tests that are not listed."""

    weights: Mapping[str, float]
    reserve: float


def shares(
    weights: Mapping[str, float], alpha: float, lock: Lock | None = None
) -> dict[str, float]:
    """The share of `alpha` of every test named in `weights` that has one.

    Without a lock alpha is split by weight. With one, a listed test has its locked weight out of
    all locked weights and the reserve. The others split the reserve's part, as far as it belongs
    to the listed tests in `weights`: whatever way the tests are split over runs, the shares of all
    runs add up to at most `alpha`. Where no listed test is named, the others have no share.
    """
    if lock is None:
        total = sum(weights.values())
        return {name: alpha * weight / total for name, weight in weights.items()}
    listed = {name: lock.weights[name] for name in weights if name in lock.weights}
    every = sum(lock.weights.values())
    whole = every + lock.reserve
    found = {name: alpha * weight / whole for name, weight in listed.items()}
    new = {name: weight for name, weight in weights.items() if name not in listed}
    added = sum(new.values())
    part = alpha * (lock.reserve / whole) * (sum(listed.values()) / every) if listed else 0.0
    if part > 0:
        found |= {name: part * weight / added for name, weight in new.items()}
    return found


def holm(p_values: Mapping[str, float], shares: Mapping[str, float], alpha: float) -> set[str]:
    """Names rejected by the weighted Holm procedure, Holm (1979), with `shares` as weights.

    Contains every name whose p-value is at most its share. `shares` may add up to less than
    `alpha`; then the rest stays unspent.
    """
    total = min(alpha, sum(shares.values()))
    left = dict(shares)
    rejected: set[str] = set()
    while left:
        # Never below 1, where rounding would lose what a test rejected at its own share.
        scale = max(1.0, total / sum(left.values()))
        found = [name for name, share in left.items() if p_values[name] <= share * scale]
        if not found:
            break
        for name in found:
            rejected.add(name)
            del left[name]
    return rejected


def read_lock(path: Path) -> Lock | None:
    """The lock file, None where there is none; LockError when it is not one."""
    if not path.exists():
        return None
    try:
        data = reading.load_document(str(path), "a lock file")
        reading.require(data, LockRecord, "the lock file")
    except EvidenceFormatError as error:
        raise LockError(
            f"{path.name} is not a lock file of dpwitness ({error}); write it anew with "
            "pytest --dp-lock"
        ) from None
    return Lock(weights=data["tests"], reserve=data["reserve"])


def lock_text(weights: Mapping[str, float], reserve: float | None = None) -> str:
    """The lock file for these tests; the reserve is by default a fifth of their weight."""
    whole = sum(weights.values())
    data = {
        "schema": SCHEMA,
        "reserve": reserve if reserve is not None else max(whole / 5, 1.0),
        "tests": dict(sorted(weights.items())),
    }
    return json.dumps(data, indent=1) + "\n"
