"""How many draws an audit makes until it refutes, and in all.

    python benchmarks/stopping.py [--seeds 20] [--json FILE]

Given pairs: Laplace noise and randomized response that lose 2, 1.3 and 1.1 where 1 is claimed, at
alpha .05, stopping once refuted. By search: the same noise on a sum of whole numbers; the one pair
of thirty that loses 1.2; the negative controls of the catalogue at the default budget and
precision (one seed). `draws` are all outputs of both sides; `decided` is a side, up to the look
that refuted.
"""

import argparse
import json
import platform
import time
from datetime import UTC, datetime
from functools import partial
from math import exp
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from needles import THIRTY, one_of_thirty

import dpwitness
from dpwitness.mechanisms.catalogue import NEGATIVE_CONTROLS
from dpwitness.mechanisms.model import PrivacyClaim

LOSSES = (2.0, 1.3, 1.1)
TARGETS = {2.0: 1000, 1.3: 6000, 1.1: 45_000}
"""Draws of both sides in all, Laplace, pair given."""
GROSS = 40_000
ALPHA = 0.05
LISTS = st.lists(st.integers(0, 1), max_size=20)


def laplace(database, rng, *, size=None, loss):
    return sum(database) + rng.laplace(scale=1 / loss, size=size)


def response(database, rng, *, size=None, loss):
    keep = exp(loss) / (1 + exp(loss))
    lies = rng.random(size) >= keep
    return np.bitwise_xor(database[0], lies)


def cases():
    """(group, name, target of all draws, audit of a seed)."""
    for loss in LOSSES:
        for name, run in (("Laplace", laplace), ("randomized response", response)):
            target = TARGETS[loss] if run is laplace else None
            yield "given pair", f"{name}, {loss:g}", target, partial(
                audited, partial(run, loss=loss), pair=([0], [1]), relation="replace-one",
                alpha=ALPHA, precision=None,
            )  # fmt: skip
    for loss in LOSSES:
        yield "by search", f"Laplace, {loss:g}", None, partial(
            audited, partial(laplace, loss=loss), databases=LISTS, relation="add-remove",
            alpha=ALPHA, precision=None,
        )  # fmt: skip
    yield "by search", "one of 30 pairs at 1.2", GROSS, partial(
        audited, one_of_thirty, databases=THIRTY, relation="declared", alpha=ALPHA,
        precision=None, trials=8000,
    )  # fmt: skip
    for control in NEGATIVE_CONTROLS:
        if isinstance(control.breaks, PrivacyClaim) and control.detectable:
            yield "control", control.mechanism.name, GROSS, partial(controlled, control)


def audited(run, *, seed, **options):
    return dpwitness.audit(run, epsilon=1.0, seed=seed, name="benchmark", **options)


def controlled(control, *, seed):
    results = dpwitness.audit_claims(control.mechanism, seed=seed)
    return next(result for result in results if result.claim == control.breaks)


def row(group, name, target, audit, seeds):
    decided, draws, cpu = [], [], []
    for seed in range(1 if group == "control" else seeds):
        start = time.process_time()
        result = audit(seed=seed)
        cpu.append(time.process_time() - start)
        draws.append(result.draws)
        if result.evidence.decided_after is not None:
            decided.append(result.evidence.decided_after)
    return {
        "group": group, "case": name, "refuted": len(decided), "of": len(draws),
        "decided": round(float(np.mean(decided))) if decided else None,
        "draws": round(float(np.mean(draws))), "most draws": max(draws), "target": target,
        "cpu": round(float(np.mean(cpu)), 2),
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    rows = []
    about = {
        "seeds": asked.seeds, "alpha": ALPHA, "machine": platform.machine(),
        "python": platform.python_version(), "numpy": np.__version__,
        "date": datetime.now(UTC).date().isoformat(),
    }  # fmt: skip
    for group, name, target, audit in cases():
        one = row(group, name, target, audit, asked.seeds)
        rows.append(one)
        print(
            f"{group:11}{name:42}{one['refuted']:>3}/{one['of']:<3}decided {one['decided']}, "
            f"draws {one['draws']:,} (at most {one['most draws']:,}), {one['cpu']} s",
            flush=True,
        )
        if asked.json:
            asked.json.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
