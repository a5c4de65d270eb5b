"""The sentences an audit is told in, the same for the terminal and the page."""

from collections.abc import Callable, Iterable, Iterator
from math import ceil, floor, inf, isfinite, log10

from ...auditors.outputs.encoding import canonical, show
from ...auditors.results import AuditResult, Pair, Reach, Verdict
from ...mechanisms.model import PrivacyClaim, Relation
from ..terminal import printable
from .difference import changed_rows

NOT_EXAMINED = (
    "Not examined: {databases}, the low-order bits of floating-point outputs, and running time."
)

BITS_EXAMINED = (
    "Not examined: {databases}, which floating-point numbers the noise can reach at all, and "
    "running time."
)

UNSETTLED = 0.05
"""Part of the claim that the last doubling of the lesson brings while learning has not settled."""

_WORDS = {
    Verdict.REFUTED: "Refuted",
    Verdict.NOT_REFUTED: "Not refuted",
    Verdict.INCONCLUSIVE: "Inconclusive",
    Verdict.PROVED: "Proved",
}


def not_examined(result: AuditResult) -> str:
    """What this audit did not look at."""
    told = BITS_EXAMINED if result.target.startswith("bits=") else NOT_EXAMINED
    given = "all databases but the two that were given"
    return told.format(
        databases=given if result.reached is None else "databases the search did not reach"
    )


def unseen(result: AuditResult) -> Iterator[tuple[str, str]]:
    """What this run could not see, in (label, sentence) lines as those of `story`."""
    if result.verdict in (Verdict.NOT_REFUTED, Verdict.INCONCLUSIVE):
        yield from _labelled("power", power_sentences(result))
    if result.reached is not None:
        yield from _labelled("search", reach_sentences(result.reached))
    yield "not seen", not_examined(result)
    if result.refuted:
        yield "", "The bound is one from below: other pairs and events may lose more."
    yield "assumed", _assumed(result)


def _assumed(result: AuditResult) -> str:
    """What the verdict stands on and draws cannot show."""
    if result.plan.get("made_again"):
        parts = [
            "that the mechanism remembers nothing from before the audit or outside its process "
            "(counted draws came out alike when they were made again in a fresh one)"
        ]
    else:
        parts = ["that every call draws anew, whatever was drawn before; no draw was made again"]
    if not result.seeded:
        parts[0] += ", from a source that this run could not seed"
    if outside := result.plan.get("outside"):
        parts.append(f"that it keeps nothing in {printable(', '.join(outside))}, which it uses")
    if result.plan.get("trust_rows"):
        parts.append("that the rows of a size= call are independent calls, as was declared")
    if result.claim.relation is Relation.DECLARED:
        parts.append("that the two databases are neighbours, as declared")
    return f"The verdict takes for granted {' and '.join(parts)}."


def _labelled(label: str, sentences: Iterable[str]) -> Iterator[tuple[str, str]]:
    for index, one in enumerate(sentences):
        yield "" if index else label, one


def by_label(lines: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """The lines of a story with those together that go on with one label."""
    found: list[tuple[str, list[str]]] = []
    for label, text in lines:
        if label or not found:
            found.append((label, []))
        found[-1][1].append(text)
    return found


def verdict_word(verdict: Verdict) -> str:
    """The verdict as the first word of a sentence."""
    return _WORDS[verdict]


def claim_phrase(claim: PrivacyClaim) -> str:
    """The claim in a few words: "epsilon 1, delta 1e-06 (add-remove, 2 steps apart)"."""
    words = point_phrase(claim) if claim.curve is None else str(claim.curve)
    steps = f", {claim.distance} steps apart" if claim.distance > 1 else ""
    relation = claim.relation.value
    if claim.relation is Relation.DECLARED:
        relation = "for the neighbours as declared"
    return f"{words} ({relation}{steps})"


def point_phrase(claim: PrivacyClaim) -> str:
    """Epsilon and delta: those claimed, or the point of the curve that was judged."""
    digits = ".4g" if claim.curve is not None else "g"
    words = f"epsilon {claim.epsilon:{digits}}"
    return words + (f", delta {claim.delta:{digits}}" if claim.delta else "")


def point_sentence(result: AuditResult) -> str:
    """Which point of a curve was judged; else nothing."""
    curve = result.claim.curve
    if curve is None:
        return ""
    return f"{point_phrase(result.claim)}, which {curve} promises of this pair"


def headline(result: AuditResult) -> str:
    """The verdict in a sentence, alone on its line with --quiet."""
    name, claim = printable(result.mechanism), claim_phrase(result.claim)
    match result.verdict:
        case Verdict.REFUTED:
            return f"Refuted: {name} does not keep {claim}; it loses {_loss(result)}."
        case Verdict.NOT_REFUTED:
            return f"Not refuted: no draw contradicts that {name} keeps {claim}."
        case Verdict.INCONCLUSIVE:
            why = f": {printable(result.note)}" if result.note else ""
            return f"Inconclusive: this run cannot say whether {name} keeps {claim}{why}."
        case Verdict.PROVED:
            return f"Proved: {name} keeps {claim}."


def _loss(result: AuditResult) -> str:
    curve = result.claim.curve
    if curve is not None:
        bound, claimed = result.size_lower, curve.size
        if curve.parameter == "factor":
            above = at_least(bound, claimed) if bound > claimed else ""
            return f"at least {above} times its epsilon" if above else "more"
        said = f"{curve.parameter} "
    else:
        bound, claimed, said = result.epsilon_lower, result.claim.epsilon, ""
    if bound <= claimed:
        return f"more than {said}{claimed:g}"
    return f"at least {said}{at_least(bound, claimed)}"


def at_least(bound: float, above: float = -inf) -> str:
    """A lower bound to about four digits, never rounded up, nor down to `above`."""
    return _rounded(bound, floor, above)


def at_most(bound: float) -> str:
    """An upper bound to about four digits, never rounded down."""
    return _rounded(bound, ceil, -inf)


def _rounded(value: float, towards: Callable[[float], int], above: float) -> str:
    if not isfinite(value):
        return {inf: "infinity", -inf: "minus infinity"}.get(value, "unknown")
    for digits in (3, 6):
        shown = towards(value * 10**digits) / 10**digits
        if shown > above and shown != 0:
            return f"{shown:.{digits}f}".rstrip("0").rstrip(".")
    return f"{value:.6g}"


def confidence(result: AuditResult) -> str:
    """One minus alpha as a percentage."""
    return f"{100 * (1 - result.evidence.alpha):.6g} %"


def shown_pair(result: AuditResult) -> Pair:
    """The two databases as told: the witness, likelier side first, or else the pair judged."""
    if result.witness is not None:
        return Pair(result.witness.database, result.witness.neighbour)
    return result.pair


def event_phrase(result: AuditResult) -> str:
    """The event of the witness, or the one the last draws were judged by."""
    if result.witness is not None:
        return printable(result.witness.event.describe())
    if result.evidence.counts:
        return printable(result.evidence.counts[-1].event.describe())
    return ""


def shown_counts(result: AuditResult) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """(hits, trials) of the event on D and D' of `shown_pair`; None where nothing was counted."""
    evidence = result.evidence
    if result.witness is not None and result.witness.evidence is not None:
        evidence = result.witness.evidence
    if not evidence.counts:
        return None
    turned = -1 if result.witness is None and evidence.counts[-1].reversed else 1
    (x, y), (n, m) = evidence.hits[::turned], evidence.trials[::turned]
    return (x, y), (n, m)


def count_phrases(result: AuditResult) -> tuple[str, ...]:
    """How often the event happened on D and on D' of `shown_pair`."""
    counts = shown_counts(result)
    if counts is None:
        return ()
    return tuple(map(_share, *counts, ("D", "D'")))


def _share(hits: int, trials: int, name: str) -> str:
    percent = f"{100 * hits / trials:.3g} %" if trials else "none"
    return f"{hits:,} of {trials:,} outputs from {name} ({percent})"


def _two_pairs(result: AuditResult) -> bool:
    """Whether the pair shown is a smaller one than the pair that was judged."""
    small, judged = result.witness, result.likelier_first
    if small is None or small.evidence is None or not result.evidence.counts:
        return False
    pairs = (small.database, small.neighbour), (judged.database, judged.neighbour)
    return canonical(pairs[0]) != canonical(pairs[1])


def worst_sentence(result: AuditResult) -> str:
    """The pair with the largest bound, where the one shown is another one; else nothing."""
    worst = result.worst
    if worst is None or worst is result.witness or not _two_pairs(result):
        return ""
    (x, y), (n, m) = result.evidence.hits, result.evidence.trials
    one, two = databases_phrases(Pair(worst.database, worst.neighbour))
    return (
        f"{_above(result, result.epsilon_lower)} for {one} against {two}, the pair with the "
        f"largest bound: {printable(worst.event.describe())} in {x:,} of {n:,} outputs and in "
        f"{y:,} of {m:,}. Both bounds hold together."
    )


def pictured_sentence(result: AuditResult) -> str:
    """Which pair the pictures are of, where it is not the one shown; else nothing."""
    if not _two_pairs(result):
        return ""
    one, two = databases_phrases(result.likelier_first)
    event = printable(result.evidence.counts[-1].event.describe())
    return (
        f"The pictures are of the pair {_judged_as(result)}: there D is {one} and D' is "
        f"{two}, and the event is {event}."
    )


def _judged_as(result: AuditResult) -> str:
    """What is known of the pair that was judged, beside the one shown."""
    return "with the largest bound" if worst_sentence(result) else "that was judged first"


def bound_sentence(result: AuditResult) -> str:
    """What the counts shown say of the privacy loss, with its confidence."""
    bound, small = result.epsilon_lower, result.witness
    if small is not None and _two_pairs(result):
        return (
            f"{_above(result, small.epsilon_lower)} from these counts, with confidence "
            f"{confidence(result)}; D and D' are the smallest pair found that breaks the claim"
        )
    if result.refuted:
        return f"{_above(result, bound)}, with confidence {confidence(result)}"
    if bound > 0:
        at = f" at delta {result.claim.delta:.4g}" if result.claim.curve is not None else ""
        return (
            f"the draws show epsilon >= {at_least(bound)}{at}, with confidence {confidence(result)}"
        )
    return f"the draws show no privacy loss at confidence {confidence(result)}"


def _above(result: AuditResult, bound: float) -> str:
    """A bound that refutes the claim, in words that stay true where it is hardly above it."""
    claimed = result.claim.epsilon
    above = " above the claim" if bound <= claimed else ""
    at = f" at delta {result.claim.delta:.4g}" if result.claim.curve is not None else ""
    return f"epsilon >= {at_least(bound, claimed)}{above}{at}"


def decided_sentence(result: AuditResult) -> str:
    """After how few draws the claim was refuted, if it was."""
    after = result.evidence.decided_after
    if after is None:
        return ""
    pair = "the pair with this bound"
    if _two_pairs(result) and not worst_sentence(result):
        pair = "another pair, which was judged before this one"
    return f"The claim was refuted after {after:,} draws a side of {pair}."


def power_sentences(result: AuditResult) -> tuple[str, ...]:
    """What the run could have seen: without it "not refuted" says nothing."""
    if result.unread:
        return (
            f"Nothing can be said about what would have been seen: {printable(result.unread)}. "
            "Let the mechanism return numbers, texts or collections of them.",
        )
    return tuple(filter(None, (_events(result), _impossible(result), _learnt(result))))


def _events(result: AuditResult) -> str:
    # Two probabilities that read alike are told once.
    power = list({_chance(p): (p, epsilon) for p, epsilon in result.power[::-1]}.values())[::-1]
    told = [(p, epsilon) for p, epsilon in power if isfinite(epsilon)]
    if not told:
        return "No epsilon, however large, was sure enough to be refuted on this pair."
    (p, epsilon), *rarer = told
    first = (
        f"Once found, an event that one database gives with probability {_chance(p)} or more would "
        "have been refuted with probability 0.9 if the other gave it with probability "
        f"{_other_chance(result.claim, p, epsilon)} or less (epsilon {at_most(epsilon)})"
    )
    others = [
        f"{_chance(p)} against {_other_chance(result.claim, p, epsilon)} (epsilon "
        f"{at_most(epsilon)})"
        for p, epsilon in rarer
    ]
    more = f"; so would {', '.join(others)}" if others else ""
    never = [p for p, epsilon in power if not isfinite(epsilon)]
    most = f" One of probability {_chance(max(never))} could not be refuted." if never else ""
    return f"{first}{more}.{most} What no learner proposed was not tested."


def _other_chance(claim: PrivacyClaim, p: float, epsilon: float) -> str:
    """The other side's probability at this epsilon, never rounded up, nor far from it.

    What rounding takes is at most a fiftieth of the way to what the claim allows: an event planted
    by these words is refuted about as often as they say.
    """
    from ...auditors.privacy.power import other_probability  # the page of a file needs no auditor

    q, allowed = (
        other_probability(p, one, delta=claim.delta, distance=claim.steps)
        for one in (epsilon, claim.epsilon)
    )
    if q <= 0:
        return "0"
    digits = 2 - floor(log10(q))
    while (shown := floor(q * 10**digits) / 10**digits) < q - 0.02 * (allowed - q):
        digits += 1
    return f"{shown:.{digits + floor(log10(q)) + 1}g}"


def _chance(p: float) -> str:
    """A probability to two digits, rounded up, so that "or more" stays true."""
    if not 0 < p < 1:
        return f"{p:g}"
    unit = 10.0 ** (floor(log10(p)) - 1)
    return f"{ceil(p / unit - 1e-9) * unit:.2g}"


def _impossible(result: AuditResult) -> str:
    seen = result.detectable_probability
    if seen >= 1:
        return ""
    rarely = _chance(seen) if seen >= 0.001 else f"1 in {floor(1 / seen):,}" if seen else "0"
    return (
        "A value impossible under one database would have been seen and refuted with probability "
        f"0.9 if it had probability {rarely} or more under the other."
    )


def _learnt(result: AuditResult) -> str:
    """What the last doubling of the lesson brought, as a fact and not as a correction."""
    learning = result.learning
    if learning is None or not isfinite(learning.gain):
        return ""
    if learning.gain > UNSETTLED * result.claim.epsilon:
        return (
            f"Learning has not settled: the event learnt from {learning.draws:,} draws a side has "
            f"a log-ratio larger by {learning.gain:.2g} than the one learnt from about half of "
            "them, so more trials would find a worse event."
        )
    smaller = f"smaller by {learning.gain:.2g}" if learning.gain > 0 else "no smaller"
    return (
        f"The event was learnt from {learning.draws:,} draws a side; the one learnt from about "
        f"half of them showed a log-ratio {smaller}."
    )


def reach_sentences(reached: Reach) -> tuple[str, ...]:
    """What the search looked at, and the lines of the mechanism that it never ran."""
    sizes = ""
    if reached.smallest is not None:
        low, high = reached.smallest, reached.largest
        sizes = f" of {low} records" if low == high else f" of {low} to {high} records"
    plural = "" if reached.pairs == 1 else "s"
    looked = f"Looked at {reached.databases} databases{sizes}, in {reached.pairs} pair{plural}."
    passed = ""
    if reached.passed_over:
        passed = (
            f"{reached.passed_over:,} more that the strategy lists were not run: too few trials."
        )
    lines = "; ".join(printable(place) for place in reached.unreached or ())
    return tuple(filter(None, (looked, passed, lines and f"Not reached by any of them: {lines}.")))


def draws_sentence(result: AuditResult) -> str:
    """What it cost, and from which seed."""
    cost = f"{result.draws:,} outputs drawn in {result.seconds:.1f} s"
    if result.seeded:
        return f"{cost}, seed {result.seed}."
    return (
        f"{cost}. The mechanism draws its own randomness, so a replay repeats the experiment with "
        "new draws."
    )


def databases_phrases(pair: Pair) -> tuple[str, str]:
    """Both databases as short text; of long tables the rows that are not in both."""
    return changed_rows(pair) or (database_phrase(pair.database), database_phrase(pair.neighbour))


def database_phrase(database: object) -> str:
    """One database as short text."""
    return printable(show(database))


def story(result: AuditResult) -> Iterator[tuple[str, str]]:
    """One audit in (label, text) lines, the same wherever it is told.

    An empty label goes on with the line before. The verdict itself is `headline`.
    """
    claim = result.claim
    source = f"; {claim.reference}" if claim.reference else ""
    yield "claim", printable(f"{claim_phrase(claim)}{source}")
    if point := point_sentence(result):
        yield "point", point
    one, two = databases_phrases(shown_pair(result))
    yield "D", one
    yield "D'", two
    event = event_phrase(result)
    if event:
        yield "event", event
    counts = count_phrases(result)
    if counts:
        yield "happened", f"in {counts[0]}"
        yield "", f"in {counts[1]}"
    yield "bound", bound_sentence(result)
    if worst := worst_sentence(result):
        yield "worst", worst
    if decided := decided_sentence(result):
        yield "", decided
    yield from unseen(result)
    if result.note and result.verdict is not Verdict.INCONCLUSIVE:
        yield "note", printable(result.note)
    yield "draws", draws_sentence(result)


def next_step(result: AuditResult, rerun: str) -> str:
    """What to do now, with the command that audits anew; empty where nothing need be done."""
    # The page of a file needs no auditor.
    from ...auditors.privacy.verdicts import NO_RETURN, NOT_READ, ONLY_NAN

    then = f", and run {rerun}" if rerun else ", and audit it again"
    match result.verdict:
        case Verdict.REFUTED:
            return (
                "compare the two databases and the event, mend the mechanism or weaken the "
                f"claim{then}"
            )
        case Verdict.INCONCLUSIVE if result.note.startswith((NO_RETURN, ONLY_NAN)):
            return f"let the mechanism return what it releases{then}"
        case Verdict.INCONCLUSIVE if result.note.startswith(NOT_READ):
            return f"let the mechanism return what can be read{then}"
        case Verdict.INCONCLUSIVE:
            return f"give it more draws{then}"
    return ""


def sentence(result: AuditResult) -> str:
    """The headline without the verdict's word; that of a refuted claim names the event."""
    rest = headline(result).partition(": ")[2]
    if result.refuted and result.witness is not None:
        known = "smallest witness" if _two_pairs(result) else "witness"
        return f"{rest.removesuffix('.')}; the {known} is the event {event_phrase(result)}"
    return rest


def plain_number(value: float) -> str:
    """A number for machines, infinities as "inf" and "-inf"."""
    return repr(float(value))
