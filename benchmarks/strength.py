"""How near the measurements come to the bounds, written into docs/strength.md.

    dpwitness reproduce --json results.json
    python benchmarks/strength.py results.json ... [--note TEXT]

Several files are parts of one run: the same seed and trials; of a statement that is in two of
them the later one counts. The note says on the page what else a reader must know.
"""

import argparse
import json
import platform
from datetime import UTC, datetime
from pathlib import Path

from dpwitness.mechanisms.catalogue import THEOREMS

PAGE = Path(__file__).parents[1] / "docs" / "strength.md"
WEAK = 1 / 20
BRANCHES = {
    "parts with delta, composed with a delta of its own": ("T-COMP-HET*",),
    "noisy arg-max among many candidates": ("EM-RNM-LAW",),
    "noise of the base generator with delta": ("BQ-BASE-ADVANCED", "BQ-BASE-SPENT"),
    "several positive answers": ("SVT-PRIV", "SVT-NUMERIC", "SVT-NUMERIC-ACC"),
    "a long stream with one positive answer": ("SVT-STREAM",),
    "several sampled queries a round": ("BQ-6.1-PRIV", "BQ-MU", "BQ-MU-SPENT"),
    "boxes in more than two dimensions": ("PAC-BOX-ADVANCED", "PAC-BOX-ADVANCED-MAIN"),
    "boxes with delta, d^1.5": ("PAC-BOX-ADVANCED", "PAC-BOX-ADVANCED-MAIN", "PAC-BOX-SPENT"),
    "boxes that count first": ("PAC-BOX-TEST", "PAC-BOX-SPENT"),
    "RecConcave inside boxes": ("PAC-BOX-REC",),
    "the choice and the blocks of RecConcave": ("PAC-IP-CHOOSE", "PAC-IP-REC-BLOCKS"),
    "vector sums where a row is replaced": ("GD-T3-SUB", "GD-T3-SPENT"),
    "Theorem 2 of gradient descent with its T": ("GD-T2-STEPS", "GD-T2-SLOW"),
    "take 1 with delta": ("CONJ-P1-ADVANCED", "CONJ-P1-ADVANCED-UTILITY", "CONJ-P1-SPENT"),
    "take 2, sample size": ("CONJ-P2-MAIN", "CONJ-P2-ADVANCED-MAIN", "CONJ-P2-SIZE"),
    "take 2 with delta": ("CONJ-P2-ADVANCED", "CONJ-P2-SPENT"),
    "multiplicative weights with delta": ("PMW-PRIV", "PMW-SPENT"),
    "grid noise that is often 0": ("T-GRID-LAW",),
}
"""Parts of mechanisms that their defaults do not run, and the statements that do."""
LOSSES = ("privacy", "utility", "threshold", "expectation")
"""Kinds of claim with a bound that something measured is a part of."""


def number(value):
    return value if isinstance(value, int | float) else None


def share_of(row):
    """The largest of measured / bound, exact / bound and, of privacy, the smallest constant.

    None where the bound is no measure.
    """
    bound = number(row["claimed"])
    if row["kind"] not in LOSSES or not bound or bound <= 0:
        return None
    found = [number(row["exact"]), number((row["measured"] or {}).get("value"))]
    shares = [value / bound for value in found if value is not None]
    if row["kind"] == "privacy":
        shares.append(number((row["smallest_constant"] or {}).get("share")) or 0.0)
    return max(shares) if shares else None


def smallest(row):
    """What still holds of the stated constant, as a cell."""
    edge = row["smallest_constant"]
    if edge is None:
        return ""
    stated = f" of {edge['stated']:.4g}" if edge["stated"] != 1 else ""
    holds = edge["holds"]
    told = holds if isinstance(holds, str) else f"{holds:.3g}"
    return f"{told}{stated} ({edge['of']})"


def seen(row):
    """The bound of a statement and what was seen of it, as two cells."""
    if row is None:
        return " | not run"
    bound, exact = number(row["claimed"]), number(row["exact"])
    measured = number((row["measured"] or {}).get("value"))
    if row["kind"] not in LOSSES:
        return f" | {row['kind']}, {row['verdict']}"
    parts = [f"{word} {value:.4g}" for word, value in (("measured", measured), ("exact", exact))
             if value is not None]  # fmt: skip
    return f"{bound:.4g} | {', '.join(parts)}"


def page(results, note=""):
    reasons = {theorem.identifier: theorem.weak for theorem in THEOREMS}
    found = {row["id"]: row for one in results for row in one["results"]}
    rows = [found[name] for name in reasons if name in found and found[name]["holds"]]
    rated = [(row, share_of(row)) for row in rows]
    known = [(row, share) for row, share in rated if share is not None]
    low = [row["id"] for row, share in known if share < WEAK]
    first = results[0]
    lines = [
        "# How near the bounds",
        "",
        "Written by `python benchmarks/strength.py` from the JSON of `dpwitness reproduce`",
        f"with {first['trials']:,} trials, seed {first['seed']}, {platform.machine()}, "
        f"{datetime.now(UTC).date().isoformat()}.",
        *([note] if note else []),
        "A test of a bound says little where only a small part of the bound is ever reached. The",
        "ratio is the largest of measured / bound and exact / bound at the defaults (of beta for a",
        "tail) and, for a privacy claim, of the share that the smallest constant has, in the",
        "quantity named beside it; what draws measure of a loss is a lower bound. The",
        "smallest constant is what would still hold on the hardest instance found, of the one in",
        "the statement or of 1: of a tail the level of the loss, of a sample size the records, of",
        "a privacy claim epsilon or delta (a density may show more than draws do), of an invariant",
        "the quantity, and of a loss that is hardly ever above 0 the chance. It is an estimate,",
        "and another instance may need more.",
        "",
        f"{len(known)} true statements have such a ratio; {len(low)} are below 1/20, each with the",
        "reason beside it. Invariants, equalities and identities have none: their cases are sought",
        "at the edge, and what is reported is the least margin.",
        "",
        "| statement | kind | bound | measured | exact | ratio | smallest | why so little |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row, share in known:
        measured = number((row["measured"] or {}).get("value"))
        cells = [f"{value:.4g}" if value is not None else "" for value in (
            number(row["claimed"]), measured, number(row["exact"]),
        )]  # fmt: skip
        why = reasons[row["id"]].replace("|", "\\|") if share < WEAK else ""
        lines.append(
            f"| {row['id']} | {row['kind']} | {' | '.join(cells)} | {share:.3f} | "
            f"{smallest(row)} | {why} |"
        )
    lines += [
        "",
        "## Branches",
        "",
        "What only some settings run, and the statements that run it.",
        "",
        "| branch | statement | at | bound | seen |",
        "|---|---|---|---|---|",
    ]
    settings = {theorem.identifier: theorem.parameters for theorem in THEOREMS}
    for branch, names in BRANCHES.items():
        for name in names:
            at = ", ".join(f"{key} {one.default:g}" for key, one in settings[name].items())
            lines.append(f"| {branch} | {name} | {at} | {seen(found.get(name))} |")
    without = [row["id"] for row, share in rated if share is None]
    edges = [f"{row['id']} {smallest(row)}" for row, share in rated
             if share is None and row["smallest_constant"]]  # fmt: skip
    lines += ["", f"Smallest constants of invariants: {', '.join(edges)}."]
    lines += ["", f"Without a ratio: {', '.join(without)}."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--note", default="")
    given = parser.parse_args()
    results = [json.loads(Path(path).read_text(encoding="utf-8")) for path in given.paths]
    if len({(one["seed"], one["trials"]) for one in results}) > 1:
        raise SystemExit(
            "the files are of different runs; give those of one seed and as many trials"
        )
    PAGE.write_text(page(results, given.note), encoding="utf-8")


if __name__ == "__main__":
    main()
