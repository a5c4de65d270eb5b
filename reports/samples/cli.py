"""`dpwitness judge`, `scores` and `conform`; nothing heavy is imported before they run."""

from typing import Any

import click

from ..shell.shell import WHOLE, examples, loudness, numbers, speak


@click.command(
    "judge",
    epilog=examples(
        "dpwitness judge d.csv d_prime.csv --epsilon 1",
        "dpwitness judge draws-of-release.jsonl",
        "./draw | dpwitness judge - other.npy \\",
        "  --epsilon 1 --delta 1e-6",
    ),
)
@click.argument("first", metavar="SAMPLE")
@click.argument("second", metavar="[SAMPLE2]", required=False)
@click.option("--epsilon", type=float, help="Claimed epsilon, in nats.")
@click.option("--delta", type=float, help="Claimed delta  [default: 0]")
@click.option("--distance", type=WHOLE, help="Steps between the databases  [default: 1]")
@click.option(
    "--alpha", type=float, default=1e-3, show_default=True, help="Chance to refute a true claim."
)
@numbers
@loudness("Print the verdict only.")
def judge(first: str, second: str | None, quiet: bool, **options: Any) -> None:
    """Judge outputs recorded under two neighbouring databases; no mechanism is run.

    A sample is a file (.npy, .csv, .parquet, or one JSON value a line) or - for a pipe. Its first
    quarter chooses what to count and the rest is counted once. A file of draws that an audit left
    when it ended early is given alone: it has both databases and the claim, which options change.
    Exit status as for audit.
    """
    from . import commands

    speak(quiet, commands.judge, first, second, **options)


@click.command(
    "scores",
    epilog=examples(
        "dpwitness scores in.csv out.csv --delta 1e-5",
        "dpwitness scores in.npy out.npy --mu 1 \\",
        "  --alpha 0.05",
        "dpwitness scores canaries.csv --one-run --mu 1",
        "dpwitness scores --guesses 1000 200 150 \\",
        "  --delta 1e-6",
    ),
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
@click.option("--epsilon", type=float, help="Claimed epsilon, in nats.")
@click.option("--delta", type=float, help="Delta of the claim, or of the bound  [default: 0]")
@click.option("--mu", type=float, help="Claimed mu of Gaussian differential privacy.")
@click.option("--rho", type=float, help="Claimed rho of zCDP; --delta: approximate.")
@click.option(
    "--renyi",
    multiple=True,
    metavar="ALPHA:EPSILON",
    help="Claimed Renyi divergence; may be repeated.",
)
@click.option(
    "--curve",
    metavar="FILE",
    help="Claimed (epsilon, delta), all at once; JSON, CSV or file.py:ACCOUNTANT.",
)
@click.option(
    "--distance", type=WHOLE, default=1, show_default=True, help="Steps between the data sets."
)
@click.option(
    "--alpha", type=float, default=1e-3, show_default=True, help="Chance to refute a true claim."
)
@click.option("--seed", type=WHOLE, default=0, show_default=True, help="Draws who teaches.")
@numbers
@loudness("Print the verdict only.")
def scores(files: tuple[str, ...], quiet: bool, **options: Any) -> None:
    """Bound from below what scores of canaries inside and outside the data prove to be lost.

    IN and OUT are files with a number for each run (.npy, .csv, .parquet or JSON lines) or - for a
    pipe. All thresholds count, and every bound holds together with the others. With --one-run all
    numbers come from one training, and each canary was put in by a fair coin of its own. Without a
    claim the bounds are told and the status is 0; with one the exit status is as for audit.
    """
    from . import score_commands

    speak(quiet, score_commands.scores, files, **options)


@click.command(
    "conform",
    epilog=examples(
        'dpwitness conform draws.csv --law "laplace(2)"',
        "./draw | dpwitness conform - \\",
        '    --law "laplace(2) + laplace(2)"',
    ),
)
@click.argument("sample", metavar="SAMPLE")
@click.option("--law", required=True, help='Such as "discrete-laplace(20) + gaussian(3)".')
@click.option(
    "--flake", type=float, default=1e-6, show_default=True,
    help="Chance to refute a sampler that follows its law.",
)  # fmt: skip
@numbers
@loudness("Print the verdict only.")
def conform(sample: str, law: str, flake: float, json_path: str | None, quiet: bool) -> None:
    """Test whether recorded numbers follow a declared law.

    A law is a name with numbers: laplace(scale), gaussian(sigma), discrete-laplace(scale),
    discrete-gaussian(sigma), uniform(low, high), bernoulli(p), constant(value) or scipy.NAME(...)
    with the arguments of scipy.stats; a sum or difference of independent laws; a number times a
    law; mix(0.9, law, 0.1, law). SAMPLE is a file or - for a pipe, as for judge.
    """
    from . import commands

    speak(quiet, commands.conform, sample, law, flake=flake, json_path=json_path)
