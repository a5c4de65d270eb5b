"""What every command of the command line shares: how it speaks, fails and ends."""

import errno
import os
import shlex
import shutil
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from difflib import get_close_matches
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import click

from ...auditors.arguments import OTHER_WORDS
from ..writing.terminal import ProgressLine, hand_over, place_of, printable, require_errors
from . import computed
from .computed import FAILED, INTERRUPTED, UNUSABLE
from .process_state import Changed, ProcessState, blamed, said

if TYPE_CHECKING:
    from ...auditors.results.results import Verdict
    from .console import Console

P = ParamSpec("P")

MOST_ERROR = 2000
"""Letters of a sentence on standard error."""
DENIED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EDQUOT, errno.EMFILE, errno.ENFILE,
          errno.EIO, errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR}  # fmt: skip
"""What the system may refuse to anybody; no bug of ours."""


_HOOKED = (
    "{} was raised at whatever dpwitness did next, even at telling an error: the mechanism, or its "
    "module, left a hook behind; there is no verdict"
)

_LOWERED = (
    "the mechanism, or its module, lowered {} of its process, and {} was raised at whatever "
    "dpwitness did next; there is no verdict"
)


GROUPS = {
    "Claim": "epsilon delta mu rho renyi curve law relation distance claims exact",
    "Databases": "databases pair histogram",
    "Budget": "trials notice precision seconds alpha seed profile",
    "Mechanism": "command python isolate unseeded release attacker exceptions timeout show-output "
    "trust-rows in-process",
    "Machines": "workers backend scheduler address checkpoint shard environments",
    "Output": "explain -o out json html junit sarif markdown github in-toto verbose quiet help",
}
"""Options by the group that the help shows them in; all others come first."""

TASKS = {
    "Audit": "audit estimate judge scores replay",
    "In a project": "init gate history",
    "Theorems and examples": "demo list reproduce",
    "More": "tools",
}
"""Commands by the task that the help shows them under; all others come last."""


class Grouped(click.Command):
    """A command whose many options stand in groups in its help, and which says what was typed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words; a sentence names what was expected, what came and what to do."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(_clearer(error, ctx), ctx=ctx) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write them, the groups in one order for all commands."""
        found: dict[str, list[tuple[str, str]]] = {"Options": [], **{name: [] for name in GROUPS}}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None or isinstance(param, click.Argument):
                continue
            own = max(param.opts, key=len).removeprefix("--")
            titles = (name for name, known in GROUPS.items() if own in known.split())
            found[next(titles, "Options")].append(record)
        for title, records in found.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def _clearer(error: click.UsageError, ctx: click.Context) -> str:
    """The sentence of click with what it leaves out: the values, the place and the remedy."""
    path, command, root = ctx.command_path, ctx.command, ctx.find_root()
    assert isinstance(root.command, click.Group)
    if isinstance(error, click.NoSuchOption):
        name = error.option_name
        if any(name in one.opts for one in root.command.params):
            place = "stands before the command" if command is not root.command else "is misplaced"
            return f"{name} {place}: {root.info_name} {name} ..."
        all_of_them = every_command(root.command)
        having = [
            words
            for words, one in all_of_them.items()
            if any(name in option.opts for option in one.params)
        ]
        if command is root.command and having:
            return (
                f"{name} stands after the command that it is for: "
                f"{root.info_name} {having[0]} {name} ..."
            )
        same = OTHER_WORDS.get(name.lstrip("-").replace("-", "_"))
        if any(f"--{same}" in one.opts for one in command.params):
            return f"No such option {name} of {path}; --{same} is the word for it here."
        near = meant(name, [word for one in command.params for word in one.opts if "-" in word])
        others = f" (and {len(having) - 1} more)" if len(having) > 1 else ""
        has = f"; {root.info_name} {having[0]}{others} has it" if having else ""
        return f"No such option {name} of {path}{has or near}. `{path} --help` shows what there is."
    if isinstance(error, click.BadOptionUsage):
        for one in command.params:
            if error.option_name in one.opts and "argument" in error.message:
                what = one.metavar or one.type.name.upper()
                if one.nargs > 1:
                    return f"{error.option_name} takes {one.nargs} values, {what}, and got fewer."
                return f"{error.option_name} takes a value, {what}, and got none."
    message = error.format_message()
    if isinstance(error, click.MissingParameter):
        return f"{message.rstrip('.')}; `{path} --help` shows an example."
    if "is not a valid float" in message:
        return message.replace("a valid float", "a number, such as 0.5")
    if "unexpected extra argument" in message:
        known = " ".join(command.collect_usage_pieces(ctx)[1:])
        extra = message.partition("(")[2].rstrip(")")
        if dashed := next((one for one in sys.argv if one[:1] in ("–", "—")), ""):
            return f"{dashed} begins with a typographic dash; write --{dashed.lstrip('–—')}."
        takes = f"takes {known}, and" if known else "takes options only, and"
        switch = next(
            (
                before
                for before, after in pairwise(sys.argv)
                if after == extra
                and any(
                    before in one.opts and isinstance(one, click.Option) and one.is_flag
                    for one in command.params
                )
            ),
            "",
        )
        if switch:
            return f"{switch} is a switch of {path} and takes no value, such as {extra}."
        return f"{path} {takes} {extra} is too many; `{path} --help` shows what there is."
    return message


def every_command(group: click.Group, before: str = "") -> dict[str, click.Command]:
    """All commands by the words that name them, such as "tools merge"."""
    found: dict[str, click.Command] = {}
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            found |= every_command(command, f"{before}{name} ")
        else:
            found[f"{before}{name}"] = command
    return found


class Words(click.Group):
    """A group that shows its commands by task and answers a word that names none of them."""

    command_class = Grouped

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words before the command."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise click.UsageError(_clearer(error, ctx), ctx=ctx) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first word names; the nearest one is told where there is none."""
        typed = args[0]
        if self.get_command(ctx, typed) is None and not typed.startswith("-"):
            root = ctx.find_root().command
            assert isinstance(root, click.Group)
            known = {words.split()[-1]: words for words in every_command(root)}
            if typed in known:
                ctx.fail(f"{typed} is `{ctx.find_root().info_name} {known[typed]}`.")
            ctx.fail(
                f"No such command {typed!r}{meant(typed, known)}. "
                f"`{ctx.command_path} --help` shows what there is."
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write them by task, the first sentence of each whole."""
        widest = max(map(len, self.commands))
        found: dict[str, list[tuple[str, str]]] = {title: [] for title in [*TASKS, "Commands"]}
        for name, command in self.commands.items():
            titles = (title for title, known in TASKS.items() if name in known.split())
            found[next(titles, "Commands")].append(
                (name.ljust(widest), command.get_short_help_str(limit=200))
            )
        for title, records in found.items():
            if records:
                known = TASKS.get(title, "").split()
                place = {name: at for at, name in enumerate(known)}
                with formatter.section(title):
                    formatter.write_dl(
                        sorted(records, key=lambda one: (place.get(one[0].strip(), 0), one[0]))
                    )


class Sentences(Words):
    """A group whose commands end with a sentence and a status, never with a traceback."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: object,
    ) -> click.Context:
        """Read the words; --help and --version are told here."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except OSError as error:
            sentence, status = _explained(error)
            _warn(sentence)
            raise SystemExit(status) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and translate what went wrong."""
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, ValueError, OSError):
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        state = ProcessState()
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            _interrupted(ctx)
        except Exception as error:  # noqa: BLE001 - the last place to turn it into words
            if isinstance(error, RuntimeError) and isinstance(error.__cause__, KeyboardInterrupt):
                # So Python up to 3.11 hands on an interruption that comes while a class is made.
                _interrupted(ctx)
            if os.environ.get("DPWITNESS_DEBUG") == "1":
                traceback.print_exc()
            try:
                sentence, status = _explained(error, state)
            except BaseException as second:  # noqa: BLE001 - a hook may raise at everything
                hooked = _LOWERED.format(said(state.lowered), "{}") if state.lowered else _HOOKED
                sentence, status = hooked.format(type(second).__name__), FAILED
            _warn(sentence)
            computed.finish(status)
            ctx.exit(status)


def _interrupted(ctx: click.Context) -> None:
    """End; the guardian knows who interrupted, and says so."""
    computed.finish(INTERRUPTED)
    ctx.exit(INTERRUPTED)


def _explained(error: BaseException, state: ProcessState | None = None) -> tuple[str, int]:
    # An error of ours can only come from a module that is loaded; loading it here might fail too.
    ours = sys.modules.get("dpwitness.auditors.errors")
    # What code of others did to the process is told before what came of it.
    changed = state.put_back() if state is not None else Changed([], [], [], [])
    if ours is not None and isinstance(error, ours.DpWitnessError):
        sentence = error.spelled(_option)
        low = [one for one in state.lowered if one not in sentence] if state is not None else []
        if low:
            return (
                f"the mechanism, or its module, lowered {said(low)} of its process; then {sentence}"
            ), FAILED
        unusable = isinstance(error, (ours.InvalidArgument, ours.EvidenceFormatError))
        return sentence, UNUSABLE if unusable else FAILED
    refused = isinstance(error, OSError) and error.errno in {*DENIED, errno.EPIPE, errno.ENOSPC}
    if not refused or changed.replaced or changed.lost or changed.limits:
        sentence = blamed(error, changed)
        if sentence:
            return sentence, FAILED
    try:
        os.getcwd()
    except FileNotFoundError:
        return "the folder that this was started in is gone; go to another", UNUSABLE
    if isinstance(error, OSError) and error.errno in (errno.EPIPE, errno.ENOSPC):
        _stop_writing()
        return f"could not write: {os.strerror(error.errno).lower()}", UNUSABLE
    if isinstance(error, OSError) and error.errno in DENIED:
        place = "a file" if error.filename is None else repr(os.fspath(error.filename))
        return f"cannot use {place}: {os.strerror(error.errno).lower()}", UNUSABLE
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    whose = (
        "if no thread that the mechanism started raised it here, this is a bug in dpwitness"
        if threading.active_count() > 1
        else "this is a bug in dpwitness"
    )
    return f"{text}; {whose} (DPWITNESS_DEBUG=1 shows where it happened)", FAILED


def _option(keyword: str, value: str) -> str:
    """A keyword of a sentence as the command line writes it."""
    if keyword == "seeded":
        return "--unseeded"
    if keyword == "histogram":
        return "--histogram"
    return f"--{keyword} {value}".rstrip()


def _warn(sentence: str) -> None:
    line = printable(sentence.replace("\n", " "))[:MOST_ERROR]
    try:
        require_errors()
        click.echo(f"dpwitness: {line}", err=True)
    except BaseException:  # noqa: BLE001 - whatever keeps it from being said here
        hand_over(line)


class Output:
    """Standard output that may be closed or full without costing the audit its result."""

    def __init__(self) -> None:
        self.failed = self.closed = False
        self._place = place_of(1)

    def say(self, text: str) -> None:
        """Print; a reader that went away is no error, a full disk is."""
        try:
            if self._place not in (None, place_of(1)):
                raise ValueError("another file is there now")
            click.echo(text, color=False if os.environ.get("NO_COLOR") else None)
            sys.stdout.flush()
        except BrokenPipeError:
            self._stop()
        except (ValueError, OSError) as error:
            if isinstance(error, ValueError) or error.errno == errno.EBADF:
                self.closed = True
                _warn(
                    "standard output was closed or led elsewhere while the command ran, most "
                    "likely by the mechanism, so the result could not be told; it must leave open "
                    "files alone"
                )
                return
            self.failed = True
            self._stop()
            _warn(f"could not write to standard output: {(error.strerror or str(error)).lower()}")

    def _stop(self) -> None:
        self._place = None
        _stop_writing()


def _stop_writing() -> None:
    # What is left in the buffer would raise once more when the interpreter ends.
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def console(output: Output, quiet: bool = False, silent: bool = False) -> Iterator["Console"]:
    """Where a command speaks; with a progress line where somebody is watching.

    If `silent`, numbers are printed and all that is said goes to the log alone.
    """
    from .console import Console

    context = click.get_current_context(silent=True)
    begun = context.find_root().obj if context is not None else None
    watched = not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    width = shutil.get_terminal_size((80, 24)).columns if _sized() else 80
    with ProgressLine(sys.stderr, enabled=watched) as progress:
        journal = _Journal(progress)

        def say(text: str) -> None:
            progress.clear()
            journal.keep(text)
            if not silent:
                output.say(text)

        def numbers(text: str) -> None:
            progress.clear()
            output.say(text)

        def warn(text: str) -> None:
            progress.clear()
            journal.keep(text)
            _warn(text)

        yield Console(
            say=say,
            numbers=numbers,
            warn=warn,
            progress=journal,
            known=journal.known,
            paint=_paint,
            width=width,
            sized=_sized(),
            quiet=quiet,
            verbose=_asked()[0],
            begun=time.monotonic() if begun is None else begun,
        )


def _asked() -> tuple[bool, str | None]:
    """--verbose of the program, which that of a command joins, and --log."""
    context = click.get_current_context(silent=True)
    params = context.find_root().params if context is not None else {}
    return params.get("verbose", False), params.get("log")


def _verbose(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        ctx.find_root().params["verbose"] = True


def verbosely(command: Callable[..., None]) -> Callable[..., None]:
    """-v for a command."""
    return click.option(
        "-v", "--verbose", is_flag=True, expose_value=False, callback=_verbose,
        help="Tell everything, and on standard error what is being done.",
    )(command)  # fmt: skip


def loudness(quiet: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """-v and -q for a command; `quiet` is what the help says of -q."""

    def both(command: Callable[..., None]) -> Callable[..., None]:
        return verbosely(click.option("-q", "--quiet", is_flag=True, help=quiet)(command))

    return both


class _Journal:
    """What is being done, as the options --verbose and --log of the program ask for it."""

    def __init__(self, progress: ProgressLine) -> None:
        self._progress = progress
        self._verbose, self._path = _asked()
        self._stage = ""
        self._begun = time.monotonic()
        self.keep(shlex.join(["dpwitness", *sys.argv[1:]]))

    def __call__(self, stage: str, done: int, total: int) -> None:
        """The news of the progress line; every new stage is told once."""
        if stage != self._stage:
            self._stage = stage
            self.keep(f"{stage}: {done:,} of {total:,}")
            if self._verbose:
                self._progress.clear()
                _warn(f"{time.monotonic() - self._begun:.1f} s: {stage}, {done:,} of {total:,}")
        self._progress(stage, done, total)

    def known(self, text: str) -> None:
        """What is known so far, for the progress line and the log."""
        self.keep(f"known so far: {text}")
        if self._verbose:
            self._progress.clear()
            _warn(f"{time.monotonic() - self._begun:.1f} s: known so far: {text}")
        self._progress.know(text)

    def keep(self, text: str) -> None:
        """Append the text to the log, each line with the time."""
        if self._path is None:
            return
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        try:
            with open(self._path, "a", encoding="utf-8") as file:
                file.writelines(f"{now} {printable(line)}\n" for line in text.splitlines())
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            self._path = None
            _warn(f"the log cannot be written: {reason}; the run goes on without it")


def _sized() -> bool:
    return sys.stdout.isatty() or "COLUMNS" in os.environ


def _paint(text: str, verdict: "Verdict") -> str:
    colours = {"refuted": "red", "not_refuted": "blue", "inconclusive": "yellow"}
    return click.style(text, fg=colours.get(verdict.value), bold=True)


def speak(
    quiet: bool,
    command: Callable[Concatenate["Console", P], int],
    *given: P.args,
    **named: P.kwargs,
) -> None:
    """Run what a command does, where it can speak, and end with its status.

    The status is another where the output was closed or could not be written.
    """
    computed.begin()
    output = Output()
    paths = named.get("paths")
    silent = isinstance(paths, Mapping) and paths.get("json") == "-"
    with console(output, quiet, silent) as speaking:
        status = command(speaking, *given, **named)
    status = FAILED if output.closed else UNUSABLE if output.failed else status
    computed.finish(status)
    click.get_current_context().exit(status)


def meant(typed: str, known: Iterable[str]) -> str:
    """Which known words are near what was typed, as the end of a sentence; "" for none."""
    folded = {one.casefold().replace("_", "-"): one for one in known}
    wanted = typed.strip().casefold().replace("_", "-")
    close = get_close_matches(wanted, folded, n=3, cutoff=0.6)
    return f" (did you mean {' or '.join(folded[one] for one in close)}?)" if close else ""


def examples(*lines: str) -> str:
    """The end of a help text: commands as they are typed, each on lines of its own."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def prompter() -> Callable[[str], str] | None:
    """Asks for a text, which may be empty; None where nobody can answer."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None

    def ask(question: str) -> str:
        return str(click.prompt(question, default="", show_default=False, err=True)).strip()

    return ask


def asker() -> Callable[[str], bool] | None:
    """Asks whether a target that only a file names may be run; None where nobody can answer."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None

    def ask(target: str) -> bool:
        name = printable(target).replace("\n", "\\n")
        return click.confirm(
            f"The evidence names {name}. To replay it, its code is run. Do you trust it?", err=True
        )

    return ask
