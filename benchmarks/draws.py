"""Draws per second of each catalogue mechanism, and how far it is from its noise alone.

Prints, for each mechanism, draws per second of CPU time when one call makes many draws, the
ratio to plain numpy drawing the same noise, and draws per second when each is a call of its
own. Run: python benchmarks/draws.py [draws]
"""

import sys
import time

import numpy as np

from dpwitness.mechanisms import CATALOGUE, Value

REPEATS = 7
DATABASE = [0, 1, 1, 0, 1]

BASELINES = {
    "laplace": lambda rng, n: rng.laplace(size=n),
    "laplace-vector": lambda rng, n: rng.laplace(size=(n, 3)),
    "geometric": lambda rng, n: np.subtract(*rng.geometric(0.632, size=(2, n))),
    "exponential": lambda rng, n: rng.choice(3, size=n, p=[0.2, 0.3, 0.5]),
    "randomized-response": lambda rng, n: rng.choice(3, size=n, p=[0.2, 0.2, 0.6]),
}


def seconds(work, rng, draws):
    """Least CPU time of a few repeats, the one other work disturbed least."""
    spent = []
    for _ in range(REPEATS):
        start = time.process_time()
        work(rng, draws)
        spent.append(time.process_time() - start)
    return max(min(spent), 1e-9)


def main(draws):
    rng = np.random.default_rng(0)
    print(f"{'mechanism':22}{'draws/s':>14}{'x numpy':>9}{'calls/s':>12}")
    for mechanism in CATALOGUE:
        values = isinstance(mechanism.databases, Value)
        database = mechanism.databases.row.values[0] if values else DATABASE

        def many(rng, n, run=mechanism.run, database=database):
            run(database, rng, size=n)

        def one_by_one(rng, n, run=mechanism.run, database=database):
            for _ in range(n):
                run(database, rng)

        calls = max(1, draws // 100)
        taken = seconds(many, rng, draws)
        ratio = taken / seconds(BASELINES[mechanism.name], rng, draws)
        single = calls / seconds(one_by_one, rng, calls)
        print(f"{mechanism.name:22}{draws / taken:>14,.0f}{ratio:>9.2f}{single:>12,.0f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
