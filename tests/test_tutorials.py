"""Every page is in the index and does what it says: commands run, words compared."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted((DOCS / "tutorials").glob("*.md"))
EVERY = sorted(page for page in DOCS.rglob("*.md") if "sample" not in page.parts)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.S | re.M)
# Only the seconds differ from one machine to the next.
TIME = re.compile(r"[\d.,]+ s\b")
STATUS = {"Refuted": 1, "Inconclusive": 3}


def commands(page):
    """The blocks of a page: Python files to write, and commands with what they print."""
    return [
        (kind, body)
        for kind, body in BLOCK.findall(page.read_text("utf-8"))
        if body.startswith(("# ", "$ dpwitness"))
    ]


SHOWN = [page for page in EVERY if any(body[0] == "$" for _, body in commands(page))]


def named_by(index):
    """The pages in the lists of an index, and in those of the indexes that it names."""
    for place in re.findall(r"^[^`\n]+<([\w/-]+)>$", index.read_text("utf-8"), re.M):
        page = index.parent / f"{place}.md"
        yield page
        if page.name == "index.md":
            yield from named_by(page)


def test_the_index_names_every_page():
    index = DOCS / "index.md"
    assert sorted([index, *named_by(index)]) == EVERY


@pytest.mark.parametrize("page", EVERY, ids=lambda page: page.stem)
def test_every_link_of_a_page_leads_somewhere(page):
    for place in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
        assert (page.parent / place).exists(), place


@pytest.mark.quality
@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.stem)
def test_a_page_prints_what_it_says(page, tmp_path):
    for _, body in commands(page):
        for library in re.findall(r"^(?:import|from) (pandas|opendp|diffprivlib)\b", body, re.M):
            pytest.importorskip(library)
    shutil.copytree(ROOT / "clients", tmp_path / "clients")
    ran = 0
    for kind, body in commands(page):
        if kind == "python":
            (tmp_path / re.match(r"# (\S+\.py)\n", body)[1]).write_text(body)
            continue
        command, _, wanted = body.removeprefix("$ ").partition("\n")
        words = shlex.split(command)
        assert words[0] == "dpwitness"
        done = subprocess.run(
            [sys.executable, "-m", "dpwitness", *words[1:]],
            cwd=tmp_path, capture_output=True, text=True, check=False,
            env={**os.environ, "COLUMNS": "80"},
        )  # fmt: skip
        said, wanted = (" ".join(TIME.sub("", text).split()) for text in (done.stdout, wanted))
        assert wanted in said, done.stdout + done.stderr
        word = said.split(":")[0]
        assert done.returncode in {STATUS.get(word, 0), 1 if words[1] == "replay" else 0}
        ran += 1
    assert ran
