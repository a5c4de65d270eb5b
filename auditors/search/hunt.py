"""The hunt for the worst pair: look at many by frozen runs, draw on few.

Nothing here decides anything: what is found is judged later on other streams. Every choice follows
from the seed, so the same seed finds the same pair, whatever the number of workers.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import zip_longest
from math import sqrt

from ...mechanisms.model import Pair
from ..databases.examples import explore
from ..databases.neighbours import Source
from ..errors import InvalidArgument
from ..events.quick_score import quick_score
from ..outputs.encoding import canonical
from ..outputs.outputs import Outputs
from ..results.results import Reach
from ..sampling.sampling import Sampler
from ..tape.weighing import HOLDING
from .choices import choice_space
from .constants import walked
from .probe import Shift, lines_of, probe, rare_moves, shift
from .promise import moves_of, promise, proposed
from .proposals import every, listed_examples
from .scout import Enough, Found, Gross, Scout, SearchPlan, Seen, key_of, sides_of, sizes_of
from .stages import Stages, length_of

PLATEAU = 4
"""Pairs of one and the same score that enter the shortlist on account of it."""
RARE_PAIRS, RARE_DRAWS, RARE_MOVES = 20, 8192, 2
"""The look for rare leaks: pairs of which one side alone holds a constant of the code, draws of
each database, and rare moves among them that make a pair the one to judge."""
MOST_COPIES = 5
"""Rows up to which a database of copies of one row is looked at for rare leaks, too."""
CLEAR = 4.0
"""Deviations from which a finalist needs no second look for rare leaks."""
TOLD = 3.0
"""Deviations from which draws tell two pairs apart; below, luck would, and frozen runs decide."""
PROMISING = 400
"""Draws a side from which the bound they promise ranks the pairs."""
CLEARLY = 1.5
"""How many times the claim a promise must be for no climb to be made."""
CLIMBS = 2
"""Pairs that a climb starts from, the most promising ones; they share what it may spend."""
LAST = 8
"""The first chunk of shared noise for finalists, that no step before has looked at."""
WEIGHED = 509
"""Draws of each database of a pair that are weighed on a tape to rate it."""
NARROWED, A_DATABASE = 16, 3
"""Pairs that are narrowed down by more weighed draws, and of them those of one database."""
SLOPES, SLOPE_DRAWS, SLOPE_PART = 8, 508, 0.15
"""Databases that have neighbours proposed, draws held on each of their moves, and the part of the
draws that are left which this may take."""
LANDED = 100
"""Examples of Hypothesis's own search where its choices cannot be read."""
CONFIRMED, LEFT = 2, 8
"""Pairs that are looked at again in a search of few draws, if the visits leave less than so many
frozen runs: no more can be paid."""
UNFROZEN = 200
"""Examples where the noise cannot be frozen and every pair costs ordinary draws."""
EQUAL = (
    "both databases of every pair are equal, so nothing can be told apart; give pairs of databases "
    "that differ"
)
"""What is wrong with a source, if a search that went to its end met no other pairs."""


def hunt(
    sampler: Sampler,
    source: Source,
    *,
    epsilon: float,
    delta: float,
    plan: SearchPlan,
    out_of_time: Callable[[], bool] = lambda: False,
) -> Found:
    """The worst pair of a source, as far as a search of this size can tell.

    Raises InvalidArgument where every pair has two equal sides.
    """
    constants, codes = walked(sampler.run)
    source = source if source.constants else replace(source, constants=constants)
    lines = lines_of(codes)
    scout = Scout(sampler, epsilon, delta, plan, out_of_time, lines)
    space = choice_space(source.strategy)
    if not sampler.seeded:
        scout.plan = replace(plan, examples=UNFROZEN)
    found, stages, all_run, ended = None, None, False, False
    listed = listed_examples(space) if space is not None and not source.templates else 0
    try:
        if space is None:
            found = _landed(scout, source)
        else:
            for template in source.templates:
                scout.visit(template)
            stages = Stages(space, scout, source.constants, sampler.seed)
            if listed and scout.affords(listed):
                stages.tries.all_of(every(space), listed)
                all_run = True
            else:
                stages.run()
            scout.look()
    except Enough:
        ended = True
    except Gross as gross:
        pair, all_run = gross.seen.pair, True
        found = Found(pair, *gross.drawn, gross.seen, enough=True)
        if not plan.brief:
            found = _drawn(scout, gross.seen)
    if not scout.seen:
        if scout.equal and not ended:
            raise InvalidArgument(EQUAL)
        first = source.first(sampler.seed)
        nothing = Outputs.of_list([])
        return Found(first, nothing, nothing)
    if sampler.seeded and plan.few and scout.left() < LEFT * scout.frozen_size:
        found = found or _of_few(scout)
    found = found or _best(scout, source, stages)
    passed_over = 0 if all_run else max(0, listed - len(scout.seen) - scout.equal)
    return replace(found, scout=scout, reach=_reached(scout, passed_over))


def _reached(scout: Scout, passed_over: int) -> Reach:
    """The record of a finished search, which passed over so many listed examples."""
    return Reach(
        databases=len({key for pair in scout.seen for key in pair}),
        pairs=len(scout.seen),
        smallest=min(scout.sizes, default=None),
        largest=max(scout.sizes, default=None),
        unreached=scout.lines.unreached() if scout.lines.looked else None,
        passed_over=passed_over,
    )


def _drawn(scout: Scout, seen: Seen) -> Found:
    """A pair with the draws of its ordinary score."""
    draws = scout.most(min(scout.plan.draws, max(0, scout.left() // 2)))
    first, second = scout.sampler.draw(seen.pair, "search", 0, draws)
    return Found(seen.pair, first, second, seen)


def _of_few(scout: Scout) -> Found | None:
    """Of few draws, the pair whose frozen runs differ most, and do so with other noise.

    None where none of them differs grossly.
    """
    ranked = sorted(scout.seen.values(), key=lambda seen: -seen.gross)
    tried: list[tuple[float, Found]] = []
    for seen in ranked[:CONFIRMED]:
        draws = min(scout.plan.draws, scout.left() // 2)
        if seen.gross < 1 or draws < 1:
            break
        both = scout.paired(seen, 1, draws)
        again = replace(seen, shift=shift(probe(both[0]), probe(both[1])))
        tried.append((min(seen.gross, again.gross), Found(seen.pair, *both, seen)))
    return max(tried, key=lambda one: one[0])[1] if tried else None


def _best(scout: Scout, source: Source, stages: Stages | None) -> Found:
    """The shortlist by a few draws, a climb from its best, the finalists by ever more draws.

    A look for rare leaks comes last, where nothing is clear by then.
    """
    listed = []
    patterned = stages.patterned if stages is not None else []
    try:
        shortlist = _shortlist(scout, source, patterned)
        wider = list(dict.fromkeys([*shortlist, *patterned]))
        weigh = scout.weighs(len(wider), WEIGHED, 0.3)
        shortlist = wider if weigh else shortlist
        for seen in shortlist:
            if scout.out_of_time() or scout.left() < 2 * scout.plan.draws:
                break
            weigh = _rate(scout, seen, weigh=weigh)
            listed.append(seen)
    except Enough:
        pass
    if weigh and stages is not None:
        listed += _proposed(scout, stages, listed)
    if not listed:
        every = list(scout.seen.values())
        return _drawn(scout, max(every, key=lambda seen: seen.shift.moved + seen.shift.counts))
    half = scout.plan.finalists // 2
    # Few draws promise nothing of most pairs: their places go to those that stand out by score.
    telling = [seen for seen in listed if seen.promise > 0]
    promising = sorted(telling, key=lambda seen: -seen.promise)[:half]
    places = scout.plan.finalists - len(promising)
    order = sorted(listed, key=lambda seen: -(seen.score or 0.0))[:places]
    for index in (0, 2):
        order += sorted(listed, key=lambda seen: -seen.shift[index])[:2]
    climbed: list[Seen] = []
    if stages is not None:
        climbed = _climbed(scout, stages, promising)
        # Two ways of rating cannot be compared: where weights rank the others, they rank these.
        for seen in climbed if weigh else ():
            if not seen.weighed and scout.left() >= 2 * scout.plan.draws:
                _rate(scout, seen, weigh=True)
        order += climbed
    order = list(dict.fromkeys([*order, *promising]))
    winner = _narrowed(scout, [*listed, *order], climbed)
    if winner is not None:
        # Where the tape does not hold, paired draws rank the pairs with it.
        order = [winner, *(seen for seen in order if not seen.weighed)]
    found, deviations = _halve(scout, order)
    if deviations < CLEAR and not scout.out_of_time():
        rare = _rare(scout, source)
        if rare is not None:
            return _drawn(scout, rare)
    return found


def _rate(scout: Scout, seen: Seen, *, weigh: bool) -> bool:
    """What weighed draws promise of a pair; whether they may do so for the next.

    Where the tape does not hold, both scores of the same few draws, their noise shared.
    """
    if not scout.sampler.seeded:
        scout.ordinary(seen)
        return False
    told = scout.weighed(seen, 1, WEIGHED) if weigh else None
    seen.weighed = told is not None
    if told is None:
        sides = scout.paired(seen, 1, scout.plan.draws)
        if seen.score is None:
            seen.score = quick_score(*sides, epsilon=scout.epsilon, delta=scout.delta)
        told = promise(*sides, delta=scout.delta, trials=scout.plan.counted)
    seen.promise = told
    return seen.weighed


def _proposed(scout: Scout, stages: Stages, listed: list[Seen]) -> list[Seen]:
    """Pairs of the best databases, and of others, with the neighbours that slopes propose."""
    space, known = stages.tries.space, set(listed)
    found: list[Seen] = []
    budget, asked = int(SLOPE_PART * scout.left()), set[bytes]()
    rated = sorted(listed, key=lambda seen: -seen.promise)
    every = list(scout.seen.values())
    others = stages.random.sample(every, min(len(every), 4 * SLOPES))
    for seen in (seen for both in zip_longest(rated, others) for seen in both):
        if scout.out_of_time() or len(asked) == SLOPES:
            break
        if seen is None or seen.example is None or seen.key[0] in asked:
            continue
        moves = moves_of(space, seen.example)
        if not moves:
            break  # of what the best pair's neighbour is made, those of the others are too
        price = HOLDING * SLOPE_DRAWS * (1 + len(moves))
        if budget < price:
            break
        budget -= price
        asked.add(seen.key[0])
        neighbours = [seen.pair.neighbour, *(move.neighbour for move in moves)]
        told = scout.moved(seen, neighbours, SLOPE_DRAWS)
        if told.reason:
            break
        for choices in proposed(
            seen.example, moves, told.outputs, told.log_weights, scout.plan.counted
        ):
            try:
                made = stages.tries.again(choices)
            except Enough:
                return found
            except Gross as gross:
                return [*found, gross.seen]
            if made is not None and made not in known:
                known.add(made)
                _rate(scout, made, weigh=True)
                found.append(made)
    return found


def _narrowed(scout: Scout, listed: list[Seen], climbed: list[Seen]) -> Seen | None:
    """The pair that weighed draws promise most of; None where the tape holds for none.

    Ever more draws of ever fewer pairs, few of each database; what a climb came to is among them,
    however the few draws that rate all pairs fell out.
    """
    told = sorted((seen for seen in listed if seen.weighed), key=lambda seen: -seen.promise)
    left = [seen for seen in dict.fromkeys(climbed) if seen.weighed]
    for seen in dict.fromkeys(one for one in told if one not in left):
        if sum(one.key[0] == seen.key[0] for one in left) < A_DATABASE and len(left) < NARROWED:
            left.append(seen)
    chunk, draws = LAST, 4 * WEIGHED
    while len(left) > 1 and scout.weighs(len(left), draws, 0.5) and not scout.out_of_time():
        chunk += 1
        for seen in left:
            found = scout.weighed(seen, chunk, draws)
            seen.promise = 0.0 if found is None else found
        left = sorted(left, key=lambda seen: -seen.promise)[: len(left) // 2]
        draws *= 2
    return left[0] if left else None


def _climbed(scout: Scout, stages: Stages, promising: list[Seen]) -> list[Seen]:
    """What a climb from the best pairs comes to; none where a claim is broken beyond doubt."""
    plan = scout.plan
    starts = [seen for seen in promising if seen.example is not None][:CLIMBS]
    if not scout.sampler.seeded or not starts:
        return []
    if not plan.thorough and promising[0].promise > CLEARLY * max(scout.epsilon, 0.1):
        return []
    most = min(plan.climbing, scout.left() // 4) // len(starts)
    return [stages.climbed(seen, plan.counted, 2 * plan.draws, most) for seen in starts]


def _shortlist(scout: Scout, source: Source, patterned: list[Seen]) -> list[Seen]:
    """Pairs in turn from the order by each score, the templates, the patterns and the rest."""
    every = list(scout.seen.values())
    most = scout.plan.shortlist if scout.sampler.vectorised else scout.plan.shortlist // 2
    orders = [_by(every, index) for index in range(4)]
    templates = set(map(key_of, source.templates))
    orders.append([seen for seen in every if seen.key in templates])
    orders += [patterned[::2], patterned[1::2], every]
    chosen: dict[int, Seen] = {}
    for place in range(len(every)):
        for order in orders:
            if place < len(order):
                chosen.setdefault(id(order[place]), order[place])
        if len(chosen) >= most:
            break
    return list(chosen.values())[:most]


def _by(every: list[Seen], index: int) -> list[Seen]:
    """In the order of one score, few of each plateau."""
    met: dict[float, int] = {}
    found = []
    for seen in sorted(every, key=lambda seen: -seen.shift[index]):
        level = round(seen.shift[index], 2)
        met[level] = met.get(level, 0) + 1
        if met[level] <= PLATEAU and seen.shift[index] > 0:
            found.append(seen)
    return found


def _halve(scout: Scout, listed: list[Seen]) -> tuple[Found, float]:
    """Ever more draws for ever fewer pairs, the one that promises the largest bound last.

    Where the noise cannot be shared, or the draws are too few to promise anything, deviations
    from the claim rank the pairs, and what draws cannot tell apart, frozen runs decide.
    """
    plan, sampler = scout.plan, scout.sampler
    drawn: dict[int, tuple[Outputs, Outputs]] = {}
    chunk, draws = 0, plan.draws
    first = listed[0]
    if not sampler.seeded and scout.left() >= 2 * plan.draws:
        drawn[id(first)] = sampler.draw(first.pair, "search", 0, scout.most(plan.draws))
    while len(listed) > 1:
        chunk += 1
        draws = scout.most((4 if chunk == 1 else 2) * draws, len(listed))
        ranks = []
        for seen in listed:
            if scout.left() < 2 * draws:
                draws = max(0, scout.left() // 2)
            if draws < 2:
                break
            if sampler.seeded:
                new = scout.paired(seen, LAST + chunk, draws)
            else:
                new = sampler.draw(seen.pair, "search", chunk, draws)
            old = drawn.get(id(seen))
            both = new if old is None else _joined(old, new)
            drawn[id(seen)] = both
            clear = told = 0.0
            if sampler.seeded and len(both[0]) >= PROMISING:
                told = promise(*both, delta=scout.delta, trials=plan.counted)
            else:
                clear = _deviations(scout, both)
                told = float(round(clear) if abs(clear) >= TOLD else 0)
            ranks.append((told, seen.shift.moved + seen.shift.counts, clear, seen))
        if len(ranks) < len(listed):
            break
        ranks.sort(key=lambda rank: rank[:3], reverse=True)
        listed = [rank[3] for rank in ranks[: len(ranks) // 2]]
        drawn = {id(seen): drawn[id(seen)] for seen in listed}
    best = listed[0]
    if id(best) not in drawn:
        return _drawn(scout, best), 0.0
    both = drawn[id(best)]
    return Found(best.pair, *both, best), _deviations(scout, both)


def _deviations(scout: Scout, both: tuple[Outputs, Outputs]) -> float:
    """By how many standard deviations the draws of a pair break the claim."""
    score = quick_score(*both, epsilon=scout.epsilon, delta=scout.delta)
    return score * sqrt(len(both[0]))


def _joined(old: tuple[Outputs, Outputs], new: tuple[Outputs, Outputs]) -> tuple[Outputs, Outputs]:
    return Outputs.concatenate([old[0], new[0]]), Outputs.concatenate([old[1], new[1]])


def _rare(scout: Scout, source: Source) -> Seen | None:
    """A pair of which a long frozen run moves seldom but far."""
    if not scout.sampler.seeded:
        return None
    marks = {
        canonical(value)
        for value in source.constants
        if value not in (0, 1) and len(canonical(value)) > 1
    }
    one_sided = [seen for seen in scout.seen.values() if _telling(seen, marks)]
    one_sided.sort(key=lambda seen: seen.size)
    keys = map(key_of, source.templates[:2])
    every = [*one_sided[:RARE_PAIRS], *(scout.seen[key] for key in keys if key in scout.seen)]
    # In turn, since what is left to draw may not do for all.
    both = zip_longest(every, _copies(scout))
    every = list(dict.fromkeys(seen for turn in both for seen in turn if seen is not None))
    draws = min(RARE_DRAWS, 16 * scout.plan.draws)
    best, most = None, RARE_MOVES - 1
    for seen in every:
        if scout.left() < 4 * draws or scout.out_of_time():
            break
        # One move in half of the draws is asked for first: most pairs have none.
        moves = rare_moves(*scout.long_probes(seen, draws // 2))
        if moves:
            moves = rare_moves(*scout.long_probes(seen, draws))
        if moves > most:
            best, most = seen, moves
    return best


def _copies(scout: Scout) -> list[Seen]:
    """The smallest pairs of so many copies of one row each, for a few numbers of copies."""
    found: dict[int, Seen] = {}
    for seen in sorted(scout.seen.values(), key=lambda seen: seen.size):
        rows = max(sides_of(seen.pair), key=length_of)
        if isinstance(rows, (list, tuple)) and 2 <= len(rows) <= MOST_COPIES:
            if all(row == rows[0] for row in rows[1:]):
                found.setdefault(len(rows), seen)
    return list(found.values())


def _telling(seen: Seen, marks: set[bytes]) -> bool:
    """Whether one side alone contains a constant of the code."""
    one, two = seen.key
    return any((mark in one) != (mark in two) for mark in marks)


def _landed(scout: Scout, source: Source) -> Found:
    """Without frozen runs: ordinary scores, and Hypothesis climbing on them."""

    def visit(pair: Pair) -> float:
        key = key_of(pair)
        if key[0] == key[1]:
            scout.equal += 1
            return 0.0
        if key not in scout.seen:
            if scout.seen and (scout.out_of_time() or scout.left() < 2 * scout.plan.draws):
                return 0.0
            seen = Seen(pair, Shift(0.0, 0.0, 0.0, 0.0), None, key)
            scout.seen[key] = seen
            scout.sizes += sizes_of(pair)
        return scout.ordinary(scout.seen[key])

    for template in source.templates:
        visit(template)
    explore(source.strategy, scout.sampler.seed, LANDED, visit)
    if not scout.seen:
        raise InvalidArgument(EQUAL) if scout.equal else Enough
    order = sorted(scout.seen.values(), key=lambda seen: -(seen.score or 0.0))
    return _halve(scout, order[: scout.plan.finalists])[0]
