"""What an audit asked and counted, as plain JSON data: the entries of `results` in evidence.

The evidence file, the witnesses that are kept, the gate, the history and the messages of pytest
all carry this one record; what a reader need not have is said by `NotRequired`. What follows from
it is worked out by `derive`, wherever it is wanted; a file tells it to other programs in its part
`findings`, which nothing here reads but to compare. Numbers are in nats; infinities, which JSON has
not, are "inf" and "-inf".

These types are the only statement of the shape. A reader checks a file of somebody else against
them, limits included (`reports.record.reading`), and the public JSON schema is generated from
them (`reports.record.evidence`), descriptions included.
"""

import re
from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import Annotated, Any, NotRequired, TypeAlias, TypedDict

from msgspec import Meta

from ...mechanisms.model import Relation
from ..results.results import Verdict
from ..sampling.calls import STAGES

SCHEMA = "dpwitness/2"
MOST_RESULTS, MOST_COUNTS = 10_000, 1000
"""Results, and claims of other kinds, that a file may have, and counts of one result."""
MOST_BATCHES, MOST_PARTS = 1000, 100
"""Batches of bets of one result, and as many partitions; parts that one batch bets on."""
MOST_ROWS = 10_000
"""Rows of what was counted of a claim of another kind than privacy."""
MOST_CELLS = 100
"""Cells that a file may have of one database of a comparison."""
LONGEST_TEXT = 20_000
"""Characters of a name or a target."""


def one_of(*words: str) -> Meta:
    """That a text is one of these words."""
    pattern = f"^({'|'.join(map(re.escape, words))})$"
    return Meta(pattern=pattern, extra_json_schema={"enum": list(words)})


Whole: TypeAlias = Annotated[int, Meta(ge=0)]
Text: TypeAlias = Annotated[str, Meta(max_length=LONGEST_TEXT)]
Number: TypeAlias = int | float | Annotated[str, one_of("inf", "-inf")]
"""A number, or "inf" or "-inf"."""
Size: TypeAlias = int | float | Annotated[str, one_of("inf", "-inf", "nan")]
"""A number of a claim of any kind, or "inf", "-inf" or "nan"."""
VerdictWord: TypeAlias = Annotated[str, one_of(*(one.value for one in Verdict))]
RelationWord: TypeAlias = Annotated[str, one_of(*(one.value for one in Relation))]
TWO = Meta(min_length=2, max_length=2)
"""Says of a list that it has two entries, such as one for each side."""
TwoWholes: TypeAlias = Annotated[Sequence[Whole], TWO]
Value: TypeAlias = Annotated[
    Any,
    Meta(
        description="Any value. Plain JSON stands for itself; other types are objects with one key "
        "that starts with a dollar sign."
    ),
]


def number(value: float) -> Number:
    """A JSON number; infinities, which JSON has not, as "inf" and "-inf"."""
    if isinstance(value, int):
        return int(value)
    exact = float(value)
    if isfinite(exact):
        return exact
    return {inf: "inf", -inf: "-inf"}.get(exact, "nan")


class CurveRecord(TypedDict, total=False):
    """The whole curve that is claimed, of a single step: mu, rho with a delta, renyi or points."""

    mu: float
    rho: float
    delta: float
    renyi: Annotated[
        Sequence[Annotated[Sequence[float], TWO]],
        Meta(min_length=1, description="Pairs of an order and its epsilon."),
    ]
    points: Annotated[
        Sequence[Annotated[Sequence[float], TWO]],
        Meta(min_length=1, description="Pairs of an epsilon and its delta."),
    ]


class StatedRecord(TypedDict):
    """The numbers of a privacy claim: with a curve the point of it that was judged."""

    epsilon: Annotated[Number, Meta(description="Nats, of a single step.")]
    delta: Number
    relation: RelationWord
    distance: Whole
    curve: NotRequired[CurveRecord]


class ClaimRecord(StatedRecord):
    """A privacy claim with its labels."""

    kind: Annotated[str, one_of("privacy")]
    identifier: NotRequired[str]
    statement: NotRequired[str]
    reference: NotRequired[str]


class PairRecord(TypedDict):
    """Two databases, in the order they were judged in.

    Of long ones the neighbour is {"$changed": {...}}: the database with records `start` to `start`
    + `gone` replaced by `come`; `digest` is that of the whole.
    """

    database: Value
    neighbour: Value


class EventRecord(TypedDict):
    """A set of outputs; `kind` says which fields it has besides."""

    kind: str
    description: NotRequired[str]


class CountRecord(TypedDict):
    """How often one event, fixed beforehand, happened on fresh draws.

    hits and trials are (database, neighbour) of the pair.
    """

    stage: Annotated[str, one_of(*sorted(STAGES))]
    chunk: Whole
    event: EventRecord
    reversed: Annotated[bool, Meta(description="Whether the neighbour is the likelier side.")]
    hits: TwoWholes
    trials: TwoWholes
    predicted: Number
    spread: Number
    rates: Annotated[Sequence[Number], TWO]
    attempt: Annotated[Whole, Meta(description="Counts of one attempt are of one event.")]
    cost: Annotated[
        Whole,
        Meta(description="Runs per database that the pair had cost by then, learning included."),
    ]
    level: Annotated[
        float | None,
        Meta(
            description="Error probability of the look at all counts of the attempt so far; null "
            "for no look."
        ),
    ]


class PartRecord(TypedDict):
    """A bet against a moment of a curve: weight times the values, one for each group.

    f holds it and g its conjugate; turned if the sides are exchanged.
    """

    order: float
    turned: bool
    weight: float
    values: Sequence[float]


class PartitionRecord(TypedDict):
    """A way to cut the outputs into cells; `kind` says which fields it has besides."""

    kind: Annotated[str, one_of("bins", "score", "event")]


class BatchRecord(TypedDict):
    """Draws a side on the stream that the stage "bet" and this chunk name, and what was bet."""

    chunk: Whole
    draws: Whole
    partition: Whole
    groups: Annotated[Sequence[Whole], Meta(description="The group of each cell of the partition.")]
    bet: Annotated[Sequence[float], TWO]
    f: Annotated[Sequence[float], Meta(description="What is bet on each group, of one side.")]
    g: Annotated[Sequence[float], Meta(description="What is bet on each group, of the other.")]
    counts: Annotated[
        Sequence[Sequence[Whole]], TWO, Meta(description="The draws of each side in each group.")
    ]
    parts: NotRequired[Annotated[Sequence[PartRecord], Meta(max_length=MOST_PARTS)]]


class BetsRecord(TypedDict):
    """Bets that refuted the claim: their wealth reached 1 / level.

    They give the bound of the look at the counts of the stage "bet", which show what they won on.
    docs/statistics.md says which f and g are bets.
    """

    level: float
    partitions: Annotated[Sequence[PartitionRecord], Meta(max_length=MOST_BATCHES)]
    batches: Annotated[Sequence[BatchRecord], Meta(max_length=MOST_BATCHES)]


class CountedRecord(TypedDict):
    """The integers that the bounds of one pair rest on, in the order they were counted."""

    counts: Annotated[Sequence[CountRecord], Meta(max_length=MOST_COUNTS)]
    bets: NotRequired[BetsRecord]


class EvidenceRecord(CountedRecord):
    """All counts of the pair. The levels of their looks and of the bets add up to at most alpha."""

    alpha: Annotated[float, Meta(description="The error probability of the whole audit.")]


class SmallerRecord(PairRecord, CountedRecord):
    """The smallest pair found that breaks the claim, with counts of its own."""

    trials: Annotated[Whole, Meta(description="Limit of its runs per database, learning included.")]


class ComparedRecord(TypedDict):
    """Hits of two events among the same draws, the side that each bounds first."""

    draws: Whole
    hits: TwoWholes
    before: Annotated[
        TwoWholes, Meta(description="Of the event learnt from about half the draws that teach.")
    ]


class LearningRecord(TypedDict):
    """Draws a side from which the last event was learnt."""

    draws: Whole
    compared: ComparedRecord | None
    noticed: Annotated[
        TwoWholes,
        Meta(
            description="Runs per database, and how often a value that one side never gives had "
            "to be among them to take the place of the event."
        ),
    ]


class SketchRecord(TypedDict):
    """Binned output frequencies of both sides, for a picture."""

    feature: str
    edges: Sequence[Number]
    labels: Sequence[str]
    counts: Annotated[Sequence[Sequence[Whole]], TWO]
    inside: Annotated[Sequence[bool], Meta(description="Which bins are in the event.")]


class ReachRecord(TypedDict):
    """What the search looked at: a fact about the search, not a verdict."""

    databases: Whole
    pairs: Whole
    smallest: Annotated[
        Whole | None,
        Meta(description="Records of the smallest database tried; null if none has a size."),
    ]
    largest: Whole | None
    unreached: Annotated[
        Sequence[str] | None,
        Meta(
            description="Lines of the mechanism that no run of the search executed; null if runs "
            "could not be followed."
        ),
    ]
    passed_over: NotRequired[
        Annotated[
            Whole,
            Meta(description="Examples of a strategy that lists them which were not run."),
        ]
    ]


class CauseLineRecord(TypedDict):
    """A line of the mechanism."""

    file: str
    line: Whole
    source: str
    reason: str


class CauseRecord(TypedDict):
    """Lines of the mechanism that spend the loss. A guide, not a verdict."""

    lines: Annotated[Sequence[CauseLineRecord], Meta(max_length=4)]
    summary: str
    accused: Annotated[
        bool,
        Meta(description="Whether a line breaks the claim; else the lines tell what hides what."),
    ]


class ExactRecord(TypedDict):
    """What the exact laws of the mechanism's code say of the claim, on the pairs of `scope`.

    They refute it if there is an event, and prove it on these pairs if there is none.
    """

    scope: Annotated[Text, Meta(description="The pairs that were checked, in words.")]
    pairs: Whole
    runs: Annotated[Whole, Meta(description="Runs of the mechanism.")]
    outcomes: Annotated[Whole, Meta(description="Different outputs.")]
    asked: Annotated[bool, Meta(description="Whether somebody asked for it.")]
    epsilon: Annotated[
        Number, Meta(description="The smallest that holds at the claimed delta on the worst pair.")
    ]
    delta: Annotated[
        Number, Meta(description="The largest excess of probability at the claimed epsilon.")
    ]
    tail: Annotated[
        Number, Meta(description="Probability of the paths that were not followed to their end.")
    ]
    pair: Annotated[PairRecord, Meta(description="The worst pair, the likelier side first.")]
    event: EventRecord | None
    chances: Annotated[
        Sequence[str],
        TWO,
        Meta(description="The exact probabilities of the event on both sides, as fractions."),
    ]


class PlanRecord(TypedDict):
    """How the draws were made: what the random streams depend on beside the seed."""

    trials: Whole
    block: Whole
    precision: NotRequired[
        Annotated[
            float | None,
            Meta(
                description="Part of itself to which the bound is wanted once refuted; null to "
                "stop at once, 0 for all trials."
            ),
        ]
    ]
    betting: NotRequired[
        Annotated[float, Meta(description="Part of the error probability that bets had.")]
    ]
    vectorised: NotRequired[bool]
    exceptions: NotRequired[str]
    domain: NotRequired[str]
    search: NotRequired[
        Annotated[
            str,
            one_of("own", "asked", "given"),
            Meta(
                description="Where the pair came from: own, a search that can be made again; "
                "asked, one that more was said about than the file holds; given, no search."
            ),
        ]
    ]


class ResultRecord(TypedDict):
    """What one audit was asked and what it counted."""

    mechanism: Annotated[Text, Meta(description="Its name, for people.")]
    target: Annotated[
        Text,
        Meta(
            description="What replay runs: a catalogue name, package.module:attribute or "
            "file.py:attribute. Empty when audited from Python."
        ),
    ]
    claim: ClaimRecord
    pair: PairRecord
    evidence: EvidenceRecord
    smaller: SmallerRecord | None
    learning: LearningRecord | None
    unread: Annotated[
        str, Meta(description="What of the outputs was compared only as text or not at all.")
    ]
    draws: Whole
    seed: Whole
    seconds: float
    seeded: bool
    remark: Annotated[str, Meta(description="What the audit has to say of its clock.")]
    types: NotRequired[
        Annotated[
            str, Meta(description="Why the types of the outputs break the claim, if they do.")
        ]
    ]
    sketch: SketchRecord | None
    plan: PlanRecord
    replay: Annotated[str, Meta(description="The shell command that counts again.")]
    source: NotRequired[
        Annotated[str, Meta(description="Fingerprint of the mechanism's source and bound values.")]
    ]
    reached: NotRequired[ReachRecord]
    cause: NotRequired[CauseRecord]
    exact: NotRequired[ExactRecord]
    not_exact: NotRequired[
        Annotated[str, Meta(description="Why the exact laws are not known, if asked for.")]
    ]


class PowerRecord(TypedDict):
    """An event of this probability, once found, would have been refuted with probability 0.9."""

    probability: Number
    epsilon: Number


class WitnessRecord(PairRecord):
    """The smallest pair found that breaks the claim, likelier database first, with its counts.

    It holds together with `epsilon_lower` of the finding. Exact laws count nothing.
    """

    event: EventRecord
    epsilon_lower: Number
    hits: TwoWholes | None
    trials: TwoWholes | None


class FindingRecord(TypedDict):
    """What follows from one entry of `results`, for other programs."""

    verdict: VerdictWord
    epsilon_lower: Annotated[
        Number,
        Meta(
            description="Lower bound on epsilon, the largest that any counts give; what the exact "
            "laws lose, if they refute."
        ),
    ]
    detectable_epsilon: Annotated[
        Number,
        Meta(description="The smallest epsilon that this run would have refuted with chance 0.9."),
    ]
    detectable_probability: Annotated[
        Number,
        Meta(
            description="The smallest probability of an output impossible under the other database "
            "that it would have seen."
        ),
    ]
    power: Sequence[PowerRecord]
    note: str
    hits: Annotated[TwoWholes, Meta(description="Of the look with the largest bound on the pair.")]
    trials: TwoWholes
    level: float
    decided_after: Annotated[
        Whole | None,
        Meta(
            description="Runs per database of this pair, learning included, up to the first look "
            "that refuted."
        ),
    ]
    growth: Annotated[
        Sequence[Annotated[Sequence[Number], TWO]],
        Meta(description="(runs per database, lower bound on epsilon)."),
    ]
    witness: WitnessRecord | None


class EstimateRecord(TypedDict):
    """A number that was set against a bound.

    The interval from low to high misses the truth with probability at most error.
    """

    value: Size
    low: Size
    high: Size
    error: Size


class TableRecord(TypedDict):
    """A table of what was found."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


class FoundRecord(TypedDict):
    """What was found of a claim of any kind."""

    verdict: VerdictWord
    claimed: Annotated[Any, Meta(description="The bound.")]
    measured: EstimateRecord | None
    exact: Any
    weak: Annotated[
        bool, Meta(description="Measured or exact value below a twentieth of the bound.")
    ]
    vacuous: NotRequired[
        Annotated[bool, Meta(description="Every mechanism keeps the bound: nothing can exceed it.")]
    ]
    sampled: VerdictWord | None
    proved: VerdictWord | None
    scope: Annotated[str, Meta(description="What an exact verdict covers.")]
    method: Annotated[str, Meta(description="How the numbers were found.")]
    note: str
    draws: Whole
    seconds: float
    seed: Whole
    alpha: Annotated[
        float,
        Meta(
            ge=0,
            description="Bounds the probability that sampling refutes this claim if it is true.",
        ),
    ]
    witness: Annotated[str | None, Meta(description="The counterexample in words.")]
    table: TableRecord | None


class CheckPlan(TypedDict):
    """What a claim of another kind was checked with, so that it can be checked again."""

    trials: Annotated[int, Meta(ge=1)]
    alpha: Annotated[float, Meta(gt=0, lt=1)]


class EdgeRecord(TypedDict):
    """The smallest constant that still holds on the hardest instance found."""

    share: Annotated[Size, Meta(description="Of the stated one; 1 is a bound that is attained.")]
    of: Annotated[
        str,
        Meta(
            description="What is made smaller: epsilon, delta, loss, chance, records, mean or "
            "quantity."
        ),
    ]
    method: str


class TailRecord(TypedDict):
    """How often a loss was bad on one database, where at most beta of the runs may be."""

    database: Text
    beta: Annotated[float, Meta(gt=0, lt=1)]
    bound: Size
    hits: Whole
    exact: float | None
    reached: Annotated[
        Size | None,
        Meta(
            description="The largest loss that more than beta of the runs reach, by the exact law "
            "if there is one."
        ),
    ]


class TailsRecord(TypedDict):
    """Counts of the bad losses of `draws` runs on each database, of so many rows each."""

    rows: Annotated[Sequence[TailRecord], Meta(min_length=1, max_length=MOST_ROWS)]
    databases: Annotated[
        Sequence[Annotated[int, Meta(ge=1)]],
        Meta(min_length=1, description="Rows of each database; those of one stand together."),
    ]
    draws: Annotated[int, Meta(ge=1, description="Runs on each database.")]
    needed: NotRequired[
        Annotated[Whole, Meta(description="How many of what is counted are said to be enough.")]
    ]
    counted: NotRequired[str]
    edge: NotRequired[EdgeRecord]


class MeanRecord(TypedDict):
    """A mean on one database, with a bound on each side; each is wrong at alpha's share."""

    database: Text
    mean: Size
    low: Size
    high: Size
    exact: Size | None
    draws: Whole
    stopped: Annotated[
        bool, Meta(description="Whether the bets against the claim won before the last run.")
    ]


class MeansRecord(TypedDict):
    """Means that are to be at most `bound`, of a quantity from `floor` to `ceiling`."""

    rows: Annotated[Sequence[MeanRecord], Meta(min_length=1, max_length=MOST_ROWS)]
    bound: float
    floor: Size
    ceiling: NotRequired[Size]


class PointRecord(TypedDict):
    """A mean at x with a bound on each side."""

    x: float
    bound: float
    mean: float
    low: float
    high: float


class PointsRecord(TypedDict):
    """Means of `draws` runs at each point, by which the exponent of their growth is fitted."""

    points: Annotated[Sequence[PointRecord], Meta(min_length=2, max_length=MOST_ROWS)]
    draws: Annotated[int, Meta(ge=1)]
    slack: float
    attained: bool
    grows: str
    over: str


class CellRecord(TypedDict):
    """Hits of one cell under the mechanism and under the other sampler."""

    cell: str
    hits: TwoWholes
    exact: Annotated[Sequence[float | None], TWO]


class CellsRecord(TypedDict):
    """All cells of one database; `distance` is the exact total variation if both laws are known."""

    database: Text
    cells: Annotated[Sequence[CellRecord], Meta(min_length=1, max_length=MOST_CELLS)]
    distance: float | None


class ComparisonsRecord(TypedDict):
    """Two samplers on the same cells, `draws` runs of each on each database, pilots included."""

    databases: Annotated[Sequence[CellsRecord], Meta(min_length=1, max_length=MOST_ROWS)]
    draws: Annotated[int, Meta(ge=1)]


class MarginRecord(TypedDict):
    """A case and its margin."""

    margin: Size
    case: Text


class MarginsRecord(TypedDict):
    """The least margins of `cases` cases; one below minus the tolerance is a counterexample."""

    worst: Annotated[Sequence[MarginRecord], Meta(min_length=1, max_length=MOST_ROWS)]
    cases: Whole
    tolerance: float
    low: Annotated[
        float | None, Meta(description="Set if the margin is a quantity less this bound.")
    ]
    high: Annotated[
        float | None, Meta(description="Set if the margin is this bound less a quantity.")
    ]
    method: Annotated[str, Meta(description="How the cases were found.")]


class IdentityRecord(TypedDict):
    """A number that is stated and what it comes out as."""

    stated: Size
    computed: Size
    tolerance: float


class VacuousRecord(TypedDict):
    """A chance of 1 or more, which every mechanism keeps: nothing was counted."""

    chance: Annotated[float, Meta(ge=1)]


class ClaimCountsRecord(TypedDict, total=False):
    """What was counted of a claim of another kind than privacy: one of these, and a remark."""

    tails: TailsRecord
    means: MeansRecord
    points: PointsRecord
    comparisons: ComparisonsRecord
    margins: MarginsRecord
    identity: IdentityRecord
    vacuous: VacuousRecord
    remark: str


class ClaimCheckRecord(TypedDict):
    """What was asked and counted of a claim of another kind than privacy."""

    mechanism: Text
    target: Text
    kind: str
    identifier: str
    statement: str
    reference: str
    plan: CheckPlan
    seed: Whole
    seconds: Annotated[float, Meta(ge=0)]
    evidence: ClaimCountsRecord


class ClaimFindingRecord(FoundRecord):
    """What follows from the counts of one of the claims, for programs that read no counts."""

    headline: Annotated[str, Meta(description="The verdict in a sentence.")]


class Document(TypedDict):
    """What audits of differential-privacy claims found.

    Readers ignore fields that they do not know; the gate and the estimate add a part of their own.
    """

    schema: Annotated[str, one_of(SCHEMA)]
    results: Annotated[Sequence[ResultRecord], Meta(max_length=MOST_RESULTS)]
    findings: NotRequired[
        Annotated[
            Sequence[FindingRecord],
            Meta(description="What follows from each of the results, in their order."),
        ]
    ]
    environment: Mapping[str, str]
    claims: NotRequired[Annotated[Sequence[ClaimCheckRecord], Meta(max_length=MOST_RESULTS)]]
    claim_findings: NotRequired[
        Annotated[
            Sequence[ClaimFindingRecord],
            Meta(description="What follows from each of the claims, in their order."),
        ]
    ]
