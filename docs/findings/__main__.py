"""Runs again what the pages of this folder say they found, and compares the verdicts.

    python -m docs.findings [diffprivlib-nanmean ...]

A page is its own experiment. Every listing under a line "`name`:" is written to an empty folder,
and every line of a `console` block that starts with `$` is run there by the shell, in the order of
the page: so the environment is made anew, with the versions that the page names. After an audit
comes what it said, and the first words of that are compared with what it says now. Exits with 1 if
a page does not say what came. pip, node and npm are those of the machine.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
LISTING = re.compile(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```$", re.M | re.S)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.M)
VERDICT = re.compile(r"(Not refuted|Refuted|Inconclusive)\b")


class Page(NamedTuple):
    """The files of a page, and its commands with the text that the page has under each."""

    files: dict
    commands: list


def read(name):
    """The page of that name."""
    text = (HERE / f"{name}.md").read_text(encoding="utf-8")
    commands = [pair for block in CONSOLE.findall(text) for pair in COMMAND.findall(block)]
    return Page(dict(LISTING.findall(text)), commands)


def names():
    """The pages that can be run again: those with a console block."""
    return sorted(path.stem for path in HERE.glob("*.md") if read(path.stem).commands)


def verdict(text):
    """The first words of a verdict in what an audit printed, or nothing."""
    found = VERDICT.match(text)
    return found.group() if found else ""


def run_again(name):
    """One line for each command of a page that did not do what the page says."""
    page = read(name)
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for file, text in page.files.items():
            (Path(folder) / file).write_text(text, encoding="utf-8")
        for command, told in page.commands:
            done = subprocess.run(
                command, shell=True, cwd=folder, env={**os.environ, "PATH": search},
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            came = verdict(done.stdout)
            if came != verdict(told) or not (came or done.returncode == 0):
                said = came or (done.stderr or done.stdout).strip()[-300:]
                wrong.append(f"{name}: {command}\n  the page: {told.strip()[:80]}\n  now: {said}")
    return wrong


def main():
    """Run the pages that are asked for, or all."""
    parser = argparse.ArgumentParser(prog="python -m docs.findings", description=__doc__)
    parser.add_argument(
        "pages", nargs="*", metavar="PAGE", help="pages, without .md (default: all)"
    )
    failed = False
    for name in parser.parse_args().pages or names():
        wrong = run_again(name)
        failed = failed or bool(wrong)
        print("\n".join(wrong) or f"{name}: as the page says", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
