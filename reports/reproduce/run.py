"""Checking the chosen statements, on as many processes as asked for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import count

from ...auditors.asked import Budget
from ...auditors.claims.check import check_within
from ...auditors.engines import Engine
from ...auditors.results.results import Verdict
from ...mechanisms.catalogue import THEOREMS
from ...mechanisms.model import Theorem
from ..statements.sections import PaperStyle, Picture, Reproduction, Section, pictured
from .selection import Chosen, find

TRIALS = 100_000
"""Draws for each statement and setting, a part of them if a draw is costly."""


FIRST = 0.9
"""Part of the error probability of a statement known to be false that few trials spend."""
PLAIN = PaperStyle()
LONGEST = 24 * 3600.0
"""Seconds that the checks of one statement may take."""


def error_share(alpha: float, settings: int, own: int = 0) -> float:
    """The error probability of one statement at one of its settings.

    Fixed by the size of the whole catalogue, not by what was chosen: a statement gets the same
    verdict alone and in the whole run, and any choice of different theorems stays within `alpha`
    by the union bound. Where there are statements of the user's `own`, they alone share alpha.
    """
    return alpha / ((own or len(THEOREMS)) * settings)


def run(
    chosen: Sequence[Chosen],
    budget: Budget,
    *,
    workers: int,
    pictures: bool,
    style: PaperStyle = PLAIN,
    started: Callable[[int], None] = lambda done: None,
    engine: Engine | None = None,
) -> Iterator[Section]:
    """Sections in the order chosen, each as soon as it and those before it are there.

    `started` hears how many checks are finished, one for each setting. The numbers are the same for
    any `workers`; -1 is one for each core. `style` is that of the pictures. `engine` is where the
    statements are checked.
    """
    # The slow ones first, so that no process waits for one of them at the end.
    order = sorted(range(len(chosen)), key=lambda i: not find(chosen[i].identifier).slow)
    own = sum(":" in one.identifier for one in chosen)
    look = style if pictures else None
    # Of a sweep each setting is a job of its own; what is drawn of all of them is drawn here.
    jobs = [
        (place, number, chosen[place], own, budget, look)
        for place in order
        for number in range(len(chosen[place].settings))
    ]
    engine = engine or Engine()
    waiting: dict[int, Section] = {}
    parts: dict[int, dict[int, Reproduction]] = {}
    following = count()
    place = next(following)
    with engine.connected(workers):
        results = engine.results(_part, jobs, workers=workers, patience=LONGEST)
        for done, (_, (made, number, part)) in enumerate(results, start=1):
            if isinstance(part, Section):
                waiting[made] = part
            else:
                found = parts.setdefault(made, {})
                found[number] = part
                if len(found) == len(chosen[made].settings):
                    theorem = find(chosen[made].identifier)
                    in_order = tuple(found[key] for key in sorted(found))
                    waiting[made] = _together(theorem, in_order, budget.seed, look)
            started(done)
            while place in waiting:
                yield waiting.pop(place)
                place = next(following)


def _part(
    place: int, number: int, chosen: Chosen, own: int, budget: Budget, style: PaperStyle | None
) -> tuple[int, int, Section | Reproduction]:
    """A whole section, or one setting of a sweep."""
    theorem, settings = find(chosen.identifier), chosen.settings
    if len(settings) == 1:
        return place, number, section_of(theorem, settings, own, budget, style)
    share = replace(budget, alpha=error_share(budget.alpha, len(settings), own))
    return place, number, _reproduction(theorem, settings[number], share)


def section_of(
    theorem: Theorem,
    settings: Sequence[Mapping[str, float]],
    own: int,
    budget: Budget,
    style: PaperStyle | None,
) -> Section:
    """The theorem checked at each of the settings, its share of alpha as in `error_share`."""
    share = replace(budget, alpha=error_share(budget.alpha, len(settings), own))
    reproductions = tuple(_reproduction(theorem, one, share) for one in settings)
    return _together(theorem, reproductions, budget.seed, style)


def _together(
    theorem: Theorem, reproductions: tuple[Reproduction, ...], seed: int, style: PaperStyle | None
) -> Section:
    made: tuple[Picture, ...] = ()
    if style is not None:
        from ..gallery.figures import pictures_of

        stream = _stream(seed, theorem, {}, "figure")
        made = pictures_of(theorem, reproductions, seed=stream, style=style)
    return Section(
        identifier=theorem.identifier,
        group=theorem.part,
        statement=theorem.statement,
        reference=theorem.reference,
        holds=theorem.holds,
        corrected=theorem.corrected,
        remark=theorem.remark,
        weak=theorem.weak,
        constant=theorem.constant,
        meanings={name: parameter.meaning for name, parameter in theorem.parameters.items()},
        reproductions=reproductions,
        pictured=pictured(theorem, reproductions),
        pictures=made,
    )


def _reproduction(theorem: Theorem, settings: Mapping[str, float], budget: Budget) -> Reproduction:
    parameters = {n: p.default for n, p in theorem.parameters.items()} | dict(settings)
    seed = _stream(budget.seed, theorem, parameters, "check")
    first = replace(budget, seed=seed, trials=max(2, budget.trials // theorem.costly))
    if theorem.holds or budget.trials >= TRIALS:
        result = check_within(first, theorem, settings)
    else:
        # Of a statement known to be false nothing is said before the draws that it is known to
        # be refuted by; both tries together stay within its error probability.
        result = check_within(replace(first, alpha=FIRST * budget.alpha), theorem, settings)
        if not result.refuted:
            rest = replace(first, alpha=(1 - FIRST) * budget.alpha, trials=TRIALS)
            result = check_within(rest, theorem, settings)
    return Reproduction(
        parameters=parameters,
        expected=Verdict.NOT_REFUTED if theorem.holds else Verdict.REFUTED,
        result=result,
    )


def _stream(seed: int, theorem: Theorem, parameters: Mapping[str, float], purpose: str) -> int:
    """The seed of one piece of work, a function of the run's seed and of what it is for."""
    parts = [f"{name}={float(value)!r}" for name, value in sorted(parameters.items())]
    words = "/".join([str(seed), theorem.identifier, purpose, *parts])
    return int.from_bytes(sha256(words.encode()).digest()[:6])
