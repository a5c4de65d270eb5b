"""A standard stream that is closed, full or without a reader: a sentence and a true status."""

import json
import os
import subprocess
import sys

import pytest

MECHANISM = """
def broken(database, rng):
    return sum(database) + rng.laplace() / 10
"""
CLAIM = ["m.py:broken", "--epsilon", "1", "--pair", "[]", "[1]", "--trials", "500"]
COMMANDS = {
    "version": (["--version"], 0),
    "help": (["--help"], 0),
    "help of a command": (["replay", "--help"], 0),
    "list": (["list", "laplace"], 0),
    "audit": (["audit", *CLAIM], 1),
    "fingerprint": (["tools", "fingerprint", *CLAIM], 0),
    "estimate": (["estimate", *CLAIM[:1], *CLAIM[3:]], 0),
    "gate": (["gate"], 1),
    "reproduce": (["reproduce", "T-LAP-1-NUM", "--workers", "1"], 0),
    "history": (["history"], 0),
    "replay": (["replay", "evidence.json", "m.py:broken"], 1),
    "judge": (["judge", "one.txt", "two.txt", "--epsilon", "1"], 1),
    "law": (["judge", "one.txt", "--law", "constant(1)"], 1),
    "merge": (["tools", "merge", "shard.json", "--target", "m.py:broken"], 1),
}
"""Words, and the status where every stream leads somewhere."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Everything that the commands read."""
    place = tmp_path_factory.mktemp("streams")
    (place / "m.py").write_text(MECHANISM)
    (place / "dpwitness.toml").write_text(
        '[[gate]]\ntarget = "m.py:broken"\nepsilon = 1.0\npair = ["[]", "[1]"]\ntrials = 500\n'
    )
    for name, value in (("one", 0.0), ("two", 1.0)):
        (place / f"{name}.txt").write_text(f"{value}\n" * 400)
    for words in (["--json", "evidence.json"], ["--shard", "1/1", "--json", "shard.json"]):
        done = run(place, ["audit", *CLAIM, *words])
        assert done.returncode in (0, 1), done
    return place


def run(folder, words, **given):
    return subprocess.run(
        [sys.executable, "-m", "dpwitness", *words],
        **{"cwd": folder, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True,
           "timeout": 120, "check": False, **given},
    )  # fmt: skip


def without_reader():
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_stream_that_is_closed_or_full(folder, name):
    words, status = COMMANDS[name]
    closed = run(folder, words, stdout=None, preexec_fn=lambda: os.close(1))
    assert closed.returncode == 4, closed
    assert closed.stderr.startswith("dpwitness: standard output is closed")
    deaf = run(folder, words, stderr=None, stdin=None, preexec_fn=lambda: os.closerange(2, 3))
    assert deaf.returncode == status, deaf
    with open("/dev/full", "w") as full:
        filled = run(folder, words, stdout=full)
    assert filled.returncode == 2, filled
    assert "no space left on device" in filled.stderr
    nobody = without_reader()
    gone = run(folder, words, stdout=nobody)
    os.close(nobody)
    # What there was to say is the status; only help has none, and says that it was not read.
    assert gone.returncode == (2 if "help" in name or name == "version" else status), gone
    for said in (closed.stderr, filled.stderr, gone.stderr):
        assert "Traceback" not in said
        assert "bug in dpwitness" not in said


@pytest.mark.slow
def test_a_file_does_not_take_the_place_of_a_closed_stream(folder):
    """The first file that is opened gets the lowest number, which is that of the stream."""
    done = run(
        folder, ["audit", *CLAIM, "--json", "out.json"], stderr=None, stdin=None,
        preexec_fn=lambda: (os.close(0), os.close(2)),
    )  # fmt: skip
    assert done.returncode == 1, done
    assert json.loads((folder / "out.json").read_text())["findings"][0]["verdict"] == "refuted"


@pytest.mark.parametrize("closed", [(1,), (2,), (1, 2)])
def test_pytest_without_a_stream_is_a_usage_error(tmp_path, closed):
    # It would end with 1, as for a test that failed.
    (tmp_path / "test_one.py").write_text("def test_one():\n    pass\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_one.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
        preexec_fn=lambda: [os.close(stream) for stream in closed],
    )  # fmt: skip
    assert done.returncode == 4
    if len(closed) == 1:
        assert "dpwitness: standard " in done.stdout + done.stderr
