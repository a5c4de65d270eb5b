"""What `dpwitness tools plan` does, apart from reading its options."""

from collections.abc import Iterator, Mapping
from math import expm1, inf, isfinite, log1p
from typing import TypedDict, Unpack

from ...auditors.errors import InvalidArgument
from ...auditors.privacy.planning import BudgetPlan, Price, claim_of, foretold, planned_in_time
from ...auditors.privacy.planning import plan as planned
from ..faces.as_text import told
from ..formats.plain import plain as found
from ..formats.plain import tell
from ..formats.table import require_places
from ..shell.console import Console
from ..writing.terminal import wrapped


class PlanClaim(TypedDict):
    """The claim that was typed; None for what nobody stated."""

    epsilon: float | None
    delta: float
    mu: float | None
    rho: float | None
    distance: int


class PlanOptions(PlanClaim):
    """All that `planning.plan` is asked."""

    notice: float | None
    trials: int | None
    alpha: float
    event_probability: float
    power: float


def plan(
    console: Console,
    /,
    *,
    runs: int,
    paths: Mapping[str, str | None],
    seconds: float | None,
    call: float | None,
    **asked: Unpack[PlanOptions],
) -> int:
    """Plan a budget, tell it, and give the exit status, which is 0."""
    require_places(paths)
    if runs < 1:
        raise InvalidArgument(f"runs must be at least 1, got {runs}")
    if seconds is not None or call is not None:
        return _in_time(console, seconds, call, asked, paths)
    made = planned(**asked)
    whole, text = (told(headline(made), story(made, runs), n) for n in (80, console.width))
    if console.quiet:
        text = "\n".join(wrapped(headline(made), console.width))
    return tell(
        console, paths, found("plan", whole, _data(made, runs), story=story(made, runs)), text
    )


def _in_time(
    console: Console,
    seconds: float | None,
    call: float | None,
    asked: PlanOptions,
    paths: Mapping[str, str | None],
) -> int:
    """What an audit of calls that take `call` seconds shows in `seconds`."""
    for name, value in (("seconds", seconds), ("call", call)):
        if value is None or not 0 < value < inf:
            came = "none" if value is None else f"{value}"
            raise InvalidArgument(
                f"{name} must be positive, got {came}; --seconds is the time of the audit and "
                "--call that of one call"
            )
    if asked["trials"] is not None or asked["notice"] is not None:
        raise InvalidArgument("--seconds says how many trials there are; give it alone")
    stated: PlanClaim = {
        "epsilon": asked["epsilon"], "delta": asked["delta"], "mu": asked["mu"],
        "rho": asked["rho"], "distance": asked["distance"],
    }  # fmt: skip
    # The numbers are checked as those of any plan.
    planned(**stated, alpha=asked["alpha"], trials=2)
    assert seconds is not None
    assert call is not None
    claim = claim_of(**stated)
    price = Price(draw=call, alone=call)
    data: dict[str, object] = {"seconds": seconds, "call": call, "alpha": asked["alpha"]}
    lines = []
    for words, searching in (("With the pair given", False), ("With a search", True)):
        trials, level = planned_in_time(seconds, price, asked["alpha"], searching=searching)
        said = foretold(
            claim, seconds=seconds, price=price, trials=trials, level=level, searching=searching
        )
        lines += wrapped(f"{words}: {said}.", console.width)
        data["searched" if searching else "given"] = {"trials": trials, "said": said}
    text = "\n".join(lines)
    return tell(console, paths, found("plan", text, data), text)


def headline(made: BudgetPlan) -> str:
    """The budget or the loss in a sentence."""
    name, claimed = made.claim
    delta = f", delta {made.delta:g}" if made.delta else ""
    if not (isfinite(made.notice) and isfinite(made.trials)):
        return f"No such loss above {name} {claimed:g}{delta} is detected by an event this likely."
    loss = f"{name} {made.notice * claimed:.4g} where {claimed:g}{delta} is claimed"
    return (
        f"An audit with {made.trials:,.0f} trials per database detects a loss of {loss}, "
        f"{made.notice:.4g} times as much, with probability {made.power:g}."
    )


def story(made: BudgetPlan, runs: int = 1) -> Iterator[tuple[str, str]]:
    """The (label, text) lines below the headline, of so many runs."""
    if isfinite(made.draws):
        yield (
            "test",
            f"the event alone is counted once, on {made.draws:,.0f} runs per database; an audit "
            "spends the others to find the event and to look before the end",
        )
    yield "event", f"of probability {made.event_probability:g}, which shows the whole loss"
    yield (
        "alpha",
        f"a sound mechanism fails one run with probability {made.alpha:g} at most"
        + (f", and at least one of {runs:,} runs with {_life(made, runs):.3g}" if runs > 1 else ""),
    )
    yield "", "give it as --alpha; a gate or a test suite divides its alpha among its audits"
    yield "power", "from both binomial laws; an event that is rarer needs more runs"


def _life(made: BudgetPlan, runs: int) -> float:
    """The chance that one of so many runs fails for nothing."""
    return -expm1(runs * log1p(-made.alpha))


def _data(made: BudgetPlan, runs: int) -> dict[str, object]:
    name, claimed = made.claim
    return {
        "claim": {name: claimed, "delta": made.delta, "distance": made.distance},
        "notice": made.notice if isfinite(made.notice) else None,
        "alpha": made.alpha,
        "power": made.power,
        "event_probability": made.event_probability,
        "draws": int(made.draws) if isfinite(made.draws) else None,
        "trials": round(made.trials) if isfinite(made.trials) else None,
        "runs": runs,
        "alpha_in_all_runs": _life(made, runs),
    }
