"""What an audit costs per output, by the type of the output.

    python benchmarks/output_cost.py [--trials 60000] [--json output_cost.json]

For each type a mechanism that is sound at the claim is audited on a given pair. The cost is the CPU
time of the audit less that of the calls themselves, over the number of outputs drawn: capturing,
taking apart, columns, learning, counting and everything fixed. `packing` is the part of it that
`Outputs.of_list` takes. Times are CPU times of one process.
"""

import argparse
import json
import platform
import time
from datetime import UTC, datetime

import numpy as np

import dpwitness
from dpwitness.auditors.outputs.outputs import Outputs

TARGETS = {
    "bool": 2.5, "float": 2.5, "None or float": 4.0, "str": 4.0, "array of 3": 7.0,
    "list of 0 to 3": 12.0, "tuple of 2": 12.0, "dict of 3": 12.0,
}  # fmt: skip
"""Microseconds beyond the call itself; types without one have no target."""


def noisy(database, rng):
    return sum(database) + rng.laplace(scale=1.0)


MECHANISMS = {
    "bool": lambda database, rng: noisy(database, rng) > 0.5,
    "float": noisy,
    "None or float": lambda database, rng: None if (y := noisy(database, rng)) < 0 else y,
    "str": lambda database, rng: "high" if noisy(database, rng) > 0.5 else "low",
    "array of 3": lambda database, rng: sum(database) / 3 + rng.laplace(size=3),
    "list of 0 to 3": lambda database, rng: [noisy(database, rng)] * int(3.99 * rng.random()),
    "tuple of 2": lambda database, rng: (noisy(database, rng), True),
    "dict of 3": lambda database, rng: {"sum": noisy(database, rng), "unit": "eur", "n": 3},
    "dataclass of 2": lambda database, rng: dpwitness.Pair(noisy(database, rng), 0),
}


def cpu(action):
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


def measured(run, trials, seed):
    audit_seconds, result = cpu(
        lambda: dpwitness.audit(
            run, epsilon=1.0, pair=([0], [1]), relation="replace-one", trials=trials, seed=seed
        )
    )
    draws = result.draws
    rng = np.random.default_rng(seed)
    call_seconds, outputs = cpu(lambda: [run([1], rng) for _ in range(20_000)])
    packing, _ = cpu(
        lambda: [Outputs.of_list(outputs[i : i + 1024]) for i in range(0, len(outputs), 1024)]
    )
    call = call_seconds / 20_000
    return {
        "verdict": result.verdict.value,
        "draws": draws,
        "call_us": round(1e6 * call, 2),
        "packing_us": round(1e6 * packing / 20_000, 2),
        "beyond_us": round(1e6 * (audit_seconds / draws - call), 2),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=60_000, help="draws a side")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", help="write the table as JSON too")
    given = parser.parse_args()
    measured(noisy, 2000, 0)  # imports and caches
    rows = {}
    print(f"{'output':16} {'call':>8} {'packing':>8} {'beyond':>8} {'target':>8}  (us an output)")
    for name, run in MECHANISMS.items():
        row = rows[name] = measured(run, given.trials, given.seed) | {
            "target_us": TARGETS.get(name)
        }
        target = row["target_us"] or ""
        print(
            f"{name:16} {row['call_us']:8.2f} {row['packing_us']:8.2f} {row['beyond_us']:8.2f}"
            f" {target:>8}  {row['verdict']}, {row['draws']:,} draws"
        )
    if given.json:
        about = {
            "version": dpwitness.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "machine": platform.machine(),
            "date": datetime.now(UTC).date().isoformat(),
            "trials": given.trials,
            "seed": given.seed,
        }
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({"about": about, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
