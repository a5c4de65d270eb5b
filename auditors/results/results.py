"""What an audit asked and counted, and its result: what `evidence.derive` works out from that."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from html import escape
from math import floor, inf, isfinite, nan
from typing import Any

from ...mechanisms.model import Database, Pair, PrivacyClaim, size_lower
from ..bounds.wealth import Bet
from ..events.events import Event, Partition
from ..outputs.encoding import show

UNKNOWN = "unknown"
"""What a plan says its calls draw (`rng`) if they could not be asked, or time was up."""


class Verdict(StrEnum):
    """What an audit may say. Sampling never proves privacy, so nothing ever "passes"."""

    REFUTED = "refuted"
    NOT_REFUTED = "not_refuted"
    INCONCLUSIVE = "inconclusive"
    PROVED = "proved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How often one event, fixed beforehand, happened on fresh draws from both sides.

    `hits` and `trials` are (database, neighbour) of the pair as judged; `reversed` is True when
    the inequality under test bounds the neighbour's probability by the database's. `predicted`
    and `spread` are the log-ratio foreseen from earlier draws and its standard error, `rates` the
    probabilities foreseen (likelier side first); the weight of this count follows from them.
    `stage` and `chunk` name the random stream. `attempt` numbers the events that were counted,
    `cost` is how many draws a side the pair had cost by then, those that taught included, and
    `level` the error probability of the look at all counts of this attempt so far; None for none.
    """

    stage: str
    chunk: int
    event: Event
    reversed: bool
    hits: tuple[int, int]
    trials: tuple[int, int]
    predicted: float = inf
    spread: float = 0.0
    rates: tuple[float, float] = (0.5, 0.5)
    attempt: int = 0
    cost: int = 0
    level: float | None = None

    @property
    def oriented(self) -> "Count":
        """The same count with the side that is bounded from above first."""
        if not self.reversed:
            return self
        return replace(self, hits=self.hits[::-1], trials=self.trials[::-1], reversed=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look at the hits of an event that was fixed before: two plain binomial counts.

    `hits` of `trials` are those of the side whose probability the claim bounds, then of the other.
    `level` is the error probability spent on this look and `epsilon_lower` the bound it gives
    (nats, of a single step). `draws` is how many draws a side the pair had cost by then, those
    that taught included; `attempt` numbers the events, which looks of one attempt share.
    """

    attempt: int
    draws: int
    hits: tuple[int, int]
    trials: tuple[int, int]
    level: float
    epsilon_lower: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Fresh draws that were bet on: `draws` a side, on the stream named by "bet" and `chunk`.

    All else was fixed before: the number of the `partition`, the group of each of its cells,
    `groups`, and the `bet` on these. `counts` are the draws of each side in each group.
    """

    chunk: int
    draws: int
    partition: int
    groups: tuple[int, ...]
    bet: Bet
    counts: tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bets:
    """Bets that refuted a claim: their wealth reached 1 / `level`."""

    level: float
    partitions: tuple[Partition, ...]
    batches: tuple[Batch, ...]

    @property
    def of_moments(self) -> bool:
        """Whether moments of a curve were bet against, beside a point of it."""
        return any(batch.bet.parts for batch in self.batches)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The integers the bound of one pair rests on, and the looks at them.

    `counts` are the parts in which one event was counted, up to the look that gives the bound:
    their sums are the hits and trials of that look, and `level` its error probability. `alpha` is
    that of the whole audit. `looks` are all looks at this pair; their levels add up to at most
    alpha, so that their bounds hold together. `decided_after` is the number of draws a side
    after which the claim was refuted, or None. Where `bets` refuted it, they give the bound of the
    first look, whose counts, of the event learnt last, show what they won on. That bound is the
    claimed epsilon; of a curve it stands for the curve, which is refuted, and not for its point.
    """

    counts: tuple[Count, ...]
    alpha: float
    level: float
    looks: tuple[Look, ...] = ()
    decided_after: int | None = None
    bets: Bets | None = None

    @property
    def hits(self) -> tuple[int, int]:
        """Hits of all parts, the side that is bounded from above first."""
        first, second = zip(*(count.oriented.hits for count in self.counts), strict=True)
        return sum(first), sum(second)

    @property
    def trials(self) -> tuple[int, int]:
        """Trials of all parts, in the same order."""
        first, second = zip(*(count.oriented.trials for count in self.counts), strict=True)
        return sum(first), sum(second)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Witness:
    """Two neighbouring databases, an event too much likelier under the first, and its counts.

    `epsilon_lower` is the bound that `evidence` gives on this pair.
    """

    database: Database
    neighbour: Database
    event: Event
    epsilon_lower: float = -inf
    evidence: Evidence | None = None

    def __str__(self) -> str:
        """The event, and a line for each database with its counts."""
        event, one, two = self._lines()
        return f"event  {event}\nD      {one}\nD'     {two}"

    def __repr__(self) -> str:
        """The same in a line."""
        event, one, two = self._lines()
        return f"<witness: {event}: {one}; {two}>"

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        return f"<pre>{escape(str(self))}</pre>"

    def _lines(self) -> tuple[str, str, str]:
        """The event, and each database with its counts, without what could steer a terminal."""
        one, two = show(self.database), show(self.neighbour)
        if self.evidence is not None and self.evidence.counts:
            counts = zip(self.evidence.hits, self.evidence.trials, strict=True)
            first, second = (f" in {hits:,} of {trials:,} runs" for hits, trials in counts)
            one, two = one + first, two + second
        safe = (
            "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
            for text in (self.event.describe(), one, two)
        )
        event, one, two = safe
        return event, one, two


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """How settled the event is that was counted last.

    It was learnt from `draws` a side. `compared` are (draws a side, its hits, the hits of the event
    learnt from about half of them), hits on the same counted draws, the side that each event
    bounds first; None if there is no other event. `noticed` are (draws, hits): how often a value
    that one side never gives had to be seen among how many draws to take the event's place.
    """

    draws: int
    compared: tuple[int, tuple[int, int], tuple[int, int]] | None = None
    noticed: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """Binned output frequencies of the two sides on one feature, for a picture.

    The sides are those of the result's `pair`; for a refutation the likelier comes first.

    `edges` has one more entry than the counts for a numeric feature and is empty for a
    categorical one, whose bins are named by `labels`. `inside` marks the bins in the event.
    """

    feature: str
    edges: tuple[float, ...]
    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], tuple[int, ...]]
    inside: tuple[bool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a search looked at.

    `databases` and `pairs` are how many different ones ran; `smallest` and `largest` the sizes
    of databases that have one, None where they have none. `unreached` are lines of the mechanism's
    own Python code that no run of the search executed, as "release.py lines 31-34"; it is None
    where runs could not be followed. `passed_over` are examples of a strategy that lists its pairs
    or databases which the draws did not suffice to run.
    """

    databases: int
    pairs: int
    smallest: int | None
    largest: int | None
    unreached: tuple[str, ...] | None
    passed_over: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseLine:
    """A line of the mechanism's source (`file`, and `line` from 1) and what happens on it."""

    file: str
    line: int
    source: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Which lines spend the privacy loss of a pair: a guide, and never a verdict.

    There are at most four, the likeliest cause first; `summary` says what is known of them
    together. Unless `accused`, they tell which noise hides what, and break nothing as far as is
    known.
    """

    lines: tuple[CauseLine, ...]
    summary: str
    accused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactResult:
    """What the exact laws of the mechanism's own code say of a claim, on the pairs of `scope`.

    The laws are enumerated by `tape`, in `runs` runs of the mechanism over `outcomes` different
    outputs. `epsilon` (nats, of a single step) is the smallest that holds at the claimed delta on
    the worst of the `pairs`, and `delta` the largest excess of probability at the claimed epsilon,
    with the `tail` of paths that were not followed. `pair` is the worst one, the likelier side
    first; of a refutation `event` is a set of outputs that breaks the claim and `chances` are its
    probabilities, as fractions. `asked` says that somebody asked for it, and `drawn` is what the
    draws alone said, a verdict and a bound, which follows from their counts.
    """

    scope: str
    pairs: int
    runs: int
    outcomes: int
    asked: bool
    epsilon: float
    delta: float
    tail: float
    pair: Pair
    event: Event | None
    chances: tuple[str, str]
    drawn: tuple[Verdict, float] = (Verdict.INCONCLUSIVE, -inf)

    @property
    def verdict(self) -> Verdict:
        """Refuted if there is an event that breaks the claim, and else proved on these pairs."""
        return Verdict.PROVED if self.event is None else Verdict.REFUTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Smaller:
    """The smallest pair found that breaks the claim, with all counts of its own.

    `trials` limited its draws a side, learning included.
    """

    pair: Pair
    trials: int
    judged: tuple[Count, ...]
    bets: Bets | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AuditFacts:
    """What one audit was asked and what it counted: all that evidence holds.

    The `claim` of a curve is at the point that was judged. `pair` is the worst pair found and
    `judged` all its counts, in the order they were made; `bets` are those that refuted the claim.
    `smaller` is the smallest pair that refuted it too. `alpha` is the error probability of the
    whole audit, `plan` how the draws were made. `draws` counts all mechanism outputs drawn,
    searching included. `source` is the fingerprint of the mechanism, empty where it has none.
    `remark` and `types` are what the audit has to say of its clock and of the types of the outputs.
    `unread` says which outputs were compared only as text or not at all; `learning` how settled the
    event was, where a last attempt was made. `reached` says what the search looked at; it is None
    where the pair was given. `cause` names lines of the mechanism, if that was asked for. `exact`
    is what the exact laws say, where the mechanism's code could be enumerated, and `not_exact` why
    they are not known, where they were asked for.
    """

    mechanism: str
    target: str
    claim: PrivacyClaim
    pair: Pair
    draws: int
    seed: int
    seconds: float
    alpha: float = 0.0
    judged: tuple[Count, ...] = ()
    bets: Bets | None = None
    smaller: Smaller | None = None
    seeded: bool = True
    remark: str = ""
    types: str = ""
    sketch: Sketch | None = None
    plan: dict[str, Any] = field(default_factory=dict)
    source: str = ""
    learning: Learning | None = None
    unread: str = ""
    reached: Reach | None = None
    cause: Cause | None = None
    exact: ExactResult | None = None
    not_exact: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AuditResult(AuditFacts):
    """The outcome of auditing one claim: what was counted, and what `evidence.derive` makes of it.

    `epsilon_lower` (nats, of a single step, or of this very pair at the delta of a curve's point)
    is a lower bound: the mechanism's smallest true epsilon at the claimed delta is at least this,
    except with probability `evidence.alpha`. It is the largest that any counts here give, those of
    `pair` or those of `witness`; -inf where they say nothing. `evidence` is that of `pair`.
    `witness` is the smallest pair found that breaks the claim, with counts of its own; both bounds
    hold together except with that probability. `worst` is the pair with the larger one.

    `power` lists (probability, epsilon), the likeliest first: an event that one database gives with
    this probability, once found, would have been refuted with probability 0.9 at this epsilon. One
    entry is for probability 1/2 (more where delta is large), one for the event counted last, with
    `detectable_epsilon`. `detectable_probability` is the smallest probability of a value
    impossible under the other database that would have been seen and refuted. `gain` (nats) is by
    how much the log-ratio of the event counted last exceeds that of the event learnt from about
    half its draws: what the last doubling brought, and a rough guide to what more would bring; NaN
    where it cannot be told. All of these are for claims not refuted; nothing is said about power
    where outputs were not read.

    `growth` lists (draws a side, epsilon_lower) as evidence came in. A claim that exact laws refute
    is refuted, with `epsilon_lower` what their worst pair loses; `drawn_lower` is what the
    draws give. One that they prove is proved on the pairs that `exact.scope` names.
    """

    verdict: Verdict
    epsilon_lower: float
    detectable_epsilon: float
    detectable_probability: float
    witness: Witness | None
    evidence: Evidence
    note: str = ""
    growth: tuple[tuple[int, float], ...] = ()
    power: tuple[tuple[float, float], ...] = ()
    gain: float = nan

    @property
    def worst(self) -> Witness | None:
        """The pair with the largest bound, its event and counts; None where nothing is counted."""
        if self.by_law:
            return self.witness
        if not self.evidence.counts:
            return None
        if self.witness is not None and self.witness.epsilon_lower >= self.drawn_lower:
            return self.witness
        pair = self.likelier_first
        return Witness(
            database=pair.database,
            neighbour=pair.neighbour,
            event=self.evidence.counts[-1].event,
            epsilon_lower=self.drawn_lower,
            evidence=self.evidence,
        )

    @property
    def drawn_lower(self) -> float:
        """The bound that the draws give: `epsilon_lower`, if no exact law raised it."""
        return self.epsilon_lower if self.exact is None else self.exact.drawn[1]

    @property
    def likelier_first(self) -> Pair:
        """`pair` in the order that the counts speak of: the side that the claim bounds first."""
        counts = self.evidence.counts
        return self.pair.reversed() if counts and counts[-1].reversed else self.pair

    @property
    def size_lower(self) -> float:
        """The lower bound in the claim's own parameter: epsilon, or mu, rho or a factor of a curve.

        Of a curve it follows from `epsilon_lower` at the claim's delta, and holds with it.
        """
        claim = self.claim
        if claim.curve is None:
            return self.epsilon_lower
        return size_lower(claim.curve, self.epsilon_lower, claim.delta, claim.distance)

    @property
    def refuted_exactly(self) -> bool:
        """Whether the exact laws refute the claim; the draws may do so too."""
        return self.exact is not None and self.exact.verdict is Verdict.REFUTED

    @property
    def by_law(self) -> bool:
        """Whether the exact laws refute the claim, and no draws do."""
        drawn = self.exact.drawn[0] if self.exact is not None else self.verdict
        return self.refuted and drawn is not Verdict.REFUTED

    @property
    def refuted(self) -> bool:
        """Whether the claim is refuted."""
        return self.verdict is Verdict.REFUTED

    def __repr__(self) -> str:
        """The verdict in a line."""
        claim = f"epsilon {self.claim.epsilon:g}"
        if self.claim.delta:
            claim += f", delta {self.claim.delta:g}"
        if self.claim.curve is not None:
            claim = f"{self.claim.curve} at {claim}"
        said = f"<{self.mechanism}: {claim} {self.verdict.value}"
        if self.exact is not None and self.verdict is Verdict.PROVED:
            return f"{said} on {self.exact.scope}>"
        if self.exact is not None and self.refuted_exactly:
            return f"{said}, epsilon = {self.exact.epsilon:.4g}>"
        if self.refuted and self.claim.curve is not None:
            return f"{said}, {self.claim.curve.parameter} >= {self.size_lower:.4g}>"
        if self.refuted:
            bound, claimed = self.epsilon_lower, self.claim.epsilon
            # Bets may refute although no event by itself gives a bound above the claim.
            down = f"{floor(1000 * bound) / 1000:g}" if isfinite(bound) else f"{bound}"
            shown = f">= {down}" if bound > claimed else f"> {claimed:.4g}"
            return f"{said}, epsilon {shown}>"
        if self.detectable_epsilon == inf:
            return f"{said}>"
        return f"{said}, once found, epsilon >= {self.detectable_epsilon:.4g} would have shown>"
