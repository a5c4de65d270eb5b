"""`init` writes what runs as it stands, and nothing that is green before somebody has chosen."""

import ast
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from dpwitness.reports.ci import scaffold
from dpwitness.reports.ci.gate import read_entries
from dpwitness.reports.ci.scaffold import Promise, origin
from dpwitness.reports.cli import main
from dpwitness.reports.settings.settings import SettingsError

RELEASE = """
from hypothesis import strategies as st

ages = st.lists(st.integers(0, 120), max_size=30)


def wrong_sum(database, rng, *, size=None):
    return sum(min(age, 100) for age in database) + rng.laplace(scale=50, size=size)


def right_sum(database, rng, *, size=None):
    return sum(min(age, 100) for age in database) + rng.laplace(scale=100, size=size)
"""
CLAIM = ("--epsilon", "1", "--relation", "add-remove")
NAMES = ["release.py", "my-release.py", "2release.py", "class.py", "a b.py", "sub-dir/it.py",
         "pkg/mech.py", "random.py", "../beside.py", 'quo"te.py']  # fmt: skip


@pytest.fixture
def run(tmp_path, monkeypatch):
    root = tmp_path / "root"
    root.mkdir()
    monkeypatch.chdir(root)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    Path("release.py").write_text(RELEASE)
    return lambda *words: CliRunner().invoke(main, words)


def written():
    """Every file under the folder, with its bytes."""
    return {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "given",
    [(), ("--epsilon", "1"), CLAIM, ("--databases", "release.py:ages"), ("--pair", "[]", "[1]")],
)
def test_what_nobody_has_said_leaves_the_gate_unfinished(run, given):
    made = run("init", "release.py:wrong_sum", *given)
    assert made.exit_code == 0, made.output
    assert "Not finished: say which" in " ".join(made.output.split())
    done = run("gate")
    assert done.exit_code == 2
    assert "is not finished: say which" in done.stderr
    if "databases" not in "".join(given) and "--pair" not in given:
        assert "say which databases" in done.stderr
        assert "release.py:ages" in made.output
    (test,) = Path("tests").iterdir()
    assert "=..." in test.read_text()


@pytest.mark.long
def test_an_open_test_fails_and_says_what_is_open(pytester):
    pytester.makepyfile(mine=RELEASE)
    pytester.makepyfile(
        "import mine\n"
        "def test_it(dp_audit):\n"
        "    dp_audit(mine.wrong_sum, epsilon=1, relation='add-remove', databases=...)\n"
    )
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*this test is not finished: say which databases*"])


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_any_name_gets_settings_and_a_test_that_can_be_read(run, name):
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(RELEASE)
    made = run("init", f"{name}:right_sum", *CLAIM, "--databases", f"{name}:ages")
    assert made.exit_code == 0, made.output
    (entry,) = read_entries(Path())
    assert (entry.target, entry.options["databases"]) == (f"{name}:right_sum", f"{name}:ages")
    (test,) = Path("tests").iterdir()
    tree = ast.parse(test.read_text())
    imported = any(isinstance(node, ast.ImportFrom) for node in ast.walk(tree))
    assert imported == (name in ("release.py", "pkg/mech.py"))
    assert ("=..." in test.read_text()) is False
    before = written()
    assert "nothing was written" in run("init", f"{name}:right_sum").output
    assert written() == before


# A file that hides a module of Python breaks every program that is started beside it.
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name != "random.py"])
@pytest.mark.parametrize(("mechanism", "status"), [("wrong_sum", 1), ("right_sum", 0)])
def test_the_broken_twin_is_red_and_the_right_one_green_at_once(run, name, mechanism, status):
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(RELEASE)
    assert run("init", f"{name}:{mechanism}", *CLAIM, "--databases", f"{name}:ages").exit_code == 0
    for program in ("dpwitness", "pytest"):
        words = ["gate"] if program == "dpwitness" else ["-q", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [Path(sys.executable).with_name(program), *words],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == status, done


def test_a_pair_is_written_as_it_was_given(run):
    assert run("init", "release.py:right_sum", *CLAIM, "--pair", "[]", "[[1, true]]").exit_code == 0
    (test,) = Path("tests").iterdir()
    assert "pair=([], [[1, True]])" in test.read_text()


def test_a_mechanism_with_claims_and_databases_of_its_own_needs_nothing(run):
    Path("mine.py").write_text("from dpwitness.mechanisms.noise.laplace import LAPLACE as M\n")
    assert "Now run" in run("init", "mine.py:M").output
    (test,) = Path("tests").iterdir()
    assert "dp_audit(M)" in test.read_text()


def test_lines_keep_their_ends(run):
    Path("pyproject.toml").write_bytes(b'[project]\r\nname = "x"\r\n')
    assert run("init", "release.py:right_sum", *CLAIM, "--pair", "[]", "[1]").exit_code == 0
    text = Path("pyproject.toml").read_bytes()
    assert text.count(b"\n") == text.count(b"\r\n")
    assert tomllib.loads(text.decode())["project"]["name"] == "x"


def _link(place):
    Path(place).parent.mkdir(exist_ok=True, parents=True)
    os.symlink("/no/such/place", place)


BLOCKED = {
    "inline gate": lambda: Path("dpwitness.toml").write_text('gate = [{target = "a:b"}]\n'),
    "inline tool": lambda: Path("pyproject.toml").write_text("tool = {other = 1}\n"),
    "tests a file": lambda: Path("tests").write_text(""),
    "dangling test": lambda: _link("tests/test_right_sum_privacy.py"),
    "dangling tests": lambda: _link("tests"),
    "dangling conftest": lambda: _link("conftest.py"),
    "dangling settings": lambda: _link("pyproject.toml"),
    "dangling folder": lambda: _link(".github"),
    "dangling workflow": lambda: _link(".github/workflows/privacy.yml"),
}


@pytest.mark.parametrize("name", BLOCKED)
def test_where_nothing_can_be_written_nothing_is(run, name):
    BLOCKED[name]()
    before = written()
    done = run("init", "release.py:right_sum", *CLAIM, "--pair", "[]", "[1]", "--github")
    assert done.exit_code == 2, done.output
    assert "nothing was done" in done.stderr
    assert written() == before


@pytest.mark.parametrize("words", [("--epsilon", "-1"), ("--databases", "release.py:none"),
    ("--pair", "[]", "[1"), ("--pair", "[]", "[1]", "--databases", "release.py:ages")])  # fmt: skip
def test_what_makes_no_sense_is_refused_and_nothing_written(run, words):
    before = written()
    assert run("init", "release.py:right_sum", *words).exit_code == 2
    assert written() == before


class Installed:
    """A distribution as pip leaves it."""

    version = "9.8"

    def __init__(self, direct):
        self.direct = direct

    def read_text(self, name):
        return self.direct and json.dumps(self.direct)


GIT = {"vcs": "git", "commit_id": "c0ffee"}


@pytest.mark.parametrize(
    ("direct", "address"),
    [
        (None, "dpwitness==9.8"),
        ({"url": "https://host.org/a/dpwitness", "vcs_info": GIT},
         "dpwitness @ git+https://host.org/a/dpwitness@c0ffee"),
        ({"url": "git@host.org:a/dpwitness.git", "vcs_info": GIT},
         "dpwitness @ git+https://host.org/a/dpwitness.git@c0ffee"),
        ({"url": "https://me:secret@host.org/a/dpwitness", "vcs_info": GIT}, ""),
        ({"url": "file:///no/such/folder", "dir_info": {}}, ""),
        ({"url": "https://host.org/x';rm -rf", "vcs_info": GIT}, ""),
        ({}, ""),
    ],
)  # fmt: skip
def test_a_workflow_installs_what_is_installed_here(monkeypatch, direct, address):
    monkeypatch.setattr(scaffold.metadata, "distribution", lambda name: Installed(direct))
    assert origin() == (address if direct != {} else "")


def test_pipelines_are_written_on_request_and_never_overwritten(run, monkeypatch):
    monkeypatch.setattr("dpwitness.reports.ci.scaffold.origin", lambda: "")
    run("init", "release.py:right_sum")
    workflow, pipeline = Path(".github/workflows/privacy.yml"), Path(".gitlab-ci.yml")
    assert not workflow.exists()
    assert not pipeline.exists()
    run("init", "release.py:right_sum", "--github", "--gitlab")
    for path, link in ((workflow, "steps.page.outputs.artifact-url"), (pipeline, "expose_as")):
        text = path.read_text()
        assert "dpwitness gate" in text
        assert "--html privacy.html" in text
        assert "exit 2" in text
        assert link in text
    pipeline.write_text("mine: {}\n")
    assert "kept" in run("init", "release.py:right_sum", "--gitlab").stderr
    assert pipeline.read_text() == "mine: {}\n"


def test_settings_in_one_line_are_refused(tmp_path):
    (tmp_path / "dpwitness.toml").write_text("gate = []\n")
    with pytest.raises(SettingsError, match="nothing can be appended"):
        scaffold.scaffold("m.py:f", tmp_path, Promise())
