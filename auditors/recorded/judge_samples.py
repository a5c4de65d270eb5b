"""A privacy claim against two recorded samples: the first part learns, the rest tests.

The split is by position and fixed before anything is looked at, one event is learnt from the
first part, and the exact two-sample test counts it once on the rest. A true claim is therefore
refuted with probability at most alpha, whatever the event, if the outputs of each sample are
independent draws of one law. That, and that the two databases are neighbours, is the word of
whoever recorded them; what in the samples contradicts it is told by `independence`.
"""

from dataclasses import dataclass

from ..bounds import two_sample
from ..choosing.choose import learn
from ..errors import InvalidArgument
from ..outputs.outputs import Outputs
from ..privacy.attempt import counted
from ..privacy.power import detectable_epsilon
from ..results.results import Count, Verdict
from .independence import LOOKED_AT, doubts

TEACHING = 0.25
"""Share of each sample that the event is learnt from."""
MOST_TEACHING = 131_072
FEWEST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What two recorded samples say of a claim.

    `epsilon_lower` (nats, of a single step) is exceeded by no true bound except with probability
    `alpha`. `sizes` are the outputs of both samples and `count` the hits of the event among those
    that judged. `detectable` is the epsilon that this test would have refuted with probability
    .9. `remarks` are what in the samples speaks against independent draws; `dependent` says that it
    proves them to be none, and the verdict is then inconclusive whatever was counted.
    """

    verdict: Verdict
    epsilon: float
    delta: float
    distance: int
    alpha: float
    epsilon_lower: float
    detectable: float
    sizes: tuple[int, int]
    count: Count
    remarks: tuple[str, ...] = ()
    dependent: bool = False


def judge_samples(
    first: Outputs,
    second: Outputs,
    *,
    epsilon: float,
    delta: float = 0.0,
    distance: int = 1,
    alpha: float = 1e-3,
) -> Judged:
    """Test the claim in the direction that the first quarter of both samples proposes.

    `epsilon` in nats. Raises InvalidArgument for numbers outside their range and for samples of
    fewer than 100 outputs.
    """
    _require(first, second, epsilon, delta, distance, alpha)
    sizes = len(first), len(second)
    taught = [min(round(TEACHING * size), MOST_TEACHING) for size in sizes]
    judging = sizes[0] - taught[0], sizes[1] - taught[1]
    strong = two_sample.at_distance(epsilon, delta, distance)
    most = min(taught)
    choice = learn(
        first[:most], second[:most],
        epsilon=strong[0], delta=strong[1], trials=min(judging), level=alpha,
    )  # fmt: skip
    rest = (first[taught[0] :], second[taught[1] :])
    hits = tuple(int(choice.event.contains(part).sum()) for part in rest)
    count = counted("recorded", 0, choice, (hits[0], hits[1]), judging)
    oriented = count.oriented
    bound = two_sample.epsilon_lower(
        oriented.hits, oriented.trials, delta=delta, level=alpha, distance=distance,
        also=(epsilon,),
    )  # fmt: skip
    detectable = detectable_epsilon(
        choice.rates, oriented.trials,
        epsilon=epsilon, delta=delta, level=alpha, distance=distance,
    )  # fmt: skip
    refuted = bound >= epsilon
    unread = first[:LOOKED_AT].unread or second[:LOOKED_AT].unread
    weak = detectable > max(2 * epsilon, epsilon + 1) or bool(unread)
    found = doubts(first, second)
    dependent = any(doubt.sure for doubt in found)
    read = () if not unread else (f"{unread}, so nothing can be said of what is in it",)
    return Judged(
        verdict=(
            Verdict.INCONCLUSIVE
            if dependent or (weak and not refuted)
            else Verdict.REFUTED
            if refuted
            else Verdict.NOT_REFUTED
        ),
        epsilon=epsilon,
        delta=delta,
        distance=distance,
        alpha=alpha,
        epsilon_lower=bound,
        detectable=detectable,
        sizes=sizes,
        count=count,
        remarks=(*(doubt.sentence for doubt in found), *read),
        dependent=dependent,
    )


def _require(
    first: Outputs, second: Outputs, epsilon: float, delta: float, distance: int, alpha: float
) -> None:
    for holds, sentence in (
        (0 <= epsilon < float("inf"), f"epsilon must be finite and at least 0, got {epsilon!r}"),
        (0 <= delta < 1, f"delta must be from 0 to below 1, got {delta!r}"),
        (distance >= 1, f"distance must be at least 1, got {distance!r}"),
        (0 < alpha < 0.5, f"alpha must be between 0 and 0.5, got {alpha!r}"),
        (
            min(len(first), len(second)) >= FEWEST,
            f"{len(first)} and {len(second)} outputs were recorded; expected at least {FEWEST} of "
            "each database, because a part must be spent on learning what to count",
        ),
    ):
        if not holds:
            raise InvalidArgument(sentence)
