"""What README shows is what the program prints."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from dpwitness.reports.cli import main

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", TEXT, re.S | re.M)
SHOWN = [
    body.removeprefix("$ ").partition("\n")
    for kind, body in BLOCKS
    if not kind and body.startswith("$ dpwitness audit")
]
TIME = re.compile(r"[\d.,]+ s,")


def sources():
    """Every file that README shows whole, by the name in its first comment."""
    for _, body in BLOCKS:
        if found := re.match(r"# (\w+\.py)\n", body):
            yield found[1], body


def test_every_link_of_readme_leads_to_a_file():
    for place in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (README.parent / place).exists(), place


def test_the_pictures_of_readme_are_small():
    places = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", TEXT)
    assert places
    for place in places:
        assert (README.parent / place).stat().st_size < 100_000


def test_readme_shows_one_refuted_and_one_not():
    words = [output.split(":")[0].split()[0] for _, _, output in SHOWN]
    assert {"Refuted", "Not"} <= set(words)


@pytest.mark.quality
@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown[0].split()[2])
def test_the_output_in_readme_is_what_is_printed(shown, tmp_path, monkeypatch):
    command, _, printed = shown
    monkeypatch.chdir(tmp_path)
    for name, text in sources():
        Path(name).write_text(text)
    done = CliRunner().invoke(main, shlex.split(command)[1:])
    assert done.exit_code == (1 if printed.startswith("Refuted") else 0), done.output
    # Only the seconds differ from one machine to the next.
    assert TIME.sub("", " ".join(done.stdout.split())) == TIME.sub("", " ".join(printed.split()))
