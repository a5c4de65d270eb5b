"""A package through its releases: one audit for each, in an environment made for it.

The releases share the error probability evenly (Bonferroni): with n of them each audit has
alpha / n, so the chance that any release is refuted falsely is at most alpha. Every audit is
`dpwitness audit` in a process of its own, so what a release does to its interpreter stays there.
"""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Required, TypedDict

from ...auditors.errors import InvalidArgument
from ..formats import table
from ..record.evidence import release
from ..shell.computed import FAILED, INCONCLUSIVE, REFUTED, UNUSABLE
from ..shell.console import Console, save
from ..writing import files

OURS = ("--python", "--command", "--isolate", "--quiet", "--shard", "--checkpoint", "--github",
        *(f"--{one.name}" for one in table.FORMATS))  # fmt: skip
VERDICTS = {0: "not refuted", REFUTED: "refuted", INCONCLUSIVE: "inconclusive"}
"""The verdict on a release by the exit status of its audit; any other status is no verdict."""
NAME = re.compile(r"@?[A-Za-z0-9][\w./-]*")
NUMBER = re.compile(r"[A-Za-z0-9][\w.!+-]*")


class Sweep(TypedDict):
    """What a sweep was asked: another request is another sweep."""

    package: str
    versions: list[str]
    npm: bool
    beside: list[str]
    target: str
    source: str
    asked: list[str]
    alpha: float


class Release(TypedDict, total=False):
    """What became of one release; what was not found out is left out."""

    version: Required[str]
    verdict: Required[str]
    said: str
    status: int
    epsilon_lower: float
    draws: int
    seconds: float
    event: str


def run(
    console: Console,
    package: str,
    asked: Sequence[str],
    *,
    versions: str,
    target: str,
    npm: bool,
    beside: Sequence[str],
    alpha: float,
    environments: str | None,
    checkpoint: str | None,
    paths: Mapping[str, str | None],
) -> int:
    """Audit every release, say a row for each and then what changed between them; the status."""
    _check(package, asked, alpha)
    ending = Path(checkpoint or "").suffix.lower()
    kept = table.Format("checkpoint", "the finished releases", ending, '"sweep"')
    table.require_places({**paths, "checkpoint": checkpoint}, *[kept] * (checkpoint is not None))
    numbers = _releases(package, versions, npm)
    request: Sweep = {
        "package": package, "versions": numbers, "npm": npm, "beside": list(beside),
        "target": target, "source": _digest(target, npm), "asked": list(asked), "alpha": alpha,
    }  # fmt: skip
    rows = _kept(checkpoint, request)
    with ExitStack() as stack:
        folder = environments or stack.enter_context(tempfile.TemporaryDirectory())
        for number in numbers[len(rows) :]:
            row = _audited(request, number, Path(folder).resolve(), alpha / len(numbers))
            rows.append(row)
            if checkpoint:
                files.write_atomically(checkpoint, _as_json(request, rows))
            console.line(_in_words(row))
    told = what_changed(rows)
    console.line(told)
    made = {"json": _as_json, "markdown": as_page}
    saved = [
        save(console, path, made[name](request, rows), f".{name}")
        for name, path in paths.items()
        if path is not None
    ]
    return _status(rows) if all(saved) else UNUSABLE


def _check(package: str, asked: Sequence[str], alpha: float) -> None:
    if not NAME.fullmatch(package):
        raise InvalidArgument(f"{package!r} is no name of a package; give it as the registry does")
    if not 0 < alpha < 1:
        raise InvalidArgument(f"alpha is a probability between 0 and 1, not {alpha}")
    for word in asked:
        # A short option may have its value behind it: -ofound.json.
        if word.split("=")[0] in OURS or word.startswith("-o"):
            raise InvalidArgument(
                f"{word} is set by sweep itself; give only options that say what is claimed, on "
                "which databases, and how much is drawn"
            )


def _releases(package: str, wanted: str, npm: bool) -> list[str]:
    """The releases asked for, oldest first; the registry is asked for a range or all only."""
    if wanted != "all" and ".." not in wanted:
        numbers = [number.strip() for number in wanted.split(",")]
    else:
        there = _published(package, npm)
        if wanted == "all":
            return there
        ends = [end.strip() for end in wanted.split("..", 1)]
        for end in ends:
            if end not in there:
                raise InvalidArgument(
                    f"{package} has no release {end!r} here; those listed are {', '.join(there)}"
                )
        numbers = there[there.index(ends[0]) : there.index(ends[1]) + 1]
        if not numbers:
            raise InvalidArgument(f"{ends[0]} came after {ends[1]}; give the older one first")
    if not all(map(NUMBER.fullmatch, numbers)) or len({*numbers}) < len(numbers):
        raise InvalidArgument(
            f"--versions {wanted!r} is neither a range (1.0.6..1.2.0), nor a list of different "
            "releases (1.0.6,1.2.0), nor all"
        )
    return numbers


def _published(package: str, npm: bool) -> list[str]:
    command = (
        ["npm", "view", package, "versions", "--json"]
        if npm
        else [sys.executable, "-m", "pip", "index", "versions", package]
    )
    done = _run(command)
    listed = re.search(r"^Available versions: (.*)$", done.stdout, re.M)
    if npm and done.returncode == 0:
        found = json.loads(done.stdout)
        return found if isinstance(found, list) else [found]
    if not npm and listed:
        return listed[1].split(", ")[::-1]
    raise InvalidArgument(
        f"the releases of {package} could not be listed ({_last(done)}); name them: --versions "
        "1.0.6,1.2.0"
    )


def _digest(target: str, npm: bool) -> str:
    """What stands in the file of the target: a changed one is another sweep."""
    names = shlex.split(target) if npm else [target.rpartition(":")[0] or target]
    texts = [Path(name).read_bytes() for name in names if Path(name).is_file()]
    if not npm and not texts:
        raise InvalidArgument(f"there is no file {names[0]!r}; give --target FILE.py:NAME")
    return hashlib.sha256(b"".join(texts)).hexdigest()


def _kept(path: str | None, request: Sweep) -> list[Release]:
    """The rows that an earlier run of the same sweep left."""
    if path is None or not Path(path).is_file() or not Path(path).stat().st_size:
        return []
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        same, rows = found["sweep"] == request, found["rows"]
        whole = [row["version"] for row in rows] == request["versions"][: len(rows)]
    except (OSError, ValueError, KeyError, TypeError):
        same = whole = False
    if not (same and whole):
        raise InvalidArgument(f"{path} holds something else than this sweep; name another file")
    return list(rows)


def _audited(request: Sweep, number: str, folder: Path, alpha: float) -> Release:
    """The row of one release."""
    named, surroundings, failed = _environment(request, number, folder)
    if failed:
        return {"version": number, "verdict": "not installed", "said": failed}
    with tempfile.TemporaryDirectory() as scratch:
        evidence = Path(scratch) / "evidence.json"
        done = _run(
            [sys.executable, "-m", "dpwitness", "audit", *named, "--alpha", repr(alpha), "--json",
             str(evidence), "--quiet", *request["asked"]],
            {**os.environ, **surroundings},
        )  # fmt: skip
        row: Release = {
            "version": number,
            "verdict": VERDICTS.get(done.returncode, "no verdict"),
        }
        if not evidence.exists():
            return {**row, "verdict": "no verdict", "status": done.returncode, "said": _last(done)}
        told = json.loads(evidence.read_text(encoding="utf-8"))
    for result, found in zip(told["results"][:1], told["findings"], strict=False):
        row |= {"epsilon_lower": found["epsilon_lower"]}
        row |= {"draws": result["draws"], "seconds": result["seconds"]}
        if witness := found["witness"]:
            row["event"] = witness["event"]["description"]
    return row


def _environment(
    request: Sweep, number: str, folder: Path
) -> tuple[list[str], dict[str, str], str]:
    """How `audit` names the target there, variables it needs, and why there is none, if so."""
    npm, beside = request["npm"], request["beside"]
    wanted = [f"{request['package']}{'@' if npm else '=='}{number}", *beside]
    key = hashlib.sha256("\n".join([str(npm), *wanted]).encode()).hexdigest()[:12]
    home = folder / key
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not (home / "made").exists():
        if npm:
            home.mkdir(parents=True, exist_ok=True)
            done = _run(["npm", "install", "--silent", "--prefix", str(home), *wanted])
        else:
            venv.create(home, with_pip=True, clear=True)
            done = _run([str(python), "-m", "pip", "install", "-q", *wanted])
        if done.returncode:
            return [], {}, _last(done)
        (home / "made").write_text("\n".join(wanted), encoding="utf-8")
    if npm:
        return ["--command", request["target"]], {"NODE_PATH": str(home / "node_modules")}, ""
    return [request["target"], "--python", str(python)], {}, ""


def _run(
    command: Sequence[str], surroundings: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, env=surroundings, capture_output=True, text=True, errors="replace", check=False
        )
    except OSError as error:
        return subprocess.CompletedProcess(command, 127, "", f"{command[0]}: {error.strerror}")


def _last(done: subprocess.CompletedProcess[str]) -> str:
    lines = (done.stderr or done.stdout).strip().splitlines()
    errors = [line for line in lines if line.startswith(("ERROR", "npm error", "dpwitness:"))]
    return (errors or lines or [f"it ended with status {done.returncode}"])[-1][:300]


def _in_words(row: Release) -> str:
    said = row.get("said") or row.get("event")
    bound = row.get("epsilon_lower")
    shown = f", at least {bound:.3g}" if isinstance(bound, float) else ""
    return f"{row['version']}: {row['verdict']}{shown}{f' ({said})' if said else ''}"


def what_changed(rows: Sequence[Release]) -> str:
    """Between which releases the verdict changed, as a sentence; other rows are passed over."""
    judged = [row for row in rows if row["verdict"] in ("refuted", "not refuted")]
    if not any(row["verdict"] == "refuted" for row in judged):
        return "No release was refuted." if judged else "No release has a verdict."
    parts = []
    if judged[0]["verdict"] == "refuted":
        parts.append(f"there in {judged[0]['version']}, the first that was judged")
    places = {row["version"]: place for place, row in enumerate(rows)}
    for one, two in pairwise(judged):
        if one["verdict"] != two["verdict"]:
            word = "came" if two["verdict"] == "refuted" else "left"
            next_door = places[two["version"]] - places[one["version"]] == 1
            between = "" if next_door else f" or after {one['version']}, with no verdict between"
            parts.append(f"{word} with {two['version']}{between}")
    if judged[-1]["verdict"] == "refuted":
        parts.append(f"there in {judged[-1]['version']}, the last that was judged")
    return f"The fault: {'; '.join(parts)}. Not refuted is no proof that it is gone."


def as_page(request: Sweep, rows: Sequence[Release]) -> str:
    """The table of the releases in Markdown."""
    lines = [
        f"## Differential privacy: {request['package']} through its releases", "",
        what_changed(rows), "",
        f"`{request['target']}` with `{shlex.join(request['asked'])}`; one alpha of "
        f"{request['alpha']:g} for {len(request['versions'])} releases.", "",
        "| release | verdict | epsilon is at least | draws | seconds | event, or what was said |",
        "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for row in rows:
        bound = row.get("epsilon_lower")
        said = str(row.get("event") or row.get("said", "")).replace("|", "\\|").replace("\n", " ")
        cells = [
            row["version"], row["verdict"],
            f"{bound:.3f}" if isinstance(bound, float) else "",
            f"{row['draws']:,}" if "draws" in row else "",
            f"{row['seconds']:.0f}" if "seconds" in row else "", said,
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _as_json(request: Sweep, rows: Sequence[Release]) -> str:
    whole = {"sweep": request, "rows": rows, "changed": what_changed(rows), "dpwitness": release()}
    return json.dumps(whole, indent=1) + "\n"


def _status(rows: Sequence[Release]) -> int:
    """Refuted before all; a mistake in what was asked shows in every release alike."""
    if any(row["verdict"] == "refuted" for row in rows):
        return REFUTED
    if all(row.get("status") == UNUSABLE for row in rows):
        return UNUSABLE
    if all(row.get("status") == FAILED for row in rows):
        return FAILED
    return 0 if all(row["verdict"] == "not refuted" for row in rows) else INCONCLUSIVE
