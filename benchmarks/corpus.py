"""What dpwitness finds in everything it holds, so that a change of its house can be proved empty.

    python benchmarks/corpus.py before.json                      (with the Python of one version)
    python benchmarks/corpus.py after.json                       (with the Python of the other)
    python benchmarks/corpus.py --compare before.json after.json [--loosely]

The corpus is small audits of every mechanism and every negative control, every theorem and every
broken statement, 30 pairs of recorded samples put to `judge`, estimates, and audits made in shards
and merged; each with three seeds. Of every finding it holds the verdict, the bound, the draws, the
pair, the event and the counts. Times, versions, paths and sentences are not part of it.

Two records are compared in one of two ways, and what differs is printed, one case a line.

Strictly: every bit. For a change that moves code and changes no random stream.

Loosely: for a change of the random streams, or other seeds (`--first-seed 3`). A case that draws
nothing must still be equal. Of the others
- a true claim that no seed refuted may be refuted by no seed; if all seeds agreed on a verdict, one
  at least must give it still;
- the mean bound (of a statement, the mean of what was measured) may move by a tenth of itself, or
  of what is claimed if that is more, and by four standard errors of the two means;
- a false claim (a control, an erratum, "loses nothing") may be refuted more often and by more: with
  few draws it is luck whether its event is found;
- over all cases the bounds, and the draws, must move up as often as down: a signed-rank test
  with probability 1e-4 of a false report, which sees a shift that is lost in the noise of each.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from fnmatch import fnmatch
from hashlib import blake2b
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import dpwitness
from dpwitness.auditors.evidence.conversion import revived
from dpwitness.auditors.evidence.record import number
from dpwitness.auditors.outputs.encoding import to_json
from dpwitness.mechanisms.catalogue import (
    BROKEN_STATEMENTS,
    CATALOGUE,
    NEGATIVE_CONTROLS,
    THEOREMS,
)  # fmt: skip

SEEDS = 3
TRIALS = 4000
"""Draws a side of an audit, and half as many for a statement: they refute most controls by far."""
LONG = 40
"""Characters of a value; what is longer is held as its beginning and a digest."""
ESTIMATES = {
    "laplace": (), "geometric": (), "randomized-response": (), "exponential": (),
    "sparse-vector": (), "laplace-vector": (), "composed": ("--delta", "1e-5"),
    "EM-NAIVE": ("--precision", ".05"),
}  # fmt: skip
SHARDS = {"laplace": 2, "EM-NAIVE": 3, "noisy-average": 2}
ERRORS, MOVED, FALSE_REPORT = 4.0, 0.1, 1e-4
NOTHING = -1.0
"""What stands in a mean for a bound that says nothing; an infinite one stands out by itself."""


# The cases: what is asked, by name. ---------------------------------------------------------------

OUTPUTS = 600
SAMPLES = {
    "laplace": ("1", lambda rng, side, n: rng.laplace(side, 1, n)),
    "laplace-at-2": ("1", lambda rng, side, n: rng.laplace(side, 1 / 2, n)),
    "laplace-at-1.3": ("1", lambda rng, side, n: rng.laplace(side, 1 / 1.3, n)),
    "wide-laplace": ("1.5", lambda rng, side, n: rng.laplace(2 * side, 2, n)),
    "bits": ("1", lambda rng, side, n: rng.random(n) < (0.27, 0.73)[side]),
    "bits-too-honest": ("1", lambda rng, side, n: rng.random(n) < (0.05, 0.95)[side]),
    "words": ("1", lambda rng, side, n: rng.choice(["a", "b", "c"], n, p=SHARES[side])),
    "integers": ("1", lambda rng, side, n: side + rng.geometric(0.6, n)),
    "pairs": ("1", lambda rng, side, n: rng.laplace(side, 1, (n, 2))),
    "none-or-number": (
        "0.5",
        lambda rng, side, n: [None if u < (0.2, 0.6)[side] else u for u in rng.random(n).tolist()],
    ),
}
"""Epsilon and outputs under either database: with three seeds 30 pairs of samples."""
TRUE_OF_SAMPLES = ("laplace", "wide-laplace", "bits", "words")
SHARES = ((0.2, 0.3, 0.5), (0.5, 0.3, 0.2))


def cases():
    """(kind, name) of everything."""
    for kind, names in (("judge", SAMPLES), ("estimate", ESTIMATES), ("shards", SHARDS),
                        ("audit", mechanisms()), ("statement", statements())):  # fmt: skip
        yield from ((kind, name) for name in names)


def mechanisms():
    controls = (control.mechanism for control in NEGATIVE_CONTROLS)
    return {mechanism.name: mechanism for mechanism in (*CATALOGUE, *controls)}


def statements():
    named = {one.identifier: one for one in (*THEOREMS, *BROKEN_STATEMENTS)}
    return {**named, **{f"control-{one.mechanism.name}": one for one in NEGATIVE_CONTROLS}}


# What is found in a case: rows of plain values, and nothing that depends on the machine. --------


def found(kind, name, seed):
    """The findings of one case with one seed, by the claim they are about; an error is one too."""
    try:
        return {"audit": audited, "statement": checked}.get(kind, commanded)(kind, name, seed)
    except dpwitness.DpWitnessError as error:
        return {"error": {"verdict": type(error).__name__, "bound": None, "draws": 0}}


def audited(_, name, seed):
    results = dpwitness.audit_claims(mechanisms()[name], trials=TRIALS, seed=seed)
    return {
        f"claim {place}": of_audit(result.to_dict()["results"][0])
        for place, result in enumerate(results)
    }


def of_audit(record):
    """What follows from evidence as `dpwitness audit` and `dpwitness estimate` write it."""
    result = revived(record)
    counts, witness = result.evidence.counts, result.witness
    small = witness and witness.evidence
    return {
        "verdict": result.verdict.value,
        "bound": number(result.epsilon_lower),
        "claimed": record["claim"]["epsilon"],
        "draws": result.draws,
        "pair": short(record["pair"]),
        "event": short([count.event.to_json() for count in counts[-1:]]),
        "counts": short([[*count.hits, *count.trials] for count in counts]),
        "witness": witness and short([to_json(witness.database), to_json(witness.neighbour)]),
        "witnessed": witness and [number(witness.epsilon_lower), *(small.hits if small else ())],
    }


def checked(_, name, seed):
    result = dpwitness.check(statements()[name], trials=TRIALS // 2, seed=seed)
    told = result.to_dict()
    measured = told["measured"] or {}
    return {
        result.kind: {
            "verdict": told["verdict"],
            "bound": measured.get("value"),
            "draws": told["draws"],
            "claimed": told["claimed"],
            "limits": short([measured.get("low"), measured.get("high"), told["exact"]]),
            "methods": [told["sampled"], told["proved"]],
            "witness": short(told["witness"]),
            "counts": short(told["table"] and told["table"]["rows"]),
        }
    }


def commanded(kind, name, seed):
    """The finding of a command of the terminal; shards are drawn one by one and then merged."""
    budget = ("--trials", str(TRIALS), "--seed", str(seed))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if kind == "judge":
            return judged(place, name, seed)
        said = ("estimate", name, *ESTIMATES.get(name, ()), *budget)
        if kind == "shards":
            files = [f"{i}.json" for i in range(1, SHARDS[name] + 1)]
            for i, file in enumerate(files, 1):
                part = ("--shard", f"{i}/{len(files)}", "--json", file)
                run(place, "audit", name, *part, *budget)
            said = ("tools", "merge", *files)
        run(place, *said, "--json", "out.json")
        results = json.loads((place / "out.json").read_text("utf-8"))["results"]
    return {f"claim {i}": of_audit(result) for i, result in enumerate(results)}


def judged(place, name, seed):
    epsilon, outputs = SAMPLES[name]
    for side in (0, 1):
        made = np.asarray(outputs(np.random.default_rng([seed, side]), side, OUTPUTS)).tolist()
        (place / f"{side}.jsonl").write_text("\n".join(map(json.dumps, made)) + "\n", "utf-8")
    told = json.loads(
        run(place, "judge", "0.jsonl", "1.jsonl", "--json", "-", "--epsilon", epsilon)
    )
    finding = {key: short(told[key]) for key in ("verdict", "event", "likelier")}
    counts = [[one["hits"], one["judged"]] for one in told["samples"]]
    finding |= {"bound": told["epsilon_lower"], "counts": counts, "draws": 2 * OUTPUTS}
    return {"claim": finding}


def run(place, *said):
    """What a command writes to its standard output."""
    words = [sys.executable, "-m", "dpwitness", *said]
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(f"{said} ended with status {done.returncode}: {done.stderr}")
    return done.stdout


def short(value):
    """A value, or as a text its beginning and a digest of all of it."""
    text = json.dumps(value, sort_keys=True)
    if len(text) <= LONG:
        return value
    return f"{text[: LONG // 2]}... {blake2b(text.encode(), digest_size=8).hexdigest()}"


# Recording and comparing. -----------------------------------------------------------------------


def record(wanted="*", *, seeds=range(SEEDS), processes=1):
    """The findings by case, a list with one for each seed; `wanted` is a pattern of kind/name."""
    asked = [(*case, seed) for case in cases() if fnmatch("/".join(case), wanted) for seed in seeds]
    if processes > 1:
        with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
            made = list(pool.map(found, *zip(*asked, strict=True), chunksize=4))
    else:
        made = [found(*one) for one in asked]
    rows = {}
    for (kind, name, _), findings in zip(asked, made, strict=True):
        for claim, finding in findings.items():
            rows.setdefault(f"{kind}/{name}/{claim}", []).append(finding)
    return json.loads(json.dumps(rows))


def differing(before, after, *, loosely=False):
    """One line for each difference of two records."""
    told = [f"{name}: only in one of them" for name in before.keys() ^ after.keys()]
    both = {name: (before[name], after[name]) for name in before if name in after}
    if loosely:
        drawn = {name: pair for name, pair in both.items() if any(r["draws"] for r in pair[0])}
        for rule in (moved_verdict, moved_bound):
            told += [line for name, pair in drawn.items() for line in rule(name, *pair)]
        told += shifted(drawn)
        both = {name: pair for name, pair in both.items() if name not in drawn}
    for name, pair in both.items():
        for seed, (old, new) in enumerate(zip(*pair, strict=True)):
            keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
            told += [f"{name}, seed {seed}, {k}: {old.get(k)} -> {new.get(k)}" for k in keys]
    return sorted(told)


def false(name):
    """Whether the catalogue says that the claim of a case does not hold."""
    kind, case, _ = name.split("/")
    if kind == "statement":
        return not getattr(statements()[case], "holds", False)
    if kind == "judge":
        return case not in TRUE_OF_SAMPLES
    return kind == "estimate" or case in (control.mechanism.name for control in NEGATIVE_CONTROLS)


def moved_verdict(name, old, new):
    old, new = ([one["verdict"] for one in side] for side in (old, new))
    more = "refuted" in new and "refuted" not in old
    if not false(name) if more else len(set(old)) == 1 and old[0] not in new:
        yield f"{name}: verdicts {', '.join(old)} -> {', '.join(new)}"


def numbers(rows, key):
    """The numbers of all seeds; those that are none or infinite are given a finite place."""
    made = [NOTHING if row[key] is None else float(row[key]) for row in rows]
    return np.nan_to_num(made, posinf=1e9, neginf=NOTHING)


def moved_bound(name, old, new):
    sides = [numbers(side, "bound") for side in (old, new)]
    error = np.hypot(*(np.std(one, ddof=1) / len(one) ** 0.5 for one in sides))
    size = max(abs(sides[0].mean()), abs(old[0].get("claimed") or 0.0))
    move = sides[1].mean() - sides[0].mean()
    if (-move if false(name) else abs(move)) > ERRORS * error + MOVED * size:
        yield f"{name}: bounds {sides[0].tolist()} -> {sides[1].tolist()}"


def shifted(both):
    """Whether bounds, or draws, moved one way over all cases."""
    from scipy.stats import wilcoxon

    for key in ("bound", "draws"):
        moves = [numbers(new, key).mean() - numbers(old, key).mean() for old, new in both.values()]
        if any(moves) and (p := wilcoxon(moves, zero_method="zsplit").pvalue) < FALSE_REPORT:
            way = "up" if np.sign(moves).sum() > 0 else "down"
            yield f"all cases: {key} moved {way} (signed-rank test over {len(moves)}, p = {p:.1e})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("record", nargs="?", type=Path, help="where to write the record")
    parser.add_argument("--only", default="*", help="a pattern of kind/name, such as 'audit/lap*'")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("OLD", "NEW"))
    parser.add_argument("--loosely", action="store_true")
    asked = parser.parse_args()
    if asked.record:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        seeds = range(asked.first_seed, asked.first_seed + SEEDS)
        rows = record(asked.only, seeds=seeds, processes=asked.processes)
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
        asked.record.write_text("{\n" + lines + "\n}\n", "utf-8")
        print(f"{len(rows)} cases, {SEEDS} seeds from {asked.first_seed}.")
    told = []
    if asked.compare:
        old, new = (json.loads(path.read_text("utf-8")) for path in asked.compare)
        told = differing(old, new, loosely=asked.loosely)
        print("\n".join([*told, f"{len(old)} cases compared, {len(told)} differences."]))
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
