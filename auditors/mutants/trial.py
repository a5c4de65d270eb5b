"""Mutants of a mechanism before its claims: which of them are seen, and from which size on.

A mutant that gives the outputs of the original for equal generators, on all the databases tried, is
equivalent as far as was seen, and no claim is asked about it. Of the others every claim is asked
with few draws, which tells the claims that see from those that are blind, and only where nobody
noticed with all draws. The two share one alpha.

A fault of size is tried at the rungs of a ladder, the largest first and then by halving, in the
belief that a larger fault is easier to see. The faults take turns by kind, so that a budget of
seconds is spent on all kinds alike. Each mutant is tried in a process of its own, which may hang or
die without harm. The process is a copy of this one, so that nothing has to be sent to it; what
comes back is JSON.
"""

import json
import os
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import zip_longest
from math import inf
from select import select
from time import monotonic
from typing import Any, NotRequired, TypedDict

import numpy as np

from ...mechanisms.model import (
    Claim,
    Database,
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
from ..sampling.calls import guarded
from ..workers import Door, Worker
from ..workers.door import accepts_size
from .faults import Fault, Unplantable, faults_of, is_faithful, planted
from .sources import FunctionSource, Recipe, makers_of, recipe_of, sources_of

LAW = "the stated law"
SEEN, UNSEEN, EQUIVALENT = "seen", "not seen", "equivalent"
RAISES, HANGS, UNPLANTABLE, UNJUDGED = "raises", "does not end", "not planted", "not tried"
QUICK = 1 / 10
"""The part of the draws that the first round of questions takes."""
PROBES, RUNS = 12, 32
"""Pairs whose outputs are compared, and outputs of a call: a mutant with equal ones is none."""
LADDER = (0.5, 0.8, 0.9, 0.93, 0.95, 0.98)
"""Sizes of a fault, the largest first; as many above 1, at the inverse."""
SLOWEST = 10.0
"""Times as long as the original needs before its claims; then a mutant is given up."""
A_THEOREM = 120.0
"""Seconds more for each theorem that is asked."""

Tell = Callable[[str, int, int], None]
PIECE = 1 << 16
"""Bytes read from a pipe at a time."""


class Became(TypedDict):
    """What became of one mutant, by whom it was seen or what went wrong, and who was asked."""

    verdict: str
    by: str | list[str]
    asked: NotRequired[list[str]]


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


def probes(mechanism: Mechanism, court: Court) -> list[Database]:
    """Databases on which a mutant is compared with the original, the worst known ones first.

    Raises InvalidArgument if there is none: two functions compared on nothing would seem equal.
    """
    found: list[Database] = []
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
) -> Became:
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


def _theorems(court: Court, draws: int) -> Became | None:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One fault and what became of it.

    `verdict` is seen, not seen, equivalent, raises, does not end, not planted or not tried; `by`
    are the claims that saw it, or what went wrong. `saw` and `blind` are, for a fault of size, the
    smallest factor that was seen and the largest next to it that was not.
    """

    fault: Fault
    verdict: str
    by: tuple[str, ...] = ()
    saw: float | None = None
    blind: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """All mutants of one mechanism.

    `asked` says of each judge, a claim or the stated law, how many mutants it was asked about and
    how many of them it saw. `functions` are those that faults were planted in.
    """

    mechanism: str
    functions: tuple[str, ...]
    mutants: tuple[Mutant, ...]
    asked: dict[str, tuple[int, int]]
    trials: int
    alpha: float
    seed: int
    seconds: float
    stopped: bool = False
    """Whether somebody interrupted it, so that what was left is not tried."""

    def count(self, *verdicts: str) -> int:
        """How many mutants ended so."""
        return sum(mutant.verdict in verdicts for mutant in self.mutants)

    @property
    def share(self) -> float | None:
        """The part of the mutants that were seen among those that could have been."""
        judged = self.count(SEEN, UNSEEN)
        return self.count(SEEN) / judged if judged else None

    @property
    def blind(self) -> tuple[str, ...]:
        """Those who were asked and saw nothing."""
        return tuple(name for name, (asked, saw) in self.asked.items() if asked and not saw)


@dataclass(slots=True)
class _Trials:
    """Mutants tried one after another, and what is known from all of them."""

    mechanism: Mechanism
    court: Court
    recipe: Recipe | None
    databases: list[Database]
    original: list[str]
    limit: float
    end: float
    asked: dict[str, list[int]]
    stopped: bool = False

    def one(self, fault: Fault) -> Became:
        if monotonic() > self.end:
            return {"verdict": UNJUDGED, "by": ""}

        def work() -> Became:
            try:
                with planted(fault, self.mechanism, self.recipe) as mutant:
                    return tried(mutant, self.court, self.databases, self.original)
            except Unplantable as error:
                return {"verdict": UNPLANTABLE, "by": str(error), "asked": []}
            except Exception as error:  # noqa: BLE001 - a fault may break whatever uses the function
                said = f"{type(error).__name__}: {error}"
                return {"verdict": RAISES, "by": said, "asked": []}

        try:
            found: Became | None = apart(work, self.limit)
        except KeyboardInterrupt:
            # What is known is told; the others count as not tried.
            self.stopped, self.end = True, -inf
            return {"verdict": UNJUDGED, "by": ""}
        if found is None:
            return {"verdict": HANGS, "by": f"no answer within {self.limit:.0f} s"}
        for name in found.get("asked", ()):
            saw = found["verdict"] == SEEN and name in found["by"]
            asked = self.asked.setdefault(name, [0, 0])
            asked[0] += 1
            asked[1] += saw
        return found


def mutants_of(
    mechanism: Mechanism,
    *,
    pair: Pair | None = None,
    theorems: Sequence[Theorem] = (),
    ladder: Sequence[float] = LADDER,
    trials: int = 100_000,
    seconds: float = 600.0,
    alpha: float = 1e-3,
    seed: int = 0,
    timeout: float = 10.0,
    progress: Tell = lambda stage, done, total: None,
    only: Callable[[Fault], bool] = lambda fault: True,
) -> Score:
    """Plant small faults in a mechanism and let its own claims judge each mutant.

    Faults are planted in the functions of its system that its run reaches, and in the numbers
    bound to it. `pair` is the one to judge privacy on, searched for where there is none;
    `theorems` are asked about what no claim saw. A mutant costs at most `trials` draws a side for
    each claim, and no new one is begun after `seconds`. `alpha` bounds the chance that a sound
    mutant counts as seen. `ladder` are factors below 1, smallest first.

    Raises InvalidArgument where the mechanism claims nothing, where no text of its function is at
    hand, and where the claims are refuted already without a fault; ContractError where it fails.
    """
    begun = monotonic()
    if not mechanism.claims:
        raise InvalidArgument(f"{mechanism.name} claims nothing that a mutant could break")
    court = Court(
        claims=mechanism.claims, theorems=tuple(theorems), pair=pair, trials=trials, alpha=alpha,
        seed=seed, timeout=timeout,
    )  # fmt: skip
    sources, recipe, every = planned(mechanism)
    faults = [one for one in every if only(one)]
    progress("mutants", 0, len(faults))
    started = monotonic()
    court, refuted = with_known_pairs(mechanism, court)
    if refuted:
        raise InvalidArgument(
            f"{mechanism.name} breaks its promises already without a fault ({', '.join(refuted)}); "
            "fix it first, `dpwitness audit` shows how it breaks them"
        )
    needed = monotonic() - started
    databases = probes(mechanism, court)
    original = outputs_on(mechanism, databases, timeout)
    trials_ = _Trials(
        mechanism=mechanism, court=court, recipe=recipe, databases=databases, original=original,
        limit=max(60.0, SLOWEST * needed) + A_THEOREM * len(theorems), end=begun + seconds,
        asked={},
    )  # fmt: skip
    found = list[Mutant]()
    ordered = _in_turn(faults)
    for done, fault in enumerate(ordered):
        progress("mutants", done, len(ordered))
        found += _all_of(trials_, fault, ladder)
    progress("mutants", len(ordered), len(ordered))
    order = {fault.told: number for number, fault in enumerate(faults)}
    found.sort(key=lambda mutant: order[mutant.fault.told])
    return Score(
        mechanism=mechanism.name,
        functions=tuple(f"{source.name}" for source in sources),
        mutants=tuple(found),
        asked={name: (asked, saw) for name, (asked, saw) in trials_.asked.items()},
        trials=trials,
        alpha=alpha,
        seed=seed,
        seconds=monotonic() - begun,
        stopped=trials_.stopped,
    )


def _all_of(trials: _Trials, fault: Fault, ladder: Sequence[float]) -> list[Mutant]:
    """What became of a fault; of one of size, what became of smaller and of larger factors."""
    if fault.factor is not None:
        rungs = list(ladder), [1 / rung for rung in ladder]
        return [_climbed(trials, fault, some) for some in rungs]
    result = trials.one(fault)
    return [Mutant(fault=fault, verdict=result["verdict"], by=_told(result["by"]))]


def _told(by: str | list[str]) -> tuple[str, ...]:
    return tuple(by if isinstance(by, list) else [by] if by else [])


def planned(mechanism: Mechanism) -> tuple[list[FunctionSource], Recipe | None, list[Fault]]:
    """The functions that faults can be planted in, how the mechanism is made, and all faults.

    Raises InvalidArgument where no text of its function is at hand.
    """
    sources = [one for one in sources_of(mechanism.run) if is_faithful(one)]
    recipe = recipe_of(mechanism)
    if recipe is not None:
        makers = makers_of(recipe, mechanism.run, sources)
        sources += [one for one in makers if is_faithful(one)]
    if not sources:
        raise InvalidArgument(
            f"the text of {mechanism.name} is not at hand; expected a Python function in a file"
        )
    return sources, recipe, faults_of(sources, mechanism.run, accepts_size(mechanism.run))


def _climbed(trials: _Trials, fault: Fault, rungs: list[float]) -> Mutant:
    """The smallest of the sizes that is seen; the largest comes first."""
    first = trials.one(fault.at(rungs[0]))
    by = _told(first["by"])
    if first["verdict"] != SEEN:
        blind = rungs[0] if first["verdict"] == UNSEEN else None
        return Mutant(fault=fault.at(rungs[0]), verdict=first["verdict"], by=by, blind=blind)
    low, high = 0, len(rungs)
    while high - low > 1:
        middle = (low + high) // 2
        found = trials.one(fault.at(rungs[middle]))
        if found["verdict"] == SEEN:
            low, by = middle, _told(found["by"])
        elif found["verdict"] in (UNSEEN, EQUIVALENT):
            high = middle
        else:
            break
    return Mutant(
        fault=fault.at(rungs[low]),
        verdict=SEEN,
        by=by,
        saw=rungs[low],
        blind=rungs[high] if high < len(rungs) else None,
    )


def _in_turn(faults: list[Fault]) -> list[Fault]:
    kinds: dict[str, list[Fault]] = {}
    for fault in faults:
        kinds.setdefault(fault.kind, []).append(fault)
    return [one for row in zip_longest(*kinds.values()) for one in row if one is not None]


def apart(work: Callable[[], object], seconds: float) -> Any:
    """What `work` returns, as JSON gives it back; None where it did not end in time or died.

    Where a process cannot be copied the work is done here, without a limit.
    """
    if not hasattr(os, "fork"):
        return work()
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # The threads of numerical libraries are idle now, and the copy does not need them.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(reading)
        _answer(work, writing)
    os.close(writing)
    try:
        text = _read(reading, monotonic() + seconds)
    finally:
        os.close(reading)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    try:
        return json.loads(text)
    except ValueError:
        return None


def _answer(work: Callable[[], object], writing: int) -> None:
    """Do the work, write what it returned and end, past everything that the parent has planned."""
    try:
        quiet = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(quiet, stream)
        data = json.dumps(work()).encode()
        while data:
            data = data[os.write(writing, data) :]
    finally:
        os._exit(0)


def _read(reading: int, end: float) -> bytes:
    data = b""
    while (left := end - monotonic()) > 0:
        ready, _, _ = select([reading], [], [], left)
        if not ready:
            break
        piece = os.read(reading, PIECE)
        if not piece:
            break
        data += piece
    return data
