"""`dpwitness sweep`; nothing heavy is imported before it runs."""

from typing import Any

import click

from ..shell.shell import examples, speak


@click.command(
    "sweep",
    context_settings={"ignore_unknown_options": True},
    epilog=examples(
        "dpwitness sweep pure-ldp \\",
        "  --versions 1.0.6..1.2.0 \\",
        "  --beside statsmodels \\",
        "  --target unary.py:report \\",
        "  --epsilon 1 --pair 0 1 --unseeded",
        "dpwitness sweep differential-privacy --npm \\",
        "  --versions 1.1.0,1.1.2 \\",
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
@click.option(
    "--alpha", type=float, default=1e-3, show_default=True,
    help="False-alarm probability of the whole sweep.",
)  # fmt: skip
@click.option(
    "--environments", metavar="FOLDER", help="Keep the environments here and use them again."
)
@click.option("--json", "json_path", metavar="PATH", help="Keep the rows here; go on from them.")
@click.option("--markdown", metavar="PATH", help="Write the table as a page.")
def sweep(package: str, asked: tuple[str, ...], **options: Any) -> None:
    """Audit each release of PACKAGE in an environment of its own: when did a fault come and go?

    All options that sweep does not know are those of audit, for every release alike. The releases
    share one alpha. A release that cannot be installed, or whose target fails, is a row that says
    so. Exit status 1 if a release is refuted, 3 if one of them has no verdict, else 0.
    """
    from . import releases

    speak(False, releases.run, package, asked, **options)
