"""The command line. Nothing heavy is imported before a command needs it.

Exit status: 0 nothing refuted, 1 refuted, 2 usage error, 3 inconclusive, 4 the mechanism broke
its contract or failed, 130 interrupted.
"""

import sys
from typing import Any

import click

from .auditing.merging_cli import merge
from .ci.cli import gate, init
from .formats.table import outputs, outputs_in
from .history.cli import history
from .mutants.cli import mutants
from .planning.cli import plan
from .releases.cli import sweep
from .reproduce.cli import reproduce
from .samples.cli import judge, scores
from .sharding.options import engines
from .shell.options import Near, option_of, options_of, together
from .shell.shell import (
    Sentences,
    Words,
    asker,
    examples,
    loudness,
    speak,
    verbosely,
)


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            number = version("dpwitness")
        except PackageNotFoundError:
            number = "unknown"
        click.echo(f"dpwitness {number}")
        ctx.exit()


@click.group(
    cls=Sentences,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "dpwitness demo",
        "dpwitness audit release.py:total \\",
        "  --epsilon 1 --relation add-remove \\",
        "  --databases release.py:ages",
        "dpwitness COMMAND --help",
    ),
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version,
    help="Show the version and exit.",
)  # fmt: skip
@click.option(
    "-v", "--verbose", is_flag=True,
    help="Tell everything, and on standard error what is being done.",
)  # fmt: skip
@click.option("--log", metavar="PATH", help="Append what is done and said to a file, with times.")
def main(verbose: bool, log: str | None) -> None:
    """Audit differential-privacy mechanisms, and get a witness when a claim is false.

    Exit status: 0 nothing refuted, 1 refuted, 2 usage error, 3 inconclusive, 4 the mechanism
    broke its contract or failed.
    """


_options = together(
    click.option(
        "--command",
        metavar="COMMAND",
        help="A program that draws, in any language; see docs/protocol.md.",
    ),
    click.option("--python", metavar="PATH", help="Run TARGET with this Python (3.8 or later)."),
    click.option(
        "--isolate", is_flag=True, help="Run TARGET in a process of its own, which may crash."
    ),
    click.option(
        "--release",
        metavar="NAMES",
        help="TARGET is a model: fit it to the database and release these attributes.",
    ),
    option_of("attacker"),
    click.option(
        "--claims",
        type=Near(["all", "privacy"]),
        help="Which of the claims it carries are tested  [default: all]",
    ),
    options_of("epsilon delta mu rho renyi curve relation distance databases pair histogram"),
    options_of("trials notice precision seconds alpha"),
    option_of("seed", filled=True),
    option_of("workers"),
    engines("dask", "ray"),
    click.option("--checkpoint", metavar="FILE", help="Keep finished blocks here; go on from it."),
    click.option(
        "--shard", metavar="i/n|auto", help="Draw one of n shards into --json; see tools merge."
    ),
    options_of("timeout exceptions show_output trust_rows in_process explain"),
    click.option("--unseeded", is_flag=True, help="The mechanism draws its own randomness."),
    click.option(
        "--exact/--no-exact",
        default=None,
        help="Decide by exact laws, enumerated from discrete code  [default: if it is quick]",
    ),
    outputs,
    click.option("--github", is_flag=True, help="Annotate a GitHub workflow and its summary."),
    loudness("Print the verdict only."),
)
"""The options of `audit`, in the order they are shown."""


def _named(target: str | None, options: dict[str, Any], verb: str) -> str:
    """The text that names what is audited; what `options` say of it is taken out of them."""
    command, python = options.pop("command"), options.pop("python")
    isolate, unseeded, release = map(options.pop, ("isolate", "unseeded", "release"))
    if target is None and command is None:
        raise click.UsageError(f"Nothing to {verb} is named; give a TARGET, or --command.")
    from .targets.targets import target_text

    options["seeded"] = False if unseeded else None
    for flag in ("show_output", "histogram", "trust_rows", "in_process", "explain"):
        options[flag] = options[flag] or None
    if isolate and command is None:
        python = python or sys.executable
    return target_text(target, command, python, release)


@main.command(
    "audit",
    epilog=examples(
        "dpwitness audit laplace",
        "dpwitness audit EM-NAIVE --html report.html",
        "dpwitness audit release.py:total \\",
        "  --epsilon 1 --relation add-remove \\",
        "  --databases release.py:ages",
        "dpwitness audit release.py:total \\",
        "  --epsilon 1 --relation add-remove \\",
        "  --pair '[]' '[100]'",
    ),
)
@click.argument("target", required=False)
@_options
def _audit(
    target: str | None, quiet: bool, github: bool, paths: dict[str, str | None], **options: Any
) -> None:
    """Test the claims of TARGET, and get a witness against a false one.

    TARGET is a name in the catalogue (see `dpwitness list`), package.module:attribute or
    path/to/file.py:attribute. The attribute is a function of (database, rng), whose claim the
    options state, or a Mechanism, which brings its own claims and databases. Its code is run.
    opendp:FILE.json is a measurement that OpenDP serialized.
    A mechanism in another language is a program named by --command, without TARGET.
    """
    text = _named(target, options, "audit")
    from .auditing import commands

    speak(quiet, commands.audit, text, options, paths=paths, github=github)


@main.group(
    "tools",
    cls=Words,
    epilog=examples(
        "dpwitness tools plan --epsilon 1 --notice 1.2", "dpwitness tools COMMAND --help"
    ),
)
def _tools() -> None:
    """Plan trials, test your tests, audit releases, divide an audit among machines."""


@_tools.command(
    "fingerprint",
    epilog=examples(
        "dpwitness tools fingerprint laplace",
        "dpwitness tools fingerprint laplace -q",
    ),
)
@click.argument("target", required=False)
@_options
def _fingerprint(
    target: str | None, quiet: bool, github: bool, paths: dict[str, str | None], **options: Any
) -> None:
    """Print the fingerprint of the audit these options describe. Draws nothing.

    Prints the content of the audit, a line for each part, and its SHA-256, which is the same on
    every machine; with --quiet the hash alone. Trials, seconds, workers, engines and paths are no
    part of it.
    """
    text = _named(target, options, "identify")
    from .auditing import merging as commands

    speak(quiet, commands.identify, text, options)


@main.command(
    "estimate",
    epilog=examples(
        "dpwitness estimate laplace",
        "dpwitness estimate release.py:f --delta 1e-6",
        "dpwitness estimate laplace --curve -o p.html",
    ),
)
@click.argument("target")
@option_of("delta", "Bound epsilon at this delta, and delta(epsilon) too.")
@click.option("--mu", is_flag=True, help="Bound mu of Gaussian differential privacy too.")
@click.option("--rho", is_flag=True, help="Bound rho of zCDP too.")
@click.option("--curve", is_flag=True, help="Bound delta at every epsilon too.")
@options_of("relation distance databases pair histogram")
@option_of("trials", "Runs per database, pair that is counted")
@option_of(
    "precision",
    "Stop when the bound is known to this part of itself; 0: use all trials",
    default="0",
    type=float,
    metavar="SHARE",
)
@options_of("seconds alpha")
@option_of("seed", filled=True)
@options_of("workers timeout")
@engines("dask", "ray")
@click.option("--unseeded", is_flag=True, help="The mechanism draws its own randomness.")
@outputs_in("json", "html", "markdown")
@loudness("Print the bound only.")
def _estimate(
    target: str, unseeded: bool, quiet: bool, paths: dict[str, str | None], **options: Any
) -> None:
    """Compute a lower bound on the privacy loss of TARGET.

    TARGET is as for audit. The bound is the largest that the budget proves, on the pair found or
    given. All bounds that are asked for hold together. Exit status 0, 2 for a usage error, 4 when
    the mechanism broke its contract or failed.
    """
    from .auditing import estimating

    options["seeded"] = False if unseeded else None
    for name in ("histogram", "mu", "rho", "curve"):
        options[name] = options[name] or None
    speak(quiet, estimating.run, target, options, paths=paths)


@main.command("replay", epilog=examples("dpwitness replay evidence.json"))
@click.argument("evidence", metavar="EVIDENCE.json", type=click.Path())
@click.argument("named", metavar="[TARGET]...", nargs=-1)
@options_of("workers timeout", filled=True)
@click.option("--command", "program", metavar="COMMAND", help="Allow this program to be run.")
@click.option("--python", "python", metavar="PATH", help="Allow this Python to be run.")
@loudness("Print the verdict only.")
def _replay(
    evidence: str, program: str | None, python: str | None, quiet: bool, **options: Any
) -> None:
    """Make the runs of recorded evidence again, and compare bit for bit.

    Runs targets of the catalogue, and other code only if you name it as TARGET, such as
    release.py:noisy_sum, or agree when asked: an evidence file may come from anybody. Exit status
    as for audit, and 4 when something differs.
    """
    from .auditing import commands

    speak(quiet, commands.replay, evidence, program=program or python, ask=asker(), **options)


@main.command(
    "list",
    epilog=examples(
        "dpwitness list noise",
        "dpwitness list --kind theorem pmw",
        "dpwitness list --system selection",
        "dpwitness list --all",
    ),
)
@click.argument("words", metavar="[WORD]...", nargs=-1)
@click.option(
    "--kind", type=Near(["mechanism", "control", "theorem", "statement"]),
    help="Only these; statement: a broken statement.",
)  # fmt: skip
@click.option("--system", metavar="NAME", help="Only one system, such as selection.")
@click.option("--all", "everything", is_flag=True, help="Everything there is.")
@outputs_in("json", "html", "markdown")
@verbosely
def _list(words: tuple[str, ...], **options: Any) -> None:
    """Show the catalogue: mechanisms, theorems, and broken ones of both.

    Alone it shows the systems and how much each of them holds; with WORDs, the entries that have
    all of them in their name, claims, reference or system.
    """
    from .auditing import commands

    speak(False, commands.catalogue, words, **options)


@main.command("demo", epilog=examples("dpwitness demo"))
def _demo() -> None:
    """Audit a sound and a broken mechanism and write dpwitness-demo.html here."""
    from .auditing import commands

    speak(False, commands.demo)


for _command in (gate, history, init, judge, reproduce, scores):
    main.add_command(_command)
for _command in (plan, mutants, sweep, merge):
    _tools.add_command(_command)

if __name__ == "__main__":
    main(prog_name="dpwitness")
