"""Invariants: a search for a case with a negative margin, and the way down to a minimal one.

Cases come from the claim's examples, then from Hypothesis, then from a greedy adversary that
changes one place at a time in the worst cases so far: a number, a choice, how long a list is, how
the records of a histogram lie. Noise is part of the case, so its event is searched to the edge.
The same seed visits the same cases.

Hypothesis could steer towards small margins itself; the adversary, which knows where the numbers
are, comes as near in half of the time (docs/decisions.md).

An identity, arithmetic that comes out as stated or does not, has one case and needs no search.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice, takewhile
from math import isnan

import numpy as np

from ...mechanisms.model import IdentityClaim, InvariantCase, InvariantClaim, Rows
from ..asked import Budget
from ..databases.cases import case_strategy, moves, places, replaced, simpler
from ..databases.examples import harvest
from ..errors import ContractError
from ..evidence.record import IdentityRecord, MarginsRecord, number
from ..outputs.encoding import canonical, show
from ..sampling.again import ALLOWED, CAUSES, LONE, require_inside
from ..sampling.parts import with_parts
from ..workers import Door, Worker
from ..workers.anew import require_same_anew
from ..workers.children import aside
from ..workers.door import copied, pickled
from ..workers.wire import packed
from .claim_results import Finding
from .derive import derive

SHARE = 400
"""Hypothesis makes one case for this many draws of the budget."""
LEAST, MOST = 50, 1000
"""Cases that Hypothesis makes, within these."""
TOGETHER = 50
"""Cases whose margins are asked for in one question to the process of the claim, at most."""
STARTS, PUSHES = 5, 4
"""Worst cases that the adversary starts from, and its moves for each case that was made."""
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
    cases: dict[bytes, InvariantCase] = field(default_factory=dict)

    def look(self, cases: Sequence[InvariantCase]) -> list[float]:
        """The margins of the cases, minus infinity for no number; none after a counterexample."""
        keys = [canonical(case) for case in cases]
        new = {key: case for key, case in zip(keys, cases, strict=True) if key not in self.margins}
        asked = list(new)
        for start in range(0, len(asked), TOGETHER):
            some = asked[start : start + TOGETHER]
            cases_of = [new[key] for key in some]
            found = self.door.ask(_until_one_fails, cases_of, self.claim.tolerance)
            for key, margin in zip(some, found, strict=False):
                self.margins[key], self.cases[key] = margin, new[key]
            if len(found) < len(some):
                break
        known = list(takewhile(self.margins.__contains__, keys))
        return [self.margins[key] for key in known]

    def failing(self, cases: Sequence[InvariantCase]) -> InvariantCase | None:
        """The first counterexample among the cases."""
        margins = self.look(cases)
        return next((c for c, m in zip(cases, margins, strict=False) if self.refutes(m)), None)

    def refutes(self, margin: float) -> bool:
        """Whether a case of this margin is a counterexample."""
        return margin < -self.claim.tolerance

    def gate(self, failing: InvariantCase | None) -> None:
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
            found, _ = self.door.anew(_margins_anew, encoded, imports=LONE, seconds=ALLOWED)
            require_same_anew(found)
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


def _until_one_fails(
    worker: Worker, cases: Sequence[InvariantCase], tolerance: float
) -> list[float]:
    """The margins of the cases in their order, the first counterexample's the last."""
    found: list[float] = []
    for case in cases:
        found.append(_margin(worker, (case,)))
        if found[-1] < -tolerance:
            break
    return found


def _margins(worker: Worker, cases: Sequence[InvariantCase]) -> list[float]:
    """The margin of each case, where no other was computed before."""
    each = [partial(_margin, worker, (case,)) for case in cases]
    return [aside(one) if worker.alone else one() for one in each]


def _margins_anew(
    worker: Worker, _: Sequence[object], encoded: Sequence[bytes], process: int
) -> list[tuple[bytes, str]]:
    """The margins, every other process in the opposite order: see `require_same_anew`."""
    order = range(len(encoded))
    found = {
        place: _margin(worker, (copied(encoded[place]),))
        for place in (reversed(order) if process % 2 else order)
    }
    return [(packed(found[place]), f"a margin of {found[place]:g}") for place in order]


def audit_invariant(claim: InvariantClaim, budget: Budget) -> Finding:
    """Look for a counterexample, in more cases for more trials; one that is found is shrunk."""
    claim = with_parts(claim, claim.identifier or "the invariant claim")
    door = Door(claim.margin, limit=LIMIT)
    seen, some = _Seen(claim, door), min(MOST, max(LEAST, budget.trials // SHARE))
    failing = seen.failing(claim.examples)
    if failing is None:
        made = harvest(case_strategy(claim.cases), budget.seed, some, mutated=False)
        failing = seen.failing(made)
    if failing is None:
        failing = _pushed(seen, PUSHES * some, budget.seed)
    looked_at = len(seen.margins)
    worst = [(seen.margins[key], show(seen.cases[key])) for key in seen.worst(WORST)]
    witness = _shrunk(seen, failing) if failing is not None else None
    if failing is not None:
        worst.insert(0, (seen.margins[canonical(witness)], show(witness)))
    seen.gate(witness)
    told: MarginsRecord = {
        "worst": [{"margin": number(margin), "case": case} for margin, case in worst],
        "cases": looked_at,
        "tolerance": float(claim.tolerance),
        "low": None if claim.low is None else float(claim.low),
        "high": None if claim.high is None else float(claim.high),
        "method": "examples, random cases and a greedy adversary",
    }
    found = derive({"margins": told}, budget)
    margins = tuple(sorted(seen.margins.values()))
    return replace(found, witness=witness, details={**found.details, "margins": margins})


def _pushed(seen: _Seen, left: int, seed: int) -> object:
    """A counterexample reached from the worst cases by changing one place at a time."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 8])))
    for key in seen.worst(STARTS):
        case, best = seen.cases[key], seen.margins[key]
        moved = True
        while moved and left > 0:
            moved = False
            found = list(places(case, seen.claim.cases))
            for index in rng.permutation(len(found)):
                place, kind = found[index]
                others = [replaced(case, place, new) for new in moves(case, place, kind, rng)]
                left -= len(others)
                known, stood = seen.look(others), case
                for other, margin in zip(others, known, strict=False):
                    if margin < best:
                        case, best, moved = other, margin, True
                if seen.refutes(best):
                    return case
                if left <= 0 or (case is not stood and isinstance(kind, Rows)):
                    break  # a list of another length has other places
    return None


def _shrunk(seen: _Seen, failing: InvariantCase) -> InvariantCase:
    """A counterexample none of whose simpler forms is one (or the smallest within the effort)."""
    left, moved = SHRINKS, True
    while moved and left > 0:
        moved, forms = False, simpler(failing, seen.claim.cases)
        while left > 0 and not moved and (some := list(islice(forms, min(left, TOGETHER)))):
            left -= len(some)
            found = seen.failing(some)
            if found is not None:
                failing, moved = found, True
    return failing


# Identities. -------------------------------------------------------------------------------------


def audit_identity(claim: IdentityClaim, budget: Budget) -> Finding:
    """Compute and compare."""
    computed = claim.compute()
    told: IdentityRecord = {
        "stated": number(claim.stated),
        "computed": number(computed),
        "tolerance": float(claim.tolerance),
    }
    found = derive({"identity": told}, budget)
    return replace(found, witness=computed if found.shown else None)
