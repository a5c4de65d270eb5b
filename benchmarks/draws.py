"""Draws per second of every catalogue mechanism, beside plain numpy for the same arithmetic.

Prints, for each mechanism, draws per second of CPU time when one call makes many draws, the same
of its baseline in `baselines`, how many times as long the mechanism takes and whether that is
below 10, and draws per second when each is a call of its own. Exit status 1 where a mechanism is
10 times slower or has no baseline. Run: python benchmarks/draws.py [draws]
"""

import sys
import time

import numpy as np
from baselines import BASELINES

from dpwitness.auditors.databases.neighbours import pair_source
from dpwitness.mechanisms import catalogue
from dpwitness.mechanisms.model.domains import Asked

CATALOGUE = tuple(one for one in catalogue.CATALOGUE if not isinstance(one.databases, Asked))
"""Without sessions: a conversation has no arithmetic that draws many at once."""

REPEATS = 7
SLOWEST = 10.0


def database_of(mechanism):
    """The last, and so one of the largest, of the databases an audit tries first."""
    claim = mechanism.claims[0]
    source = pair_source(mechanism.databases, claim.relation, claim.distance, 0)
    return source.templates[-1].database if source.templates else source.first(0).database


def baseline_of(mechanism):
    """The mechanism's baseline as a function of (database, rng, draws); KeyError without one."""
    if mechanism.name not in BASELINES:
        raise KeyError(
            f"{mechanism.name} has no baseline: write one in benchmarks/baselines.py, plain "
            "numpy for the same arithmetic"
        )

    def run(database, rng, draws):
        return BASELINES[mechanism.name](database, rng, draws, **mechanism.run.keywords)

    return run


def seconds(work, rng, draws):
    """Least CPU time of a few repeats, the one other work disturbed least."""
    spent = []
    for _ in range(REPEATS):
        start = time.process_time()
        work(rng, draws)
        spent.append(time.process_time() - start)
    return max(min(spent), 1e-9)


def measure(mechanism, draws):
    """Seconds for the draws in one call, for the baseline, and for a hundredth one by one."""
    database, rng = database_of(mechanism), np.random.default_rng(0)
    baseline = baseline_of(mechanism)

    def many(rng, n):
        mechanism.run(database, rng, size=n)

    def plain(rng, n):
        baseline(database, rng, n)

    def one_by_one(rng, n):
        for _ in range(n):
            mechanism.run(database, rng)

    few = max(1, draws // 100)
    return (
        seconds(many, rng, draws),
        seconds(plain, rng, draws),
        seconds(one_by_one, rng, few) / few,
    )


def main(draws):
    names = [mechanism.name for mechanism in CATALOGUE]
    width = max(map(len, names)) + 2
    print(f"{'mechanism':{width}}{'draws/s':>13}{'numpy/s':>13}{'ratio':>8}{'':6}{'calls/s':>10}")
    slow = []
    for mechanism in CATALOGUE:
        try:
            taken, plain, call = measure(mechanism, draws)
        except KeyError as error:
            sys.exit(str(error.args[0]))
        ratio = taken / plain
        if ratio >= SLOWEST:
            slow.append(mechanism.name)
        print(
            f"{mechanism.name:{width}}{draws / taken:>13,.0f}{draws / plain:>13,.0f}{ratio:>8.2f}"
            f"{'ok' if ratio < SLOWEST else 'SLOW':>6}{1 / call:>10,.0f}"
        )
    if slow:
        sys.exit(f"at least {SLOWEST:g} times slower than plain numpy: {', '.join(slow)}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
