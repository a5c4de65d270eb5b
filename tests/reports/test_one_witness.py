"""One refuted audit, told everywhere: the same claim, pair, event, counts, bound and next step."""

import json
import re
import shlex
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from dpwitness.auditors.evidence.conversion import revived
from dpwitness.reports.faces import wording
from dpwitness.reports.record.reading import entries_of, load_document

pytestmark = pytest.mark.quality

RELEASE = """
from hypothesis import strategies as st

ages = st.lists(st.integers(0, 120), max_size=30)


def wrong_sum(database, rng, *, size=None):
    return sum(min(age, 100) for age in database) + rng.laplace(scale=50, size=size)
"""
SETTINGS = """
[tool.dpwitness]
trials = 20000
seed = 0
precision = 0.05

[[tool.dpwitness.gate]]
target = "release.py:wrong_sum"
epsilon = 1.0
relation = "add-remove"
databases = "release.py:ages"
"""
TEST = """
from release import ages, wrong_sum


def test_sum(dp_audit):
    dp_audit(wrong_sum, epsilon=1.0, relation="add-remove", databases=ages)
"""
OUT = {"json": "e.json", "html": "e.html", "sarif": "e.sarif", "junit": "e.xml", "markdown": "e.md"}
FILES = [word for name, path in OUT.items() for word in (f"--{name}", path)]


class Words(HTMLParser):
    """The text of a page as it is read."""

    def __init__(self, text):
        super().__init__()
        self.parts, self.hidden = [], 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.hidden += tag in ("script", "style")

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style")

    def handle_data(self, data):
        if not self.hidden:
            self.parts.append(data)


def plain(text):
    """The words alone, whatever a format makes of blanks, line ends, escapes and primes."""
    for mark, meant in (("%0A", " "), ("%25", "%"), ("\\\\", ""), ("′", "'"), ("≥", ">="),
                        ("\xa0", " "), ("`", "")):  # fmt: skip
        text = text.replace(mark, meant)
    return " ".join(re.sub(r"\\\n|^E  ", " ", text, flags=re.M).split())


def places(folder, log):
    """What one command told, by the place it told it in."""
    sarif = json.loads((folder / "e.sarif").read_text("utf-8"))
    junit = ElementTree.parse(folder / "e.xml").getroot()
    failures = [one.text for one in junit.iter("failure")]
    alerts = [line for line in log.splitlines() if line.startswith("::error ")]
    assert len(alerts) == 1
    assert alerts[0].count("%0A") <= 3
    page = Words((folder / "e.html").read_text("utf-8"))
    return {
        "log": "\n".join(line for line in log.splitlines() if not line.startswith("::")),
        "::error": alerts[0],
        "sarif": sarif["runs"][0]["results"][0]["message"]["text"],
        "junit": failures[0],
        "markdown": unescape((folder / "e.md").read_text("utf-8")),
        "html": " ".join(page.parts),
    }


def wanted(result, replay, place):
    """What every place has to say; an annotation has four lines for it."""
    one, two = wording.databases_phrases(wording.shown_pair(result))
    counts = wording.shown_counts(result)
    assert counts is not None
    numbers = [f"{number:,}" for pair in counts for number in pair]
    shares = [wording.share(*one) for one in zip(*counts, strict=True)]
    short = [
        wording.claim_phrase(result.claim), one, two, wording.event_phrase(result), *numbers,
        *shares, f">= {wording.at_least(result.epsilon_lower)}", replay,
    ]  # fmt: skip
    if place == "::error":
        return short
    worst = wording.worst_sentence(result, detail=False).partition(" in ")[0]
    step = wording.next_step(result, "").partition(",")[0]
    return [*short, wording.bound_sentence(result), worst, step]


def dpwitness(folder, *words):
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, check=False
    )


def compare(told, result, replay):
    for place, text in told.items():
        known = plain(text)
        for part in wanted(result, replay, place):
            assert plain(part).casefold() in known.casefold(), (place, part)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "release.py").write_text(RELEASE)
    (folder / "pyproject.toml").write_text(SETTINGS)
    (folder / "conftest.py").write_text("")
    (folder / "test_release.py").write_text(TEST)
    return folder


def test_an_audit_and_a_gate_tell_one_witness_in_every_place(project):
    audit = ("audit", "release.py:wrong_sum", "--epsilon", "1", "--relation", "add-remove",
             "--databases", "release.py:ages")  # fmt: skip
    for words in (audit, ("gate",)):
        done = dpwitness(project, "dpwitness", *words, *FILES, "--github")
        assert done.returncode == 1, done.stderr
        (record,) = entries_of(load_document(str(project / "e.json")), "the file")
        result = revived(record)
        assert wording.worst_sentence(result), "the pair with the largest bound is another one"
        compare(places(project, done.stdout), result, record["replay"])
        # What is told to be run, runs from where the user stands.
        again = shlex.split(record["replay"])
        assert again[0] == "dpwitness"
        counted = dpwitness(project, *again)
        assert counted.returncode == 1, counted.stderr  # it is still refuted
        assert "bit for bit" in counted.stdout


def test_pytest_tells_the_same(project):
    done = dpwitness(project, "pytest", "-q", "-p", "no:cacheprovider", "--dp-report", "found")
    assert done.returncode == 1, done.stdout
    (path,) = (project / "found").glob("*.json")
    (record,) = entries_of(load_document(str(path)), "the file")
    result = revived(record)
    told = plain(done.stdout)
    (command,) = set(re.findall(r"dpwitness replay \S+ release\.py:wrong_sum", told))
    page = Words(path.with_suffix(".html").read_text("utf-8"))
    compare({"pytest": done.stdout}, result, command)
    compare({"page": " ".join(page.parts)}, result, "dpwitness replay found")
    counted = dpwitness(project, *shlex.split(command))
    assert "bit for bit" in counted.stdout, counted.stdout + counted.stderr
