"""However a mechanism ends, the status is 4 and a sentence; never "refuted", never "finished"."""

import subprocess
import sys

import pytest

MECHANISMS = """
import atexit, ctypes, os, signal

def leaves(database, rng):
    os._exit(0)

def leaves_with_one(database, rng):
    os._exit(1)

def crashes(database, rng):
    ctypes.string_at(0)

def kills(database, rng):
    os.kill(os.getpid(), signal.SIGKILL)

def raises_base(database, rng):
    raise BaseException("out")

def raises_exit(database, rng):
    raise SystemExit(0)
"""


def audit(folder, *words):
    (folder / "ends.py").write_text(MECHANISMS)
    claim = ["--epsilon", "1", "--pair", "[]", "[1]"]
    return subprocess.run(
        [sys.executable, "-m", "dpwitness", "audit", *words, *claim],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ["leaves", "leaves_with_one", "raises_base", "raises_exit"])
def test_in_this_process(tmp_path, name):
    done = audit(tmp_path, f"ends.py:{name}")
    assert done.returncode == 4, done
    assert done.stderr.startswith("dpwitness: the mechanism")
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["leaves", "crashes", "kills", "raises_base", "raises_exit"])
def test_in_a_process_of_its_own(tmp_path, name):
    done = audit(tmp_path, f"ends.py:{name}", "--isolate")
    assert done.returncode == 4, done
    assert "dpwitness: " in done.stderr
    assert "Traceback" not in done.stderr
