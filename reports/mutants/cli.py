"""`dpwitness tools mutants`; nothing heavy is imported before it runs."""

from typing import Any

import click

from ..formats.table import outputs_in
from ..shell.options import option_of, options_of
from ..shell.shell import Grouped, examples, loudness, speak


@click.command(
    "mutants",
    cls=Grouped,
    epilog=examples(
        "dpwitness tools mutants geometric",
        "dpwitness tools mutants release.py:total \\",
        "  --epsilon 1 --relation add-remove \\",
        "  --databases release.py:ages --seconds 120",
    ),
)
@click.argument("target")
@options_of("epsilon delta relation distance databases pair")
@click.option("--theorems", is_flag=True, help="Check the theorems of its system too (catalogue).")
@click.option("--kind", "kinds", multiple=True, help="Only faults of this kind; may be repeated.")
@option_of(
    "trials", "Runs per database for each claim and mutant, at most.", default=100_000, filled=True
)
@option_of("seconds", "Start no mutant after this time.", default=600.0, filled=True)
@option_of("alpha", "Chance that a mutant that breaks nothing counts as detected.", filled=True)
@options_of("seed timeout", filled=True)
@click.option(
    "--least", type=float, metavar="SHARE", help="Fail below this share of detected faults."
)
@outputs_in("json", "html", "markdown")
@loudness("Print the first line only.")
def mutants(target: str, quiet: bool, **options: Any) -> None:
    """Inject small faults into TARGET and report which the audit detects.

    TARGET is as for audit. Constants and noise are scaled, noise reused, clips removed, factors
    dropped, bounds moved by one, comparisons turned, in the function and in those of its folder
    that it calls. Exit status: 0 done, 1 a smaller share was detected than --least, 2 usage error,
    3 no mutant could be judged, 4 the mechanism broke its contract or failed.
    """
    from . import commands

    stated = ("epsilon", "delta", "relation", "distance", "databases", "pair")
    request = {name: options.pop(name) for name in stated}
    speak(quiet, commands.mutants, target, request=request, **options)
