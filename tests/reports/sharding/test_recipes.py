"""The recipes of docs/scale.md, run as their runners would run them, so that they cannot rot.

What GitHub and GitLab do themselves (matrix, order of jobs, artifacts) is done here by a few lines;
`pip` does nothing, since dpwitness is installed, and there are fewer trials. All `run` and `script`
lines are those of the page.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

PAGE = (Path(__file__).parents[3] / "docs" / "scale.md").read_text(encoding="utf-8")
RELEASE = """
from dpwitness.mechanisms.model import Interval, Mechanism, PrivacyClaim, Relation, Rows

def noisy(database, rng):
    return len(database) + rng.laplace(scale=0.4)
noisy.block = 64
total = Mechanism(
    name="total", run=noisy, databases=Rows(row=Interval(low=0, high=1)),
    claims=(PrivacyClaim(epsilon=1.0, relation=Relation.ADD_REMOVE),),
)
"""
TRIALS = "2000"


class Runner:
    """A machine for each job: a folder with the repository, and a shell."""

    def __init__(self, folder):
        self.folder, self.artifacts = folder, folder / "artifacts"
        tools = folder / "tools"
        tools.mkdir()
        for name, line in (
            ("pip", 'test "$*" = "install dpwitness"'),
            ("dpwitness", f'exec "{sys.executable}" -m dpwitness "$@"'),
        ):
            (tools / name).write_text(f"#!/bin/sh\n{line}\n")
            (tools / name).chmod(0o755)
        self.path = f"{tools}{os.pathsep}{os.environ['PATH']}"

    def checkout(self, name):
        place = self.folder / name
        place.mkdir()
        (place / "release.py").write_text(RELEASE)
        return place

    def run(self, line, place, **variables):
        environment = {**os.environ, "PATH": self.path, "TRIALS": TRIALS, **variables}
        return subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", line], cwd=place, env=environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def run_all(self, lines, place, **variables):
        for line in lines:
            done = self.run(line, place, **variables)
            assert done.returncode == 0, f"{line}: {done.stderr}"


@pytest.fixture
def runner(tmp_path):
    return Runner(tmp_path)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The results of one process."""
    folder = tmp_path_factory.mktemp("alone")
    runner, words = Runner(folder), "--trials $TRIALS --json alone.json"
    done = runner.run(f"dpwitness audit release.py:total {words}", runner.checkout("alone"))
    assert done.returncode == 1, done.stderr
    return results_in(folder / "alone" / "alone.json")


def recipe(comment):
    """The YAML of the page that begins with this comment."""
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (found,) = [block for block in blocks if block.startswith(f"# {comment}")]
    return yaml.safe_load(found)


def results_in(path):
    found = json.loads(path.read_text())["results"]
    return [{k: v for k, v in one.items() if k not in ("seconds", "replay")} for one in found]


def require_one_process(runner, merge, place, alone):
    """The line that merges gives the verdict and the evidence of one process."""
    merged = runner.run(f"{merge} --json merged.json", place)
    assert merged.returncode == 1, merged.stderr
    assert results_in(place / "merged.json") == alone
    return merged


@pytest.mark.slow
def test_a_matrix_of_github(runner, alone):
    jobs = recipe("A matrix of GitHub")["jobs"]
    for number in jobs["shard"]["strategy"]["matrix"]["shard"]:
        place = runner.checkout(f"job-{number}")
        for step in jobs["shard"]["steps"]:
            said = json.dumps(step).replace("${{ matrix.shard }}", str(number))
            assert "${{" not in said, "an expression that is not understood here"
            step = json.loads(said)
            if "run" in step:
                runner.run_all([step["run"]], place)
            elif step["uses"].startswith("actions/upload-artifact"):
                kept = runner.artifacts / step["with"]["name"]
                kept.mkdir(parents=True)
                shutil.copy(place / step["with"]["path"], kept)
    assert jobs["merge"]["needs"] == "shard"
    place = runner.checkout("merge")
    *before, merge = jobs["merge"]["steps"]
    for step in before:
        if step.get("uses", "").startswith("actions/download-artifact"):
            for kept in runner.artifacts.iterdir():
                if fnmatch(kept.name, step["with"]["pattern"]):
                    shutil.copytree(kept, place / kept.name)
        elif "run" in step:
            runner.run_all([step["run"]], place)
    done = require_one_process(runner, merge["run"], place, alone)
    assert "::error" in done.stdout


@pytest.mark.slow
def test_parallel_jobs_of_gitlab(runner, alone):
    jobs = recipe("GitLab")
    assert jobs["stages"] == [jobs["shard"]["stage"], jobs["merge"]["stage"]]
    count, merging = jobs["shard"]["parallel"], runner.checkout("merge")
    for number in range(1, count + 1):
        place = runner.checkout(f"job-{number}")
        variables = {"CI_NODE_INDEX": str(number), "CI_NODE_TOTAL": str(count)}
        runner.run_all(jobs["shard"]["script"], place, **variables)
        for pattern in jobs["shard"]["artifacts"]["paths"]:
            for kept in place.glob(pattern):
                shutil.copy(kept, merging)
    *before, merge = jobs["merge"]["script"]
    runner.run_all(before, merging)
    require_one_process(runner, merge, merging, alone)


@pytest.mark.slow
def test_an_array_of_slurm(runner, alone):
    low, high, line, merge = re.search(
        r"sbatch --array=(\d+)-(\d+) --wrap '(.+)'\n(dpwitness tools merge .+)\n", PAGE
    ).groups()
    place = runner.checkout("shared")
    for number in range(int(low), int(high) + 1):
        runner.run_all(
            [line], place, SLURM_ARRAY_TASK_ID=str(number), SLURM_ARRAY_TASK_MIN=low,
            SLURM_ARRAY_TASK_COUNT=str(int(high) - int(low) + 1), SLURM_ARRAY_TASK_STEP="1",
        )  # fmt: skip
    require_one_process(runner, merge, place, alone)


@pytest.mark.slow
def test_shards_of_bazel(runner, alone):
    count, line = re.search(r"`shard_count = (\d+)` whose script is `(.+?)`", PAGE).groups()
    place = runner.checkout("shared")
    for number in range(int(count)):
        (outputs := place / f"shard-{number}").mkdir()
        runner.run_all(
            [line], place, TEST_SHARD_INDEX=str(number), TEST_TOTAL_SHARDS=count,
            TEST_SHARD_STATUS_FILE=str(outputs / "status"),
            TEST_UNDECLARED_OUTPUTS_DIR=str(outputs),
        )  # fmt: skip
        assert (outputs / "status").exists()
    merge = "dpwitness tools merge shard-*/counts.json --target release.py:total"
    require_one_process(runner, merge, place, alone)
