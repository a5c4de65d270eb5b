"""`dpwitness tools sweep`; nothing heavy is imported before it runs."""

from typing import Any

import click

from ..formats.table import outputs_in
from ..shell.options import option_of
from ..shell.shell import Grouped, examples, speak, verbosely


@click.command(
    "sweep",
    cls=Grouped,
    context_settings={"ignore_unknown_options": True},
    epilog=examples(
        "dpwitness tools sweep pure-ldp \\",
        "  --versions 1.0.6..1.2.0 \\",
        "  --beside statsmodels \\",
        "  --target unary.py:report \\",
        "  --epsilon 1 --pair 0 1 --unseeded",
        "dpwitness tools sweep differential-privacy \\",
        "  --npm --versions 1.1.0,1.1.2 \\",
        "  --target 'node average.js' \\",
        "  --epsilon 1 --pair '[5, 5]' '[5, 6]'",
    ),
)
@click.argument("package", metavar="PACKAGE")
@click.argument("asked", metavar="[OPTION OF AUDIT]...", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--versions",
    required=True,
    metavar="A..B|A,B|all",
    help="The releases, oldest first in a list.",
)
@click.option(
    "--target",
    required=True,
    metavar="FILE:NAME|COMMAND",
    help="What is audited; with --npm a command.",
)
@click.option("--npm", is_flag=True, help="PACKAGE is one of npm; the default is pip.")
@click.option(
    "--beside",
    multiple=True,
    metavar="PACKAGE",
    help="Installed with each release; may be repeated.",
)
@option_of("alpha", "False-alarm probability of the whole sweep.", filled=True)
@click.option(
    "--environments", metavar="FOLDER", help="Keep the environments here and use them again."
)
@click.option("--checkpoint", metavar="FILE", help="Keep finished releases here; go on from them.")
@outputs_in("json", "markdown")
@verbosely
def sweep(package: str, asked: tuple[str, ...], **options: Any) -> None:
    """Audit each release of PACKAGE: when did a fault come and go?

    Each is installed in an environment of its own.

    All options that sweep does not know are those of audit, for every release alike. The releases
    share one alpha. A release that cannot be installed, or whose target fails, is a row that says
    so. Exit status 1 if a release is refuted, 3 if one of them has no verdict, else 0.
    """
    from . import releases

    speak(False, releases.run, package, asked, **options)
