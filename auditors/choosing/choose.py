"""Which event to judge next: the families of all learners compete on held-out draws.

Every doubling of the draws may be asked for a new event, and all draws so far have their say,
because only counts are kept of them. A family is valued by the bound it promises at the size of
the test: the cut is chosen on one fold and counted on the other. The score over many columns
with the best held-out log-loss stands for all of them; an event of one column takes its place
only if it promises more by a margin.

What was learnt is said as plainly as may be: if a plainer event holds for exactly the same of the
outputs seen, it takes the place of the one that was chosen.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ..additions import LEARNERS as GROUP
from ..additions import added
from ..events.bins import Bins, bins_of_group
from ..events.events import (
    MOST_CUTS,
    AdditiveScore,
    Among,
    AnyOf,
    Atom,
    ByBins,
    ByEvent,
    ByScore,
    Event,
    Family,
    HalfLine,
    Intervals,
    NoneOf,
    Outcomes,
    Partition,
)
from ..events.learners import additive
from ..events.learners.one_column import (
    Noticing,
    half_lines,
    impossible,
    impossible_values,
    ordered_bins,
    recurring_values,
)
from ..events.ledger import Ledger, Tallies
from ..outputs.features import Column, Feature
from ..outputs.outputs import Outputs
from ..outputs.questions import forms, questions
from .promises import (
    Aim,
    Trial,
    finalists,
    hope,
    margin,
    promised_bound,
    sure_winner,
    surely_missed,
    valued,
    winner,
)

Floats = NDArray[np.float64]
Binned = Mapping[Feature, tuple[Bins, NDArray[np.int64]]]
"""The bins of a column, and the draws (side, bin)."""

Learner = Callable[[Ledger], Iterator[Family]]
LEARNERS: tuple[Learner, ...] = (half_lines, ordered_bins, impossible)
"""To add one, of one column or of several, write its file and name it here. Scores fitted on all
columns, which are compared with all that these propose, are in `additive`."""

FEWEST = 12
"""Draws a side below which there is nothing to learn."""
FIRST, FIRST_NARROW = 2048, 16_384
"""Draws a side that fix the bins, of outputs with many columns and with one; fewer of wide ones."""
RECENT = 2**19
"""Values of a side that are looked at one by one, over all coordinates."""
MOST_SORTED = 8192
"""Latest draws of a side that say where a score is cut into cells."""
IDLE_FROM = 30_000
"""Draws a side from which on columns that cannot win any more are let go."""
LOOKED_AT = 500
"""Draws of a side on which two events must agree to be the same set."""
KEPT = 2000
"""Draws of a side that are kept to compare events on."""
FEWEST_INSIDE = 8
"""Outputs that must lie in the event, and outside, for two events to be called the same."""
RANK = {
    "has": 0, "value": 1, "equal": 2, "exact": 2, "type": 3, "residue": 3, "missing": 4,
    "length": 5, "keys": 6, "first": 6,
}  # fmt: skip
"""Which feature people read first; those not named come last."""
LAST = 7
"""The rank of the features that RANK does not name."""


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
            value, error = promised_bound(float(middle), 0.0, sizes, aim)
            sure = surely_missed(float(middle), sizes, self._held, aim)
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
        alone = finalists(singles, aim)
        joint = _joint(ledger, scored, aim)
        if not alone and not joint:
            return _everything(self._example)
        chosen, self._held = sure_winner(joint, alone, aim, several=len(ledger.columns) > 1)
        # The best of many owes a part of its promise to luck.
        self._promised = margin(chosen)
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
        singles = proposed(ledger)
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
    ledger = Ledger.of_weighed(outputs, weights, questions)
    singles = proposed(ledger)
    joint = _joint(ledger, additive.scores(ledger, set()), aim)
    told = [[t for t in found if t.hits[1]] for found in (joint, finalists(singles, aim))]
    if not any(told):
        return None, -np.inf
    chosen = winner(told[0], told[1], several=len(ledger.columns) > 1)
    choice = _as_choice(chosen, aim)
    inside = weights[:, choice.event.contains(outputs)]
    if inside.shape[1] < FEWEST:
        return choice, -np.inf
    worth = margin(replace(chosen, error=max(chosen.error, _unlike(inside))))
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
    value, error = promised_bound(x, y, weights.sum(axis=1)[turn], aim)
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
    ledger = Ledger.fixed_on((first, second), questions)
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


def _joint(ledger: Ledger, scored: list[additive.Scored], aim: Aim) -> list[Trial]:
    """The cuts of the best score, if it tells the sides apart at all."""
    if not scored or scored[0].gain <= scored[0].error:
        return []
    return valued(list(additive.families(ledger, scored[0])), aim)


def _as_choice(trial: Trial, aim: Aim) -> Choice:
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
    chosen: Trial,
    aim: Aim,
) -> None:
    """Count no more the columns that no score needs and whose own events are far behind."""
    alive = {one.kind for one in scored if one.kind not in retired}
    keep = additive.needed(ledger, alive)
    for place in sorted(ledger.coded - keep):
        feature = ledger.columns[place].bins.feature
        hopes = [hope(f, aim) for f in singles if f.feature == feature]
        if max(hopes, default=-np.inf) < chosen.value:
            ledger.forget(place)


def proposed(ledger: Ledger) -> list[Family]:
    """The families of all learners, those of other packages last."""
    every = (*LEARNERS, *added(GROUP))
    return [family for learner in every for family in learner(ledger) if family.hits.shape[-1]]


@dataclass(frozen=True)
class FirstDraws:
    """The first draws of both sides, and what is worth asking of them."""

    sides: tuple[Outputs, Outputs]

    def joined(self, first: Outputs, second: Outputs) -> "FirstDraws":
        """With these draws added while more are wanted."""
        kept = first.room(KEPT)
        if len(self.sides[0]) >= kept:
            return self
        one, two = (
            Outputs.concatenate([old, new[: kept - len(old)]]) if len(old) else new[:kept]
            for old, new in zip(self.sides, (first, second), strict=True)
        )
        return FirstDraws((one, two))

    @cached_property
    def some(self) -> tuple[Outputs, Outputs]:
        """Those that are looked at for candidates."""
        first, second = self.sides
        return first[:LOOKED_AT], second[:LOOKED_AT]

    @cached_property
    def asked(self) -> list[Feature]:
        """Features by which an event may be said: the same for every event."""
        return questions(*self.some)


def plainest(event: Event, seen: FirstDraws) -> Event:
    """The event, or a plainer one that holds for exactly the same of the outputs seen.

    Only an event that holds for some of the outputs and not for others is exchanged. Deterministic
    in the draws.
    """
    if min(map(len, seen.sides)) < FEWEST_INSIDE:
        return event
    held = [event.contains(side) for side in seen.sides]
    inside = [mask[:LOOKED_AT] for mask in held]
    whole = np.concatenate(inside)
    if min(int(whole.sum()), int((~whole).sum())) < FEWEST_INSIDE:
        return event
    best = event
    for candidate in _candidates(seen, inside):
        if _plainness(candidate) < _plainness(best) and all(
            np.array_equal(candidate.contains(side), mask)
            for side, mask in zip(seen.sides, held, strict=True)
        ):
            best = candidate
    return best


def _plainness(event: Event) -> tuple[int, int, int]:
    """Smaller is plainer: what it asks, how many values it names, how long it is."""
    match event:
        case Among() | NoneOf():
            rank = RANK.get(event.feature.kind, LAST)
            negative = int(isinstance(event, NoneOf)) + 2 * (len(event.values) > 1)
            depth = len(event.feature.path)
            return 2 * rank + 3 * negative + depth, len(event.values), len(event.describe())
        case HalfLine():
            rank = RANK.get(event.feature.kind, LAST)
            return 2 * rank + 2 + len(event.feature.path), 1, len(event.describe())
        case Intervals():
            return 20, len(event.intervals), len(event.describe())
        case AnyOf():
            return 25, len(event.events), len(event.describe())
    return 40, 0, 0


def _candidates(seen: FirstDraws, inside: list[NDArray[np.bool_]]) -> Iterator[Event]:
    """Events that one value, or all but one value, of a feature make."""
    for feature in seen.asked:
        columns = [side.column(feature) for side in seen.some]
        held, missed = set[Atom](), set[Atom]()
        for column, mask in zip(columns, inside, strict=True):
            held |= _atoms(column, mask)
            missed |= _atoms(column, ~mask)
            if (len(held) > 1 and len(missed) > 1) or not held.isdisjoint(missed):
                break
        else:
            if len(held) == 1:
                yield Among(feature, tuple(held))
            if len(missed) == 1:
                yield NoneOf(feature, tuple(missed))


def _atoms(column: Column, mask: NDArray[np.bool_]) -> set[Atom]:
    """Different entries inside the mask."""
    values = np.asarray(column.values, dtype=np.float64)[mask & ~column.labelled()]
    # NaN is one value however often it comes, and equals none.
    lost = np.isnan(values)
    atoms: set[Atom] = {*values[~lost].tolist(), *values[lost][:1].tolist()}
    if column.codes is not None:
        here = np.unique(column.codes[mask & (column.codes >= 0)]).tolist()
        atoms |= {column.names[code] for code in here}
    return atoms


def binned(event: Event, sides: tuple[Outputs, Outputs]) -> Binned:
    """Bins of the columns that an event asks for, fixed on these draws, and the draws in them."""
    found = {}
    for feature in {part.feature for part in _parts(event)}:
        columns = sides[0].column(feature), sides[1].column(feature)
        for bins in bins_of_group((feature,), [columns], len(sides[0][:1].paths()) == 1):
            counts = [np.bincount(bins.codes(side), minlength=bins.size) for side in columns]
            found[feature] = bins, np.array(counts)
    return found


def partition_of(
    event: Event, known: Binned, latest: tuple[Outputs, Outputs]
) -> tuple[Partition, NDArray[np.int64]]:
    """The partition that goes with an event, and the earlier draws by (side, cell).

    `known` has the bins of the columns that are counted and their counts, `latest` the latest
    draws of both sides.
    """
    features = {part.feature for part in _parts(event)}
    if len(features) == 1 and (found := known.get(features.pop())) is not None:
        bins, counts = found
        return ByBins(bins), counts
    made: Partition = ByEvent(event)
    if isinstance(event, AdditiveScore):
        made = ByScore(event, _cuts(np.concatenate([event.score(side) for side in latest])))
    return made, np.array([made.counts(side) for side in latest])


def _parts(event: Event) -> list[HalfLine | Intervals | Among | NoneOf]:
    if isinstance(event, AnyOf):
        return [part for one in event.events for part in _parts(one)]
    return [] if isinstance(event, (AdditiveScore, Outcomes)) else [event]


def _cuts(points: NDArray[np.float64]) -> tuple[float, ...]:
    """Cuts in gaps between points, which no rounding of sums crosses: even, and in the tails."""
    ordered = np.sort(points)
    gaps = np.flatnonzero(np.diff(ordered) > 1e-6) + 1
    size = len(ordered)
    tails = [t for t in (int(8 * 2**k) for k in range(30)) if t < size // 40]
    wanted = {*tails, *(size - t for t in tails), *(size * k // 40 for k in range(1, 40))}
    if not len(gaps):
        return ()
    near = {int(gaps[np.argmin(np.abs(gaps - rank))]) for rank in wanted}
    return tuple(sorted(float(ordered[i - 1] + ordered[i]) / 2 for i in near))[:MOST_CUTS]
