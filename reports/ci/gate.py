"""The gate: every listed audit in a process of its own, and one verdict for the pull request.

What it runs are the tables `[[tool.dpwitness.gate]]`, or `[[gate]]` in dpwitness.toml.

    [[tool.dpwitness.gate]]
    target = "mylib/counts.py:noisy_count"   # as for `dpwitness audit`
    epsilon = 1.0
    relation = "add-remove"
    databases = "mylib/counts.py:PEOPLE"     # or pair = ["[]", "[1]"], two JSON texts
    weight = 2                               # of alpha; 1 where it is not given

Any option of `dpwitness audit` may stand there but alpha and the files to write. A target may be
a file or a package, target = "mylib": then every function in it that is marked with
`dpwitness.claims` is an entry.

A process of its own, because code under audit may take the interpreter down with it; what died
is reported as that. The shares of alpha and the seeds follow from the list alone, so any number
of workers gives the same verdicts.

The table of the gate has a row for each claim, and beside it what the last run had found, which is
read from the history before this run is added to it. The bounds of two runs differ by chance, too:
a change of them says where to look, and stops nothing by itself.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import Meta

from ...auditors.arguments import meant
from ...auditors.asked import ASKED
from ...auditors.claims import derive
from ...auditors.claims.claim_results import ClaimCheck
from ...auditors.evidence.conversion import claim_record, revived
from ...auditors.evidence.record import (
    Document,
    Number,
    PairRecord,
    StatedRecord,
    VerdictWord,
    Whole,
)
from ...auditors.results.results import AuditResult
from ..adapters.marked import named_by
from ..auditing.delivering import source_of
from ..formats.told import Case, ToldClaim
from ..history.recorder import Last, numbered
from ..settings.settings import Settings, SettingsError, find_table
from ..shell.computed import UNUSABLE
from ..shell.guardian import folder_prefix
from ..writing.terminal import one_line
from .pytest_run import WORDS, shares

OPEN = '"?"'
"""What `dpwitness init` writes for what nobody has said yet, as TOML."""
RELATIONS = ASKED["relation"].words
FLAGS: dict[str, tuple[type, ...]] = {
    "claims": (str,),
    "epsilon": (int, float),
    "delta": (int, float),
    "mu": (int, float),
    "rho": (int, float),
    "renyi": (list,),
    "curve": (str,),
    "relation": (str,),
    "distance": (int,),
    "databases": (str,),
    "pair": (list,),
    "trials": (int,),
    "notice": (int, float),
    "seconds": (int, float),
    "precision": (int, float, str),
    "timeout": (int, float),
    "attacker": (str,),
    "exceptions": (str,),
    "unseeded": (bool,),
    "histogram": (bool,),
    "trust-rows": (bool,),
    "exact": (bool,),
}
CLAIM = ("epsilon", "delta", "mu", "rho", "renyi", "curve")
"""The options that state a claim."""
DRIFT = 0.5
"""Share of an entry's alpha for judging the baseline's pair again, where there is a baseline."""
COMPARED = 0.05
"""Precision of the bounds that are compared with the baseline's."""
LARGEST_BOUND = 1e3
"""No bound from below is near it: that would need more draws than anybody makes."""
STATED = ("epsilon", "delta", "relation", "distance")
"""What tells two claims apart."""
COLUMNS = (("verdict", 12), ("privacy loss", 12), ("claimed", 7), ("last run", 16), ("time", 7))
"""The columns before the name of an entry, and the letters of each."""
ALL = sum(size + 2 for _, size in COLUMNS)
"""Characters of all columns together."""
ORDER = ("refuted", "failed", "inconclusive", "not_refuted", "proved")
"""The verdicts, what needs somebody's eyes first."""


Options = Mapping[str, Any]
"""What a table of the settings says; `FLAGS` has the type that each key is checked to have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One target with its claim and budget; `options` are those of `dpwitness audit`."""

    target: str
    weight: float = 1.0
    options: Options = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The target, with what tells it from others of the same target."""
        told = (*CLAIM, "relation", "distance", "attacker")
        stated = [f"{k} {self.options[k]}" for k in told if k in self.options]
        return f"{self.target} ({', '.join(stated)})" if stated else self.target


def read_entries(root: Path) -> tuple[Entry, ...]:
    """The entries of the project at `root`; SettingsError, with a sentence, for a bad one."""
    table, name = find_table(root)
    given = table.get("gate", [])
    if not isinstance(given, list) or not all(isinstance(entry, Mapping) for entry in given):
        raise SettingsError(f"gate in {name} must be tables, each under [[tool.dpwitness.gate]]")
    if not given:
        lacking = f"{name} lists nothing to audit" if table else "no file here has settings"
        first = name == "dpwitness.toml"
        hidden = " (it comes before pyproject.toml, which is not read beside it)" if first else ""
        wanted = "[[gate]]" if first else "[[tool.dpwitness.gate]]"
        raise SettingsError(
            f"{lacking}{hidden}; add a table {wanted} with target = "
            '"file.py:function", or let `dpwitness init file.py:function` write one'
        )
    entries = tuple(
        replace(entry, target=target)
        for index, data in enumerate(given, start=1)
        for entry in [_entry(data, index, name)]
        for target in named_by(entry.target, root)
    )
    names = [entry.name for entry in entries]
    for entry, times in Counter(names).items():
        if times > 1:
            raise SettingsError(f"{name} lists {entry} twice; give each claim once")
    return entries


def _entry(data: Options, index: int, name: str) -> Entry:
    place = f"entry {index} of gate in {name}"
    target = data.get("target")
    if not isinstance(target, str) or not target:
        raise SettingsError(f'{place} needs target = "file.py:function", got {target!r}')
    if undecided := [key for key in ("databases", "epsilon", "relation") if data.get(key) == "?"]:
        raise SettingsError(
            f"{place} ({target}) is not finished: say which {' and which '.join(undecided)}, in "
            'place of "?"; databases = "file.py:NAME" names a strategy, pair = ["[]", "[1]"] two '
            "databases as JSON"
        )
    weight = data.get("weight", 1.0)
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < 1e12:
        raise SettingsError(f"{place}: weight must be a positive number, got {weight!r}")
    options = {key: value for key, value in data.items() if key not in ("target", "weight")}
    for key, value in options.items():
        if key not in FLAGS:
            raise SettingsError(f"{place} has {key!r}; it takes target, weight, {', '.join(FLAGS)}")
        wrong_bool = isinstance(value, bool) and bool not in FLAGS[key]
        if not isinstance(value, FLAGS[key]) or wrong_bool:
            wanted = " or ".join(kind.__name__ for kind in FLAGS[key])
            raise SettingsError(f"{place}: {key} must be of type {wanted}, got {value!r}")
    relation = options.get("relation", RELATIONS[0])
    if relation not in RELATIONS:
        raise SettingsError(
            f"{place}: relation must be {', '.join(RELATIONS[:-1])} or {RELATIONS[-1]}, got "
            f"{relation!r}{meant(relation, RELATIONS)}"
        )
    if "pair" in options and "databases" in options:
        raise SettingsError(f"{place} has a pair and databases, which exclude each other; keep one")
    if not all(isinstance(text, str) for text in options.get("renyi", ())):
        raise SettingsError(f'{place}: renyi must be texts such as "2:0.5", got {options["renyi"]}')
    pair = options.get("pair", ["", ""])
    if len(pair) != 2 or not all(isinstance(text, str) for text in pair):
        raise SettingsError(
            f'{place}: pair must be two JSON texts, such as ["[]", "[1]"], got {pair!r}'
        )
    return Entry(target=target, weight=float(weight), options=options)


class Accepted(TypedDict):
    """What a baseline keeps of a result; `epsilon_upper` limits what the counted event shows.

    Of a curve, whose points differ from run to run, `size_lower` and `epsilon_upper` are in the
    curve's own parameter.
    """

    mechanism: NotRequired[str]
    claim: StatedRecord
    verdict: VerdictWord
    epsilon_lower: Annotated[float, Meta(ge=0, le=LARGEST_BOUND)]
    epsilon_upper: NotRequired[Number]
    size_lower: NotRequired[Number]
    pair: PairRecord
    seed: Whole
    histogram: NotRequired[bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """What became of one entry.

    `results` are of its privacy claims, with the `replays` that count each again; `claims` what was
    found of claims of other kinds. `problem` says in a sentence why there are none; `unusable` says
    that the entry itself is to blame.
    `again` are results on the pairs of the baseline, in its order. `rerun` is the command that
    audits the entry alone, from the root of the project. `source` is file and line.
    """

    entry: Entry
    results: tuple[AuditResult, ...] = ()
    again: tuple[AuditResult, ...] = ()
    replays: tuple[str, ...] = ()
    claims: tuple[ClaimCheck, ...] = ()
    problem: str = ""
    unusable: bool = False
    rerun: str = ""
    environment: Mapping[str, str] | None = None
    source: tuple[str, int] | None = None

    @property
    def verdict(self) -> str:
        """The worst verdict of the claims it makes, or "failed"."""
        if self.problem:
            return "failed"
        made = [result.claim for result in self.results]
        again = [result for result in self.again if result.claim in made]
        found = {result.verdict.value for result in (*self.results, *again)}
        found |= {claim.result.verdict.value for claim in self.claims}
        return next(v for v in ("refuted", "inconclusive", "not_refuted", "proved") if v in found)


def run_gate(
    entries: Sequence[Entry],
    settings: Settings,
    root: Path,
    *,
    seed: int,
    pairs: Mapping[str, Sequence[Accepted]] | None = None,
    done: Callable[[Gated], None] = lambda gated: None,
) -> tuple[Gated, ...]:
    """Audit every entry at its share of alpha, in order; `done` hears of each as it ends.

    `pairs` maps the name of an entry to the results of a baseline, whose pairs are judged again.
    The workers of the settings are processes of the whole gate: as many audits as there are
    workers run at the same time, and fewer audits share them.
    """
    at_once = 1
    if not (settings.backend or settings.scheduler or settings.address):
        workers = settings.workers or 1
        at_once = max(1, min(workers, len(entries)))
        settings = replace(settings, workers=workers // at_once if workers > at_once else None)
    allotted = shares({entry.name: entry.weight for entry in entries}, settings.alpha)

    def one(entry: Entry) -> Gated:
        known = tuple((pairs or {}).get(entry.name, ()))
        alpha = allotted[entry.name] * (1 - DRIFT if known else 1.0)
        gated = _audited(entry, settings, root, alpha, _seed(seed, entry.name), known)
        done(gated)
        return gated

    with ThreadPoolExecutor(max_workers=at_once) as pool:
        return tuple(pool.map(one, entries))


def _seed(seed: int, name: str) -> int:
    return int.from_bytes(blake2b(f"{seed}\n{name}".encode(), digest_size=6).digest(), "big")


def _audited(
    entry: Entry,
    settings: Settings,
    root: Path,
    alpha: float,
    seed: int,
    known: tuple[Accepted, ...],
) -> Gated:
    source = source_of(entry.target, root)
    words = _words(entry, settings, alpha, seed, entry.options, settings.precision)
    rerun = shlex.join(["dpwitness", *(word for word in words if word not in ("--quiet", "--"))])
    data, problem, unusable = _run(words, root)
    if data is None:
        return Gated(entry=entry, problem=problem, unusable=unusable, rerun=rerun, source=source)
    again: list[AuditResult] = []
    for old in known:
        part = alpha / (1 - DRIFT) * DRIFT / len(known)
        claim = {key: value for key, value in old["claim"].items() if key in STATED}
        # A curve is the one that the entry states; otherwise the claim is that of the baseline.
        dropped = ("epsilon", "delta") if "curve" in old["claim"] else ()
        claim = {key: value for key, value in claim.items() if key not in dropped}
        restated = claim.keys() if dropped else {*claim, *CLAIM}
        kept = {k: v for k, v in entry.options.items() if k not in ("databases", "pair", *restated)}
        pair = [json.dumps(side) for side in (old["pair"]["database"], old["pair"]["neighbour"])]
        # The mechanism's own claim may have changed; the drift is of the loss, not of the claim.
        options = {**kept, **claim, "pair": pair, "claims": "privacy"}
        options["histogram"] = old.get("histogram") is True
        found, problem, _ = _run(_words(entry, settings, part, seed + 1, options, COMPARED), root)
        if found is None:
            return Gated(entry=entry, problem=problem, rerun=rerun, source=source)
        again += map(revived, found["results"][:1])
    return Gated(
        entry=entry,
        results=tuple(map(revived, data["results"])),
        replays=tuple(result["replay"] for result in data["results"]),
        again=tuple(again),
        claims=tuple(map(derive.revived, data.get("claims", ()))),
        rerun=rerun,
        environment=data["environment"],
        source=source,
    )


def _words(
    entry: Entry,
    settings: Settings,
    alpha: float,
    seed: int,
    options: Options,
    precision: float | str,
) -> list[str]:
    chosen = dict(options)
    if not {"trials", "seconds", "notice"} & chosen.keys():
        if settings.notice is None:
            chosen["trials"] = settings.trials
        else:
            chosen["notice"] = settings.notice
        if settings.seconds is not None:
            chosen["seconds"] = settings.seconds
    chosen.setdefault("precision", precision)
    for key in ("workers", "backend", "scheduler", "address"):
        if getattr(settings, key) is not None:
            chosen.setdefault(key, getattr(settings, key))
    words = ["audit", "--alpha", repr(alpha), "--seed", str(seed), "--quiet"]
    for key, value in chosen.items():
        if key in ("unseeded", "histogram", "trust-rows"):
            words += [f"--{key}"] if value else []
        elif key == "exact":
            words.append("--exact" if value else "--no-exact")
        elif key == "renyi":
            words += [word for one in value for word in ("--renyi", str(one))]
        else:
            words += [f"--{key}", *(value if key == "pair" else [str(value)])]
    return [*words, "--", entry.target]


def _run(words: list[str], root: Path) -> tuple[Document | None, str, bool]:
    """The evidence that `dpwitness audit` wrote; or why there is none, and if the words are why."""
    with tempfile.TemporaryDirectory(prefix=f"{folder_prefix(os.getpid())}gate-") as folder:
        path = Path(folder) / "evidence.json"
        ran = subprocess.run(
            [sys.executable, "-m", "dpwitness", *words[:-2], "--json", str(path),
             *words[-2:]],
            cwd=root, capture_output=True, text=True, check=False, errors="replace",
        )  # fmt: skip
        if path.is_file():
            return json.loads(path.read_text(encoding="utf-8")), "", False
    if ran.returncode < 0:
        name = signal.Signals(-ran.returncode).name
        return (
            None,
            (
                f"the process that ran the mechanism died of {name}; run it alone with "
                f"`dpwitness audit {words[-1]}` to see where"
            ),
            False,
        )
    said = [line for line in ran.stderr.splitlines() if line.strip()]
    sentence = (said[-1] if said else "the audit ended without a result").removeprefix(
        "dpwitness: "
    )
    # An entry has keys where the command has options.
    return None, re.sub(r"--(?=[a-z])", "", sentence), ran.returncode == UNUSABLE


def changes(one: Gated, last: Mapping[str, Last] | None) -> tuple[str, ...]:
    """For each privacy claim of an entry what is other than in the last run, in a few words."""
    if last is None:
        return ("not known",) * len(one.results)
    names = (numbered(one.entry.name, number) for number in count(1))
    return tuple(
        _changed(result, last.get(name)) for result, name in zip(one.results, names, strict=False)
    )


def _changed(result: AuditResult, last: Last | None) -> str:
    if last is None:
        return "first run"
    if not last.of_claim(claim_record(result.claim)):
        return "other claim"
    if last.verdict != result.verdict.value:
        return f"was {last.verdict.replace('_', ' ')}"
    now, then = (max(float(one), 0.0) for one in (result.epsilon_lower, last.epsilon_lower))
    difference = f"{now - then:+.3f}"
    return difference if float(difference) else "same"


def table_head(*, width: int = 0) -> str:
    """The first line of the table; on a narrow terminal columns are left out that do not fit."""
    return _line(_row([name.upper() for name, _ in COLUMNS], width), "ENTRY", "", width)


def table_rows(case: Case, *, width: int = 0) -> list[tuple[str, str]]:
    """(line, verdict) for each claim of an entry, the name below where it does not fit."""
    found = [_cells(case, one) for one in case.judged]
    if case.problem:
        found = [(["FAILED"], case.target, "failed")]
    lines = []
    for cells, name, verdict in found:
        name = one_line(name)
        lines.append((_line(_row(cells, width), name, f"\n    {name}", width), verdict))
    return lines


def _cells(case: Case, one: ToldClaim) -> tuple[list[str], str, str]:
    cells = [WORDS[one.verdict]]
    if one.change:
        loss = one.bound.removeprefix("epsilon ")
        return [*cells, loss, one.facts["claimed"], one.change, f"{one.seconds:.1f} s"], *(
            case.target, one.verdict,
        )  # fmt: skip
    return [*cells, "", "", "", f"{one.seconds:.1f} s"], f"{case.target}, {one.claim}", one.verdict


def _row(cells: Sequence[str], width: int) -> str:
    """The cells in their columns, without the columns for which there is no room."""
    filled = [*cells, *[""] * (len(COLUMNS) - len(cells))]
    shown, used = [], 0
    for cell, (_, size) in zip(filled, COLUMNS, strict=True):
        if not width or used + size <= width:
            shown.append(one_line(cell).ljust(size))
            used += size + 2
    return "  ".join(shown)


def _line(row: str, name: str, instead: str, width: int) -> str:
    """A row with a name behind it, or what stands in its place where there is no room."""
    whole = f"{row}  {name}".rstrip()
    fits = not width or max(len(whole), ALL) <= width
    return whole if fits else row.rstrip() + instead


def commit_of(root: Path) -> str:
    """The commit that is checked out, with "-dirty" if files differ from it; "" if unknown."""
    with suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(
            # No program that the settings of the clone name is run.
            ["git", "-c", "core.fsmonitor=false", "-C", str(root),
             "describe", "--always", "--dirty", "--exclude", "*"],
            capture_output=True, text=True, check=True, timeout=10,
        ).stdout.strip()  # fmt: skip
    return ""


def by_verdict(verdict: str) -> int:
    """The place of a verdict among others: what stops a change stands first."""
    return ORDER.index(verdict)


def page_rows(cases: Sequence[Case]) -> list[dict[str, str]]:
    """The table of the page; `key` is the article of the claim, which stand in the same order."""
    made = [
        {"verdict": one.verdict, "word": WORDS[one.verdict].capitalize(), "name": case.target,
         "claim": one.claim, "bound": one.bound.removeprefix("epsilon "),
         "change": one.change, "key": one.change and "r"}
        for case in cases for one in case.judged
    ]  # fmt: skip
    made += [
        {"verdict": "failed", "word": "Failed", "name": case.target, "claim": "",
         "bound": "", "change": "", "key": ""}
        for case in cases if case.problem
    ]  # fmt: skip
    made.sort(key=lambda row: by_verdict(row["verdict"]))
    for index, row in enumerate(row for row in made if row["key"]):
        row["key"] = f"r{index}"
    return made
