"""Scores of canaries, or of any two sides: every threshold counts, at one error probability.

A score is a number that some attack gave to a record that was in (or out of) the data. A random
4 % of the scores, taken by a fixed seed, teach: they say which thresholds are likely to tell most,
and these get most of alpha; a fifth is spread evenly over all. The other scores are counted at the
ranks of both sides, from above and from below, by the exact test of `bounds/ranks.py`, which holds
for every claim that is a trade-off curve; scores that are equal are told apart by a coin.

Each side must hold independent draws of one law, as the same attack on models trained anew gives
them. Canaries of a single training are the matter of `one_run`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from ...mechanisms.model import (
    ConcentratedCurve,
    GaussianCurve,
    PrivacyClaim,
    Relation,
    curve_of,
)
from ..arguments import checked
from ..asked import require
from ..bounds.ranks import Family, Ranked, detectable, largest_refuted, of_curve, of_epsilon
from ..errors import InvalidArgument
from ..outputs.outputs import Outputs
from ..results.results import Verdict
from .independence import doubts

TEACHING = 0.04
"""Part of the scores that choose how alpha is shared and are not counted."""
MOST_TEACHING = 4096
"""Scores of a side that choose it, at most."""
LEAST_TEACHING = 64
"""Scores of a side that choose it, at least, or an eighth of few."""
RATIO = 2.0
"""Of one rank to the next: a threshold between two of them would tell hardly more."""
EVENLY = 0.2
"""Part of alpha that every threshold shares alike, whatever the lesson says."""
FEWEST = 20
"""Scores of a side, at least."""
POWER = 0.9
"""Probability at which the detected loss is told."""
SHARP = 2.0
"""The exponent with which a threshold's share of alpha grows with the evidence foreseen there."""
ROUGHLY = 7
"""Halvings in the search for the parameter at which the evidence foreseen is compared."""
SMOOTH = 0.7
"""Part of what the lesson decides that goes by two normal laws; the rest goes by its counts."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """Scores beyond a threshold: `hits` of the likelier side, and its rank on the other.

    `above` says on which side of it, `score` where it lies and `ties` that other scores are equal
    to it, which a coin told apart. `level` is the part of alpha that was its own.
    """

    above: bool
    score: float
    ties: bool
    inside: bool
    hits: int
    trials: int
    rank: int
    others: int
    level: float

    def describe(self) -> str:
        """The event in words."""
        coin = ", of equal ones a random part" if self.ties else ""
        return f"score {'above' if self.above else 'below'} {self.score:.6g}{coin}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """What the scores of two sides prove; all bounds hold together, but with probability `alpha`.

    `epsilon_lower` (nats) is at `delta`; `mu_lower` is of Gaussian and `rho_lower` of
    zero-concentrated differential privacy, and `factor_lower` multiplies every epsilon of a claim
    by --renyi or --curve. All are for a single step. `threshold` is the one that tells most against
    the claim, or the largest epsilon without one; None where nothing is told. `detectable` is the
    parameter of the claim that would have been refuted with probability .9. Without a claim
    `verdict` and `claim` are None.
    """

    claim: PrivacyClaim | None
    verdict: Verdict | None
    delta: float
    distance: int
    alpha: float
    epsilon_lower: float
    mu_lower: float
    rho_lower: float
    factor_lower: float | None
    detectable: float | None
    threshold: Threshold | None
    thresholds: int
    sizes: tuple[int, int]
    taught: tuple[int, int]
    remarks: tuple[str, ...] = ()
    dependent: bool = False

    @property
    def lower(self) -> float:
        """The bound in the claim's own parameter; on epsilon where nothing else is claimed."""
        curve = None if self.claim is None else self.claim.curve
        found = {"mu": self.mu_lower, "rho": self.rho_lower, "factor": self.factor_lower}
        return self.epsilon_lower if curve is None else found[curve.parameter] or 0.0


@checked
def scores(
    inside: ArrayLike,
    outside: ArrayLike,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    mu: float | None = None,
    rho: float | None = None,
    renyi: Sequence[tuple[float, float]] | None = None,
    curve: object = None,
    distance: int = 1,
    alpha: float = 1e-3,
    seed: int = 0,
) -> Scores:
    """Bound from below what scores of records inside and outside the data prove to be lost.

    `inside` and `outside` are numbers, one for each run of the mechanism with the record in the
    data and without it; the higher, the lower or the farther out may mean "in". A claim, if there
    is one, is `epsilon` (nats) with `delta`, `mu`, `rho` (with `delta` approximate), `renyi`,
    pairs (alpha, epsilon), or `curve`, points (epsilon, delta); without one the bound on epsilon is
    at `delta`. `distance` is the number of steps between the data sets. Every threshold is looked
    at, and all bounds hold together except with probability `alpha`; `seed` decides which scores
    teach and ties. See docs/statistics.md, section 1a.

    Raises InvalidArgument for numbers outside their range, fewer than 20 scores of a side and
    scores that are not numbers.
    """
    sides = _numbers(inside, "inside"), _numbers(outside, "outside")
    claim = stated_claim(
        epsilon=epsilon, delta=delta, mu=mu, rho=rho, renyi=renyi, curve=curve, distance=distance
    )
    require(alpha=alpha)
    at = 0.0 if claim is not None and claim.curve is not None else delta or 0.0
    own, claimed = family_of(claim, at, distance)
    shuffled = _shuffled(sides, seed)
    tests, levels, lesson, rest = _judged(shuffled, own, alpha)
    bounds = {
        "epsilon": of_epsilon(at, distance),
        "mu": of_curve(GaussianCurve(1.0), distance),
        "rho": of_curve(ConcentratedCurve(1.0), distance),
    }
    if claim is not None and claim.curve is not None:
        bounds[claim.curve.parameter] = own
    found = {name: largest_refuted(tests, levels, family) for name, family in bounds.items()}
    told = "epsilon" if claim is None or claim.curve is None else claim.curve.parameter
    lower, index = found[told]
    dependent, remarks = _doubted(sides, shuffled)
    verdict, seen = None, None
    if claim is not None:
        p_values = tests.p_values(own(claimed))
        refuted = bool((p_values <= levels).any())
        if refuted and lower < claimed:  # halving stopped just below the claim itself
            lower, index = claimed, int(np.argmin(p_values / levels))
            found[told] = lower, index
        if not refuted:
            lower = min(lower, claimed)
            seen = detectable(tests, levels, claimed, own, POWER)
        verdict = verdict_of(refuted, seen, claimed, dependent)
    return Scores(
        claim=claim,
        verdict=verdict,
        delta=at,
        distance=distance,
        alpha=alpha,
        epsilon_lower=found["epsilon"][0],
        mu_lower=found["mu"][0],
        rho_lower=found["rho"][0],
        factor_lower=found["factor"][0] if "factor" in found else None,
        detectable=seen,
        threshold=None if index < 0 else rest.threshold(index, tests, float(levels[index])),
        thresholds=len(tests),
        sizes=(len(sides[0]), len(sides[1])),
        taught=(len(lesson.inside), len(lesson.outside)),
        remarks=remarks,
        dependent=dependent,
    )


def refuted_by_scores(
    inside: ArrayLike, outside: ArrayLike, own: Family, claimed: float, *, alpha: float, seed: int
) -> bool:
    """Whether `scores` refutes the claim of parameter `claimed` in the family; no bounds."""
    sides = _numbers(inside, "inside"), _numbers(outside, "outside")
    tests, levels, _, _ = _judged(_shuffled(sides, seed), own, alpha)
    return bool((tests.p_values(own(claimed)) <= levels).any())


def _judged(
    shuffled: tuple[Floats, Floats], own: Family, alpha: float
) -> tuple[Ranked, Floats, "_Sides", "_Sides"]:
    """All tests, the level of each, and the scores that taught and those that were counted."""
    lesson, rest = _split(shuffled)
    return rest.tests(), alpha * _shares(lesson, rest, own, alpha), lesson, rest


def stated_claim(
    *, epsilon: float | None, delta: float | None, distance: int, **curves: Any
) -> PrivacyClaim | None:
    """The one claim that is stated, about neighbours as declared; None for none."""
    points = curves.pop("curve")
    stated = [name for name, value in (("epsilon", epsilon), *curves.items(), ("curve", points))
              if value is not None]  # fmt: skip
    if len(stated) > 1:
        raise InvalidArgument(
            f"one claim is stated in one way; give one of {', '.join(stated)}",
            keywords=tuple(stated),
        )
    try:
        found = curve_of(points=points, delta=delta, **curves)
        if found is not None:
            return PrivacyClaim.of_curve(found, Relation.DECLARED, distance=distance)
        known = PrivacyClaim(
            epsilon=epsilon or 0.0, delta=delta or 0.0, relation=Relation.DECLARED,
            distance=distance,
        )  # fmt: skip
    except (ValueError, TypeError) as error:
        raise InvalidArgument(str(error), keywords=tuple(stated)) from None
    return known if epsilon is not None else None


def family_of(claim: PrivacyClaim | None, delta: float, distance: int) -> tuple[Family, float]:
    """The claims of the same kind, and the parameter of this one."""
    if claim is None or claim.curve is None:
        return of_epsilon(delta, distance), 0.0 if claim is None else claim.epsilon
    return of_curve(claim.curve, distance), claim.curve.size


def verdict_of(refuted: bool, seen: float | None, claimed: float, dependent: bool) -> Verdict:
    """The verdict, inconclusive where only a loss far above the claim would have been seen."""
    if dependent:
        return Verdict.INCONCLUSIVE
    if refuted:
        return Verdict.REFUTED
    weak = seen is not None and seen > max(2 * claimed, claimed + 1)
    return Verdict.INCONCLUSIVE if weak else Verdict.NOT_REFUTED


def _numbers(given: ArrayLike, name: str) -> Floats:
    try:
        found = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"the scores {name} must be numbers, one for each record, got {given!r:.60}"
        ) from None
    if found.ndim == 2 and 1 in found.shape:
        found = found.ravel()
    if found.ndim != 1 or np.isnan(found).any():
        raise InvalidArgument(
            f"the scores {name} must be a list of numbers, none of them missing, got shape "
            f"{found.shape} with {int(np.isnan(found).sum())} missing"
        )
    if len(found) < FEWEST:
        raise InvalidArgument(
            f"{len(found)} scores {name} were given; expected at least {FEWEST} of each side"
        )
    return found


def _shuffled(sides: tuple[Floats, Floats], seed: int) -> tuple[Floats, Floats]:
    """Scores in a random order, each with a number that decides between equal ones."""
    rng = np.random.default_rng(seed)
    one, two = (
        np.column_stack([side[rng.permutation(len(side))], rng.random(len(side))]) for side in sides
    )
    return one, two


def _doubted(
    sides: tuple[Floats, Floats], shuffled: tuple[Floats, Floats]
) -> tuple[bool, tuple[str, ...]]:
    """Whether the scores cannot be independent draws, and what speaks against it.

    A file that somebody sorted is as good as another, since who teaches is drawn by lot.
    """
    asked = [
        Outputs.of(mixed[:, 0].copy() if _sorted(side) else side, len(side))
        for side, mixed in zip(sides, shuffled, strict=True)
    ]
    found = doubts(*asked)
    return any(doubt.sure for doubt in found), tuple(doubt.sentence for doubt in found)


def _sorted(side: Floats) -> bool:
    return bool((side[1:] >= side[:-1]).all() or (side[1:] <= side[:-1]).all())


@dataclass(frozen=True, slots=True)
class _Sides:
    """Two sides of scores, each with the numbers that break ties."""

    inside: Floats
    outside: Floats

    def ends(self) -> Iterator[tuple[bool, bool, Floats, Floats]]:
        """(above, inside likelier, likelier scores, others), the sign turned for "below"."""
        for above in (True, False):
            sign = 1 if above else -1
            for inside in (True, False):
                pair = (self.inside, self.outside) if inside else (self.outside, self.inside)
                yield above, inside, sign * pair[0], sign * pair[1]

    def tests(self) -> Ranked:
        """All tests: for both ends and both orders the hits beyond each rank of the other side."""
        hits, trials, ranks, others = [], [], [], []
        for _, _, likelier, other in self.ends():
            known = ranks_of(len(other))
            falling = other[np.lexsort((other[:, 1], other[:, 0]))][::-1][known - 1]
            hits.append(_beyond(likelier, falling))
            ranks.append(known)
            trials.append(np.full_like(known, len(likelier)))
            others.append(np.full_like(known, len(other)))
        return Ranked(*(np.concatenate(part) for part in (hits, trials, ranks, others)))

    def threshold(self, index: int, tests: Ranked, level: float) -> Threshold:
        """The threshold of one of the tests."""
        place = index
        ends = list(self.ends())
        while place >= len(ranks_of(len(ends[0][3]))):
            place -= len(ranks_of(len(ends.pop(0)[3])))
        above, inside, likelier, other = ends[0]
        rank = int(tests.ranks[index])
        edge = float(np.sort(other[:, 0])[-rank])
        equal = sum(int((side[:, 0] == edge).sum()) for side in (likelier, other))
        return Threshold(
            above=above,
            score=edge if above else -edge,
            ties=equal > 1,
            inside=inside,
            hits=int(tests.hits[index]),
            trials=len(likelier),
            rank=rank,
            others=len(other),
            level=level,
        )


def _split(shuffled: tuple[Floats, Floats]) -> tuple[_Sides, _Sides]:
    """The scores that teach, and those that are counted."""
    one, two = shuffled
    first, second = (
        min(max(round(TEACHING * len(side)), min(LEAST_TEACHING, len(side) // 8)), MOST_TEACHING)
        for side in shuffled
    )
    return _Sides(one[:first], two[:second]), _Sides(one[first:], two[second:])


def ranks_of(size: int) -> NDArray[np.int64]:
    """The ranks at which thresholds lie: 1 to half of the scores, each twice the one before."""
    most = max(1, size // 2)
    steps = int(np.log(most) / np.log(RATIO)) + 1
    return np.unique(np.round(RATIO ** np.arange(steps)).astype(np.int64))


def _beyond(likelier: Floats, edges: Floats) -> NDArray[np.int64]:
    """How many scores lie above each of the falling edges, ties by the second column."""
    both = np.concatenate([likelier, edges])
    order = np.lexsort((both[:, 1], both[:, 0]))
    mine = np.append(0, np.cumsum(order < len(likelier)))
    place = np.empty(len(both), dtype=np.int64)
    place[order] = np.arange(len(both))
    return len(likelier) - mine[place[len(likelier) :]]


def _shares(lesson: _Sides, rest: _Sides, family: Family, alpha: float) -> Floats:
    """The part of alpha for each of the tests that `rest` will make; they add up to 1.

    A parameter is looked for that the best test foreseen just refutes, and the hits foreseen are
    judged there: those of two normal laws that fit the ranks of the lesson, and those it saw.
    """
    counts = [
        (len(likelier), len(other), ranks_of(len(other))) for _, _, likelier, other in rest.ends()
    ]
    total = sum(len(known) for _, _, known in counts)
    found = np.full(total, EVENLY / total)
    for foreseen, part in ((_by_normal_laws, SMOOTH), (_by_counts, 1 - SMOOTH)):
        rates = [
            foreseen(likelier, other, known / (size + 1))
            for (_, size, known), (_, _, likelier, other) in zip(counts, lesson.ends(), strict=True)
        ]
        tests = Ranked(*(np.concatenate(part) for part in zip(*(
            (np.round(n * rate).astype(np.int64), np.full_like(known, n), known,
             np.full_like(known, m))
            for rate, (n, m, known) in zip(rates, counts, strict=True)
        ), strict=True)))  # fmt: skip
        level = np.full(total, alpha / 4)
        size, _ = largest_refuted(tests, level, family, ROUGHLY)
        evidence = tests.p_values(family(max(size, 1e-3))) ** -SHARP
        found += (1 - EVENLY) * part * evidence / evidence.sum()
    return found / found.sum()


def _by_normal_laws(likelier: Floats, other: Floats, q: Floats) -> Floats:
    """Rates above the threshold that `other` exceeds with chance q, by laws fitted to ranks."""
    both = np.concatenate([likelier, other])
    order = np.lexsort((both[:, 1], both[:, 0]))
    normal = np.empty(len(both))
    normal[order] = ndtri((np.arange(len(both)) + 0.5) / len(both))
    one, two = normal[: len(likelier)], normal[len(likelier) :]
    cut = two.mean() - ndtri(q) * max(float(two.std()), 1e-3)
    return ndtr((one.mean() - cut) / max(float(one.std()), 1e-3))


def _by_counts(likelier: Floats, other: Floats, q: Floats) -> Floats:
    """The same by counts at the nearest rank of the lesson, a standard error less."""
    rank = np.clip(np.ceil(q * (len(other) + 1)).astype(np.int64), 1, len(other))
    falling = other[np.lexsort((other[:, 1], other[:, 0]))][::-1]
    hits = _beyond(likelier, falling[rank - 1]).astype(float)
    # Beyond the rarest rank of the lesson nothing is known.
    hits *= np.minimum(q * (len(other) + 1) / rank, 1)
    return np.maximum(hits - np.sqrt(hits), 0) / len(likelier)
