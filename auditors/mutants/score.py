"""Mutants of a mechanism: which of them are seen, and from which size on.

A fault of size is tried at the rungs of a ladder, the largest first and then by halving, in the
belief that a larger fault is easier to see. The faults take turns by kind, so that a budget of
seconds is spent on all kinds alike.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import inf
from time import monotonic
from typing import Any

from ...mechanisms.model import Database, Mechanism, Pair, Theorem
from ..errors import InvalidArgument
from ..sampling.calls import accepts_size
from . import trial
from .apart import apart
from .faults import Fault, faults_of
from .planting import Unplantable, is_faithful, planted
from .sources import FunctionSource, Recipe, makers_of, recipe_of, sources_of
from .trial import EQUIVALENT, HANGS, SEEN, UNJUDGED, UNPLANTABLE, UNSEEN, Court

LADDER = (0.5, 0.8, 0.9, 0.93, 0.95, 0.98)
"""Sizes of a fault, the largest first; as many above 1, at the inverse."""
SLOWEST = 10.0
"""Times as long as the original needs before its claims; then a mutant is given up."""
A_THEOREM = 120.0
"""Seconds more for each theorem that is asked."""

Tell = Callable[[str, int, int], None]


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

    def one(self, fault: Fault) -> dict[str, Any]:
        if monotonic() > self.end:
            return {"verdict": UNJUDGED, "by": ""}

        def work() -> dict[str, Any]:
            try:
                with planted(fault, self.mechanism, self.recipe) as mutant:
                    return trial.tried(mutant, self.court, self.databases, self.original)
            except Unplantable as error:
                return {"verdict": UNPLANTABLE, "by": str(error), "asked": []}
            except Exception as error:  # noqa: BLE001 - a fault may break whatever uses the function
                said = f"{type(error).__name__}: {error}"
                return {"verdict": trial.RAISES, "by": said, "asked": []}

        try:
            found: dict[str, Any] | None = apart(work, self.limit)
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
    court, refuted = trial.with_known_pairs(mechanism, court)
    if refuted:
        raise InvalidArgument(
            f"{mechanism.name} breaks its promises already without a fault ({', '.join(refuted)}); "
            "fix it first, `dpwitness audit` shows how it breaks them"
        )
    needed = monotonic() - started
    databases = trial.probes(mechanism, court)
    original = trial.outputs_on(mechanism, databases, timeout)
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
    by = result["by"]
    told = tuple(by if isinstance(by, list) else [by] if by else [])
    return [Mutant(fault=fault, verdict=result["verdict"], by=told)]


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
    by = first["by"] if isinstance(first["by"], list) else [first["by"]] if first["by"] else []
    if first["verdict"] != SEEN:
        blind = rungs[0] if first["verdict"] == UNSEEN else None
        return Mutant(fault=fault.at(rungs[0]), verdict=first["verdict"], by=tuple(by), blind=blind)
    low, high = 0, len(rungs)
    while high - low > 1:
        middle = (low + high) // 2
        found = trials.one(fault.at(rungs[middle]))
        if found["verdict"] == SEEN:
            low, by = middle, found["by"]
        elif found["verdict"] in (UNSEEN, EQUIVALENT):
            high = middle
        else:
            break
    return Mutant(
        fault=fault.at(rungs[low]),
        verdict=SEEN,
        by=tuple(by),
        saw=rungs[low],
        blind=rungs[high] if high < len(rungs) else None,
    )


def _in_turn(faults: list[Fault]) -> list[Fault]:
    kinds: dict[str, list[Fault]] = {}
    for fault in faults:
        kinds.setdefault(fault.kind, []).append(fault)
    return [one for row in zip_longest(*kinds.values()) for one in row if one is not None]
