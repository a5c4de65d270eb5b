"""Which statements a run takes and at which settings, and their checks on several processes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from hashlib import sha256
from itertools import count, product

from ...auditors.asked import Budget
from ...auditors.claims.check import check_within
from ...auditors.engines import Engine
from ...auditors.errors import InvalidArgument
from ...auditors.results.results import Verdict
from ...mechanisms.catalogue import BROKEN_STATEMENTS, CATALOGUE, NEGATIVE_CONTROLS, THEOREMS
from ...mechanisms.model import BrokenStatement, Mechanism, NegativeControl, Subject, Theorem
from ..shell.shell import meant
from ..statements.statements import (
    CONTROLS,
    OWN,
    PaperStyle,
    Picture,
    Reproduction,
    Section,
    pictured,
)
from ..targets.targets import find_theorem, is_file, theorems_in

MOST_SETTINGS = 50
"""Combinations of the values of --set that one run draws."""
TRIALS = 100_000
"""Draws for each statement and setting, a part of them if a draw is costly."""
FIRST = 0.9
"""Part of the error probability of a statement known to be false that few trials spend."""
PLAIN = PaperStyle()
LONGEST = 24 * 3600.0
"""Seconds that the checks of one statement may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A statement by its identifier, and the settings to check it at."""

    identifier: str
    settings: tuple[Mapping[str, float], ...]


def controls() -> tuple[Theorem, ...]:
    """The negative controls of claims of every kind, as statements that do not hold.

    Those are left out whose defect is known to show neither in draws nor in an exact law.
    """
    taken = {theorem.identifier for theorem in THEOREMS}
    shown = [c for c in NEGATIVE_CONTROLS if c.detectable or _has_law(c.mechanism)]
    return (
        *(_false_statement(control, taken) for control in shown),
        *(_false_statement(statement, taken) for statement in BROKEN_STATEMENTS),
    )


def _has_law(mechanism: Mechanism) -> bool:
    return mechanism.law is not None or mechanism.privacy_loss is not None


def _false_statement(control: NegativeControl | BrokenStatement, taken: set[str]) -> Theorem:
    if isinstance(control, NegativeControl):
        subject = Subject(claim=control.breaks, mechanism=control.mechanism)
        identifier = control.identifier or control.mechanism.name
        if identifier in taken:
            identifier = f"MUT-{identifier}"
    else:
        subject, identifier = Subject(claim=control.claim), control.identifier
    return Theorem(
        identifier=identifier,
        statement=subject.claim.statement or f"The claim {subject.claim.identifier}",
        reference=subject.claim.reference,
        subject=lambda: subject,
        holds=False,
        corrected=subject.claim.identifier,
        remark=control.defect,
        part=CONTROLS,
    )


def _identified(theorems: Sequence[Theorem], identifier: str) -> Theorem | None:
    """The one with this identifier, else the first whose identifier is that in another case."""
    exact = (one for one in theorems if one.identifier == identifier)
    folded = (one for one in theorems if one.identifier.casefold() == identifier.casefold())
    return next(exact, None) or next(folded, None)


def find(identifier: str) -> Theorem:
    """The theorem or the control with this identifier, or the user's own that file.py:NAME names.

    Raises InvalidArgument if there is none.
    """
    if ":" in identifier:
        return replace(find_theorem(identifier), part=OWN)
    if found := _identified(THEOREMS, identifier) or _identified(controls(), identifier):
        return found
    if is_file(identifier):
        raise InvalidArgument(
            f"{identifier!r} names a file; add the name of a theorem in it, "
            f"`dpwitness reproduce {identifier}:NAME`"
        )
    if identifier in {**CATALOGUE.systems, **NEGATIVE_CONTROLS.systems}:
        raise InvalidArgument(
            f"{identifier} is a mechanism and not a statement; `dpwitness audit {identifier}` "
            "audits it"
        )
    known = [theorem.identifier for theorem in (*THEOREMS, *controls())]
    longer = [name for name in known if name.casefold().startswith(identifier.casefold())]
    near = f" (did you mean {' or '.join(longer[:3])}?)" if longer else meant(identifier, known)
    raise InvalidArgument(
        f"the catalogue has no statement {identifier!r}{near}; `dpwitness list --kind theorem` "
        "shows them all, and a pattern such as 'PMW-*' takes several"
    )


def _of_file(name: str) -> list[str]:
    """The texts that name the theorems of a file; the name itself if it is no file."""
    if not is_file(name) or _identified(THEOREMS, name):
        return [name]
    found = [f"{name}:{attribute}" for attribute in theorems_in(name)]
    if not found:
        raise InvalidArgument(
            f"{name} has no Theorem of dpwitness at its top level; give it one, with an "
            "identifier, a statement, a reference and a function that returns the claim"
        )
    return found


def select(
    names: Sequence[str], assignments: Sequence[str], *, with_controls: bool = False
) -> tuple[Chosen, ...]:
    """The statements named, by identifier or pattern, at every combination of the settings.

    A name with a colon, file.py:NAME, is a theorem of the user's own, and a file stands for all
    in it. Without names every theorem, or with settings every theorem that has the parameters.
    Raises InvalidArgument for a name, a parameter or a value there is not, naming the range.
    """
    swept = _parsed(assignments)
    names = [one for name in names for one in ([name] if ":" in name else _of_file(name))]
    own = [name for name in dict.fromkeys(names) if ":" in name]
    if own and len(own) < len(set(names)):
        raise InvalidArgument(
            "statements of your own and of the catalogue each share one alpha; give the names of "
            f"the one or of the other, got {', '.join(names)}"
        )
    if own:
        theorems = _own(own)
    elif names:
        theorems = _named(names)
    else:
        theorems = [t for t in THEOREMS if swept.keys() <= t.parameters.keys()]
        if not theorems:
            raise InvalidArgument(
                f"no theorem has the parameter{'s' * (len(swept) > 1)} {', '.join(swept)}; "
                f"there are: {', '.join(sorted({p for t in THEOREMS for p in t.parameters}))}"
            )
        if with_controls:
            theorems += controls()
    settings = combinations(theorems, swept)
    called = own or [theorem.identifier for theorem in theorems]
    return tuple(Chosen(identifier=name, settings=settings) for name in called)


def combinations(
    theorems: Sequence[Theorem], swept: Mapping[str, Sequence[float]]
) -> tuple[dict[str, float], ...]:
    """Every combination of the values; InvalidArgument for one a theorem is not stated for."""
    for theorem in theorems:
        _require_settings(theorem, swept)
    settings = tuple(dict(zip(swept, values, strict=True)) for values in product(*swept.values()))
    if len(settings) > MOST_SETTINGS:
        raise InvalidArgument(
            f"--set asks for {len(settings)} combinations, at most {MOST_SETTINGS} are drawn; "
            "give fewer values"
        )
    return settings


def _own(names: Sequence[str]) -> list[Theorem]:
    """The user's theorems; no two may have one identifier, which names files and streams.

    Nor may one have that of another of the catalogue, for which it could be taken.
    """
    theorems = [find(name) for name in names]
    identifiers = [theorem.identifier for theorem in theorems]
    twice = next((one for one in identifiers if identifiers.count(one) > 1), None)
    if twice is not None:
        raise InvalidArgument(f"two of these theorems have the identifier {twice!r}; rename one")
    for theorem in theorems:
        known = _identified(THEOREMS, theorem.identifier)
        if known is not None and known.subject is not theorem.subject:
            raise InvalidArgument(
                f"the catalogue has a statement {known.identifier!r} already; give yours another "
                "identifier"
            )
    return theorems


def _named(names: Sequence[str]) -> list[Theorem]:
    everything = (*THEOREMS, *controls())
    found: dict[str, Theorem] = {}
    for name in names:
        exact = [t for t in everything if t.identifier == name]
        # Shells and people write codes in any case; a code that fits exactly comes first.
        fitting = exact or [t for t in everything if fnmatchcase(t.identifier, name)]
        found |= {t.identifier: t for t in fitting or [find(name)]}
    return list(found.values())


def _parsed(assignments: Sequence[str]) -> dict[str, list[float]]:
    swept: dict[str, list[float]] = {}
    for text in assignments:
        name, equals, values = text.partition("=")
        name = name.strip()
        if not (name and equals and values.strip()):
            raise InvalidArgument(f"--set takes name=value,..., got {text!r}")
        if name in swept:
            raise InvalidArgument(f"--set names {name} twice; give all its values at once")
        try:
            swept[name] = [float(value) for value in values.split(",")]
        except ValueError:
            raise InvalidArgument(
                f"--set {name} takes numbers separated by commas, got {values!r}"
            ) from None
        if len(set(swept[name])) < len(swept[name]):
            raise InvalidArgument(f"--set {name} has a value twice: {values!r}")
    return swept


def _require_settings(theorem: Theorem, swept: Mapping[str, Sequence[float]]) -> None:
    from ...auditors.claims.check import require_parameters

    for name, values in swept.items():
        for value in values:
            require_parameters(theorem, {name: value})


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
