"""How often bets refute a true claim that no smaller epsilon meets, alone and with the count.

    python benchmarks/boundary.py [--runs 2000] [--judged 2000] [--long 500] [--json FILE]
        [SUBJECT ...]

The six subjects of tests/quality/test_bets_boundary.py, two of them with a delta, at the levels .05
and .2. "alone" is the part of the runs whose wealth was ever 1 / level or more; "with the count"
the part of the runs of a whole judging that refutes, half of them at precision .05, the others
ending with the first refutation. "of 8,000 draws" is the part of the runs with 8,000 draws a side
that refute at .2, all ending with the first refutation: draws past the first 1,024 are bet on too.
By luck a part may be more than the level; 2,000 runs exceed `allowed` with probability 1e-7.
"""

import argparse
import json
import platform
import sys
from datetime import UTC, datetime
from math import log
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "quality"))

from test_bets_boundary import LEVELS, SUBJECTS, allowed, highest, together

LONG = 8000
"""Draws a side of the long runs."""
OF_LONG = "of 8,000 draws"


def alone(name, runs):
    draw, delta = SUBJECTS[name]
    found = np.array([highest(draw, (1.0, delta), seed) for seed in range(runs)])
    return [float((found >= -log(level)).mean()) for level in LEVELS]


def judged(name, runs):
    return [
        sum(together(name, seed, level).refuted for seed in range(runs)) / runs for level in LEVELS
    ]


def long(name, runs):
    return (
        sum(together(name, seed, LEVELS[-1], LONG, hasty=True).refuted for seed in range(runs))
        / runs
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--judged", type=int, help="runs with the count, if other than --runs")
    parser.add_argument("--long", type=int, default=500, help="runs of 8,000 draws a side")
    parser.add_argument("--json", type=Path)
    parser.add_argument("subject", nargs="*", default=list(SUBJECTS))
    asked = parser.parse_args()
    kept = {}
    if asked.json and asked.json.exists():  # what is not asked for stays
        known = json.loads(asked.json.read_text("utf-8"))["rows"]
        kept = {row["subject"]: row for row in known}
    day = datetime.now(UTC).date().isoformat()
    for name in asked.subject:
        row = {**kept.get(name, {}), "subject": name, "delta": SUBJECTS[name][1]}
        if asked.runs:
            row |= {"runs": asked.runs, "alone": alone(name, asked.runs), "alone on": day}
        if more := asked.runs if asked.judged is None else asked.judged:
            row |= {"judged": more, "with the count": judged(name, more), "with the count on": day}
        if asked.long:
            row |= {"long": asked.long, OF_LONG: long(name, asked.long), f"{OF_LONG} on": day}
        print(row, flush=True)
        kept[name] = row
        if asked.json:
            most = min((row["runs"] for row in kept.values() if "runs" in row), default=2000)
            about = {
                "levels": list(LEVELS), "allowed": [allowed(most, x) / most for x in LEVELS],
                "machine": platform.machine(), "python": platform.python_version(),
                "numpy": np.__version__, "date": day,
            }  # fmt: skip
            found = {**about, "rows": [kept[one] for one in SUBJECTS if one in kept]}
            asked.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
