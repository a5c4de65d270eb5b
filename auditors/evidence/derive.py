"""What follows from what an audit was asked and counted: the only place where it is worked out.

Evidence holds `AuditFacts`. Bounds, verdict, witness, power, growth and notes are functions of
them, so nothing of the kind is stored, and whoever reads evidence (replay, merge, resume, the gate,
the history, a notebook) calls `derive`, as the audit itself does at its end.
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import accumulate, groupby
from math import ceil, exp, floor, inf, log, log10, nan

import numpy as np

from ...mechanisms.model import Moment, Pair, PrivacyClaim, moments_of
from ..bounds import power, two_sample
from ..bounds.power import LAST, last_looks
from ..bounds.two_sample import at_distance
from ..bounds.wealth import log_gain
from ..events.learners.one_column import Noticing
from ..results.results import (
    AuditFacts,
    AuditResult,
    Batch,
    Bets,
    Count,
    Evidence,
    ExactResult,
    Look,
    Verdict,
    Witness,
)

OUT_OF_TIME = "the time budget ran out before the planned draws were made"
NO_RETURN = (
    "every output was None, as from a function that forgot its return statement; return what is "
    "released"
)
ONLY_NAN = (
    "every output was NaN, so none of them says anything of a database; let the mechanism return "
    "numbers"
)
NOT_READ = (
    "nobody read the outputs as a whole, see power; let the mechanism return numbers, texts or "
    "collections of them"
)
UNSAID = (OUT_OF_TIME, NO_RETURN, ONLY_NAN, NOT_READ)
"""Remarks of an audit that can say nothing, whatever its power."""
USEFUL = (2.0, 0.5)
"""A run says something useful if it could have refuted 2 epsilon + 0.5 by a usual event."""
LARGE_DELTA = 0.25
"""From it on an event of probability 1/2 cannot show what is claimed, and a likelier one is
supposed."""
BET = "bet"
"""The stage of counts that show what bets won on, and give no bound themselves."""
LEVELS = 0.4 * 0.8 ** np.arange(140)
"""Levels tried for a p-value, down to 1e-14."""


def derive(facts: AuditFacts) -> AuditResult:
    """The result of an audit, from what it was asked and what it counted."""
    claim, alpha = facts.claim, facts.alpha
    evidence = evidence_of(facts.judged, facts.bets, alpha, claim)
    own = small = _witness(facts.pair, evidence)
    if facts.smaller is not None:
        told = evidence_of(facts.smaller.judged, facts.smaller.bets, alpha, claim)
        small = _witness(facts.smaller.pair, told)
    figures, counted, impossible = power_of(facts, evidence.looks)
    exact, verdict = facts.exact, _verdict(facts, evidence, small, figures)
    note = facts.remark
    if verdict is Verdict.INCONCLUSIVE and not _says_nothing(facts):
        factor, addend = USEFUL
        note = note or (
            f"too few trials to have refuted even epsilon {factor * claim.epsilon + addend:g} by "
            f"an event of probability {usual(claim.delta):g}; give more"
        )
    refuted = verdict is Verdict.REFUTED
    shown = small if refuted else None
    bound = -inf if own is None else own.epsilon_lower
    if shown is not None:
        bound = max(bound, shown.epsilon_lower)
    if exact is not None:
        exact = replace(exact, drawn=(verdict, bound))
        verdict = exact_verdict(exact, verdict, alone=facts.plan.get("search") == "given")
        if exact.event is not None:
            bound = max(bound, exact.epsilon)
            shown = shown or Witness(
                database=exact.pair.database,
                neighbour=exact.pair.neighbour,
                event=exact.event,
                epsilon_lower=exact.epsilon,
            )
    highest = accumulate((look.epsilon_lower for look in evidence.looks), max, initial=0.0)
    return AuditResult(
        **{one.name: getattr(facts, one.name) for one in fields(AuditFacts) if one.name != "exact"},
        exact=exact,
        verdict=verdict,
        epsilon_lower=bound,
        detectable_epsilon=counted,
        detectable_probability=impossible,
        witness=shown,
        evidence=evidence,
        note="; ".join(filter(None, (note, facts.types))),
        growth=tuple(zip((one.draws for one in evidence.looks), [*highest][1:], strict=True)),
        power=figures,
        gain=_gain(facts),
    )


# Looks and bounds. ---------------------------------------------------------------------------


def evidence_of(
    counts: tuple[Count, ...], bets: Bets | None, alpha: float, claim: PrivacyClaim
) -> Evidence:
    """All looks at one pair, with the counts that lead to the one with the largest bound."""
    looks = looks_at(counts, bets, claim)
    if not looks:
        return Evidence(counts=(), alpha=alpha, level=alpha)
    place = max(
        range(len(looks)),
        key=lambda i: (looks[i].epsilon_lower, looks[i].trials[0], looks[i].attempt, i),
    )
    best = looks[place]
    own = [count for count in counts if count.attempt == best.attempt]
    made = next((n for n, one in enumerate(own, 1) if one.cost == best.draws), len(own))
    return Evidence(
        counts=tuple(own[:made]),
        alpha=alpha,
        level=best.level,
        looks=looks,
        decided_after=next(
            (one.draws for one in looks if one.epsilon_lower >= claim.epsilon), None
        ),
        bets=bets,
    )


def looks_at(counts: Sequence[Count], bets: Bets | None, claim: PrivacyClaim) -> tuple[Look, ...]:
    """The looks in the order they were made, each at all counts of its attempt so far.

    Bets give the bound of one look, at the counts that show what they won on.
    """
    looks = []
    for number, group in groupby(counts, key=lambda one: one.attempt):
        attempt = list(group)
        betting = bets is not None and attempt[0].stage == BET
        for made, count in enumerate(attempt, 1):
            level = count.level
            if betting and bets is not None:
                level = bets.level if made == len(attempt) else None
            if level is None:
                continue
            hits, trials = totals(attempt[:made])
            bound = (
                bound_of_bets(bets.batches, claim, level)
                if betting and bets is not None
                else bound_of(attempt[:made], claim, level)
            )
            looks.append(
                Look(
                    attempt=number,
                    draws=count.cost,
                    hits=hits,
                    trials=trials,
                    level=level,
                    epsilon_lower=bound,
                )
            )
    return tuple(looks)


def totals(counts: Sequence[Count]) -> tuple[tuple[int, int], tuple[int, int]]:
    """(hits, trials) of all counts together, the side that is bounded from above first."""
    oriented = [count.oriented for count in counts]
    hits = sum(c.hits[0] for c in oriented), sum(c.hits[1] for c in oriented)
    return hits, (sum(c.trials[0] for c in oriented), sum(c.trials[1] for c in oriented))


# The test of counts, named here and nowhere else. ----------------------------------------------


def bound_of(counts: Sequence[Count], claim: PrivacyClaim, level: float) -> float:
    """Lower bound on the base epsilon (nats) from all counts of one event, wrong at `level`."""
    hits, trials = totals(counts)
    return two_sample.epsilon_lower(
        hits,
        trials,
        delta=claim.delta,
        level=level,
        distance=claim.steps,
        also=(claim.epsilon,),
    )


def rejected(
    hits: tuple[int, int], trials: tuple[int, int], null: tuple[float, float], level: float
) -> bool:
    """Whether counts speak against the null, (epsilon, delta) in all; wrong at `level`."""
    epsilon, delta = null
    return two_sample.rejects(hits, trials, epsilon=epsilon, delta=delta, level=level)


def rough_z(hits: tuple[int, int], trials: tuple[int, int], null: tuple[float, float]) -> float:
    """About how many standard deviations counts lie beyond the null; it decides no verdict."""
    return two_sample.normal_z(hits, trials, *null)


# What the looks show. -------------------------------------------------------------------------


def _witness(pair: Pair, evidence: Evidence) -> Witness | None:
    """The pair, likelier side first, with the event and the counts of its bound."""
    if not evidence.counts:
        return None
    last = evidence.counts[-1]
    likelier = pair.reversed() if last.reversed else pair
    return Witness(
        database=likelier.database,
        neighbour=likelier.neighbour,
        event=last.event,
        epsilon_lower=max(look.epsilon_lower for look in evidence.looks),
        evidence=evidence,
    )


# Bets. ---------------------------------------------------------------------------------------


def moments_bet_on(claim: PrivacyClaim) -> tuple[Moment, ...]:
    """The moments that a curve bounds at the claim's distance; none without a curve."""
    return () if claim.curve is None else moments_of(claim.curve, claim.distance)


def log_wealth(batches: Sequence[Batch], claim: PrivacyClaim) -> float:
    """The logarithm of the largest wealth against the claim after any batch; at least 0.

    ValueError where something is no bet against it.
    """
    return max(log_wealths(batches, claim))


def log_wealths(batches: Sequence[Batch], claim: PrivacyClaim) -> tuple[float, ...]:
    """The logarithm of the wealth before the first batch and after each."""
    null = at_distance(claim.epsilon, claim.delta, claim.steps)
    moments = moments_bet_on(claim)
    gains = [log_gain(batch.bet, batch.counts, *null, moments) for batch in batches]
    return tuple(accumulate(gains, initial=0.0))


def bound_of_bets(batches: Sequence[Batch], claim: PrivacyClaim, level: float) -> float:
    """The claimed epsilon where the bets refute it, with probability `level` if it is true; -inf.

    A smaller epsilon, which promises more, is refuted too.
    """
    try:
        won = log_wealth(batches, claim) >= -log(level)
    except ValueError:
        return -inf
    return claim.epsilon if won else -inf


# The verdict. --------------------------------------------------------------------------------


def _verdict(
    facts: AuditFacts,
    evidence: Evidence,
    small: Witness | None,
    figures: tuple[tuple[float, float], ...],
) -> Verdict:
    """What the draws alone say; a pair and the smaller one that is shown must both refute."""
    claim = facts.claim
    if evidence.decided_after is not None and small is not None:
        if small.epsilon_lower >= claim.epsilon:
            return Verdict.REFUTED
    if any(count.stage == "recheck" for count in facts.judged[:1]):
        return Verdict.NOT_REFUTED
    useful = dict(figures).get(usual(claim.delta), inf) <= USEFUL[0] * claim.epsilon + USEFUL[1]
    return Verdict.NOT_REFUTED if useful and not _says_nothing(facts) else Verdict.INCONCLUSIVE


def _says_nothing(facts: AuditFacts) -> bool:
    return facts.remark.startswith(UNSAID) or bool(facts.unread)


def exact_verdict(found: ExactResult, drawn: Verdict, *, alone: bool) -> Verdict:
    """The verdict of an audit whose draws alone give `drawn`.

    An exact refutation is one. A proof is the verdict where it covers the only pair there is, or
    where it was asked for: it is then about the pairs that it names.
    """
    if drawn is Verdict.REFUTED or found.verdict is Verdict.REFUTED:
        return Verdict.REFUTED
    return Verdict.PROVED if alone or found.asked else drawn


# Power: what a last attempt that refuted nothing could have refuted. -------------------------


def power_of(
    facts: AuditFacts, looks: Sequence[Look]
) -> tuple[tuple[tuple[float, float], ...], float, float]:
    """(power, detectable epsilon, detectable probability) of the last attempt; see `AuditResult`.

    Given all that came before it, the last attempt refutes an event with these probabilities with
    probability 0.9, and so does the audit. It makes one look, or four where few draws are foreseen
    to do; the figures are for four, which see a little less. They grow as the event gets rarer, so
    an event of usual size and two rarer ones stand beside the one that was counted. A value that
    is impossible on the other side must be noticed among the draws that teach and then refute.
    """
    learning, claim = facts.learning, facts.claim
    if learning is None or not looks or facts.unread:
        return (), inf, inf
    first = next(look for look in looks if look.attempt == looks[-1].attempt)
    trials = max(1, int(facts.plan["trials"]) - (first.draws - first.trials[0]))
    # All draws in one look, or the first of four whose levels are parts of one.
    plan = last_looks(trials, 1.0, sooner=first.trials[0] < trials)
    spent = first.level / plan[0][1] * sum(level for _, level in plan)
    level = power.one_look_level(tuple((part, share * spent) for part, share in LAST))
    # The event counted last is as likely as it was seen to be, in two digits; never seen says
    # nothing.
    judged = two_digits(max(looks[-1].hits[0], 1) / looks[-1].trials[0])
    magnitude = floor(log10(judged / 10) + 1e-9)
    rates = {judged, usual(claim.delta), 10.0**magnitude, 10.0 ** (magnitude - 1)}
    figures = {
        p: power.refutable_epsilon(
            p,
            (trials, trials),
            level=level,
            epsilon=claim.epsilon,
            delta=claim.delta,
            distance=claim.steps,
        )
        for p in sorted(rates, reverse=True)
    }
    impossible = power.detectable_probability(
        (trials, trials),
        level=spent,
        noticed=Noticing(*learning.noticed).chance,
        epsilon=claim.epsilon,
        delta=claim.delta,
        distance=claim.steps,
    )
    return tuple(figures.items()), figures[judged], impossible


def usual(delta: float) -> float:
    """The probability of an event by which runs are compared: a half, or more where delta is large.

    How much a budget can show is asked of this event, which is the same for every run. The event
    counted last says it no better: where nothing is wrong all are much alike, and which of them is
    learnt, a likely one or a rare one, is luck.
    """
    return 0.5 if delta < LARGE_DELTA else two_digits((1 + delta) / 2)


def two_digits(p: float) -> float:
    """A probability rounded up to two digits, as it is told: "or more" stays true."""
    if not 0 < p < 1:
        return p
    digits = 1 - floor(log10(p))
    return min(round(ceil(p * 10**digits - 1e-9) / 10**digits, digits), 1.0)


def _gain(facts: AuditFacts) -> float:
    learning, claim = facts.learning, facts.claim
    if learning is None or learning.compared is None or facts.unread:
        return nan
    draws, *hits = learning.compared
    delta = at_distance(claim.epsilon, claim.delta, claim.steps)[1]
    new, old = (_log_ratio(one, (draws, draws), delta) for one in hits)
    return (new - old) / claim.steps


def _log_ratio(hits: tuple[int, int], trials: tuple[int, int], delta: float) -> float:
    """Observed ln((p - delta) / q); NaN where it is not a number."""
    p, q = hits[0] / trials[0] - delta, hits[1] / trials[1]
    return log(p / q) if p > 0 and q > 0 else nan


# A p-value, for procedures over many audits. -----------------------------------------------------


def p_value(result: AuditResult) -> float:
    """A number that a true claim makes smaller than any a with probability at most a.

    Every look k of every attempt j was planned with a part v_jk of alpha, and the parts add up to
    at most 1. With p_jk the p-value of the look, min p_jk / v_jk over the looks made is at most a
    only if some p_jk <= v_jk a, which has probability at most a in all. It is computed as the least
    level a, on a grid tried from above, at which the look would have rejected with v_jk a; only
    grid points above which everything is rejected count. The same for refuted claims: the parts
    were planned, whatever alpha was. Of bets p is 1 over the largest wealth, which a true claim
    makes at most a with probability at most a. 1 where nothing was looked at; 0 where the exact
    laws refute.
    """
    if result.exact is not None and result.exact.verdict is Verdict.REFUTED:
        return 0.0
    evidence, claim = result.evidence, result.claim
    found, looks = [1.0], evidence.looks
    if evidence.bets is not None:
        won, looks = log_wealth(evidence.bets.batches, claim), looks[1:]
        found.append(exp(-won) * evidence.alpha / evidence.bets.level)
    return min(found + [_least(look, look.level / evidence.alpha, claim) for look in looks])


def _least(look: Look, part: float, claim: PrivacyClaim) -> float:
    """The least level of the grid at which this look rejects, 1 if none."""
    null = at_distance(claim.epsilon, claim.delta, claim.steps)
    best = 1.0
    for level in LEVELS.tolist():
        if not rejected(look.hits, look.trials, null, min(part, 1.0) * level):
            break
        best = level
    return best
