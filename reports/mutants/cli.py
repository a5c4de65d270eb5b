"""`dpwitness tools mutants`; nothing heavy is imported before it runs."""

from typing import Any

import click

from ..formats.table import outputs_in
from ..shell.shell import WHOLE, Grouped, Near, examples, loudness, speak


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
@click.option("--epsilon", type=float, help="Claimed epsilon, in nats.")
@click.option("--delta", type=float, help="Claimed delta  [default: 0]")
@click.option(
    "--relation",
    type=Near(["add-remove", "replace-one", "declared"]),
    help="What neighbouring databases differ in.",
)
@click.option("--distance", type=WHOLE, help="Steps between the databases  [default: 1]")
@click.option("--databases", metavar="FILE.py:NAME", help="A strategy of databases or a domain.")
@click.option("--pair", nargs=2, metavar="JSON JSON", help="The two databases; skips the search.")
@click.option("--theorems", is_flag=True, help="Check the theorems of its system too (catalogue).")
@click.option("--kind", "kinds", multiple=True, help="Only faults of this kind; may be repeated.")
@click.option(
    "--trials", type=WHOLE, default=100_000, show_default=True,
    help="Runs per database for each claim and mutant, at most.",
)  # fmt: skip
@click.option(
    "--seconds", type=float, default=600.0, show_default=True,
    help="Start no mutant after this time.",
)  # fmt: skip
@click.option(
    "--alpha", type=float, default=1e-3, show_default=True,
    help="Chance that a mutant that breaks nothing counts as detected.",
)  # fmt: skip
@click.option("--seed", type=WHOLE, default=0, show_default=True, help="Random seed.")
@click.option("--timeout", type=float, default=10.0, show_default=True,
              help="Seconds one call may take.")  # fmt: skip
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
