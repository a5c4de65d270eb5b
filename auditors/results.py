"""What an audit returns: the verdict, the witness and the evidence behind both."""

from dataclasses import dataclass, field, replace
from enum import Enum
from html import escape
from math import inf
from typing import Any

from ..mechanisms.model import Database, PrivacyClaim
from .events.events import Event

__all__ = [
    "AuditResult",
    "Count",
    "Evidence",
    "Pair",
    "Reach",
    "Sketch",
    "Verdict",
    "Witness",
]


class Verdict(Enum):
    """What an audit may say. Sampling never proves privacy, so nothing ever "passes"."""

    REFUTED = "refuted"
    NOT_REFUTED = "not_refuted"
    INCONCLUSIVE = "inconclusive"
    PROVED = "proved"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbouring databases."""

    database: Database
    neighbour: Database

    def reversed(self) -> "Pair":
        """The same two databases in the other order."""
        return Pair(self.neighbour, self.database)


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How often one event, fixed beforehand, happened on fresh draws from both sides.

    `hits` and `trials` are (database, neighbour) of the pair as judged; `reversed` is True when
    the inequality under test bounds the neighbour's probability by the database's. `predicted`
    and `spread` are the log-ratio foreseen from earlier draws and its standard error, `rates` the
    probabilities foreseen (likelier side first); the weight of this count follows from them.
    `stage` and `chunk` name the random stream.
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

    @property
    def oriented(self) -> "Count":
        """The same count with the side that is bounded from above first."""
        if not self.reversed:
            return self
        return replace(self, hits=self.hits[::-1], trials=self.trials[::-1], reversed=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The integers a verdict rests on; every other number can be recomputed from them.

    `counts` are the chunks that decided, `level` is the error probability spent on the bound
    they give, `alpha` that of the whole audit. `decided_after` is the number of draws a side
    after which the e-process alone had refuted the claim, or None. `log_wealth` is its largest
    logarithm (natural).
    """

    counts: tuple[Count, ...]
    alpha: float
    level: float
    log_wealth: float = 0.0
    decided_after: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """Two neighbouring databases and an event that is too much likelier under the first."""

    database: Database
    neighbour: Database
    event: Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """Binned output frequencies of the two sides on one feature, for a picture.

    For a refutation the sides are those of the witness, likelier first, else those of the pair.

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
    where runs could not be followed.
    """

    databases: int
    pairs: int
    smallest: int | None
    largest: int | None
    unreached: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AuditResult:
    """The outcome of auditing one claim.

    `epsilon_lower` (nats, of a single step) is a lower bound: the mechanism's smallest true
    epsilon at the claimed delta is at least this, except with probability `evidence.alpha`. It is
    -inf where no draw says anything. `detectable_epsilon` is the smallest epsilon that
    this run would have refuted with probability 0.9 on `pair`, and `detectable_probability` the
    smallest probability of an output impossible under the other database that it would have
    seen. `growth` lists (draws a side, epsilon_lower) as evidence came in. `draws` counts all
    mechanism outputs drawn, searching included. `judged` are the counts of the judged draws
    whatever became of the claim, for evidence that accumulates; `source` is the fingerprint of
    the mechanism, empty where it has none. `reached` says what the search looked at; it is None
    where the pair was given.
    """

    mechanism: str
    target: str
    claim: PrivacyClaim
    verdict: Verdict
    epsilon_lower: float
    detectable_epsilon: float
    detectable_probability: float
    pair: Pair
    witness: Witness | None
    evidence: Evidence
    draws: int
    seed: int
    seconds: float
    seeded: bool = True
    note: str = ""
    growth: tuple[tuple[int, float], ...] = ()
    sketch: Sketch | None = None
    plan: dict[str, Any] = field(default_factory=dict)
    judged: tuple[Count, ...] = ()
    source: str = ""
    reached: Reach | None = None

    @property
    def refuted(self) -> bool:
        """Whether the claim is refuted."""
        return self.verdict is Verdict.REFUTED

    def __repr__(self) -> str:
        """The verdict in a line."""
        claim = f"epsilon {self.claim.epsilon:g}"
        if self.claim.delta:
            claim += f", delta {self.claim.delta:g}"
        said = f"<{self.mechanism}: {claim} {self.verdict.value}"
        if self.refuted:
            return f"{said}, epsilon >= {self.epsilon_lower:.4g}>"
        return f"{said}, could have seen epsilon >= {self.detectable_epsilon:.4g}>"

    def _repr_html_(self) -> str:
        """The same line for a notebook, coloured by the verdict."""
        colour = "#b3261e" if self.refuted else "#44546a"
        return f'<span style="color:{colour}"><code>{escape(repr(self))}</code></span>'
