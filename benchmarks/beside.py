"""CPU of audits and commands by one version of dpwitness, beside another.

    python benchmarks/beside.py [--python OLD NEW] [--repeats 3] [--json FILE] [CASE ...]

Every case runs in a fresh process of each Python given, in turn; the least CPU of the repeats is
told, user and system, of the process and of all it started. Audits come after a small one that
loads what they need; commands are whole, with the start of Python, which finds modules compiled
from the second run on, as it does where anybody uses them. "catalogue" is the sum over the
mechanisms that both versions have, each at its first claim of (epsilon, delta), 20,000 trials; all
other budgets are named. A start of a worker is measured in the last Python alone: one draw, beside
what importing numpy costs.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

RELEASE = """
from hypothesis import strategies as st

ages = st.lists(st.integers(0, 120), max_size=30)


def wrong_sum(database, rng, *, size=None):
    return sum(min(age, 100) for age in database) + rng.laplace(scale=50, size=size)


def right_sum(database, rng, *, size=None):
    return sum(min(age, 100) for age in database) + rng.laplace(scale=100, size=size)
"""
NAIVE = ["audit", "EM-NAIVE", "--claims", "privacy", "--json", "found.json"]
OF_RELEASE = ["--epsilon", "1", "--relation", "add-remove", "--databases", "release.py:ages",
              "--json", "found.json"]  # fmt: skip
COMMANDS = {
    "EM-NAIVE, all it claims": [*NAIVE, "--seed", "1"],
    "README's wrong_sum": ["audit", "release.py:wrong_sum", *OF_RELEASE],
    "README's right_sum": ["audit", "release.py:right_sum", *OF_RELEASE],
}
HEAD = """
import gc, math, resource, sys
import numpy as np
from dpwitness import PrivacyClaim, audit
from dpwitness.mechanisms.catalogue import CATALOGUE

def quick(database, rng):
    return database + rng.laplace()

def slower(database, rng):
    total = 0
    for number in range(1700):
        total += number
    return database + rng.laplace()

def leaking(database, rng):
    return database + rng.laplace(scale=0.8)

def each(database, rng):
    count = database + rng.laplace(scale=2)
    return {"count": count, "sick": database + rng.laplace(scale=2), "big": count > 5}

def ten(database, rng, *, size=None):
    shape = (10,) if size is None else (size, 10)
    return database / 10 + rng.laplace(size=shape)

def spent():
    gc.collect()
    if "joblib.externals.loky" in sys.modules:  # its processes count once they have ended
        sys.modules["joblib.externals.loky"].get_reusable_executor().shutdown(wait=True)
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)

PAIR = {"pair": (0, 1), "epsilon": 1}
audit(ten, trials=20_000, **PAIR)
audit(quick, trials=2_000, **PAIR)
before = spent()
"""
TAIL = "print(spent() - before)"
AUDITS = {
    "call of 2 us, 200,000 trials": "audit(quick, trials=200_000, **PAIR)",
    "call of 2 us, refuted": "audit(leaking, trials=200_000, **PAIR)",
    "call of 100 us, 20,000 trials": "audit(slower, trials=20_000, **PAIR)",
    "call of 100 us, two workers": "audit(slower, trials=20_000, workers=2, **PAIR)",
    "call of 100 us, four workers": "audit(slower, trials=20_000, workers=4, **PAIR)",
    "dict of three, 100,000 trials": "audit(each, trials=100_000, **PAIR)",
    "ten coordinates, 1,000,000 trials": "audit(ten, trials=1_000_000, **PAIR)",
}
CATALOGUE = """
known = set(sys.argv[1].split())
for mechanism in CATALOGUE:
    claims = [one for one in mechanism.claims if isinstance(one, PrivacyClaim)]
    for claim in claims[: mechanism.name in known]:
        assert getattr(claim, "curve", None) is None
        more = {"trust_rows": True} if getattr(mechanism, "trust_rows", False) else {}
        audit(mechanism.run, databases=mechanism.databases, epsilon=claim.epsilon,
              delta=claim.delta, relation=claim.relation, distance=claim.distance,
              seeded=mechanism.seeded, trials=20_000, **more)
"""
NAMES = "from dpwitness.mechanisms.catalogue import CATALOGUE; print(*(m.name for m in CATALOGUE))"
WORKER = """
import resource
from dpwitness.auditors.workers import Door

def one(worker, databases):
    return worker.run(databases[0], None)

def spent():
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)

before = spent()
for _ in range(20):
    door = Door(lambda database, rng: 0.5)
    door.ask(one, (0,))
    door.close()
print((spent() - before) / 20)
"""
COMMAND = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime)
"""
CASES = [*COMMANDS, *AUDITS, "catalogue, 20,000 trials"]


def run(words, folder):
    known = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    known["PYTHONPYCACHEPREFIX"] = str(Path(folder) / "compiled")
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True, env=known)
    return float(done.stdout.split()[-1])


def measured(python, case, names, folder):
    if case in COMMANDS:
        words = [python, "-m", "dpwitness", *COMMANDS[case]]
        return run([sys.executable, "-c", COMMAND, *words], folder)
    code = AUDITS.get(case, CATALOGUE)
    return run([python, "-c", f"{HEAD}\n{code}\n{TAIL}", names], folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", nargs="+", default=[sys.executable])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("case", nargs="*", default=CASES)
    asked = parser.parse_args()
    if unknown := sorted(set(asked.case) - set(CASES)):
        parser.error(f"unknown: {', '.join(unknown)}; the cases are {', '.join(CASES)}")
    last, rows = asked.python[-1], {}
    if asked.json and asked.json.exists():  # cases that are not asked for stay
        known = json.loads(asked.json.read_text("utf-8"))["rows"]
        rows = {row["case"]: row for row in known if row["case"] in CASES}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "release.py").write_text(RELEASE)
        of_each = [
            set(subprocess.run([python, "-c", NAMES], cwd=folder, capture_output=True, text=True,
                               check=True).stdout.split())
            for python in asked.python
        ]  # fmt: skip
        names = " ".join(sorted(set.intersection(*of_each)))
        worker = min(run([last, "-c", WORKER], folder) for _ in range(asked.repeats))
        importing = [sys.executable, "-c", COMMAND, last, "-c", "import numpy"]
        numpy = min(run(importing, folder) for _ in range(asked.repeats))
        about = {
            "seed": 0, "repeats": asked.repeats, "mechanisms": len(names.split()),
            "worker": round(worker, 4), "importing numpy": round(numpy, 4),
            "machine": platform.machine(), "python": platform.python_version(),
            "date": datetime.now(UTC).date().isoformat(),
        }  # fmt: skip
        print(about, flush=True)
        for case in asked.case:
            found = {python: [] for python in asked.python}
            for _ in range(asked.repeats):
                for python in asked.python:
                    found[python].append(measured(python, case, names, folder))
            cpu = [round(min(found[one]), 3) for one in asked.python]
            rows[case] = {"case": case, "cpu": cpu}
            print(rows[case], flush=True)
            if asked.json:
                made = {**about, "rows": [rows[one] for one in CASES if one in rows]}
                asked.json.write_text(json.dumps(made, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
