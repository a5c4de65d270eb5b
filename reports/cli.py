"""The command line. Nothing heavy is imported before a command needs it.

Exit status: 0 nothing refuted, 1 refuted, 2 usage error, 3 inconclusive, 4 the mechanism broke
its contract or failed, 130 interrupted.
"""

import sys
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import click

from .formats.table import outputs, outputs_in
from .samples.endings import TOLD
from .sharding.options import engine_of, engines
from .shell.options import SEED, WHOLE, Near, option_of, options_of, together
from .shell.shell import (
    Sentences,
    asker,
    examples,
    loudness,
    prompter,
    speak,
    verbosely,
)
from .tools import tools

if TYPE_CHECKING:  # options that a command hands on as click made them

    class _Replay(TypedDict):
        named: tuple[str, ...]
        workers: int
        timeout: float

    class _List(TypedDict):
        kind: str | None
        system: str | None
        everything: bool
        paths: dict[str, str | None]

    class _Stated(TypedDict):
        epsilon: float | None
        delta: float | None
        mu: float | None
        rho: float | None
        renyi: tuple[str, ...]
        curve: str | None
        paths: dict[str, str | None]

    class _Judge(_Stated):
        distance: int | None
        law: str | None
        alpha: float | None

    class _Scores(_Stated):
        distance: int
        alpha: float
        seed: int
        one_run: bool
        guesses: tuple[int, int, int] | None

    class _Reproduce(TypedDict):
        controls: bool
        out: str | None
        style: str
        paths: dict[str, str | None]
        github: bool
        seed: int
        trials: int
        alpha: float


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
    if log is not None:
        from .writing.files import require_appendable

        require_appendable(log)


_options = together(
    click.option(
        "--command",
        metavar="COMMAND",
        help="A program that is the mechanism, in any language; see docs/protocol.md.",
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
        help="Test all claims of TARGET, utility too, or privacy only  [default: all]",
    ),
    options_of("epsilon delta mu rho renyi curve relation distance databases pair histogram"),
    options_of("trials notice precision seconds alpha"),
    option_of("seed", filled=True),
    option_of("workers"),
    engines("dask", "ray"),
    click.option("--checkpoint", metavar="FILE", help="Keep finished blocks here; go on from it."),
    click.option(
        "--shard",
        metavar="i/n|auto",
        help="Make the runs of one of n shards, into --json; see tools merge.",
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
        "dpwitness audit EM-NAIVE -o report.html",
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
    target: str | None, quiet: bool, github: bool, paths: dict[str, str | None], **options: object
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


@tools.command(
    "fingerprint",
    epilog=examples(
        "dpwitness tools fingerprint laplace",
        "dpwitness tools fingerprint laplace -q",
    ),
)
@click.argument("target", required=False)
@_options
def _fingerprint(
    target: str | None, quiet: bool, github: bool, paths: dict[str, str | None], **options: object
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
    "Stop at this relative precision of the bound; 0: use all trials",
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
    target: str, unseeded: bool, quiet: bool, paths: dict[str, str | None], **options: object
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
    evidence: str,
    program: str | None,
    python: str | None,
    quiet: bool,
    **options: Unpack["_Replay"],
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
    "--kind", type=Near(["mechanism", "control", "theorem", "erratum", "statement"]),
    metavar="KIND",
    help="Only mechanism, control, theorem, erratum (false as printed), statement (broken).",
)  # fmt: skip
@click.option("--system", metavar="NAME", help="Only one system, such as selection.")
@click.option("--all", "everything", is_flag=True, help="Everything there is.")
@outputs_in("json", "html", "markdown")
@verbosely
def _list(words: tuple[str, ...], **options: Unpack["_List"]) -> None:
    """Show the catalogue: mechanisms, theorems, and broken ones of both.

    Alone it shows the systems and how much each of them holds; with WORDs, the entries that have
    all of them in their name, claims, reference or system; 'ERR-*' is a pattern of names.
    """
    from .auditing import commands

    speak(False, commands.catalogue, words, **options)


@main.command("demo", epilog=examples("dpwitness demo"))
def _demo() -> None:
    """Audit a sound and a broken mechanism and write dpwitness-demo.html here."""
    from .auditing import commands

    speak(False, commands.demo)


@main.command(
    "gate",
    epilog=examples(
        "dpwitness gate",
        "dpwitness gate --baseline base.json --accept",
        "dpwitness gate --baseline base.json \\",
        "  -o privacy.html -o privacy.xml",
    ),
)
@click.option("--baseline", metavar="FILE", help="Compare with this accepted result.")
@click.option("--accept", is_flag=True, help="Rewrite the baseline with what is found now.")
@click.option(
    "--rise",
    type=float,
    default=0.1,
    show_default=True,
    help="How much a lower bound may exceed the baseline's.",
)
@option_of("alpha", "False-alarm probability of the whole gate.", default=None)
@click.option("--profile", help="dev, ci, nightly, or a profile of your own.")
@option_of("trials", "Runs per database, of entries without a budget.", default=None)
@option_of("seconds", "Seconds for each entry without its own budget.")
@option_of("seed", "Random seed of the run.", default=None, type=SEED, metavar="K|random")
@click.option("--strict", is_flag=True, help="An inconclusive audit stops the gate.")
@click.option(
    "-j",
    "--workers",
    type=WHOLE,
    help="Processes to run mechanisms in, shared by audits that run at the same time  [default: 1]",
)
@engines("dask", "ray")
@outputs
@click.option("--github", is_flag=True, help="Annotate a GitHub workflow and its summary.")
@loudness("Print the outcome only.")
def _gate(
    baseline: str | None,
    accept: bool,
    rise: float,
    strict: bool,
    paths: dict[str, str | None],
    github: bool,
    quiet: bool,
    **given: object,
) -> None:
    """Stop a change that weakens privacy: audit what the settings list.

    The settings are [tool.dpwitness] of pyproject.toml.

    Exit status: 0 no violation found, 1 a refutation, a bound that rose or an
    entry that vanished, 2 usage error, 3 inconclusive with --strict, 4 an audit failed.
    """
    from .ci import commands

    given["inconclusive"] = "fail" if strict else None
    speak(
        quiet, commands.gate, given, baseline=baseline, accept=accept, rise=rise, paths=paths,
        github=github,
    )  # fmt: skip


@main.command(
    "init",
    epilog=examples(
        "dpwitness init release.py:total",
        "dpwitness init release.py:total --github \\",
        "  --epsilon 1 --relation add-remove \\",
        "  --databases release.py:ages",
    ),
)
@click.argument("target")
@options_of("epsilon delta relation databases pair")
@click.option("--github", "services", flag_value="github", multiple=True, help="A workflow too.")
@click.option("--gitlab", "services", flag_value="gitlab", multiple=True, help="A pipeline too.")
def _init(target: str, services: tuple[str, ...], **given: object) -> None:
    """Write settings, and a test of an unmarked function, for your mechanism.

    TARGET is as for audit. What you do not say is asked for in a terminal, and otherwise left
    open: the gate and the test are not green before it is filled in. Nothing that is there already
    is changed, so it may be run again.
    """
    from .ci import commands

    speak(False, commands.init, target, services, given, ask=prompter())


@main.command(
    "history",
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
def _history(
    files: tuple[str, ...], quiet: bool, in_toto: str | None, run: str | None, directory: str | None
) -> None:
    """Show what was audited in all runs and what the evidence adds up to.

    Checks that no recorded row was changed. Exit status: 0 all is as it was written, 2 usage
    error, 4 a row was changed or the history cannot be read.
    """
    from .history import commands

    speak(quiet, commands.history, files=files, in_toto=in_toto, run=run, directory=directory)


@main.command(
    "judge",
    epilog=examples(
        "dpwitness judge d.csv d_prime.csv --epsilon 1",
        "dpwitness judge d.csv d_prime.csv --rho 0.5",
        "dpwitness judge draws-of-release.jsonl",
        "./draw | dpwitness judge - other.npy \\",
        "  --epsilon 1 --delta 1e-6",
        'dpwitness judge draws.csv --law "laplace(2)"',
    ),
    help=f"""Judge recorded outputs: of two neighbouring databases, or against a distribution.

    No mechanism is run. A sample is a file ({TOLD}, or one JSON value a line) or -
    for a pipe. Its first quarter chooses what to count and the rest is counted once. A file of
    draws that an audit left when it ended early is given alone: it has both databases and the
    claim, which options change. Exit status as for audit.

    A law is a name with numbers: laplace(scale), gaussian(sigma), discrete-laplace(scale),
    discrete-gaussian(sigma), uniform(low, high), bernoulli(p), constant(value) or scipy.NAME(...)
    with the arguments of scipy.stats; a sum or difference of independent laws; a number times a
    law; mix(0.9, law, 0.1, law).
    """,
)
@click.argument("first", metavar="SAMPLE")
@click.argument("second", metavar="[SAMPLE2]", required=False)
@options_of("epsilon delta mu rho renyi curve distance")
@click.option("--law", help='SAMPLE is claimed to follow this law, such as "discrete-laplace(20)".')
@option_of("alpha", default="0.001; of a law: 1e-06")
@outputs
@loudness("Print the verdict only.")
def _judge(first: str, second: str | None, quiet: bool, **options: Unpack["_Judge"]) -> None:
    from .samples import commands

    speak(quiet, commands.judge, first, second, **options)


@main.command(
    "scores",
    epilog=examples(
        "dpwitness scores in.csv out.csv --delta 1e-5",
        "dpwitness scores in.npy out.npy --mu 1 \\",
        "  --alpha 0.05",
        "dpwitness scores canaries.csv --one-run --mu 1",
        "dpwitness scores --guesses 1000 200 150 \\",
        "  --delta 1e-6",
    ),
    help=f"""Compute a lower bound on the privacy loss from scores of canaries.

    IN has the scores of runs whose data hold the canary, OUT those of runs without it: files with
    a number for each run ({TOLD} or JSON lines), or - for a pipe. With --one-run all
    scores come from one training, and a fair coin decided of each canary whether it was in. All
    bounds are valid together. Exit status 0 without a claim; with one as for audit.
    """,
)
@click.argument("files", nargs=-1, metavar="IN OUT")
@click.option(
    "--one-run",
    is_flag=True,
    help="The canaries of one training: a file with score and membership, or IN and OUT.",
)
@click.option(
    "--guesses",
    nargs=3,
    type=WHOLE,
    metavar="CANARIES GUESSES RIGHT",
    help="The guesses about the canaries of one training, counted already; no file.",
)
@option_of("epsilon")
@option_of("delta", "Delta of the claim, or of the bound  [default: 0]")
@options_of("mu rho renyi curve")
@option_of("distance", "Steps between the data sets.", default=1, filled=True)
@options_of("alpha seed", filled=True)
@outputs
@loudness("Print the verdict only.")
def _scores(files: tuple[str, ...], quiet: bool, **options: Unpack["_Scores"]) -> None:
    from .samples import score_commands

    speak(quiet, score_commands.scores, files, **options)


@main.command(
    "reproduce",
    epilog=examples(
        "dpwitness reproduce EM-3.12 --trials 10_000",
        "dpwitness reproduce EM-3.12 \\",
        "  --set epsilon=1,1.25,1.5 --out gallery",
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
def _reproduce(
    names: tuple[str, ...],
    assignments: tuple[str, ...],
    workers: int | None,
    quiet: bool,
    backend: str | None,
    scheduler: str | None,
    address: str | None,
    **options: Unpack["_Reproduce"],
) -> None:
    """Set the bounds of theorems beside measurements.

    ID is a theorem, an erratum or a control as in `dpwitness list`, or a pattern such as 'PMW-*';
    without one every theorem is taken. FILE.py:NAME is a Theorem of your own, whose code is run;
    such statements share alpha and are not mixed with the catalogue's. Printed statements known to
    be wrong are expected to be refuted. Exit status: 0 every verdict as expected, 1 one is not,
    2 usage error, 4 a mechanism failed or two methods contradict each other.
    """
    from .reproduce import commands

    engine = engine_of({"backend": backend, "scheduler": scheduler, "address": address})
    speak(
        quiet, commands.reproduce, names, assignments, workers=workers or -1, engine=engine,
        **options,
    )  # fmt: skip


main.add_command(tools)

if __name__ == "__main__":
    main(prog_name="dpwitness")
