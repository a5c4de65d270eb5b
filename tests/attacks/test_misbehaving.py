"""What misbehaving.py does to its process comes to a true sentence, in bounded time, everywhere.

Each mechanism is sound, so a refutation would be a lie. Status 4 has a sentence that does not
blame dpwitness, status 0 has its files where the user stood, and no process is left.
"""

import ast
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("misbehaving.py").read_text("utf-8")
HELPERS = {"len_of_stack"}
NAMES = [
    node.name
    for node in ast.parse(SOURCE).body
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    and not node.name.startswith("_") and node.name not in HELPERS
] + ["odd", "odder"]  # fmt: skip
ENDS_THE_CALLER = {"kills_parent": {143, -signal.SIGTERM}}
"""It tells the whole command to end, as a user may; nobody can tell the two apart."""
MOST_SECONDS = 150
SAYS = {
    "stops_itself": "did not return within", "long_text": "more than 1 MB",
    "large_array": "more than 1 MB", "many_keys": "more than 1 MB",
    "raises_keyboard": "KeyboardInterrupt", "asynchronous": "coroutine",
}  # fmt: skip


def left_behind(mark):
    """Processes that carry the mark in their environment; each is ended."""
    found = []
    for place in Path("/proc").iterdir():
        if not place.name.isdigit():
            continue
        try:
            marked = mark.encode() in (place / "environ").read_bytes()
        except OSError:
            continue
        if marked and int(place.name) != os.getpid():
            found.append(place.name)
            os.kill(int(place.name), signal.SIGKILL)
    return found


def ran(folder, *words, seconds=MOST_SECONDS):
    """(status, stdout, stderr, processes left) of a command in a folder with the mechanisms."""
    (folder / "misbehaves.py").write_text(SOURCE, "utf-8")
    mark = uuid.uuid4().hex
    with (folder / "said").open("w") as said, (folder / "warned").open("w") as warned:
        process = subprocess.Popen(
            [sys.executable, "-m", *words], cwd=folder, stdout=said, stderr=warned,
            stdin=subprocess.DEVNULL, env={**os.environ, "MARK": mark}, start_new_session=True,
        )  # fmt: skip
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = "no end"
    for _ in range(20):  # what was killed may still be about to end
        time.sleep(0.05)
        if status == "no end" or not left_behind(mark):
            break
    left = left_behind(mark)
    process.wait()
    texts = [(folder / name).read_text("utf-8", "replace") for name in ("said", "warned")]
    return status, *texts, left


def faults(name, status, told, left, *, written, allowed, named=True):
    """What is wrong with the end of a run; `told` is where its sentence stands.

    `named` says that the sentence must say what the mechanism did, and not that its process ended.
    """
    found = []
    unread = {3} if name in NEVER_READ else set()
    if status not in allowed | ENDS_THE_CALLER.get(name, set()) | unread:
        found.append(f"status {status}")
    if left:
        found.append(f"{len(left)} processes left")
    if "bug in dpwitness" in told:
        found.append("blames dpwitness")
    if status == 0 and not written:
        found.append("the file is not where it was asked for")
    if status == 4 and "dpwitness: " not in told:
        found.append("no sentence")
    if status == 4 and named and name in SAYS and SAYS[name] not in told:
        found.append(f"does not say {SAYS[name]!r}")
    return found


def judged(cases):
    wrong = {name: found for name, found in cases.items() if found}
    print(f"{len(cases)} misbehaving mechanisms; {len(wrong)} failures")
    assert wrong == {}


CLAIM = ("--epsilon", "1", "--pair", "[]", "[1]", "--trials", "2000", "--timeout", "2")


SEARCHED = (
    "--epsilon", "1", "--relation", "add-remove", "--databases", "bits.py:BITS", "--trials", "2000",
    "--timeout", "2",
)  # fmt: skip


def under_audit(folder, name, claim=CLAIM):
    folder.mkdir()
    (folder / "bits.py").write_text(
        "from hypothesis import strategies as st\nBITS = st.lists(st.integers(0, 1), max_size=3)\n"
    )
    status, said, warned, left = ran(
        folder, "dpwitness", "audit", f"misbehaves.py:{name}", "--json", "out.json", *claim
    )
    written = (folder / "out.json").exists()
    if status == 0 and said.count("Not refuted: ") + said.count("Proved: ") != 1:
        warned += "told more than once: bug in dpwitness"
    return faults(name, status, warned, left, written=written, allowed={0, 4})


@pytest.mark.long
def test_a_few_of_them_under_audit(tmp_path):
    names = (
        "limits_memory",
        "limits_files_for_good",
        "patches_len",
        "forges_modules",
        "audit_hook",
        "long_text",
    )
    judged({name: under_audit(tmp_path / name, name) for name in names})


@pytest.mark.slow
def test_all_of_them_under_audit(tmp_path):
    judged({name: under_audit(tmp_path / name, name) for name in NAMES})


@pytest.mark.slow
def test_all_of_them_under_a_search(tmp_path):
    """A search for a pair reads the code of the mechanism, and all that it names."""
    judged({name: under_audit(tmp_path / name, name, SEARCHED) for name in NAMES})


@pytest.mark.slow
def test_all_of_them_under_the_gate(tmp_path):
    (tmp_path / "dpwitness.toml").write_text(
        "".join(
            f'[[gate]]\ntarget = "misbehaves.py:{name}"\nepsilon = 1.0\npair = ["[]", "[1]"]\n'
            "trials = 2000\ntimeout = 2\n"
            for name in NAMES
        )
    )
    status, said, warned, left = ran(
        tmp_path, "dpwitness", "gate", "--json", "out.json", seconds=20 * len(NAMES)
    )
    assert status == 4
    assert left == []
    assert "bug in dpwitness" not in said + warned
    assert "Traceback" not in said + warned
    data = json.loads((tmp_path / "out.json").read_text("utf-8"))
    verdicts = {one["verdict"] for one in data["findings"]}
    # Four of them do not look at the database, and an exact law proves that.
    assert verdicts == {"not_refuted", "proved", "inconclusive"}
    print(f"{len(NAMES)} entries of a gate; 0 failures")


def under_pytest(folder, name):
    folder.mkdir()
    (folder / "test_one.py").write_text(
        f"import misbehaves\n\ndef test_one(dp_audit):\n    dp_audit(misbehaves.{name}, "
        "epsilon=1.0, pair=([], [1]), relation='add-remove', trials=2000, timeout=2)\n"
    )
    status, said, warned, left = ran(
        folder, "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "test_one.py",
        "--dp-report", "reports",
    )  # fmt: skip
    written = (folder / "reports").is_dir()
    allowed = {0, 4, 1 if "PrivacyViolation" not in said else "refuted"}
    # Two words of pytest's own: for an interruption, and for a process too spoilt to report a test.
    if "KeyboardInterrupt" in said:
        allowed.add(2)
    if "INTERNALERROR" in said:
        allowed.add(3)
    crashed = "Traceback" in warned
    return faults(
        name, status, said + warned, left, written=written, allowed=allowed, named=not crashed
    )


@pytest.mark.slow
def test_all_of_them_under_pytest(tmp_path):
    judged({name: under_pytest(tmp_path / name, name) for name in NAMES})


NEVER_READ = ("nothing_but_nan",)
"""Nothing was read of these, so that nothing is settled."""
UNFIT = ("array_lies", "mapped", "records", "size_lies", "surrogates")
"""The loss of the theorem takes a number and these return none, so its author is told, status 2."""
BOUNDLESS = ("infinite", "nothing_but_nan")
THEOREM = """
import numpy as np
from misbehaves import {name}
from dpwitness import Mechanism, Subject, Theorem, UtilityClaim

def _subject():
    claim = UtilityClaim(loss=lambda database, output: np.abs(np.asarray(output, dtype=float)),
                         bound=lambda beta: 9 - 3 * np.log(beta), databases=([],))
    return Subject(claim=claim, mechanism=Mechanism(name="{name}", run={name}))

MINE = Theorem(identifier="MINE", statement="a sum is near", reference="", subject=_subject)
"""


def under_reproduce(folder, name):
    """The theorem is true of the sound sum; status 3 says that nothing was settled."""
    folder.mkdir()
    (folder / "mine.py").write_text(THEOREM.format(name=name))
    status, said, warned, left = ran(
        folder, "dpwitness", "reproduce", "mine.py:MINE", "--trials", "10_000", "--workers", "1",
        "--json", "out.json",
    )  # fmt: skip
    written = (folder / "out.json").exists()
    # A loss that is infinite or no number is above every bound: such a claim is refuted.
    allowed = {1} if name in BOUNDLESS else {2} if name in UNFIT else {0, 3, 4}
    found = faults(name, status, said + warned, left, written=written, allowed=allowed, named=False)
    # Python itself tells so of a hook, or of a generator, that the mechanism left behind.
    if "Traceback" in said or warned.count("Traceback") > warned.count("Exception ignored in"):
        found.append("a traceback")
    return found


@pytest.mark.slow
def test_all_of_them_in_a_theorem_of_ones_own(tmp_path):
    judged({name: under_reproduce(tmp_path / name, name) for name in NAMES})
