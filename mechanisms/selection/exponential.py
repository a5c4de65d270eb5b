"""Selecting one of finitely many candidates, and the exponential mechanism that does it.

The candidates are fixed before the data is seen, a score says how good each is on a database, and
only the index of the one selected is released. `Selection` is what all such mechanisms share:
noise, regret, claims. The exponential mechanism is that of McSherry and Talwar (2007), its
theorems are numbered as in Dwork and Roth (2014).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, exp, log
from typing import NotRequired, Required, TypedDict, Unpack

import numpy as np

from .._checks import require_positive, sample_shape
from ..accounting.privacy_loss import least_distance
from ..model import (
    Array,
    Choices,
    Claim,
    ConcentratedCurve,
    Database,
    Domain,
    FiniteLaw,
    Histogram,
    Interval,
    Mechanism,
    Output,
    PrivacyClaim,
    Product,
    Relation,
    Rows,
    Size,
    UtilityClaim,
)
from ..queries import column_totals, counts, histogram, revenue

ROUNDING = 1e-9
"""By so much a level is raised, so that its bound is reached by the number that it was made of."""


def noise_scale(*, sensitivity: float, epsilon: float, monotone: bool = False) -> float:
    """Scale of the noise on scores, 2 sensitivity / epsilon, and half of it when `monotone`.

    Scores are monotone when adding a record never lowers one of them. The saving is for
    add-remove only. Raises ValueError on a parameter that is not positive.
    """
    require_positive(sensitivity=sensitivity, epsilon=epsilon)
    return (1 if monotone else 2) * sensitivity / epsilon


def scaled_scores(
    scores: Array, *, sensitivity: float, epsilon: float, monotone: bool = False
) -> Array:
    """Scores in units of `noise_scale`, as floats of the same shape."""
    scale = noise_scale(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    return np.asarray(scores, dtype=float) / scale


def candidate_law(
    database: Database,
    *,
    score: Callable[[Database], Array],
    log_probabilities: Callable[..., Array],
    sensitivity: float,
    epsilon: float,
    monotone: bool = False,
) -> FiniteLaw:
    """Exact law of the index that a mechanism selects.

    `log_probabilities(scores, *, sensitivity, epsilon, monotone)` gives one per candidate.
    """
    scores = np.asarray(score(database), dtype=float)
    logs = log_probabilities(scores, sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    return FiniteLaw(outcomes=np.arange(scores.size), log_probabilities=logs)


def _multiplied(database: Database, *, score: Callable[[Database], Array], unit: float) -> Array:
    return unit * np.asarray(score(database), dtype=float)


class SelectorKeywords(TypedDict):
    """The keywords of a sampler."""

    score: Callable[[Database], Array]
    sensitivity: float
    epsilon: float
    monotone: NotRequired[bool]


class RegretFields(TypedDict, total=False):
    """What a claim of the regret may say beside its loss and its bound."""

    levels: tuple[float, ...]
    databases: tuple[Database, ...]
    identifier: str
    statement: str
    reference: str


class SelectorFields(TypedDict, total=False):
    """How a mechanism is called, and by whom it is."""

    name: Required[str]
    identifier: str
    reference: str


class ScoreFields(TypedDict, total=False):
    """What is said of the scores of a selection."""

    sensitivity: float
    monotone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What is selected from: how good each candidate is on a database, and on which databases.

    `score` maps a database to one number per candidate, shape (candidates,); no entry moves by
    more than `sensitivity` between neighbours under `relation`. `monotone` says that adding a
    record never lowers a score, which halves the noise that is needed, under add-remove only.
    `ahead`, where given, makes a database on which the first candidate leads all others, which
    are alike, by so many points: there a bound on the regret is hardest to keep.
    Raises ValueError on a sensitivity that is not positive, and on monotone scores under another
    relation.
    """

    score: Callable[[Database], Array]
    candidates: int
    relation: Relation
    databases: Domain
    sensitivity: float = 1.0
    monotone: bool = False
    ahead: Callable[[int], Database] | None = None

    def __post_init__(self) -> None:
        """Reject parameters under which no claim would hold."""
        require_positive(sensitivity=self.sensitivity)
        if self.monotone and self.relation is not Relation.ADD_REMOVE:
            raise ValueError(f"monotone must be False under {self.relation.value}, got True")

    def times(self, unit: float) -> "Selection":
        """The same with every score, and the sensitivity, `unit` times as large."""
        ahead = self.ahead
        return replace(
            self,
            score=partial(_multiplied, score=self.score, unit=unit),
            sensitivity=unit * self.sensitivity,
            ahead=None if ahead is None else lambda points: ahead(ceil(points / unit)),
        )

    def given(self, epsilon: float) -> SelectorKeywords:
        """The keywords of a sampler that selects with `epsilon` nats of privacy."""
        given: SelectorKeywords = {
            "score": self.score, "sensitivity": self.sensitivity, "epsilon": epsilon
        }  # fmt: skip
        if self.monotone:
            given["monotone"] = True
        return given

    def law(self, log_probabilities: Callable[..., Array], epsilon: float) -> Callable[..., Output]:
        """The exact law of the index selected; see `candidate_law`."""
        return partial(candidate_law, log_probabilities=log_probabilities, **self.given(epsilon))

    def regret_claim(
        self,
        epsilon: float,
        *,
        tail: Callable[[float], float] = lambda distance: exp(-distance),
        ties: bool = False,
        **described: Unpack[RegretFields],
    ) -> UtilityClaim:
        """P[regret >= scale x] <= candidates tail(x), with the scale of one noise.

        The regret is how far the score of the selected candidate lies below the greatest score,
        and `tail` the chance to select one candidate so many scales behind; with the usual one the
        bound is scale ln(candidates / beta). With `ties` the claim is stronger: candidates /
        (candidates with the greatest score) stands in place of candidates. `described` are other
        fields of the claim.
        """
        scale = noise_scale(sensitivity=self.sensitivity, epsilon=epsilon, monotone=self.monotone)

        def loss(database: Database, output: Output) -> Array:
            scores = np.asarray(self.score(database))
            best = np.count_nonzero(scores == scores.max()) if ties else 1
            # The number of best candidates depends on the database, so the gain from it is on the
            # side of the loss.
            return scores.max() - scores[output] + scale * log(best)

        def bound(beta: float) -> float:
            return scale * least_distance(tail, beta / self.candidates)

        if self.ahead is not None and "databases" not in described:
            # Scores are whole numbers: at some levels the bound is one that a score can reach.
            usual = (0.5, 0.05, 0.01)
            leads = [ceil(bound(beta)) for beta in reversed(usual)]
            described["databases"] = tuple(self.ahead(lead) for lead in leads)
            reached = [self.candidates * tail(lead / scale) * (1 + ROUNDING) for lead in leads]
            described["levels"] = (*(level for level in reversed(reached) if level < 1), *usual)
        return UtilityClaim(loss=loss, bound=bound, **described)

    def mechanism(
        self,
        select: Callable[..., Output],
        log_probabilities: Callable[..., Array],
        *claims: Claim,
        epsilon: float,
        proof: str,
        **described: Unpack[SelectorFields],
    ) -> Mechanism:
        """`select` with `epsilon` nats of privacy, as `proof` says, with its law and `claims`.

        `described` are other fields of the mechanism. Raises ValueError where epsilon is not
        positive.
        """
        require_positive(epsilon=epsilon)
        private = PrivacyClaim(epsilon=epsilon, relation=self.relation, reference=proof)
        return Mechanism(
            trust_rows=True,
            run=partial(select, **self.given(epsilon)),
            law=self.law(log_probabilities, epsilon),
            databases=self.databases,
            claims=(private, *claims),
            **described,
        )


def by_counts(bins: int, *, relation: Relation = Relation.ADD_REMOVE, **domain: int) -> Selection:
    """Bins of a histogram, each as good as its count; `domain` are fields of the `Histogram`."""
    return Selection(
        score=counts,
        candidates=bins,
        relation=relation,
        databases=Histogram(bins=bins, **domain),
        ahead=lambda points: [points] + [0] * (bins - 1),
    )


def by_occurrences(
    categories: int, *, relation: Relation = Relation.ADD_REMOVE, **fields: Unpack[ScoreFields]
) -> Selection:
    """Values of a record, each as good as the records that have it; `fields` are any others."""
    return Selection(
        score=partial(histogram, categories=categories),
        candidates=categories,
        relation=relation,
        databases=Rows(row=Choices(values=tuple(range(categories)))),
        ahead=lambda points: [0] * points,
        **fields,
    )


def by_votes(candidates: int, *, least_vote: int = -1, monotone: bool = False) -> Selection:
    """Candidates of an election by a few voters, who give each a whole score, `least_vote` to 1.

    With votes from 0 the totals are monotone; with votes from -1 one voter can lower any
    candidates and raise the others at once.
    """
    vote = Interval(low=least_vote, high=1, integer=True)
    return Selection(
        score=partial(column_totals, columns=candidates),
        candidates=candidates,
        relation=Relation.ADD_REMOVE,
        databases=Rows(row=Product(parts=(vote,) * candidates), max_size=6),
        monotone=monotone,
        ahead=lambda points: [[1] + [0] * (candidates - 1)] * points,
    )


def normalised(logits: Array) -> Array:
    """Log-probabilities, in nats, proportional to exp(logits), along the last axis."""
    logits = logits - logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def draw_index(logits: Array, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Independent indices of the last axis with probability proportional to exp(logits).

    `logits` has shape (m,). One uniform number each, looked up in the distribution function:
    the cost does not grow with m as that of m noises would.
    """
    steps = np.cumsum(np.exp(normalised(np.asarray(logits, dtype=float))))
    # Below the last step, whatever its rounding, so that no index is out of range.
    return np.searchsorted(steps[:-1], rng.random(shape) * steps[-1], side="right")


BOOK = "Dwork and Roth (2014)"


def exponential(
    database: Database,
    rng: np.random.Generator,
    *,
    score: Callable[[Database], Array],
    sensitivity: float,
    epsilon: float,
    monotone: bool = False,
    size: Size = None,
) -> Array:
    """Draw candidate r with probability proportional to exp(epsilon score_r / (2 sensitivity)).

    `score` maps a database to one number per candidate, shape (m,); no entry moves by more
    than `sensitivity` between neighbours. With `monotone` scores, which adding a record never
    lowers, the factor 2 is left out; add-remove only. `epsilon` is in nats.
    Returns candidate indices in [0, m), whole numbers of shape `size`. Raises ValueError on a
    parameter that is not positive.
    """
    logits = scaled_scores(
        score(database), sensitivity=sensitivity, epsilon=epsilon, monotone=monotone
    )
    # The argmax of logits + Gumbel noise has exactly this law and exponentiates nothing, so
    # that scores far apart cannot overflow.
    noise = rng.gumbel(size=sample_shape(size) + logits.shape)
    return np.argmax(logits + noise, axis=-1)


def log_probabilities(
    scores: Array, *, sensitivity: float, epsilon: float, monotone: bool = False
) -> Array:
    """Log-probability of each candidate under the law of `exponential`.

    `scores` has the candidates along its last axis, and so has the answer, in nats.
    """
    logits = scaled_scores(scores, sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    return normalised(logits)


def probabilities(
    scores: Array, *, sensitivity: float, epsilon: float, monotone: bool = False
) -> Array:
    """Probability of each candidate under the law of `exponential`; as `log_probabilities`."""
    return np.exp(
        log_probabilities(scores, sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    )


def exponential_by_weights(
    database: Database,
    rng: np.random.Generator,
    *,
    score: Callable[[Database], Array],
    sensitivity: float,
    epsilon: float,
    monotone: bool = False,
    weigh: Callable[..., Array] = probabilities,
    size: Size = None,
) -> Array:
    """`exponential` as it is defined: one uniform number falls into the share of a candidate.

    `weigh(scores, *, sensitivity, epsilon, monotone)` gives the shares; the other parameters,
    the indices of shape `size` and the errors are those of `exponential`.
    """
    shares = weigh(score(database), sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    drawn = np.searchsorted(np.cumsum(shares), rng.random(sample_shape(size)), side="right")
    # By rounding the shares may add up to a little less than 1.
    return np.minimum(drawn, shares.size - 1)


def exponential_mechanism(
    problem: Selection, *, epsilon: float, name: str = "exponential", identifier: str = ""
) -> Mechanism:
    """`exponential` on one selection problem, with the theorems it is claimed to satisfy.

    Its loss stays in an interval of length epsilon, so that its rho is epsilon^2 / 8, a quarter of
    what epsilon alone promises. `epsilon` is in nats. Raises ValueError where it is not positive.
    """
    require_positive(epsilon=epsilon)
    return problem.mechanism(
        exponential,
        log_probabilities,
        problem.regret_claim(epsilon, reference=f"{BOOK}, Theorem 3.11", ties=True),
        problem.regret_claim(epsilon, reference=f"{BOOK}, Corollary 3.12"),
        PrivacyClaim.of_curve(
            ConcentratedCurve(epsilon**2 / 8),
            problem.relation,
            statement="the exponential mechanism is (epsilon^2 / 8)-zCDP",
            reference="Cesar and Rogers (2021), Lemma 3.4",
        ),
        epsilon=epsilon,
        proof=f"{BOOK}, Theorem 3.10" + (", for monotone scores" if problem.monotone else ""),
        name=name,
        identifier=identifier,
        reference="McSherry and Talwar (2007)",
    )


EXPONENTIAL = exponential_mechanism(
    by_occurrences(3, relation=Relation.REPLACE_ONE), epsilon=1.0, identifier="EM-3.10"
)
MONOTONE_EXPONENTIAL = exponential_mechanism(
    by_occurrences(4, monotone=True),
    epsilon=1.0,
    name="exponential-monotone",
    identifier="EM-MONO",
)
PRICES = (1.0, 2.0, 3.0, 3.01, 3.02)
"""Prices of the auction, and its bids; one bid changes the revenue by the largest at most."""
AUCTION = exponential_mechanism(
    Selection(
        score=partial(revenue, prices=PRICES),
        candidates=5,
        sensitivity=3.02,
        relation=Relation.ADD_REMOVE,
        databases=Rows(row=Choices(values=PRICES), max_size=12),
    ),
    epsilon=1.0,
    name="exponential-auction",
    identifier="EM-3.5",
)
