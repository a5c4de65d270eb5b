"""What a pytest run knows of its audits: one alpha shared out, the records, and the last words.

The gate shares out its alpha in the same way, so nothing of pytest is here.

Every audit decides alone at its share, so that no order, worker or early end changes a verdict;
the shares add up to at most alpha, so that by the union bound nothing sound fails the run with a
larger probability. Shares come from the weights of all collected tests, or from a committed lock
file, with which selecting some tests, splitting a run over machines or adding a test shifts
nobody's share: tests that the lock does not list live on its reserve. When a run is split over
machines each listed test is collected by one of them, so a machine that takes of the reserve the
part that its listed tests have of all listed weight takes nothing that another may take. At the
end Holm's procedure over all records adds what no audit could refute alone.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import Meta

from ...auditors.errors import EvidenceFormatError
from ...auditors.evidence.record import Number, ResultRecord, one_of
from ..record import reading
from ..settings.settings import Settings
from ..writing.terminal import one_line, wrapped

SCHEMA = "dpwitness-lock/1"


Weight = Annotated[float, Meta(gt=0, lt=1e12)]
PROPERTY = "dpwitness"
"""The user property of a test that carries the records of its audits to the controller."""
WORDS = {"refuted": "REFUTED", "not_refuted": "not refuted", "inconclusive": "inconclusive",
         "proved": "proved"}  # fmt: skip
OLD_WITNESS = {
    "holds": "the witness of an earlier run still holds",
    "changed": "the code changed and the witness of an earlier run no longer holds: retired",
    "below": "the witness of an earlier run now shows less than the claim: retired",
    "unreadable": "the witness of an earlier run cannot be read: retired",
    "kept": "the witness of an earlier run was not confirmed this time; the code is the same, "
    "so it is kept",
}


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


class Line(TypedDict):
    """What the controller tells of one audit, also a property of the JUnit file."""

    number: int
    mechanism: str
    claim: str
    verdict: str
    epsilon_lower: Number
    bound: str
    claimed: float
    detectable_epsilon: Number
    draws: int
    seconds: float
    alpha: float
    p_value: float
    seed: int
    target: str
    note: str
    old_witness: str
    scope: NotRequired[str]


@dataclass(slots=True)
class Run:
    """What one pytest process knows of the run.

    `records`, `crashed` and `raised` grow in the controller.
    """

    settings: Settings
    seed: int
    refusal: str = ""
    report: Path | None = None
    lock: Lock | None = None
    weights: dict[str, float] = field(default_factory=dict)
    records: dict[tuple[str, int], Line] = field(default_factory=dict)
    crashed: list[str] = field(default_factory=list)
    raised: list[str] = field(default_factory=list)
    added: set[tuple[str, int]] = field(default_factory=set)
    history: list[tuple[str, ResultRecord]] = field(default_factory=list)
    told: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Share:
    """What one test may spend: its part of alpha, the audits it announced, its own budget."""

    alpha: float
    audits: int
    budget: Mapping[str, object]


Records = Mapping[tuple[str, int], Line]


def added_by_holm(records: Records, alpha: float) -> set[tuple[str, int]]:
    """Audits that were not refuted alone but are by Holm's procedure over the whole run."""
    named = {f"{test} {number}": (test, number) for test, number in records}
    p_values = {name: records[key]["p_value"] for name, key in named.items()}
    shares = {name: records[key]["alpha"] for name, key in named.items()}
    found = holm(p_values, shares, alpha)
    return {named[name] for name in found if records[named[name]]["verdict"] == "not_refuted"}


def summary_lines(run: Run, width: int) -> list[tuple[str, str]]:
    """(line, verdict) for every audit, ordered by test."""
    lines = []
    for key, record in sorted(run.records.items()):
        verdict = "refuted" if key in run.added else record["verdict"]
        lines.append((_told_line(key[0], record, verdict, width), verdict))
        if key in run.added:
            lines.append(("    by Holm's procedure over the run: give it more draws", verdict))
        if record["old_witness"]:
            lines.append((f"    {OLD_WITNESS[record['old_witness']]}", verdict))
        if record["note"] and verdict in ("inconclusive", "not_refuted", "proved"):
            note = wrapped(one_line(record["note"]), width, "    ", "    ")
            lines += [(line, verdict) for line in note]
    for test in sorted(set(run.raised) & run.weights.keys()):
        lines.append(
            (f"no result     {one_line(test)}: it failed before an audit ended", "crashed")
        )
    for test in sorted(set(run.crashed)):
        if not run.weights or test in run.weights:
            lines.append(
                (f"no result     {one_line(test)}: the worker died while it ran", "crashed")
            )
    return lines


def _told_line(test: str, record: Line, verdict: str, width: int) -> str:
    bound = record["bound"]
    if verdict == "refuted" != record["verdict"]:  # by all audits of the run together
        bound = f"epsilon > {record['claimed']:.4g}"
    bound = "no privacy loss found" if bound == "none" else bound
    seen = record["detectable_epsilon"]
    power = (
        f", would detect a loss of {seen:.3g}"
        if isinstance(seen, float) and verdict != "refuted"
        else ""
    )
    if scope := record.get("scope", ""):
        power = f", only here: {one_line(scope)}"
    figures = f"{bound}{power}, {record['draws']:,} runs, {record['seconds']:.1f} s"
    line = f"{WORDS[verdict]:<13} {one_line(record['mechanism'])}, {record['claim']}: {figures}"
    name = one_line(test.rpartition("/")[2])
    return f"{line}  {name}" if len(line) + len(name) + 2 <= width else f"{line}\n    {name}"


def write_summary(reporter: Any, run: Run) -> None:
    """Write the section at the end of pytest's output."""
    width = reporter._tw.fullwidth
    spent = sum(record["alpha"] for record in run.records.values())
    reporter.section("differential privacy", sep="=")
    colours = {"refuted": {"red": True}, "crashed": {"red": True}, "inconclusive": {"yellow": True}}
    for line, verdict in summary_lines(run, width):
        reporter.write_line(line, **colours.get(verdict, {}))
    for sentence in run.told:
        reporter.write_line(one_line(f"history: {sentence}"))
    reporter.write_line(
        f"alpha {run.settings.alpha:g} for all audits, {spent:.3g} used by these; seed {run.seed}, "
        f"profile {run.settings.profile}, {run.settings.budget}. Not refuted is not proved."
    )
