"""`dpwitness reproduce`; nothing heavy is imported before it runs."""

from typing import Any

import click

from ..formats.table import outputs
from ..sharding.options import engine_of, engines
from ..shell.options import option_of
from ..shell.shell import Grouped, examples, loudness, speak


@click.command(
    "reproduce",
    cls=Grouped,
    epilog=examples(
        "dpwitness reproduce EM-3.12 --trials 10_000",
        "dpwitness reproduce EM-3.12 \\",
        "  --set epsilon=0.5,1,1.5 --out gallery",
        "dpwitness reproduce 'PMW-*' --quiet",
        "dpwitness reproduce mine.py:TAIL --out page",
    ),
)
@click.argument("names", metavar="[ID]...", nargs=-1)
@click.option(
    "--set", "assignments", metavar="NAME=VALUE,...", multiple=True,
    help="Sweep a parameter; several --set give every combination.",
)  # fmt: skip
@click.option("--controls", is_flag=True, help="The negative controls too.")
@click.option("--out", metavar="DIR", help="Write a gallery: HTML, SVG, PDF, CSV and JSON.")
@click.option(
    "--style", metavar="NAME=VALUE,...", default="",
    help="Figures for a paper: width=3.3 (inches), size=8 (points), serif.",
)  # fmt: skip
@outputs
@click.option("--github", is_flag=True, help="Annotate a GitHub workflow and its summary.")
@option_of("seed", filled=True)
@option_of(
    "trials",
    "Runs for each statement; one known to be false that fewer do not refute gets 100,000.",
    default=100_000,
    filled=True,
)
@option_of("alpha", "Chance that sampling refutes any true statement of the run.", filled=True)
@option_of(
    "workers",
    "Processes; the numbers do not depend on it",
    default="one per core",
    type=click.IntRange(min=1),
)
@engines("loky", "dask", "ray")
@loudness("Print the summary only.")
def reproduce(
    names: tuple[str, ...],
    assignments: tuple[str, ...],
    workers: int | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Set the bounds of theorems beside measurements.

    ID is a theorem, an erratum or a control as in `dpwitness list`, or a pattern such as 'PMW-*';
    without one every theorem is taken. FILE.py:NAME is a Theorem of your own, whose code is run;
    such statements share alpha and are not mixed with the catalogue's. Printed statements known to
    be wrong are expected to be refuted. Exit status: 0 every verdict as expected, 1 one is not,
    2 usage error, 4 a mechanism failed or two methods contradict each other.
    """
    from . import commands

    options["engine"] = engine_of(options)
    speak(quiet, commands.reproduce, names, assignments, workers=workers or -1, **options)
