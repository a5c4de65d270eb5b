"""What Python may ask beside the verdict of an audit, answered as the command line answers it.

Each function returns the result of its auditor, which prints as its report, shows itself in one
line, and is a text in a notebook.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from os import PathLike, fspath
from typing import TypeVar

from numpy.typing import ArrayLike

from .auditors.arguments import checked
from .auditors.asked import Neighbours
from .auditors.looking import attribute, is_a
from .auditors.mutants.trial import Score, mutants_of
from .auditors.privacy import estimate as estimating
from .auditors.privacy import planning
from .auditors.privacy.estimate import EpsilonEstimate
from .auditors.privacy.planning import BudgetPlan
from .auditors.recorded import Judged, OneRun, Scores, canaries, judge_samples, one_run
from .mechanisms.model import Database, Pair, Relation
from .notebook import by_name, replayed_by, reporting, write_as
from .views import Shown

WIDTH = 80
ALL_BOUNDS = ("mu", "rho", "curve", "delta")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EstimateReport(Shown, EpsilonEstimate):
    """An `EpsilonEstimate` that prints as `dpwitness estimate` tells it."""

    def _head(self) -> str:
        from .reports.auditing import estimating

        return estimating.headline(self)

    def __str__(self) -> str:
        """The report."""
        from .reports.auditing import estimating

        return estimating.render(self, "", WIDTH, ALL_BOUNDS)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the evidence (.json), or the page with the curve and its claim (.html).

        Raises InvalidArgument for another ending, and where the file cannot be written.
        """
        from .reports.auditing import estimating
        from .reports.record import evidence

        place = fspath(path)
        again = replayed_by(place, self.result.target)
        data = estimating.document(self, again)
        write_as(
            place,
            {
                ".json": lambda: evidence.to_text(data),
                ".html": lambda: estimating.page(self, data, ALL_BOUNDS, again),
            },
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PlanReport(Shown, BudgetPlan):
    """A `BudgetPlan` that prints as `dpwitness tools plan` tells it."""

    def _head(self) -> str:
        from .reports.planning import commands

        return commands.headline(self)

    def __str__(self) -> str:
        """The report, of one run."""
        from .reports.faces.as_text import told
        from .reports.planning import commands

        return told(self._head(), commands.story(self), WIDTH)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class JudgeReport(Shown, Judged):
    """What two recorded samples say of a claim; it prints as `dpwitness judge` tells it."""

    def _head(self) -> str:
        from .reports.samples import commands

        return commands.headline(self, NAMES)

    def __str__(self) -> str:
        """The report."""
        from .reports.faces.as_text import told
        from .reports.samples import commands

        return told(self._head(), commands.story(self, NAMES), WIDTH)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ScoresReport(Shown, Scores):
    """`Scores` that print as `dpwitness scores` tells them."""

    def _head(self) -> str:
        from .reports.samples import score_faces

        return score_faces.headline(self)

    def __str__(self) -> str:
        """The report."""
        from .reports.faces.as_text import told
        from .reports.samples import score_faces

        return told(self._head(), score_faces.story(self, ("inside", "outside")), WIDTH)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OneRunReport(Shown, OneRun):
    """A `OneRun` that prints as `dpwitness scores --one-run` tells it."""

    def _head(self) -> str:
        from .reports.samples import one_run_faces

        return one_run_faces.headline(self)

    def __str__(self) -> str:
        """The report."""
        from .reports.faces.as_text import told
        from .reports.samples import one_run_faces

        return told(self._head(), one_run_faces.story(self, ()), WIDTH)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MutantsReport(Shown, Score):
    """What became of planted faults; it prints as `dpwitness tools mutants` tells it."""

    def _head(self) -> str:
        from .reports.mutants import commands

        return commands.headline(self)

    def __str__(self) -> str:
        """The report."""
        from .reports.mutants import commands

        return commands.as_text(self, WIDTH)


NAMES = ("first", "second")
"""What the two samples of `judge` are called."""


def _as(kind: type[T], result: object) -> T:
    """The same result as one that can be shown."""
    return kind(**{one.name: getattr(result, one.name) for one in fields(kind)})  # type: ignore[arg-type]


def _estimated(result: EpsilonEstimate, *_: object, **__: object) -> EstimateReport:
    return _as(EstimateReport, result)


def _planned(result: BudgetPlan, *_: object, **__: object) -> PlanReport:
    return _as(PlanReport, result)


def _scored(result: Scores, *_: object, **__: object) -> ScoresReport:
    return _as(ScoresReport, result)


def _guessed(result: OneRun, *_: object, **__: object) -> OneRunReport:
    return _as(OneRunReport, result)


estimate = reporting(by_name(estimating.estimate), _estimated, EstimateReport)
plan = reporting(planning.plan, _planned, PlanReport)
scores = reporting(canaries.scores, _scored, ScoresReport)
scores_of_one_run = reporting(one_run.scores_of_one_run, _guessed, OneRunReport)
guesses_of_one_run = reporting(one_run.guesses_of_one_run, _guessed, OneRunReport)


@checked
def judge(
    first: ArrayLike | Sequence[object],
    second: ArrayLike | Sequence[object],
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    mu: float | None = None,
    rho: float | None = None,
    renyi: Sequence[tuple[float, float]] | None = None,
    curve: object = None,
    distance: int = 1,
    alpha: float = 1e-3,
) -> JudgeReport:
    """Judge a privacy claim on outputs that somebody recorded, without calling the mechanism.

    `first` and `second` are the outputs under one database and under the other: numbers, rows of
    an array, texts or any other outputs, an entry for each run, in the order they were made. The
    first quarter of each proposes an event, and the rest is counted once. The claim is `epsilon`
    (nats) with `delta`, or `mu` (Gaussian), `rho` (zero-concentrated, with `delta`), `renyi`
    (pairs of order and epsilon) or a `curve` of points (epsilon, delta), for databases `distance`
    steps apart; `alpha` bounds the probability of refuting a true one.

    Raises InvalidArgument for numbers outside their range, outputs of two shapes and fewer than 100
    of a side.
    """
    from .reports.samples.sample_files import compared, sample_of

    samples = (sample_of(one, name) for one, name in zip((first, second), NAMES, strict=True))
    found = judge_samples(
        *compared(*samples), epsilon=epsilon, delta=delta, mu=mu, rho=rho, renyi=renyi,
        curve=curve, distance=distance, alpha=alpha,
    )  # fmt: skip
    return _as(JudgeReport, found)


@checked
def mutants(
    mechanism: object,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    relation: Relation | Neighbours | None = None,
    distance: int | None = None,
    databases: object = None,
    pair: Pair | tuple[Database, Database] | None = None,
    trials: int = 100_000,
    seconds: float = 600.0,
    alpha: float = 1e-3,
    seed: int = 0,
    timeout: float = 10.0,
) -> MutantsReport:
    """Plant small faults in a mechanism, and let its claim judge each of them.

    `mechanism` is a function of (database, rng), a Mechanism, or the text that names one. The
    claim, `databases` and `pair` are stated as for `audit`: `epsilon` (nats), `delta`,
    `relation`, `distance`. A fault costs at most `trials` draws a side, and no new one is begun
    after `seconds`. `alpha` bounds the probability that a fault which breaks nothing counts as
    seen, `seed` decides all randomness, and `timeout` is the longest one call may take, in seconds.

    Raises InvalidArgument if there is nothing to plant in, no claim, or a claim that is refuted
    already without a fault; ContractError if the mechanism fails.
    """
    from .reports.mutants.commands import stated
    from .reports.targets.targets import Target, find_target

    if is_a(mechanism, str):
        target = find_target(mechanism, timeout)
    else:
        name = str(attribute(mechanism, "name") or attribute(mechanism, "__name__") or "")
        target = Target(mechanism=mechanism, name=name, text="")
    given, found = stated(
        target,
        {"epsilon": epsilon, "delta": delta, "relation": relation, "distance": distance},
        databases=databases,
        pair=pair,
    )
    score = mutants_of(
        given, pair=found, trials=trials, seconds=seconds, alpha=alpha, seed=seed, timeout=timeout
    )
    return _as(MutantsReport, score)
