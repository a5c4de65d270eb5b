"""Audits real packages, each version in an environment of its own, and writes what was found.

    python benchmarks/real_bugs.py [cases|findings|attackers] --environments FOLDER
        [--only WORD] [--trials 200000] [--write]

The cases are data: tests/real/cases.toml (known bugs, docs/real-bugs.md), findings.toml (packages
beside them, docs/findings/index.md) and attackers.toml (one pair seen by three attackers,
docs/attackers.md). Of the first two an audit is told the claim and what databases look like, no
more. `--environments` keeps the environments between runs. Results are kept as JSON lines beside
them, so that a run that is cut off goes on where it was. `CPU s` are seconds of the processor, of
the audit and of the interpreter that draws together.
"""

import argparse
import hashlib
import json
import re
import resource
import subprocess
import sys
import tempfile
import tomllib
import venv
from datetime import UTC, datetime
from pathlib import Path

from dpwitness.auditors.privacy.budget import Budget

ROOT = Path(__file__).resolve().parents[1]
REAL = ROOT / "tests" / "real"
PAGES = {
    "cases": ROOT / "docs" / "real-bugs.md",
    "findings": ROOT / "docs" / "findings" / "index.md",
    "attackers": ROOT / "docs" / "attackers.md",
}
HEADS = {
    "attackers": ("mechanism", "version", "values", "bits", "event of the bits", "clock"),
    None: ("call", "version", "verdict", "bound", "by hand", "smallest pair", "event",
           "happened", "draws", "CPU s", "seconds"),
}  # fmt: skip
MARK = "<!-- written by benchmarks/real_bugs.py -->"
STATUS = {0: "not refuted", 1: "refuted", 3: "inconclusive"}


def cases(which="cases"):
    """The rows of tests/real/cases.toml or findings.toml, one for each set of packages."""
    for case in tomllib.loads((REAL / f"{which}.toml").read_text(encoding="utf-8"))["case"]:
        wanted = "not refuted" if case.get("sound") else "refuted"
        yield {"wanted": wanted, **case}
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
        command = [sys.executable, "-m", "dpwitness", "audit", str(REAL / "calls" / case["target"])]
        if case["packages"]:
            home = environment(case["packages"], folder, case.get("alone", False))
            command += ["--python", str(home), "--unseeded", "--timeout", "120"]
        if "pair" in case:
            command += ["--pair", *case["pair"]]
        else:
            command += ["--databases", f"{REAL / 'inputs.py'}:{case['databases']}"]
        options = {"epsilon": 1.0, "trials": trials, "relation": None, "attacker": "values"}
        options |= {"delta": 0.0, "exceptions": "error", "seed": seed}
        for option, value in options.items():
            if case.get(option, value) is not None:
                command += [f"--{option}", str(case.get(option, value))]
        command += ["--json", str(evidence), "--quiet"]
        before = processor()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = {"name": case["name"], "wanted": case["wanted"], "packages": case["packages"]}
        found["processor"] = processor() - before
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
            "counts": list(zip(*map(witness["evidence"].get, ("hits", "trials")), strict=True)),
        }
    return found


def processor():
    """Seconds of the processor that the children of this process have used who have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def records(found):
    """Records of both databases of the smallest pair; a database of one value has one."""
    sides = map(json.loads, found["pair"])
    return sum(len(side) if isinstance(side, list) else 1 for side in sides)


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
        f"{bound:.2f}" if isinstance(bound, float) else "none" if bound else "",
        hand,
        " / ".join(found.get("pair", [])).replace("|", "\\|"),
        found.get("event", found.get("said", "")).replace("|", "\\|").replace("\n", " "),
        ", ".join(f"{hits:,} of {trials:,}" for hits, trials in found.get("counts", [])),
        f"{found['draws']:,}" if "draws" in found else "",
        f"{found['processor']:.0f}",
        f"{found['seconds']:.0f}" if "seconds" in found else "",
    ]
    return "| " + " | ".join(cells) + " |"


def seen_by_all(case, folder, trials, seed):
    """What each of the three attackers makes of one mechanism on numbers at distance 1."""
    found = {"name": case["name"], "packages": case["packages"], "wanted": case["wanted"]}
    for attacker in ("values", "bits", "clock"):
        asked = case | {"attacker": attacker, "pair": ["0.0", "1.0"], "relation": "replace-one"}
        found[attacker] = audited(asked, folder, trials, seed)
    return found | {"verdict": found["bits"]["verdict"]}


def attacker_row(found):
    """A line of the table of attackers."""
    cells = [found["name"], (found["packages"] or ["0.1.0"])[0]]
    for attacker in ("values", "bits", "clock"):
        one = found[attacker]
        bound = one.get("epsilon_lower")
        mark = "" if attacker != "bits" or one["verdict"] == found["wanted"] else " (!)"
        cells.append(one["verdict"] + mark + (f", {bound:.2f}" if isinstance(bound, float) else ""))
        if attacker == "bits":
            cells.append(one.get("event", "").replace("|", "\\|"))
    return "| " + " | ".join(cells) + " |"


def write(which, rows, trials, seed):
    """Put the table into the page, below the mark."""
    page, heads = PAGES[which], HEADS.get(which, HEADS[None])
    head = page.read_text(encoding="utf-8").partition(MARK)[0]
    today = datetime.now(UTC).date()
    text = [
        f"{head}{MARK}", "",
        f"{today}, {trials:,} trials where a case names no others, alpha 0.001, seed {seed}; "
        f"Python {sys.version.split()[0]}, two shared x86-64 cores.", "",
        f"| {' | '.join(heads)} |", "|---" * len(heads) + "|",
        *rows, "",
    ]  # fmt: skip
    page.write_text("\n".join(text), encoding="utf-8")


def main():
    """Run what is asked for, and say what came out."""
    parser = argparse.ArgumentParser()
    parser.add_argument("which", nargs="?", choices=PAGES, default="cases")
    parser.add_argument("--environments", type=Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--trials", type=int, default=Budget().trials)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    which, folder, by_attacker = options.which, options.environments, options.which == "attackers"
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{which}-{options.trials}-{options.seed}.jsonl"
    done = {}
    if kept.exists():
        done = {one["name"]: one for one in map(json.loads, kept.read_text().splitlines())}
    rows = []
    for case in cases(which):
        if options.only not in case["name"]:
            continue
        if case["name"] not in done:
            run = seen_by_all if by_attacker else audited
            found = run(case, folder, options.trials, options.seed)
            done[case["name"]] = found
            with kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps(found) + "\n")
        found = done[case["name"]]
        rows.append(attacker_row(found) if by_attacker else row(case, found))
        print(rows[-1], flush=True)
    if options.write:
        write(which, rows, options.trials, options.seed)


if __name__ == "__main__":
    main()
