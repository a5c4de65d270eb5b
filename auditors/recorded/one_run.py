"""Canaries of one training: who was in is guessed from their scores, and right guesses count.

The guesses are about the most extreme scores: the highest of them "in" and as many of the lowest
"out", and in a second series the other way round, for scores whose low end means "in". Each series
has a dozen numbers of guesses, fixed beforehand, which share alpha evenly.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr

from ...mechanisms.model import Curve, GaussianCurve, PrivacyClaim
from ..arguments import checked
from ..asked import require
from ..bounds.ranks import (
    epsilon_p_value,
    inverse_of,
    largest,
    refutes,
)
from ..bounds.two_sample import at_distance
from ..errors import InvalidArgument
from ..results.results import Verdict
from .canaries import stated_claim

NUMBERS = 12
"""Numbers of guesses that are tested beside each other, from few to all."""
FEWEST = 16
"""Guesses, at least: from fewer of them hardly anything follows."""
UNFAIR = 1e-9
"""Chance that fair coins put as few, or as many, canaries in; below it nothing is judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guesses:
    """How many guesses, how many were right, and how many of them had to be.

    `needed` right guesses would have refuted the claim; None without one, and where no number does.
    """

    guesses: int
    right: int
    needed: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OneRun:
    """What guesses about the canaries of one run prove; both bounds hold together, or one alone.

    Of a claim only the bound in its own parameter is told, with all of alpha; without a claim
    `epsilon_lower` (nats, at `delta`) and `mu_lower` have half of alpha each. `factor_lower`
    multiplies every epsilon of a claim by renyi or curve. `best` are the guesses that tell most.
    """

    claim: PrivacyClaim | None
    verdict: Verdict | None
    delta: float
    alpha: float
    canaries: int
    epsilon_lower: float | None
    mu_lower: float | None
    rho_lower: float | None
    factor_lower: float | None
    best: Guesses
    numbers: int

    @property
    def lower(self) -> float:
        """The bound in the claim's own parameter; on epsilon without a claim."""
        curve = None if self.claim is None else self.claim.curve
        name = "epsilon" if curve is None else curve.parameter
        return float(getattr(self, f"{name}_lower") or 0.0)


@checked
def scores_of_one_run(
    scores: ArrayLike,
    member: ArrayLike,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    mu: float | None = None,
    rho: float | None = None,
    renyi: Any = None,
    curve: object = None,
    distance: int = 1,
    alpha: float = 1e-3,
    seed: int = 0,
) -> OneRun:
    """Bound from below what the canaries of one run prove: their scores, and who was in.

    `scores` and `member` have an entry for each canary. Each must have been put into the data by a
    fair coin of its own. The claim is stated as for `scores`: `epsilon` with `delta`, `mu`,
    `rho`, `renyi` or `curve`, for `distance` steps, at error probability `alpha`; `seed` decides
    ties.

    Raises InvalidArgument for other shapes, for missing numbers and for fewer than 16 canaries.
    """
    size, counts = _guessed(scores, member, seed)
    return _judged(
        size, counts, delta=delta, distance=distance, alpha=alpha,
        claim=stated_claim(epsilon=epsilon, delta=delta, mu=mu, rho=rho, renyi=renyi, curve=curve,
                           distance=distance),
    )  # fmt: skip


def _guessed(scores: ArrayLike, member: ArrayLike, seed: int) -> tuple[int, list[tuple[int, int]]]:
    """The number of canaries, and (guesses, right) of each number of guesses in both series."""
    values, inside = np.asarray(scores, dtype=float), np.asarray(member)
    if values.ndim != 1 or inside.shape != values.shape or np.isnan(values).any():
        raise InvalidArgument(
            "expected a score and whether it was in for each canary, none of them missing, got "
            f"shapes {values.shape} and {inside.shape}"
        )
    if not np.isin(inside, (0, 1)).all():
        raise InvalidArgument("who was in is told by 0 and 1 for each canary, got other values")
    size = len(values)
    if size < FEWEST:
        raise InvalidArgument(f"{size} canaries were given; expected at least {FEWEST}")
    inside_all = int(inside.sum())
    if bdtr(min(inside_all, size - inside_all), size, 0.5) < UNFAIR:
        raise InvalidArgument(
            f"{inside_all:,} of {size:,} canaries are in, which fair coins hardly ever give; one "
            "run shows something only if each canary was put in by a fair coin of its own"
        )
    order = np.lexsort((np.random.default_rng(seed).random(size), values))
    lowest = np.append(0, np.cumsum(inside[order].astype(int)))
    counts = []
    for guesses in np.unique(np.geomspace(FEWEST, size, NUMBERS).round().astype(int)).tolist():
        low = guesses // 2
        top = guesses - low
        right = int(lowest[size] - lowest[size - top]) + low - int(lowest[low])
        # The other series guesses "in" where this one guesses "out".
        counts += [(guesses, right), (guesses, guesses - right)]
    return size, counts


def refuted_by_guesses(
    scores: ArrayLike, member: ArrayLike, claim: PrivacyClaim, *, alpha: float, seed: int
) -> bool:
    """Whether `scores_of_one_run` refutes the claim; no bounds."""
    size, counts = _guessed(scores, member, seed)
    return bool(_refuting(size, counts, claim, alpha))


def _refuting(
    canaries: int, counts: list[tuple[int, int]], claim: PrivacyClaim, alpha: float
) -> list[tuple[int, int]]:
    """The (guesses, right) that refute the claim, each at its share of alpha."""
    test, claimed = _test(canaries, len(counts), claim, alpha)
    return [count for count in counts if test(count, claimed)]


def _test(
    canaries: int, numbers: int, claim: PrivacyClaim, alpha: float
) -> tuple[Callable[[tuple[int, int], float], bool], float]:
    """The test of one (guesses, right) against any parameter of the claim, and the one claimed."""
    curve, share = claim.curve, alpha / numbers
    delta = claim.delta if curve is None else 0.0
    test = partial(_refuted, canaries, curve, delta, claim.distance, share)
    return test, claim.epsilon if curve is None else curve.size


@checked
def guesses_of_one_run(
    canaries: int,
    guesses: int,
    right: int,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    mu: float | None = None,
    rho: float | None = None,
    renyi: Any = None,
    curve: object = None,
    distance: int = 1,
    alpha: float = 1e-3,
) -> OneRun:
    """The same from three numbers: canaries, guesses about them, and how many were right.

    `canaries` were put into the data by fair coins, `guesses` were made about them, and `right` of
    these were right. The claim is stated as for `scores`: `epsilon` with `delta`, `mu`, `rho`,
    `renyi` or `curve`, for `distance` steps, at error probability `alpha`.
    The number of guesses must have been fixed before anybody saw how many are right.
    """
    if not 0 <= right <= guesses <= canaries or guesses < 1:
        raise InvalidArgument(
            "expected canaries, guesses and right guesses with right <= guesses <= canaries and a "
            f"guess at least, got {canaries}, {guesses} and {right}"
        )
    return _judged(
        canaries, [(guesses, right)], delta=delta, distance=distance, alpha=alpha,
        claim=stated_claim(epsilon=epsilon, delta=delta, mu=mu, rho=rho, renyi=renyi, curve=curve,
                           distance=distance),
    )  # fmt: skip


def _judged(
    canaries: int,
    counts: list[tuple[int, int]],
    *,
    claim: PrivacyClaim | None,
    delta: float | None,
    distance: int,
    alpha: float,
) -> OneRun:
    require(alpha=alpha)
    curve = None if claim is None else claim.curve
    at = 0.0 if curve is not None else delta or 0.0
    share = alpha / len(counts) / (1 if claim is not None else 2)
    lower: dict[str, float] = {}
    best: tuple[int, int] = max(counts, key=lambda one: one[1] - one[0] / 2)
    wanted: list[Curve | None] = [curve] if claim is not None else [GaussianCurve(1.0), None]
    for one in wanted:
        test = partial(_refuted, canaries, one, at, distance, share)
        name, bound = "epsilon" if one is None else one.parameter, 0.0
        for count in counts:
            found = largest(partial(test, count), bound)
            if found > bound:
                bound, best = found, count
        lower[name] = bound
    verdict, needed = None, None
    if claim is not None:
        tested, claimed = _test(canaries, len(counts), claim, alpha)
        refuting = _refuting(canaries, counts, claim, alpha)
        known = {guesses: _needed(guesses, claimed, tested) for guesses, _ in counts}
        if refuting:
            best = best if best in refuting else refuting[0]
            name = "epsilon" if curve is None else curve.parameter
            lower[name] = max(lower[name], claimed)
        elif known[best[0]] > best[0]:
            best = min(counts, key=lambda one: known[one[0]] / one[0])
        needed = known[best[0]] if known[best[0]] <= best[0] else None
        some = any(number <= guesses for guesses, number in known.items())
        verdict = (
            Verdict.REFUTED if refuting else Verdict.NOT_REFUTED if some else Verdict.INCONCLUSIVE
        )
    return OneRun(
        claim=claim,
        verdict=verdict,
        delta=at,
        alpha=alpha,
        canaries=canaries,
        epsilon_lower=lower.get("epsilon"),
        mu_lower=lower.get("mu"),
        rho_lower=lower.get("rho"),
        factor_lower=lower.get("factor"),
        best=Guesses(guesses=best[0], right=best[1], needed=needed),
        numbers=len(counts),
    )


def _refuted(
    canaries: int,
    curve: Curve | None,
    delta: float,
    distance: int,
    level: float,
    count: tuple[int, int],
    size: float,
) -> bool:
    """Whether a count refutes the claim of this parameter at its level."""
    guesses, right = count
    if right <= guesses / 2:
        return False
    if curve is None:
        epsilon, slack = at_distance(size, delta, distance)
        found = epsilon_p_value(canaries, guesses, right, epsilon=epsilon, delta=slack)
        return found <= level
    return refutes(canaries, guesses, right, inverse_of(curve.scaled(size), distance), level)


def _needed(guesses: int, claimed: float, test: Callable[[tuple[int, int], float], bool]) -> int:
    """The least number of right guesses that refutes the claim; one more than all for none."""
    low, high = guesses // 2, guesses + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if test((guesses, middle), claimed) else (middle, high)
    return high
