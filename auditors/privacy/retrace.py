"""All that a record says beside its counts, worked out again; what does not follow is named.

The counts are made again by `replay`; everything here follows from them, from the claim and from
the scheme of `judge`: looks and their levels, bounds, the verdict, the witness and its words, the
growth, the version of the mechanism, the distance of the pair. The levels are those that the
scheme may spend, so a record cannot buy its verdict with a level of its own.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import inf, isclose
from typing import Any

from ...mechanisms.model import Choices, Mechanism, PrivacyClaim, Relation, Value, lines_of
from ..choosing.choose import Choice
from ..databases.distance import HISTOGRAMS, require_neighbours
from ..errors import InvalidArgument
from ..evidence.read import read_bets
from ..evidence.record import (
    ClaimRecord,
    EvidenceRecord,
    LookRecord,
    Number,
    ResultRecord,
    WitnessRecord,
)
from ..evidence.write import number as written
from ..outputs.decoding import from_json
from ..outputs.encoding import canonical
from ..results.results import Count, ExactResult, Look, Pair, Verdict
from ..sampling.fingerprint import fingerprint
from ..tape.exact import Checked
from .attempt import (
    EARLY,
    LAST,
    Plan,
    Test,
    bound_of,
    early_looks,
    foreseen,
    last_looks,
    totals,
)
from .betting import bound_of_bets, share
from .budget import WORST
from .judge import MOST_EARLY, early_share
from .verdicts import (
    NO_RETURN,
    NOT_READ,
    ONLY_NAN,
    OUT_OF_TIME,
    TYPES,
    USEFUL,
    figures_of,
    useful,
    usual,
)

NOT_RECOMPUTED = (
    "draws", "seconds", "learning", "detectable_probability", "reached", "unread", "sketch",
    "replay", "environment", "cause",
)  # fmt: skip
"""Fields that counting again cannot decide: they are read from the file, and believed.

Where the record holds all that was asked the whole audit is made again (`rerun`), and only the
seconds, the words of the target and of the replay, and the environment are believed.
"""

INPUTS = (
    "claim", "plan.trials", "plan.precision", "plan.vectorised", "plan.search", "judged.predicted",
    "judged.spread", "judged.rates", "evidence.counts.predicted", "evidence.counts.spread",
    "evidence.counts.rates",
)  # fmt: skip
"""What was asked and what was foreseen. A change is named where a plan of looks follows from it."""

BELIEVED = ("target", *NOT_RECOMPUTED, *INPUTS)
REPEATED = ("target", *NOT_RECOMPUTED, "claim", "plan", "judged", "evidence", "pair", "seed")
"""The same for a mechanism with randomness of its own: the experiment is made once more, and no
count of the first has anything to be compared with."""

CLOSE = 1e-9


def shares(alpha: float, *, small: bool) -> tuple[float, ...]:
    """The error probabilities that the judging of one pair may have started with."""
    return ((1 - WORST) * alpha,) if small else (alpha, WORST * alpha)


def betting_again(record: ResultRecord, claim: PrivacyClaim) -> Iterator[str]:
    """Whether the part of the error probability for bets is the one of such an audit."""
    said, plan = record["plan"].get("betting", 0.0), record["plan"]
    part = share(plan.get("precision", 0.05), claim, seeded=bool(record["seeded"]))
    if said not in (0.0, part):
        yield f"plan.betting: {_short(said)} is no part of alpha that bets may have"


def counted_parts(
    alphas: tuple[float, ...], part: float
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """What of these error probabilities the counts have, and what the bets have."""
    return tuple((1 - part) * one for one in alphas), tuple(part * one for one in alphas)


def bets_again(
    evidence: EvidenceRecord,
    counts: Sequence[Count],
    test: Test,
    levels: tuple[float, ...],
    place: str,
) -> Iterator[str]:
    """What the look that the bets decided gets wrong; `counts` are those that show what they won.

    The wealth is worked out from the draws of each batch by cell.
    """
    bets = read_bets(evidence)
    assert bets is not None
    look = evidence["looks"][0]
    if not any(isclose(bets.level, level, rel_tol=CLOSE) for level in levels):
        yield f"{place}.bets.level: {_short(bets.level)} is not what bets may spend"
    hits, trials = totals(tuple(counts)) if counts else ((0, 0), (0, 0))
    made = [(batch.chunk, batch.draws) for batch in bets.batches]
    shown = [(count.chunk, count.trials[0]) for count in counts]
    if (
        shown != made[-len(shown) :]
        or not shown
        or [chunk for chunk, _ in made] != sorted({chunk for chunk, _ in made})
    ):
        yield f"{place}.counts: not the last batches that were bet on"
    if any(_fixed(count) != _fixed(counts[0]) for count in counts):
        yield f"{place}: the counts of the bets differ in what was fixed before them"
    bound = bound_of_bets(bets.batches, test.claim, bets.level)
    yield from _unlike(f"{place}.hits", look["hits"], list(hits))
    yield from _unlike(f"{place}.trials", look["trials"], list(trials))
    yield from _unlike(f"{place}.level", look["level"], bets.level)
    yield from _unlike(f"{place}.epsilon_lower", number_of(look["epsilon_lower"]), bound)
    if not sum(draws for _, draws in made) <= look["draws"] <= test.trials:
        yield f"{place}.draws: {look['draws']} do not fit the batches or {test.trials} trials"


def looks_again(
    looks: Sequence[LookRecord],
    counts: Sequence[Count],
    test: Test,
    alphas: tuple[float, ...],
    precision: float | None,
    place: str,
    *,
    whole: bool = True,
) -> Iterator[str]:
    """What the looks of one pair get wrong; `counts` are the recorded ones, one for each look.

    Where they are not the `whole`, they are those that lead to the look with the largest bound.
    """
    best = best_of(looks)
    of_best = [look for look in looks if best is not None and look["attempt"] == best["attempt"]]
    first = looks[0]["attempt"] if looks else 0
    if (whole and len(looks) != len(counts)) or len(of_best) < (0 if whole else len(counts)):
        yield f"{place}: {len(looks)} looks for {len(counts)} counts; every count has one"
        return
    paired: list[tuple[LookRecord, Count | None]] = []
    given = iter(counts)
    for look in looks:
        paired.append((look, next(given, None) if whole or look in of_best else None))
    attempts = [list(group) for _, group in groupby(paired, key=lambda one: one[0]["attempt"])]
    if [attempt[0][0]["attempt"] - first for attempt in attempts] != list(range(len(attempts))):
        yield f"{place}.attempt: the attempts must be numbered from 0 in their order"
    for attempt in attempts:
        own = [count for _, count in attempt if count is not None]
        if any(_fixed(count) != _fixed(own[0]) for count in own):
            yield (
                f"{place}: the counts of attempt {attempt[0][0]['attempt']} differ in what was "
                "fixed before it (event, reversed, predicted, spread or rates)"
            )
        before = attempt[0][0]["draws"] - attempt[0][0]["trials"][0]
        for number, (look, counted) in enumerate(attempt):
            if counted is None:
                continue
            hits, trials = totals(tuple(own[: number + 1]))
            bound = bound_of(tuple(own[: number + 1]), test, look["level"])
            yield from _unlike(f"{place}.hits", look["hits"], list(hits))
            yield from _unlike(f"{place}.trials", look["trials"], list(trials))
            yield from _unlike(f"{place}.epsilon_lower", number_of(look["epsilon_lower"]), bound)
            yield from _unlike(f"{place}.draws", look["draws"], before + trials[0])
            if look["draws"] > test.trials or before < 0:
                yield f"{place}.draws: {look['draws']} do not fit into {test.trials} trials"
    rows = any(count.stage == "standing" for count in counts)
    if rows and any(number_of(look["epsilon_lower"]) >= test.claim.epsilon for look in looks):
        yield f"{place}: rows, which only bound a claim that stands, are said to refute it"
    if counts and counts[0].stage != "recheck":
        found = [_levels(attempts, test, alpha, precision, place, whole) for alpha in alphas]
        if all(found):
            yield from found[-1]


def _fixed(count: Count) -> tuple[Any, ...]:
    return count.event, count.reversed, count.predicted, count.spread, count.rates


def _levels(
    attempts: Sequence[Sequence[tuple[LookRecord, Count | None]]],
    test: Test,
    alpha: float,
    precision: float | None,
    place: str,
    whole: bool,
) -> list[str]:
    """Where the sizes and levels of the looks are not ones that the scheme plans."""
    left, wrong, share = alpha, [], early_share(precision)
    for number, attempt in enumerate(attempts):
        looks, count = [look for look, _ in attempt], attempt[0][1]
        made = [(look["trials"][0], look["level"]) for look in looks]
        if count is None:
            # Its prediction is not in the file; what follows shows that it spent an early share.
            parts = [share * left * part for _, part in EARLY]
            known = all(any(isclose(one, part, rel_tol=CLOSE) for part in parts) for _, one in made)
            if not known:
                wrong.append(f"{place}.level: attempt {number} spent what no early attempt may")
            left -= share * left
            continue
        choice = Choice(count.event, count.reversed, count.predicted, count.spread, count.rates)
        early = share * left
        plans: list[tuple[float, Plan]] = []
        needed = foreseen(choice, test.null, early)
        if number < MOST_EARLY and precision != 0 and needed < test.trials:
            plans.append((early, early_looks(needed, early)))
        draws = test.trials - (looks[0]["draws"] - looks[0]["trials"][0])
        if whole:
            sooner = precision != 0 and foreseen(choice, test.null, left) <= draws / 2
            plans.append((left, last_looks(max(draws, 1), left, sooner=sooner)))
        else:
            # How many draws a smaller pair was allowed is not in the file.
            guess = int(made[-1][0] / LAST[min(len(made), len(LAST)) - 1][0])
            plans += [(left, last_looks(guess + more, left, sooner=True)) for more in range(9)]
        plans.append((left, ((made[0][0], left),)))
        spent = next((level for level, plan in plans if _begins(plan, made)), None)
        if spent is None:
            wrong.append(
                f"{place}.level: the looks of attempt {number}, "
                f"{', '.join(f'{draws} draws at {level:.3g}' for draws, level in made)}, are not "
                f"ones that alpha {alpha:.3g}, the claim and the prediction lead to"
            )
            spent = early
        left = max(left - spent, 0.0)
    return wrong


def _begins(plan: Plan, made: Sequence[tuple[int, float]]) -> bool:
    return len(made) <= len(plan) and all(
        abs(planned - draws) <= 1 and isclose(level, share, rel_tol=CLOSE)
        for (planned, level), (draws, share) in zip(plan, made, strict=False)
    )


def best_of(looks: Sequence[LookRecord]) -> LookRecord | None:
    """The look with the largest bound, as the scheme picks it."""
    return max(
        looks,
        key=lambda look: (number_of(look["epsilon_lower"]), look["trials"][0], look["attempt"]),
        default=None,
    )


def verdict_again(record: ResultRecord, bounds: Sequence[float], claim: PrivacyClaim) -> Verdict:
    """The verdict that these bounds give, with the power that the file states."""
    if any(bound >= claim.epsilon for bound in bounds):
        return Verdict.REFUTED
    counts = record["evidence"]["counts"]
    if counts and counts[0]["stage"] == "recheck":
        return Verdict.NOT_REFUTED
    if str(record["note"]).startswith(UNSAID) or record.get("unread"):
        return Verdict.INCONCLUSIVE
    figures = tuple((number_of(p["probability"]), number_of(p["epsilon"])) for p in record["power"])
    return Verdict.NOT_REFUTED if useful(figures, claim) else Verdict.INCONCLUSIVE


def summary_again(
    evidence: EvidenceRecord, looks: Sequence[LookRecord], epsilon: float, place: str
) -> Iterator[str]:
    """What the summary of one pair's evidence gets wrong."""
    for field in ("hits", "trials"):
        sums = [0, 0]
        for count in evidence["counts"]:
            sides = count[field][::-1] if count["reversed"] else count[field]
            sums = [total + n for total, n in zip(sums, sides, strict=True)]
        yield from _unlike(f"{place}.{field}", evidence[field], sums)
    best = best_of(looks)
    if best is not None:
        yield from _unlike(f"{place}.level", evidence["level"], best["level"])
        yield from _unlike(f"{place}.trials", evidence["trials"], best["trials"])
    decided = next(
        (look["draws"] for look in looks if number_of(look["epsilon_lower"]) >= epsilon), None
    )
    yield from _unlike(f"{place}.decided_after", evidence["decided_after"], decided)


def bounds_again(record: ResultRecord, small: EvidenceRecord | None) -> Iterator[str]:
    """The bound of the witness and the largest of all, from the looks of the two pairs."""
    own, smaller = (
        best_of(one["looks"]) if one is not None else None for one in (record["evidence"], small)
    )
    bounds = [number_of(best["epsilon_lower"]) for best in (own, smaller) if best is not None]
    if bounds:
        yield from _unlike("epsilon_lower", number_of(record["epsilon_lower"]), max(bounds))
    if record["witness"] is not None and bounds:
        shown = number_of(record["witness"]["epsilon_lower"])
        yield from _unlike("witness.epsilon_lower", shown, bounds[-1])


def power_again(record: ResultRecord, looks: Sequence[LookRecord], test: Test) -> Iterator[str]:
    """What the run could have seen, from the plan and the last look of its last attempt."""
    stated = [(number_of(one["probability"]), number_of(one["epsilon"])) for one in record["power"]]
    figures: tuple[tuple[float, float], ...] = ()
    counted, learning = inf, record["learning"]
    if learning is not None and looks:
        attempt = [look for look in looks if look["attempt"] == looks[-1]["attempt"]]
        first = attempt[0]
        draws = max(1, test.trials - (first["draws"] - first["trials"][0]))
        single = first["trials"][0] == draws
        spent = first["level"] if single else first["level"] / LAST[0][1]
        figures, counted = figures_of(test.claim, look_of(attempt[-1]), trials=draws, spent=spent)
    if record["verdict"] == "refuted" and learning is not None:
        yield "learning: there is none where a claim is refuted"
    flat = [[number for pair in pairs for number in pair] for pairs in (stated, figures)]
    alike = len(flat[0]) == len(flat[1]) and all(map(_near, *flat))
    if not alike or not isinstance(record["power"], (list, tuple)):
        yield f"power: recorded {_short(stated)}, now {_short(figures)}"
    if not _near(number_of(record["detectable_epsilon"]), counted):
        yield (
            f"detectable_epsilon: recorded {_short(record['detectable_epsilon'])}, now "
            f"{_short(counted)}"
        )


def look_of(data: LookRecord) -> Look:
    """A look of the file."""
    (x, y), (n, m) = data["hits"], data["trials"]
    return Look(
        attempt=data["attempt"], draws=data["draws"], hits=(x, y), trials=(n, m),
        level=data["level"], epsilon_lower=number_of(data["epsilon_lower"]),
    )  # fmt: skip


def _near(one: float, other: float) -> bool:
    return isclose(one, other, rel_tol=1e-6, abs_tol=1e-12)


UNSAID = (OUT_OF_TIME, NO_RETURN, ONLY_NAN, NOT_READ)
"""Notes of an audit that can say nothing, whatever its power."""
FITTED = " trials a side instead of "
"""In the note of an audit whose trials a clock decided."""


def note_again(record: ResultRecord, test: Test) -> Iterator[str]:
    """Whether the note is one that such a verdict has."""
    note, verdict = str(record["note"]), Verdict(record["verdict"])
    before, told, _ = note.partition(TYPES)
    if told and verdict is not Verdict.REFUTED:
        note = before.removesuffix("; ")  # what types say follows from draws that are not counted
    factor, addend = USEFUL
    enough = f"{factor * test.claim.epsilon + addend:g}"
    fitted = note.startswith(f"{test.trials}{FITTED}") and note.endswith(", to fit the time budget")
    possible = {""} if verdict is not Verdict.INCONCLUSIVE else {
        *UNSAID,
        f"too few trials to have refuted even epsilon {enough} by an event of probability "
        f"{usual(test.claim.delta):g}; give more",
    }  # fmt: skip
    if not fitted and note not in possible:
        yield f"note: {_short(note)} is none that an audit with this verdict writes"


def law_again(record: ResultRecord, told: ExactResult, found: Checked | str) -> Iterator[str]:
    """What a record gets wrong of the exact laws of its worst pair, `found` anew."""
    if isinstance(found, str):
        yield f"exact: the laws cannot be enumerated now: {found}"
        return
    if found.verdict is not told.verdict:
        yield f"exact.verdict: recorded {told.verdict.value}, the laws give {found.verdict.value}"
        return
    for field in ("epsilon", "delta"):
        one, two = getattr(told, field), getattr(found, field)
        if one != two and not _near(one, two):
            yield f"exact.{field}: recorded {one!r}, the laws give {two!r}"
    if told.tail < found.tail and not _near(told.tail, found.tail):
        yield f"exact.tail: recorded {told.tail!r}, that of the pair is {found.tail!r}"
    if canonical((told.pair.database, told.pair.neighbour)) != canonical(
        (found.pair.database, found.pair.neighbour)
    ):
        yield "exact.pair: its worse order is the other one"
    if told.chances != found.chances:
        yield f"exact.chances: recorded {_short(told.chances)}, the laws give other ones"
    words = None
    if found.event is not None:
        words = {**found.event.to_json(), "description": found.event.describe()}
    if canonical(record["exact"]["event"]) != canonical(words):
        yield "exact.event: not the one of the laws"
    if told.verdict is not Verdict.REFUTED:
        return
    (drawn, bound), witness = told.drawn, record["witness"]
    if record["epsilon_lower"] != written(max(bound, told.epsilon)):
        yield "epsilon_lower: not the one that the laws give"
    if drawn is Verdict.REFUTED:
        return
    whole = {**record["exact"]["pair"], "event": words, "epsilon_lower": written(told.epsilon),
             "evidence": None}  # fmt: skip
    if canonical(witness) != canonical(whole):
        yield "witness: not the pair and the event that the laws give"


def point_again(claim: PrivacyClaim) -> Iterator[str]:
    """Whether epsilon and delta are a point of the curve that is claimed."""
    if claim.curve is None:
        return
    try:
        lines = lines_of(claim.curve, claim.distance)
    except ValueError as error:
        yield f"claim.curve: {error}"
        return
    if (claim.epsilon, claim.delta) not in lines:
        yield f"claim: epsilon and delta are no point of the curve, {claim.curve}, that is judged"


def words_again(claim: ClaimRecord, subject: Mechanism) -> Iterator[str]:
    """Whether the words of the claim are ones that the mechanism says; a function says none."""
    own = [one for one in subject.claims if isinstance(one, PrivacyClaim)]
    for field in ("identifier", "statement", "reference"):
        said = {getattr(one, field) for one in own} or {""}
        if claim.get(field, "") not in said:
            yield f"claim.{field}: not what the mechanism says of its claim"


def growth_again(growth: Sequence[Sequence[Number]], looks: Sequence[LookRecord]) -> Iterator[str]:
    """The points of the picture, from the looks."""
    points, highest = [], 0.0
    for look in looks:
        highest = max(highest, number_of(look["epsilon_lower"]))
        points.append([look["draws"], highest])
    recorded = [[draws, number_of(bound)] for draws, bound in growth]
    if recorded != points:
        yield "growth: not the looks of the evidence"


def witness_again(witness: WitnessRecord, pair: Pair, counts: Sequence[Count]) -> Iterator[str]:
    """The witness's words, event and order of sides; `counts` are those on its pair."""
    last = counts[-1]
    likelier = pair.reversed() if last.reversed else pair
    shown = (from_json(witness["database"]), from_json(witness["neighbour"]))
    if canonical(shown) != canonical((likelier.database, likelier.neighbour)):
        yield "witness: its databases are not those of the pair, likelier side first"
    told = {**last.event.to_json(), "description": last.event.describe()}
    for key in sorted({*told, *witness["event"]}):
        if witness["event"].get(key) != told.get(key):
            yield f"witness.event.{key}: not that of the event that was counted"


def mechanism_again(record: ResultRecord, subject: Mechanism, name: str) -> Iterator[str]:
    """The name of the mechanism and the fingerprint of its code; an unknown name is ''."""
    if name:
        yield from _unlike("mechanism", record["mechanism"], name)
    now = fingerprint(subject.run)
    if record.get("source", "") != now:
        yield (
            f"source: the fingerprint of the code is now {now or 'unknown'}, recorded "
            f"{str(record.get('source', '')) or 'unknown'!s:.40}; the code is another version"
        )


DOMAINS = {"value": Value(row=Choices(values=(0, 1))), "histogram": HISTOGRAMS}


def pair_again(
    pair: Pair, test: Test, subject: Mechanism, domain: str, place: str
) -> Iterator[str]:
    """Whether the databases are as near as the claim says."""
    claim = test.claim
    known: Any = subject.databases
    if domain in DOMAINS:
        known = DOMAINS[domain]
    try:
        require_neighbours(pair, claim.relation, claim.distance, known)
    except InvalidArgument as error:
        if known is not None and domain not in DOMAINS and claim.relation is not Relation.DECLARED:
            try:
                require_neighbours(pair, claim.relation, claim.distance, None)
            except InvalidArgument:
                pass
            else:
                return
        yield f"{place}: {error}"


def _unlike(place: str, recorded: Any, now: Any) -> Iterator[str]:
    if recorded == now:
        return
    both = isinstance(recorded, (int, float)) and isinstance(now, (int, float))
    if both and (recorded == now or abs(recorded - now) < 1e-12):
        return
    yield f"{place}: recorded {_short(recorded)}, now {_short(now)}"


def _short(value: Any) -> str:
    text = f"{value:.10g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def number_of(value: Number) -> float:
    """A number of the file, which writes infinities as "inf" and "-inf"."""
    return float(value)
