"""`dpwitness tools`: what is wanted more rarely than an audit.

Nothing heavy is imported before a command needs it. `cli` adds `tools fingerprint`, whose options
are those of an audit.
"""

from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from .formats.table import outputs, outputs_in
from .shell.options import WHOLE, option_of, options_of
from .shell.shell import Words, asker, examples, loudness, speak, verbosely

if TYPE_CHECKING:  # options that a command hands on as click made them

    class _Plan(TypedDict):
        epsilon: float | None
        delta: float
        mu: float | None
        rho: float | None
        notice: float | None
        trials: int | None
        seconds: float | None
        call: float | None
        alpha: float
        event_probability: float
        power: float
        distance: int
        runs: int
        paths: dict[str, str | None]

    class _Mutants(TypedDict):
        epsilon: float | None
        delta: float | None
        relation: str | None
        distance: int | None
        databases: str | None
        pair: tuple[str, str] | None
        theorems: bool
        kinds: tuple[str, ...]
        trials: int
        seconds: float
        alpha: float
        seed: int
        timeout: float
        least: float | None
        paths: dict[str, str | None]

    class _Sweep(TypedDict):
        versions: str
        target: str
        npm: bool
        beside: tuple[str, ...]
        alpha: float
        environments: str | None
        checkpoint: str | None
        paths: dict[str, str | None]

    class _Merge(TypedDict):
        target: str | None
        databases: str | None
        workers: int | None
        timeout: float | None
        checkpoint: str | None
        paths: dict[str, str | None]
        github: bool


@click.group(
    "tools",
    cls=Words,
    epilog=examples(
        "dpwitness tools plan --epsilon 1 --notice 1.2", "dpwitness tools COMMAND --help"
    ),
)
def tools() -> None:
    """Plan trials, test your tests, audit package versions, divide an audit among machines."""


@tools.command(
    "plan",
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
def _plan(quiet: bool, **options: Unpack["_Plan"]) -> None:
    """Compute how many trials detect a loss, or which loss a number of trials detects.

    No mechanism is run. The power is exact for an event of the probability given that shows the
    whole loss; a rarer event needs more trials, about in proportion.
    """
    from .planning import commands

    speak(quiet, commands.plan, **options)


@tools.command(
    "mutants",
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
def _mutants(target: str, quiet: bool, **options: Unpack["_Mutants"]) -> None:
    """Inject small faults into TARGET and report which the audit detects.

    TARGET is as for audit. Constants and noise are scaled, noise reused, clips removed, factors
    dropped, bounds moved by one, comparisons turned, in the function and in those of its folder
    that it calls. Exit status: 0 done, 1 a smaller share was detected than --least, 2 usage error,
    3 a mutant was left for time or none could be judged, 4 the mechanism broke its contract or
    failed.
    """
    from .mutants import commands

    speak(quiet, commands.mutants, target, **options)


@tools.command(
    "sweep",
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
def _sweep(package: str, asked: tuple[str, ...], **options: Unpack["_Sweep"]) -> None:
    """Audit each release of PACKAGE: when did a fault come and go?

    Each is installed in an environment of its own.

    All options that sweep does not know are those of audit, for every release alike. The releases
    share one alpha. A release that cannot be installed, or whose target fails, is a row that says
    so. Exit status 1 if a release is refuted, 3 if one of them has no verdict, else 0.
    """
    from .releases import releases

    speak(False, releases.run, package, asked, **options)


@tools.command(
    "merge",
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
def _merge(shards: tuple[str, ...], quiet: bool, **options: Unpack["_Merge"]) -> None:
    """Add up the counts of shards: verdict, bound and evidence as of one process.

    A shard is what `dpwitness audit TARGET --shard 1/2 --json a.json` writes.

    The search and the choice of events are done here again, as in every shard; what the shards
    counted is not. Code is run: targets of the catalogue, and others only if you name them with
    --target and --databases, or agree when asked. Exit status as for audit.
    """
    from .auditing import merging as commands

    speak(quiet, commands.merge, shards, ask=asker(), **options)
