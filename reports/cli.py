"""The command line. Nothing heavy is imported before a command needs it.

Exit status: 0 nothing refuted, 1 refuted, 2 usage error, 3 inconclusive, 4 the mechanism broke
its contract or failed, 130 interrupted.
"""

import os
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from .terminal import ProgressLine, printable

if TYPE_CHECKING:
    from dpwitness.auditors.results import Verdict

    from .commands import Console

__all__ = ["main"]

UNUSABLE, FAILED, INTERRUPTED = 2, 4, 130
MOST_ERROR = 2000


class _Sentences(click.Group):
    """A group whose commands end with a sentence and a status, never with a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and translate what went wrong."""
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, ValueError, OSError):
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            _warn("interrupted; no result, and nothing half-written")
            ctx.exit(INTERRUPTED)
        except Exception as error:  # noqa: BLE001 - the last place that can turn it into words
            if os.environ.get("DPWITNESS_DEBUG") == "1":
                traceback.print_exc()
            sentence, status = _explained(error)
            _warn(sentence)
            ctx.exit(status)


def _explained(error: Exception) -> tuple[str, int]:
    # An error of ours can only come from a module that is loaded; loading it here might fail too.
    ours = sys.modules.get("dpwitness.auditors.errors")
    if ours is not None and isinstance(error, (ours.InvalidArgument, ours.EvidenceFormatError)):
        return str(error), UNUSABLE
    if ours is not None and isinstance(error, ours.DpWitnessError):
        return str(error), FAILED
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return (
        f"{text}; this is a bug in dpwitness (DPWITNESS_DEBUG=1 shows where it happened)",
        FAILED,
    )


def _warn(sentence: str) -> None:
    line = printable(sentence.replace("\n", " "))[:MOST_ERROR]
    with suppress(OSError, ValueError):
        click.echo(f"dpwitness: {line}", err=True)


class _Output:
    """Standard output that may be closed or full without costing the audit its result."""

    def __init__(self) -> None:
        self.failed = False

    def say(self, text: str) -> None:
        """Print; a reader that went away is no error, a full disk is."""
        try:
            click.echo(text, color=False if os.environ.get("NO_COLOR") else None)
            sys.stdout.flush()
        except BrokenPipeError:
            self._give_up()
        except OSError as error:
            self.failed = True
            self._give_up()
            _warn(f"could not write to standard output: {(error.strerror or str(error)).lower()}")

    def _give_up(self) -> None:
        # What is left in the buffer would raise once more when the interpreter ends.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _console(output: _Output, quiet: bool = False) -> Iterator["Console"]:
    from .commands import Console

    watched = not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    width = shutil.get_terminal_size((80, 24)).columns if _sized() else 80
    with ProgressLine(sys.stderr, enabled=watched) as progress:

        def say(text: str) -> None:
            progress.clear()
            output.say(text)

        def warn(text: str) -> None:
            progress.clear()
            _warn(text)

        yield Console(
            say=say,
            warn=warn,
            progress=progress,
            paint=_paint,
            width=width,
            quiet=quiet,
        )


def _sized() -> bool:
    return sys.stdout.isatty() or "COLUMNS" in os.environ


def _paint(text: str, verdict: "Verdict") -> str:
    colours = {"refuted": "red", "not_refuted": "blue", "inconclusive": "yellow"}
    return click.style(text, fg=colours.get(verdict.value), bold=True)


def _finish(output: _Output, status: int) -> None:
    click.get_current_context().exit(UNUSABLE if output.failed else status)


class _Whole(click.ParamType[int]):
    """A whole number, also written 1e6 or 1_000_000."""

    name = "integer"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        try:
            return int(value)
        except ValueError:
            with suppress(ValueError, OverflowError):
                number = float(value)
                if number == int(number) and abs(number) < 2**53:
                    return int(number)
        self.fail(f"{value!r} is not a whole number.", param, ctx)


WHOLE = _Whole()


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            number = version("dpwitness")
        except PackageNotFoundError:
            number = "unknown"
        click.echo(f"dpwitness {number}")
        ctx.exit()


@click.group(cls=_Sentences, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version,
    help="Show the version and exit.",
)  # fmt: skip
def main() -> None:
    """Audit differential-privacy mechanisms, and get a witness when a claim is false.

    Exit status: 0 nothing refuted, 1 refuted, 2 usage error, 3 inconclusive, 4 the mechanism
    broke its contract or failed.
    """


def _options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of `audit`, in the order they are shown."""
    options = (
        click.option("--epsilon", type=float, help="Claimed epsilon, in nats."),
        click.option("--delta", type=float, help="Claimed delta  [default: 0]"),
        click.option(
            "--relation",
            type=click.Choice(["add-remove", "replace-one"]),
            help="What neighbouring databases differ in.",
        ),
        click.option("--distance", type=WHOLE, help="Steps between the databases  [default: 1]"),
        click.option(
            "--databases",
            metavar="FILE.py:NAME",
            help="A Hypothesis strategy of databases or pairs, or a domain; or PKG.MOD:NAME.",
        ),
        click.option(
            "--pair", nargs=2, metavar="JSON JSON", help="The two databases; skips the search."
        ),
        click.option("--trials", type=WHOLE, help="Draws per side, judged pair [default: 200000]"),
        click.option("--seconds", type=float, help="Wall-clock budget for the whole audit."),
        click.option("--alpha", type=float, help="Chance to refute a true claim [default: 0.001]"),
        click.option("--seed", type=WHOLE, default=0, show_default=True, help="Random seed."),
        click.option("--workers", type=WHOLE, help="Processes to draw in  [default: 1]"),
        click.option("--timeout", type=float, help="Seconds one call may take  [default: 10]"),
        click.option("--unseeded", is_flag=True, help="The mechanism draws its own randomness."),
        click.option("--json", "json_path", metavar="PATH", help="Write the evidence here."),
        click.option("--html", "html_path", metavar="PATH", help="Write a report page here."),
        click.option("--quiet", is_flag=True, help="Print the verdict only."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@main.command("audit")
@click.argument("target")
@_options
def _audit(
    target: str,
    unseeded: bool,
    quiet: bool,
    json_path: str | None,
    html_path: str | None,
    **options: Any,
) -> None:
    """Audit the privacy claims of TARGET.

    TARGET is a name in the catalogue (see `dpwitness list`), package.module:attribute or
    path/to/file.py:attribute. The attribute is a function of (database, rng), whose claim the
    options state, or a Mechanism, which brings its own claims and databases. Its code is run.
    """
    from . import commands

    output = _Output()
    options["seeded"] = False if unseeded else None
    with _console(output, quiet) as console:
        status = commands.audit(console, target, options, json_path=json_path, html_path=html_path)
    _finish(output, status)


@main.command("replay")
@click.argument("evidence", metavar="EVIDENCE.json", type=click.Path())
@click.option("--workers", type=WHOLE, default=1, help="Processes to draw in  [default: 1]")
@click.option("--timeout", type=float, default=10.0, help="Seconds one call may take.")
def _replay(evidence: str, workers: int, timeout: float) -> None:
    """Count again: the same counts, bit for bit, or what differs.

    Runs the code of the target that the file names. Exit status as for audit, and 4 when
    something differs.
    """
    from . import commands

    output = _Output()
    with _console(output) as console:
        status = commands.replay(console, evidence, workers=workers, timeout=timeout)
    _finish(output, status)


@main.command("list")
@click.option("--json", "as_json", is_flag=True, help="For machines.")
def _list(as_json: bool) -> None:
    """Show what is in the catalogue, with claims and controls."""
    from . import commands

    output = _Output()
    with _console(output) as console:
        status = commands.catalogue(console, as_json=as_json)
    _finish(output, status)


@main.command("demo")
def _demo() -> None:
    """Audit a sound and a broken mechanism and write dpwitness-demo.html here."""
    from . import commands

    output = _Output()
    with _console(output) as console:
        status = commands.demo(console)
    _finish(output, status)


if __name__ == "__main__":
    main(prog_name="dpwitness")
