"""Judging a privacy claim on one pair in two stages: select an event freely, then count it.

While selecting, nothing is tested, so any rule is allowed: draws double and an event is learnt
from all of them each time, or after four times the draws where the last one was hopeless. When a
count is foreseen to refute cheaply, an early attempt spends a part of the error probability on
it; a judging that ends once it refutes makes the next one as soon as it may. At the end of the
learning draws the last attempt counts one event on all draws that are left, with all error
probability that is left. After an early refutation the bound may be sharpened by one more count.
See `attempt` for why this is valid.
"""

from collections.abc import Callable
from dataclasses import replace
from math import ceil, inf

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ...mechanisms.model import Pair
from ..bounds.power import Plan, early_looks
from ..choosing.choose import Choice, Lesson, promised, softly
from ..events.events import Event
from ..evidence.derive import BET, evidence_of, looks_at, moments_bet_on
from ..outputs.outputs import Outputs
from ..results.results import Bets, Count, Evidence, Learning, Look
from ..sampling.sampling import OutOfTime, Sampler
from ..sampling.teaching import teach
from ..tape.weighing import FEWEST_WEIGHED, PRICE, Weighed, most_weighed, weighed
from ..workers import Key
from .attempt import (
    BET_FIRST,
    Attempt,
    Betting,
    Test,
    attempt,
    counted,
    foreseen,
    half_width,
    last_plan,
    next_size,
    variance,
)
from .planning import Errors, most_taught, share

FIRST = 64
"""Draws a side of the first lesson; they double from there."""
PIECE = 131_072
"""Draws a side taught at a time, so that memory stays flat however many teach."""
AHEAD = 16
"""An event is learnt for at most so many times the draws that it is learnt from."""
LEARNING_BESIDE = 1 / 8
"""The part where weighed draws teach as much. Bounds to expect on the sparse vectors at 1e5 draws
are a tenth larger than with a quarter; leaks twice as likely are still met as often."""
MOST_BET = 0.9
"""Part of the draws that may be bet on where only moments of a curve show anything."""

EARLIEST = 128
"""Draws a side before the first attempt, at least."""
EARLY_SHARE = 0.3
"""Part of the error probability left that an early attempt spends."""
HASTY_SHARE = 0.5
"""The same where the judging ends once it refutes, so that no finer bound needs the rest."""
MOST_EARLY = 2
"""Early attempts, at most: each spends a part of alpha."""
PATIENCE = 8
"""How many times the draws made so far an early attempt may be foreseen to need."""
CAP = 0.125
"""Part of the draws kept for the last attempt that an early one may be foreseen to need."""
LEAST_LESSON = 2048
"""Draws a side of a lesson, at least."""
FAR = 2.0
"""Standard errors by which the log-ratio foreseen of an event stays below the claim's."""
BET_PRICE = 8.0
"""Plain draws that a weighed one must be worth where plain ones are bet on, and so not lost to what
they teach: it takes as many runs as four of them."""
NEAR = 1.0
"""Standard errors by which it is above the claim where draws are bet on that rows would teach at a
twentieth of the price. Bets refute at about 3, so a ninth of their draws comes first."""
HOPELESS = 4
"""Times as many draws after which an event is learnt although the last one stayed so far below."""
FLAT = 0.5
"""The least loss (nats) of which a precision is a part where a curve is claimed."""
OPENING = 1024
"""Draws a side that teach first and are single calls: what only these disclose shows in them."""
WEIGHED = {True: 14, False: 40}
"""One of so many trials is weighed on a tape, of rows and of single calls."""
WEIGHED_ROOM = 1 << 24
"""Bytes of outputs that are weighed of one database; of 10,000 numbers 1,428 draws took 650 MB."""
MOST_WEIGHED = 50_000
"""Draws that are weighed on a tape, at most."""
EXECUTIONS = 8
"""Runs of the mechanism for a draw of each database that is weighed."""
WORTH = 20
"""Times the trials that weighed draws need not tell more than."""
WORTHLESS = 0.25
"""Part of the draws that teach which the weighed ones must tell as much as."""
SOFTLY = 0.03
"""Part of the trials that teaches before draws are weighed."""
SHOWN = 16_384
"""Draws a side kept for a picture."""


class Judging:
    """The judging of one pair: call `run`, then `sharpen` if a finer bound is wanted."""

    def __init__(
        self,
        sampler: Sampler,
        pair: Pair,
        test: Test,
        *,
        precision: float | None,
        bounding: bool = False,
        out_of_time: Callable[[], bool] = lambda: False,
        news: Callable[["Judging"], None] = lambda judging: None,
    ) -> None:
        """Nothing is drawn yet. `test.trials` limits the draws a side, learning included.

        Where only a bound is wanted (`bounding`) it is one of single calls. `news` is told
        whenever more is known.
        """
        self.news = news
        self.sampler, self.pair, self.test = sampler, pair, test
        self.precision, self.out_of_time, self.bounding = precision, out_of_time, bounding
        self.errors = Errors(test.alpha)
        self.betting: Betting | None = None
        part = share(precision, test.claim, seeded=sampler.seeded, bounding=bounding)
        if part:
            level = self.errors.take(part * test.alpha)
            self.betting = Betting(test.null, level, moments_bet_on(test.claim))
        self.lesson = Lesson()
        self.attempts: list[Attempt] = []
        self.made = 0
        self.complete = True
        self.shown = Outputs.of_list([]), Outputs.of_list([])
        self.tape = ""
        """What came of draws weighed on a tape, in a sentence; "" where none were."""
        self._taped = False
        self._bet_until = 0
        """Draws a side up to which bets go on, whatever they won so far."""
        self._weights: Weighed | None = None
        self._soft: tuple[Choice, float] | None = None
        self._behind = False
        """Whether other draws surely taught a better event than weighed ones."""
        self._choice: Choice | None = None
        self._older: Choice | None = None
        self._learnt_from = 0
        self._chunks = {"opening": 0, "select": 0, "bet": 0, "attempt": 0, "standing": 0}
        self._last: Attempt | None = None

    # What was found.

    @property
    def looks(self) -> tuple[Look, ...]:
        """All looks, in the order they were made."""
        return tuple(look for one in self.attempts for look in one.looks)

    @property
    def refuted(self) -> bool:
        """Whether any look refuted the claim."""
        return self.decided_after is not None

    @property
    def decided_after(self) -> int | None:
        """Draws a side, those that taught included, up to the first look that refuted."""
        claimed = self.test.claim.epsilon
        return next((look.draws for look in self.looks if look.epsilon_lower >= claimed), None)

    @property
    def evidence(self) -> Evidence:
        """What the counts so far say."""
        return evidence_of(self.counts, self.bets, self.test.alpha, self.test.claim)

    @property
    def bets(self) -> Bets | None:
        """The bets, where they refuted the claim."""
        return next((one.bets for one in self.attempts if one.bets is not None), None)

    @property
    def counts(self) -> tuple[Count, ...]:
        """All counts, in the order they were made."""
        return tuple(count for one in self.attempts for count in one.counts)

    @property
    def choice(self) -> Choice:
        """The event learnt last."""
        return self._choice if self._choice is not None else self._learn()

    @property
    def unread(self) -> str:
        """What of the outputs was compared only as text or not at all; "" for nothing."""
        return next((side.unread for side in self.shown if len(side) and side.unread), "")

    def learning(self) -> Learning | None:
        """From how many draws the event of the last attempt was learnt, and what compares it."""
        one, compared = self._last, None
        if one is None or not one.looks or self.unread:
            return None
        if self._older is not None and one.compared is not None:
            size, *hits = one.compared
            new, old = (
                found[::-1] if choice.reversed else found
                for found, choice in zip(hits, (one.choice, self._older), strict=True)
            )
            compared = size, new, old
        trials, level = one.planned[-1][0], sum(level for _, level in one.planned)
        found = self.lesson.noticing(trials=trials, delta=self.test.null[1], level=level)
        noticed = found.draws, found.least
        return Learning(draws=self.lesson.draws, compared=compared, noticed=noticed)

    # What is done.

    def run(
        self,
        taught: tuple[Outputs, Outputs] | None = None,
        opening: tuple[Outputs, Outputs] | None = None,
    ) -> None:
        """Select, attempt early where that is foreseen to do, and attempt for the last time.

        `taught` are draws of the pair made before, from which events may be learnt too; `opening`
        are draws that were made for this and count as its first. The judging is not complete if
        its time runs out.
        """
        try:
            self._run(taught, opening)
        except OutOfTime:
            self.complete = False

    def _run(
        self,
        taught: tuple[Outputs, Outputs] | None,
        opening: tuple[Outputs, Outputs] | None,
    ) -> None:
        if taught is not None:
            self._taught(*taught)
        if opening is not None:
            self._taught(*opening)
            self.made += min(len(opening[0]), self.test.trials - 1)
        most = self._most_taught()
        first = FIRST if self.betting is None else BET_FIRST
        fresh = self.lesson.draws >= first if self.betting is not None else self.made >= first
        while fresh or self.made < most or self._bets_go_on():
            if self.out_of_time():
                self.complete = False
                return
            if self._may_weigh():
                enough = self._weigh()
                most = self._most_taught()
                if self._hasty and self._soft is not None:
                    # What weighed draws taught is bet on: a bet is smaller than a count.
                    assert self.betting is not None
                    self.betting.on(*self.lesson.partition(self.choice.event))
                    self._bet_until = min(2 * self.made, int(MOST_BET * self.test.trials))
                elif enough:
                    break
                continue
            last = most if self.made < most else int(MOST_BET * self.test.trials)
            # A bet goes by the lesson before it, which is cheap beside what a better one saves.
            draws = min(max(self.made // (2 if self._hasty else 1), first), last - self.made)
            if not fresh and self._worth_a_bet():
                self._bet(draws)
                if self.refuted:
                    return
            elif not fresh:
                self._teach(draws)
            fresh = False
            if self.precision == 0 and self.made < most // 4:
                continue  # nothing is attempted before the end, so no event is needed yet
            if self.made < most and self._hopeless():
                continue
            self._learn()
            most = self._most_taught()
            self.news(self)
            if self.betting is not None:
                self.betting.on(*self.lesson.partition(self.choice.event))
            elif self._may_attempt(most):
                if self._early(most):
                    return
                # The attempt taught as well; a finer bound would ask for a better lesson first.
                again = self.precision is None and len(self.attempts) < MOST_EARLY
                fresh = again and self.made < most
        # What bets, or draws handed in, took past those that teach, weighed ones would be short of.
        if not (self._taped or (self._hasty and self.made > most)):
            self._weigh()
        self._attempt_last()

    def sharpen(self, most: int) -> None:
        """Count once more for a bound of the wished precision, on at most `most` draws a side.

        Nothing is done where the claim stands, no precision is wished, or no better bound is
        foreseen.
        """
        if not self.refuted or not self.precision or self._last is not None:
            return
        trials = min(self.test.trials, self.made + most)
        wanted = self._precise(self.choice)
        lesson = min(max(LEAST_LESSON, wanted / 4), self.test.trials / 4)
        # Whatever is allowed, most of it counts.
        rest = min(ceil(lesson) - self.lesson.draws, (trials - self.made) // 4)
        if rest > 0 and not self.out_of_time():
            self._teach(rest)
            # Of few draws a likely event proves more than one of the tail whose loss is larger.
            wanted = self._precise(self._learn(trials - self.made))
        draws = min(ceil(min(wanted, 1e12)), trials - self.made)
        if draws < 1 or self.out_of_time():
            return
        null, distance = self.test.null, self.test.claim.steps
        promised = self.choice.predicted - half_width(self.choice, null, self.errors.left, draws)
        if promised > distance * max(look.epsilon_lower for look in self.looks):
            level = self.errors.take(self.errors.left)
            self._attempt(((draws, level),), teach=False)

    def _precise(self, choice: Choice) -> float:
        """Draws a side that bring the half-width of the bound to the wished part of the loss."""
        width = (self.precision or 1.0) * self._wished(choice)
        spread = variance(*choice.rates, self.test.null[1])
        return float(ndtri(self.errors.left)) ** 2 * spread / width**2

    def _hopeless(self) -> bool:
        """Whether the event learnt last is known to be so far from refuting that the next wait.

        A better event may show in more draws, so four times as many are always looked at.
        """
        choice = self._choice
        if choice is None or self.made >= HOPELESS * self._learnt_from:
            return False
        return choice.predicted + FAR * choice.spread < self.test.null[0]

    def _worth_a_bet(self) -> bool:
        """Whether draws are bet on: not before an event is learnt, nor where it is far off.

        Where nothing follows a refutation they always are, since what is not bet on is lost, and
        the event learnt, the best to count, need not be what the wealth grows by.
        """
        choice, betting = self._choice, self.betting
        if choice is None or betting is None or not betting.partitions:
            return False
        return self._hasty or self.made < OPENING or self._near

    @property
    def _near(self) -> bool:
        """Whether the event learnt, or a moment, is near what the claim allows."""
        # Where a count follows rows may teach first, at a twentieth of the price.
        rows = self.sampler.by_rows("select") and not self.sampler.by_rows("bet")
        spreads = -NEAR if rows and not self._hasty else FAR
        choice, betting = self.choice, self.betting
        near = choice.predicted + spreads * choice.spread >= self.test.null[0]
        return near or (betting is not None and betting.excess > -FAR)

    @property
    def _hasty(self) -> bool:
        """Whether draws are bet on and nothing follows a refutation."""
        return self.betting is not None and self.precision is None

    def _bets_go_on(self) -> bool:
        """Whether bets go on in place of the count.

        They do if moments look too large and no event does. If nothing follows a refutation they
        do as long as the wealth, as it grew last, is there sooner than a count, and after draws
        were weighed for as many again, unless the event learnt, and every moment, is far off.
        """
        bets, end = self.betting, int(MOST_BET * self.test.trials)
        if bets is None or self.made >= end:
            return False
        counted = foreseen(self.choice, self.test.null, self.errors.left)
        taught = self.made < self._bet_until and (self.made < OPENING or self._near)
        if self._hasty and (taught or bets.needed < min(counted, end - self.made)):
            return True
        return bets.excess >= FAR and counted > self.test.trials - self.made

    def _bet(self, draws: int) -> None:
        """Bet on as many draws a side, one batch after the other, before they teach."""
        made, choice = self.betting, self.choice
        assert made is not None
        counts: list[Count] = []
        since = 0
        while draws > 0 and not self.out_of_time():
            if self.lesson.whole and 4 * since > self.made - since:
                # The bins are not fixed yet, and more draws have finer ones.
                made.on(*self.lesson.partition(choice.event))
                since = 0
            hasty = self.precision is None
            size = next_size(self.made, seeded=self.sampler.seeded, hasty=hasty)
            size = min(size, draws, PIECE)
            chunk = self._chunks["bet"]
            self._chunks["bet"] += 1
            hits, cells = self._taught_by(
                choice.event, "bet", chunk, size, later=draws - size, betting=made
            )
            since += size
            self.made += size
            counts.append(
                counted(
                    BET,
                    chunk,
                    choice,
                    hits,
                    (size, size),
                    attempt=len(self.attempts),
                    cost=self.made,
                )
            )
            draws -= size
            if made.place(chunk, size, cells):
                self.attempts.append(self._won(made, choice, tuple(counts)))
                return

    def _won(self, made: Betting, choice: Choice, counts: tuple[Count, ...]) -> Attempt:
        """The bets that refuted, told by the counts of the event since it was learnt."""
        looks = looks_at(counts, made.bets, self.test.claim)
        plan = ((looks[0].trials[0], made.level),)
        return Attempt(choice=choice, counts=counts, looks=looks, planned=plan, bets=made.bets)

    def _teach(self, draws: int) -> None:
        while draws > 0:
            opening = max(0, OPENING - self.made)
            size = min(draws, PIECE, opening or draws)
            stage = "opening" if opening else "select"
            chunk = self._chunks[stage]
            draws -= size
            self._chunks[stage] += 1
            self._teaching(None, stage, chunk, size, draws)
            self.made += size

    def _teaching(
        self, event: Event | None, stage: str, chunk: int, draws: int, later: int = 0
    ) -> tuple[int, int]:
        """Learn from fresh draws, and count the event among them; `later` more will follow."""
        return self._taught_by(event, stage, chunk, draws, later=later)[0]

    def _taught_by(
        self,
        event: Event | None,
        stage: str,
        chunk: int,
        draws: int,
        *,
        later: int = 0,
        betting: Betting | None = None,
    ) -> tuple[tuple[int, int], NDArray[np.int64]]:
        return teach(
            self.sampler,
            self.pair,
            event,
            stage,
            chunk,
            draws,
            self.lesson,
            shown=self._to_show,
            later=later,
            listen=self._show,
            partition=None if betting is None else betting.partitions[-1],
            watched=betting.watched if betting and self.sampler.clumps(stage) else None,
        )

    def _taught(self, first: Outputs, second: Outputs) -> None:
        """Learn from draws that were made before."""
        self.lesson.add(first, second)
        self._show(first, second)

    def _to_show(self, like: Outputs | None = None) -> int:
        """How many more draws a side are wanted as they are, for pictures and remarks."""
        known = self.shown[0] if like is None else like
        return (known.room(SHOWN) if len(known) else SHOWN) - len(self.shown[0])

    def _show(self, first: Outputs, second: Outputs) -> None:
        room = self._to_show(first)
        if room > 0:
            old, new = self.shown, (first[:room], second[:room])
            self.shown = (_joined(old[0], new[0]), _joined(old[1], new[1]))

    def _learn(self, most: int | None = None) -> Choice:
        """Choose the event anew, for all draws that are left or for `most` of them a side."""
        left = self.test.trials - self.made if most is None else most
        trials = min(max(left, 1), AHEAD * max(self.lesson.draws, 1))
        self._older, self._learnt_from = self._choice, self.made
        self._choice = self._chosen(trials)
        return self._choice

    def _chosen(self, trials: int) -> Choice:
        """The event that promises most of what draws taught, and what weighed draws did.

        Each is valued by draws that did not teach it: the second by those that were held out, the
        first by the weighed ones, unless they say less than what taught it, or the other side was
        never seen to give it. Weighed draws that promise no bound at all leave the others' event:
        it has more to win.
        """
        (epsilon, delta), level = self.test.null, self.errors.left or self.test.alpha
        hard = self.lesson.choice(epsilon=epsilon, delta=delta, trials=trials, level=level)
        if self._soft is None or self._weights is None:
            return hard
        worth = self.lesson.impossible
        if worth == -inf:
            value, error = promised(hard, self._weights.outputs, self._weights.times,
                                    delta=delta, trials=trials, level=level)  # fmt: skip
            if error > hard.spread:
                # Few draws are weighed, and what hardly any shows many others may have shown.
                value = hard.predicted - half_width(hard, self.test.null, level, max(trials, 1))
                error = hard.spread
            worth = value - error
        soft, promise = self._soft
        self._behind = worth > promise + FAR * soft.spread
        return soft if promise > max(worth, 0.0) else hard

    def _may_weigh(self) -> bool:
        """Whether weighed draws may take the place of others: no refutation is near."""
        if self._taped or self._choice is None or self.made < SOFTLY * self.test.trials:
            return False
        if self.betting is not None and self.test.claim.curve is not None:
            return False  # moments are bet on, which no event shows
        if self._hasty and self._bets_go_on():
            return False
        return foreseen(self._choice, self.test.null, self.test.alpha) > self.test.trials

    def _weigh(self) -> bool:
        """Learn from draws weighed on a tape too; whether what they teach is enough.

        Both lessons are valued by what their events promise of draws that did not teach them.
        Weights know nothing of what a rounding or a rare branch gives away, so other draws teach
        on unless an event of the weighed ones is foreseen to refute.
        """
        sampler, trials, self._taped = self.sampler, self.test.trials, True
        calls = sampler.calls("select")
        # The pair's own width: what other pairs were seen before must not change what is drawn.
        width = sampler.width_of(self.pair)
        draws = min(trials // WEIGHED[calls.rows], MOST_WEIGHED, WEIGHED_ROOM // width)
        draws = most_weighed(calls, draws)
        if not sampler.seeded or sampler.requests or draws < FEWEST_WEIGHED or self.out_of_time():
            return False
        key = Key(sampler.seed, sampler.tally.keys.of(self.pair), "tape", 0)
        databases = self.pair.database, self.pair.neighbour
        found = sampler.door.ask(
            weighed, databases, calls, key, draws, WORTH * trials,
            WORTHLESS * most_taught(trials), True, (BET_PRICE if self._hasty else 0.0, PRICE),
        )  # fmt: skip
        sampler.tally.add(EXECUTIONS * found.made)
        self.made += min(found.made, trials - 1 - self.made)
        if found.reason:
            self.tape = f"Randomness was not weighted: {found.reason}."
            return False
        self.tape = (
            f"{found.made:,} runs per database with weighted randomness helped to choose the "
            f"event, as much as {float(f'{found.made * found.worth:.2g}'):,.0f} plain ones."
        )
        rest, level = max(trials - self.made, 1), self.errors.left or self.test.alpha
        choice, worth = softly(found.outputs, found.times, delta=self.test.null[1], trials=rest,
                               level=level)  # fmt: skip
        if choice is None:
            return False
        self._weights, self._soft = found, (choice, worth)
        self._older, self._choice = self._choice, self._chosen(rest)
        sure = replace(choice, predicted=choice.predicted - FAR * choice.spread)
        return self._choice is choice and foreseen(sure, self.test.null, self.test.alpha) <= rest

    def _most_taught(self) -> int:
        """Draws a side that may teach: fewer once weighed ones tell as much as all of them would.

        What these cannot show, such as a leak that hardly any of them meets, the others may.
        """
        most, found = most_taught(self.test.trials), self._weights
        if found is None or self._behind or found.made * found.worth < most:
            return most
        return min(most, int(LEARNING_BESIDE * self.test.trials))

    def _may_attempt(self, most: int) -> bool:
        if self.precision == 0 or len(self.attempts) >= MOST_EARLY or self.made < EARLIEST:
            return False
        share = early_share(self.precision)
        needed = foreseen(self.choice, self.test.null, share * self.errors.left)
        cap = CAP * (self.test.trials - most)
        return needed <= min(PATIENCE * self.lesson.draws, cap)

    def _early(self, most: int) -> bool:
        """Whether an early attempt refutes the claim."""
        level = self.errors.take(early_share(self.precision) * self.errors.left)
        needed = foreseen(self.choice, self.test.null, level)
        self._attempt(early_looks(needed, level), teach=True)
        return self.refuted

    def _attempt_last(self) -> None:
        draws = self.test.trials - self.made
        if self.out_of_time() or draws < 1:
            self.complete = False
            return
        level = self.errors.take(self.errors.left)
        choice = self.choice
        if self._stands(choice, level, draws):
            made = self.made
            standing = self._attempt_last_at(level, draws, stage="standing")
            if standing.looks and standing.looks[-1].epsilon_lower < self.test.claim.epsilon:
                self._last = standing
                return
            # Rows accuse nobody: this attempt is put aside, and single calls are counted.
            self.attempts.pop()
            self.made = made
        self._last = self._attempt_last_at(level, draws)

    def _attempt_last_at(self, level: float, draws: int, stage: str = "attempt") -> Attempt:
        null, bet = self.test.null, self.betting is not None
        plan = last_plan(self.choice, null, draws, level, precision=self.precision, bet=bet)
        made = self._attempt(plan, teach=False, stage=stage)
        self.complete = len(made.looks) == len(plan) or not self.out_of_time()
        return made

    def _stands(self, choice: Choice, level: float, draws: int) -> bool:
        """Whether rows give the bound: they are no draws that decide, and no refutation is near.

        The error probability is spent once all the same. Where the truth is below the claim, an
        error needs a bound of the rows above the truth, whatever is counted after it; where it is
        not, rows cannot lead to an error, and single calls do so at their level.
        """
        rows = self.sampler.by_rows("standing") and not self.sampler.by_rows("attempt")
        # What stops at a refutation is what adds up over many runs, which only single calls may.
        looking = rows and not self.bounding and self.precision is not None
        return looking and foreseen(choice, self.test.null, level) > 4 * draws

    def _attempt(self, plan: Plan, *, teach: bool, stage: str = "attempt") -> Attempt:
        made = attempt(
            self.sampler,
            self.pair,
            self.choice,
            self.test,
            plan,
            number=len(self.attempts),
            chunk=self._chunks[stage],
            before=self.made,
            stage=stage,
            teach=self._teaching if teach else None,
            other=(self._older or self.choice).event,
            enough=self._enough,
            out_of_time=self.out_of_time,
        )
        self._chunks[stage] += len(made.counts)
        self.made += sum(count.trials[0] for count in made.counts)
        self.attempts.append(made)
        return made

    def _enough(self, look: Look) -> bool:
        """Whether a look that refuted is precise enough, or a finer count will follow."""
        if self.precision is None or self.errors.left > 0:
            return True
        width = half_width(self.choice, self.test.null, look.level, look.trials[0])
        return width <= self.precision * self._wished(self.choice)

    def _wished(self, choice: Choice) -> float:
        """The loss of which a precision is a part; a curve's point may have hardly any epsilon."""
        return max(choice.predicted, FLAT if self.test.claim.curve is not None else 1e-3)


def early_share(precision: float | None) -> float:
    """Part of the error probability left that an early attempt spends, given the precision."""
    return HASTY_SHARE if precision is None else EARLY_SHARE


def _joined(old: Outputs, new: Outputs) -> Outputs:
    if not len(new):
        return old
    return Outputs.concatenate([old, new]) if len(old) else new
