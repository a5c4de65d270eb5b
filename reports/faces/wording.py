"""The sentences an audit is told in, the same for the terminal and the page."""

from collections.abc import Callable, Iterator
from math import ceil, floor, inf, isfinite

from ...auditors.outputs.encoding import show
from ...auditors.results import AuditResult, Count, Pair, Reach, Verdict
from ...mechanisms.model import PrivacyClaim, Relation
from ..terminal import printable

NOT_EXAMINED = (
    "Not examined: databases the search did not reach, the low-order bits of floating-point "
    "outputs, and running time."
)

BITS_EXAMINED = (
    "Not examined: databases the search did not reach, which floating-point numbers the noise can "
    "reach at all, and running time."
)

_WORDS = {
    Verdict.REFUTED: "Refuted",
    Verdict.NOT_REFUTED: "Not refuted",
    Verdict.INCONCLUSIVE: "Inconclusive",
    Verdict.PROVED: "Proved",
}


def not_examined(result: AuditResult) -> str:
    """What this audit did not look at."""
    return BITS_EXAMINED if result.target.startswith("bits=") else NOT_EXAMINED


def verdict_word(verdict: Verdict) -> str:
    """The verdict as the first word of a sentence."""
    return _WORDS[verdict]


def claim_phrase(claim: PrivacyClaim) -> str:
    """The claim in a few words: "epsilon 1, delta 1e-06 (add-remove, 2 steps apart)"."""
    words = f"epsilon {claim.epsilon:g}"
    if claim.delta:
        words += f", delta {claim.delta:g}"
    steps = f", {claim.distance} steps apart" if claim.distance > 1 else ""
    relation = claim.relation.value
    if claim.relation is Relation.DECLARED:
        relation = "for the neighbours as declared"
    return f"{words} ({relation}{steps})"


def headline(result: AuditResult) -> str:
    """The verdict in a sentence, alone on its line with --quiet."""
    name, claim = printable(result.mechanism), claim_phrase(result.claim)
    match result.verdict:
        case Verdict.REFUTED:
            return f"Refuted: {name} does not keep {claim}; it loses {_loss(result)}."
        case Verdict.NOT_REFUTED:
            return f"Not refuted: no draw contradicts that {name} keeps {claim}."
        case Verdict.INCONCLUSIVE:
            return f"Inconclusive: this run cannot say whether {name} keeps {claim}."
        case Verdict.PROVED:
            return f"Proved: {name} keeps {claim}."


def _loss(result: AuditResult) -> str:
    bound, claimed = result.epsilon_lower, result.claim.epsilon
    if bound <= claimed:
        return f"more than {claimed:g}"
    return f"at least {at_least(bound, claimed)}"


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


def count_phrases(result: AuditResult) -> tuple[str, ...]:
    """How often the event happened on D and on D' of `shown_pair`, in the heaviest count."""
    if not result.evidence.counts:
        return ()
    count = result.evidence.counts[-1]
    if result.witness is not None:
        count = count.oriented
    return tuple(_share(count, side, name) for side, name in enumerate(("D", "D'")))


def _share(count: Count, side: int, name: str) -> str:
    hits, trials = count.hits[side], count.trials[side]
    percent = f"{100 * hits / trials:.3g} %" if trials else "none"
    return f"{hits:,} of {trials:,} outputs from {name} ({percent})"


def bound_sentence(result: AuditResult) -> str:
    """What the counts say of the privacy loss, with its confidence."""
    bound = result.epsilon_lower
    if result.refuted:
        above = " above the claim" if bound <= result.claim.epsilon else ""
        return (
            f"epsilon >= {at_least(bound, result.claim.epsilon)}{above}, with confidence "
            f"{confidence(result)}"
        )
    if bound > 0:
        return f"the draws show epsilon >= {at_least(bound)}, with confidence {confidence(result)}"
    return f"the draws show no privacy loss at confidence {confidence(result)}"


def decided_sentence(result: AuditResult) -> str:
    """After how few draws the sequential test had decided, if it did."""
    after = result.evidence.decided_after
    if after is None:
        return ""
    return f"The sequential test had refuted it after {after:,} draws a side."


def power_sentences(result: AuditResult) -> tuple[str, ...]:
    """What the run could have seen: without it "not refuted" says nothing."""
    detectable, seen = result.detectable_epsilon, result.detectable_probability
    if isfinite(detectable):
        first = (
            f"A true epsilon of {at_most(detectable)} or more on this pair would have been refuted "
            "with probability 0.9."
        )
    else:
        first = "No epsilon, however large, was sure enough to be refuted on this pair."
    if seen >= 1:
        return (first,)
    rarely = f"{seen:.2g}" if seen >= 0.001 else f"1 in {floor(1 / seen):,}" if seen else "0"
    second = (
        "An output impossible under one database would have been seen if it had probability "
        f"{rarely} or more under the other."
    )
    return first, second


def reach_sentences(reached: Reach) -> tuple[str, ...]:
    """What the search looked at, and the lines of the mechanism that it never ran."""
    sizes = ""
    if reached.smallest is not None:
        low, high = reached.smallest, reached.largest
        sizes = f" of {low} records" if low == high else f" of {low} to {high} records"
    plural = "" if reached.pairs == 1 else "s"
    looked = f"Looked at {reached.databases} databases{sizes}, in {reached.pairs} pair{plural}."
    if not reached.unreached:
        return (looked,)
    lines = "; ".join(printable(place) for place in reached.unreached)
    return looked, f"Not reached by any of them: {lines}."


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
    """Both databases as short text."""
    return printable(show(pair.database)), printable(show(pair.neighbour))


def story(result: AuditResult) -> Iterator[tuple[str, str]]:
    """One audit in (label, text) lines, the same wherever it is told.

    An empty label goes on with the line before. The verdict itself is `headline`.
    """
    claim = result.claim
    source = f"; {claim.reference}" if claim.reference else ""
    yield "claim", printable(f"{claim_phrase(claim)}{source}")
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
    decided = decided_sentence(result)
    if decided:
        yield "", decided
    if result.verdict in (Verdict.NOT_REFUTED, Verdict.INCONCLUSIVE):
        yield from zip(("power", ""), power_sentences(result), strict=False)
        yield "", not_examined(result)
        if result.reached is not None:
            yield from zip(("search", ""), reach_sentences(result.reached), strict=False)
    if result.note:
        yield "note", printable(result.note)
    yield "draws", draws_sentence(result)


def next_step(result: AuditResult, rerun: str) -> str:
    """What to do now, with the command that audits anew; empty where nothing need be done."""
    then = f", and run {rerun}" if rerun else ", and audit it again"
    match result.verdict:
        case Verdict.REFUTED:
            return (
                "compare the two databases and the event, mend the mechanism or weaken the "
                f"claim{then}"
            )
        case Verdict.INCONCLUSIVE:
            return f"give it more draws{then}"
    return ""


def sentence(result: AuditResult) -> str:
    """The headline without the verdict's word; an inconclusive result says why as well."""
    rest = headline(result).partition(": ")[2]
    if result.refuted and result.witness is not None:
        return f"{rest.removesuffix('.')}, by the event {event_phrase(result)}"
    return f"{rest} {printable(result.note)}".rstrip()


def plain_number(value: float) -> str:
    """A number for machines, infinities as "inf" and "-inf"."""
    return repr(float(value))
