"""Audits real packages, each version in an environment of its own, and writes docs/real-bugs.md.

    python benchmarks/real_bugs.py --environments FOLDER [--only WORD] [--trials 20000] [--write]

The cases are data in tests/real/cases.toml; the claim and what databases look like are all that an
audit is told. `--environments` keeps the environments between runs. Results are kept as JSON lines
beside them, so that a run that is cut off goes on where it was.
"""

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REAL = ROOT / "tests" / "real"
PAGE = ROOT / "docs" / "real-bugs.md"
MARK = "<!-- written by benchmarks/real_bugs.py -->"
STATUS = {0: "not refuted", 1: "refuted", 3: "inconclusive"}


def cases():
    """The rows of tests/real/cases.toml, one for each set of packages."""
    for case in tomllib.loads((REAL / "cases.toml").read_text(encoding="utf-8"))["case"]:
        wanted = "not refuted" if case.get("sound") else "refuted"
        yield {**case, "wanted": wanted}
        if "mended" in case:
            name = f"{case['name']}, mended"
            yield {**case, "name": name, "packages": case["mended"], "wanted": "not refuted"}


def environment(packages, folder, alone=False):
    """The Python of an environment with these packages, made where there is none.

    `alone` takes the first without what it depends on.
    """
    key = hashlib.sha256("\n".join(packages).encode()).hexdigest()[:12]
    home = folder / key
    python = home / "bin" / "python"
    if not (home / "made").exists():
        venv.create(home, with_pip=True, clear=True)
        pip = [str(python), "-m", "pip", "install", "-q"]
        if alone:
            subprocess.run([*pip, "--no-deps", packages[0]], check=True)
        subprocess.run([*pip, *packages[alone:]], check=True)
        (home / "made").write_text("\n".join(packages), encoding="utf-8")
    return python


def audited(case, folder, trials, seed):
    """What an audit of a case found: verdict, bounds, witness, draws and seconds."""
    with tempfile.TemporaryDirectory() as scratch:
        evidence = Path(scratch) / "evidence.json"
        command = [
            sys.executable, "-m", "dpwitness", "audit", str(REAL / "calls" / case["target"]),
            "--python", str(environment(case["packages"], folder, case.get("alone", False))),
            "--epsilon", str(case.get("epsilon", 1.0)), "--relation", case["relation"],
            "--databases", f"{REAL / 'inputs.py'}:{case['databases']}",
            "--attacker", case.get("attacker", "values"),
            "--trials", str(case.get("trials", trials)), "--seed", str(seed),
            "--json", str(evidence), "--quiet",
            "--unseeded", "--timeout", "120",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = {"name": case["name"], "wanted": case["wanted"], "packages": case["packages"]}
        found["verdict"] = STATUS.get(done.returncode, f"status {done.returncode}")
        if not evidence.exists():
            return {**found, "said": (done.stderr or done.stdout).strip()[-300:]}
        (result,) = json.loads(evidence.read_text(encoding="utf-8"))["results"]
    witness = result.get("witness")
    found |= {key: result[key] for key in ("epsilon_lower", "draws", "seconds")}
    if witness:
        found |= {
            "pair": [plain(witness[side]) for side in ("database", "neighbour")],
            "event": witness["event"]["description"],
        }
    return found


def plain(database):
    """A database of the evidence as a short text."""
    text = json.dumps(database)
    return re.sub(r'\{"\$tuple": (\[[^\]]*\])\}', r"\1", text)


def row(case, found):
    """A line of the table."""
    hand = f"{case['hand']:.2f}" if case["wanted"] == "refuted" else ""
    bound = found.get("epsilon_lower", "")
    cells = [
        case["name"],
        case["packages"][0],
        found["verdict"] + ("" if found["verdict"] == case["wanted"] else " (!)"),
        f"{bound:.2f}" if isinstance(bound, float) else str(bound),
        hand,
        " / ".join(found.get("pair", [])).replace("|", "\\|"),
        found.get("event", found.get("said", "")).replace("|", "\\|").replace("\n", " "),
        f"{found['draws']:,}" if "draws" in found else "",
        f"{found['seconds']:.0f}" if "seconds" in found else "",
    ]
    return "| " + " | ".join(cells) + " |"


def write(rows, trials, seed):
    """Put the table into the page, below the mark."""
    head = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    today = datetime.now(UTC).date()
    text = [
        f"{head}{MARK}", "",
        f"{today}, {trials:,} trials (covariance 2,000), alpha 0.001, seed {seed}; "
        f"Python {sys.version.split()[0]}, two shared x86-64 cores.", "",
        "| call | version | verdict | bound | by hand | smallest pair | event | draws | seconds |",
        "|---|---|---|---|---|---|---|---|---|",
        *rows, "",
    ]  # fmt: skip
    PAGE.write_text("\n".join(text), encoding="utf-8")


def main():
    """Run what is asked for, and say what came out."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--environments", type=Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--trials", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    options.environments.mkdir(parents=True, exist_ok=True)
    kept = options.environments / f"results-{options.trials}-{options.seed}.jsonl"
    done = {}
    if kept.exists():
        done = {one["name"]: one for one in map(json.loads, kept.read_text().splitlines())}
    rows = []
    for case in cases():
        if options.only not in case["name"]:
            continue
        if case["name"] not in done:
            found = audited(case, options.environments, options.trials, options.seed)
            done[case["name"]] = found
            with kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps(found) + "\n")
        rows.append(row(case, done[case["name"]]))
        print(rows[-1], flush=True)
    if options.write:
        write(rows, options.trials, options.seed)


if __name__ == "__main__":
    main()
