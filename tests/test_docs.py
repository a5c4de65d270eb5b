"""The documentation is built, whole, and knows everything that a user can name."""

import inspect
import re
import subprocess
import sys
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

import dpwitness
from dpwitness.reports.ci.gate import FLAGS
from dpwitness.reports.cli import main
from dpwitness.reports.settings.settings import Settings

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def every_command(group=main, name="dpwitness"):
    for word, command in group.commands.items():
        yield f"{name} {word}", command
        if isinstance(command, click.Group):
            yield from every_command(command, f"{name} {word}")


@pytest.mark.parametrize(("name", "command"), [*every_command()], ids=lambda one: str(one)[:40])
def test_every_command_and_option_says_what_it_does_and_shows_an_example(name, command):
    assert command.help
    assert name in (command.epilog or "")
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, option.name


@pytest.mark.parametrize("name", sorted(set(dpwitness.__all__) - {"__version__"}))
def test_every_public_name_says_what_it_is(name):
    found = getattr(dpwitness, name)
    if inspect.isclass(found) or inspect.isfunction(found):
        own = found.__doc__ or ""
        assert len(own.split()) > 3, name
        assert not own.startswith(f"{found.__name__}("), "made up by dataclass"


def test_every_public_name_stands_once_on_its_page():
    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    told = " ".join(re.findall(r"```{public-names}\n(.*?)```", page, re.S)).split()
    assert sorted(told) == sorted(set(dpwitness.__all__) - {"__version__"})


def test_every_setting_is_described_with_its_default():
    page = (DOCS / "reference" / "configuration.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", page, re.M))
    for field in fields(Settings):
        wanted = "none" if field.default is None else str(field.default)
        assert rows[field.name].strip().strip('"') == wanted, field.name
    for flag in FLAGS:
        assert f"`{flag}`" in page, flag


def test_the_exit_statuses_are_the_same_everywhere():
    page = (DOCS / "reference" / "statuses.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d[\d, ]*) \| ", page, re.M)
    assert rows == ["0", "1", "2", "3", "4", "130, 143"]
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    told = readme.partition("Exit status ")[2].partition("([all]")[0]
    assert re.findall(r"\b(\d): (?:nothing )?(\w+)", told) == [
        ("0", "refuted"), ("1", "refuted"), ("2", "usage"), ("3", "inconclusive"), ("4", "the")
    ]  # fmt: skip


@pytest.mark.quality
def test_the_documentation_is_built_without_a_warning_and_asks_no_network(tmp_path):
    if find_spec("sphinx") is None:
        pytest.skip("sphinx is not installed: pip install -e '.[docs]'")
    site = tmp_path / "site"
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going",
         "-d", str(tmp_path / "cache"), str(DOCS), str(site)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = (site / "reference" / "python.html").read_text(encoding="utf-8")
    for name in set(dpwitness.__all__) - {"__version__"}:
        assert f'id="dpwitness.{name}"' in told, name
    for page in site.rglob("*.html"):
        assert not re.search(r"\.\. auto|eval-rst|```", page.read_text("utf-8")), page
    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    for name, _ in every_command():
        assert name in commands
    loaded = re.compile(r"<(?:script|img|link)[^>]+(?:src|href)=\"(https?:)?//")
    for page in site.rglob("*.html"):
        assert not loaded.search(page.read_text(encoding="utf-8")), page
