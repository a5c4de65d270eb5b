"""Runs of pytest inside pytest, with the plugin loaded once however it is installed."""

from importlib.metadata import entry_points

import pytest
import scipy.stats  # noqa: F401 - runs inside forget their imports, and numpy loads once only

INSTALLED = any(e.value == "dpwitness.reports.ci.plugin" for e in entry_points(group="pytest11"))
PLUGIN = () if INSTALLED else ("-p", "dpwitness.reports.ci.plugin")


@pytest.fixture
def project(pytester, monkeypatch):
    """A folder with tests; `run(*options)` runs them in this process."""
    # A worker of pytest-xdist says so in its environment; what runs inside is no worker.
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    pytester.makepyprojecttoml("[tool.dpwitness]\ntrials = 2000\nalpha = 0.01\n")
    pytester.run_here = lambda *options, **kw: pytester.runpytest_inprocess(
        *PLUGIN, "-p", "no:cacheprovider", *options, **kw
    )
    pytester.run_apart = lambda *options: pytester.runpytest_subprocess(*PLUGIN, *options)
    return pytester
