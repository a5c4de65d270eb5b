"""The sample repository, as a team would run it: the same verdicts however it is distributed."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytestmark = pytest.mark.slow

INSTALLED = any(e.value == "dpwitness.reports.ci.plugin" for e in entry_points(group="pytest11"))
PLUGIN = () if INSTALLED else ("-p", "dpwitness.reports.ci.plugin")
SAMPLE = Path(__file__).resolve().parents[3] / "docs" / "sample"


def run(folder, *options, module="pytest"):
    """pytest in a process of its own, as a team would call it."""
    plugin = PLUGIN if module == "pytest" else ()
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, "-m", module, *plugin, *options],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture
def sample(tmp_path):
    folder = tmp_path / "sample"
    shutil.copytree(SAMPLE, folder, ignore=shutil.ignore_patterns(".dpwitness", "__pycache__"))
    return folder


MODES = ((), ("-n", "2"), ("-n", "2", "--dist", "loadscope"), ("-n", "2", "--dist", "worksteal"))


def told(done, path):
    """Outcome and record of every test, from the JUnit file."""
    root, records = ElementTree.parse(path), {}
    for told in root.iter("property"):
        _, test, _ = told.get("name").split()
        records[test.rpartition("::")[2]] = json.loads(told.get("value"))
    found = {}
    for case in root.iter("testcase"):
        record = records[case.get("name")]
        record.pop("seconds")
        found[case.get("name")] = (case.find("failure") is not None, record)
    return found


def test_every_way_of_running_fails_on_the_same_test_with_the_same_witness(sample):
    seen = []
    for mode in MODES:
        shutil.rmtree(sample / ".dpwitness", ignore_errors=True)
        done = run(sample, *mode, "--junit-xml", "junit.xml")
        assert done.returncode == 1, done.stdout
        outcomes = told(done, sample / "junit.xml")
        (witness,) = (sample / ".dpwitness" / "witnesses").iterdir()
        data = json.loads(witness.read_text())
        (result,), (found,) = data["results"], data["findings"]
        seen.append((outcomes, result["smaller"], result["evidence"], found))
    assert len(seen[0][0]) == 10
    assert [name for name, (failed, _) in seen[0][0].items() if failed] == [
        "test_noisy_maximum_age"
    ]
    assert all(other == seen[0] for other in seen[1:])


def test_the_kept_witness_replays_from_the_command_line(sample):
    run(sample)
    (witness,) = (sample / ".dpwitness" / "witnesses").iterdir()
    printed = json.loads(witness.read_text())["results"][0]["replay"]
    done = run(sample, *shlex.split(printed)[1:], module="dpwitness.reports.cli")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "The same counts, bit for bit" in " ".join(done.stdout.split())


def test_each_is_refused_and_a_dying_worker_is_no_pass(sample):
    refused = run(sample, "-n", "2", "--dist", "each")
    assert refused.returncode == 1
    assert "--dist each runs every test once per worker" in refused.stdout
    (sample / "checks" / "test_crash.py").write_text(
        "import os, signal\n"
        "def dies(x, rng):\n    os.kill(os.getpid(), signal.SIGSEGV)\n\n"
        "def test_dies(dp_audit):\n    dp_audit(dies, epsilon=1.0, pair=(0, 1))\n\n"
        "def raises(x, rng):\n    raise ValueError\n\n"
        "def test_raises(dp_audit):\n    dp_audit(raises, epsilon=1.0, pair=(0, 1))\n"
    )
    done = run(sample, "-n", "2")
    assert done.returncode == 1
    assert re.search(r"no result     checks/test_crash.py::test_dies: the worker died", done.stdout)
    assert "test_crash.py::test_raises: it failed before an audit ended" in done.stdout
    assert re.search(r"3 failed, 9 passed", done.stdout)
    alone = run(sample, "checks/test_crash.py")
    assert alone.returncode == 4
