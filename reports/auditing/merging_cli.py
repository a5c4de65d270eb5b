"""`dpwitness tools merge`; nothing heavy is imported before it runs."""

from typing import Any

import click

from ..formats.table import outputs
from ..shell.options import option_of
from ..shell.shell import Grouped, asker, examples, loudness, speak


@click.command(
    "merge",
    cls=Grouped,
    epilog=examples(
        "dpwitness tools merge a.json b.json",
        "dpwitness tools merge a.json b.json \\",
        "  --target release.py:total",
    ),
)
@click.argument("shards", metavar="SHARD.json...", nargs=-1, required=True, type=click.Path())
@click.option("--target", metavar="TARGET", help="What the shards audited, where it lies here.")
@click.option("--databases", metavar="FILE.py:NAME", help="The databases, where they lie here.")
@option_of("workers", "Processes for what is drawn here")
@option_of("timeout")
@click.option(
    "--checkpoint", metavar="FILE", help="Keep what is drawn here; a shard's own will do."
)
@outputs
@click.option("--github", is_flag=True, help="Annotate a GitHub workflow and its summary.")
@loudness("Print the verdict only.")
def merge(shards: tuple[str, ...], quiet: bool, **options: Any) -> None:
    """Add up the counts of shards: verdict, bound and evidence as of one process.

    A shard is what `dpwitness audit TARGET --shard 1/2 --json a.json` writes.

    The search and the choice of events are done here again, as in every shard; what the shards
    counted is not. Code is run: targets of the catalogue, and others only if you name them with
    --target and --databases, or agree when asked. Exit status as for audit.
    """
    from . import merging as commands

    speak(quiet, commands.merge, shards, ask=asker(), **options)
