"""Which event to judge next: the families of all learners compete on held-out draws.

Families are compared by the bound they promise at the size of the test. The few best are
cross-validated: the cut is chosen on one fold and counted on the other, and a family wins only
by more than a standard error over a simpler one.
"""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ..outputs.outputs import Outputs
from .cuts import Aim, Family, Rule, lepski, predicted_bound, smoothed
from .events import Event
from .learners import LEARNERS
from .pilot import make_pilot, usable

__all__ = ["Choice", "Lesson", "learn"]

Floats = NDArray[np.float64]

FEWEST = 12
"""Draws a side below which there is nothing to learn."""
POOL = 131_072
"""Draws a side that are kept to learn from."""
FINALISTS = 6
GAIN = 0.005
SLACK = 1.0


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
    """A family with a rule, the cut it chose and its cross-validated counts."""

    family: Family
    cut: int
    value: float
    error: float
    hits: tuple[int, int]
    sizes: tuple[int, int]


class Lesson:
    """What the draws of one pair teach: add draws as they come, ask for an event at any time.

    The draws given must never judge the event that they teach. What `choice` answers depends on
    the draws and their order alone, not on how they were cut into batches.
    """

    def __init__(self) -> None:
        """A lesson of no draws."""
        self._first = self._second = Outputs.of_list([])
        self._draws = 0

    @property
    def draws(self) -> int:
        """Draws of each side so far."""
        return self._draws

    def add(self, first: Outputs, second: Outputs) -> None:
        """Learn from more draws, as many of the second side as of the first."""
        self._draws += min(len(first), len(second))
        both = [_joined(a, b) for a, b in ((self._first, first), (self._second, second))]
        most = min(POOL, usable((both[0], both[1]))) if all(map(len, both)) else POOL
        self._first, self._second = both[0][:most], both[1][:most]

    def choice(self, *, epsilon: float, delta: float, trials: int, level: float) -> Choice:
        """The event with the best bound foreseen for a test of `trials` draws a side at `level`.

        `epsilon` (nats) only breaks ties.
        """
        return _learnt(self._first, self._second, delta=delta, trials=trials, level=level)


def _joined(old: Outputs, new: Outputs) -> Outputs:
    if not len(new):
        return old
    return Outputs.concatenate([old, new]) if len(old) else new


def learn(
    first: Outputs, second: Outputs, *, epsilon: float, delta: float, trials: int, level: float
) -> Choice:
    """The choice of a lesson of these draws: see `Lesson`."""
    lesson = Lesson()
    lesson.add(first, second)
    return lesson.choice(epsilon=epsilon, delta=delta, trials=trials, level=level)


def _learnt(first: Outputs, second: Outputs, *, delta: float, trials: int, level: float) -> Choice:
    if min(len(first), len(second)) < FEWEST:
        return _everything(first)
    pilot = make_pilot(first, second)
    aim = Aim(trials, delta, float(-ndtri(level)))
    families = [family for learner in LEARNERS for family in learner(pilot)]
    families = [family for family in families if family.hits.shape[-1]]
    if not families:
        return _everything(pilot.fit[0])
    rough = sorted(families, key=lambda f: (-_rough(f, aim), f.simplicity))[:FINALISTS]
    rough += [f for f in families if f.hits.shape[-1] == 1 and f not in rough][:2]
    rules: tuple[Rule, ...] = (lepski, smoothed)
    found = [
        _cross_validated(family, rule, aim)
        for family in rough
        for rule in (rules if family.hits.shape[-1] > 1 else rules[:1])
    ]
    return _as_choice(_best(found), aim)


def _everything(outputs: Outputs) -> Choice:
    """All outputs are alike: an event that always happens."""
    from ..outputs.features import Feature
    from .events import Among, AnyOf, HalfLine

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


def _rough(family: Family, aim: Aim) -> float:
    hits, sizes = family.hits.sum(axis=0).astype(float), family.sizes.sum(axis=0).astype(float)
    if hits.shape[-1] == 1:
        return _value(hits[0, 0], hits[1, 0], sizes, aim)[0]
    cut = lepski(hits[0], hits[1], sizes, aim, family.scores)
    return float(predicted_bound(hits[0], hits[1], sizes, aim)[0][cut])


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


def _cross_validated(family: Family, rule: Rule, aim: Aim) -> _Trial:
    hits, sizes = family.hits.astype(float), family.sizes.astype(float)
    x = y = 0.0
    for fold in (0, 1):
        cut = rule(hits[fold, 0], hits[fold, 1], sizes[fold], aim, family.scores)
        x += hits[1 - fold, 0, cut]
        y += hits[1 - fold, 1, cut]
    pooled, total = hits.sum(axis=0), sizes.sum(axis=0)
    final = rule(pooled[0], pooled[1], total, aim, family.scores)
    value, error = _value(x, y, total, aim)
    return _Trial(family, final, value, error, (int(x), int(y)), (int(total[0]), int(total[1])))


def _best(trials: list[_Trial]) -> _Trial:
    """The best value less its standard error; among the nearly best the simplest and likeliest."""
    best = max(trials, key=lambda t: t.value - t.error)
    slack = max(GAIN * abs(best.value), SLACK * best.error)
    close = [t for t in trials if t.value - t.error >= best.value - best.error - slack]
    return min(close, key=lambda t: (t.family.simplicity, -t.hits[0]))


def _as_choice(trial: _Trial, aim: Aim) -> Choice:
    (x, y), (n, m) = trial.hits, trial.sizes
    p, q = min((x + 0.5) / (n + 1), 1.0), min((y + 0.5) / (m + 1), 1.0)
    cautious = (y + 1) / (m + 1)
    excess = p - aim.delta
    event = trial.family.event(trial.cut)
    if excess <= 0:
        return Choice(event, trial.family.reversed, -np.inf, 1.0, (p, q))
    spread = sqrt(max(p * (1 - p), 1e-12) / (excess**2 * n) + (1 - q) / (q * m))
    return Choice(event, trial.family.reversed, log(excess / cautious), spread, (p, q))
