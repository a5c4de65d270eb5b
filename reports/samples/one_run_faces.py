"""What guesses about the canaries of one run prove, as text and as JSON."""

from collections.abc import Iterator
from math import exp

from scipy.optimize import brentq
from scipy.special import ndtr

from ...auditors.evidence.conversion import claim_record
from ...auditors.recorded import OneRun
from ..faces import wording
from ..writing.terminal import printable
from .score_faces import verdict_sentence

ASSUMED = (
    "each canary was put into the data by a fair coin of its own, independent of all others; the "
    "numbers of guesses were fixed before anybody saw how many are right"
)
FAMILY = (
    "What follows from mu at a delta assumes that the curve of the mechanism is that of "
    "Gaussian noise; the bound on mu does not."
)
UNSAID = (
    "Not examined: other data sets and other attacks, and whether the coins were fair. A bound "
    "from below proves no privacy."
)


def headline(made: OneRun) -> str:
    """The verdict or the bound in a sentence."""
    return verdict_sentence(made, "guesses", made.epsilon_lower or 0.0)


def story(made: OneRun, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The (label, text) lines below the headline."""
    one = made.best
    if names:
        yield "scores", printable(" and ".join(names))
    yield "guesses", f"{one.right:,} of {one.guesses:,} right, of {made.canaries:,} canaries"
    if made.numbers > 1:
        yield "", f"the best of {made.numbers} numbers of guesses, which share alpha"
    if made.claim is not None and one.needed is not None:
        yield "power", f"{one.needed:,} of them right would have refuted the claim"
    for index, text in enumerate(_bounds(made)):
        yield "" if index else "bounds", text
    yield "assumed", f"{ASSUMED}."
    if made.mu_lower and made.claim is None:
        yield "", FAMILY
    yield "unseen", UNSAID.removeprefix("Not examined: ")


def _bounds(made: OneRun) -> Iterator[str]:
    at = f" at delta {made.delta:g}" if made.delta else ""
    if made.epsilon_lower is not None:
        yield f"epsilon at least {wording.at_least(made.epsilon_lower)}{at}"
    if made.mu_lower is not None:
        yield f"mu at least {wording.at_least(made.mu_lower)}"
    if (follows := _by_gaussian(made)) is not None:
        yield f"epsilon at least {wording.at_least(follows)}{at}, if its curve is Gaussian"
    if made.rho_lower is not None:
        yield f"rho at least {wording.at_least(made.rho_lower)}"
    if made.factor_lower is not None:
        yield f"at least {wording.at_least(made.factor_lower)} times its epsilon"
    both = "both" if made.claim is None else "it holds"
    yield f"{both} with confidence {100 * (1 - made.alpha):.6g} %"


def _by_gaussian(made: OneRun) -> float | None:
    """Epsilon at delta of the bound on mu, if the curve is Gaussian; None where there is none."""
    mu, delta = made.mu_lower, made.delta
    if not mu or not delta or made.claim is not None:
        return None

    def excess(epsilon: float) -> float:
        high, low = ndtr(mu / 2 - epsilon / mu), ndtr(-mu / 2 - epsilon / mu)
        return float(high - exp(min(epsilon, 600.0)) * low) - delta

    return float(brentq(excess, 0, mu * (mu / 2 + 40))) if excess(0) > 0 else 0.0


def data(made: OneRun, names: tuple[str, ...]) -> dict[str, object]:
    """The result as plain JSON data."""
    return {
        "verdict": None if made.verdict is None else made.verdict.value,
        "samples": list(names),
        "claim": None if made.claim is None else claim_record(made.claim),
        "delta": made.delta,
        "alpha": made.alpha,
        "canaries": made.canaries,
        "guesses": made.best.guesses,
        "right": made.best.right,
        "needed": made.best.needed,
        "numbers_of_guesses": made.numbers,
        "epsilon_lower": made.epsilon_lower,
        "mu_lower": made.mu_lower,
        "rho_lower": made.rho_lower,
        "factor_lower": made.factor_lower,
        "epsilon_lower_if_gaussian": _by_gaussian(made),
        "assumed": ASSUMED,
        "not_examined": UNSAID,
    }
