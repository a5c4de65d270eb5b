"""A privacy claim decided by the exact laws of two databases, enumerated from the code.

With p and q the laws of both, the claim says that sum max(p(y) - e^epsilon q(y), 0) <= delta, in
both orders; the sum is over the outputs y and is worked out in fractions. Two things keep it from
being a plain comparison, and both are told:

- constants in the code are doubles, so a probability is known up to `ROUNDING`; what a claim misses
  by less is no fault of the mechanism. An output that is impossible stays so.
- a tail of paths may not have been followed. Its mass is a delta where a claim is proved; where one
  is refuted all of it is given to the side that would have to be larger.

The proof is in docs/statistics.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, inf, log

import numpy as np

from ...mechanisms.model import Database, Histogram, Pair, PrivacyClaim, Rows, Value
from ..bounds.two_sample import at_distance
from ..databases.domains import universe
from ..errors import ContractError
from ..events.events import Event, Outcomes
from ..outputs.encoding import identity
from ..results.results import AuditFacts, AuditResult, ExactResult, Verdict
from ..sampling.sampling import Sampler
from ..workers.door import is_client, pickled
from .enumeration import (
    OTHERWISE,
    Laws,
    Limits,
    enumerate_laws,
    first_path,
    follow_alone,
    keys_anew,
)
from .uniforms import ZERO

ROUNDING = Fraction(1, 10**14)
"""What is not known of the probability of an event: some hundred roundings of doubles."""
SPARED = Fraction(1, 10**9)
"""Most of a probability that roundings excuse where a claim is proved: times e^epsilon they would
excuse anything at an epsilon of 33, and nothing is proved by them."""
EQUAL = 1e-9
"""Log-ratios that differ by less are told as one."""
NEAR = 1e-11
"""Losses of pairs, worked out in doubles, that differ by less of themselves may be in any order."""
FEW = 32
"""Pairs that are worked out in fractions though doubles prove them: the first of the worst."""
CELLS = 1 << 20
"""Doubles of one table while they do."""
LARGEST = 700.0
"""An epsilon above which e^epsilon is not written as a number: nothing finite breaks it."""
TRIED = 20_000
"""Runs after which an enumeration gives up that nobody asked for."""
ASKED = 1_000_000
"""Runs after which one gives up that was asked for."""
LONG = 60.0
"""CPU seconds after which it does."""
UNIVERSES = (12, 60, 300)
"""Databases of the universes that are tried one after the other."""
LONGEST = 2000
"""Characters of a fraction that are written out."""


@dataclass(frozen=True, slots=True)
class Order:
    """What two laws say of a claim in one order: `event` is over the places of the outputs."""

    verdict: Verdict
    epsilon: float
    delta: float
    event: tuple[int, ...]
    chances: tuple[Fraction, Fraction]


def order(laws: Laws, first: int, second: int, epsilon: float, delta: float) -> Order:
    """Check the claim for the first of two databases against the second."""
    p, q = laws.chances[first], laws.chances[second]
    tails = laws.tails[first], laws.tails[second]
    factor = Fraction(exp(min(epsilon, LARGEST)))
    allowed = Fraction(delta) * (1 + Fraction(1, 10**12))
    above = [y for y in range(len(p)) if p[y] > factor * q[y]]
    excess = sum((p[y] - factor * q[y] for y in above), ZERO)

    def refutes(event: Sequence[int]) -> bool:
        alone = sum((p[y] for y in event if not q[y]), ZERO) - ROUNDING
        both = [y for y in event if q[y]]
        rest = sum((p[y] - factor * q[y] for y in both), ZERO) - ROUNDING * (1 + factor)
        return max(alone, ZERO) + max(rest, ZERO) - factor * tails[1] > allowed

    def chances(event: Sequence[int]) -> tuple[Fraction, Fraction]:
        return sum((p[y] for y in event), ZERO), sum((q[y] for y in event), ZERO)

    verdict = Verdict.INCONCLUSIVE
    event: Sequence[int] = ()
    if refutes(above):
        verdict = Verdict.REFUTED
        event = _telling(p, q, above) if not delta else above
        event = event if refutes(event) else above
    elif excess <= allowed + min(ROUNDING * (1 + factor), SPARED):
        verdict = Verdict.PROVED
    found = chances(event)
    if verdict is Verdict.REFUTED and not delta:
        # Of the event itself; what was not followed may all lie in it on the other side.
        least = _ratio(found[0], found[1] + tails[1])
    else:
        hair = min((ROUNDING + sum(tails)) * (1 + factor), SPARED + sum(tails))
        least = _smallest(p, q, Fraction(delta) or hair)
    return Order(
        verdict=verdict,
        epsilon=least,
        delta=float(excess + tails[0]),
        event=tuple(event),
        chances=found,
    )


def _ratio(one: Fraction, other: Fraction) -> float:
    if not other:
        return inf
    ratio = one / other
    return log(ratio.numerator) - log(ratio.denominator)


def _telling(p: Sequence[Fraction], q: Sequence[Fraction], above: Sequence[int]) -> list[int]:
    """The outputs with the largest log-ratio."""
    ratios = {y: _ratio(p[y], q[y]) for y in above if p[y] > ROUNDING}
    most = max(ratios.values(), default=inf)
    return [y for y, ratio in ratios.items() if ratio >= most - EQUAL]


def _smallest(p: Sequence[Fraction], q: Sequence[Fraction], delta: Fraction) -> float:
    """The smallest epsilon >= 0 that holds at delta in this order, but for a hair of rounding."""
    ratios = sorted(((_ratio(p[y], q[y]), y) for y in range(len(p)) if p[y]), reverse=True)
    # The excess is convex and piecewise linear in e^epsilon: the piece that comes down to delta.
    one, other = ZERO, ZERO
    for (ratio, y), following in zip(ratios, [*(r for r, _ in ratios[1:]), -inf], strict=True):
        one, other = one + p[y], other + q[y]
        if one <= delta:
            continue
        found = _ratio(one - delta, other)
        if found >= following:
            return max(min(found, ratio), 0.0)
    return 0.0


@dataclass(frozen=True, slots=True)
class Checked:
    """What the laws of a pair say of a claim in its worse order, the likelier side first."""

    verdict: Verdict
    epsilon: float
    delta: float
    tail: float
    pair: Pair
    event: Event | None
    chances: tuple[str, str]


def checked(laws: Laws, places: tuple[int, int], pair: Pair, claim: PrivacyClaim) -> Checked:
    """Check the claim on a pair whose databases have these places in the laws."""
    epsilon, delta = at_distance(claim.epsilon, claim.delta, claim.steps)
    orders = [order(laws, *turned, epsilon, delta) for turned in (places, places[::-1])]
    undecided = any(one.verdict is Verdict.INCONCLUSIVE for one in orders)
    worse = max(
        (0, 1),
        key=lambda n: (
            orders[n].verdict is Verdict.REFUTED,
            orders[n].epsilon,
            orders[n].delta,
            -n,
        ),
    )
    found = orders[worse]
    verdict = found.verdict
    if verdict is Verdict.PROVED and undecided:
        verdict = Verdict.INCONCLUSIVE
    event: Event | None = None
    if verdict is Verdict.REFUTED:
        rows = laws.outputs.rows()
        event = Outcomes(tuple(rows[y] for y in found.event))
    return Checked(
        verdict=verdict,
        epsilon=found.epsilon / claim.steps,
        delta=max(one.delta for one in orders),
        tail=float(max(laws.tails[place] for place in places)),
        pair=pair if worse == 0 else pair.reversed(),
        event=event,
        chances=(_written(found.chances[0]), _written(found.chances[1])),
    )


def _to_check(laws: Laws, places: np.ndarray, claim: PrivacyClaim) -> list[int]:
    """Which of the pairs are to be checked in fractions, so that the worst is among them.

    `places` are (n, 2) numbers of databases. Doubles prove most pairs: a law comes to them within
    u = 2^-53 of each probability, and p - e^epsilon q adds three roundings more, so that the excess
    in doubles is within 4 u (1 + e^epsilon) of the true one, and adding k terms changes it by k u
    of itself. Twice that is allowed for here. Only a pair that keeps the claim with so much to
    spare is left out, and it must be far from the worst.
    """
    if len(places) <= FEW:
        return list(range(len(places)))
    epsilon, delta = at_distance(claim.epsilon, claim.delta, claim.steps)
    table = np.array([[float(chance) for chance in law] for law in laws.chances])
    tails = np.array([float(tail) for tail in laws.tails])
    step = max(1, CELLS // table.shape[1])
    proved = np.ones(len(places), dtype=bool)
    loss = np.zeros((2, len(places)))
    for turned in (places, places[:, ::-1]):
        for start in range(0, len(places), step):
            here = slice(start, start + step)
            one, other = turned[here].T
            fine, found = _in_doubles(table[one], table[other], tails[one], tails[other],
                                      epsilon, delta)  # fmt: skip
            proved[here] &= fine
            loss[:, here] = np.maximum(loss[:, here], found)
    first, second = loss[::-1] if delta else loss
    near = proved & (first >= (1 - NEAR) * first[proved].max(initial=0.0))
    near &= second >= (1 - NEAR) * second[near].max(initial=0.0)
    kept = np.flatnonzero(near)[:FEW]
    return sorted({*kept.tolist(), *np.flatnonzero(~proved).tolist()})


def _in_doubles(
    p: np.ndarray, q: np.ndarray, tail: np.ndarray, others: np.ndarray, epsilon: float, delta: float
) -> tuple[np.ndarray, np.ndarray]:
    """Whether the claim surely holds for each pair of laws, and its (epsilon, delta), in rows."""
    factor = exp(min(epsilon, LARGEST))
    rounding, spared = float(ROUNDING), float(SPARED)
    gap = np.maximum(p - factor * q, 0.0)
    alone, both = np.where(q > 0, 0.0, gap).sum(axis=1), np.where(q > 0, gap, 0.0).sum(axis=1)
    excess = alone + both
    unit = 2.0**-52
    unsure = unit * (4 * (1 + factor) + p.shape[1] * excess)
    fine = excess + unsure <= delta + min(rounding * (1 + factor), spared)
    # An impossible output is forgiven less: see `order`.
    apart = np.maximum(alone + unsure - rounding, 0)
    apart += np.maximum(both + unsure - rounding * (1 + factor), 0)
    fine &= apart <= delta
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(p > 0, np.log(p) - np.log(q), -inf)
        ways = np.argsort(-ratio, axis=1)
        ratio = np.take_along_axis(ratio, ways, axis=1)
        mine = np.take_along_axis(p, ways, axis=1).cumsum(axis=1)
        theirs = np.take_along_axis(q, ways, axis=1).cumsum(axis=1)
        sides = tail + others
        hair = np.minimum((rounding + sides) * (1 + factor), spared + sides)
        allowed = np.full_like(sides, delta) if delta else hair
        # As `_smallest` does, piece by piece.
        found = np.log(np.maximum(mine - allowed[:, None], 0)) - np.log(theirs)
        following = np.column_stack([ratio[:, 1:], np.full(len(ratio), -inf)])
        first = ((mine > allowed[:, None]) & (found >= following)).argmax(axis=1)[:, None]
        least = np.minimum(
            *(np.take_along_axis(one, first, axis=1)[:, 0] for one in (found, ratio))
        )
    return fine, np.array([np.maximum(np.nan_to_num(least, nan=0.0, posinf=inf), 0), excess + tail])


def _written(chance: Fraction) -> str:
    # Python writes no whole number of more than 4,300 digits.
    if max(chance.numerator.bit_length(), chance.denominator.bit_length()) > 3 * LONGEST:
        return repr(float(chance))
    text = str(chance)
    return text if len(text) <= LONGEST else repr(float(chance))


def closed(sampler: Sampler, database: Database) -> str:
    """Why there are no laws to enumerate, as far as one call where the mechanism runs tells; ""."""
    if not sampler.seeded:
        return "it draws its own randomness"
    if is_client(sampler.run):
        return "it runs in a process of its own, whose draws are not seen"
    if outside := sampler.door.outside():
        return (
            f"it uses {', '.join(outside[:3])}, which outlives its process: what it keeps is there"
        )
    return str(sampler.door.ask(first_path, (database,), sampler.vectorised, sampler.exceptions))


MOST_IMPORTS, IMPORTING = 256, 2.0
"""Processes that import the modules anew to look at a few paths again, and their seconds."""


def laws_of(
    sampler: Sampler,
    databases: Sequence[Database],
    stages: Sequence[int],
    limits: Limits,
) -> Laws | str:
    """The laws of as many databases as the limits allow, or why there are none.

    `stages` are the numbers of databases after which the rest may be left out; the first is needed.
    The mechanism, which is not `closed`, is called in a process that has never called it.
    """
    asked = sampler.vectorised, sampler.exceptions
    encoded = [pickled(database) for database in databases]
    found: Laws | str = sampler.door.fresh(
        enumerate_laws, (), encoded, *asked, tuple(stages), limits
    )
    if isinstance(found, Laws) and sampler.door.remakes:
        otherwise = sampler.door.fresh(follow_alone, (), encoded, *asked, found.some)
        if not otherwise:
            alike, _ = sampler.door.anew(
                keys_anew, encoded, *asked, found.some, seconds=IMPORTING,
                imports=min(sampler.tally.deciding.lone, MOST_IMPORTS),
            )  # fmt: skip
            if any(one != alike[0] for one in alike):
                otherwise = OTHERWISE
        return otherwise or found
    return found


def exact_pair(sampler: Sampler, pair: Pair, claim: PrivacyClaim) -> Checked | str:
    """Check the claim on one pair, or why that cannot be done."""
    if reason := closed(sampler, pair.database):
        return reason
    limits = Limits(ASKED, seconds=LONG)
    laws = laws_of(sampler, (pair.database, pair.neighbour), (2,), limits)
    return laws if isinstance(laws, str) else checked(laws, (0, 1), pair, claim)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The pairs to check: those that were judged, and more where there is a small universe.

    `asked` says that somebody asked for an exact verdict, `alone` that the judged pair is the only
    one that there is. An enumeration that nobody asked for may make so many `calls`, see `Limits`,
    and take so many `seconds` of CPU time; `until` is the moment of `time.monotonic` at which an
    audit in seconds ends.
    """

    judged: tuple[Pair, ...]
    seen: tuple[Pair, ...] = ()
    domain: object = None
    asked: bool = False
    alone: bool = False
    calls: float = inf
    seconds: float = LONG
    until: float = inf


def with_exact(result: AuditResult, sampler: Sampler, wanted: Wanted) -> AuditFacts:
    """What is known with the exact laws, where they can be enumerated."""
    try:
        found = _found(result, sampler, wanted)
    except ContractError as error:
        # It keeps its contract with numpy's generator: that was seen before.
        found = f"it fails where its generator is enumerated: {error}"
    if isinstance(found, ExactResult) and found.verdict is Verdict.PROVED and result.refuted:
        found = CONTRADICTED
    if isinstance(found, str):
        return replace(result, not_exact=found) if wanted.asked else result
    return replace(result, exact=found)


CONTRADICTED = (
    "the draws refute what enumeration would prove, so either the mechanism treats its generator "
    "otherwise where it is enumerated, or the draws are the accident that alpha allows"
)


def _found(result: AuditResult, sampler: Sampler, wanted: Wanted) -> ExactResult | str:
    claim = result.claim
    if claim.curve is not None:
        return "the claim is a whole curve, and they decide one (epsilon, delta) at a time"
    # Most mechanisms are closed, and then nobody needs the databases of small universes.
    if reason := closed(sampler, wanted.judged[0].database):
        return reason
    databases, sets = _sets(claim, wanted)
    limits = (
        Limits(ASKED, seconds=LONG, until=wanted.until)
        if wanted.asked
        else Limits(TRIED, wanted.calls, wanted.seconds, wanted.until)
    )
    every = list(databases.values())
    laws = laws_of(sampler, every, [count for count, _, _ in sets], limits)
    if isinstance(laws, str):
        return laws
    done = len(laws.chances)
    _, pairs, scope = [one for one in sets if one[0] <= done][-1]
    places = {key: place for place, key in enumerate(databases)}
    numbers = [(places[identity(p.database)], places[identity(p.neighbour)]) for p in pairs]
    made = [
        checked(laws, numbers[place], pairs[place], claim)
        for place in _to_check(laws, np.array(numbers), claim)
    ]
    refuted = [one for one in made if one.verdict is Verdict.REFUTED]
    if not refuted and any(one.verdict is Verdict.INCONCLUSIVE for one in made):
        return "what was not followed is too likely to decide the claim"
    # The first of equals, which is the smallest.
    worst = max(refuted or made, key=lambda one: (one.epsilon, one.delta) if not claim.delta
                else (one.delta, one.epsilon))  # fmt: skip
    return ExactResult(
        scope=scope,
        pairs=len(pairs),
        runs=laws.runs,
        outcomes=len(laws.outputs),
        asked=wanted.asked,
        epsilon=worst.epsilon,
        delta=worst.delta,
        tail=max(one.tail for one in made),
        pair=worst.pair,
        event=worst.event,
        chances=worst.chances,
    )


def _sets(
    claim: PrivacyClaim, wanted: Wanted
) -> tuple[dict[bytes, Database], list[tuple[int, list[Pair], str]]]:
    """All databases by their bytes, and (how many of them it needs, pairs, words) of each set."""
    known: dict[bytes, Database] = {}
    sets: list[tuple[int, list[Pair], str]] = []

    def add(pairs: Sequence[Pair], scope: str) -> None:
        different = {(identity(pair.database), identity(pair.neighbour)): pair for pair in pairs}
        kept = []
        for keys, pair in different.items():
            if keys[0] != keys[1]:
                kept.append(pair)
                for key, database in zip(keys, (pair.database, pair.neighbour), strict=True):
                    known.setdefault(key, database)
        if kept and scope and (not sets or len(kept) > len(sets[-1][1])):
            sets.append((len(known), kept, scope))

    judged = list(wanted.judged)
    some = "this pair" if len(judged) == 1 else "the pairs that were judged"
    add(judged, some)
    if wanted.alone:
        return known, sets
    if isinstance(wanted.domain, Rows | Histogram | Value):
        for most in UNIVERSES:
            small = universe(wanted.domain, claim.relation, claim.distance, most)
            add([*small.pairs, *judged], small.scope)
    elif wanted.seen:
        add([*judged, *wanted.seen], f"all {len(wanted.seen)} pairs that the search looked at")
    return known, sets
