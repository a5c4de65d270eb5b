"""How often `--explain` names the line that was changed, and what it says of sound mechanisms.

    python benchmarks/cause.py faults [--faults 3] [--trials 20000] [--seed 29] [NAME ...]
    python benchmarks/cause.py sound [NAME ...]

`faults` plants a random sample of the one-line faults of each mechanism of the catalogue, judges
its first privacy claim on the pair that is worst without the fault, and asks for the cause of
those refuted. A row says which of the at most four lines told is the changed one: `line`,
`neighbour` (one above or below) or `no`. `sound` explains the pair that an audit finds worst for
each sound mechanism; nothing should be accused. Both print JSON lines and a sum at the end.
"""

import argparse
import json
from os import times
from random import Random

from dpwitness import PrivacyClaim, audit
from dpwitness.auditors.errors import DpWitnessError
from dpwitness.auditors.mutants.planting import planted
from dpwitness.auditors.mutants.score import planned
from dpwitness.auditors.tape.explain import explain
from dpwitness.mechanisms.catalogue import CATALOGUE

EITHER = 0.5, 2.0
TRIES = 5
"""Faults that are planted for one that is wanted: many of them break no privacy."""


def spent():
    now = times()
    return now.user + now.system + now.children_user + now.children_system


def told_of(cause):
    return [[one.line, one.source, one.reason] for one in cause.lines]


def faults(names, most, trials, seed):
    told = {"line": 0, "neighbour": 0, "no": 0}
    for name in names:
        mechanism = CATALOGUE.entry(name)
        private = [claim for claim in mechanism.claims
                   if isinstance(claim, PrivacyClaim) and claim.curve is None]  # fmt: skip
        if not private:
            continue
        claim = private[0]
        stated = {"epsilon": claim.epsilon, "delta": claim.delta, "relation": claim.relation,
                  "distance": claim.distance, "precision": None}  # fmt: skip
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
                        continue
                    begun, shown = spent(), result.witness
                    cause = explain(mutant.run, shown.database, shown.neighbour,
                                    claim.steps * claim.epsilon, delta=claim.delta,
                                    refuted=True)  # fmt: skip
                    seconds = spent() - begun
            except Exception:  # noqa: BLE001 - a mutant may do anything
                continue
            found += 1
            line = int(fault.place.rpartition(":")[2])
            near = [abs(one.line - line) for one in cause.lines
                    if one.file.endswith(fault.source.path.rsplit("/", 1)[-1])]  # fmt: skip
            word = "line" if 0 in near else "neighbour" if 1 in near else "no"
            told[word] += 1
            row = {"mechanism": name, "fault": fault.told, "factor": fault.factor, "told": word,
                   "seconds": round(seconds, 3), "summary": cause.summary,
                   "lines": told_of(cause)}  # fmt: skip
            print(json.dumps(row), flush=True)
    print(json.dumps({"faults": sum(told.values()), **told}))


def sound(names, trials):
    accused = total = 0
    for name in names:
        mechanism = CATALOGUE.entry(name)
        for claim in mechanism.claims:
            if not isinstance(claim, PrivacyClaim) or claim.curve is not None:
                continue
            try:
                result = audit(mechanism, epsilon=claim.epsilon, delta=claim.delta,
                               relation=claim.relation, trials=trials)  # fmt: skip
            except DpWitnessError as error:
                print(json.dumps({"mechanism": name, "error": str(error)[:200]}))
                continue
            begun = spent()
            cause = explain(mechanism.run, result.pair.database, result.pair.neighbour,
                            claim.epsilon, delta=claim.delta)  # fmt: skip
            total += 1
            accused += cause.accused
            print(json.dumps({"mechanism": name, "accused": cause.accused,
                              "seconds": round(spent() - begun, 3), "summary": cause.summary,
                              "lines": told_of(cause)}), flush=True)  # fmt: skip
    print(json.dumps({"explained": total, "accused": accused}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["faults", "sound"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--faults", type=int, default=3)
    parser.add_argument("--trials", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=29)
    given = parser.parse_args()
    names = given.names or [row[0] for row in CATALOGUE.names]
    if given.what == "faults":
        faults(names, given.faults, given.trials, given.seed)
    else:
        sound(names, min(given.trials, 5000))


if __name__ == "__main__":
    main()
