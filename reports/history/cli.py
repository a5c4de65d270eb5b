"""`dpwitness history`; nothing heavy is imported before it runs."""

import click

from ..shell.shell import Grouped, examples, loudness, speak


@click.command(
    "history",
    cls=Grouped,
    epilog=examples("dpwitness history", "dpwitness history -o history.html -o runs.csv"),
)
@click.option(
    "-o", "files", metavar="FILE", multiple=True,
    help="Write a file by its ending; repeatable: .html (a page with bounds over time), .csv, "
    ".json or .parquet (all rows).",
)  # fmt: skip
@click.option("--in-toto", "in_toto", metavar="PATH", help="Write an unsigned in-toto statement.")
@click.option("--run", metavar="RUN", help="The run of --in-toto  [default: the last one]")
@click.option("--directory", metavar="DIR", help="Where the history is  [default: of the project]")
@loudness("Print the last line only.")
def history(
    files: tuple[str, ...], quiet: bool, in_toto: str | None, run: str | None, directory: str | None
) -> None:
    """Show what was audited in all runs and what the evidence adds up to.

    Checks that no recorded row was changed. Exit status: 0 all is as it was written, 2 usage
    error, 4 a row was changed or the history cannot be read.
    """
    from . import commands

    speak(quiet, commands.history, files=files, in_toto=in_toto, run=run, directory=directory)
