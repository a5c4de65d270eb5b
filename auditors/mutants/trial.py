"""One mutant before its claims: is it another function at all, and who notices.

A mutant that gives the outputs of the original for equal generators, on all the databases tried, is
equivalent as far as was seen, and no claim is asked about it. Of the others every claim is asked
with few draws, which tells the claims that see from those that are blind, and only where nobody
noticed with all draws. The two share one alpha.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...mechanisms.model import (
    Claim,
    Mechanism,
    Pair,
    PrivacyClaim,
    Subject,
    Theorem,
)
from ..claims.check import check
from ..claims.exact import exact_privacy
from ..claims.follows_law import follows_law
from ..databases.examples import harvest
from ..databases.neighbours import pair_source
from ..errors import (
    ContractError,
    DpWitnessError,
    HarnessError,
    InvalidArgument,
    MechanismHangs,
)
from ..outputs.encoding import canonical
from ..privacy.run import audit
from ..results.results import AuditResult, Verdict
from ..sampling.calls import accepts_size, guarded
from ..workers import Door, Worker

LAW = "the stated law"
SEEN, UNSEEN, EQUIVALENT = "seen", "not seen", "equivalent"
RAISES, HANGS, UNPLANTABLE, UNJUDGED = "raises", "does not end", "not planted", "not tried"
QUICK = 1 / 10
"""The part of the draws that the first round of questions takes."""
PROBES, RUNS = 12, 32
"""Pairs whose outputs are compared, and outputs of a call: a mutant with equal ones is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Court:
    """What judges every mutant of a mechanism: its promises, what they may cost, a pair.

    `known` are the pairs that the hunt found worst for each claim of the original; the first round
    of questions is about them.
    """

    claims: tuple[Claim, ...]
    theorems: tuple[Theorem, ...] = ()
    pair: Pair | None = None
    known: tuple[Pair | None, ...] = ()
    trials: int = 100_000
    alpha: float = 1e-3
    seed: int = 0
    timeout: float = 10.0

    @property
    def labels(self) -> tuple[str, ...]:
        """What each of those who judge is called, in their order."""
        own = [label_of(claim, place) for place, claim in enumerate(self.claims)]
        return (*own, LAW, *(theorem.identifier for theorem in self.theorems))


def label_of(claim: Claim, place: int) -> str:
    """What a claim is called in the report."""
    kind = type(claim).__name__.removesuffix("Claim").lower()
    return f"{kind} {claim.identifier}" if claim.identifier else f"{kind} claim {place + 1}"


def probes(mechanism: Mechanism, court: Court) -> list[Any]:
    """Databases on which a mutant is compared with the original, the worst known ones first.

    Raises InvalidArgument if there is none: two functions compared on nothing would seem equal.
    """
    found: list[Any] = []
    for pair in (court.pair, *court.known):
        if pair is not None:
            found += [pair.database, pair.neighbour]
    for claim in court.claims:
        found += list(getattr(claim, "databases", None) or ())[:3]
        if isinstance(claim, PrivacyClaim):
            for one, two in claim.examples[:3]:
                found += [one, two]
            if mechanism.databases is not None:
                source = pair_source(mechanism.databases, claim.relation, claim.distance, 0)
                # A strategy of the user's has no hand-made pairs.
                pairs = source.templates or harvest(source.strategy, court.seed)
                places = np.unique(np.linspace(0, max(len(pairs) - 1, 0), PROBES).round())
                found += [
                    database
                    for place in places.astype(int).tolist()[: len(pairs)]
                    for database in (pairs[place].database, pairs[place].neighbour)
                ]
    if not found:
        raise InvalidArgument(
            f"no database of {mechanism.name} is known, so its mutants can be compared with it on "
            "none; give a strategy of databases, or two databases"
        )
    return list({canonical(database): database for database in found}.values())


def outputs_on(mechanism: Mechanism, databases: Sequence[object], limit: float) -> list[str]:
    """What the mechanism returns for equal generators, encoded; ContractError where it fails."""
    door, sized = Door(mechanism.run, limit=limit), accepts_size(mechanism.run)
    return [
        text
        for place, database in enumerate(databases)
        for text in door.ask(_encoded, (database,), place, sized)
    ]


def _encoded(worker: Worker, databases: Sequence[object], place: int, sized: bool) -> list[str]:
    """Outputs of a few generators, encoded; runs where the mechanism runs."""
    found, size = [], {"size": RUNS} if sized else {}
    for seed in range(2 if sized else 8):
        rng = np.random.default_rng([place, seed])
        worker.beat()
        with guarded(worker, databases[0]):
            found.append(canonical(worker.run(databases[0], rng, **size)).hex())
    return found


def tried(
    mutant: Mechanism, court: Court, databases: Sequence[object], original: Sequence[str]
) -> dict[str, Any]:
    """What became of one mutant: `verdict`, `by` whom it was seen, and who was `asked`."""
    try:
        if outputs_on(mutant, databases, court.timeout) == list(original):
            if not court.theorems:
                return {"verdict": EQUIVALENT, "by": "", "asked": []}
            found = _theorems(court, court.trials)
            return found or {"verdict": EQUIVALENT, "by": "", "asked": []}
        saw, asked = _round(mutant, court, max(2, round(QUICK * court.trials)), everybody=True)
        if not saw:
            saw, _ = _round(mutant, court, court.trials, everybody=False)
        if saw:
            return {"verdict": SEEN, "by": saw, "asked": asked}
    except MechanismHangs as error:
        return {"verdict": HANGS, "by": str(error), "asked": []}
    except ContractError as error:
        return {"verdict": RAISES, "by": str(error), "asked": []}
    found = _theorems(court, court.trials)
    return found or {"verdict": UNSEEN, "by": "", "asked": asked}


def _round(
    mutant: Mechanism, court: Court, draws: int, *, everybody: bool
) -> tuple[list[str], list[str]]:
    """Who saw the fault and who was asked; the first to see it is enough unless `everybody`."""
    saw, asked = [], []
    own = court.labels[: len(court.claims)]
    share = court.alpha / 2 / (len(court.claims) + 1)
    known = court.known if everybody else (court.pair,) * len(own)
    for label, claim, pair in zip(own, court.claims, known, strict=True):
        asked.append(label)
        if _refuted(mutant, claim, court, pair, draws, share) or (
            not everybody and _refuted_exactly(mutant, claim)
        ):
            saw.append(label)
            if not everybody:
                return saw, asked
    if _lawful(mutant):
        asked.append(LAW)
        if follows_law(mutant, alpha=share, draws=draws, seed=court.seed).refuted:
            saw.append(LAW)
    return saw, asked


def _lawful(mechanism: Mechanism) -> bool:
    return mechanism.law is not None or mechanism.log_probability is not None


def with_known_pairs(mechanism: Mechanism, court: Court) -> tuple[Court, list[str]]:
    """The court, with the pairs that an audit of the original found, and the claims it refuted."""
    known: list[Pair | None] = []
    refuted = []
    for label, claim in zip(court.labels, court.claims, strict=False):
        known.append(None)
        if isinstance(claim, PrivacyClaim):
            result = _audited(mechanism, claim, court, court.pair, court.trials, court.alpha)
            known[-1] = result.pair
            broken = result.refuted
        else:
            broken = _refuted(mechanism, claim, court, None, court.trials, court.alpha)
        refuted += [label] if broken else []
    return replace(court, known=tuple(known)), refuted


def _refuted(
    mutant: Mechanism, claim: Claim, court: Court, pair: Pair | None, draws: int, alpha: float
) -> bool:
    if isinstance(claim, PrivacyClaim):
        return _audited(mutant, claim, court, pair, draws, alpha).refuted
    subject = Subject(claim=claim, mechanism=mutant)
    try:
        found = check(subject, alpha=alpha, trials=max(2, draws), seed=court.seed)
    except HarnessError:
        # The draws contradict an exact law or a range that the claim states.
        return True
    return found.refuted


def _refuted_exactly(mutant: Mechanism, claim: Claim) -> bool:
    """Whether the law that the mutant states breaks the claim: it may share the faulty function."""
    if not isinstance(claim, PrivacyClaim):
        return False
    found = exact_privacy(replace(mutant, claims=(claim,)), claim)
    return found is not None and found.verdict is Verdict.REFUTED


def _audited(
    mutant: Mechanism,
    claim: PrivacyClaim,
    court: Court,
    pair: Pair | None,
    draws: int,
    alpha: float,
) -> AuditResult:
    return audit(
        replace(mutant, claims=(claim,)),
        trials=draws,
        alpha=alpha,
        seed=court.seed,
        precision=None,
        pair=pair,
        timeout=court.timeout,
        exact=False,
    )


def _theorems(court: Court, draws: int) -> dict[str, Any] | None:
    """The first of the theorems that turns out otherwise than it should."""
    asked = []
    for theorem in court.theorems:
        asked.append(theorem.identifier)
        try:
            found = check(theorem, alpha=court.alpha / len(court.theorems), trials=draws)
            seen = (found.verdict is Verdict.REFUTED) == theorem.holds
        except (DpWitnessError, ArithmeticError, LookupError, TypeError, ValueError):
            seen = True
        if seen:
            return {"verdict": SEEN, "by": [theorem.identifier], "asked": asked}
    return None
