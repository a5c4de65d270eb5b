"""Which event to judge next: the families of all learners compete on held-out draws.

Every doubling of the draws may be asked for a new event, and all draws so far have their say,
because only counts are kept of them. A family is valued by the bound it promises at the size of
the test: the cut is chosen on one fold and counted on the other. The score over many columns
with the best held-out log-loss stands for all of them; an event of one column takes its place
only if it promises more by a margin.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ..events import learners
from ..events.cuts import Aim, Family, lepski, predicted_bound, smoothed, straight
from ..events.events import Among, AnyOf, Event, HalfLine
from ..events.learners import additive
from ..events.learners.impossible import Noticing, impossible_values
from ..events.learners.recurring import recurring_values
from ..events.ledger import Ledger, Tallies
from ..events.partition import Partition, binned, partition_of
from ..events.plain import FirstDraws, plainest
from ..outputs.features import Feature
from ..outputs.outputs import Outputs
from ..outputs.questions import forms

Floats = NDArray[np.float64]

FEWEST = 12
"""Draws a side below which there is nothing to learn."""
FIRST = 2048
FIRST_NARROW = 16_384
"""Draws a side that fix the bins, of outputs with many columns and with one; fewer of wide ones."""
RECENT = 2**19
"""Values of a side that are looked at one by one, over all coordinates."""
FINALISTS = 6
"""Families that are valued whole, after a rough look at all."""
GAIN = 0.005
"""Part of its value by which an event must be better to be taken in place of a plainer one."""
SLACK = 0.5
"""Standard errors of the best event within which another counts as equally good."""
LUCKIEST = 2.0
"""Standard errors of their difference within which a rarer event is no better than a likelier one:
of a dozen rare events with one loss, the luckiest stands out by two."""
WAGER = 0.2
"""Part of its value that is given up at most for that: of few draws everything may be luck."""
RICHER = 3.0
"""Standard errors by which an event of a richer kind has to promise more than a simpler one."""
CURVE_SPREAD = 0.6
"""Standard error of a log-ratio that the curve along a score supports, as a part of the counts'."""
LINE_SPREAD = 0.3
"""The same, where the log-ratios are a line in the threshold."""
NEVER = 9.0
"""Hits that the other side had to have, if an event lost no more than the one it is to replace,
for their absence to be no luck: among thousands of events one is missed by chance so often."""
FAR_BEHIND = 4.0
"""Standard errors added to what a column may promise, before it counts as hopeless."""
MOST_SORTED = 8192
"""Latest draws of a side that say where a score is cut into cells."""
IDLE_FROM = 30_000
"""Draws a side from which on columns that cannot win any more are let go."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An event and what is foreseen of it: log-ratio, its standard error and both rates.

    `reversed` is True when the second side is the likelier one; `rates` has the likelier first.
    """

    event: Event
    reversed: bool
    predicted: float
    spread: float
    rates: tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Trial:
    """A family with the cut that a rule chose, its cross-validated counts, and its worth.

    `value` is the bound foreseen and `ratio` the log-ratio, both halfway between what held-out
    counts and a smooth curve say; `error` is the standard error of the log-ratio of the counts.
    """

    family: Family
    cut: int
    value: float
    ratio: float
    error: float
    hits: tuple[int, int]
    sizes: tuple[int, int]
    spread: float = 1.0
    """How far the error is known better than by counts, where a curve holds them together."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What the draws so far say, whatever the test that an event is wanted for."""

    ledger: Ledger
    scored: list[additive.Scored]
    singles: list[Family]


class Lesson:
    """What the draws of one pair teach: add draws as they come, ask for an event at any time.

    The draws given must never judge the event that they teach. What `choice` answers depends on
    the draws, their order and how often it was asked before, not on how they were cut into
    batches. Memory does not grow with the draws.
    """

    def __init__(self) -> None:
        """A lesson of no draws."""
        self._first = self._second = Outputs.of_list([])
        self._seen = FirstDraws((self._first, self._second))
        self._example = self._first
        self._ledger: Ledger | None = None
        self._retired: set[str] = set()
        self._fixed = 0
        self._recent: list[tuple[Outputs, Outputs]] = []
        self._most_recent = 0
        self._promised = self._held = -np.inf
        self._known: _Known | None = None

    @property
    def draws(self) -> int:
        """Draws of each side so far."""
        return self._ledger.draws if self._ledger else len(self._first)

    def add(self, first: Outputs, second: Outputs) -> None:
        """Learn from more draws; of the longer side only as many as the other has."""
        size = min(len(first), len(second))
        if not size:
            return
        first, second = first[:size], second[:size]
        self._known = None
        self._seen = self._seen.joined(first, second)
        if self._ledger is None:
            if not self._fixed:
                self._example = first[:1]
                narrow = len(first[:64].paths()) == 1
                self._fixed = first.room(FIRST_NARROW if narrow else FIRST)
            room = self._fixed - len(self._first)
            self._first = _joined(self._first, first[:room])
            self._second = _joined(self._second, second[:room])
            if len(self._first) < self._fixed:
                self._remember(first, second)
                return
            self._ledger = _counted(self._first, self._second)
            # What was read of texts to count them is not read again.
            self._recent = []
            self._remember(self._first, self._second)
            self._first = self._second = Outputs.of_list([])
            first, second = first[room:], second[room:]
        if len(first):
            self._ledger.add(first, second)
            self._remember(first, second)

    @property
    def whole(self) -> int:
        """How many draws a side must come as they are before others may come as tallies."""
        return 0 if self._ledger else (self._fixed or FIRST_NARROW) - len(self._first)

    @property
    def unseen(self) -> bool:
        """Whether nothing is known yet of what an output is like."""
        return not self._fixed

    @property
    def recent(self) -> int:
        """How many of the latest draws a side are looked at value by value; 0 before the first."""
        return self._most_recent

    def blank(self) -> Ledger:
        """What counts draws elsewhere, by its `tallies`; only where none must come `whole`."""
        assert self._ledger is not None
        return self._ledger.blank()

    def enter(self, first: Sequence[Tallies], second: Sequence[Tallies]) -> None:
        """Learn from draws of both sides, as many, that were counted elsewhere with `blank`."""
        assert self._ledger is not None
        self._known = None
        for side, counted in enumerate((first, second)):
            for tallies in counted:
                self._ledger.enter(side, tallies)
        self._ledger.draws += sum(tallies.size for tallies in first)

    def _remember(self, first: Outputs, second: Outputs) -> None:
        """Keep the latest draws, as many as are looked at value by value."""
        if not self._most_recent:
            columns = max(1, len(first[:64].paths()))
            most = max(FIRST, RECENT // columns)
            self._most_recent = min(most, max(self._fixed, first.room(most)))
        most = self._most_recent
        self._recent.append((first[-most:], second[-most:]))
        held = sum(len(one) for one, _ in self._recent)
        while held - len(self._recent[0][0]) >= most:
            held -= len(self._recent.pop(0)[0])

    def _latest(self) -> tuple[Outputs, Outputs]:
        most = self._most_recent
        one, two = (
            Outputs.concatenate(list(side))[-most:] for side in zip(*self._recent, strict=True)
        )
        self._recent = [(one, two)]
        return one, two

    def noticing(self, *, trials: int, delta: float, level: float) -> Noticing:
        """What a value impossible on one side had to show to take the place of the last choice.

        `trials`, `delta` and `level` are those of the test to come.
        """
        draws = min(sum(len(one) for one, _ in self._recent), self._most_recent)
        aim, sizes = Aim(trials, delta, float(-ndtri(level))), np.full(2, float(max(draws, 1)))
        low, high = 0, draws + 1
        while high - low > 1:
            middle = (low + high) // 2
            value, error = _value(float(middle), 0.0, sizes, aim)
            sure = _missed(float(middle), sizes, self._held, aim)
            low, high = (low, middle) if sure and value - error > self._promised else (middle, high)
        return Noticing(draws, high)

    def choice(
        self, *, epsilon: float, delta: float, trials: int, level: float, more: bool = False
    ) -> Choice:
        """The event with the best bound foreseen for a test of `trials` draws a side at `level`.

        `epsilon` (nats) only breaks ties. With `more` nothing is let go of that an event for
        another delta could be made of.
        """
        if self.draws < FEWEST:
            return _everything(self._example)
        known = self._known = self._known or self._counted()
        ledger, scored, singles = known.ledger, known.scored, known.singles
        aim = Aim(trials, delta, float(-ndtri(level)))
        alone = _finalists(singles, aim)
        joint = _joint(ledger, scored, aim)
        if not alone and not joint:
            return _everything(self._example)
        chosen, self._held = _surely_chosen(joint, alone, aim, several=len(ledger.columns) > 1)
        # The best of many owes a part of its promise to luck.
        self._promised = _margin(chosen)
        choice = _as_choice(chosen, aim)
        if self._ledger is not None and ledger.draws >= IDLE_FROM and not more:
            _let_go(ledger, scored, self._retired, singles, chosen, aim)
            self._known = None
        return replace(choice, event=plainest(choice.event, self._seen))

    @property
    def worth(self) -> float:
        """What the last choice promises at least, by held-out draws; -inf before the first."""
        return self._promised

    @property
    def impossible(self) -> float:
        """The same where the choice was never seen on the other side; -inf where it was."""
        return self._promised if self._held == -np.inf else -np.inf

    def partition(self, event: Event) -> tuple[Partition, NDArray[np.int64]]:
        """Cells of outputs that go with the event chosen last, and the draws so far in them.

        The draws have shape (2 sides, cells); of a score and of an event they are the latest.
        """
        if self._ledger is None:
            known = binned(event, (self._first, self._second))
        else:
            known = {c.bins.feature: (c.bins, c.counts.sum(axis=0)) for c in self._ledger.columns}
        first, second = self._latest()
        latest = first[-MOST_SORTED:], second[-MOST_SORTED:]
        return partition_of(event, known, latest)

    def _counted(self) -> "_Known":
        ledger = self._ledger or _counted(self._first, self._second)
        scored = additive.scores(ledger, self._retired if self._ledger else set())
        singles = learners.proposed(ledger)
        first, second = self._latest()
        asked = forms(first, second)
        singles += impossible_values(asked, first, second)
        singles += recurring_values(asked, first, second)
        return _Known(ledger, scored, singles)


def softly(
    outputs: Outputs, weights: Floats, *, delta: float, trials: int, level: float
) -> tuple[Choice | None, float]:
    """The choice from draws that count for both sides, and what it promises at least.

    The first half are draws of the first side; `weights` of shape (2 sides, draws) say what each
    counts, in ordinary draws that would tell as much. None and -inf where nothing is learnt; -inf
    also for an event that holds hardly any of the draws, however much these weigh.
    """
    aim, half = Aim(trials, delta, float(-ndtri(level))), len(outputs) // 2
    ledger = Ledger.of_weighed(outputs, weights)
    singles = learners.proposed(ledger)
    joint = _joint(ledger, additive.scores(ledger, set()), aim)
    told = [[t for t in found if t.hits[1]] for found in (joint, _finalists(singles, aim))]
    if not any(told):
        return None, -np.inf
    chosen = _chosen(told[0], told[1], several=len(ledger.columns) > 1)
    choice = _as_choice(chosen, aim)
    inside = weights[:, choice.event.contains(outputs)]
    if inside.shape[1] < FEWEST:
        return choice, -np.inf
    worth = _margin(replace(chosen, error=max(chosen.error, _unlike(inside))))
    seen = FirstDraws((outputs[:half], outputs[half:]))
    return replace(choice, event=plainest(choice.event, seen)), worth


def promised(
    choice: Choice,
    outputs: Outputs,
    weights: Floats,
    *,
    delta: float,
    trials: int,
    level: float,
) -> tuple[float, float]:
    """What a choice promises by weighed draws that did not teach it, and the standard error.

    The draws are as in `softly`; -inf and infinity where hardly any of them is in the event.
    """
    turn = slice(None, None, -1 if choice.reversed else 1)
    inside = weights[turn, choice.event.contains(outputs)]
    if inside.shape[1] < FEWEST:
        return -np.inf, np.inf
    x, y = inside.sum(axis=1).tolist()
    aim = Aim(trials, delta, float(-ndtri(level)))
    value, error = _value(x, y, weights.sum(axis=1)[turn], aim)
    return value, max(error, _unlike(inside))


def _unlike(inside: Floats) -> float:
    """The standard error of the log-ratio of two sums of weights, shape (2 sides, draws).

    What a few draws of large weight say of their ratio is no surer than these draws are alike.
    """
    x, y = inside.sum(axis=1)
    spread = np.sqrt(((inside[0] - x / max(y, 1e-300) * inside[1]) ** 2).sum())
    return float(spread / max(x, 1e-300))


def _joined(old: Outputs, new: Outputs) -> Outputs:
    return Outputs.concatenate([old, new]) if len(old) else new


def _counted(first: Outputs, second: Outputs) -> Ledger:
    ledger = Ledger.fixed_on((first, second))
    ledger.add(first, second)
    return ledger


def learn(
    first: Outputs, second: Outputs, *, epsilon: float, delta: float, trials: int, level: float
) -> Choice:
    """The choice of a lesson of these draws: see `Lesson`."""
    lesson = Lesson()
    lesson.add(first, second)
    return lesson.choice(epsilon=epsilon, delta=delta, trials=trials, level=level)


def _everything(outputs: Outputs) -> Choice:
    """All outputs are alike: an event that always happens."""
    path = (outputs.paths() or [()])[0]
    feature = Feature("value", path)
    column = outputs[:1].column(feature)
    label = column.label(0) if len(column.values) else None
    if label is not None:
        return Choice(Among(feature, (label,)), False, 0.0, 1.0, (1.0, 1.0))
    value = float(column.values[0]) if len(column.values) else 0.0
    if np.isnan(value):
        return Choice(Among(feature, (value,)), False, 0.0, 1.0, (1.0, 1.0))
    both = AnyOf((HalfLine(feature, value, True), HalfLine(feature, value, False)))
    return Choice(both, False, 0.0, 1.0, (1.0, 1.0))


def _rough(families: list[Family], aim: Aim) -> list[float]:
    """Of each the bound that its best cut promises, less its standard error; for a first ranking.

    Cheap: the cuts of all of them are looked at in one go.
    """
    if not families:
        return []
    cuts = np.array([family.hits.shape[-1] for family in families])
    starts = cuts.cumsum() - cuts
    x, y = np.concatenate([f.hits for f in families], axis=-1).sum(axis=0).astype(float)
    sizes = np.stack([f.sizes for f in families], axis=-1).sum(axis=0).astype(float)
    bound, _ = predicted_bound(x, y, sizes.repeat(cuts, axis=-1), aim)
    noise = np.sqrt(1 / np.maximum(x, 0.5) + 1 / np.maximum(y, 0.5))
    found: list[float] = np.maximum.reduceat(bound - noise, starts).tolist()
    for place in np.flatnonzero((cuts == 1) & (y[starts] == 0)).tolist():
        value, error = _value(x[starts[place]], 0.0, sizes[:, place], aim)
        found[place] = value - error
    return found


def _finalists(families: list[Family], aim: Aim) -> list[_Trial]:
    """The few families of one column that promise most, each cut by both rules."""
    rough = list(zip(_rough(families, aim), families, strict=True))
    rough.sort(key=lambda pair: (-pair[0], pair[1].simplicity, pair[1].reversed))
    best = [family for _, family in rough[:FINALISTS]]
    best += [f for _, f in rough[FINALISTS:] if f.hits.shape[-1] == 1][:2]
    return _valued(best, aim)


def _value(x: float, y: float, sizes: Floats, aim: Aim) -> tuple[float, float]:
    """(bound foreseen, standard error of the log-ratio) for held-out counts."""
    if x <= 0 or x / sizes[0] <= aim.delta:
        return -np.inf, 1.0
    if y == 0:
        # No hit at all: the exact bound, ln of (p - delta) n / ln(1 / level), but for no more
        # draws than were seen to have none.
        needed = aim.quantile**2 / 2 + 1
        spare = max(x - sqrt(x), 0.5) / sizes[0] - aim.delta
        if spare <= 0:
            return -np.inf, 1.0
        return log(max(spare * min(aim.trials, sizes[1]) / needed, 1e-9)), 1 / sqrt(x)
    bound, _ = predicted_bound(np.array([x]), np.array([y - 0.0]), sizes, aim)
    return float(bound[0]), sqrt(1 / x + 1 / y)


def _valued(families: list[Family], aim: Aim) -> list[_Trial]:
    """The families cut by Lepski's rule and by the best place of a smooth curve.

    A curve is believed as far as it fits: most where the log-ratios lie on a line in the threshold,
    not at all where nothing but their order held them together.
    """
    found = [_uncut(family, aim) for family in families if family.hits.shape[-1] == 1]
    nested = [family for family in families if family.hits.shape[-1] > 1]
    joint = [family for family in nested if family.scores is not None]
    lines = [(family, straight(family)) for family in nested if family.scores is None]
    fitted = [replace(family, scores=line) for family, line in lines if line is not None]
    rest = [family for family, line in lines if line is None]
    for alike, spread in ((joint, CURVE_SPREAD), (fitted, LINE_SPREAD), (rest, 1.0)):
        if alike:
            found += _along_curves(alike, spread, aim)
    return found


def _along_curves(nested: list[Family], spread: float, aim: Aim) -> list[_Trial]:
    """The families, all with scores or all without, cut by both rules."""
    parts = [np.stack([*f.hits, f.hits.sum(axis=0)]).astype(float) for f in nested]
    # Curves are smoothed at once; cuts that add nothing fill up the shorter families.
    longest = max(part.shape[-1] for part in parts)
    filled = np.stack([_filled(part, longest) for part in parts])
    scored = nested[0].scores is not None
    scores = np.stack([_filled(f.scores, longest) for f in nested]) if scored else None
    curves = smoothed(filled, None if scores is None else scores[:, None, :])
    found = []
    for family, part, curve in zip(nested, parts, curves, strict=True):
        found += _cut(family, part, curve[..., : part.shape[-1]], spread, aim)
    return found


def _filled(values: Floats | None, size: int) -> Floats:
    assert values is not None
    spare = [(0, 0)] * (values.ndim - 1) + [(0, size - values.shape[-1])]
    return np.pad(values, spare, mode="edge")


def _uncut(family: Family, aim: Aim) -> _Trial:
    hits, total = family.hits.sum(axis=0), family.sizes.sum(axis=0).astype(float)
    x, y = hits[:, 0].astype(float).tolist()
    value, error = _value(x, y, total, aim)
    return _Trial(family, 0, value, _ratio(x, y, total, aim), error, *_whole(x, y, total))


def _cut(family: Family, parts: Floats, curves: Floats, spread: float, aim: Aim) -> list[_Trial]:
    sizes = np.stack([*family.sizes, family.sizes.sum(axis=0)]).astype(float)
    total = sizes[2]
    foreseen = [predicted_bound(c[0], c[1], s, aim) for c, s in zip(curves, sizes, strict=True)]
    by_rule = (
        [lepski(x[0], x[1], size, aim) for x, size in zip(parts, sizes, strict=True)],
        [int(np.argmax(bound)) for bound, _ in foreseen],
    )
    found = []
    for zero, one, cut in by_rule:
        x, y = (parts[1][:, zero] + parts[0][:, one]).tolist()
        value, error = _value(x, y, total, aim)
        ratio = _ratio(x, y, total, aim)
        bound, curve = float(foreseen[2][0][cut]), float(foreseen[2][1][cut])
        if np.isfinite(bound) and np.isfinite(value) and y > 0:
            value, ratio = (value + bound) / 2, (ratio + curve) / 2
            # The cut of both folds together may be rarer than those that were held out.
            error = max(error, _noise(*parts[2][:, cut].tolist()))
            error *= spread
        found.append(_Trial(family, cut, value, ratio, error, *_whole(x, y, total), spread))
    return found


def _noise(x: float, y: float) -> float:
    """The standard error of the log-ratio of two counts."""
    return sqrt(1 / max(x, 0.5) + 1 / max(y, 0.5))


def _whole(x: float, y: float, total: Floats) -> tuple[tuple[int, int], tuple[int, int]]:
    return (int(x), int(y)), (int(total[0]), int(total[1]))


def _ratio(x: float, y: float, sizes: Floats, aim: Aim) -> float:
    excess = min((x + 0.5) / (sizes[0] + 1), 1.0) - aim.delta
    return log(excess / ((y + 1) / (sizes[1] + 1))) if excess > 0 else -np.inf


def _joint(ledger: Ledger, scored: list[additive.Scored], aim: Aim) -> list[_Trial]:
    """The cuts of the best score, if it tells the sides apart at all."""
    if not scored or scored[0].gain <= scored[0].error:
        return []
    return _valued(list(additive.families(ledger, scored[0])), aim)


def _surely_chosen(
    joint: list[_Trial], alone: list[_Trial], aim: Aim, *, several: bool
) -> tuple[_Trial, float]:
    """The chosen one, and the bound foreseen of the one that it, or what comes, has to replace.

    Of thousands of events that lose alike, a rare one is always missed by one side. So an event
    without a hit there takes part only if it would have had some, did it lose no more than the best
    of the others.
    """
    told = [[t for t in trials if t.hits[1]] for trials in (joint, alone)]
    if not any(told):
        return _chosen(joint, alone, several=several), -np.inf
    held = _chosen(told[0], told[1], several=several)
    sure = [
        [t for t in trials
         if t.hits[1] or _missed(t.hits[0], np.array(t.sizes, float), held.value, aim)]
        for trials in (joint, alone)
    ]  # fmt: skip
    chosen = _chosen(sure[0], sure[1], several=several)
    return chosen, held.value if chosen.hits[1] else -np.inf


def _missed(hits: float, sizes: Floats, bound: float, aim: Aim) -> bool:
    """Whether it is no luck that an event of the bound foreseen was hit so often and then never."""
    spare = hits / sizes[0] - aim.delta
    return bool(spare * sizes[1] * np.exp(-max(bound, 0.0)) >= NEVER)


def _chosen(joint: list[_Trial], alone: list[_Trial], *, several: bool) -> _Trial:
    """The score's best cut, unless an event of one column promises more by a margin.

    The log-loss that named the score is a mean over all draws, so luck had no part in it; among
    many events of one column the luckiest stands out. A readable event that is foreseen as well
    and as surely takes the score's place too.
    """
    if not several or not joint or not alone:
        return _best([*joint, *alone])
    score = max(joint, key=lambda t: t.value - t.error)
    rival = max(alone, key=_margin)
    if _margin(rival) > score.value:
        return _best([trial for trial in alone if _margin(trial) > score.value])
    rival = _best(alone)
    as_good = rival.value >= (1 - GAIN) * score.value and rival.error <= score.error
    return rival if as_good else score


def _margin(trial: _Trial) -> float:
    """What an event of one column promises at least, as one of those of all columns.

    A line that fits the luckiest of many columns says no more of its error than a curve does.
    """
    if trial.hits[1] == 0:
        return trial.value - trial.error
    return trial.value - 2.0 * trial.error * max(1.0, CURVE_SPREAD / trial.spread)


def _best(trials: list[_Trial]) -> _Trial:
    """The best value less its standard error, the simpler events first.

    Among those nearly as good the likeliest is taken. An event of a richer kind takes the place of
    a simpler one only if it promises more than the best of these by a margin: among many sets of
    intervals the luckiest stands out, while a half-line has one number to be lucky with.
    """
    simple, *richer = sorted({trial.family.simplicity for trial in trials})
    held, bar = _likeliest([trial for trial in trials if trial.family.simplicity == simple])
    for kind in richer:
        rival, value = _likeliest([trial for trial in trials if trial.family.simplicity == kind])
        sure = 1.0 if rival.hits[1] == 0 else RICHER
        if rival.value - sure * rival.error > bar:
            held, bar = rival, value
    return held


def _likeliest(trials: list[_Trial]) -> tuple[_Trial, float]:
    """The likeliest of those that are as good as the best but for luck, and the best's value."""
    best = max(trials, key=lambda t: t.value - t.error)
    close = [t for t in trials if t.value - t.error >= best.value - best.error - _luck(best, t)]
    return max(close, key=lambda t: (t.hits[0], not t.family.reversed)), best.value


def _luck(best: _Trial, other: _Trial) -> float:
    """By how much one event may seem better than another that is as good.

    The log-ratio of a part of an event has the error of the event's own and one of its own beside.
    A curve that holds the counts together has no such luck, nor has an event that one side misses.
    """
    slack = max(GAIN * abs(best.value), SLACK * best.error)
    if best.spread < 1 or best.hits[1] == 0:
        return slack
    luck = LUCKIEST * sqrt(max(best.error**2 - other.error**2, 0.0))
    return max(slack, min(luck, WAGER * abs(best.value)))


def _as_choice(trial: _Trial, aim: Aim) -> Choice:
    (x, y), (n, m) = trial.hits, trial.sizes
    p, q = min((x + 0.5) / (n + 1), 1.0), min((y + 0.5) / (m + 1), 1.0)
    excess = p - aim.delta
    event = trial.family.event(trial.cut)
    if excess <= 0:
        return Choice(event, trial.family.reversed, -np.inf, 1.0, (p, q))
    spread = sqrt(max(p * (1 - p), 1e-12) / (excess**2 * n) + (1 - q) / (q * m))
    if y > 0:
        spread *= trial.spread
    return Choice(event, trial.family.reversed, trial.ratio, spread, (p, q))


def _let_go(
    ledger: Ledger,
    scored: list[additive.Scored],
    retired: set[str],
    singles: list[Family],
    chosen: _Trial,
    aim: Aim,
) -> None:
    """Count no more the columns that no score needs and whose own events are far behind."""
    alive = {one.kind for one in scored if one.kind not in retired}
    keep = additive.needed(ledger, alive)
    for place in sorted(ledger.coded - keep):
        feature = ledger.columns[place].bins.feature
        hopes = [_hope(f, aim) for f in singles if f.feature == feature]
        if max(hopes, default=-np.inf) < chosen.value:
            ledger.forget(place)


def _hope(family: Family, aim: Aim) -> float:
    """More than the family can be thought to promise."""
    hits, sizes = family.hits.sum(axis=0).astype(float), family.sizes.sum(axis=0).astype(float)
    bound, _ = predicted_bound(hits[0], hits[1], sizes, aim)
    noise = np.sqrt(1 / np.maximum(hits[0], 0.5) + 1 / np.maximum(hits[1], 0.5))
    return float(np.max(bound + FAR_BEHIND * noise))
