"""`dpwitness judge` and `scores`; nothing heavy is imported before they run."""

from typing import Any

import click

from ..formats.table import outputs
from ..shell.options import WHOLE, option_of, options_of
from ..shell.shell import Grouped, examples, loudness, speak


@click.command(
    "judge",
    cls=Grouped,
    epilog=examples(
        "dpwitness judge d.csv d_prime.csv --epsilon 1",
        "dpwitness judge d.csv d_prime.csv --rho 0.5",
        "dpwitness judge draws-of-release.jsonl",
        "./draw | dpwitness judge - other.npy \\",
        "  --epsilon 1 --delta 1e-6",
        'dpwitness judge draws.csv --law "laplace(2)"',
    ),
)
@click.argument("first", metavar="SAMPLE")
@click.argument("second", metavar="[SAMPLE2]", required=False)
@options_of("epsilon delta mu rho renyi curve distance")
@click.option("--law", help='SAMPLE is claimed to follow this law, such as "discrete-laplace(20)".')
@option_of("alpha", default="0.001; of a law: 1e-06")
@outputs
@loudness("Print the verdict only.")
def judge(first: str, second: str | None, quiet: bool, **options: Any) -> None:
    """Judge recorded outputs: of two neighbouring databases, or against a law.

    No mechanism is run. A sample is a file (.npy, .csv, .parquet, or one JSON value a line) or -
    for a pipe. Its first quarter chooses what to count and the rest is counted once. A file of
    draws that an audit left when it ended early is given alone: it has both databases and the
    claim, which options change. Exit status as for audit.

    A law is a name with numbers: laplace(scale), gaussian(sigma), discrete-laplace(scale),
    discrete-gaussian(sigma), uniform(low, high), bernoulli(p), constant(value) or scipy.NAME(...)
    with the arguments of scipy.stats; a sum or difference of independent laws; a number times a
    law; mix(0.9, law, 0.1, law).
    """
    from . import commands

    speak(quiet, commands.judge, first, second, **options)


@click.command(
    "scores",
    cls=Grouped,
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
@option_of("epsilon")
@option_of("delta", "Delta of the claim, or of the bound  [default: 0]")
@options_of("mu rho renyi curve")
@option_of("distance", "Steps between the data sets.", default=1, filled=True)
@options_of("alpha seed", filled=True)
@outputs
@loudness("Print the verdict only.")
def scores(files: tuple[str, ...], quiet: bool, **options: Any) -> None:
    """Compute a lower bound on the privacy loss from scores of canaries.

    IN has the scores of runs whose data hold the canary, OUT those of runs without it: files with
    a number for each run (.npy, .csv, .parquet or JSON lines), or - for a pipe. With --one-run all
    scores come from one training, and a fair coin decided of each canary whether it was in. All
    bounds are valid together. Exit status 0 without a claim; with one as for audit.
    """
    from . import score_commands

    speak(quiet, score_commands.scores, files, **options)
