"""The pytest plugin: hooks, and a test for every function that carries its claim.

Nothing heavy is imported before a test asks for an audit.

One alpha for the whole run is shared out over the tests that use `dp_audit` as soon as they are
collected, before `-k`, `-m` or `--lf` put any aside; every worker collects the same tests and
reckons the same shares. Verdicts are reached where the test runs and travel to the controller in
the test's user properties, which the JUnit report carries too.
"""

import json
import os
import re
import secrets
import sys
import warnings
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsFloat

import pytest

from ...auditors.errors import DpWitnessError
from ..settings.settings import SettingsError, find_table, read_settings
from .collector import HISTORY, RUN, SHARE, Collector
from .pytest_run import (
    LockError,
    Run,
    Share,
    added_by_holm,
    lock_text,
    read_lock,
    shares,
    write_summary,
)
from .watch import WATCH, Watch

if TYPE_CHECKING:
    from .audits import DpAudit

FIXTURE = "dp_audit"
AGAIN = ("reruns", "retries", "force_flaky")
"""Options of pytest-rerunfailures, pytest-retry and flaky that run a failed test again."""


DRAWING = ("workers", "backend", "scheduler", "address")
"""Settings that say who draws."""

OURS = (AssertionError, DpWitnessError)
PASSED = pytest.StashKey[bool]()
"""Whether the call of a test passed."""
CLOSED = pytest.StashKey[list[str]]()
"""Standard streams that were closed when pytest was started."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options; each overrides the setting of the same name in [tool.dpwitness]."""
    group = parser.getgroup("dpwitness", "differential-privacy audits")
    group.addoption("--dp-alpha", type=float, help="False-alarm probability of the whole run.")
    group.addoption("--dp-trials", metavar="N", help="Runs per database for each audit.")
    group.addoption("--dp-seconds", type=float, help="Wall-clock budget for each audit.")
    group.addoption("--dp-precision", metavar="SHARE|none", help="Once refuted, stop when the "
                    "bound is known to this part of itself.")  # fmt: skip
    group.addoption("--dp-seed", metavar="K|random", help="Seed of the run's draws.")
    group.addoption("--dp-profile", help="dev, ci, nightly, or a profile of your own.")
    group.addoption("--dp-report", metavar="DIR", help="Write each audit as JSON and HTML there.")
    group.addoption("--dp-workers", type=int, metavar="N", help="Workers that draw for an audit.")
    group.addoption("--dp-backend", help="What draws in them: loky, dask or ray.")
    group.addoption("--dp-scheduler", metavar="ADDRESS", help="A dask scheduler.")
    group.addoption("--dp-address", metavar="ADDRESS", help="A running ray cluster.")
    group.addoption("--dp-strict", action="store_true", help="Inconclusive audits fail.")
    group.addoption("--dp-no-watch", action="store_true",
                    help="No second process waits for the one that runs the tests.")  # fmt: skip
    group.addoption("--dp-lock", action="store_true",
                    help="Write the lock file that keeps every test's share of alpha.")  # fmt: skip


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, None, None]:
    """Give pytest streams to end with where it has none, before it captures them."""
    closed: list[str] = []
    if sys.stdout is None:
        closed.append("standard output is")
        sys.stdout = Path(os.devnull).open("w")
    if sys.stderr is None:
        closed.append("standard error is")
        sys.stderr = sys.stdout
    early_config.stash[CLOSED] = closed
    return (yield)


def pytest_configure(config: pytest.Config) -> None:
    """Read the settings; a bad one is a usage error, in a sentence."""
    closed: list[str] = config.stash.get(CLOSED, [])
    if closed:
        # pytest would end with 1, as it does for a test that fails, whatever came of the tests.
        raise pytest.UsageError(
            f"dpwitness: {' and '.join(closed)} closed, where pytest tells what came "
            "of the tests; open it, as with > pytest.log 2>&1"
        )
    config.addinivalue_line(
        "markers",
        "dp(weight=1, audits=1, trials=None, seconds=None): share of the run's alpha, number of "
        "dp_audit calls, and runs per database or wall-clock budget of each audit of a test",
    )
    option = config.option
    try:
        given = {"alpha": option.dp_alpha, "profile": option.dp_profile,
                 "seed": _seed(option.dp_seed),
                 **{name: getattr(option, f"dp_{name}") for name in DRAWING},
                 "inconclusive": "fail" if option.dp_strict else None,
                 "trials": _trials(option.dp_trials, "--dp-trials"),
                 "seconds": option.dp_seconds,
                 "precision": _precision(option.dp_precision)}  # fmt: skip
        settings = read_settings(config.rootpath, given)
        if option.dp_lock and config.getoption("lf", False):
            raise SettingsError(
                "--lf leaves out files without failures, and --dp-lock is to list every test; "
                "write the lock file without --lf"
            )
        lock = read_lock(config.rootpath / settings.lock)
    except (SettingsError, LockError) as error:
        raise pytest.UsageError(f"dpwitness: {error}") from None
    if option.dp_report and Path(option.dp_report).is_file():
        raise pytest.UsageError(
            f"dpwitness: --dp-report takes a folder, and {option.dp_report} is a file; nothing was "
            "run"
        )
    handed: Mapping[str, Any] = getattr(config, "workerinput", {})
    seed = handed.get("dpwitness_seed", settings.seed)
    config.stash[RUN] = Run(
        settings=settings,
        seed=secrets.randbits(48) if seed is None else seed,
        refusal=handed.get("dpwitness_refusal", _refusal(config)),
        report=Path(option.dp_report).absolute() if option.dp_report else None,
        lock=lock,
    )
    config.stash[WATCH] = Watch()
    if not handed:
        config.pluginmanager.register(Collector(config, config.stash[RUN]), "dpwitness-collector")


def _seed(text: str | None) -> int | str | None:
    if text is None or text == "random":
        return text
    try:
        return int(text)
    except ValueError:
        raise SettingsError(f'--dp-seed takes a whole number or "random", got {text!r}') from None


def _trials(given: str | SupportsFloat | None, name: str) -> int | None:
    """A whole number, which may be written 1e6; None from None."""
    if given is None:
        return None
    with suppress(ValueError, OverflowError, TypeError):
        number = float(given)
        if number == int(number) and number >= 2:
            return int(number)
    raise SettingsError(f"{name} takes runs per database, such as 200000 or 1e6; got {given!r}")


def _seconds(given: object) -> float | None:
    if given is None or (isinstance(given, int | float) and 0 < given < inf):
        return given
    raise SettingsError(f"seconds must be a positive number, got {given!r}")


def _precision(given: str | None) -> float | str | None:
    """A share, or the word none; the settings say what is wrong with anything else."""
    with suppress(ValueError, TypeError):
        return float(given)  # type: ignore[arg-type]
    return given


def _refusal(config: pytest.Config) -> str:
    """Why audits cannot be run this way; empty where they can."""
    if config.getoption("dist", "no") == "each":
        return (
            "--dist each runs every test once per worker and would spend the error probability "
            "many times over; use --dist load, loadscope, loadfile, loadgroup or worksteal"
        )
    for name in AGAIN:
        if config.getoption(name, None) or _configured(config, name):
            return (
                f"--{name.replace('_', '-')} gives a refuted audit further chances; an audit is to "
                "be run once, so leave the option out or put the audits into a run of their own"
            )
    return ""


def _configured(config: pytest.Config, name: str) -> bool:
    """Whether the project's file sets the option of another plugin; unknown ones are not set."""
    try:
        value = config.getini(name)
    except (ValueError, KeyError):
        return False
    return str(value or "").strip().lower() not in ("", "0", "false", "no", "none")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Hand the seed and the refusal to a worker of pytest-xdist."""
    run = node.config.stash[RUN]
    node.workerinput["dpwitness_seed"] = run.seed
    node.workerinput["dpwitness_refusal"] = run.refusal


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main(
    config: pytest.Config,
) -> Generator[None, int | None, int | None]:
    """Say how the session ended, to the process that waits for this one."""
    status = yield
    if WATCH in config.stash:
        config.stash[WATCH].ends(int(status or 0))
    return status


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Be watched from before the tests are loaded, in a project that has settings."""
    if _runs_here(session.config) and find_table(session.config.rootpath)[0]:
        session.config.stash[WATCH].begin()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Be watched where an audit is to run."""
    asked = any(FIXTURE in getattr(item, "fixturenames", ()) for item in session.items)
    if asked and _runs_here(session.config):
        session.config.stash[WATCH].begin()


def _runs_here(config: pytest.Config) -> bool:
    """Whether this process runs tests, and may be watched while it does."""
    elsewhere = hasattr(config, "workerinput") or config.getoption("dist", "no") != "no"
    return not (elsewhere or config.option.collectonly or config.option.dp_no_watch)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Name the test that runs, for the process that waits."""
    watch = item.config.stash[WATCH]
    watch.runs(item.nodeid)
    try:
        return (yield)
    finally:
        watch.runs("")


def pytest_enter_pdb(config: pytest.Config) -> None:
    """Whoever debugs may take as long as it takes."""
    config.stash[WATCH].pause()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Functions that carry their claim, `@dpwitness.claims(...)`, are tests of their own."""
    if file_path.suffix != ".py":
        return None
    from ..adapters.marked import names_in

    if not names_in(file_path):
        return None
    return MarkedFile.from_parent(parent, path=file_path)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Share alpha out over the collected audits, before any test is put aside or run."""
    run = config.stash[RUN]
    audits = [item for item in items if FIXTURE in getattr(item, "fixturenames", ())]
    marks = {}
    for item in audits:
        mark = item.get_closest_marker("dp")
        weight, number, budget = _mark_options(item, mark)
        run.weights[item.nodeid], marks[item.nodeid] = weight, (number, budget)
    if not audits:
        return
    if config.option.dp_lock and not hasattr(config, "workerinput"):
        path = config.rootpath / run.settings.lock
        path.write_text(lock_text(run.weights), encoding="utf-8")
        run.lock = read_lock(path)
    allotted = shares(run.weights, run.settings.alpha, run.lock)
    for item in audits:
        if item.nodeid not in allotted:
            continue  # what has no share is told when it asks for an audit
        item.stash[SHARE] = Share(allotted[item.nodeid], *marks[item.nodeid])


def _mark_options(
    item: pytest.Item, mark: pytest.Mark | None
) -> tuple[float, int, dict[str, object]]:
    """Weight, number of audits and budget that the mark asks for."""
    given = dict(mark.kwargs) if mark else {}
    weight, audits = given.pop("weight", 1), given.pop("audits", 1)
    budget = {name: given.pop(name, None) for name in ("trials", "seconds")}
    try:
        if given or (mark and mark.args):
            got = ", ".join([*given, *map(repr, mark.args if mark else ())])
            raise SettingsError(f"it takes weight, audits, trials and seconds, got {got}")
        if not isinstance(weight, (int, float)) or not 0 < weight < 1e12:
            raise SettingsError(f"weight must be a positive number, got {weight!r}")
        if not isinstance(audits, int) or audits < 1:
            raise SettingsError(f"audits must be a whole number from 1, got {audits!r}")
        budget["trials"] = _trials(budget["trials"], "trials")
        budget["seconds"] = _seconds(budget["seconds"])
    except SettingsError as error:
        raise pytest.UsageError(f"dpwitness: marker dp of {item.nodeid}: {error}") from None
    return float(weight), audits, {name: one for name, one in budget.items() if one is not None}


@pytest.fixture
def dp_audit(request: pytest.FixtureRequest) -> "Generator[DpAudit, None, None]":
    """Audit a mechanism: `dp_audit(mechanism, epsilon=1.0, ...)`, options as of `audit`.

    A refuted claim fails the test with the witness; otherwise the result is returned. A test that
    passes and never called it is named in a warning: it audited nothing.
    """
    from .audits import audit_of

    made = audit_of(request.node)
    yield made
    if not made.calls and request.node.stash.get(PASSED, False):
        warnings.warn(
            pytest.PytestWarning(
                f"{request.node.nodeid} takes dp_audit and never calls it, so it audited nothing; "
                "call dp_audit(mechanism, epsilon=..., relation=..., databases=...), or leave the "
                "fixture out"
            ),
            stacklevel=1,
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, Any]:
    """Send what the history keeps to the controller, beside the report and not in the JUnit.

    The line of the short summary has no room for the module that a class of ours stands in, and
    for a refutation in a whole sentence.
    """
    report = yield
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        crash.message = re.sub(r"^dpwitness\.[\w.]*?(\w+: )", r"\1", crash.message)
        if call.excinfo is not None and (short := getattr(call.excinfo.value, "short", "")):
            crash.message = f"{call.excinfo.typename}: {short}"
    if report.when == "call":
        item.stash[PASSED] = report.passed
    if report.when == "call" and HISTORY in item.stash:
        report.dpwitness_history = json.dumps(item.stash[HISTORY])
    return report


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let Holm's procedure add rejections, and set the exit status if it does."""
    config = session.config
    if RUN not in config.stash:
        return
    run = config.stash[RUN]
    if hasattr(config, "workeroutput"):
        config.workeroutput["dpwitness_weights"] = run.weights
        return
    if run.records:
        run.added = added_by_holm(run.records, run.settings.alpha)
        if run.added and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if run.history:
        from ...auditors.evidence.conversion import revived
        from ..history.recorder import new_run, record

        # By test, as workers may report in any order.
        tests, results = zip(*sorted(run.history, key=lambda one: one[0]), strict=True)
        place = config.rootpath / run.settings.directory
        run.told = record(place, new_run(), list(map(revived, results)), tests, run.seed)


def pytest_terminal_summary(terminalreporter: object, config: pytest.Config) -> None:
    """One line for every audit."""
    run = config.stash[RUN] if RUN in config.stash else None
    if run is None or hasattr(config, "workerinput"):
        return
    if run.records or run.crashed or run.raised:
        write_summary(terminalreporter, run)


class MarkedFile(pytest.File):
    """A file in which functions are marked with `dpwitness.claims`."""

    def collect(self) -> Iterator["MarkedTest"]:
        """One test for each; nothing is imported yet."""
        from ..adapters.marked import marked_file

        for target in marked_file(self.path, self.config.rootpath):
            yield MarkedTest.from_parent(self, name=target.rpartition(":")[2], target=target)


class MarkedTest(pytest.Item):
    """The audit of one marked function."""

    fixturenames = ("dp_audit",)

    def __init__(self, *, target: str, **given: object) -> None:
        super().__init__(**given)  # type: ignore[arg-type]
        self.target = target

    def runtest(self) -> None:
        """Audit it as a test with the fixture would."""
        __tracebackhide__ = True
        from .audits import audit_of

        audit_of(self)(self.target)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """The sentence or the witness; there is no line of a test that could be shown."""
        return (
            excinfo.getrepr(style="value")
            if isinstance(excinfo.value, OURS)
            else (super().repr_failure(excinfo, style))
        )

    def reportinfo(self) -> tuple[str, int | None, str]:
        """Where it stands, for pytest."""
        return str(self.path), None, self.target
