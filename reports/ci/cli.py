"""`dpwitness gate` and `dpwitness init`; nothing heavy is imported before they run."""

from typing import Any

import click

from ..formats.table import outputs
from ..sharding.options import engines
from ..shell.options import SEED, WHOLE, option_of, options_of
from ..shell.shell import Grouped, examples, loudness, prompter, speak


@click.command(
    "gate",
    cls=Grouped,
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
    help="Processes to draw in, shared by audits that run at the same time  [default: 1]",
)
@engines("dask", "ray")
@outputs
@click.option("--github", is_flag=True, help="Annotate a GitHub workflow and its summary.")
@loudness("Print the outcome only.")
def gate(
    baseline: str | None,
    accept: bool,
    rise: float,
    strict: bool,
    paths: dict[str, str | None],
    github: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Stop a change that weakens privacy: audit what the settings list.

    The settings are [tool.dpwitness] of pyproject.toml.

    Exit status: 0 no violation found, 1 a refutation, a bound that rose or an
    entry that vanished, 2 usage error, 3 inconclusive with --strict, 4 an audit failed.
    """
    from . import commands

    given["inconclusive"] = "fail" if strict else None
    speak(
        quiet, commands.gate, given, baseline=baseline, accept=accept, rise=rise, paths=paths,
        github=github,
    )  # fmt: skip


@click.command(
    "init",
    cls=Grouped,
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
def init(target: str, services: tuple[str, ...], **given: Any) -> None:
    """Write settings and a first test for your mechanism.

    TARGET is as for audit. What you do not say is asked for in a terminal, and otherwise left
    open: the gate and the test are not green before it is filled in. Nothing that is there already
    is changed, so it may be run again.
    """
    from . import commands

    speak(False, commands.init, target, services, given, ask=prompter())
