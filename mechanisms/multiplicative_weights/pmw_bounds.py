"""The constants in the accuracy theorem of private multiplicative weights.

The event behind it: no noise of the run exceeds accuracy / 8. Then an update lowers the
divergence of the data from the public distribution by a fixed amount, and it starts at no more
than ln(bins), which bounds the number of updates.
"""

from math import ceil, floor, log, prod

import numpy as np

from .._checks import require_positive, sample_shape
from ..model import Array, Database, Size
from .pmw import noise_epsilon_for, noises_drawn
from .pmw_updates import shares_of


def most_updates(*, bins: int, accuracy: float) -> int:
    """The most updates a run makes in the event: floor(64 ln(bins) / accuracy^2)."""
    require_positive(bins=bins, accuracy=accuracy)
    return floor(64 * log(bins) / accuracy**2)


def updates_needed(*, bins: int, accuracy: float) -> int:
    """Outer iterations with which a run never halts in the event: one more than its updates."""
    return most_updates(bins=bins, accuracy=accuracy) + 1


def records_needed(
    *, bins: int, accuracy: float, epsilon: float, delta: float, length: int, beta: float
) -> int:
    """Records from which a private run over `length` queries is accurate but for chance `beta`.

    Accurate: no answer errs by more than 3 accuracy / 4 and the run does not halt.
    """
    updates = updates_needed(bins=bins, accuracy=accuracy)
    noise_epsilon = noise_epsilon_for(epsilon=epsilon, delta=delta, updates=updates)
    noises = noises_drawn(length=length, updates=updates)
    return ceil(8 * log(noises / beta) / (accuracy * noise_epsilon))


def largest_noise(
    database: Database,
    rng: np.random.Generator,
    *,
    noises: int,
    noise_epsilon: float,
    size: Size = None,
) -> Array:
    """The largest of `noises` absolute values of Laplace noise of scale 1 / (noise_epsilon n).

    `database` holds the counts of n records. Returns floats of shape `size`.
    """
    require_positive(noises=noises, noise_epsilon=noise_epsilon)
    _, records = shares_of(database)
    # Each is below t with probability 1 - exp(-t / scale); the uniform is that to the power.
    below = rng.uniform(size=(prod(sample_shape(size)))) ** (1 / noises)
    largest = -np.log1p(-below) / (noise_epsilon * records)
    return largest.reshape(sample_shape(size))[()]
