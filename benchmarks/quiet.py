"""CPU of audits that find nothing, by one version of dpwitness or several.

    python benchmarks/quiet.py [--python PATH ...] [--repeats 3] [--json FILE]

A count over lists of records at the default budget; ten coordinates over a strategy of `Pair` at
1,000,000 trials a side; a dict for each call over the same records. Each audit runs in a fresh
process of each Python given, in turn; the least CPU of the repeats is told, of the process that
searches and of those in which the mechanism runs. A version before these had it all in one.
"""

import argparse
import json
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

SUBJECTS = ("count over records", "ten coordinates", "dict of each call")
AUDIT = """
import gc
import resource
import sys

import numpy as np
from hypothesis import strategies as st

from dpwitness import Pair, audit

records = st.lists(st.fixed_dictionaries({
    "age": st.integers(0, 120), "income": st.integers(0, 100_000),
    "city": st.sampled_from(["A", "B", "C", "D"]), "sick": st.booleans(),
}), max_size=20)


def count(database, rng, *, size=None):
    return sum(row["age"] >= 65 for row in database) + rng.laplace(size=size)


def ten(database, rng, *, size=None):
    shape = (10,) if size is None else (size, 10)
    return np.asarray(database, dtype=float) + rng.laplace(scale=10, size=shape)


def each(database, rng):
    found = {"count": len(database) + rng.laplace(scale=2)}
    found["sick"] = sum(row["sick"] for row in database) + rng.laplace(scale=2)
    found["mode"] = "big" if found["count"] > 5 else "small"
    return found


def spent():
    gc.collect()
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return [one.ru_utime + one.ru_stime for one in used]


one = st.lists(st.floats(0, 1), min_size=10, max_size=10)
options = [
    (count, {"databases": records, "relation": "add-remove"}),
    (ten, {"databases": st.builds(Pair, one, one), "trials": 1_000_000}),
    (each, {"databases": records, "relation": "add-remove"}),
]
audit(count, pair=([], [{"age": 70}]), epsilon=1, trials=20_000)
run, asked = options[int(sys.argv[1])]
before = spent()
result = audit(run, epsilon=1, **asked)
assert not result.refuted
print(*(b - a for a, b in zip(before, spent())), result.draws)
"""


def measured(python, place):
    done = subprocess.run(
        [python, "-c", AUDIT, str(place)], capture_output=True, text=True, check=True
    )
    near, apart, draws = done.stdout.split()
    return float(near), float(apart), int(draws)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", nargs="+", default=[sys.executable])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    rows = []
    for place, name in enumerate(SUBJECTS):
        found = {python: [] for python in asked.python}
        for _ in range(asked.repeats):
            for python in asked.python:
                found[python].append(measured(python, place))
        for number, python in enumerate(asked.python):
            near, apart, draws = min(found[python], key=lambda one: one[0] + one[1])
            rows.append({"audit": name, "version": number, "cpu": round(near, 2),
                         "cpu apart": round(apart, 2), "draws": draws})  # fmt: skip
            print(rows[-1], flush=True)
        if asked.json:
            about = {
                "seed": 0, "machine": platform.machine(), "python": platform.python_version(),
                "date": datetime.now(UTC).date().isoformat(),
            }  # fmt: skip
            asked.json.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
