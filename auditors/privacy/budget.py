"""What an audit may spend: draws, time and error probability, each counted in one place.

A `Budget` is what the caller allows. An `Allowance` is the part of its draws that one step may
make: it reads the sampler's own tally, so that no draw escapes it. `Errors` is the error
probability that is left; it only ever gives away whole amounts, before the draws they pay for.
"""

from dataclasses import dataclass, field

from ..asked import default, require
from ..sampling.sampling import Tally

GROSS = 20_000
"""Outputs, of both sides, that a whole audit may cost when the violation is gross."""
WORST = 0.9
"""Part of alpha for the worst pair of a search; the rest is for a smaller pair."""
LEARNING = 0.25
"""Part of the draws that may teach: more of them would teach less than they would count."""
LITTLE, LEARNING_OF_LITTLE = 1024, 1 / 3
"""Draws a side up to which this part of them may teach, since an event must be found at all."""
MOST_TAUGHT = 4_000_000
"""Draws a side that teach, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What one call of the auditor may spend, passed whole from the caller to the last step.

    `alpha` bounds the probability of refuting any true claim. `trials` is the number of draws a
    side for the pair that decides, learning included; searching and shrinking may add as many
    again, so that an audit never makes more than 4 times `trials` draws a side. `seed` decides all
    randomness. `precision` says when to stop once the claim is refuted: None at once, a share such
    as 0.05 when the bound is known to this part of itself, 0 when all trials are used.
    `seconds` is a wall-clock limit for everything.

    Raises InvalidArgument for a number outside its range.
    """

    alpha: float = default("alpha")
    trials: int = default("trials")
    seed: int = default("seed")
    precision: float | None = default("precision")
    seconds: float | None = None

    def __post_init__(self) -> None:
        """Reject numbers outside their range, naming the number."""
        require(alpha=self.alpha, trials=self.trials, seed=self.seed, precision=self.precision,
                seconds=self.seconds)  # fmt: skip

    @property
    def searching(self) -> int:
        """Most outputs, of both sides, that the search for a pair may draw."""
        return 4 * self.trials

    @property
    def deciding(self) -> int:
        """Most outputs, of both sides, drawn from the pair that decides, to learn and to count."""
        return 2 * self.trials

    @property
    def shrinking(self) -> int:
        """Most outputs, of both sides, drawn to find a smaller pair and to count it."""
        return 2 * self.trials

    @property
    def everything(self) -> int:
        """Most outputs, of both sides, that the whole audit may draw."""
        return self.searching + self.deciding + self.shrinking


@dataclass(frozen=True, slots=True)
class Allowance:
    """The outputs, of both sides together, that one step may draw from now on."""

    tally: Tally
    draws: int
    start: int = field(init=False)

    def __post_init__(self) -> None:
        """Remember where the tally stands."""
        object.__setattr__(self, "start", self.tally.draws)

    @property
    def left(self) -> int:
        """How many outputs may still be drawn; 0 when none."""
        return max(0, self.start + self.draws - self.tally.draws)

    def pays(self, draws: int) -> bool:
        """Whether `draws` outputs of each of two sides may still be drawn."""
        return 2 * draws <= self.left


class Errors:
    """The error probability of one audit, and what of it is not spent yet.

    What is taken is spent whether or not the looks it pays for are made: a look that is reached
    only when those before it were favourable may err more often than its own level, so nothing
    comes back. This is the one place that keeps the sum of all attempts within alpha.
    """

    def __init__(self, alpha: float) -> None:
        """All of alpha is left."""
        self.alpha = alpha
        self.left = alpha

    def take(self, amount: float) -> float:
        """Spend `amount`, which must be positive and left; returns it."""
        if not 0 < amount <= self.left * (1 + 1e-12):
            raise ValueError(f"cannot spend {amount!r} of an error probability of {self.left!r}")
        self.left = max(0.0, self.left - amount)
        return amount


def most_taught(trials: int) -> int:
    """Draws a side, of so many, that may teach before the last attempt."""
    part = LEARNING if trials > LITTLE else LEARNING_OF_LITTLE
    return max(1, min(int(part * trials), MOST_TAUGHT))
