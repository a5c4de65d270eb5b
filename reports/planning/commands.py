"""What `dpwitness plan` does, apart from reading its options."""

from collections.abc import Iterator
from math import expm1, isfinite, log1p
from typing import Any

from ...auditors.errors import InvalidArgument
from ...auditors.privacy.planning import BudgetPlan
from ...auditors.privacy.planning import plan as planned
from ..faces.as_text import told, wrapped
from ..shell.console import Console, tell


def plan(console: Console, /, *, runs: int, json_path: str | None, **asked: Any) -> int:
    """Plan a budget, tell it, and give the exit status, which is 0."""
    if runs < 1:
        raise InvalidArgument(f"runs must be at least 1, got {runs}")
    made = planned(**asked)
    text = told(headline(made), story(made, runs), console.width)
    if console.quiet:
        text = "\n".join(wrapped(headline(made), console.width))
    return tell(console, json_path, _data(made, runs), text)


def headline(made: BudgetPlan) -> str:
    """The budget or the loss in a sentence."""
    name, claimed = made.claim
    delta = f", delta {made.delta:g}" if made.delta else ""
    if not (isfinite(made.notice) and isfinite(made.trials)):
        return f"No such loss above {name} {claimed:g}{delta} is noticed by an event this likely."
    loss = f"{name} {made.notice * claimed:.4g} where {claimed:g}{delta} is claimed"
    return (
        f"An audit with {made.trials:,.0f} trials a side notices a loss of {loss}, "
        f"{made.notice:.4g} times as much, with probability {made.power:g}."
    )


def story(made: BudgetPlan, runs: int = 1) -> Iterator[tuple[str, str]]:
    """The (label, text) lines below the headline, of so many runs."""
    if isfinite(made.draws):
        yield (
            "test",
            f"of the event alone, counted once on {made.draws:,.0f} runs per database; an audit "
            "also learns it, and looks before the end",
        )
    yield "event", f"of probability {made.event_probability:g}, which says all of the loss"
    yield (
        "flake",
        f"a sound mechanism fails one run with probability {made.flake:g} at most"
        + (f", and one of {runs:,} runs with {_life(made, runs):.3g}" if runs > 1 else ""),
    )
    yield "", "set it as alpha; a gate or a test suite divides it among its audits"
    yield "power", "exact, by the sums of both binomials; an event that is rarer needs more draws"


def _life(made: BudgetPlan, runs: int) -> float:
    """The chance that one of so many runs fails for nothing."""
    return -expm1(runs * log1p(-made.flake))


def _data(made: BudgetPlan, runs: int) -> dict[str, Any]:
    name, claimed = made.claim
    return {
        "claim": {name: claimed, "delta": made.delta, "distance": made.distance},
        "notice": made.notice if isfinite(made.notice) else None,
        "flake": made.flake,
        "power": made.power,
        "event_probability": made.event_probability,
        "draws": int(made.draws) if isfinite(made.draws) else None,
        "trials": round(made.trials) if isfinite(made.trials) else None,
        "runs": runs,
        "flake_in_all_runs": _life(made, runs),
    }
