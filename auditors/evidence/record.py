"""The shape of a result as plain JSON data: the entries of `results` in an evidence file.

The evidence file, the witnesses that are kept, the gate, the history and the messages of pytest
all carry this one record; what a reader need not have is said by `NotRequired`. Numbers are in
nats; infinities, which JSON has not, are "inf" and "-inf". The public schema of the whole file is
`reports/record/dpwitness-1.schema.json`.
"""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypeAlias, TypedDict

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
"""Plain data that JSON can write."""
Number: TypeAlias = int | float | str
"""A number, or "inf" or "-inf"."""


class ClaimRecord(TypedDict):
    """A privacy claim; `epsilon` is of a single step, or with a `curve` a point of it."""

    kind: str
    epsilon: Number
    delta: Number
    relation: str
    distance: int
    identifier: NotRequired[str]
    statement: NotRequired[str]
    reference: str
    curve: NotRequired[Mapping[str, Json]]


class PairRecord(TypedDict):
    """Two databases in the form of `encoding.to_json`."""

    database: Json
    neighbour: Json


class CountRecord(TypedDict):
    """A `Count`: the hits of one event on one stream."""

    stage: str
    chunk: int
    event: Mapping[str, Json]
    reversed: bool
    hits: Sequence[int]
    trials: Sequence[int]
    predicted: Number
    spread: Number
    rates: Sequence[Number]


class LookRecord(TypedDict):
    """A `Look`."""

    attempt: int
    draws: int
    hits: Sequence[int]
    trials: Sequence[int]
    level: float
    epsilon_lower: Number


class PartRecord(TypedDict):
    """A `Part` of a bet."""

    order: float
    turned: bool
    weight: float
    values: Sequence[float]


class BatchRecord(TypedDict):
    """A `Batch`."""

    chunk: int
    draws: int
    partition: int
    groups: Sequence[int]
    bet: Sequence[float]
    f: Sequence[float]
    g: Sequence[float]
    counts: Sequence[Sequence[int]]
    parts: NotRequired[Sequence[PartRecord]]


class BetsRecord(TypedDict):
    """A `Bets`."""

    level: float
    partitions: Sequence[Mapping[str, Json]]
    batches: Sequence[BatchRecord]


class EvidenceRecord(TypedDict):
    """An `Evidence`; `hits` and `trials` are sums of its counts."""

    hits: Sequence[int]
    trials: Sequence[int]
    alpha: float
    level: float
    decided_after: int | None
    counts: Sequence[CountRecord]
    looks: Sequence[LookRecord]
    bets: NotRequired[BetsRecord]


class WitnessRecord(PairRecord):
    """A `Witness`; its event has a `description` in words besides."""

    event: Mapping[str, Json]
    epsilon_lower: Number
    evidence: EvidenceRecord | None


class PowerRecord(TypedDict):
    """The smallest epsilon that would have been refuted for an event of this probability."""

    probability: Number
    epsilon: Number


class LearningRecord(TypedDict):
    """A `Learning`; `gain` is None where it cannot be told."""

    draws: int
    gain: Number | None


class SketchRecord(TypedDict):
    """A `Sketch`."""

    feature: str
    edges: Sequence[Number]
    labels: Sequence[str]
    counts: Sequence[Sequence[int]]
    inside: Sequence[bool]


class ReachRecord(TypedDict):
    """A `Reach`."""

    databases: int
    pairs: int
    smallest: int | None
    largest: int | None
    unreached: Sequence[str] | None
    passed_over: NotRequired[int]


class CauseLineRecord(TypedDict):
    """A `CauseLine`."""

    file: str
    line: int
    source: str
    reason: str


class CauseRecord(TypedDict):
    """A `Cause`."""

    lines: Sequence[CauseLineRecord]
    summary: str
    accused: bool


class DrawnRecord(TypedDict):
    """What the draws alone said."""

    verdict: str
    epsilon_lower: Number


class ExactRecord(TypedDict):
    """An `ExactResult`; `chances` are fractions as text, `event` has its description besides."""

    verdict: str
    scope: str
    pairs: int
    runs: int
    outcomes: int
    asked: bool
    epsilon: Number
    delta: Number
    tail: Number
    pair: PairRecord
    event: Mapping[str, Json] | None
    chances: Sequence[str]
    drawn: DrawnRecord


class PlanRecord(TypedDict):
    """How the draws were made: what a replay needs."""

    trials: int
    block: int
    precision: NotRequired[float | None]
    betting: NotRequired[float]
    vectorised: NotRequired[bool]
    exceptions: NotRequired[str]
    domain: NotRequired[str]
    search: NotRequired[str]


class JudgedRecord(TypedDict):
    """A result without what is for pictures and pages: what the history keeps."""

    mechanism: str
    target: str
    claim: ClaimRecord
    verdict: str
    epsilon_lower: Number
    detectable_epsilon: Number
    detectable_probability: Number
    power: Sequence[PowerRecord]
    learning: LearningRecord | None
    unread: str
    pair: PairRecord
    evidence: EvidenceRecord
    draws: int
    seed: int
    seconds: float
    seeded: bool
    note: str
    plan: PlanRecord
    replay: str
    source: str
    judged: NotRequired[Sequence[CountRecord]]
    reached: NotRequired[ReachRecord]
    exact: NotRequired[ExactRecord]
    not_exact: NotRequired[str]


class ResultRecord(JudgedRecord):
    """An `AuditResult`."""

    witness: WitnessRecord | None
    growth: Sequence[Sequence[Number]]
    sketch: SketchRecord | None
    cause: NotRequired[CauseRecord]


class CheckPlan(TypedDict):
    """What a claim of another kind was checked with; the seed stands beside it."""

    trials: int
    alpha: float


class ClaimCheckRecord(TypedDict):
    """What was found of a claim of another kind than privacy; `story` are lines (label, text)."""

    mechanism: str
    target: str
    kind: str
    identifier: str
    verdict: str
    draws: int
    seconds: float
    seed: int
    claimed: Number
    headline: str
    bound_words: str
    found_words: str
    scope: NotRequired[str]
    story: Sequence[Sequence[str]]
    plan: NotRequired[CheckPlan]


class Document(TypedDict):
    """An evidence file; the gate and the estimate add a part of their own."""

    schema: str
    results: Sequence[ResultRecord]
    environment: Mapping[str, str]
    claims: NotRequired[Sequence[ClaimCheckRecord]]
