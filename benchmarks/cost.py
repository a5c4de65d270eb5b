"""What an audit of one pair costs beside drawing the same samples.

    python benchmarks/cost.py [trials ...]

For each number of draws a side: CPU seconds of the audit, of drawing as many outputs in the same
blocks, their ratio and difference, and the growth of the process's memory. Imports and one small
audit come first, so that neither is charged for loading libraries.
"""

import resource
import sys
import time
from functools import partial

import numpy as np

from dpwitness import audit
from dpwitness.mechanisms.noise.geometric import geometric
from dpwitness.mechanisms.noise.laplace import laplace
from dpwitness.mechanisms.noise.randomized_response import RANDOMIZED_RESPONSE
from dpwitness.mechanisms.queries import histogram
from dpwitness.mechanisms.selection.exponential import exponential

BLOCK = 32768


def draw_only(run, pair, draws):
    """The same number of outputs as the audit drew, nothing done with them."""
    rng = np.random.default_rng(0)
    for database in pair:
        left = draws // 2
        while left > 0:
            run(database, rng, size=min(BLOCK, left))
            left -= BLOCK


def memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(sizes):
    cases = {
        "Laplace": (partial(laplace, query=float, sensitivity=1, epsilon=1), (0, 1)),
        "geometric": (partial(geometric, query=int, sensitivity=1, epsilon=1.0), (0, 1)),
        "exponential, 3 candidates": (
            partial(exponential, score=partial(histogram, categories=3), sensitivity=1, epsilon=1),
            ([0, 1], [1, 1]),
        ),
        "Laplace, 10 coordinates": (
            partial(laplace, query=lambda d: np.full(10, d / 10), sensitivity=1, epsilon=1),
            (0, 1),
        ),
        "randomized response": (RANDOMIZED_RESPONSE.run, ("no", "yes")),
    }
    for run, pair in cases.values():
        audit(run, pair=pair, epsilon=1.0, trials=20_000)
    for trials in sizes:
        for name, (run, pair) in cases.items():
            before, start = memory(), time.process_time()
            result = audit(run, pair=pair, epsilon=1.0, trials=trials)
            audited, start = time.process_time() - start, time.process_time()
            draw_only(run, pair, result.draws)
            drawn = time.process_time() - start
            print(
                f"{trials:>9,} a side  {name:26s} audit {audited:6.2f} s  draws {drawn:6.2f} s  "
                f"ratio {audited / drawn:5.2f}  more {audited - drawn:5.2f} s  "
                f"memory +{memory() - before:4.0f} MiB  {result!r}"
            )


if __name__ == "__main__":
    main([int(float(a)) for a in sys.argv[1:]] or [1_000_000, 10_000_000])
