"""The mutation score of the catalogue, written into docs/mutants.md.

    python benchmarks/mutants.py try [--faults 8] [--trials 20000] [--seed 14] [NAME ...]
    python benchmarks/mutants.py page

`try` plants a random sample of the faults of each mechanism (of all without NAME) and keeps what
became of each in benchmarks/mutants.json, which it writes after every mechanism; those that are in
it are left out, unless they are named. Another seed adds faults to those that are there. Sizes are
a half too small and twice too large. Privacy is judged on the pair that an audit of the original
finds worst; what that misses by a whole audit, and then by the theorems of the mechanism's system.
`page` writes the page from that file and from benchmarks/survivors.json, where a person says of
each survivor why it is one.
"""

import argparse
import json
from collections import Counter
from os import times
from pathlib import Path
from random import Random
from textwrap import wrap

from dpwitness import PrivacyClaim, audit
from dpwitness.auditors.errors import DpWitnessError
from dpwitness.auditors.mutants.trial import mutants_of, planned
from dpwitness.mechanisms.catalogue import CATALOGUE, THEOREMS

HERE = Path(__file__).parent
KEPT, REASONS = HERE / "mutants.json", HERE / "survivors.json"
PAGE = HERE.parent / "docs" / "mutants.md"
SEED = 14
LEFT = ("not planted", "not tried")


def read(path):
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def scored(name, sample, seconds, trials, seed, before):
    system = CATALOGUE.systems[name]
    theorems = [one for one in THEOREMS if THEOREMS.systems[one.identifier] == system]
    theorems.sort(key=lambda one: one.slow)
    mechanism = CATALOGUE.entry(name)
    every = sorted({fault.told for fault in planned(mechanism)[2]})
    kept = [] if seed == SEED else before.get("mutants", [])
    drawn = set(Random(f"{seed} {name}").sample(every, min(sample, len(every))))
    chosen = drawn - {row["told"] for row in kept}
    private = [claim for claim in mechanism.claims if isinstance(claim, PrivacyClaim)]
    pair = audit(mechanism, trials=5000, precision=None).pair if len(private) == 1 else None
    given = {"ladder": (0.5,), "seconds": seconds, "trials": trials}
    score = mutants_of(mechanism, pair=pair, only=lambda fault: fault.told in chosen, **given)
    missed = {one.fault.told for one in score.mutants if one.verdict == "not seen"}
    found = {named(one): one for one in score.mutants}
    if missed:
        # The whole audit, with its own hunt for the pair, and the theorems.
        again = mutants_of(
            mechanism, theorems=theorems, only=lambda fault: fault.told in missed, **given
        )
        found |= {named(one): one for one in again.mutants if one.verdict != "not tried"}
    rows = [
        {
            "kind": one.fault.kind,
            "told": one.fault.told,
            "factor": one.fault.factor,
            "verdict": one.verdict,
            "by": list(one.by) if one.verdict == "seen" else [],
        }
        for one in found.values()
    ]
    seeds = sorted({*before.get("drawn", [SEED]), seed})
    return {
        "trials": trials,
        "seed": score.seed,
        "drawn": seeds,
        "faults": len(every),
        "mutants": kept + rows,
    }


def named(mutant):
    return mutant.fault.told, mutant.fault.factor


def key_of(row):
    size = "" if row["factor"] is None else f" x {row['factor']:g}"
    return f"{row['told']}{size}"


def page(kept, reasons):
    total = Counter(row["verdict"] for one in kept.values() for row in one["mutants"])
    seen, unseen = total["seen"], total["not seen"]
    left = sum(total[word] for word in LEFT)
    harmless = harmless_of(kept, reasons)
    places = sum(one["faults"] for one in kept.values())
    share = seen / max(seen + unseen - harmless, 1)
    again = [name for name, one in kept.items() if len(one.get("drawn", [SEED])) > 1]
    more = f"; in {len(again)} of them eight more, seeds 15 and 16" if again else ""
    untried = len(CATALOGUE) - len(kept)
    lines = [
        "# Mutants of the catalogue",
        "",
        "Written by `python benchmarks/mutants.py page` from what `try` found on two shared x86-64",
        "cores, 2026-11-22. A mutant is a mechanism with one small fault; sizes are a half",
        f"too small and twice too large. Of the {places:,} places of these mechanisms up to eight",
        f"in each were drawn at random (seed {SEED}{more}).",
        "A mutant is judged by the claims of its mechanism, at",
        f"{min(one['trials'] for one in kept.values()):,} trials a side, privacy on",
        "the pair that an audit of the original finds worst and, if that shows nothing, by a whole",
        "audit; by the law or density that it states; and by the theorems of its system.",
        "`dpwitness tools mutants NAME` does the same with a finer ladder. Faults that raise or do",
        "not end count neither way; nor do those that give equal outputs for equal generators on",
        "all databases tried.",
        "",
        f"{sum(total.values())} faults in {len(kept)} mechanisms: {seen} seen, {unseen} not seen.",
        f"Of the latter {harmless} break no claim, as explained below; of the others {share:.0%}",
        f"are seen. {total['equivalent']} are equivalent, {total['raises']} raise,",
        f"{total['does not end']} do not end, and for {left} the seconds",
        "were spent before they were tried. A fault that is seen need not break a claim: noise",
        "above what the law states is seen too. Mechanisms of the catalogue that were not tried:",
        f"{untried}.",
        "",
        *wrap(reasons.get("remark", ""), 95),
        "",
        "| mechanism | seen | not seen | equivalent | raises | does not end | not tried |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, one in kept.items():
        counts = Counter(row["verdict"] for row in one["mutants"])
        words = ("seen", "not seen", "equivalent", "raises", "does not end")
        cells = " | ".join(str(counts[word]) for word in words)
        lines.append(f"| {name} | {cells} | {sum(counts[word] for word in LEFT)} |")
    lines += ["", "## Not seen", "", "| mechanism | kind | fault | why |", "|---|---|---|---|"]
    for name, one in kept.items():
        for row in one["mutants"]:
            if row["verdict"] == "not seen":
                why = reasons.get(key_of(row), {}).get("why", "not explained yet")
                told = key_of(row).replace("|", "\\|")
                lines.append(f"| {name} | {row['kind']} | `{told}` | {why} |")
    return "\n".join(lines) + "\n"


def harmless_of(kept, reasons):
    return sum(
        row["verdict"] == "not seen" and not reasons.get(key_of(row), {"breaks": True})["breaks"]
        for one in kept.values()
        for row in one["mutants"]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("try", "page"))
    parser.add_argument("names", nargs="*")
    parser.add_argument("--faults", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--trials", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_intermixed_args()
    kept = read(KEPT)
    if given.what == "try":
        untried = [names[0] for names in CATALOGUE.names if names[0] not in kept]
        for name in given.names or untried:
            try:
                kept[name] = scored(
                    name, given.faults, given.seconds, given.trials, given.seed, kept.get(name, {})
                )
            except DpWitnessError as error:
                print(f"{name}: {error}")
                continue
            counts = Counter(row["verdict"] for row in kept[name]["mutants"])
            print(name, dict(counts), f"{sum(times()[:4]):.0f} CPU s", flush=True)
            KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        return
    PAGE.write_text(page(kept, read(REASONS)), encoding="utf-8")


if __name__ == "__main__":
    main()
