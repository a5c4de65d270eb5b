"""The clients of two libraries of local privacy, decided exactly: pure-ldp and Multi-Freq-LDPy.

    pip install --no-deps pure-ldp multi-freq-ldpy
    pip install numba scikit-learn statsmodels xxhash bitarray bitstring
    NUMBA_DISABLE_JIT=1 python benchmarks/clients.py [--json FILE]

Each client sends one report of one of `d` values at epsilon 1. All pairs of values are decided by
the exact laws that its code has, and a row says: proved or refuted, the exact epsilon of the worst
pair, runs and CPU seconds, or why its law is not finite. numba's functions are called as Python,
since compiled ones draw where nobody sees it. A client whose library is not installed is left out.
"""

import argparse
import json
import time
from importlib.metadata import version
from itertools import combinations
from pathlib import Path

import numpy as np

from dpwitness import Pair
from dpwitness.auditors.sampling.sampling import Sampler
from dpwitness.auditors.tape.exact import exact_pair
from dpwitness.mechanisms.model import PrivacyClaim, Relation

EPSILON = 1.0


def pure_ldp():
    """The clients of pure-ldp, and the epsilon that each is documented to have."""
    from pure_ldp.frequency_oracles.direct_encoding import DEClient
    from pure_ldp.frequency_oracles.hadamard_mechanism import HadamardMechClient
    from pure_ldp.frequency_oracles.histogram_encoding import HEClient
    from pure_ldp.frequency_oracles.local_hashing import LHClient
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

    def same(value):
        return value

    def sends(client, form):
        return lambda value, rng: form(client.privatise(value))

    def bits(report):
        return tuple(int(bit) for bit in report)

    def pairs(report):
        return [pair(one) for one in report]

    def pair(report):
        return tuple(int(one) for one in report)

    def whole(report):
        return int(report)

    known = {"epsilon": EPSILON, "index_mapper": same}
    yield "direct encoding", 5, sends(DEClient(d=5, **known), whole)
    yield "symmetric unary encoding", 4, sends(UEClient(d=4, **known), bits)
    yield "optimised unary encoding", 4, sends(UEClient(d=4, use_oue=True, **known), bits)
    yield "optimised unary encoding", 8, sends(UEClient(d=8, use_oue=True, **known), bits)
    yield "Hadamard mechanism", 4, sends(HadamardMechClient(d=4, t=1, **known), pairs)
    yield "histogram encoding", 4, sends(HEClient(d=4, **known), repr)
    yield "local hashing", 4, sends(LHClient(d=4, use_olh=True, **known), pair)


def multi_freq_ldpy():
    """The clients of Multi-Freq-LDPy."""
    from multi_freq_ldpy.pure_frequency_oracles.ADP import ADP_Client
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.HE import HE_Client
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client

    def many(report):
        return [int(one) for one in report]

    yield "generalised randomized response", 5, lambda v, rng: int(GRR_Client(v, 5, EPSILON))
    yield "symmetric unary encoding", 4, lambda v, rng: many(UE_Client(v, 4, EPSILON, False))
    yield "optimised unary encoding", 4, lambda v, rng: many(UE_Client(v, 4, EPSILON, True))
    yield "adaptive", 4, lambda v, rng: many(np.ravel(ADP_Client(v, 4, EPSILON)))
    yield "subset selection", 8, lambda v, rng: many(SS_Client(v, 8, EPSILON))
    yield "subset selection, sorted", 8, lambda v, rng: sorted(many(SS_Client(v, 8, EPSILON)))
    yield "local hashing", 4, lambda v, rng: repr(LH_Client(v, 4, EPSILON))
    yield "histogram encoding", 4, lambda v, rng: repr(HE_Client(v, 4, EPSILON))


LIBRARIES = {"pure-ldp": pure_ldp, "multi-freq-ldpy": multi_freq_ldpy}


def decided(run, values):
    """What the exact laws say of the worst pair of values."""
    claim = PrivacyClaim(epsilon=EPSILON, relation=Relation.REPLACE_ONE)
    sampler, worst, begun = Sampler(run=run, seed=0), None, time.process_time()
    try:
        for one, other in combinations(range(values), 2):
            found = exact_pair(sampler, Pair(one, other), claim)
            if isinstance(found, str):
                return {"verdict": "not enumerable", "why": found}
            if worst is None or found.epsilon > worst.epsilon:
                worst = found
    finally:
        sampler.door.close()
    return {"verdict": worst.verdict.value, "epsilon": repr(worst.epsilon),
            "pair": [worst.pair.database, worst.pair.neighbour],
            "chances": list(worst.chances),
            "cpu": round(time.process_time() - begun, 2)}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path)
    given, rows = parser.parse_args(), []
    for library, clients in LIBRARIES.items():
        try:
            made = list(clients())
        except ImportError as error:
            print(f"{library}: not run, {error}")
            continue
        for name, values, run in made:
            row = {"library": f"{library} {version(library)}", "client": name, "values": values}
            rows.append({**row, **decided(run, values)})
            print(json.dumps(rows[-1]), flush=True)
    if given.json:
        given.json.write_text(json.dumps({"rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
