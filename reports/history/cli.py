"""`dpwitness history` and `dpwitness report`; nothing heavy is imported before they run."""

import click

from ..shell.shell import examples, speak


@click.command(
    "history", epilog=examples("dpwitness history", "dpwitness history --export runs.csv")
)
@click.option("--export", metavar="PATH", help="Write all rows: PATH.csv, .json or .parquet.")
@click.option("--in-toto", "in_toto", metavar="PATH", help="Write an unsigned in-toto statement.")
@click.option("--run", metavar="RUN", help="The run of --in-toto  [default: the last one]")
@click.option("--directory", metavar="DIR", help="Where the history is  [default: of the project]")
def history(
    export: str | None, in_toto: str | None, run: str | None, directory: str | None
) -> None:
    """Show what was audited in all runs and what the evidence adds up to.

    Checks that no recorded row was changed. Exit status: 0 all is as it was written, 2 usage
    error, 4 a row was changed or the history cannot be read.
    """
    from . import commands

    speak(False, commands.history, export=export, in_toto=in_toto, run=run, directory=directory)


@click.command("report", epilog=examples("dpwitness report --html history.html"))
@click.option(
    "--html", metavar="PATH", default="dpwitness-history.html", show_default=True,
    help="Where to write the page.",
)  # fmt: skip
@click.option("--directory", metavar="DIR", help="Where the history is  [default: of the project]")
def report(html: str, directory: str | None) -> None:
    """Write the history as one page: bounds over time, runs and changes of source."""
    from . import commands

    speak(False, commands.report, html=html, directory=directory)
