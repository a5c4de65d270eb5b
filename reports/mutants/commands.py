"""What `dpwitness tools mutants` does, apart from reading its options."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypedDict, Unpack, get_args

from ...auditors.asked import Budget
from ...auditors.errors import InvalidArgument
from ...auditors.mutants.faults import Kind
from ...auditors.mutants.trial import Mutant, Score, mutants_of
from ...auditors.privacy import request as asked
from ...mechanisms.model import Database, Mechanism, Pair, Relation, Theorem
from ..auditing.commands import database_of
from ..formats.plain import plain, tell
from ..formats.table import require_places
from ..shell.computed import INCONCLUSIVE, REFUTED, UNUSABLE
from ..shell.console import Console, count
from ..targets import targets
from ..writing.terminal import wrapped

SEEN, UNSEEN, UNJUDGED = "seen", "not seen", "not tried"
SHOWN = {SEEN: "detected", UNSEEN: "not detected"}
"""The words of a report for those of the file."""


class MutantsClaim(TypedDict, total=False):
    """What is stated of the claim; None leaves what the mechanism says itself."""

    epsilon: float | None
    delta: float | None
    relation: Relation | str | None
    distance: int | None


class MutantsRequest(MutantsClaim, total=False):
    """The same as it was typed, with where the databases come from."""

    databases: str | None
    pair: tuple[str, str] | None


def mutants(
    console: Console,
    target: str,
    *,
    paths: Mapping[str, str | None],
    least: float | None,
    kinds: Sequence[str],
    theorems: bool,
    trials: int,
    seconds: float,
    alpha: float,
    seed: int,
    timeout: float,
    **request: Unpack[MutantsRequest],
) -> int:
    """Try the mutants of the target, tell what became of them and write the score; the status."""
    Budget(trials=trials, alpha=alpha, seed=seed, seconds=seconds)
    if least is not None and not 0 <= least <= 1:
        raise InvalidArgument(f"--least must be a share from 0 to 1, got {least:g}")
    require_places(paths)
    found = targets.find_target(target, timeout)
    mechanism, pair = _stated(found, request)
    score = mutants_of(
        mechanism,
        pair=pair,
        theorems=_theorems(found.name) if theorems else (),
        trials=trials,
        seconds=seconds,
        alpha=alpha,
        seed=seed,
        timeout=timeout,
        progress=console.progress,
        only=lambda fault: not kinds or fault.kind in kinds,
    )
    whole, text = (as_text(score, width) for width in (80, console.width))
    if kinds and not score.mutants:
        raise InvalidArgument(
            f"{score.mechanism} has no place for a fault of the kind {' or '.join(kinds)}; kinds "
            f"are {', '.join(get_args(Kind))}; without --kind every one that it has a place for is "
            "tried, and the report names them"
        )
    if console.quiet:
        text = "\n".join(wrapped(headline(score), console.width))
    story = [
        ("" if index else label, one)
        for label, told in groups(score)
        for index, one in enumerate(told)
    ]
    if tell(console, paths, plain("mutants", whole, as_data(score), story=story), text):
        return UNUSABLE
    if score.stopped:
        raise KeyboardInterrupt
    if least is not None and score.share is not None and score.share < least:
        return REFUTED
    return INCONCLUSIVE if score.share is None or score.count(UNJUDGED) else 0


def _stated(found: targets.Target, request: MutantsRequest) -> tuple[Mechanism, Pair | None]:
    """The same of options as they were typed."""
    typed, named = request.get("pair"), request.get("databases")
    asked.require_one(typed, named)
    pair = databases = None
    if typed is not None:
        one, two = typed
        pair = (database_of(one, "first"), database_of(two, "second"))
    if named is not None:
        databases = targets.find_databases(named)
    return stated(found, request, databases=databases, pair=pair)


def stated(
    found: targets.Target,
    claim: MutantsClaim,
    *,
    databases: object,
    pair: Pair | tuple[Database, Database] | None,
) -> tuple[Mechanism, Pair | None]:
    """The mechanism with the claim that is stated, or its own, and the pair given.

    `claim` may state epsilon, delta, relation and distance; None leaves each as it is.
    """
    asked.require_one(pair, databases)
    given = any(claim.get(name) is not None for name in MutantsClaim.__annotations__)
    pair = None if pair is None else asked.given_pair(pair)
    mechanism = asked.subject(found.mechanism, found.name, found.text, None)
    own = [one for one in mechanism.claims if not hasattr(one, "relation")]
    claims = mechanism.claims
    if not claims or given:
        private = asked.claims(
            mechanism,
            claim.get("epsilon"),
            claim.get("delta"),
            claim.get("relation"),
            claim.get("distance"),
            pair,
        )
        claims = (*private, *own)
    if databases is not None:
        mechanism = replace(mechanism, databases=databases)
    if pair is None and mechanism.databases is None:
        raise InvalidArgument(
            f"{mechanism.name} comes without databases; give a strategy of them with databases=, "
            "or two databases with pair=",
            keywords=("databases", "pair"),
        )
    # The same object where nothing changed: its module is searched for the name it is made under.
    return (mechanism if claims == mechanism.claims else replace(mechanism, claims=claims)), pair


def _theorems(name: str) -> tuple[Theorem, ...]:
    """The theorems of the system that the mechanism is of; none outside the catalogue."""
    from ...mechanisms.catalogue import CATALOGUE, THEOREMS

    system = CATALOGUE.systems.get(name)
    known = THEOREMS.systems
    return tuple(one for one in THEOREMS if known[one.identifier] == system)


def headline(score: Score) -> str:
    """The score in one sentence."""
    counts = Counter(mutant.verdict for mutant in score.mutants)
    told = ", ".join(
        f"{number} {SHOWN.get(verdict, verdict)}" for verdict, number in counts.most_common()
    )
    return (
        f"{score.mechanism}: {count(len(score.mutants), 'fault')} in "
        f"{count(len(score.functions), 'function')}: "
        f"{told or 'none'}{_why_not_all(score)}."
    )


def _why_not_all(score: Score) -> str:
    """Why some mutants were not tried; "" if all were."""
    if not score.count(UNJUDGED):
        return ""
    if score.stopped:
        return "; interrupted before the end"
    return f"; time was over after {score.seconds:.0f} s (--seconds gives more)"


def groups(score: Score) -> Iterator[tuple[str, list[str]]]:
    """The score as labels, each with its sentences."""
    judged = [
        one
        for one in score.mutants
        if one.fault.factor is not None and one.verdict in (SEEN, UNSEEN)
    ]
    if judged:
        told = [f"{_place(one)}: {sized_words(one)}" for one in judged]
        yield "smallest detected size", told
    seen = [one for one in score.mutants if one.verdict == SEEN and one.fault.factor is None]
    if seen:
        kinds = Counter(one.fault.kind for one in seen)
        yield "detected", [f"{kind}: {count}" for kind, count in sorted(kinds.items())]
    for verdict in (UNSEEN, "equivalent", "raises", "does not end", "not planted", "not tried"):
        told = [
            f"{one.fault.kind}, {one.fault.told}"
            for one in score.mutants
            if one.verdict == verdict and (one.fault.factor is None or verdict != UNSEEN)
        ]
        if told:
            yield SHOWN.get(verdict, verdict), told
    yield (
        "detected by",
        [
            f"{name}: {saw} of {asked_about}{' (blind)' if name in score.blind else ''}"
            for name, (asked_about, saw) in score.asked.items()
        ],
    )
    yield (
        "limits",
        [
            "An undetected fault may still matter, and not every fault breaks a claim: review each "
            "one. Equivalent means equal outputs for equal generators on the databases tried.",
            f"{score.trials:,} trials per database, alpha {score.alpha:g}, seed {score.seed}.",
        ],
    )


def as_text(score: Score, width: int) -> str:
    """The score for a terminal: a headline, and a list below each label."""
    lines = wrapped(headline(score), width)
    for label, told in groups(score):
        lines += ["", f"{label.capitalize()}:"]
        for one in told:
            lines += wrapped(one, width, "    ", "  - ")
    return "\n".join(lines)


def _place(mutant: Mutant) -> str:
    return f"{mutant.fault.kind}, {mutant.fault.place}, {mutant.fault.before}"


def sized_words(mutant: Mutant) -> str:
    """'7 % too small is detected; 5 % is not', or that nothing of the ladder is."""
    if mutant.saw is None:
        return f"not even {percent(mutant.blind or mutant.fault.factor or 1.0)} is detected"
    by = f" (by {', '.join(mutant.by)})" if mutant.by else ""
    if mutant.blind is None:
        return f"{percent(mutant.saw)} is detected{by}, and no smaller one was tried"
    return f"{percent(mutant.saw)} is detected{by}; {percent(mutant.blind)} is not"


def percent(factor: float) -> str:
    """A factor in words: 0.93 is 7 % too small."""
    size = abs(factor - 1) * 100
    return f"{size:.3g} % too {'small' if factor < 1 else 'large'}"


def as_data(score: Score) -> dict[str, object]:
    """The score as JSON values."""
    return {
        "format": "dpwitness-mutants",
        "version": 1,
        "mechanism": score.mechanism,
        "functions": list(score.functions),
        "trials": score.trials,
        "alpha": score.alpha,
        "seed": score.seed,
        "seconds": score.seconds,
        "seen_share": score.share,
        "asked": {name: {"asked": a, "saw": s} for name, (a, s) in score.asked.items()},
        "blind": list(score.blind),
        "mutants": [
            {
                "kind": one.fault.kind,
                "place": one.fault.place,
                "before": one.fault.before,
                "after": one.fault.after,
                "factor": one.fault.factor,
                "verdict": one.verdict,
                "by": list(one.by),
                "smallest_seen": one.saw,
                "largest_not_seen": one.blind,
            }
            for one in score.mutants
        ],
    }
