"""The gate: every listed audit in a process of its own, and one verdict for the pull request.

A process of its own, because code under audit may take the interpreter down with it; what died
is reported as that. The shares of alpha and the seeds follow from the list alone, so any number
of workers gives the same verdicts.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import Meta

from ...auditors.claims import derive
from ...auditors.claims.claim_results import ClaimCheck
from ...auditors.evidence.conversion import revived
from ...auditors.evidence.record import (
    Document,
    Number,
    PairRecord,
    StatedRecord,
    VerdictWord,
    Whole,
)
from ...auditors.results.results import AuditResult
from ..formats.entries import CLAIM, Entry, source_of
from ..settings.settings import Settings
from ..shell.console import UNUSABLE
from ..shell.lifeline import folder_prefix
from .ledger import shares

DRIFT = 0.5
"""Share of an entry's alpha for judging the baseline's pair again, where there is a baseline."""


COMPARED = 0.05
"""Precision of the bounds that are compared with the baseline's."""


LARGEST_BOUND = 1e3
"""No bound from below is near it: that would need more draws than anybody makes."""
STATED = ("epsilon", "delta", "relation", "distance")
"""What tells two claims apart."""


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
    options: Mapping[str, Any],
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
