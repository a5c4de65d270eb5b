"""`dpwitness plan`; nothing heavy is imported before it runs."""

from typing import Any

import click

from ..shell.shell import WHOLE, examples, loudness, numbers, speak


@click.command(
    "plan",
    epilog=examples(
        "dpwitness plan --epsilon 1 --notice 1.2",
        "dpwitness plan --epsilon 1 --notice 1.2 \\",
        "  --flake 1e-9 --runs 100000",
        "dpwitness plan --mu 1 --trials 50000",
        "dpwitness plan --epsilon 1 --seconds 300 \\",
        "  --call 0.5",
    ),
)
@click.option("--epsilon", type=float, help="Claimed epsilon, in nats.")
@click.option("--delta", type=float, default=0.0, show_default=True, help="Claimed delta.")
@click.option("--mu", type=float, help="Claimed mu of Gaussian differential privacy.")
@click.option("--rho", type=float, help="Claimed rho of zCDP.")
@click.option("--notice", type=float, help="Loss to be noticed, so many times the claim.")
@click.option(
    "--trials", type=WHOLE, help="Or the runs per database of an audit: what does it detect?"
)
@click.option("--seconds", type=float, help="Or the time of an audit, of calls that take --call.")
@click.option("--call", type=float, metavar="SECONDS", help="What one call takes.")
@click.option(
    "--flake",
    type=float,
    default=1e-3,
    show_default=True,
    help="Chance that a sound mechanism fails a run: alpha.",
)
@click.option(
    "--event-probability",
    type=float,
    default=0.5,
    show_default=True,
    help="How likely the event is that tells the databases apart.",
)
@click.option(
    "--power", type=float, default=0.9, show_default=True, help="Chance to notice the loss."
)
@click.option(
    "--distance", type=WHOLE, default=1, show_default=True, help="Steps between the databases."
)
@click.option(
    "--runs", type=WHOLE, default=10_000, show_default=True, help="Runs in the life of the test."
)
@numbers
@loudness("Print the first sentence only.")
def plan(quiet: bool, **options: Any) -> None:
    """Tell how many draws notice a loss, or which loss a number of draws notices.

    Nothing is drawn. The power is exact for an event of the probability given, which says all of
    the loss; a rarer event needs more draws, about in proportion.
    """
    from . import commands

    speak(quiet, commands.plan, **options)
