"""What an ordinary user may not read or write: one sentence, the status of the table, no traceback.

Run as root, the commands lose root's right to pass over permissions, and keep the files' owner.
"""

import ctypes
import os
import subprocess
import sys

import pytest

CAPBSET_DROP, DAC_OVERRIDE, DAC_READ_SEARCH = 24, 1, 2


def as_anybody():
    """Let the permissions of files count for what this process becomes."""
    if os.geteuid() == 0:
        library = ctypes.CDLL(None)
        for right in (DAC_OVERRIDE, DAC_READ_SEARCH):
            library.prctl(CAPBSET_DROP, right, 0, 0, 0)


MECHANISM = """
def sound(database, rng):
    return sum(database) + rng.laplace()
"""
SETTINGS = '[[gate]]\ntarget = "m.py:sound"\nepsilon = 1.0\npair = ["[]", "[1]"]\ntrials = 500\n'
AUDIT = ["audit", "m.py:sound", "--epsilon", "1", "--pair", "[]", "[1]", "--trials", "500"]


def run(folder, words, **environment):
    return subprocess.run(
        [sys.executable, "-m", "dpwitness", *words], cwd=folder, capture_output=True, text=True,
        # Compiled code of a file that may not be read would do in its place.
        timeout=120, check=False, preexec_fn=as_anybody,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    """A project with a history, evidence and a folder to close."""
    (tmp_path / "m.py").write_text(MECHANISM)
    (tmp_path / "dpwitness.toml").write_text(SETTINGS)
    (tmp_path / "closed").mkdir()
    assert run(tmp_path, ["gate"]).returncode == 0
    assert run(tmp_path, [*AUDIT, "--json", "evidence.json"]).returncode == 0
    assert run(tmp_path, [*AUDIT, "--shard", "1/1", "--json", "shard.json"]).returncode == 0
    yield tmp_path
    for place in (tmp_path, *tmp_path.rglob("*")):
        place.chmod(0o755)


CASES = (
    # (what is closed, its mode, words, status, words of the sentence)
    ("m.py", 0o000, AUDIT, 2, "m.py could not be loaded: PermissionError"),
    ("closed", 0o555, [*AUDIT, "--json", "closed/x.json"], 2, "cannot write 'closed/x.json'"),
    ("closed", 0o000, [*AUDIT, "--html", "closed/x.html"], 2, "cannot write 'closed/x.html'"),
    ("closed", 0o555, [*AUDIT, "--checkpoint", "closed/c"], 2, "cannot write the checkpoint"),
    ("closed", 0o555, ["gate", "--junit", "closed/j.xml"], 2, "cannot write 'closed/j.xml'"),
    ("closed", 0o555, ["gate", "--baseline", "closed/b", "--accept"], 2, "cannot write 'closed/b'"),
    ("closed", 0o555, ["reproduce", "T-LAP-1-NUM", "--out", "closed/o"], 2, "cannot make the"),
    ("closed", 0o000, ["audit", "closed/m.py:sound", "--epsilon", "1"], 2, "cannot read"),
    ("shard.json", 0o000, ["tools", "merge", "shard.json"], 2, "not readable"),
    ("evidence.json", 0o000, ["replay", "evidence.json"], 2, "not readable"),
    ("dpwitness.toml", 0o000, ["gate"], 2, "cannot be read (Permission denied)"),
    (".", 0o555, ["init", "closed.py:sound"], 2, "cannot"),
    (".", 0o555, ["demo"], 2, "cannot write"),
    (".dpwitness", 0o000, ["history"], 4, "cannot read"),
    (".dpwitness/history.db", 0o000, ["history"], 4, "cannot open"),
    (".dpwitness/history", 0o000, ["history"], 4, "cannot read"),
    (".dpwitness", 0o000, ["gate"], 0, "the history was not written"),
    (".dpwitness", 0o555, ["gate"], 0, "the run was kept in"),
)


@pytest.mark.slow
def test_what_may_not_be_used_is_a_sentence(folder):
    (folder / "closed.py").write_text(MECHANISM)
    (folder / ".dpwitness" / "history").mkdir()
    failures = []
    for name, mode, words, status, sentence in CASES:
        place = folder / name
        before = place.stat().st_mode & 0o777
        place.chmod(mode)
        done = run(folder, words, HOME=str(folder / "none"))
        place.chmod(before)
        bad = "Traceback" in done.stderr or "bug in dpwitness" in done.stderr
        if done.returncode != status or bad or sentence not in done.stderr:
            failures.append((name, words, done.returncode, done.stderr))
    print(f"{len(CASES)} cases, {len(failures)} failures")
    assert failures == []
