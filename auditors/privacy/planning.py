"""A budget beforehand: how it is divided, how many draws notice a loss, and what draws notice.

Part of the draws teaches and part of alpha is for bets and for a smaller pair. `Errors` is the
error probability that is left; it only ever gives away whole amounts, before the draws they pay
for.

The event is one that the mechanism gives with a stated probability, and that says all of the loss.
Power is exact, by both binomials summed over the rejection region of the test (`power.py`). A plain
test counts that event on all draws at the whole error probability; an audit also has to learn it
and spends part of its alpha on early looks, for which half of its trials and all but AUDIT of
its alpha are set aside.

What a budget of seconds buys follows from the price of a call. All its numbers are fixed before the
first judged draw: a sample that the clock cuts says something of running times, and these may
depend on the outputs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, exp, inf, isfinite, sqrt

from scipy.special import ndtri

from ...mechanisms.model import (
    ConcentratedCurve,
    Curve,
    PrivacyClaim,
    Relation,
    RenyiCurve,
    curve_of,
    grouped_line,
)
from ..arguments import checked
from ..asked import require
from ..bounds.power import LAST, other_probability, power_of
from ..bounds.two_sample import at_distance
from ..errors import InvalidArgument
from ..sampling.again import FEWEST, LEAST, LONE, MOST, PART

GROSS = 20_000
"""Outputs, of both sides, that a whole audit may cost when the violation is gross."""
WORST = 0.9
"""Part of alpha for the worst pair of a search; the rest is for a smaller pair."""
LEARNING = 0.25
"""Part of the draws that may teach: more of them would teach less than they would count."""
LITTLE, LEARNING_OF_LITTLE = 1024, 1 / 3
"""Draws a side up to which this part of them may teach, since an event must be found at all."""
MOST_TAUGHT = 4_000_000
"""Draws a side that teach, at most."""
BESIDE, HALF, ALONE = 0.1, 0.5, 0.9
"""Part of the error probability for the bets: beside a count that gives the bound, against a curve,
of which bets see what no event shows, and where nothing follows a refutation."""
AUDIT = 0.9 * 0.25
"""Part of alpha that is left for the last attempt of an audit with a search, whatever was tried."""
SURELY = 0.9
"""Probability with which what an audit is said to see is seen."""
DECIDING = 0.5
"""Part of an audit's trials that surely counts in its last attempt."""
SEARCHING = 0.35
"""Part of the time that a search may take where calls are slow. Of 600 calls .35 leave 101 for
either database, by which an event of .5 against 0 is still seen (.4 leave 89, and of 590 too few),
and the search finds the pair of such a leak in 238 of 264 runs; .25 find it in 222
(docs/decisions.md)."""
KEPT_BACK = 0.05
"""Part of the time that is planned for what is no call, and of which the end may be late."""
CHEAP = 0.25
"""Part of the time for the draws of either side where a call costs less than what is done with
its output."""
MOST_DRAWS = 1e12
"""Beyond it a number of draws is told as infinite."""
MOST_NOTICE = 1e3
"""Multiple of the claim beyond which the loss detected is told as infinite."""

Rates = tuple[float, float]
Null = tuple[float, float]


class Errors:
    """The error probability of one audit, and what of it is not spent yet.

    What is taken is spent whether or not the looks it pays for are made: a look that is reached
    only when those before it were favourable may err more often than its own level, so nothing
    comes back. This is the one place that keeps the sum of all attempts within alpha.
    """

    def __init__(self, alpha: float) -> None:
        """All of alpha is left."""
        self.alpha = alpha
        self.left = alpha

    def take(self, amount: float) -> float:
        """Spend `amount`, which must be positive and left; returns it."""
        if not 0 < amount <= self.left * (1 + 1e-12):
            raise ValueError(f"cannot spend {amount!r} of an error probability of {self.left!r}")
        self.left = max(0.0, self.left - amount)
        return amount


def most_taught(trials: int) -> int:
    """Draws a side, of so many, that may teach before the last attempt."""
    part = LEARNING if trials > LITTLE else LEARNING_OF_LITTLE
    return max(1, min(int(part * trials), MOST_TAUGHT))


def share(
    precision: float | None, claim: PrivacyClaim, *, seeded: bool, bounding: bool = False
) -> float:
    """The part of the error probability that the bets have.

    None where the largest bound is wanted, which is counted. Deciding draws of a mechanism with
    randomness of its own come from several fresh processes a count, so it is bet against only
    where the claim is about moments, which no count shows; mu is about events.
    """
    shared = seeded or isinstance(claim.curve, ConcentratedCurve | RenyiCurve)
    if bounding or precision == 0 or not shared:
        return 0.0
    if precision is None:
        return ALONE
    return BESIDE if claim.curve is None else HALF


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetPlan:
    """What a budget notices, or which budget notices a loss.

    `claim` names the parameter that is claimed (epsilon, mu or rho) with its value. A mechanism
    that loses `notice` times as much, by an event of probability `event_probability` under the
    likelier database, is refuted with probability `power` by an audit of `trials` draws a side,
    and by a test of that event alone on `draws` a side. One that keeps its claim fails one run
    with probability at most `alpha`. `draws` and `trials` are infinite if no number will do.
    """

    claim: tuple[str, float]
    delta: float
    distance: int
    notice: float
    alpha: float
    power: float
    event_probability: float
    draws: float
    trials: float


STEEP = 9.0
"""Nats of a null above which a plan counts at this one. The work of the exact sums grows by
exp(epsilon / 2): .5 CPU s at 8, 2.3 at 10, 52 at 15. What is planned is never less than the exact
sums need, and was at most .6 % more at 10 and 11 (losses of 1.05 to 2 times, delta 0 and .001)."""


@checked
def plan(
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    mu: float | None = None,
    rho: float | None = None,
    notice: float | None = None,
    trials: int | None = None,
    alpha: float = 1e-3,
    event_probability: float = 0.5,
    power: float = 0.9,
    distance: int = 1,
) -> BudgetPlan:
    """The budget that notices a loss, or the loss that a budget notices, before anything is drawn.

    One of `epsilon` (nats, with `delta`), `mu` and `rho` is claimed. `notice` is how many times
    as much the mechanism loses, 1.2 for a fifth too much; or `trials` are the runs per database of
    an audit. `alpha` is the probability with which a mechanism that keeps its claim fails one run,
    the alpha of the audit. The loss shows in one event, of probability `event_probability` under
    the likelier database, and is detected with probability `power`. `distance` is the number of
    steps between the databases.

    Raises InvalidArgument for numbers outside their range.
    """
    curve, name, claimed = _claimed(epsilon, delta, mu, rho, distance)
    if (notice is None) == (trials is None):
        given = "none of them" if notice is None else "both"
        raise InvalidArgument(
            f"give notice= or trials=, one of the two, got {given}", keywords=("notice", "trials")
        )
    require(notice=notice, trials=trials, alpha=alpha)
    for holds, sentence in (
        (0 < event_probability < 1,
         f"the probability of the event must be between 0 and 1, got {event_probability!r}"),
        (0.5 <= power < 1, f"power must be from 0.5 to below 1, got {power!r}"),
    ):  # fmt: skip
        if not holds:
            raise InvalidArgument(sentence)

    def needed(times: float, level: float) -> float:
        rates, null = _rates(curve, claimed, delta, distance, times, event_probability)
        return draws_needed(rates, null, level=level, power=power)

    if notice is None:
        assert trials is not None
        notice = _first(lambda times: needed(times, AUDIT * alpha) <= DECIDING * trials)
    wanted = needed(notice, AUDIT * alpha) / DECIDING if isfinite(notice) else inf
    return BudgetPlan(
        claim=(name, claimed),
        delta=delta,
        distance=distance,
        notice=notice,
        alpha=alpha,
        power=power,
        event_probability=event_probability,
        draws=needed(notice, alpha) if isfinite(notice) else inf,
        trials=float(trials) if trials is not None else wanted,
    )


def trials_to_notice(claim: PrivacyClaim, notice: float, alpha: float) -> int:
    """The trials of an audit at `alpha` that notice `notice` times what is claimed.

    The event foreseen has probability one half. Raises InvalidArgument if no budget does.
    """
    curve = claim.curve
    size = claim.epsilon if curve is None else curve.size
    require(notice=notice)
    if size == 0:
        raise InvalidArgument(
            "notice is a multiple of the claim, and epsilon 0 has none; give trials",
            keywords=("notice", "trials"),
        )
    rates, null = _rates(curve, size, claim.delta, claim.distance, notice, 0.5)
    found = draws_needed(rates, null, level=AUDIT * alpha, power=0.9) / DECIDING
    if not found < MOST_DRAWS:
        raise InvalidArgument(
            f"no number of draws notices {notice:g} times this claim by an event of probability "
            "one half; give trials",
            keywords=("notice", "trials"),
        )
    return ceil(found)


def seen_in(counted: int, claim: PrivacyClaim, level: float) -> tuple[bool, float]:
    """What a count of so many draws a side at this level sees by events of probability one half.

    Whether one that has probability 0 on the other side, and from how many times the claim a loss
    shows; infinite if none does or if nothing is claimed that has multiples.
    """
    curve = claim.curve
    size = claim.epsilon if curve is None else curve.size

    def seen(rates: Rates, null: Null) -> bool:
        return power_of(rates, (counted, counted), null=null, level=level) >= SURELY

    sure = seen((0.5, 0.0), at_distance(claim.epsilon, claim.delta, claim.steps))
    if not sure or size == 0:
        return sure, inf
    half = 0.5
    return sure, _first(
        lambda times: seen(*_rates(curve, size, claim.delta, claim.distance, times, half))
    )


def draws_needed(rates: Rates, null: Null, *, level: float, power: float) -> float:
    """Draws of each side that refute the null with this power, by an event of these rates.

    Above STEEP the side that is less likely decides alone, by a count that is nearly Poisson: so
    many times fewer draws of an event that is as many times likelier there have the same count.
    """
    (p, q), (epsilon, delta) = rates, null
    if epsilon > STEEP:
        times = exp(min(epsilon - STEEP, 600.0))
        flat = draws_needed((p, q * times), (STEEP, delta), level=level, power=power)
        return flat * times if flat * times <= MOST_DRAWS else inf
    ratio = exp(min(epsilon, 300.0))
    excess = p - delta - ratio * q
    if excess <= 0:
        return inf

    def enough(draws: float) -> bool:
        size = ceil(draws)
        return power_of(rates, (size, size), null=null, level=level) >= power

    variance = p * (1 - p) + ratio**2 * q * (1 - q)
    guess = max(4.0, variance * ((float(ndtri(power)) - float(ndtri(level))) / excess) ** 2)
    low, high = 1.0, guess
    while not enough(high):
        low, high = high, 1.3 * high
        if high > MOST_DRAWS:
            return inf
    low = max(low, 0.7 * high) if low == 1.0 and not enough(0.7 * high) else low
    while high - low > max(1.0, 5e-4 * high):
        middle = sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return float(ceil(high))


def claim_of(
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    mu: float | None = None,
    rho: float | None = None,
    distance: int = 1,
) -> PrivacyClaim:
    """The claim that is planned for, of whatever neighbours; InvalidArgument as for `plan`."""
    curve, _, claimed = _claimed(epsilon, delta, mu, rho, distance)
    if curve is not None:
        return PrivacyClaim.of_curve(curve, Relation.DECLARED, distance=distance)
    return PrivacyClaim(epsilon=claimed, delta=delta, relation=Relation.DECLARED, distance=distance)


def _claimed(
    epsilon: float | None, delta: float, mu: float | None, rho: float | None, distance: int
) -> tuple[Curve | None, str, float]:
    stated = {"epsilon": epsilon, "mu": mu, "rho": rho}
    known = [(name, value) for name, value in stated.items() if value is not None]
    if len(known) != 1:
        raise InvalidArgument(
            "one claim is planned for; give one of epsilon=, mu= and rho=, got "
            f"{' and '.join(name for name, _ in known) or 'none of them'}",
            keywords=("epsilon", "mu", "rho"),
        )
    (name, value) = known[0]
    if not (isinstance(value, int | float) and 0 < value < inf):
        raise InvalidArgument(f"{name} must be positive and finite, got {value!r}")
    require(delta=delta, distance=distance)
    try:
        return curve_of(mu=mu, rho=rho, delta=delta or None), name, float(value)
    except ValueError as error:
        raise InvalidArgument(str(error)) from None


def _rates(
    curve: Curve | None, claimed: float, delta: float, distance: int, times: float, p: float
) -> tuple[Rates, Null]:
    """The rates of the event if the loss is `times` the claim, and the null that judges it."""
    if curve is None:
        q = other_probability(p, times * claimed, delta=delta, distance=distance)
        return (p, q), at_distance(claimed, delta, distance)
    true = curve.scaled(times * claimed)

    def above(q: float) -> bool:
        epsilon, slack = grouped_line(true, q, distance)
        return exp(min(epsilon, 600.0)) * q + slack >= p

    low, high = -30.0, 0.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if above(p * exp(middle)) else (middle, high)
    q = p * exp(high)
    return (p, q), grouped_line(curve, q, distance)


def _first(holds: Callable[[float], bool]) -> float:
    """The least multiple above 1 from which on a condition holds; infinite if none does."""
    low, high = 1.0, 1.1
    while not holds(high):
        low, high = high, 1 + 2 * (high - 1)
        if high > MOST_NOTICE:
            return inf
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Seconds of a draw: by all workers together, and by one process `alone`.

    `lone` are the draws that are made in a process of their own if the claim is refuted.
    """

    draw: float
    alone: float
    lone: int = LONE


def remaking(trials: int, price: Price) -> float:
    """Seconds that making draws again takes where `trials` a side refute a claim."""
    again = max(LEAST, min(MOST, PART * trials / 2)) if price.alone > 1e-4 else MOST
    lone = min(2 * price.lone, max(2 * FEWEST, 2 * PART * trials))
    return (min(2 * trials, 4 * again) + lone) * price.alone


def trials_within(seconds: float, price: Price) -> int:
    """Draws a side that can be made, and some made again, in so many seconds; at least 2."""
    low, high = 2, max(2, int(seconds / (2 * price.draw)))
    while low < high:
        middle = (low + high + 1) // 2
        fits = 2 * middle * price.draw + remaking(middle, price) <= seconds
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def planned_in_time(
    seconds: float, price: Price, alpha: float, *, searching: bool
) -> tuple[int, float]:
    """Trials of an audit of slow calls in `seconds`, and the level of its last look."""
    left = (1 - KEPT_BACK) * seconds * (1 - SEARCHING if searching else 1.0)
    level = (WORST if searching else 1.0) * (1 - BESIDE) * LAST[-1][1] * alpha
    return trials_within(left, price), level


def foretold(
    claim: PrivacyClaim,
    *,
    seconds: float,
    price: Price,
    trials: int,
    level: float,
    searching: bool = False,
) -> str:
    """What can be seen with so many trials a side, if all that do not teach are counted at `level`.

    In a sentence. `searching` says that the pair has to be found first.
    """
    size, name = claim.epsilon, "epsilon"
    if claim.curve is not None:
        size, name = claim.curve.size, claim.curve.parameter
    calls = f"about {seconds / price.draw:,.0f} calls in {seconds:,.4g} s"
    begun = f"{calls}, {trials:,} of them on each database of the pair that decides: "
    sure, times = seen_in(trials - most_taught(trials), claim, level)
    if not sure:
        return (
            f"{begun}too few to see even an event that has probability .5 on one of them and 0 on "
            "the other; give more seconds"
        )
    shown = f"{begun}an event of probability .5 on one of them and 0 on the other will be seen"
    if isfinite(times):
        shown += (
            f", a loss of less than {times:.3g} times the claim ({name} {times * size:.3g}) by an "
            "event as likely will not"
        )
    return f"{shown}; the search may miss the pair that shows it" if searching else shown
