"""Functions that carry their claim are found by audit, gate, pytest and init alike."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from dpwitness.reports.adapters.marked import marked_in, marked_names, named_by
from dpwitness.reports.ci.commands import unlisted
from dpwitness.reports.ci.gate import read_entries

RELEASE = """
import dpwitness
from hypothesis import strategies as st

bits = st.builds(dpwitness.Pair, st.just(0), st.just(1))


@dpwitness.claims(epsilon=1, relation="replace-one", databases=bits)
def sound(database, rng, *, size=None):
    return database + rng.laplace(scale=1.0, size=size)


@dpwitness.claims(epsilon=1, relation="replace-one", databases=bits)
def broken(database, rng, *, size=None):
    return database + rng.laplace(scale=0.2, size=size)


def other(database, rng):
    return 0
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "release.py").write_text(RELEASE)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import dpwitness\n@dpwitness.claims(epsilon=1)\ndef f(): pass", ("f",)),
        ("import dpwitness as dp\n@dp.claims(epsilon=1)\ndef f(): pass", ("f",)),
        ("from dpwitness import claims\n@claims(epsilon=1)\ndef f(): pass", ("f",)),
        ("from dpwitness import claims as c\nif 1:\n @c(epsilon=1)\n def f(): pass", ("f",)),
        ("import dpwitness\ng = dpwitness.claims(epsilon=1)(f)", ("g",)),
        ("from other import claims\n@claims(epsilon=1)\ndef f(): pass", ()),
        ("import dpwitness\n@dpwitness.audit(epsilon=1)\ndef f(): pass", ()),
        ("'@dpwitness.claims(epsilon=1)'", ()),
        ("import dpwitness\n@a\n@dpwitness.claims(mu=1)\n@b\ndef f(): pass", ("f",)),
    ],
)
def test_marks_are_found_in_the_text_under_every_name(text, names):
    assert marked_names(text) == names


def test_files_folders_and_packages_are_named_so_that_they_can_be_audited(project):
    package = project / "mine" / "deep"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    (package / "sums.py").write_text(RELEASE)
    (project / "src").mkdir()
    (project / "src" / "broken_syntax.py").write_text("import dpwitness; claims (")
    wanted = ("mine.deep.sums:sound", "mine.deep.sums:broken")
    assert marked_in("mine", project) == marked_in("mine.deep", project) == wanted
    assert marked_in("release.py", project) == ("release.py:sound", "release.py:broken")
    assert marked_in("src", project) == marked_in("absent.py", project) == ()
    assert marked_in(".", project) == (*wanted, "release.py:sound", "release.py:broken")
    assert named_by("laplace", project) == ("laplace",)
    assert named_by("release.py:other", project) == ("release.py:other",)


@pytest.mark.long
def test_audit_takes_all_marked_functions_of_a_file_with_one_alpha(project, run):
    done = run("audit", "release.py", "--trials", 2000, "--json", "e.json", "--junit", "e.xml")
    assert done.exit_code == 1, done.output
    data = json.loads(Path("e.json").read_text("utf-8"))
    assert [one["target"] for one in data["results"]] == ["release.py:sound", "release.py:broken"]
    assert [one["verdict"] for one in data["findings"]] == ["not_refuted", "refuted"]
    assert sum(one["evidence"]["alpha"] for one in data["results"]) == pytest.approx(1e-3)
    again = run("replay", "e.json", "release.py:sound", "release.py:broken")
    assert again.exit_code == 1
    assert again.stdout.count("bit for bit") == 2
    one = run("audit", "release.py:broken", "--trials", 2000, "--quiet")
    assert one.stdout.startswith("Refuted: broken does not keep epsilon 1 (replace-one)")


def test_a_shard_is_of_one_function(project, run):
    done = run("audit", "release.py", "--shard", "1/2", "--json", "e.json")
    assert done.exit_code == 2
    assert "has 2 marked functions" in done.stderr


@pytest.mark.long
def test_the_gate_has_an_entry_for_each(project, run):
    Path("dpwitness.toml").write_text("trials = 2000\n[[gate]]\ntarget = 'release.py'\n")
    done = run("gate")
    assert done.exit_code == 1, done.output
    assert re.search(r"^REFUTED .* first run .*\s+release.py:broken$", done.stdout, re.MULTILINE)
    assert re.search(r"^not refuted .* first run .*\s+release.py:sound$", done.stdout, re.MULTILINE)
    assert "Gate failed: 1 of 2 entries" in done.stdout
    assert "2,000 trials, precision none" in " ".join(done.stdout.split())


@pytest.mark.long
def test_pytest_collects_them_without_a_test(pytester):
    pytester.makepyfile(release=RELEASE)
    listed = pytester.runpytest_subprocess("--collect-only", "-q")
    listed.stdout.fnmatch_lines(["release.py::sound", "release.py::broken"])
    done = pytester.runpytest_subprocess("--dp-trials", "2000")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(
        [
            "Refuted: broken does not keep epsilon 1 (replace-one): privacy loss >*",
            "*D  *",
            "*precision none*",
            "FAILED release.py::broken - PrivacyViolation: broken loses *",
        ]
    )
    done.stdout.no_fnmatch_line("*site-packages*")


def test_init_writes_no_test_for_what_is_a_test_already(project, run):
    done = run("init", "release.py:sound")
    assert done.exit_code == 0, done.output
    assert not (project / "tests").exists()
    assert "every marked function" in " ".join(done.stdout.split())
    (entry,) = tomllib.loads(Path("pyproject.toml").read_text())["tool"]["dpwitness"]["gate"]
    assert entry == {"target": "release.py:sound"}
    assert "nothing was written" in run("init", "release.py:sound").stdout


def test_a_file_of_marks_is_listed_whole_and_what_is_not_listed_is_named(project, run):
    (project / "more.py").write_text(RELEASE.replace("broken", "second"))
    foreign = project / "env"
    foreign.mkdir()
    (foreign / "pyvenv.cfg").touch()
    (foreign / "theirs.py").write_text(RELEASE)
    done = run("init", "release.py")
    assert done.exit_code == 0, done.output
    table = tomllib.loads((project / "pyproject.toml").read_text())["tool"]["dpwitness"]
    assert [one["target"] for one in table["gate"]] == ["release.py:sound", "release.py:broken"]
    assert "nothing was written" in run("init", "release.py").output
    (said,) = unlisted(read_entries(project), project)
    assert "no entry of gate names it: more.py:sound, more.py:second;" in said
    assert run("init", "more.py").exit_code == 0
    assert unlisted(read_entries(project), project) == []
