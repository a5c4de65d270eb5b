import errno
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

from dpwitness.auditors.errors import ContractError, InvalidArgument, MechanismHangs
from dpwitness.auditors.privacy.replay import Replay
from dpwitness.auditors.results.results import Verdict
from dpwitness.mechanisms.catalogue import CATALOGUE, NEGATIVE_CONTROLS
from dpwitness.reports import cli
from dpwitness.reports.auditing import listing
from dpwitness.reports.formats.table import FORMATS
from dpwitness.reports.record import evidence
from dpwitness.reports.shell.shell import TASKS, Sentences
from dpwitness.reports.writing import files
from dpwitness.reports.writing.terminal import ProgressLine

CODE = """
import os, time
def noisy(db, rng, *, size=None):
    return rng.laplace(sum(db), 1.0, size=size)
def raises(db, rng):
    raise KeyError("no such row")
def sleeps(db, rng):
    time.sleep(60)
def constant(db, rng, *, size=None):
    return rng.integers(0, 1, size=size)
def secret(db, rng):
    return os.urandom(1)[0] % 2
"""


@pytest.fixture
def code(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "mine.py").write_text(CODE)
    return "mine.py"


PAIR = ("--pair", "[0]", "[0, 1]")


def one_sentence(result):
    """Nothing but one line that starts with the program's name came out as an error."""
    assert result.exception is None or isinstance(result.exception, SystemExit)
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("dpwitness: ")
    return lines[0]


@pytest.mark.parametrize(
    ("verdicts", "status"),
    [
        (["not_refuted"], 0),
        (["proved"], 0),
        (["refuted"], 1),
        (["inconclusive"], 3),
        (["not_refuted", "inconclusive"], 3),
        (["inconclusive", "refuted", "not_refuted"], 1),
    ],
)
def test_the_status_follows_the_verdicts(run, engine, sound, verdicts, status):
    engine(tuple(replace(sound, verdict=Verdict(verdict)) for verdict in verdicts))
    result = run("audit", "laplace")
    assert result.exit_code == status
    assert result.stderr == ""


TOLD = ("progress", "news", "kept")
"""Who is told while an audit goes on."""


def test_what_is_typed_reaches_the_engine(run, engine, sound):
    calls = engine((sound,))
    run("audit", "LAPLACE", "--epsilon", 0.5, "--delta", 1e-6, "--relation", "replace-one",
        "--distance", 2, "--trials", "1e6", "--seconds", 60, "--alpha", 0.05, "--seed", 3,
        "--workers", 2, "--timeout", 5, "--unseeded",
        "--pair", "-1", '{"a": [1.5, null]}')  # fmt: skip
    ((mechanism, options),) = calls
    assert mechanism is CATALOGUE[0]
    assert all(callable(options.pop(told)) for told in TOLD)
    assert 6.0 <= options.pop("seconds") <= 60.0  # what the command has taken so far is off
    assert options == {
        "epsilon": 0.5, "delta": 1e-6, "relation": "replace-one", "distance": 2,
        "trials": 10**6, "alpha": 0.05, "seed": 3, "workers": 2, "timeout": 5.0,
        "seeded": False, "pair": (-1, {"a": [1.5, None]}), "target": "LAPLACE", "name": "laplace",
    }  # fmt: skip
    calls.clear()
    run("audit", "laplace")
    assert set(calls[0][1]) == {"seed", *TOLD, "target", "name"}


def test_without_a_file_the_replay_is_the_command_itself(run, engine, sound, code):
    calls = engine((sound,))
    arguments = ["audit", "mine.py:noisy", "--epsilon", "0.5", "--pair", "[0, 1]", '["a b"]',
                 "--trials", "5000", "--unseeded"]  # fmt: skip
    text = run(*arguments).stdout
    shown = text[text.index("dpwitness audit") :].partition("  next ")[0].replace("\\\n", " ")
    words = shlex.split(shown)[1:]
    first = calls.pop()[1]
    run(*words)
    again = calls.pop()[1]
    nobody = dict.fromkeys(TOLD)
    assert {**first, **nobody} == {**again, **nobody}


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["audit", "laplac"], "did you mean laplace"),
        (["audit", "mine.py:nothing"], "no 'nothing'"),
        (["audit", "none.py:f"], "there is no file"),
        (["audit", "mine.py:noisy", *PAIR], "--epsilon"),
        (["audit", "mine.py:noisy", "--epsilon", 1], "--relation"),
        (["audit", "mine.py:noisy", "--epsilon", 1, "--relation", "add-remove"], "--databases"),
        (["audit", "laplace", "--pair", "[0", "[1]"], "not JSON"),
        (["audit", "laplace", "--pair", "yes", "no"], "write lists as [1, 2]"),
        (["audit", "laplace", "--pair", '{"$no": 1}', "1"], "one known tag"),
        (["audit", "laplace", "--pair", "[" * 500 + "]" * 500, "1"], "nested"),
        (["audit", "laplace", *PAIR, "--databases", "mine.py:noisy"], "exclude each other"),
        (["audit", "laplace", "--databases", "mine.py:noisy"], "call it to make one"),
        (["audit", "laplace", "--epsilon", "nan"], "epsilon must be finite"),
        (["audit", "laplace", "--epsilon", "-1"], "epsilon must be finite"),
        (["audit", "laplace", "--delta", "2"], "delta must be"),
        (["audit", "laplace", "--alpha", "nan"], "alpha must be"),
        (["audit", "laplace", "--trials", "-5"], "trials must be"),
        (["audit", "laplace", "--seed", "-1"], "seed must be"),
        (["audit", "laplace", "--seconds", "0"], "seconds must be"),
        (["audit", "laplace", "--workers", "0"], "workers must be"),
        (["audit", "laplace", "--json", "no/such/folder/a.json"], "cannot write"),
        (["audit", "laplace", "--html", "."], "cannot write"),
        (["audit", "laplace", "--json", "a", "--html", "./a"], "the same file"),
        (["replay", "none.json", "--workers", "0"], "workers must be"),
        (["replay", "none.json"], "cannot read"),
        (["replay", "mine.py"], "not JSON"),
    ],
)
def test_a_request_that_makes_no_sense(run, code, arguments, part):
    result = run(*arguments)
    assert result.exit_code == 2
    assert part in one_sentence(result)
    assert result.stdout == ""
    assert sorted(os.listdir()) == ["mine.py"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit"],
        ["audit", "laplace", "--relation", "twice"],
        ["audit", "laplace", "--trials", "1.5"],
        ["audit", "laplace", "--trials", "inf"],
        ["audit", "laplace", "--pair", "1"],
        ["audit", "laplace", "--no-such-option"],
        ["no-such-command"],
        ["replay"],
    ],
)
def test_a_mistyped_command_line(run, arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Error:" in result.stderr


@pytest.mark.parametrize(
    ("error", "status", "part"),
    [
        (InvalidArgument("bad\nrequest"), 2, "bad request"),
        (ContractError("broke its contract"), 4, "broke its contract"),
        (MechanismHangs("slow"), 4, "slow"),
        (ZeroDivisionError("x\x1b[2J"), 4, "which is no part of dpwitness, raised Zero"),
        (MemoryError(), 4, "memory ran out"),
        (RecursionError("deep"), 4, "RecursionError"),
    ],
)
def test_whatever_happens_ends_in_a_sentence(run, engine, error, status, part):
    engine(error)
    result = run("audit", "laplace", "--json", "a.json", "--html", "a.html")
    assert result.exit_code == status
    assert part in one_sentence(result)
    assert "\x1b" not in result.stderr
    assert os.listdir() == []


def test_the_traceback_is_there_for_those_who_ask(run, engine, monkeypatch):
    monkeypatch.setenv("DPWITNESS_DEBUG", "1")
    engine(ZeroDivisionError("x"))
    assert "Traceback" in run("audit", "laplace").stderr


def test_a_mechanism_that_raises(run, code):
    result = run("audit", "mine.py:raises", "--epsilon", 1, *PAIR)
    assert result.exit_code == 4
    assert "KeyError: 'no such row'" in one_sentence(result)


def test_a_mechanism_that_sleeps(run, code):
    result = run("audit", "mine.py:sleeps", "--epsilon", 1, "--timeout", 0.1, *PAIR)
    assert result.exit_code == 4
    assert "within 0.1 s" in one_sentence(result)


def test_quiet_prints_the_verdict_line_only(run, engine, sound, refuted):
    engine((sound, refuted))
    lines = run("audit", "laplace", "--quiet").stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["Not refuted", "Refuted"]


def test_files_are_written_and_the_replay_names_them(run, engine, sound):
    engine((sound,))
    result = run("audit", "laplace", "--json", "my file.json", "--html", "a.html")
    assert result.exit_code == 0
    data = json.loads(Path("my file.json").read_text())
    assert data["results"][0]["replay"] == "dpwitness replay 'my file.json'"
    assert "dpwitness replay 'my file.json'" in result.stdout
    assert "<!DOCTYPE html>" in Path("a.html").read_text()
    assert sorted(os.listdir()) == ["a.html", "my file.json"]


def test_a_full_disk_loses_nothing(run, engine, sound, monkeypatch, tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(kept))
    engine((sound,))

    def full(path, text):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "write_atomically", full)
    result = run("audit", "laplace", "--json", "a.json")
    assert result.exit_code == 2
    assert "no space left on device; the result was kept in" in one_sentence(result)
    assert "Not refuted" in result.stdout
    (path,) = kept.iterdir()
    assert json.loads(path.read_text())["schema"] == "dpwitness/2"
    monkeypatch.setattr(files, "keep_elsewhere", lambda text, suffix: None)
    result = run("audit", "laplace", "--json", "a.json", "--quiet")
    assert result.exit_code == 2
    assert json.loads(result.stdout[result.stdout.index("{") : result.stdout.rindex("}") + 1])


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("option", ["--json", "--html"])
def test_a_device_that_is_full(run, engine, sound, option, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    engine((sound,))
    result = run("audit", "laplace", option, "/dev/full")
    assert result.exit_code == 2
    assert "no space left" in one_sentence(result)


def started(*arguments, **settings):
    code = "from dpwitness.reports.start import run; run()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell that runs the tests in the background makes its children deaf to Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        **settings,
    )


@pytest.mark.long
def test_ctrl_c_in_the_middle_of_the_work(code, tmp_path):
    (tmp_path / "mine.py").write_text(
        "import pathlib, time\n"
        "def sleeps(db, rng):\n"
        "    pathlib.Path('started').touch()\n    time.sleep(60)\n"
    )
    process = started(
        "audit", "mine.py:sleeps", "--epsilon", "1", "--timeout", "60", *PAIR, "--json", "a.json",
        cwd=tmp_path,
    )  # fmt: skip
    for _ in range(600):
        if (tmp_path / "started").exists():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, b"")
    assert err.decode().startswith("dpwitness: interrupted")
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "a.json").exists()


@pytest.mark.long
def test_a_reader_that_goes_away_changes_nothing(tmp_path):
    process = started("list", cwd=tmp_path)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=30) == 0
    process.stderr.close()


@pytest.mark.long
def test_a_full_standard_output_is_said(tmp_path):
    if not os.path.exists("/dev/full"):
        return
    with open("/dev/full", "w") as full:
        code = "from dpwitness.reports.cli import main; main(prog_name='dpwitness')"
        done = subprocess.run(
            [sys.executable, "-c", code, "list"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2
    assert done.stderr.startswith(b"dpwitness: could not write to standard output")


@pytest.mark.long
def test_an_audit_is_replayed_bit_for_bit(run, code):
    result = run(
        "audit", "mine.py:noisy", "--epsilon", 0.5, *PAIR, "--trials", 4000, "--json", "a.json"
    )
    assert result.exit_code == 1, result.output
    printed = json.loads(Path("a.json").read_text())["results"][0]["replay"]
    assert printed == "dpwitness replay a.json mine.py:noisy"
    result = run(*printed.split()[1:])
    assert result.exit_code == 1
    assert "same counts, bit for bit" in " ".join(result.stdout.split())
    assert result.stderr == "dpwitness: running mine.py:noisy\n"
    data = json.loads(Path("a.json").read_text())
    data["results"][0]["evidence"]["counts"][-1]["hits"][0] += 1
    Path("b.json").write_text(json.dumps(data))
    result = run("replay", "b.json", "mine.py:noisy")
    assert result.exit_code == 4
    assert "Differs from the record" in result.stdout


@pytest.mark.long
def test_what_was_saved_from_python_is_replayed_by_a_name(run, code):
    """It names no target; the user does, and the code is compared with what the record says."""
    script = (
        "import dpwitness, mine\n"
        "dpwitness.audit(mine.noisy, epsilon=0.5, relation='add-remove', pair=([], [1]),"
        " trials=4000).save('a.json')"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    result = run("replay", "a.json")
    assert result.exit_code == 2
    assert "names no target; give the mechanism" in result.stderr
    result = run("replay", "a.json", "mine.py:noisy")
    assert result.exit_code == 1, result.output
    assert "same counts, bit for bit" in " ".join(result.stdout.split())


@pytest.mark.slow
def test_a_function_of_a_file_reaches_the_workers(run, code):
    verdicts = {}
    for workers in (1, 2):
        path = Path(f"{workers}.json")
        claim = ("--epsilon", 1.2, "--trials", 300_000, "--workers", workers, "--json", path)
        assert run("audit", "mine.py:noisy", *claim, *PAIR).exit_code == 0
        verdicts[workers] = json.loads(path.read_text())["results"][0]["evidence"]
    assert verdicts[1] == verdicts[2]


BEYOND = """
def longer(database, rng):
    return [10**350 + len(database), rng.laplace(3 * len(database))]
"""


@pytest.mark.long
def test_whole_numbers_beyond_the_doubles_are_data_as_any_other(run):
    Path("long.py").write_text(BEYOND)
    words = ("long.py:longer", "--epsilon", 1, "--relation", "add-remove", "--trials", 400)
    done = run("audit", *words, "--pair", f"[1{'0' * 400}]", "[]", "--json", "long.json")
    assert done.exit_code == 1
    assert run("replay", "long.json", "long.py:longer").exit_code == 1
    for place in ("a", "b"):
        rng = np.random.default_rng(ord(place))
        found = [[10**350, x] for x in rng.laplace(size=200).tolist()]
        Path(f"{place}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in found))
    assert run("judge", "a.jsonl", "b.jsonl", "--epsilon", 1).exit_code in (0, 3)


@pytest.mark.parametrize(
    ("verdict", "differences", "status"),
    [
        (Verdict.REFUTED, (), 1),
        (Verdict.NOT_REFUTED, (), 0),
        (Verdict.INCONCLUSIVE, (), 3),
        (Verdict.REFUTED, ("one hit more",), 4),
    ],
)
@pytest.mark.parametrize("seeded", [True, False])
def test_the_status_of_a_replay(run, monkeypatch, sound, verdict, differences, status, seeded):
    def recount(mechanism, record, **options):
        return Replay(
            verdict=verdict, epsilon_lower=1.0, counts=sound.evidence.counts,
            differences=differences, seeded=seeded,
        )  # fmt: skip

    monkeypatch.setattr("dpwitness.reports.auditing.replaying.recount", recount)
    monkeypatch.setattr("dpwitness.reports.auditing.replaying.audited_again", lambda *a, **k: None)
    data = evidence.document((sound,), replay="")
    del data["findings"]  # the result is made by hand, and does not follow from its counts
    Path("a.json").write_text(evidence.to_text(data))
    result = run("replay", "a.json")
    assert result.exit_code == status
    if not seeded and not differences:
        assert "repeated with new randomness" in " ".join(result.stdout.split())


def test_a_replay_that_compares_nothing_is_no_success(run):
    """Claims beside privacy are compared with the versions that wrote them alone."""
    assert run("audit", "laplace", "--trials", "2000", "--json", "a.json").exit_code == 0
    data = json.loads(Path("a.json").read_text())
    assert data["claims"]
    data["results"], data["environment"]["numpy"] = [], "0.1"
    Path("a.json").write_text(json.dumps(data))
    result = run("replay", "a.json")
    assert result.exit_code == 2, result.output
    assert "nothing was compared" in result.stderr


@pytest.mark.parametrize("target", ["os:system", "numpy:save", "", "mine:os.system"])
def test_evidence_cannot_make_replay_run_anything(run, sound, target):
    record = evidence.document((replace(sound, target=target),), replay="")
    Path("a.json").write_text(evidence.to_text(record))
    result = run("replay", "a.json")
    assert result.exit_code == 2
    one_sentence(result)


def test_the_catalogue_for_people_and_machines(run):
    assert "Negative controls" in run("list", "--all").stdout
    data = json.loads(run("list", "--json", "-").stdout)
    assert [entry["name"] for entry in data["mechanisms"]] == [m.name for m in CATALOGUE]
    assert [c["defect"] for c in data["controls"]] == [c.defect for c in NEGATIVE_CONTROLS]
    assert data == {**listing.as_data(), "dpwitness": evidence.release()}


def test_the_demo_writes_its_report(run, engine, sound, refuted, monkeypatch):
    answers = {"laplace": sound, "EM-NAIVE": refuted}
    monkeypatch.setattr(
        "dpwitness.auditors.privacy.run.audit_claims",
        lambda mechanism, **options: (answers[mechanism.name],),
    )
    result = run("demo")
    assert result.exit_code == 0
    assert sorted(os.listdir()) == ["dpwitness-demo.html", "dpwitness-demo.json"]
    assert "Not refuted: " in result.stdout
    assert "Refuted: EM-NAIVE" in result.stdout
    answers["EM-NAIVE"] = replace(refuted, verdict=Verdict.NOT_REFUTED)
    assert run("demo").exit_code == 4


@pytest.mark.long
def test_the_demo_as_a_stranger_runs_it_goes_as_it_should_and_replays(run):
    result = run("demo")
    assert result.exit_code == 0, result.output
    findings = json.loads(Path("dpwitness-demo.json").read_text())["findings"]
    verdicts = [finding["verdict"] for finding in findings]
    assert verdicts == ["not_refuted", "refuted"]
    assert run("replay", "dpwitness-demo.json").exit_code == 1


class Screen:
    """A terminal that remembers what was written to it."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def test_progress_is_for_terminals_only():
    screen = Screen()
    with ProgressLine(screen, enabled=False) as line:
        line("searching", 1, 2)
    assert screen.text == ""
    with ProgressLine(screen, enabled=True) as line:
        line("searching", 1, 2)
        line("searching", 1, 0)
    first, *_, last = [part for part in screen.text.split("\r") if part]
    assert "50%" in first
    assert last.strip() == ""


@pytest.mark.parametrize("columns", [20, 50, 80, 200])
def test_progress_stays_on_one_line_and_says_how_long_it_takes(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    clock = iter([0.0, *(10.0 + 30 * k for k in range(9))])
    monkeypatch.setattr("dpwitness.reports.writing.terminal.time.monotonic", lambda: next(clock))
    screen = Screen()
    with ProgressLine(screen, enabled=True) as line:
        for done in (1, 50_000, 123_456_789):
            line("searching", done, 200_000)
    parts = [part for part in screen.text.split("\r") if part]
    assert max(map(len, parts)) < columns
    assert columns < 50 or "25%, 2 min left" in parts[1]


def test_colours_are_for_terminals_that_want_them(monkeypatch, engine, sound):
    engine((sound,))
    runner = CliRunner()
    assert "\x1b" in runner.invoke(cli.main, ["audit", "laplace"], color=True).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in runner.invoke(cli.main, ["audit", "laplace"], color=True).stdout


def every_command(group=cli.main, path=()):
    """(words, command) of the program and of all its commands, nested ones too."""
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from every_command(command, (*path, name))


@pytest.mark.parametrize("words", [words for words, _ in every_command()], ids=" ".join)
@pytest.mark.parametrize("width", [50, 80])
def test_help_has_an_example_and_keeps_to_the_width(words, width):
    result = CliRunner().invoke(cli.main, [*words, "--help"], terminal_width=width)
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= width
    assert "\n    dpwitness " in result.stdout.partition("Examples:")[2]


@pytest.mark.parametrize("words", [words for words, _ in every_command() if words], ids=" ".join)
def test_the_examples_of_the_help_are_understood(words):
    told = CliRunner().invoke(cli.main, [*words, "--help"], terminal_width=80).stdout
    shown = told.partition("Examples:")[2].replace("\\\n", " ").strip().splitlines()
    assert shown
    for line in shown:
        typed = shlex.split(line.rpartition("| ")[2])
        assert typed[0] == "dpwitness"
        assert tuple(typed[1 : len(words) + 1]) == words
        dict(every_command())[words].make_context(words[-1], typed[len(words) + 1 :])


def test_version(run):
    assert run("--version").stdout.startswith("dpwitness ")
    assert isinstance(cli.main, click.Group)


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["audti"], "did you mean audit?"),
        (["Reproduce_"], "did you mean reproduce?"),
        (["audit", "laplace", "--relation", "addremove"], "did you mean add-remove?"),
        (["audit", "laplace", "--relation", "replace_1ne"], "did you mean replace-one?"),
        (["audit", "laplace", "--exceptions", "outputs"], "did you mean output?"),
        (["reproduce", "EM-3.13"], "did you mean EM-3.13a or EM-3.13b"),
        (["reproduce", "PWM-3"], "did you mean PMW-"),
        (["audit", "em-3.12"], "dpwitness reproduce EM-3.12"),
        (["list", "nosie"], "did you mean noise?"),
        (["list", "--system", "selektion"], "did you mean selection?"),
        (["list", "--kind", "theorems"], "did you mean theorem?"),
        (["--epsilon", "1", "audit"], "stands after the command that it is for: main audit"),
        (["audit", "laplace", "--epsilon"], "--epsilon takes a value, FLOAT, and got none"),
        (["audit", "laplace", "--epsilon", "0,5"], "'0,5' is not a number, such as 0.5"),
        (["audit", "laplace", "--pair", "[]"], "--pair takes 2 values, JSON JSON, and got fewer"),
        (["audit", "laplace", "--pair", "(1,)", "[]"], "write lists as [1, 2]"),
        (["audit", "laplace", "--alpha", "5"], "from 1e-100 to below 0.5, got 5"),
        (["audit", "laplace", "--alpha", "5e-324"], "from 1e-100 to below 0.5, got 5e-324"),
        (["tools", "plan", "--epsilon", "1", "--trials", "9", "--alpha", "1e-300"], "from 1e-100"),
        (["audit", "laplace", "--precision", "1e-300"], "none, 0 or a share from 1e-6 to below 1"),
        (["audit", "laplace", "--backend", "nothing"], "is not one of"),
        (["audit", "laplace", "--jobs", "2"], "--workers is the word for it here"),
        (["gate", "--jobs", "2"], "--workers is the word for it here"),
        (["audit", "laplace", "--accept"], "main gate has it"),
        (["audit", "release.total"], "named with a colon, as release:total"),
        (["audit", "."], "is a folder in which no function is marked"),
        (["reproduce", "EM-3.12", "--budget", "9"], "--trials is the word for it here"),
        (["tools", "plan", "--flake", "0.1"], "--alpha is the word for it here"),
        (["gate", "release.py:total"], "takes options only, and release.py:total is too many"),
        (["judge", "a", "b", "c"], "takes SAMPLE [SAMPLE2], and c is too many"),
        (["judge", "-", "--law", "laplace"], '"laplace" needs its numbers'),
        (["init"], "`main init --help` shows an example"),
    ],
)
def test_what_is_almost_right_is_answered_with_what_is(run, arguments, meant):
    result = run(*arguments)
    assert result.exit_code == 2
    assert meant in " ".join(result.stderr.split())


def test_verbose_and_log_say_what_is_done(run, code):
    plain = run("audit", "mine.py:noisy", "--epsilon", 9, "--relation", "add-remove", *PAIR,
                "--trials", 3000)  # fmt: skip
    assert plain.stderr == ""
    told = run("--verbose", "--log", "run.log", "audit", "mine.py:noisy", "--epsilon", 9,
               "--relation", "add-remove", *PAIR, "--trials", 3000)  # fmt: skip
    assert told.exit_code == plain.exit_code
    assert re.search(r"dpwitness: \d+\.\d s: \w+, [\d,]+ of [\d,]+", told.stderr)
    kept = Path("run.log").read_text()
    assert plain.stdout.partition(":")[0] in kept
    assert all(re.match(r"\d{4}-\d\d-\d\dT", line) for line in kept.splitlines())
    lost = run("--log", "no/such/folder.log", "list")
    assert lost.exit_code == 0
    assert "the log cannot be written" in one_sentence(lost)


def test_a_forgotten_return_is_named(run):
    Path("forgot.py").write_text("def total(database, rng):\n    sum(database) + rng.laplace()\n")
    result = run("audit", "forgot.py:total", "--epsilon", 1, "--relation", "add-remove", *PAIR,
                 "--trials", 3000)  # fmt: skip
    assert result.exit_code == 3
    assert "forgot its return statement" in " ".join(result.stdout.split())


def test_what_is_missing_is_named_in_the_words_of_the_command_line(run, tmp_path):
    Path("mine.py").write_text("def one(database, rng):\n    return rng.random()\n")
    for options, wanted in [
        ((), "state one with --epsilon"),
        (("--epsilon", "1"), "give it with --relation"),
        (("--epsilon", "1", "--relation", "add-remove"), "with --databases, or two databases with"),
    ]:
        told = run("audit", "mine.py:one", *options)
        assert told.exit_code == 2
        assert wanted in " ".join(told.stderr.split())
        assert "=" not in told.stderr


def test_an_option_of_the_program_after_a_command_is_told_its_place(run):
    result = run("audit", "laplace", "--log")
    assert result.exit_code == 2
    assert "--log stands before the command" in result.stderr


@pytest.mark.long
def test_verbose_is_one_thing_before_and_after_a_command(run):
    told = [run(*words, "--pair", "[]", "[1]", "--trials", 1000, "--seed", 3)
            for words in (("audit", "laplace"), ("-v", "audit", "laplace"),
                          ("audit", "laplace", "-v"))]  # fmt: skip
    plain, before, after = ([re.sub(r"[\d.]+ s", "", stream) for stream in (one.stdout, one.stderr)]
                            for one in told)  # fmt: skip
    assert before == after
    assert len(before[0].splitlines()) > len(plain[0].splitlines())
    assert before[1]
    assert not plain[1]


def test_an_interruption_that_python_wraps_is_one():
    @click.group(cls=Sentences)
    def group():
        pass

    @group.command()
    def loads():
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    done = CliRunner().invoke(group, ["loads"])
    assert (done.exit_code, done.output) == (130, "")


def test_the_ending_of_a_file_says_what_is_written_to_it(run):
    done = run("audit", "laplace", "--pair", "[]", "[1]", "--trials", 1000, "-q",
               "-o", "e.json", "-o", "page.html", "-o", "r.xml", "-o", "r.sarif",
               "-o", "s.md")  # fmt: skip
    assert done.exit_code in (0, 3), done.output
    named = run("audit", "laplace", "--pair", "[]", "[1]", "--trials", 1000, "-q",
                "--json", "f.json", "--markdown", "t.md")  # fmt: skip
    assert named.exit_code == done.exit_code
    times = re.compile(r'"seconds": [\d.]+|[\d.]+ s, seed|[ef]\.json')
    one, two = (times.sub("", Path(name).read_text("utf-8")) for name in ("e.json", "f.json"))
    assert one == two
    assert Path("page.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    assert "<testsuites" in Path("r.xml").read_text("utf-8")
    assert json.loads(Path("r.sarif").read_text("utf-8"))["version"] == "2.1.0"
    assert Path("s.md").read_text("utf-8").startswith("## ")


@pytest.mark.parametrize(
    ("words", "said"),
    [(("-o", "report.pdf"), "-o takes a file that ends in one of .json, .html, .xml, .sarif, .md"),
     (("-o", "a.json", "--json", "b.json"), "are one format; give one")],
)  # fmt: skip
def test_an_ending_that_says_nothing_is_refused_before_anything_runs(run, words, said):
    done = run("audit", "laplace", *words)
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())


def test_every_option_of_an_audit_stands_in_a_group_of_the_help(run):
    text = run("audit", "--help").stdout
    heads = re.findall(r"^(\w+):$", text, re.M)
    assert heads == ["Claim", "Databases", "Budget", "Mechanism", "Machines", "Output"]
    assert text.index("--epsilon") < text.index("--databases") < text.index("--trials")


@pytest.mark.parametrize(
    ("code", "options", "said"),
    [
        ("def f(rng, database): return sum(database)", ["--pair", "[1]", "[]"], "the other order"),
        ("class f:\n def __init__(self, a): pass", ["--pair", "[1]", "[]"], "f is a class"),
        ("from hypothesis import strategies as st\nints = st.integers()\ndef f(x, rng): return x",
         ["--databases", "mine.py:ints"], "give --relation replace-one, which replaces"),
        ("from hypothesis import strategies as st\nnone = st.lists(st.nothing(), max_size=0)\n"
         "def f(x, rng): return x", ["--databases", "mine.py:none"], "that makes databases with"),
        ("from hypothesis import strategies as st\nboth = st.lists(st.none()) | st.text()\n"
         "def f(x, rng): return x", ["--databases", "mine.py:both"], "of type str has no records"),
        ("import dpwitness\n\n@dpwitness.claims(epsilom=1)\ndef f(x, rng): return x", [],
         "line 3: ValueError: claims takes no 'epsilom' (did you mean epsilon?)"),
        ("import dpwitness\n\nm = dpwitness.Mechanism(nam='f', run=len)", [],
         "line 3: UnknownArgument: Mechanism takes no 'nam' (did you mean name?); it takes"),
        ("def f(x, rng): return x", ["--pair", "[1]", "[]", "--seconds", -3], "number, got -3"),
    ],
)  # fmt: skip
def test_a_common_mistake_is_named(run, code, options, said):
    Path("mine.py").write_text(code)
    done = run("audit", "mine.py:f", "--epsilon", 1, "--relation", "add-remove", *options)
    assert done.exit_code in (2, 4)
    assert said in " ".join(done.stderr.split())


def test_a_replay_of_other_code_says_so_first(run):
    code = "def {}(database, rng, *, size=None): return len(database) + rng.laplace({}, size=size)"
    Path("mine.py").write_text(code.format("f", "scale=1"))
    pair = ("--pair", "[]", "[1]", "--relation", "add-remove", "--epsilon", 1, "--trials", 2000)
    run("audit", "mine.py:f", *pair, "-o", "e.json")
    Path("weaker_release.py").write_text(code.format("g", "scale=3"))
    done = run("replay", "e.json", "weaker_release.py:g")
    assert done.exit_code == 4
    first = done.stdout.splitlines()[1]
    assert first == "  - mechanism: recorded f, now g"
    assert len(run("replay", "e.json", "weaker_release.py:g", "-v").stdout) > len(done.stdout)


@pytest.mark.long
def test_numbers_take_the_place_of_the_text(run):
    for words in (("audit", "laplace", "--trials", 2000), ("list", "noise"),
                  ("tools", "plan", "--epsilon", 1, "--trials", 5000),
                  ("reproduce", "EM-3.11", "--trials", 1000, "--workers", 1)):  # fmt: skip
        for asked in (("--json", "-"), ("-o", "-")):
            assert json.loads(run(*words, *asked).stdout), words


def test_a_word_that_another_group_has_is_answered_with_its_place(run):
    done = run("merge", "a.json")
    assert done.exit_code == 2
    assert "merge is `main tools merge`." in done.output
    assert "did you mean merge?" in run("mergee", "a.json").output


def test_about_ten_commands_are_shown(run):
    assert len(cli.main.commands) <= 12
    listed = {name for group in TASKS.values() for name in group.split()}
    assert listed == set(cli.main.commands)


LOST = {
    "the source": ("--json", "f.py", "def f(database, rng):\n    return 0\n"),
    "the settings": ("-o", "settings.json", '{"trials": 3}'),
    "samples": ("--json", "d.json", "[1, 2, 3]"),
    "a baseline": ("--json", "base.json", '{"schema": "dpwitness-baseline/1"}'),
    "a page": ("-o", "index.html", "<h1>mine</h1>"),
}


@pytest.mark.parametrize("case", LOST.values(), ids=LOST)
def test_a_report_takes_the_place_of_nothing_but_a_report(case, tmp_path):
    option, name, text = case
    place = tmp_path / name
    place.write_text(text, encoding="utf-8")
    done = CliRunner().invoke(
        cli.main, ["audit", "laplace", "--trials", "2000", option, str(place)]
    )
    assert done.exit_code == 2
    assert "is there already" in done.stderr
    assert "nothing was run" in done.stderr
    assert place.read_text(encoding="utf-8") == text


def test_a_log_is_appended_to_a_log_alone(tmp_path):
    place = tmp_path / "release.py"
    place.write_text("x = 1\n", encoding="utf-8")
    done = CliRunner().invoke(cli.main, ["--log", str(place), "list", "noise"])
    assert done.exit_code == 2
    assert place.read_text(encoding="utf-8") == "x = 1\n"


@pytest.mark.long
@pytest.mark.parametrize(
    "command",
    [
        "audit laplace --claims privacy --trials 2000 --quiet",
        "estimate laplace --trials 2000 --quiet",
        "gate --quiet",
        "list noise",
        "judge one.csv two.csv --epsilon 1",
        "judge one.csv --law laplace(1)",
        "scores one.csv two.csv",
        "reproduce EM-3.10 --trials 10000 --workers 1 --quiet",
        "tools plan --epsilon 1 --trials 1000",
        "tools mutants geometric --trials 500 --seconds 2 --kind noise --quiet",
    ],
)
def test_every_format_is_written_over_its_own_kind(run, tmp_path, command):
    for number, name in enumerate(("one.csv", "two.csv")):
        draws = np.random.default_rng(number).laplace(size=400)
        (tmp_path / name).write_text("".join(f"{one}\n" for one in draws))
    (tmp_path / "dpwitness.toml").write_text("[[gate]]\ntarget = 'laplace'\ntrials = 2000\n")
    few = command.split()[0] in ("estimate", "list", "tools")
    kinds = [one for one in FORMATS if not few or one.name in ("json", "html", "markdown")]
    first, again = (
        run(*command.split(), *(w for one in kinds for w in ("-o", f"a{one.ending}")))
        for _ in range(2)
    )
    assert first.exit_code in (0, 3), first.output
    assert again.exit_code == first.exit_code, again.output


ANSWERED = [
    (["audit", "–epsilon", "1", "laplace"], "typographic dash; write --epsilon"),
    (["estimate", "laplace", "--mu", "1"], "--mu is a switch"),
    (["audit", "laplace", "--pair", "“[]”", "[1]"], "straight quotes"),
    (["audit", "laplace", "--pair", "d.json", "[1]"], "takes the databases themselves and no file"),
    (["audit", "found.json"], "dpwitness replay found.json"),
    (["audit", "f.py::f", "--epsilon", "1"], "one colon stands between"),
    (["audit", "folder:f", "--epsilon", "1"], "folder/FILE.py:function"),
    (["audit", "work.ipynb:f", "--epsilon", "1"], "must end in .py"),
    (["audit", "f.py:Release.total", "--epsilon", "1", "--pair", "0", "1"], "is a method"),
    (["audit", "f.py:nothing", "--epsilon", "1", "--pair", "0", "1"], "does it lack a return"),
    (["replay", "f.py:f", "found.json"], "dpwitness replay found.json f.py:f"),
    (["scores", "in.csv", "--one-run", "--mu", "1"], "which fair coins hardly ever give"),
    (["gate", "--rise", "nan"], "--rise must be finite"),
]


@pytest.mark.parametrize(("words", "sentence"), ANSWERED, ids=lambda one: " ".join(one)[:40])
def test_a_slip_is_answered_with_what_to_do(words, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["dpwitness", *words])
    Path("f.py").write_text(
        "class Release:\n    def total(self, database, rng):\n        return 0\n\n"
        "def nothing(database, rng, *, size=None):\n    rng.laplace()\n\n"
        "def f(database, rng):\n    return rng.laplace()\n",
        encoding="utf-8",
    )
    Path("found.json").write_text("{}", encoding="utf-8")
    Path("work.ipynb").write_text("{}", encoding="utf-8")
    Path("in.csv").write_text("".join(f"{k / 7},1\n" for k in range(60)), encoding="utf-8")
    Path("folder").mkdir()
    done = CliRunner().invoke(cli.main, words)
    assert done.exit_code in (2, 4)
    assert sentence in " ".join((done.stdout + done.stderr).split())
