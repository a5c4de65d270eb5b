"""Exact laws of outputs, for mechanisms whose law is known in closed form."""

from dataclasses import dataclass

from .domains import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class FiniteLaw:
    """Output `outcomes[i]` with log-probability `log_probabilities[i]`, in nats.

    `outcomes` has shape (m, *output shape), as m draws would have, and the same entries in the
    same order for every database; the log-probabilities have shape (m,), -inf allowed.
    """

    outcomes: Array
    log_probabilities: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceLaw:
    """`centres` plus independent Laplace noise of one `scale`, the same for every database."""

    centres: Array
    scale: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianLaw:
    """`centres` plus independent Gaussian noise of one standard deviation `scale`."""

    centres: Array
    scale: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductLaw:
    """Independent parts of one output, each with a law of its own."""

    parts: "tuple[FiniteLaw | LaplaceLaw | GaussianLaw, ...]"


class NotListable(ValueError):
    """An exact law has more outcomes than are listed; whoever asks goes on without the law."""


Law = FiniteLaw | LaplaceLaw | GaussianLaw | ProductLaw


@dataclass(frozen=True, slots=True, kw_only=True)
class LossLaw:
    """Law of the privacy loss ln(p/q) of outputs drawn from p, where it takes finitely many values.

    `losses` in nats and `probabilities` under p have shape (m,); with probability `infinite`
    the loss is infinite. The three together make up probability 1.
    """

    losses: Array
    probabilities: Array
    infinite: float = 0.0
