"""Runs again what the pages of this folder say they found, and compares the verdicts.

    python -m docs.findings [diffprivlib-nanmean ...] [--write]

A page is its own experiment. Every listing under a line "`name`:" is written to an empty folder,
and every line of a `console` block that starts with `$` is run there by the shell, in the order of
the page: so the environment is made anew, with the versions that the page names. After an audit
comes what it said, and the first words of that are compared with what it says now. A command that
makes the environment and fails ends its page: nothing behind it has been judged. Exits with 1 if a
page does not say what came, or could not be run. --write puts what came into the table of the index
for the pages that were run. pip, node and npm are those of the machine.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
LISTING = re.compile(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```$", re.M | re.S)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.M)
VERDICT = re.compile(r"(Not refuted|Refuted|Inconclusive)\b")
AUDIT = "dpwitness "
"""What the commands that judge begin with; all others make the environment."""
LOST = "its environment cannot be made"
MARK = "<!-- written by python -m docs.findings --write -->"


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
            said = (done.stderr or done.stdout).strip()[-300:]
            if not command.startswith(AUDIT) and done.returncode:
                lost = f"{name}: {LOST}: {command}\n  now: {said}"
                return [*wrong, lost]
            came = verdict(done.stdout)
            if came != verdict(told) or not (came or done.returncode == 0):
                now = came or said
                wrong.append(f"{name}: {command}\n  the page: {told.strip()[:80]}\n  now: {now}")
    return wrong


def spent():
    """Seconds by the clock, and of the processor in the commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic(), used.ru_utime + used.ru_stime


def write(rows):
    """Put the rows of the pages that were run into the table of the index, in its order."""
    page = HERE / "index.md"
    head, _, old = page.read_text(encoding="utf-8").partition(MARK)
    kept = {row.split("|")[1].strip(): row for row in old.splitlines()[4:]} | rows
    table = ["| page | run again on | what came | minutes | of the processor |", "|---" * 5 + "|"]
    text = [f"{head}{MARK}", "", *table, *(kept[name] for name in names() if name in kept), ""]
    page.write_text("\n".join(text), encoding="utf-8")


def main():
    """Run the pages that are asked for, or all."""
    parser = argparse.ArgumentParser(prog="python -m docs.findings", description=__doc__)
    parser.add_argument(
        "pages", nargs="*", metavar="PAGE", help="pages, without .md (default: all)"
    )
    parser.add_argument("--write", action="store_true", help="write what came into the index")
    asked = parser.parse_args()
    failed = False
    for name in asked.pages or names():
        before = spent()
        wrong = run_again(name)
        failed = failed or bool(wrong)
        minutes, cpu = ((now - then) / 60 for now, then in zip(spent(), before, strict=True))
        told = f"{name}: as the page says ({minutes:.1f} minutes, {cpu:.1f} of the processor)"
        print("\n".join(wrong) or told, flush=True)
        if asked.write:
            came = f"otherwise in {len(wrong)} of its commands" if wrong else "as the page says"
            came = LOST if LOST in "".join(wrong) else came
            day = datetime.now(UTC).date()
            write({name: f"| {name} | {day} | {came} | {minutes:.1f} | {cpu:.1f} |"})
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
