"""The lines that spend the privacy loss of the pair that a result shows."""

import os

from ..errors import ContractError
from ..results.results import AuditResult, Cause, CauseLine
from ..sampling.sampling import Sampler
from .attempt import Test

ELSEWHERE = "the code that draws runs in another process, so none of its lines can be named"
VALUES = "lines are named for attackers who see values"


def cause_of(
    result: AuditResult, test: Test, sampler: Sampler, explain: bool | None
) -> Cause | None:
    """What `auditors/tape/explain` says of the pair of the headline; None if nobody asked for it.

    `explain` None asks for it where a seeded mechanism is refuted.
    The mechanism is called where it always is. Nothing that goes wrong changes the result.
    """
    wanted = result.refuted and result.seeded if explain is None else explain
    if not wanted:
        return None
    if sampler.requests:
        return _unsaid(ELSEWHERE)
    if result.target.startswith(("bits=", "types=")):
        return _unsaid(VALUES)
    from ..tape.explain import explained  # most audits are asked for no cause

    shown = result.worst or result.witness or result.pair
    epsilon, delta = test.null
    try:
        lines, summary, accused = sampler.door.ask(
            explained, (shown.database, shown.neighbour), epsilon, delta, result.refuted,
            result.seed, _stated(result),
        )  # fmt: skip
    except ContractError as error:
        return _unsaid(f"no line can be named: {error}")
    return Cause(
        lines=tuple(
            CauseLine(file=_near(file), line=line, source=source, reason=reason)
            for file, line, source, reason in lines
        ),
        summary=summary,
        accused=accused,
    )


def _stated(result: AuditResult) -> str:
    """The claim beside which a loss is told: a curve is not the epsilon of its point."""
    claim = result.claim
    if claim.curve is not None:
        return str(claim.curve)
    return f"epsilon {claim.epsilon:g} at delta {claim.delta:g}" if claim.delta else ""


def _unsaid(why: str) -> Cause:
    return Cause(lines=(), summary=why, accused=False)


HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
"""Where the rooms of this package lie, in a clone and where it is installed."""


def _near(file: str) -> str:
    """A file as people know it: from here, or else its last two names; of ours the module."""
    if file.startswith(os.path.join(HOME, "mechanisms") + os.sep):
        own = os.path.relpath(file, HOME).removesuffix(".py")
        return ".".join(("dpwitness", *own.split(os.sep)))
    inside = os.path.relpath(file)
    return os.sep.join(file.split(os.sep)[-2:]) if inside.startswith(os.pardir) else inside
