"""Bound of an audit against the oracle's: the best event known, the same test on all draws.

    python benchmarks/tightness.py [trials] [runs]

Prints the mean of both lower bounds on epsilon at alpha .05 and their ratio. Each mechanism is
audited at its true epsilon, so that nothing stops early, on the pair where it is tight.
"""

import sys
from functools import partial
from math import e, exp, log

import numpy as np

from dpwitness import audit
from dpwitness.auditors.bounds import two_sample
from dpwitness.mechanisms.noise.geometric import geometric
from dpwitness.mechanisms.noise.laplace import laplace
from dpwitness.mechanisms.selection.exponential import exponential

ALPHA = 0.05


def votes(database):
    return np.array(database)


def run(trials, runs):
    scores = (0, 0, 0, 0, 0, 0, 0, 1), (1, 1, 1, 1, 1, 1, 1, 0)
    eight = {"score": votes, "sensitivity": 1.0}
    un_halved = {"score": votes, "sensitivity": 0.5}
    cases = {
        "Laplace": (partial(laplace, query=float, sensitivity=1, epsilon=1), (0, 1), 0.5, 1.0),
        "geometric": (
            partial(geometric, query=int, epsilon=1.0, sensitivity=1),
            (0, 1),
            e / (1 + e),
            1.0,
        ),
        "exponential, halved": (partial(exponential, epsilon=1.0, **eight), scores, None, None),
        "exponential, un-halved": (
            partial(exponential, epsilon=1.0, **un_halved),
            scores,
            None,
            None,
        ),
    }
    print(f"{trials} draws a side, {runs} runs, alpha {ALPHA}")
    for name, (mechanism, pair, p, true) in cases.items():
        if p is None:
            p, true = last_candidate(mechanism.keywords, scores)
        ours = [
            audit(
                mechanism, pair=pair, epsilon=true, trials=trials, alpha=ALPHA, seed=seed
            ).epsilon_lower
            for seed in range(runs)
        ]
        rng = np.random.default_rng(1)
        oracle = [
            two_sample.epsilon_lower(
                (int(rng.binomial(trials, p)), int(rng.binomial(trials, p * exp(-true)))),
                (trials, trials),
                delta=0.0,
                level=ALPHA,
            )
            for _ in range(20 * runs)
        ]
        ratio = np.mean(ours) / np.mean(oracle)
        print(
            f"{name:24s} true {true:.4f}  ours {np.mean(ours):.4f} (sd {np.std(ours):.4f})  "
            f"oracle {np.mean(oracle):.4f}  ratio {ratio:.4f}"
        )


def last_candidate(keywords, scores):
    """P and log-ratio of the event that separates best: the odd candidate out, or its rest."""
    from dpwitness.mechanisms.selection.exponential import probabilities

    one, two = (
        probabilities(
            np.array(s, float), sensitivity=keywords["sensitivity"], epsilon=keywords["epsilon"]
        )
        for s in scores
    )
    return float(one[-1]), log(one[-1] / two[-1])


if __name__ == "__main__":
    arguments = [int(float(a)) for a in sys.argv[1:]]
    run(*(arguments + [1_000_000, 10][len(arguments) :]))
