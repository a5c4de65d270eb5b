"""What pytest keeps and collects for dpwitness.

It keeps what a run knows of its audits between the hooks, and its controller collects what the
workers report: records of audits, and tests whose worker died.

pytest puts the properties of a test into its testcase of the JUnit file, where the schema of
xunit2, its default form, allows none. There they stand on the suite, each under its test's name.
"""

import json
from collections.abc import Mapping
from typing import Protocol

import pytest

from ...auditors.evidence.record import ResultRecord
from .pytest_run import PROPERTY, Line, Run, Share

RUN = pytest.StashKey[Run]()
SHARE = pytest.StashKey[Share]()
HISTORY = pytest.StashKey[list[ResultRecord]]()
"""The results of one test as entries of an evidence file, for the history."""


class Collector:
    """A plugin of the controller; it fills `records`, `history` and `crashed` of the run."""

    def __init__(self, config: pytest.Config, run: Run) -> None:
        self.config, self.run = config, run

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what the report of a test carries, before the JUnit file is written from it."""
        for name, value in report.user_properties:
            if name == PROPERTY:
                record = json.loads(str(value))
                self.run.records.setdefault((report.nodeid, record["number"]), record)
        if _strict_junit(self.config) is not None:
            report.user_properties = [p for p in report.user_properties if p[0] != PROPERTY]
        for result in json.loads(getattr(report, "dpwitness_history", "[]")):
            self.run.history.append((report.nodeid, result))
        if report.failed and report.when not in ("setup", "call", "teardown"):
            self.run.crashed.append(report.nodeid)
        elif report.failed and not any(test == report.nodeid for test, _ in self.run.records):
            self.run.raised.append(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """Take over the weights that a worker collected."""
        told = getattr(node, "workeroutput", None) or {}
        self.run.weights.update(told.get("dpwitness_weights", {}))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Put the records on the suite of the JUnit file, before it is written."""
        writer = _strict_junit(self.config)
        if writer is not None:
            _put_in_suite(writer, self.run.records)


class _Suite(Protocol):
    def add_global_property(self, name: str, value: str) -> None: ...


def _strict_junit(config: pytest.Config) -> _Suite | None:
    """What writes the JUnit file in the form of xunit2; None if nothing does."""
    if config.getini("junit_family") != "xunit2":
        return None
    plugins = config.pluginmanager.get_plugins()
    return next((one for one in plugins if hasattr(one, "add_global_property")), None)


def _put_in_suite(writer: _Suite, records: Mapping[tuple[str, int], Line]) -> None:
    """One property for each audit, its name ending in the test's and its number there."""
    for (test, number), record in sorted(records.items(), key=lambda one: one[0]):
        writer.add_global_property(f"{PROPERTY} {test} {number}", json.dumps(record))
