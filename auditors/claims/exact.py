"""Privacy claims checked exactly, from known laws, on every pair of a small universe.

`Mechanism.law` or `Mechanism.privacy_loss` gives the loss of each pair. The pairs are all pairs of
the universe the domain yields, some hand-made larger ones, and any the caller adds. "Proved" is
about those pairs and no others; "refuted" comes with the worst of them.
"""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from ...mechanisms.model import Curve, Database, Law, Mechanism, NotListable, Pair, PrivacyClaim
from ..bounds.two_sample import at_distance
from ..databases.neighbours import pair_source
from ..databases.universe import MOST, universe
from ..outputs.encoding import canonical, show
from ..results.results import Verdict
from .curve_laws import asked_at, size_bounds
from .loss_laws import (
    GaussianShift,
    LaplaceShift,
    Loss,
    delta_bounds,
    epsilon_of,
    losses_of,
    smallest_epsilon,
)

TOLERANCE = 1e-9
"""Nats, or part of a delta, by which rounding may pass the claim."""
HAND_MADE = 40
"""Hand-made pairs of the domain that are judged beside the universe, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactPrivacy:
    """The worst pair in its worse order, and the one that draws tell most of.

    They differ where the largest loss is that of an output which nearly never comes. `epsilon`
    is the smallest that holds at the claim's delta on all pairs and `delta` bounds the largest
    delta at the claim's epsilon from both sides, for the claim's distance (not of a single step).
    `rows` are (database, neighbour, epsilon or delta) of the worst pairs. Of a curve `size` bounds
    the least parameter that holds on all pairs, mu, rho or a factor, from both sides, and is that
    of the rows; epsilon and delta are those of the claim's point.
    """

    verdict: Verdict
    epsilon: float
    delta: tuple[float, float]
    pair: Pair
    telling: Pair
    scope: str
    rows: tuple[tuple[str, str, float], ...]
    size: tuple[float, float] | None = None


def exact_privacy(
    mechanism: Mechanism,
    claim: PrivacyClaim,
    *,
    pairs: tuple[Pair, ...] = (),
    most: int = MOST,
) -> ExactPrivacy | None:
    """Check the claim on all pairs of a small universe and on `pairs`; None without a law.

    The law is believed here; who draws compares the draws with it.
    """
    if mechanism.law is None and mechanism.privacy_loss is None:
        return None
    judged, scope = _pairs(mechanism, claim, pairs, most)
    if not judged:
        return None
    laws = _Laws(mechanism)
    if claim.curve is not None:
        return _exact_curve(laws, claim, claim.curve, judged, scope)
    epsilon, delta = at_distance(claim.epsilon, claim.delta, claim.steps)
    scored = []
    deltas: list[tuple[float, float]] = []
    for pair in judged:
        for turned in (pair, pair.reversed()):
            parts = laws.losses(turned)
            if delta == 0:
                scored.append((epsilon_of(parts), turned, parts))
            else:
                deltas.append(laws.deltas(parts, epsilon))
                scored.append((deltas[-1][0], turned, parts))
    # The first of equals, which is the smallest.
    value, pair, parts = max(scored, key=lambda one: one[0])
    bounds = laws.deltas(parts, epsilon)
    if delta == 0:
        least = value
        verdict = Verdict.REFUTED if value > epsilon + TOLERANCE else Verdict.PROVED
    else:
        # With the verdict's slack: a delta that is just the stated one is enough.
        enough = delta * (1 + TOLERANCE)
        least = smallest_epsilon(parts, enough)
        if value == 0:
            # No pair needs delta at the claimed epsilon, which does not tell the worst of them.
            for _, turned, others in scored:
                if delta_bounds(others, least)[0] > enough:
                    pair, least = turned, smallest_epsilon(others, enough)
        verdict = _verdict(deltas, delta)
    rows = sorted(scored, key=lambda one: -one[0])[:10]
    telling = pair
    if delta == 0:
        # How often an event happens beyond what a loss of this size allows; of a true claim, beyond
        # half of it.
        beyond = epsilon if verdict is Verdict.REFUTED else epsilon / 2
        telling = max(scored, key=lambda one: laws.deltas(one[2], beyond)[0])[1]
    return ExactPrivacy(
        verdict=verdict,
        epsilon=least,
        delta=bounds,
        pair=pair,
        telling=telling,
        scope=scope,
        rows=tuple((show(p.database), show(p.neighbour), value) for value, p, _ in rows),
    )


def _exact_curve(
    laws: "_Laws", claim: PrivacyClaim, curve: Curve, judged: list[Pair], scope: str
) -> ExactPrivacy:
    """A whole curve on every pair: the least parameter that holds, against the one claimed."""
    known: dict[tuple[bytes, ...], tuple[float, float]] = {}
    scored: list[tuple[tuple[float, float], Pair]] = []
    for turned in (way for pair in judged for way in (pair, pair.reversed())):
        parts = laws.losses(turned)
        key = tuple(sorted(_named(part) for part in parts))
        if key not in known:
            known[key] = size_bounds(parts, curve, claim.distance) if parts else (0.0, 0.0)
        scored.append((known[key], turned))
    # The first of equals, which is the smallest.
    (low, _), pair = max(scored, key=lambda one: one[0])
    most = max(upper for (_, upper), _ in scored)
    slack = curve.size * (1 + TOLERANCE)
    verdict = Verdict.INCONCLUSIVE
    if low > slack:
        verdict = Verdict.REFUTED
    elif most <= slack:
        verdict = Verdict.PROVED
    parts = laws.losses(pair)
    rows = sorted(scored, key=lambda one: -one[0][0])[:10]
    return ExactPrivacy(
        verdict=verdict,
        epsilon=smallest_epsilon(parts, claim.delta) if claim.delta else epsilon_of(parts),
        delta=laws.deltas(parts, claim.epsilon),
        pair=pair,
        telling=pair,
        scope=scope + (f", {asked}" if (asked := asked_at(curve, claim.distance)) else ""),
        rows=tuple((show(p.database), show(p.neighbour), value) for (value, _), p in rows),
        size=(low, most),
    )


def _verdict(bounds: list[tuple[float, float]], delta: float) -> Verdict:
    slack = delta * (1 + TOLERANCE)
    if max(low for low, _ in bounds) > slack:
        return Verdict.REFUTED
    if max(high for _, high in bounds) <= slack * (1 + TOLERANCE):
        return Verdict.PROVED
    return Verdict.INCONCLUSIVE


def pair_losses(mechanism: Mechanism, pair: Pair) -> list[Loss] | None:
    """The exact losses of one pair in its order; None without a law that can be listed."""
    if mechanism.law is None and mechanism.privacy_loss is None:
        return None
    try:
        return _Laws(mechanism).losses(pair)
    except NotListable:
        return None


class _Laws:
    """Laws of databases, each computed once."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.known: dict[bytes, Law] = {}
        # Pairs share their databases, so most are the very object seen before; it is kept here.
        self.seen: dict[int, tuple[Database, Law]] = {}
        self.summed: dict[tuple[float, tuple[bytes, ...]], tuple[float, float]] = {}

    def law(self, database: Database) -> Any:
        if id(database) not in self.seen:
            key = canonical(database)
            if key not in self.known and self.mechanism.law is not None:
                self.known[key] = self.mechanism.law(database)
            self.seen[id(database)] = database, self.known[key]
        return self.seen[id(database)][1]

    def losses(self, pair: Pair) -> list[Loss]:
        if self.mechanism.privacy_loss is not None:
            return [self.mechanism.privacy_loss(pair.database, pair.neighbour)]
        return losses_of(self.law(pair.database), self.law(pair.neighbour))

    def deltas(self, parts: list[Loss], epsilon: float) -> tuple[float, float]:
        """Bounds of delta at `epsilon`; equal losses are summed once."""
        key = epsilon, tuple(sorted(_named(part) for part in parts))
        if key not in self.summed:
            self.summed[key] = delta_bounds(parts, epsilon)
        return self.summed[key]


def _named(part: Loss) -> bytes:
    """What tells one loss from another, in a few bytes."""
    if isinstance(part, LaplaceShift | GaussianShift):
        return repr(part).encode()
    digest = blake2b(repr(part.infinite).encode(), digest_size=16)
    for numbers in (part.losses, part.probabilities):
        digest.update(np.asarray(numbers, dtype=float).tobytes())
    return digest.digest()


def _pairs(
    mechanism: Mechanism, claim: PrivacyClaim, given: tuple[Pair, ...], most: int
) -> tuple[list[Pair], str]:
    from ...mechanisms.model import Histogram, Rows, Value

    domain, relation, distance = mechanism.databases, claim.relation, claim.distance
    found: list[Pair] = []
    scope = ""
    if isinstance(domain, Rows | Histogram | Value):
        enumerated = universe(domain, relation, distance, most)
        found, scope = list(enumerated.pairs), enumerated.scope
    if domain is not None:
        found += pair_source(domain, relation, distance, 0).templates[:HAND_MADE]
    found += [Pair(*example) for example in claim.examples]
    judged = {canonical((pair.database, pair.neighbour)): pair for pair in [*found, *given]}
    more = len(judged) - (len(enumerated.pairs) if scope else 0)
    extra = f"{more} hand-made pairs" if more > 0 else ""
    return list(judged.values()), " and ".join(filter(None, (scope, extra)))
