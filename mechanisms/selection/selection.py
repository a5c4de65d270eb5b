"""What mechanisms that select one of finitely many candidates share: noise, regret, claims.

The candidates are fixed before the data is seen, a score says how good each is on a database,
and only the index of the one selected is released.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, exp, log
from typing import Any

import numpy as np

from .._checks import require_positive
from ..accounting.tails import least_distance
from ..model import (
    Array,
    Choices,
    Claim,
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
    UtilityClaim,
)
from ..queries import column_totals, counts, histogram

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

    def given(self, epsilon: float) -> dict[str, Any]:
        """The keywords of a sampler that selects with `epsilon` nats of privacy."""
        monotone = {"monotone": True} if self.monotone else {}
        return {
            "score": self.score, "sensitivity": self.sensitivity, "epsilon": epsilon, **monotone
        }  # fmt: skip

    def law(self, log_probabilities: Callable[..., Array], epsilon: float) -> Callable[..., Any]:
        """The exact law of the index selected; see `candidate_law`."""
        return partial(candidate_law, log_probabilities=log_probabilities, **self.given(epsilon))

    def regret_claim(
        self,
        epsilon: float,
        *,
        tail: Callable[[float], float] = lambda distance: exp(-distance),
        ties: bool = False,
        **described: Any,
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
        select: Callable[..., Any],
        log_probabilities: Callable[..., Array],
        *claims: Claim,
        epsilon: float,
        proof: str,
        **described: Any,
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


def by_counts(bins: int, *, relation: Relation = Relation.ADD_REMOVE, **domain: Any) -> Selection:
    """Bins of a histogram, each as good as its count; `domain` are fields of the `Histogram`."""
    return Selection(
        score=counts,
        candidates=bins,
        relation=relation,
        databases=Histogram(bins=bins, **domain),
        ahead=lambda points: [points] + [0] * (bins - 1),
    )


def by_occurrences(
    categories: int, *, relation: Relation = Relation.ADD_REMOVE, **fields: Any
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
