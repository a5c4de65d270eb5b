"""A run that was killed goes on where it was, and gives what the undisturbed run gives."""

import os
import signal
import subprocess
import sys
import time
from random import Random

import pytest

from dpwitness.auditors.errors import HarnessError, InvalidArgument
from dpwitness.auditors.privacy.run import audit_claims
from dpwitness.auditors.shards.checkpoint import opened
from dpwitness.auditors.shards.running import Identity, audit_in

from .conftest import SMALL, essence, noisy_count


def kept(path, mechanism, options, warned=None):
    said = (lambda sentence: None) if warned is None else warned.append
    return essence(
        audit_in(lambda identity: opened(str(path), identity, said), mechanism, **options)
    )


def slow(database, rng):
    return noisy_count(database, rng)


slow.block = 64


@pytest.mark.slow
def test_any_beginning_of_the_file_leads_to_the_same_result(small, tmp_path):
    mechanism, options, alone = small
    path = tmp_path / "kept"
    assert kept(path, mechanism, options) == alone
    whole = path.read_bytes()
    random = Random(0)
    # A process that is killed leaves some first part of what it would have written.
    for cut in [1, len(whole), *random.choices(range(len(whole)), k=3)]:
        path.write_bytes(whole[:cut])
        assert kept(path, mechanism, options) == alone
        assert path.read_bytes().splitlines()[0] == whole.splitlines()[0]


@pytest.mark.long
def test_what_is_kept_is_not_drawn_again(tmp_path, asked):
    # The lessons are drawn again, and the draws of the count that are looked at once more.
    drawn = []

    def run(database, rng, *, size=None):
        return len(database) + rng.laplace(size=size)

    run.block = 4096
    for _ in range(2):
        asked.clear()
        kept(tmp_path / "kept", run, {**SMALL, "epsilon": 1.0, "trials": 400_000})
        drawn.append(sum(asked))
    assert 0 < drawn[1] < 0.7 * drawn[0]


@pytest.mark.long
def test_of_slow_calls_nothing_is_drawn_again(tmp_path, monkeypatch, asked):
    monkeypatch.setattr("dpwitness.auditors.sampling.sampling.LONG", 0.0)
    drawn, results = [], []
    for _ in range(2):
        asked.clear()
        (result,) = kept(tmp_path / "kept", slow, {**SMALL, "epsilon": 0.7})
        results.append((result.verdict, result.evidence, result.judged, result.sketch))
        drawn.append(sum(asked))
    (alone,) = audit_claims(noisy_count, **SMALL, epsilon=0.7)
    assert results == [(alone.verdict, alone.evidence, alone.judged, alone.sketch)] * 2
    # What checks the contract is no part of the evidence and is drawn every time.
    assert drawn[1] < 100 < drawn[0]


@pytest.mark.long
def test_a_damaged_line_is_told_and_its_block_drawn_again(small, tmp_path):
    mechanism, options, alone = small
    path = tmp_path / "kept"
    kept(path, mechanism, options)
    lines = path.read_bytes().splitlines(keepends=True)
    # On a slow machine what calls returned has lines too, and the first may be one of these.
    counted = [place for place, line in enumerate(lines) if b'"attempt"' in line]
    if not counted:
        pytest.skip("every block taught in this run")
    lines[counted[0]] = lines[counted[0]].replace(b"attempt", b"attemqt")
    path.write_bytes(b"".join(lines))
    warned = []
    assert kept(path, mechanism, options, warned) == alone
    assert "1 line of the checkpoint" in warned[0]


def test_another_audit_is_refused_and_the_file_stays_as_it_is(tmp_path):
    path = tmp_path / "kept"
    kept(path, noisy_count, {**SMALL, "epsilon": 1.0})
    before = path.read_bytes()
    with pytest.raises(InvalidArgument, match="of another audit: it has 'seed 5' where this audit"):
        kept(path, noisy_count, {**SMALL, "epsilon": 1.0, "seed": 6})
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", ["hello\nworld\n", "hello", '{"a": 1}\n'])
def test_a_file_that_is_no_checkpoint_is_not_written_to(content, tmp_path):
    path = tmp_path / "kept"
    path.write_text(content)
    with pytest.raises(InvalidArgument, match="is not a checkpoint"):
        kept(path, noisy_count, {**SMALL, "epsilon": 1.0})
    assert path.read_text() == content


def test_two_processes_do_not_write_one_file(tmp_path):
    identity = Identity(("a",))
    with (
        opened(str(tmp_path / "kept"), identity),
        pytest.raises(InvalidArgument, match="another process is writing"),
        opened(str(tmp_path / "kept"), identity),
    ):
        pass


def test_a_count_that_was_edited_with_its_check_sum_contradicts_what_is_drawn(tmp_path):
    from dpwitness.auditors.shards.checkpoint import _line, _parsed

    path, options = tmp_path / "kept", {**SMALL, "epsilon": 1.0}
    kept(path, noisy_count, options)
    lines = path.read_bytes().splitlines()
    row = _parsed(lines[1])
    lines[1] = _line([*row[:-1], row[-1] + 1]).strip()
    path.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(HarnessError, match="was counted with"):
        kept(path, noisy_count, options)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [({"seeded": False}, "is not seeded"), ({"seconds": 9.0}, "a budget in seconds")],
)
def test_what_cannot_be_drawn_again_is_refused(changes, sentence, tmp_path):
    with pytest.raises(InvalidArgument, match=sentence):
        kept(tmp_path / "kept", noisy_count, {**SMALL, "epsilon": 1.0, **changes})


RUN = """
import sys
sys.path.insert(0, sys.argv[2])
from dpwitness.auditors.shards.checkpoint import opened
from dpwitness.auditors.shards.running import audit_in

def noisy_count(database, rng):
    return len(database) + rng.laplace()

noisy_count.block = 8
options = {"pair": ([], [1]), "trials": 1500, "seed": 5, "epsilon": 1.0}
print("ready", flush=True)
for line in sys.stdin:
    pid = __import__("os").fork()
    if pid:
        print(pid, flush=True)
        __import__("os").waitpid(pid, 0)
        print("ended", flush=True)
        continue
    path = line.strip()
    (result,) = audit_in(lambda identity: opened(path, identity), noisy_count, **options)
    text = repr((result.verdict, result.evidence, result.judged, result.draws, result.power))
    with open(path + ".done", "w") as file:
        file.write(text)
    __import__("os")._exit(0)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the runs are forked, to load numpy once")
def test_fifty_kills_at_random_instants_and_the_undisturbed_result_each_time(tmp_path):
    script = tmp_path / "killed.py"
    script.write_text(RUN)
    parent = subprocess.Popen(
        [sys.executable, script, "-", str(tmp_path)], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip

    def begin(path):
        parent.stdin.write(f"{path}\n")
        parent.stdin.flush()
        return int(parent.stdout.readline())

    assert parent.stdout.readline() == "ready\n"
    started = time.monotonic()
    begin(tmp_path / "alone")
    assert parent.stdout.readline() == "ended\n"
    took = time.monotonic() - started
    alone = (tmp_path / "alone.done").read_text()
    random, killed = Random(15), 0
    for number in range(50):
        path = tmp_path / f"run{number}"
        pid = begin(path)
        time.sleep(random.uniform(0.05, 1.0) * took)
        try:
            os.kill(pid, signal.SIGKILL)
            killed += not (tmp_path / f"run{number}.done").exists()
        except ProcessLookupError:
            pass
        assert parent.stdout.readline() == "ended\n"
        begin(path)
        assert parent.stdout.readline() == "ended\n"
        assert (tmp_path / f"run{number}.done").read_text() == alone
    parent.communicate()
    assert killed >= 10, "most runs had ended before they were killed"
