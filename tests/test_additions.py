"""What an addition costs: tried in a scratch copy, run there, its touched files counted."""

import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("mechanisms", "auditors", "reports")


@pytest.fixture
def scratch(tmp_path):
    """A copy of the product in which it is imported from, without an installation."""
    unneeded = shutil.ignore_patterns("__pycache__")
    home = tmp_path / "dpwitness"
    shutil.copytree(ROOT / "dpwitness", home, ignore=unneeded)
    for room in ROOMS:
        shutil.copytree(ROOT / room, home / room, ignore=unneeded)
    return home


def add_line(path, before, line):
    """Put one line before the first that starts with `before`."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    place = next(i for i, text in enumerate(lines) if text.startswith(before))
    path.write_text("".join([*lines[:place], line, *lines[place:]]), encoding="utf-8")


def touched(scratch):
    """(new files, changed lines by file) of the copy against the product."""
    new, changed = [], {}
    for path in sorted(scratch.rglob("*.py")):
        inside = path.relative_to(scratch)
        old = ROOT / (inside if inside.parts[0] in ROOMS else Path("dpwitness") / inside)
        if not old.exists():
            new.append(inside.as_posix())
        elif not filecmp.cmp(path, old, shallow=False):
            before = old.read_text(encoding="utf-8").splitlines()
            after = path.read_text(encoding="utf-8").splitlines()
            changed[inside.as_posix()] = len(after) - len(before)
    return new, changed


def run(scratch, *command, folder):
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(scratch.parent), str(folder)])},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def blocks_of_contributing():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.S)


def block_of(place):
    """The program that CONTRIBUTING shows for this file."""
    (program,) = (b for b in blocks_of_contributing() if b.startswith(f"# {place}\n"))
    return program


@pytest.mark.slow
def test_an_output_format_is_one_file_and_one_line_as_contributing_says(scratch, tmp_path):
    place = "reports/formats/as_lines.py"
    (scratch / place).write_text(block_of(place), encoding="utf-8")
    block = block_of("reports/formats/table.py").splitlines(keepends=True)
    (row,) = (line for line in block if 'Format("lines"' in line)
    add_line(scratch / "reports" / "formats" / "table.py", '    Format("html"', row)
    assert touched(scratch) == ([place], {"reports/formats/table.py": 1})
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "mine.py").write_text("def leaky(database, rng):\n    return len(database)\n")
    (folder / "dpwitness.toml").write_text(
        "[[gate]]\ntarget = 'mine.py:leaky'\nepsilon = 1.0\npair = ['[]', '[1]']\ntrials = 2000\n"
    )
    audit = ("audit", "mine.py:leaky", "--epsilon", "1", "--pair", "[]", "[1]", "--trials", "2000")
    theorem = ("reproduce", "EM-3.10", "--trials", "10_000", "--workers", "1")
    for number, command in enumerate((audit, ("gate",), theorem, audit, ("gate",), theorem)):
        path = folder / f"{number % 3}.tsv"  # the second time over the file of the first
        done = run(scratch, "-m", "dpwitness", *command, "-o", path.name, folder=folder)
        assert done.returncode == (0 if command is theorem else 1), done.stderr
        mark, *lines = path.read_text().splitlines()
        assert mark == "# dpwitness"
        assert [line.split("\t")[0] for line in lines] == (
            [] if command is theorem else ["refuted"]
        )


def learner_seen(home, names, folder):
    """What an audit of five numbers makes of the learner, which `names` imports as `learner`."""
    code = f"""
import dpwitness
from dpwitness.auditors.events.events import AdditiveScore
{names}
def five(database, rng):
    return [float(x) for x in rng.normal(size=5) + 0.9 * len(database)]
r = dpwitness.audit(five, epsilon=1.0, relation="add-remove", pair=([], [1]), trials=8_000)
import numpy as np
from dpwitness.auditors.events.ledger import Ledger
from dpwitness.auditors.choosing.choose import proposed
from dpwitness.auditors.outputs.outputs import Outputs
from dpwitness.auditors.outputs.questions import questions
rng = np.random.default_rng(0)
sides = [Outputs.of(rng.normal(size=(2000, 5)) + shift, 2000) for shift in (0.9, 0.0)]
ledger = Ledger.fixed_on(sides, questions)
ledger.add(*sides)
mine = list(learner(ledger))
events = [family.event(1) for family in mine]
inside = [float(events[0].contains(side).mean()) for side in sides]
counted = [mine[0].hits[:, s, 1].sum() / mine[0].sizes[:, s].sum() for s in (0, 1)]
print(r.verdict.value, len(mine), type(events[0]).__name__)
print(np.allclose(inside, counted), inside[0] > 2 * inside[1])
print(sum(f.simplicity == 4 and type(f.event(0)) is AdditiveScore for f in proposed(ledger)))
"""
    return run(home, "-c", code, folder=folder).stdout.split()


PLACE = "auditors/events/learners/upper_halves.py"
SEEN = ["refuted", "2", "AdditiveScore", "True", "True", "2"]


@pytest.mark.long
def test_a_learner_of_several_columns_is_one_file_and_its_name(scratch, tmp_path):
    (scratch / PLACE).write_text(block_of(PLACE), encoding="utf-8")
    door = scratch / "auditors" / "choosing" / "choose.py"
    row = block_of("auditors/choosing/choose.py").splitlines()[1]
    text = door.read_text(encoding="utf-8").splitlines()
    text = [row if line.startswith("LEARNERS: ") else line for line in text]
    door.write_text("\n".join(text) + "\n", encoding="utf-8")
    door.write_text(
        door.read_text().replace(
            "from ..events.learners import additive\n",
            "from ..events.learners import additive\n"
            "from ..events.learners.upper_halves import upper_halves\n",
        )
    )
    assert touched(scratch) == ([PLACE], {"auditors/choosing/choose.py": 1})
    names = "from dpwitness.auditors.events.learners.upper_halves import upper_halves as learner"
    assert learner_seen(scratch, names, tmp_path) == SEEN


def shipped(folder, name, group, value):
    """The metadata of an installed package with one entry point."""
    home = folder / f"{name}-1.0.dist-info"
    home.mkdir()
    (home / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (home / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n")


@pytest.mark.long
def test_another_package_ships_a_learner(scratch, tmp_path):
    program = block_of(PLACE).replace("from ..", "from dpwitness.auditors.events.")
    (tmp_path / "halves.py").write_text(program, encoding="utf-8")
    shipped(tmp_path, "halves", "dpwitness.learners", "halves:upper_halves")
    found = learner_seen(scratch, "from halves import upper_halves as learner", tmp_path)
    assert found == SEEN


RELEASE = """
from counted import Counter
from hypothesis import strategies as st

COUNTER = Counter(0.5, 1.0)
HONEST = Counter(1.0, 1.0)
people = st.lists(st.integers(0, 3), max_size=4)
"""
LIBRARY = """
class Counter:
    def __init__(self, epsilon, scale):
        self.epsilon, self.scale = epsilon, scale

    def release(self, database, rng):
        return len(database) + rng.laplace(scale=self.scale)
"""


@pytest.mark.long
def test_another_package_ships_an_adapter(scratch, tmp_path):
    home = tmp_path / "counted"
    home.mkdir()
    (home / "__init__.py").write_text(LIBRARY)
    (home / "audit.py").write_text(block_of("counted/audit.py"), encoding="utf-8")
    shipped(tmp_path, "counted", "dpwitness.adapters", "counted.audit:adapt")
    (tmp_path / "release.py").write_text(RELEASE)
    for name, status in (("COUNTER", 1), ("HONEST", 0)):
        words = ("audit", f"release.py:{name}", "--databases", "release.py:people")
        done = run(scratch, "-m", "dpwitness", *words, "--trials", "20_000", folder=tmp_path)
        assert done.returncode == status, done.stdout + done.stderr
    (home / "audit.py").write_text("raise RuntimeError('half installed')")
    done = run(scratch, "-m", "dpwitness", *words, folder=tmp_path)
    assert done.returncode == 2
    assert "entry point 'counted' of dpwitness.adapters" in done.stderr
    assert "half installed" in done.stderr


@pytest.mark.long
def test_a_mechanism_is_one_file_and_one_line_as_contributing_says(scratch, tmp_path):
    program = next(b for b in blocks_of_contributing() if b.startswith("# mechanisms/"))
    (row,) = (b for b in blocks_of_contributing() if b.strip().endswith('"noise.coin",'))
    place = program.splitlines()[0].removeprefix("# ")
    (scratch / place).write_text(program, encoding="utf-8")
    add_line(scratch / "mechanisms" / "catalogue.py", '    "laplace T-LAP-3"', row)
    assert touched(scratch) == ([place], {"mechanisms/catalogue.py": 1})
    listed = run(scratch, "-m", "dpwitness", "list", "--json", "-", folder=tmp_path)
    assert "coin" in {one["name"] for one in json.loads(listed.stdout)["mechanisms"]}
    words = ("audit", "coin", "--trials", "500", "--seed", "0")
    done = run(scratch, "-m", "dpwitness", *words, folder=tmp_path)
    assert done.returncode == 0
    assert "Not refuted" in done.stdout


def hunks_of_contributing():
    """The edits that make a new kind of claim, by file: "+" a new line, " " one that is there."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```diff\n(.*?)```", text, re.S)
    parts = re.split(r"^--- (\S+)\n", block, flags=re.M)[1:]
    return dict(zip(parts[::2], (part.splitlines() for part in parts[1::2]), strict=True))


def edited(text, hunk):
    """The text with the new lines of a hunk, each after the line that stands before it there."""
    lines, place = text.splitlines(), 0
    for line in hunk:
        if line.startswith("+"):
            lines.insert(place, line[1:])
            place += 1
        else:
            place = lines.index(line[1:], place) + 1
    return "\n".join(lines) + "\n"


NEW_AUDITOR = "auditors/claims/output_range.py"


def add_claim_kind(scratch):
    (program,) = (b for b in blocks_of_contributing() if b.startswith(f"# {NEW_AUDITOR}\n"))
    (scratch / NEW_AUDITOR).write_text(program, encoding="utf-8")
    for name, hunk in hunks_of_contributing().items():
        path = scratch / name
        path.write_text(edited(path.read_text(encoding="utf-8"), hunk), encoding="utf-8")


RANGE = """
from ..model import RangeClaim


def _coin(database: Database, rng: np.random.Generator, *, size: Size = None) -> Array:
    return rng.integers(2, size=size)


def _range(*, high: float) -> Subject:
    claim = RangeClaim(high=high, databases=([],))
    return Subject(claim=claim, mechanism=Mechanism(name="coin", run=_coin))


THEOREMS += tuple(
    Theorem(
        identifier=name, statement=f"a coin is at most {high}", reference="by hand",
        subject=partial(_range, high=high), holds=holds,
    )
    for name, high, holds in (("T-RANGE", 1.0, True), ("ERR-RANGE", 0.5, False))
)
"""


def add_two_statements(scratch):
    """Two statements of the new kind, so that there is something to reproduce."""
    place = scratch / "mechanisms" / "noise" / "theorems_noise.py"
    place.write_text(place.read_text(encoding="utf-8") + RANGE, encoding="utf-8")


@pytest.mark.slow
def test_a_kind_of_claim_is_five_files_as_contributing_says(scratch, tmp_path):
    add_claim_kind(scratch)
    new, changed = touched(scratch)
    assert (new, sorted(changed)) == ([NEW_AUDITOR], sorted(hunks_of_contributing()))
    assert len(new) + len(changed) <= 5
    add_two_statements(scratch)
    words = ("reproduce", "T-RANGE", "ERR-RANGE", "--trials", "10_000", "--workers", "1")
    done = run(
        scratch, "-m", "dpwitness", *words, "--json", "f.json", "--html", "f.html", folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "f.json").read_text(encoding="utf-8"))["results"]
    assert [(one["kind"], one["verdict"]) for one in results] == [
        ("range", "not_refuted"), ("range", "refuted"),
    ]  # fmt: skip
    page = (tmp_path / "f.html").read_text(encoding="utf-8")
    assert "margin ≥ 0" in page
    assert "On [] an output is larger." in page
    code = (
        "import dpwitness\n"
        "from dpwitness.mechanisms.noise.theorems_noise import THEOREMS\n"
        "from dpwitness.reports.formats.statements_as_json import schema\n"
        "print(*(dpwitness.check(one, trials=200).verdict.value for one in THEOREMS[-2:]))\n"
        "print(*dpwitness.check(THEOREMS[-1], trials=200).finding.counts)\n"
        "print('range' in schema()['$defs']['StatementRecord']['properties']['kind']['enum'])\n"
    )
    told = run(scratch, "-c", code, folder=tmp_path).stdout.split()
    assert told == ["not_refuted", "refuted", "margins", "True"]


@pytest.mark.slow
def test_mypy_names_every_forgotten_place_of_a_new_kind(scratch, tmp_path):
    pytest.importorskip("mypy")
    add_claim_kind(scratch)
    add_two_statements(scratch)
    hunks = hunks_of_contributing()
    cache = ("--cache-dir", str(tmp_path / "cache"), "--config-file", str(ROOT / "pyproject.toml"))

    def complaints():
        done = run(
            scratch, "-m", "mypy", *cache, "-m", "dpwitness.auditors.claims.check",
            "-m", "dpwitness.reports.faces.claim_faces",
            "-m", "dpwitness.mechanisms.noise.theorems_noise", folder=scratch.parent,
        )  # fmt: skip
        return done.stdout.replace(str(scratch.parent), "")

    assert "error" not in complaints()
    for name in hunks:
        path = scratch / name
        whole = path.read_text(encoding="utf-8")
        kept = [line for line in hunks[name] if "RangeClaim" not in line or "class" in line]
        forgotten = (ROOT / name).read_text(encoding="utf-8")
        if name.endswith("/claims.py"):
            forgotten = edited(forgotten, kept)  # the class is there, the union does not name it
        path.write_text(forgotten, encoding="utf-8")
        assert "RangeClaim" in complaints(), name
        path.write_text(whole, encoding="utf-8")


@pytest.mark.slow
def test_a_theorem_is_one_row_in_one_file(scratch, tmp_path):
    place = scratch / "mechanisms" / "noise" / "theorems_noise.py"
    row = (
        "    Theorem(\n"
        '        identifier="T-NEW",\n'
        '        statement="the density integrates to exp(-1) outside [-1, 1]",\n'
        '        reference="by hand",\n'
        "        subject=partial(_tail_number, threshold=1.0),\n"
        "    ),\n"
    )
    text = place.read_text(encoding="utf-8")
    head, opening, rest = text.partition("THEOREMS: tuple[Theorem, ...] = (\n")
    place.write_text(head + opening + row + rest, encoding="utf-8")
    assert touched(scratch) == ([], {"mechanisms/noise/theorems_noise.py": 6})
    words = ("reproduce", "T-NEW", "--trials", "10_000", "--json", "found.json")
    run(scratch, "-m", "dpwitness", *words, folder=tmp_path)
    (result,) = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))["results"]
    assert (result["verdict"], result["reference"]) == ("proved", "by hand")
