"""Audits real packages, each version in an environment of its own, and writes what was found.

    python benchmarks/real [cases|attackers] --environments FOLDER
        [--only WORD] [--trials 200000] [--write]

The cases are data, see cases.toml: every known bug and every control (docs/real-bugs.md). In
attackers.toml one pair is seen by three attackers (docs/attackers.md). `--environments` keeps the
environments between runs. Results are kept as JSON lines beside them, so that a run that is cut
off goes on where it was. `CPU s` are seconds of the processor, of the audit and of the interpreter
that draws together. `--write` puts the cases that were run into the table of the page. Exits with
1 if a verdict is not the one that is wanted. How another auditor is run on the cases is said in
known.py.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from known import HERE, PATIENCE, ROOT, called, cases, release

from dpwitness.auditors.asked import Budget

PAGES = {
    "cases": ROOT / "docs" / "real-bugs.md",
    "attackers": ROOT / "docs" / "attackers.md",
}
HEADS = {
    "attackers": ("mechanism", "version", "values", "bits", "event of the bits", "clock", "run on"),
    None: ("call", "version", "verdict", "bound", "by hand", "smallest pair", "event",
           "happened", "draws", "CPU s", "seconds", "run on"),
}  # fmt: skip
MARK = "<!-- written by benchmarks/real -->"
STATUS = {0: "not refuted", 1: "refuted", 3: "inconclusive"}


def audited(case, folder, trials, seed):
    """What an audit of a case found: verdict, bounds, witness, draws and seconds."""
    with tempfile.TemporaryDirectory() as scratch:
        evidence = Path(scratch) / "evidence.json"
        named, surroundings = called(case, folder, scratch)
        command = [sys.executable, "-m", "dpwitness", "audit", "--timeout", f"{PATIENCE:g}"]
        command += ["--command", named["command"]] if "command" in named else [named["target"]]
        if case.get("packages") or "npm" in case:
            command += [] if "command" in named else ["--python", named["python"]]
            command += [] if case.get("seeded") else ["--unseeded"]
        if "pair" in case:
            command += ["--pair", *case["pair"]]
        else:
            command += ["--databases", f"{HERE / 'inputs.py'}:{case['databases']}"]
        options = {"epsilon": 1.0, "trials": trials, "relation": None, "attacker": "values"}
        options |= {"delta": 0.0, "exceptions": "error", "seed": seed}
        for option, value in options.items():
            if case.get(option, value) is not None:
                command += [f"--{option}", str(case.get(option, value))]
        command += ["--json", str(evidence), "--quiet"]
        before = processor()
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, **surroundings}
        )
        found = {"name": case["name"], "wanted": case["wanted"], "release": release(case)}
        found["processor"] = processor() - before
        found["day"] = f"{datetime.now(UTC).date()}"
        found["verdict"] = STATUS.get(done.returncode, f"status {done.returncode}")
        if not evidence.exists():
            return {**found, "said": (done.stderr or done.stdout).strip()[-300:]}
        told = json.loads(evidence.read_text(encoding="utf-8"))
    (result,), (finding,) = told["results"], told["findings"]
    found |= {key: result[key] for key in ("draws", "seconds")}
    found["epsilon_lower"] = finding["epsilon_lower"]
    if witness := finding.get("witness"):
        found |= {
            "pair": [plain(witness[side]) for side in ("database", "neighbour")],
            "event": witness["event"]["description"],
            "counts": list(zip(witness["hits"], witness["trials"], strict=True)),
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
        release(case),
        found["verdict"] + ("" if found["verdict"] == case["wanted"] else " (!)"),
        f"{bound:.2f}" if isinstance(bound, float) else "none" if bound else "",
        hand,
        " / ".join(found.get("pair", [])).replace("|", "\\|"),
        found.get("event", found.get("said", "")).replace("|", "\\|").replace("\n", " "),
        ", ".join(f"{hits:,} of {trials:,}" for hits, trials in found.get("counts", [])),
        f"{found['draws']:,}" if "draws" in found else "",
        f"{found['processor']:.0f}",
        f"{found['seconds']:.0f}" if "seconds" in found else "",
        found["day"],
    ]
    return "| " + " | ".join(cells) + " |"


def seen_by_all(case, folder, trials, seed):
    """What each of the three attackers makes of one mechanism on numbers at distance 1."""
    found = {"name": case["name"], "release": release(case), "wanted": case["wanted"]}
    for attacker in ("values", "bits", "clock"):
        asked = case | {"attacker": attacker, "pair": ["0.0", "1.0"], "relation": "replace-one"}
        found[attacker] = audited(asked, folder, trials, seed)
    return found | {"verdict": found["bits"]["verdict"]}


def attacker_row(found):
    """A line of the table of attackers."""
    cells = [found["name"], found["release"]]
    for attacker in ("values", "bits", "clock"):
        one = found[attacker]
        bound = one.get("epsilon_lower")
        mark = "" if attacker != "bits" or one["verdict"] == found["wanted"] else " (!)"
        cells.append(one["verdict"] + mark + (f", {bound:.2f}" if isinstance(bound, float) else ""))
        if attacker == "bits":
            cells.append(one.get("event", "").replace("|", "\\|"))
    return "| " + " | ".join([*cells, one["day"]]) + " |"


def write(which, rows, trials, seed):
    """Put the rows of the cases that were run into the table of the page, in the order of all."""
    page, heads = PAGES[which], HEADS.get(which, HEADS[None])
    head, _, old = page.read_text(encoding="utf-8").partition(MARK)
    table = [line for line in old.splitlines() if line.startswith("| ")][1:]
    named = {line.split(" | ")[0].removeprefix("| "): line for line in table + rows}
    text = [
        f"{head}{MARK}", "",
        f"{trials:,} trials where a case names no others, alpha 0.001, seed {seed}; "
        f"Python {sys.version.split()[0]}, shared x86-64 cores.", "",
        f"| {' | '.join(heads)} |", "|---" * len(heads) + "|",
        *(named[case["name"]] for case in cases(which) if case["name"] in named), "",
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
    rows, wrong = [], 0
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
        wrong += found["verdict"] != found["wanted"]
    if options.write:
        write(which, rows, options.trials, options.seed)
    return int(wrong > 0)
