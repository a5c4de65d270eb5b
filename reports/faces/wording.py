"""The sentences an audit is told in, the same for the terminal and the page."""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from math import ceil, floor, inf, isfinite, log10

from ...auditors.bounds.two_sample import at_distance
from ...auditors.outputs.encoding import canonical, show
from ...auditors.results.results import UNKNOWN, AuditResult, Reach, Verdict
from ...auditors.sampling.again import MOST_ALONE, overlooked
from ...mechanisms.model import Pair, PrivacyClaim, Relation
from ..writing.terminal import printable
from .difference import changed_rows

UNSETTLED = 0.05
"""Part of the claim that the last doubling of the lesson brings while learning has not settled."""

MORE = 10
"""Times as many trials that a report proposes: a loss beyond the claim that is a third as large."""

_WORDS = {
    Verdict.REFUTED: "Refuted",
    Verdict.NOT_REFUTED: "Not refuted",
    Verdict.INCONCLUSIVE: "Inconclusive",
    Verdict.PROVED: "Proved",
}


def not_examined(result: AuditResult) -> str:
    """What this audit did not look at."""
    databases = "all other databases" if result.reached is None else "databases not reached"
    bits = "low-order bits of floats"
    if result.target.startswith("bits="):
        bits = "which floats the noise can reach at all"
    rare = result.detectable_probability
    events = "other kinds of events"
    if result.verdict is Verdict.NOT_REFUTED and not result.claim.delta and 0 < rare < 1:
        hidden = ""
        numbers = result.sketch is not None and bool(result.sketch.edges)
        if numbers and result.plan.get("rng", ()) is None:  # a program: nobody knows what it draws
            hidden = " (the only ones that show that Gaussian noise keeps no epsilon alone)"
        events = f"events rarer than {_rarely(rare)}{hidden}, {events}"
    return f"Not examined: {databases}, {events}, {bits}, running time."


def unseen(result: AuditResult, *, detail: bool = True) -> Iterator[tuple[str, str]]:
    """What was examined and what was not, in (label, sentence) lines as those of `story`.

    The table of what it could see, `power_rows`, goes before them.
    """
    if result.verdict in (Verdict.NOT_REFUTED, Verdict.INCONCLUSIVE):
        yield from _labelled("learnt", filter(None, [_learnt(result, detail=detail)]))
    yield from _labelled("search", search_sentences(result, detail=detail))
    limits = [not_examined(result), assumed(result, detail=detail)]
    if result.refuted_exactly:
        limits.insert(1, "The loss is exact on this pair; another pair may lose more.")
    elif result.refuted:
        limits.insert(1, lower_bound(result))
    yield from _labelled("limits", limits if detail else [" ".join(limits)])


def lower_bound(result: AuditResult) -> str:
    """What a bound of a refutation leaves open, and why another run may give another one."""
    used = f" (here {budget})" if (budget := budget_phrase(result)) else ""
    return (
        f"This is a lower bound: a larger budget{used} may raise it, and the true loss may be "
        "larger."
    )


def budget_phrase(result: AuditResult) -> str:
    """What the bound depends on beside the code, in the words of the settings; "" if unknown."""
    plan = result.plan
    if result.refuted_exactly or "trials" not in plan or "precision" not in plan:
        return ""
    if plan["precision"] is None:
        return f"{plan['trials']:,} trials, precision none: counting stopped at the refutation"
    return f"{plan['trials']:,} trials, precision {plan['precision']:g}"


def assumed(result: AuditResult, *, detail: bool = True) -> str:
    """What the verdict rests on and no run can show."""
    again, outside = result.plan.get("made_again"), result.plan.get("outside")
    if detail and again:
        parts = [
            "that the mechanism remembers nothing from before the audit or outside its process "
            "(counted runs gave the same outputs when they were made again in a fresh process)"
        ]
    else:
        parts = ["that calls are independent" + ("" if again else " (no run was made again)")]
    if result.refuted_exactly or result.verdict is Verdict.PROVED:
        parts = []  # no draw decides
    elif result.refuted and again:
        parts[0] += _not_shown(result.claim)
    if not result.seeded:
        parts.append("that its own randomness, which this run could not seed, is fresh in each")
    if outside:
        parts.append(f"that {printable(', '.join(outside))}, which it uses, remembers nothing")
    if result.plan.get("trust_rows"):
        parts.append(
            "that outputs of one size= call are independent too, as the mechanism or you declared "
            "(trust_rows)"
        )
    if result.exact is not None:
        parts.append(
            "that the generator is its only randomness, and uniforms are real numbers (exact laws)"
        )
    if result.plan.get("relation") == "unsaid":
        parts.append(
            "that D and D' are neighbours: no relation was given, and they are one record apart "
            "under none that is known"
        )
    elif result.claim.relation is Relation.DECLARED:
        parts.append("that D and D' are neighbours, as you declared")
    return f"Assumes {', and '.join(parts)}."


def _not_shown(claim: PrivacyClaim) -> str:
    """What draws made alone leave open where the claim allows a large loss; "" if nothing."""
    rarely = overlooked(*at_distance(claim.epsilon, claim.delta, claim.steps))
    if not rarely:
        return ""
    many = f"{rarely:,.0f}" if rarely < 1e6 else f"{rarely:.1e}"
    return (
        f" (at most {MOST_ALONE:,} draws were each made in a process of its own: a bit that calls "
        f"remember, and that differs in one process of {many}, may not show there)"
    )


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


def claim_phrase(claim: PrivacyClaim, *, whole: bool = False) -> str:
    """The claim in a few words: "epsilon 1, delta 1e-06 (add-remove, 2 steps apart)".

    With `whole` no digit is left out, since a smaller epsilon might not be kept.
    """
    words = point_phrase(claim, whole=whole) if claim.curve is None else str(claim.curve)
    steps = f", {claim.distance} steps apart" if claim.distance > 1 else ""
    relation = claim.relation.value
    if claim.relation is Relation.DECLARED:
        relation = "for the neighbours as declared"
    return f"{words} ({relation}{steps})"


def claimed_size(claim: PrivacyClaim) -> str:
    """What is claimed in a word or two, without its relation: "1", or "mu 0.5" of a curve."""
    return f"{claim.epsilon:g}" if claim.curve is None else str(claim.curve)


def point_phrase(claim: PrivacyClaim, *, whole: bool = False) -> str:
    """Epsilon and delta: those claimed, or the point of the curve that was judged."""
    digits = ".4g" if claim.curve is not None else ".17g" if whole else "g"
    if whole and float(f"{claim.epsilon:.12g}") == claim.epsilon:
        digits = ".12g"
    words = f"epsilon {claim.epsilon:{digits}}"
    return words + (f", delta {claim.delta:{digits}}" if claim.delta else "")


def point_sentence(result: AuditResult) -> str:
    """Which point of a curve was judged; else nothing."""
    curve = result.claim.curve
    if curve is None:
        return ""
    bets = result.evidence.bets
    averages = ", and bounds on averages of powers of the likelihood ratio"
    more = averages if bets is not None and bets.of_moments else ""
    return f"{curve} implies {point_phrase(result.claim)} for this pair{more}: that was tested"


def headline(result: AuditResult) -> str:
    """The verdict in a sentence, alone on its line with --quiet."""
    whole = result.verdict is Verdict.PROVED
    name, claim = printable(result.mechanism), claim_phrase(result.claim, whole=whole)
    match result.verdict:
        case Verdict.REFUTED:
            return f"Refuted: {name} does not keep {claim}: {_loss(result)}."
        case Verdict.NOT_REFUTED:
            return f"Not refuted: no violation of {claim} found in {name}."
        case Verdict.INCONCLUSIVE:
            why = f": {printable(result.note)}" if result.note else ""
            return f"Inconclusive: this run cannot say whether {name} keeps {claim}{why}."
        case Verdict.PROVED:
            where = f" on {printable(result.exact.scope)}" if result.exact is not None else ""
            return f"Proved: {name} keeps {claim}{where}."


def _loss(result: AuditResult) -> str:
    if result.refuted_exactly:
        return f"{_exact_loss(result)}, exactly"
    curve = result.claim.curve
    if _at_zero(result):
        return _above(result, result.epsilon_lower)
    if curve is not None and curve.parameter == "factor":
        bound, claimed = result.size_lower, curve.size
        shown = f"at least {at_least(bound, claimed)} times" if bound > claimed else "more than"
        return f"privacy loss of {shown} its epsilon"
    if curve is not None:
        bound, claimed, name = result.size_lower, curve.size, curve.parameter
    else:
        bound, claimed, name = result.epsilon_lower, result.claim.epsilon, "privacy loss"
    if bound <= claimed:
        return f"{name} > {claimed:g}"
    return f"{name} >= {at_least(bound, claimed)}"


def _exact_loss(result: AuditResult) -> str:
    """What the worst pair loses by the exact laws, in the parameter that breaks the claim."""
    found, delta = result.exact, result.claim.delta
    assert found is not None
    loss = f"epsilon = {exactly(found.epsilon)}"
    return f"{loss} at delta {delta:g}" if delta else loss


def exactly(value: float) -> str:
    """A number known exactly but for the roundings of doubles, to twelve digits."""
    return "infinity" if value == inf else f"{value:.12g}"


def exact_sentences(result: AuditResult) -> Iterator[str]:
    """What the exact laws of the mechanism's code say of the claim; nothing without them."""
    found = result.exact
    if result.not_exact:
        yield f"The exact laws do not decide: {printable(result.not_exact)}."
    if found is None:
        return
    outputs = f"{found.outcomes:,} output{'' if found.outcomes == 1 else 's'}"
    how = f"exact probabilities of {outputs}, from {found.runs:,} enumerated runs"
    if found.verdict is Verdict.PROVED:
        delta = f" at delta {result.claim.delta:g}" if result.claim.delta else ""
        most = f"no event loses more than epsilon {exactly(found.epsilon)}{delta}"
        told = f"proved on {printable(found.scope)}: {most}; {how}"
    else:
        assert found.event is not None
        told = f"refuted exactly, {_exact_loss(result)}; {how}"
        if not result.by_law:
            one, two = databases_phrases(found.pair)
            first, second = map(exact_chance, found.chances)
            told += (
                f": {printable(found.event.describe())} has probability {first} under {one} and "
                f"{second} under {two}"
            )
    yield f"{told[0].upper()}{told[1:]}."
    if found.tail:
        left = f"Runs of probability {found.tail:.2g} together were cut off"
        if found.verdict is Verdict.PROVED:
            yield f"{left}: the proof holds with that as delta."
        else:
            yield f"{left}; all of it is given to the other side."


def exact_chance(text: str) -> str:
    """A probability that is written as a fraction, as a number too if it is long."""
    value = float(Fraction(text))
    return text if len(text) <= 12 else f"{value:.12g}"


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
    if result.by_law:
        return None  # what was counted is another event, and perhaps another pair
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
    if result.by_law and result.exact is not None:
        return tuple(f"exactly {exact_chance(one)} of all runs" for one in result.exact.chances)
    if counts is None:
        return ()
    sides = zip(*counts, strict=True)
    return tuple(f"{share(*one)} of the runs ({count_phrase(*one)})" for one in sides)


def count_phrase(hits: int, trials: int) -> str:
    """Hits and runs: "1,301 of 2,255"."""
    return f"{hits:,} of {trials:,}"


def share(hits: int, trials: int) -> str:
    """Hits as a percentage of the runs."""
    return f"{100 * hits / trials:.3g} %" if trials else "none"


def two_pairs(result: AuditResult) -> bool:
    """Whether the pair shown is a smaller one than the pair that was judged."""
    small, judged = result.witness, result.likelier_first
    if small is None or small.evidence is None or not result.evidence.counts:
        return False
    if small.database is judged.database and small.neighbour is judged.neighbour:
        return False
    pairs = (small.database, small.neighbour), (judged.database, judged.neighbour)
    return canonical(pairs[0]) != canonical(pairs[1])


def worst_sentence(result: AuditResult, *, detail: bool = True) -> str:
    """The pair with the largest bound, if the one shown is another one; else nothing."""
    worst = result.worst
    if worst is None or worst is result.witness or not two_pairs(result):
        return ""
    counts = tuple(zip(result.evidence.hits, result.evidence.trials, strict=True))
    one, two = databases_phrases(Pair(worst.database, worst.neighbour))
    first, second = (share(*count) for count in counts)
    found = (
        f"{_above(result, worst.epsilon_lower)} on {one} and {two}, the largest bound found: "
        f"{printable(worst.event.describe())} in {first} and {second} of the runs"
    )
    if not detail:
        return f"{found}."
    first, second = (count_phrase(*count) for count in counts)
    return f"{found} ({first}; {second}). Both bounds are valid at the stated confidence."


def pictured_sentence(result: AuditResult) -> str:
    """Which pair the pictures are of, where it is not the one shown; else nothing."""
    if not (result.by_law and result.evidence.counts):
        return ""
    one, two = databases_phrases(result.likelier_first)
    event = printable(result.evidence.counts[-1].event.describe())
    return (
        f"The pictures are of the pair {judged_as(result)}: there D is {one} and D' is "
        f"{two}, and the event is {event}."
    )


def judged_as(result: AuditResult) -> str:
    """What is known of the pair that was judged, beside the one shown.

    If bets alone refute it, its bound is the claim, and that of the smaller pair is no smaller.
    """
    return "with the largest bound" if worst_sentence(result) else "that was tested first"


def by_bets(result: AuditResult) -> bool:
    """Whether a sequential test of all outputs refuted the claim, and not the event shown."""
    shown = result.evidence if result.witness is None else result.witness.evidence
    return shown is not None and bool(shown.counts) and shown.counts[-1].stage == "bet"


BY_BETS = (
    "The counts are those of one event; a sequential test of all outputs of these runs refuted the "
    "claim"
)
"""What refuted the claim, if the counts of the event that is shown did not."""


def bound_sentence(result: AuditResult) -> str:
    """The lower bound that the counts shown give, with its confidence."""
    bound, small = result.drawn_lower, result.witness
    if result.by_law:
        return f"{_exact_loss(result)} on this pair, exactly; no run showed it"
    held = f"with {confidence(result)} confidence"
    proof = "" if result.verdict is Verdict.PROVED else "; no proof"
    if result.refuted:
        own, where = _above(result, bound), ""
        if small is not None and two_pairs(result):
            own = _above(result, small.epsilon_lower)
            where = " on this pair, the smallest pair found that breaks the claim"
        if by_bets(result):
            held += f". {BY_BETS}"
        return f"{own}{where}, {held}"
    if bound > 0:
        at = f" at delta {result.claim.delta:.4g}" if result.claim.curve is not None else ""
        claimed = f" of the claimed {result.claim.epsilon:.4g}" if not at else ""
        return f"epsilon >= {at_least(bound)}{claimed}{at}, {held}{proof}"
    if result.claim.curve is not None:
        return f"no loss above epsilon 0 at delta {result.claim.delta:.4g} found, {held}{proof}"
    return f"no privacy loss found, {held}{proof}"


def _at_zero(result: AuditResult) -> bool:
    """Whether a curve is refuted at a point of epsilon 0, of which no multiple allows more."""
    curve, refuted = result.claim.curve, result.refuted
    return (
        curve is not None and curve.parameter == "factor" and refuted and not result.claim.epsilon
    )


def _above(result: AuditResult, bound: float) -> str:
    """A bound that refutes the claim: above it even if bets refute, which bound nothing else."""
    claimed = result.claim.epsilon
    if result.claim.curve is not None and bound <= claimed:  # bets refute, and bound no point
        return f"a loss above {result.claim.curve}"
    shown = f">= {at_least(bound, claimed)}" if bound > claimed else f"> {claimed:.4g}"
    at = f" at delta {result.claim.delta:.4g}" if result.claim.curve is not None else ""
    return f"epsilon {shown}{at}"


def bound_phrase(result: AuditResult) -> str:
    """What is known, wherever an audit is told in one line: "epsilon >= 1.824", "mu >= 0.932".

    Of a curve it is told in its own parameter, since no epsilon was claimed.
    """
    curve = result.claim.curve
    if result.exact is not None and (result.refuted_exactly or result.verdict is Verdict.PROVED):
        sign = "=" if result.refuted_exactly else "<="
        return f"epsilon {sign} {exactly(result.exact.epsilon)}"
    if (
        curve is not None
        and not _at_zero(result)
        and not (result.refuted and result.size_lower <= curve.size)
    ):
        size = at_least(result.size_lower, curve.size if result.refuted else -inf)
        shown = f"{size} times its epsilon" if curve.parameter == "factor" else size
        named = "" if curve.parameter == "factor" else f"{curve.parameter} "
        return f"{named}>= {shown}" if result.size_lower > 0 else "none"
    if result.refuted:
        return _above(result, result.epsilon_lower)
    bound = result.epsilon_lower
    return f"epsilon >= {at_least(bound)}" if bound > 0 else "none"


def decided_sentence(result: AuditResult) -> str:
    """After how few runs the claim was refuted, if it was."""
    after = result.evidence.decided_after
    if after is None or result.by_law:
        return ""
    pair = " of the worst pair"
    if not two_pairs(result):
        pair = ""
    elif not worst_sentence(result):
        pair = " of another pair, which was tested before this one,"
    return f"{after:,} runs per database{pair} were enough to refute the claim."


POWER = "If chosen, an event of a row refutes the claim 9 times in 10:"
POWER_ROWS = ("under one database", "under the other", "privacy loss")
"""What the three parts of each row of `power_rows` are."""
POWER_IN_SHORT = ("one side", "the other", "loss")
"""The same in a narrow terminal."""


def power_rows(result: AuditResult) -> tuple[tuple[str, str, str], ...]:
    """What the run could have seen: without it "not refuted" says nothing.

    Each row has the probability of an event under one database, that under the other at which the
    claim would have been refuted with probability 0.9, and the privacy loss (nats) they make. One
    row is of an output that is impossible under one of them; the likeliest events come first.
    """
    if result.unread or result.verdict not in (Verdict.NOT_REFUTED, Verdict.INCONCLUSIVE):
        return ()
    # Two probabilities that read alike are told once.
    power = list({_chance(p): (p, epsilon) for p, epsilon in result.power[::-1]}.values())[::-1]
    rows = [
        (_chance(p), _other_chance(result.claim, p, epsilon), at_most(epsilon))
        if isfinite(epsilon)
        else (_chance(p), "0", "not detected")
        for p, epsilon in power
    ]
    if not any(isfinite(epsilon) for _, epsilon in power):
        rows = []
    if (seen := result.detectable_probability) < 1:
        # Beside rows that the same runs would not have detected, it stands in its place.
        before = sum(p >= seen for p, _ in power) if rows else 0
        rows.insert(before, (_rarely(seen), "0", "infinite"))
    return tuple((f">= {p}", q if q == "0" else f"<= {q}", loss) for p, q, loss in rows)


def no_power(result: AuditResult) -> str:
    """Why there is no row of `power_rows`, as a sentence; else nothing."""
    if result.refuted or result.verdict is Verdict.PROVED or power_rows(result):
        return ""
    if result.unread:
        return (
            f"Nothing can be said about what would have been detected: {printable(result.unread)}. "
            "Let the mechanism return numbers, texts or collections of them."
        )
    return "This pair could not have refuted any epsilon, however large."


def _other_chance(claim: PrivacyClaim, p: float, epsilon: float) -> str:
    """The other side's probability at this epsilon, never rounded up, nor far from it.

    What rounding takes is at most a fiftieth of the way to what the claim allows: an event planted
    by these words is refuted about as often as they say.
    """
    from ...auditors.bounds.power import other_probability  # the page of a file needs no auditor

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


def _rarely(p: float) -> str:
    """A probability that may be small: 0.02, or 1 in 1,242."""
    return _chance(p) if p >= 0.001 else f"1 in {floor(1 / p):,}" if p else "0"


def _learnt(result: AuditResult, *, detail: bool) -> str:
    """What the last doubling of the lesson brought, as a fact and not as a correction."""
    learning = result.learning
    if learning is None or result.unread or not isfinite(result.gain):
        return ""
    runs = f"Event chosen from {learning.draws:,} runs per database;"
    if result.gain > UNSETTLED * result.claim.epsilon:
        return (
            f"{runs} half of them gave one whose log-ratio is smaller by {result.gain:.2g}, so "
            "more trials would find a better event."
        )
    if not detail:
        return ""
    if result.gain > 0:
        return f"{runs} the second half of them raised its log-ratio by {result.gain:.2g}."
    return f"{runs} more runs did not improve it."


def search_sentences(result: AuditResult, *, detail: bool = True) -> tuple[str, ...]:
    """What was searched and what it cost; the lines of the mechanism that never ran.

    Of a mechanism of the catalogue the lines are no concern of who audits it.
    """
    cost = draws_sentence(result)
    if detail and "trials" in result.plan:
        precision = result.plan.get("precision")
        cost += (
            f" At most {result.plan['trials']:,} runs per database of the pair that decides, "
            f"precision {'none' if precision is None else f'{precision:g}'}."
        )
        if tape := result.plan.get("tape"):
            cost += f" {tape}"
    if result.reached is None:
        return (f"One pair, given by hand; {cost}",)
    own = ":" in result.target or not result.target
    searched, *more = reach_sentences(result.reached, lines=detail or own)
    return (f"{searched}; {cost}", *more)


def reach_sentences(reached: Reach, *, lines: bool = True) -> tuple[str, ...]:
    """What a search looked at, what it passed over, and which `lines` it never ran."""
    sizes = ""
    if reached.smallest is not None:
        low, high = reached.smallest, reached.largest
        sizes = f" ({low if low == high else f'{low}-{high}'} records)"
    pairs = f"{reached.pairs:,} pair" + ("" if reached.pairs == 1 else "s")
    passed = ""
    if reached.passed_over:
        passed = (
            f"{reached.passed_over:,} more that the strategy lists were not run: too few trials."
        )
    places = "; ".join(printable(place) for place in reached.unreached or ()) if lines else ""
    searched = f"{reached.databases:,} databases{sizes}, {pairs}"
    unrun = f"Not executed in the search, whose later runs are not followed: {places}."
    return tuple(filter(None, (searched, passed, places and unrun)))


def draws_sentence(result: AuditResult) -> str:
    """What it cost, and from which seed."""
    cost = f"{result.draws:,} runs, {result.seconds:.1f} s"
    if result.seeded:
        return f"{cost}, seed {result.seed}."
    return f"{cost}, unseeded: a replay repeats the experiment with new randomness."


def databases_phrases(pair: Pair) -> tuple[str, str]:
    """Both databases as short text; of long tables the rows that are not in both."""
    return changed_rows(pair) or (database_phrase(pair.database), database_phrase(pair.neighbour))


def database_phrase(database: object) -> str:
    """One database as short text."""
    return printable(show(database))


def story(result: AuditResult, *, detail: bool = False) -> Iterator[tuple[str, str]]:
    """One audit in (label, text) lines, the same wherever it is told; all of it with `detail`.

    An empty label goes on with the line before. The verdict itself is `headline`.
    """
    if event := event_phrase(result):
        yield "event", event
    databases = databases_phrases(shown_pair(result))
    counts = count_phrases(result) or ("", "")
    for name, database, count in zip(("D", "D'"), databases, counts, strict=True):
        yield name, database
        if count:
            yield "", f"the event in {count}"
    yield from findings(result, detail=detail)
    rows = power_rows(result)
    if rows:
        yield "power", POWER
    for row in rows:
        yield "", "; ".join(f"{name} {text}" for name, text in zip(POWER_ROWS, row, strict=True))
    yield from unseen(result, detail=detail)


def findings(result: AuditResult, *, detail: bool = False) -> Iterator[tuple[str, str]]:
    """What follows from the counts, in (label, text) lines: bounds, the worst pair, remarks."""
    claim = result.claim
    if detail:
        source = f"; {claim.reference}" if claim.reference else ""
        yield "claim", printable(f"{claim_phrase(claim)}{source}")
    if point := point_sentence(result):
        yield "point", point
    yield "bound", f"{bound_sentence(result)}."
    if worst := worst_sentence(result, detail=detail):
        yield "worst", worst
    if detail and (decided := decided_sentence(result)):
        yield "", decided
    yield from _labelled("exact", exact_sentences(result))
    causes = tuple(cause_sentences(result))
    if not detail and len(causes) > 1:
        more = "line" if len(causes) == 2 else "lines"
        causes = (f"{causes[0]} ({len(causes) - 1} more {more}: audit -v --explain.)",)
    yield from _labelled(cause_label(result), causes)
    remarks = filter(None, (printable(note(result)), *randomness(result)))
    yield from _labelled("note", remarks)
    if reason := no_power(result):
        yield "power", reason


def cause_label(result: AuditResult) -> str:
    """What the lines are: the cause of a broken claim, or noise that hides what it should."""
    return "cause" if result.cause is not None and result.cause.accused else "noise"


def cause_sentences(result: AuditResult) -> Iterator[str]:
    """The lines that spend the loss, as "file:line: reason", and what is known of all of them."""
    if result.cause is None:
        return
    for one in result.cause.lines:
        installed = one.file.rpartition("site-packages/")[2]
        yield printable(f"{installed}:{one.line}: {one.reason}.")
    if result.cause.summary:
        yield printable(f"{result.cause.summary[:1].upper()}{result.cause.summary[1:]}. This is a "
                        "guide and no verdict.")  # fmt: skip


def note(result: AuditResult) -> str:
    """The remark on a result, unless it is told with the verdict or explains another one."""
    drawn = result.exact.drawn[0] if result.exact is not None else result.verdict
    return "" if Verdict.INCONCLUSIVE in (result.verdict, drawn) else result.note


GAUSSIAN = frozenset({"normal", "multivariate_normal"})
"""Laws of the generator whose noise has an unbounded privacy loss."""


def randomness(result: AuditResult) -> Iterator[str]:
    """What is to be said of the generators that a call drew from, and of noise that hides a loss.

    Gaussian noise keeps no epsilon without a delta, and only events too rare for any run show it.
    """
    plan, claim = result.plan, result.claim
    given, others = plan.get("rng"), plan.get("globals") or ()
    if given == UNKNOWN:
        return
    if others:
        how = "beside the rng that it is given" if given else "and not from the rng it is given"
        yield (
            f"It draws from global generators (of numpy, random or torch) {how}. This run seeded "
            "them for each call; elsewhere other code may seed them or know what they draw. Draw "
            "from rng."
        )
    elif given == [] and _constant(result):
        yield "It drew nothing from its rng: noise that should be there is missing."
    pure = claim.curve is None and not claim.delta
    if not pure or result.verdict not in (Verdict.NOT_REFUTED, Verdict.INCONCLUSIVE):
        return
    if GAUSSIAN.intersection((*(given or ()), *others)):
        yield (
            "It draws Gaussian noise: if a record moves what this noise is added to, no epsilon "
            "holds without a delta, and only events that are too rare for any run would show it; "
            "claim a delta, mu or rho."
        )


def _constant(result: AuditResult) -> bool:
    """Whether each database gave one output, however often."""
    seen = result.sketch
    return (
        seen is not None
        and not seen.edges
        and all(sum(number > 0 for number in side) == 1 for side in seen.counts)
    )


def next_step(result: AuditResult, rerun: str) -> str:
    """What to do now, with the command that audits anew; empty if nothing need be done."""
    # The page of a file needs no auditor.
    from ...auditors.evidence.derive import NO_RETURN, NOT_READ, ONLY_NAN

    then = f"then run: {rerun}" if rerun else "then audit it again"
    match result.verdict:
        case Verdict.REFUTED:
            return (
                "Find what the differing record changes, fix the mechanism or weaken the claim, "
                f"{then}"
            )
        case Verdict.INCONCLUSIVE if result.note.startswith((NO_RETURN, ONLY_NAN)):
            return f"Let the mechanism return what it releases, {then}"
        case Verdict.INCONCLUSIVE if result.note.startswith(NOT_READ):
            return f"Let the mechanism return numbers, texts or collections of them, {then}"
        case Verdict.INCONCLUSIVE:
            return f"Give it more trials, {then}"
        case Verdict.NOT_REFUTED:
            return _look_further(result)
    return ""


def _look_further(result: AuditResult) -> str:
    """What would detect more than an audit that found no violation; "" if nothing is known."""
    parts = []
    if "trials" in result.plan and not result.unread:
        what = "smaller violations" if power_rows(result) else "violations"
        parts.append(f"{what} need more runs, such as --trials {MORE * result.plan['trials']}")
    if result.reached is None and result.claim.relation is not Relation.DECLARED:
        parts.append("other databases were not run, give a strategy of them to search")
    told = "; ".join(parts)
    return told[:1].upper() + told[1:]


def sentence(result: AuditResult) -> str:
    """The headline without the verdict's word; that of a refuted claim names the event."""
    rest = headline(result).partition(": ")[2]
    if result.refuted and result.witness is not None:
        known = "smallest witness" if two_pairs(result) else "witness"
        return f"{rest.removesuffix('.')}; the {known} is the event {event_phrase(result)}"
    return rest


def short(result: AuditResult) -> str:
    """A refutation in the fewest words: "wrong_sum loses 1.784 > 1"."""
    if result.refuted_exactly:
        return f"{printable(result.mechanism)}: {_exact_loss(result)} > {result.claim.epsilon:g}"
    curve, bound, claimed = result.claim.curve, result.epsilon_lower, result.claim.epsilon
    name = ""
    if curve is not None:
        name, bound, claimed = f"{curve.parameter} ", result.size_lower, curve.size
    if bound <= claimed:  # bets refute, and bound nothing
        return f"{printable(result.mechanism)} loses more than {name}{claimed:g}"
    shown = at_least(bound, claimed)
    return f"{printable(result.mechanism)} loses {name}{shown} > {claimed:g}"


def plain_number(value: float) -> str:
    """A number for machines, infinities as "inf" and "-inf"."""
    return repr(float(value))
