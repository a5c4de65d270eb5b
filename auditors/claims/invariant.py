"""Invariants: a search for a case with a negative margin, and the way down to a minimal one.

Cases come from the claim's examples, then from Hypothesis, which is steered towards small margins,
then from a greedy adversary that moves one number at a time in the worst case so far. Noise is
part of the case, so its event is searched to the edge. The same seed visits the same cases.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import isnan
from typing import Any

import numpy as np

from ...mechanisms.model import InvariantCase, InvariantClaim
from ..databases.cases import case_strategy, leaves, replaced, simpler
from ..databases.examples import explore
from ..errors import ContractError
from ..evidence.record import MarginsRecord
from ..evidence.write import number
from ..outputs.encoding import canonical, show
from ..privacy.budget import Budget
from ..sampling.gate import CAUSES, require_inside, require_same_anew
from ..sampling.parts import with_parts
from ..workers import Door, Worker
from ..workers.children import aside
from ..workers.door import copied, pickled
from ..workers.wire import packed
from .claim_results import Finding
from .derive import derive

SHARE = 200
"""One case is looked at for this many draws of the budget."""
LEAST, MOST = 50, 1000
"""Cases that are looked at, within these."""
SHRINKS = 2000
"""Margins computed on the way to the smallest counterexample, at most."""
WORST = 10
"""Cases of least margin that are told."""
AGAIN = 32
"""Margins that are computed again in a fresh process, beside that of a counterexample."""
LIMIT = 600.0
"""Seconds that one margin may take."""


@dataclass(slots=True)
class _Seen:
    """The cases visited with their margins, each computed once, where code of others runs."""

    claim: InvariantClaim
    door: Door
    margins: dict[bytes, float] = field(default_factory=dict)
    cases: dict[bytes, Any] = field(default_factory=dict)

    def margin(self, case: InvariantCase) -> float:
        """The margin of a case, minus infinity when it is not a number."""
        key = canonical(case)
        if key not in self.margins:
            self.margins[key] = self.door.ask(_margin, (case,))
            self.cases[key] = case
        return self.margins[key]

    def fails(self, case: InvariantCase) -> bool:
        """Whether the case is a counterexample."""
        return self.margin(case) < -self.claim.tolerance

    def gate(self, failing: Any | None) -> None:
        """Compute some margins again in a fresh process; ContractError where one differs."""
        keys = list(self.margins)
        some = [keys[int(n)] for n in np.linspace(0, len(keys) - 1, min(AGAIN, len(keys)))]
        if failing is not None:
            some.append(canonical(failing))
        some = list(dict.fromkeys(some))[::-1]
        again = self.door.fresh(_margins, [self.cases[key] for key in some])
        for key, margin in zip(some, again, strict=True):
            if margin != self.margins[key]:
                raise ContractError(
                    f"the margin of case {show(self.cases[key])} was {self.margins[key]:g} and is "
                    f"{margin:g} when it is computed alone in a fresh process, {CAUSES}"
                )
        if failing is not None:
            encoded = [pickled(self.cases[key]) for key in some]
            require_same_anew(self.door, _margins_anew, encoded)
            require_inside(self.door)

    def worst(self, count: int) -> list[bytes]:
        """The cases of least margin, the simplest first among equals."""
        order = sorted(self.margins, key=lambda key: (self.margins[key], len(key), key))
        return order[:count]


def _margin(worker: Worker, cases: Sequence[InvariantCase]) -> float:
    """The margin of a case, minus infinity when it is no number; where code of others runs."""
    worker.beat()
    found = worker.run.number(cases[0])  # type: ignore[attr-defined]  # a ClaimPart, see `with_parts`
    return -np.inf if isnan(found) else found


def _margins(worker: Worker, cases: Sequence[InvariantCase]) -> list[float]:
    """The margin of each case, where no other was computed before."""
    each = [partial(_margin, worker, (case,)) for case in cases]
    return [aside(one) if worker.alone else one() for one in each]


def _margins_anew(
    worker: Worker, _: Sequence[Any], encoded: Sequence[bytes], turned: bool
) -> list[tuple[bytes, str]]:
    """The margins, in an order or the opposite one; see `require_same_anew`."""
    order = range(len(encoded))
    found = {
        place: _margin(worker, (copied(encoded[place]),))
        for place in (reversed(order) if turned else order)
    }
    return [(packed(found[place]), f"a margin of {found[place]:g}") for place in order]


def audit_invariant(claim: InvariantClaim, budget: Budget) -> Finding:
    """Look for a counterexample among one case for every 200 trials; a failing one is shrunk."""
    claim = with_parts(claim, claim.identifier or "the invariant claim")
    door = Door(claim.margin, limit=LIMIT)
    seen, some = _Seen(claim, door), min(MOST, max(LEAST, budget.trials // SHARE))
    failing = next((case for case in claim.examples if seen.fails(case)), None)
    if failing is None:
        failing = _explored(seen, some, budget.seed)
    if failing is None:
        failing = _pushed(seen, some, budget.seed)
    looked_at = len(seen.margins)
    worst = [(seen.margins[key], show(seen.cases[key])) for key in seen.worst(WORST)]
    witness = _shrunk(seen, failing) if failing is not None else None
    if failing is not None:
        worst.insert(0, (seen.margin(witness), show(witness)))
    seen.gate(witness)
    told: MarginsRecord = {
        "worst": [{"margin": number(margin), "case": case} for margin, case in worst],
        "cases": looked_at,
        "tolerance": float(claim.tolerance),
        "low": None if claim.low is None else float(claim.low),
        "high": None if claim.high is None else float(claim.high),
        "method": "examples, property-based search and a greedy adversary",
    }
    found = derive({"margins": told}, budget)
    margins = tuple(sorted(seen.margins.values()))
    return replace(found, witness=witness, details={**found.details, "margins": margins})


def _explored(seen: _Seen, cases: int, seed: int) -> object:
    """The first counterexample Hypothesis meets, going for small margins."""
    found: list[Any] = []

    def score(case: InvariantCase) -> float:
        # Once there is a counterexample the rest of the run need not be computed.
        if found:
            return 0.0
        if seen.fails(case):
            found.append(case)
        return -seen.margin(case)

    explore(case_strategy(seen.claim.cases), seed, cases, score, attempts=3 * cases)
    return found[0] if found else None


def _pushed(seen: _Seen, cases: int, seed: int) -> object:
    """A counterexample reached from the worst cases by moving one number at a time."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 8])))
    left = cases
    for key in seen.worst(3):
        case, best = seen.cases[key], seen.margins[key]
        moved = True
        while moved and left > 0:
            moved = False
            places = list(leaves(case, seen.claim.cases))
            for index in rng.permutation(len(places)):
                place, leaf = places[index]
                for value in _moves(rng, case, place, leaf):
                    left -= 1
                    other = replaced(case, place, value)
                    if seen.margin(other) < best:
                        case, best, moved = other, seen.margin(other), True
                if seen.fails(case):
                    return case
                if left <= 0:
                    break
    return None


def _moves(
    rng: np.random.Generator, case: InvariantCase, place: tuple[Any, ...], leaf: Any
) -> list[object]:
    """Both ends, the middle of a random stretch and a small step; or another choice."""
    for step in place:
        case = case[step]
    values = getattr(leaf, "values", None)
    if values is not None:
        return [values[int(rng.integers(len(values)))]]
    low, high = leaf.low, leaf.high
    near = case + 0.05 * (high - low) * float(rng.normal())
    made = [low, high, float(rng.uniform(low, high)), min(max(near, low), high)]
    kind: Callable[[float], Any] = round if leaf.integer else float
    return [other for other in dict.fromkeys(map(kind, made)) if other != case]


def _shrunk(seen: _Seen, failing: Any) -> object:
    """A counterexample none of whose simpler forms is one (or the smallest within the effort)."""
    left, moved = SHRINKS, True
    while moved and left > 0:
        moved = False
        for other in simpler(failing, seen.claim.cases):
            left -= 1
            if seen.fails(other):
                failing, moved = other, True
                break
            if left <= 0:
                break
    return failing
