"""`dpwitness tools plan`; nothing heavy is imported before it runs."""

from typing import Any

import click

from ..formats.table import outputs_in
from ..shell.options import WHOLE, option_of, options_of
from ..shell.shell import Grouped, examples, loudness, speak


@click.command(
    "plan",
    cls=Grouped,
    epilog=examples(
        "dpwitness tools plan --epsilon 1 --notice 1.2",
        "dpwitness tools plan --epsilon 1 \\",
        "  --notice 1.2 --alpha 1e-9 --runs 100000",
        "dpwitness tools plan --mu 1 --trials 50_000",
        "dpwitness tools plan --epsilon 1 \\",
        "  --seconds 300 --call 0.5",
    ),
)
@option_of("epsilon")
@option_of("delta", "Claimed delta.", default=0.0, filled=True)
@options_of("mu rho")
@option_of("notice", "Loss to detect, as a multiple of the claim.")
@option_of("trials", "Or the runs per database of an audit: what does it detect?", default=None)
@option_of("seconds", "Or the time of an audit, of calls that take --call.")
@click.option("--call", type=float, metavar="SECONDS", help="What one call takes.")
@option_of("alpha", "Chance that a sound mechanism fails a run: alpha.", filled=True)
@click.option(
    "--event-probability",
    type=float,
    default=0.5,
    show_default=True,
    help="How likely the event is that tells the databases apart.",
)
@click.option(
    "--power", type=float, default=0.9, show_default=True, help="Chance to detect the loss."
)
@option_of("distance", "Steps between the databases.", default=1, filled=True)
@click.option(
    "--runs", type=WHOLE, default=10_000, show_default=True, help="Runs in the life of the test."
)
@outputs_in("json", "html", "markdown")
@loudness("Print the first sentence only.")
def plan(quiet: bool, **options: Any) -> None:
    """Compute how many trials detect a loss, or which loss a number of trials detects.

    No mechanism is run. The power is exact for an event of the probability given that shows the
    whole loss; a rarer event needs more trials, about in proportion.
    """
    from . import commands

    speak(quiet, commands.plan, **options)
