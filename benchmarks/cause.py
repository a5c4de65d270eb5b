"""How often `--explain` names the line that was changed, and what it says of sound mechanisms.

    python benchmarks/cause.py mutants [--faults 3] [--trials 20000] [--seed 29] [NAME ...]
    python benchmarks/cause.py planted [PATTERN ...]
    python benchmarks/cause.py foreign
    python benchmarks/cause.py sound [NAME ...]

`mutants` plants a random sample of the one-line faults of each mechanism of the catalogue and
audits its first privacy claim, on the pair that is worst without the fault and then by search;
`planted` takes those of benchmarks/planted.toml, each in a copy of the package, and audits the
mechanisms of its systems; `foreign` takes the calls of real packages in benchmarks/cause.toml,
those whose package can be imported here. Of each that is refuted and whose changed line is run, a
row says which of the at most four lines told is the changed one: `line`, `neighbour` (one above or
below) or `no`. `sound` explains the pair that an audit finds worst for each sound mechanism;
nothing should be accused. All print JSON lines; with --json FILE the rows are kept there under the
word that made them.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from fnmatch import fnmatch
from importlib import import_module
from os import times
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
FOREIGN = HERE / "cause.toml"
EITHER = 0.5, 2.0
TRIES = 5
"""Faults that are planted for one that is wanted: many of them break no privacy."""
LONGEST = 900.0
"""Seconds for one planted fault."""
WORDS = ("line", "neighbour", "no")
LISTING = re.compile(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```$", re.M | re.S)


def spent():
    now = times()
    return now.user + now.system + now.children_user + now.children_system


def told_of(cause):
    return [[one.line, one.source, one.reason] for one in cause.lines]


def near(cause, path, lines):
    """Whether one of these lines of the file is told, or one beside them."""
    apart = [min(abs(one.line - line) for line in lines) for one in cause.lines
             if one.file.endswith(path)]  # fmt: skip
    return "line" if 0 in apart else "neighbour" if 1 in apart else "no"


def stated_by(mechanism):
    """The first privacy claim and what an audit is asked with; nothing where there is none."""
    from dpwitness import PrivacyClaim

    for claim in mechanism.claims:
        if isinstance(claim, PrivacyClaim) and claim.curve is None:
            return claim, {"epsilon": claim.epsilon, "delta": claim.delta, "precision": None,
                           "relation": claim.relation, "distance": claim.distance}  # fmt: skip
    return None, {}


def explained(run, result, claim):
    """The cause of a refutation and the CPU seconds it took."""
    from dpwitness.auditors.tape.explain import explain

    begun, shown = spent(), result.witness
    cause = explain(run, shown.database, shown.neighbour, claim.steps * claim.epsilon,
                    delta=claim.delta, refuted=True)  # fmt: skip
    return cause, round(spent() - begun, 3)


def mutants(names, most, trials, seed):
    from dpwitness import audit
    from dpwitness.auditors.mutants.faults import planted
    from dpwitness.auditors.mutants.trial import planned
    from dpwitness.mechanisms.catalogue import CATALOGUE

    for name in names or [row[0] for row in CATALOGUE.names]:
        mechanism = CATALOGUE.entry(name)
        claim, stated = stated_by(mechanism)
        if claim is None:
            continue
        pair = audit(mechanism, trials=5000, **stated).pair
        _, recipe, every = planned(mechanism)
        every = [one for one in every if one.source is not None and not one.source.makes]
        random, found = Random(f"{seed} {name}"), 0
        for fault in random.sample(every, min(TRIES * most, len(every))):
            if found == most:
                break
            if fault.factor is not None:
                fault = fault.at(random.choice(EITHER))
            try:
                with planted(fault, mechanism, recipe) as mutant:
                    result = audit(mutant, pair=pair, trials=trials, alpha=1e-4, **stated)
                    if not result.refuted:
                        result = audit(mutant, trials=trials, alpha=1e-4, **stated)
                    if not result.refuted:
                        continue
                    cause, seconds = explained(mutant.run, result, claim)
            except Exception:  # noqa: BLE001 - a mutant may do anything
                continue
            found += 1
            line = int(fault.place.rpartition(":")[2])
            word = near(cause, fault.source.path.rsplit("/", 1)[-1], [line])
            yield {"name": name, "fault": fault.told, "factor": fault.factor, "told": word,
                   "seconds": seconds, "summary": cause.summary,
                   "lines": told_of(cause)}  # fmt: skip


def planted_faults(patterns):
    import planted

    for name, one in planted.planted().items():
        if "file" not in one or not any(fnmatch(name, pattern) for pattern in patterns or "*"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            planted.tree(one, Path(folder))
            text = (Path(folder) / "dpwitness/mechanisms" / one["file"]).read_text("utf-8")
            asked = {"file": one["file"], "systems": one["systems"], "lines": changed(one, text)}
            try:
                done = subprocess.run(
                    [sys.executable, __file__, "judge", json.dumps(asked)], cwd=folder,
                    env={**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"},
                    capture_output=True, text=True, check=False, timeout=LONGEST,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                continue
        if done.returncode == 0 and (row := json.loads(done.stdout.splitlines()[-1])):
            yield {"name": name, "fault": f"{one['old']} -> {one['new']}", **row}


def changed(one, text):
    """The numbers of the lines in which a fault differs from what stood there."""
    old, new = one["old"].split("\n"), one["new"].split("\n")
    first = text[: text.index(one["new"])].count("\n") + 1 if one["new"] else 0
    if not one["new"]:
        before = (HERE.parent / "mechanisms" / one["file"]).read_text("utf-8")
        first = before[: before.index(one["old"])].count("\n") + 1
    apart = [first + k for k, line in enumerate(new) if k >= len(old) or line != old[k]]
    return apart or [first]


def judge(asked):
    """The row of a fault that is planted in this very package; nothing if no audit refutes."""
    from dpwitness import audit
    from dpwitness.mechanisms.catalogue import CATALOGUE

    for mechanism in CATALOGUE:
        claim, stated = stated_by(mechanism)
        if claim is None or CATALOGUE.systems[mechanism.name] not in asked["systems"]:
            continue
        result = audit(mechanism, trials=20_000, alpha=1e-4, **stated)
        if not result.refuted:
            continue
        if not is_run(mechanism.run, result.witness.database, asked):
            return {}
        cause, seconds = explained(mechanism.run, result, claim)
        return {"by": mechanism.name, "told": near(cause, asked["file"], asked["lines"]),
                "seconds": seconds, "summary": cause.summary,
                "lines": told_of(cause)}  # fmt: skip
    return {}


def is_run(run, database, asked):
    """Whether a call comes by one of these lines: a constant of the claim is no line of a run."""
    import numpy as np

    seen = set()

    def trace(frame, event, argument):
        if frame.f_code.co_filename.endswith(asked["file"]):
            seen.add(frame.f_lineno)
            return trace
        return None

    sys.settrace(trace)
    try:
        run(database, np.random.default_rng(0), size=8)
    except TypeError:
        run(database, np.random.default_rng(0))
    finally:
        sys.settrace(None)
    return any(abs(line - one) <= 1 for line in asked["lines"] for one in seen)


def foreign():
    from dpwitness.auditors.tape.explain import explain

    with tempfile.TemporaryDirectory() as folder:
        for page in (HERE.parent / "docs" / "findings").glob("*.md"):
            for file, text in LISTING.findall(page.read_text("utf-8")):
                (Path(folder) / file).write_text(text, "utf-8")
        sys.path[:0] = [str(HERE / "real" / "calls"), folder]
        os.chdir(folder)
        for one in tomllib.loads(FOREIGN.read_text("utf-8"))["fault"]:
            module, _, function = one["call"].partition(":")
            try:
                run = getattr(import_module(module), function)
            except ImportError as error:
                print(f"{one['name']}: not run, {error}", file=sys.stderr)
                continue
            begun = spent()
            cause = explain(run, *one["pair"], one.get("epsilon", 1.0), refuted=True)
            words = [near(cause, place["file"], place["lines"]) for place in one["places"]]
            yield {"name": one["name"], "fault": one["fault"],
                   "told": min(words, key=WORDS.index), "seconds": round(spent() - begun, 3),
                   "summary": cause.summary, "lines": told_of(cause)}  # fmt: skip


def sound(names, trials):
    from dpwitness import PrivacyClaim, audit
    from dpwitness.auditors.errors import DpWitnessError
    from dpwitness.auditors.tape.explain import explain
    from dpwitness.mechanisms.catalogue import CATALOGUE

    for name in names or [row[0] for row in CATALOGUE.names]:
        mechanism = CATALOGUE.entry(name)
        for claim in mechanism.claims:
            if not isinstance(claim, PrivacyClaim) or claim.curve is not None:
                continue
            try:
                result = audit(mechanism, epsilon=claim.epsilon, delta=claim.delta,
                               relation=claim.relation, trials=trials)  # fmt: skip
            except DpWitnessError as error:
                print(f"{name}: {str(error)[:200]}", file=sys.stderr)
                continue
            begun = spent()
            cause = explain(mechanism.run, result.pair.database, result.pair.neighbour,
                            claim.epsilon, delta=claim.delta)  # fmt: skip
            yield {"name": name, "told": "accused" if cause.accused else "nothing",
                   "seconds": round(spent() - begun, 3), "summary": cause.summary,
                   "lines": told_of(cause)}  # fmt: skip


def kept(path, word, rows):
    """Write the rows under their word beside those of others."""
    every = json.loads(path.read_text("utf-8")) if path.exists() else {}
    every[word] = rows
    path.write_text(json.dumps(every, indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["mutants", "planted", "foreign", "sound", "judge"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--faults", type=int, default=3)
    parser.add_argument("--trials", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=29)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.what == "judge":
        print(json.dumps(judge(json.loads(given.names[0]))))
        return
    if given.json:
        given.json = given.json.resolve()
    made = {
        "mutants": lambda: mutants(given.names, given.faults, given.trials, given.seed),
        "planted": lambda: planted_faults(given.names),
        "foreign": foreign,
        "sound": lambda: sound(given.names, min(given.trials, 5000)),
    }[given.what]()
    rows = []
    for row in made:
        rows.append(row)
        print(json.dumps(row), flush=True)
        if given.json:
            kept(given.json, given.what, rows)
    told = [row["told"] for row in rows]
    print(json.dumps({"rows": len(told), **{word: told.count(word) for word in sorted({*told})}}))


if __name__ == "__main__":
    main()
