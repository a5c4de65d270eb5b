"""Whether two versions of dpwitness give the same numbers: fixed audits and `reproduce` at seed 0.

    python benchmarks/unchanged.py record .venv/bin/dpwitness before.json
    python benchmarks/unchanged.py record other/.venv/bin/dpwitness after.json
    python benchmarks/unchanged.py compare before.json after.json

Only what a result says is compared: of an audit the verdict, the bound, the pair and all counts, of
a statement everything but its time. Times, versions, paths and the names of keys are not.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

AUDITS = (
    "laplace",
    "laplace-vector",
    "grid-laplace",
    "geometric",
    "randomized-response",
    "leaky-response",
    "composed",
    "exponential",
    "report-noisy-max",
    "permute-and-flip",
    "sparse-vector",
    "numeric-sparse-vector",
    "pmw-iteration",
    "base-synopsis",
    "interior-point",
    "boxes",
    "noisy-conjunction",
    "noisy-gradients",
    "EM-NAIVE",
    "EM-DDR",
)
TRIALS = "20000"
TIMES = {"seconds"}


def run(program, *words):
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        sys.exit(f"{' '.join(words)} ended with status {done.returncode}: {done.stderr.strip()}")


def audited(program, name, folder):
    place = folder / f"{name}.json"
    run(program, "audit", name, "--trials", TRIALS, "--seed", "0", "--json", str(place))
    return [
        {
            "verdict": result["verdict"],
            "bound": result["epsilon_lower"],
            "pair": result["pair"],
            "counts": [
                (count["stage"], count["chunk"], count["hits"], count["trials"])
                for count in result["evidence"]["counts"]
            ],
        }
        for result in json.loads(place.read_text(encoding="utf-8"))["results"]
    ]


def reproduced(program, folder):
    place = folder / "reproduce.json"
    run(program, "reproduce", "--budget", "small", "--seed", "0", "--json", str(place))
    told = json.loads(place.read_text(encoding="utf-8"))["results"]
    return [{key: value for key, value in row.items() if key not in TIMES} for row in told]


def record(program, path):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = {audit: audited(program, audit, folder) for audit in AUDITS}
        data["reproduce"] = reproduced(program, folder)
    Path(path).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def compare(one, two):
    before, after = (json.loads(Path(p).read_text(encoding="utf-8")) for p in (one, two))
    differing = [name for name in before if before[name] != after.get(name)]
    statements = len(before["reproduce"])
    print(f"{len(before) - 1} audits and {statements} statements compared.")
    print(f"Differing: {', '.join(differing) or 'none'}.")
    return 1 if differing else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("first")
    parser.add_argument("second")
    words = parser.parse_args()
    if words.what == "record":
        record(words.first, words.second)
        return 0
    return compare(words.first, words.second)


if __name__ == "__main__":
    sys.exit(main())
