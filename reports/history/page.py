"""The history as one self-contained page: bounds over time, runs and changes of source."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import pairwise
from math import isfinite, nan

from ...auditors.privacy.accumulate import ALPHA
from ..drawing import svg as figures
from ..faces.templates import page, raw
from .reading import (
    AuditedClaim,
    bound_text,
    claim_text,
    refuted_before,
    refuted_together,
    run_numbers,
)
from .store import Row

MOST_ROWS, MOST_PICTURES = 60, 80
"""Audits of a claim that the page lists, the last ones, and claims that have a picture."""
REFUTED = "#B3261E"
JOINTLY = "The runs of this version together refute the claim, whatever one of them says by itself."


def render(subjects: Sequence[AuditedClaim], broken: str) -> str:
    """The page; `broken` is what is wrong with the chain of the rows, empty for nothing."""
    first = _refuted(subjects)
    subjects = [*first, *(one for one in subjects if one not in first)]
    return page(
        "history.html",
        title=f"dpwitness history: {_headline(subjects)}",
        subject="history",
        head=_headline(subjects),
        verdict="refuted" if first else "not_refuted",
        broken=broken,
        could_not_see=list(_unseen(subjects)),
        told=[
            _told(subject, f"m{index}", pictured=index < MOST_PICTURES)
            for index, subject in enumerate(subjects)
        ],
    )


def _refuted(subjects: Sequence[AuditedClaim]) -> list[AuditedClaim]:
    """Those whose last audit, or all audits of their version together, refute the claim."""
    lasts = [(subject, subject.audits[-1]) for subject in subjects]
    return [one for one, last in lasts if last["verdict"] == "refuted" or refuted_together(last)]


def _headline(subjects: Sequence[AuditedClaim]) -> str:
    """How many claims are refuted now, in a sentence."""
    runs = len({row["run"] for one in subjects for row in one.audits})
    claims = f"{len(subjects)} claim{'s' * (len(subjects) != 1)}"
    found = len(_refuted(subjects)) or "none"
    return f"Refuted now: {found} of {claims}, after {runs} run{'s' * (runs != 1)}."


def _unseen(subjects: Sequence[AuditedClaim]) -> Iterator[tuple[str, list[str]]]:
    """What the runs together could not see, as (label, sentences)."""
    yield (
        "power",
        [
            'If a bound is "none", the counts of events gave none. The claim may be refuted all '
            "the same, by a test of all outputs; the report of that run says so, and what it "
            "would have detected."
        ],
    )
    yield (
        "not seen",
        [
            "Versions of the code that no run audited, and databases that no search reached.",
            "Not examined: the low-order bits of floating-point outputs, and running time.",
        ],
    )
    apart = sum(not row["counted"] for subject in subjects for row in subject.audits)
    left = f" {apart} audits do not count for that; their remarks say why." if apart else ""
    yield (
        "assumed",
        [
            "Evidence of all runs of one version, claim and mechanism adds up. Assumes that each "
            f"run used new randomness.{left}"
        ],
    )


def _told(subject: AuditedClaim, key: str, *, pictured: bool) -> dict[str, object]:
    """What the template says of one mechanism and claim."""
    audits, last = subject.audits, subject.audits[-1]
    numbers = run_numbers(subject)
    local = _local(last["recorded"])
    year = local.year if local else 0
    older = len(audits) - MOST_ROWS
    return {
        "key": key,
        "verdict": last["verdict"],
        "word": _word(last),
        "mechanism": subject.mechanism,
        "claim": claim_text(subject.claim),
        "before": refuted_before(subject),
        "jointly": JOINTLY if refuted_together(last) else "",
        "bound": bound_text(last, subject.claim),
        "joint": _bound(last["joint_bound"]),
        "audits": len(audits),
        "alpha": f"{ALPHA:g}",
        "figure": raw(_figure(subject, key)) if pictured else "",
        "sources": _sources(subject, year),
        "rows": [
            {
                "verdict": row["verdict"],
                "word": _word(row),
                "run": numbers[row["run"]],
                "recorded": row["recorded"],
                "when": _when(row["recorded"], year),
                "bound": bound_text(row, subject.claim),
                "joint": _bound(row["joint_bound"]),
                "draws": f"{row['draws']:,}",
                "test": row["test"],
                "remark": row["remark"] or "",
            }
            for row in reversed(audits[-MOST_ROWS:])
        ],
        "older": f"{older:,}" if older > 0 else "",
    }


def _word(row: Row) -> str:
    return str(row["verdict"].replace("_", " ").capitalize())


def _bound(value: float | None) -> str:
    return f"{value:.3f}" if _is_bound(value) else "none"


def _is_bound(value: float | None) -> bool:
    return value is not None and isfinite(value) and value > 0


def _local(recorded: str) -> datetime | None:
    """The time where the page is made; None for a text that is none, as an edited row may have."""
    with suppress(ValueError, OverflowError):
        return datetime.fromisoformat(recorded).astimezone()
    return None


def _when(recorded: str, year: int) -> str:
    """The time where the page is made; the year only if it is another than `year`."""
    local = _local(recorded)
    if local is None:
        return recorded
    return f"{local:%d %b}{'' if local.year == year else f' {local.year}'}, {local:%H:%M}"


def _changes(audits: Sequence[Mapping[str, object]]) -> list[int]:
    """Where an audit has another source than the one before it."""
    pairs = pairwise(audits)
    return [i for i, (a, b) in enumerate(pairs, start=1) if a["source"] != b["source"]]


def _figure(subject: AuditedClaim, key: str) -> str:
    audits = subject.audits
    numbers = run_numbers(subject)
    places = [numbers[row["run"]] for row in audits]
    single = [_height(row["epsilon_lower"]) for row in audits]
    joint = [_height(row["joint_bound"]) for row in audits]
    claimed = float(subject.claim.get("epsilon", 0.0))
    changes = _changes(audits)
    refuted = [i for i, row in enumerate(audits) if row["verdict"] == "refuted"]
    with figures.figure() as (drawing, axes):
        axes.plot(places, single, color=figures.FIRST, marker="o", markersize=3.5, linewidth=1,
                  label="single run")  # fmt: skip
        # Runs of another source are other evidence: no line leads from one to the next.
        for start, end in pairwise([0, *changes, len(audits)]):
            axes.plot(places[start:end], joint[start:end], color=figures.SECOND, marker="s",
                      markersize=2.5, drawstyle="steps-post", linewidth=1.8,
                      label="this version" if start == 0 else None)  # fmt: skip
        if refuted:
            heights = [single[i] if isfinite(single[i]) else claimed for i in refuted]
            axes.plot([places[i] for i in refuted], heights, color=REFUTED, marker="x",
                      markersize=7, markeredgewidth=1.8, linestyle="none",
                      label="refuted")  # fmt: skip
        axes.axhline(
            claimed, color=figures.CLAIM, linewidth=1.6, linestyle=(0, (5, 2)), label="claim"
        )
        for change in changes:
            axes.axvline(
                (places[change - 1] + places[change]) / 2, color=figures.INK, alpha=0.35,
                linewidth=1,
            )  # fmt: skip
        highest = max([claimed, *(v for v in (*single, *joint) if isfinite(v))])
        axes.set_ylim(0, 1.12 * highest if highest > 0 else 1)
        axes.set_xlim(0.5, max(places) + 0.5)
        axes.xaxis.set_major_locator(figures.few_ticks(whole=True))
        axes.set_xlabel("run, in order of recording")
        axes.set_ylabel("epsilon (nats)")
        figures.legend_above(axes)
        return figures.svg(
            drawing, key, "Lower bound on epsilon over the runs",
            f"{len(audits)} audits of {subject.mechanism}; the claim is {claimed:g}.",
        )  # fmt: skip


def _height(value: float | None) -> float:
    """A bound as it is drawn; where there is none, nothing is."""
    return value if value is not None and _is_bound(value) else nan


def _sources(subject: AuditedClaim, year: int) -> list[dict[str, object]]:
    audits = subject.audits
    if not audits[-1]["source"]:
        return []
    starts = [0, *_changes(audits)]
    return [
        {
            "name": audits[start]["source"][:12] or "not known",
            "since": _when(audits[start]["recorded"], year),
            "audits": end - start,
        }
        for start, end in zip(starts, [*starts[1:], len(audits)], strict=True)
    ]
