"""The status is what the command computed, whatever exception arrives outside every call.

A thread that the mechanism leaves behind raises in the main thread: at once and again and again,
which ends the audit before it has a verdict, or as soon as the evidence is written, which is after
the verdict and before everything is told.
"""

import subprocess
import sys

import pytest

RAISES = """
import ctypes, threading, time
from pathlib import Path
from click.exceptions import Exit

BEGUN = []

def _raise(kind, ready):
    main = threading.main_thread()
    while not ready():
        time.sleep(0.001)
    for _ in range(3000):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(main.ident), ctypes.py_object(kind))
        time.sleep(0.001)

def _left(kind, ready):
    def run(database, rng):
        if not BEGUN:
            BEGUN.append(threading.Thread(target=_raise, args=(kind, ready), daemon=True))
            BEGUN[0].start()
        return sum(database) + rng.laplace() / 5
    return run

def _now():
    return True

def _written():
    return Path("out.json").exists()

"""
KINDS = ("SystemExit", "GeneratorExit", "ValueError", "Exit", "KeyboardInterrupt", "BaseException")


def audit(folder, kind, ready):
    (folder / "raises.py").write_text(RAISES + f"run = _left({kind}, {ready})\n")
    claim = ["--epsilon", "1", "--relation", "add-remove", "--pair", "[]", "[1]"]
    return subprocess.run(
        [sys.executable, "-m", "dpwitness", "audit", "raises.py:run", *claim, "--trials", "5000",
         "--json", "out.json", "--html", "out.html"],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.long
def test_an_exception_before_the_verdict_is_no_success(tmp_path):
    done = audit(tmp_path, "SystemExit", "_now")
    assert done.returncode == 4, done
    assert "efuted" not in done.stdout


@pytest.mark.long
def test_an_exception_after_a_refutation_leaves_it_one(tmp_path):
    done = audit(tmp_path, "SystemExit", "_written")
    assert done.returncode == 1, done


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("ready", "status"), [("_now", 4), ("_written", 1)])
def test_no_exception_is_a_status(tmp_path, kind, ready, status):
    done = audit(tmp_path, kind, ready)
    wanted = {status, 4} if kind == "KeyboardInterrupt" else {status}
    assert done.returncode in wanted, done
