"""What `audit --attacker clock` says: whether running time tells two databases apart."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...auditors.databases.records import HISTOGRAMS, require_neighbours
from ...auditors.errors import InvalidArgument
from ...auditors.privacy import request
from ...auditors.results.results import Verdict
from ...mechanisms.model import Pair
from ..faces.as_text import wrapped
from ..faces.wording import at_least, claim_phrase
from ..shell.console import INCONCLUSIVE, REFUTED
from ..targets.targets import Target
from ..writing.terminal import printable

if TYPE_CHECKING:
    from ..shell.console import Console

MOST_TRIALS = 20_000
"""Draws a side by default: a call is timed alone, so timing is slower than sampling."""


def tell(console: "Console", found: Target, engine: Mapping[str, Any]) -> int:
    """Time the mechanism on the one pair given and tell each claim's verdict; the exit status."""
    from ...auditors.recorded.clock import judge_times

    if "pair" not in engine:
        raise InvalidArgument(
            "the clock times two databases and searches for none; give them with --pair"
        )
    pair = Pair(*engine["pair"])
    subject = request.subject(found.mechanism, found.name, found.text, engine.get("seeded"))
    epsilon, delta = engine.get("epsilon"), engine.get("delta")
    relation, distance = engine.get("relation"), engine.get("distance")
    domain = HISTOGRAMS if engine.get("histogram") else subject.databases
    claims = request.claims(subject, epsilon, delta, relation, distance, pair, domain=domain)
    for claim in claims:
        require_neighbours(pair, claim.relation, claim.distance, domain)
    statuses = []
    for claim in claims:
        timed = judge_times(
            subject.run,
            pair,
            epsilon=claim.epsilon,
            delta=claim.delta,
            distance=claim.steps,
            trials=min(engine.get("trials", MOST_TRIALS), MOST_TRIALS),
            alpha=engine.get("alpha", 1e-3) / len(claims),
            seed=engine.get("seed", 0),
            limit=engine.get("timeout", 10.0),
            seeded=subject.seeded,
        )
        name, phrase = printable(subject.name), claim_phrase(claim)
        count = timed.judged.count
        head = {
            Verdict.REFUTED: f"Refuted: the running time of {name} does not keep {phrase}: "
            f"privacy loss >= {at_least(timed.judged.epsilon_lower, claim.epsilon)}.",
            Verdict.NOT_REFUTED: f"Not refuted: no violation of {phrase} found in the running "
            f"time of {name}.",
        }.get(
            timed.verdict,
            f"Inconclusive: the clock cannot say whether {name} keeps {phrase} in its "
            "running time.",
        )
        lines = wrapped(head, console.width)
        if not console.quiet:
            event = count.event.describe().replace("output", "nanoseconds")
            lines += wrapped(
                f"{event}: {count.hits[0]:,} of {count.trials[0]:,} calls on D, "
                f"{count.hits[1]:,} of {count.trials[1]:,} on D'; typical times "
                f"{timed.typical[0] / 1e3:.3g} and {timed.typical[1] / 1e3:.3g} microseconds; "
                "calls in random order.",
                console.width, "    ", "  ",
            )  # fmt: skip
        if timed.warning:
            lines += wrapped(f"Beware: {timed.warning}.", console.width)
        console.say("\n".join(lines))
        statuses.append(timed.verdict)
    if Verdict.REFUTED in statuses:
        return REFUTED
    return INCONCLUSIVE if Verdict.INCONCLUSIVE in statuses else 0
