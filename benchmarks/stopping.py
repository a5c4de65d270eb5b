"""How many draws an audit makes until it refutes, and in all.

    python benchmarks/stopping.py [--seeds 24] [--group GROUP] [--json FILE] [CASE ...]

Given pairs that lose 2, 1.3 or 1.1 where 1 is claimed, at alpha .05, stopping once refuted: Laplace
noise on a number and on three, randomized response, the exponential mechanism with four choices,
the index that a sparse vector of six queries gives, and Gaussian noise of sigma 2 at delta 1e-5.
By search: the same noise on a sum of whole numbers; the one pair of thirty that loses 1.2; the
negative controls of the catalogue at the default budget and precision (one seed). `draws` are all
outputs of both sides; `decided` is a side, up to the look that refuted, and none if exact laws
alone refuted.
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
from scipy.optimize import brentq
from scipy.stats import laplace as laplace_law

import dpwitness
from dpwitness.mechanisms.catalogue import NEGATIVE_CONTROLS
from dpwitness.mechanisms.model import PrivacyClaim

LOSSES = (2.0, 1.3, 1.1)
TARGETS = {
    "Laplace, 2": 250, "Laplace, 1.3": 2000, "Laplace, 1.1": 20_000,
    "randomized response, 2": 110, "randomized response, 1.3": 750,
    "randomized response, 1.1": 6000, "exponential mechanism, 1.1": 27_000,
    "Laplace on three, 1.1": 65_000, "sparse vector, 2": 7000, "Gaussian of sigma 2": 50_000,
}  # fmt: skip
"""Draws of both sides in all, pair given."""
GROSS = 40_000
ALPHA = 0.05
LISTS = st.lists(st.integers(0, 1), max_size=20)


def laplace(database, rng, *, size=None, loss):
    return sum(database) + rng.laplace(scale=1 / loss, size=size)


def response(database, rng, *, size=None, loss):
    keep = exp(loss) / (1 + exp(loss))
    lies = rng.random(size) >= keep
    return np.bitwise_xor(database[0], lies)


def vector(database, rng, *, size=None, loss):
    shape = 3 if size is None else (size, 3)
    return database[0] / 3 + rng.laplace(scale=1 / loss, size=shape)


def gaussian(database, rng, *, size=None):
    return database[0] + rng.normal(scale=2.0, size=size)


def drawn(database, rng, *, size=None, laws):
    """An index drawn by the law that the database names."""
    return np.searchsorted(laws[database[0]], rng.random(size)).clip(max=len(laws[0]) - 1)


def finite(laws_of, loss):
    """The mechanism of the two laws of a strength at which they lose so much."""

    def excess(strength):
        one, two = laws_of(strength)
        return np.abs(np.log(one / two)).max() - loss

    return partial(drawn, laws=tuple(map(np.cumsum, laws_of(brentq(excess, 0.1, 20)))))


def choices(strength):
    """Four choices of the exponential mechanism; the first gains what the others lose."""
    weights = np.exp(strength / 2 * np.array([[1, 0, 0, 0], [0, 1, 1, 1]]))
    return weights / weights.sum(axis=1, keepdims=True)


def first_above(strength):
    """The index of the first of six queries above a noisy threshold."""
    noise = laplace_law(scale=4 / strength)
    marks = np.linspace(-60 / strength, 60 / strength, 20_001)
    weights = laplace_law(scale=2 / strength).pdf(marks)
    found = []
    for queries in ([0] * 5 + [1], [1] * 5 + [0]):
        below = np.cumprod([np.ones_like(marks), *(noise.cdf(marks - q) for q in queries)], axis=0)
        law = (weights * np.append(below[:-1] - below[1:], below[-1:], axis=0)).sum(axis=1)
        found.append(law / law.sum())
    return np.array(found)


def cases():
    """(group, name, target of all draws, audit of a seed)."""
    given = {"pair": ([0], [1]), "relation": "replace-one", "alpha": ALPHA, "precision": None}
    kinds = {
        "Laplace": lambda loss: partial(laplace, loss=loss),
        "randomized response": lambda loss: partial(response, loss=loss),
        "exponential mechanism": partial(finite, choices),
        "Laplace on three": lambda loss: partial(vector, loss=loss),
    }
    for loss in LOSSES:
        for name, made in kinds.items():
            case = f"{name}, {loss:g}"
            yield "given pair", case, TARGETS.get(case), partial(audited, made(loss), **given)
    case = "sparse vector, 2"
    yield "given pair", case, TARGETS[case], partial(audited, finite(first_above, 2.0), **given)
    case = "Gaussian of sigma 2"
    yield "given pair", case, TARGETS[case], partial(audited, gaussian, delta=1e-5, **given)
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
    """The audit of the claim that the control breaks; of a curve a point was judged."""
    wanted, results = control.breaks, dpwitness.audit_claims(control.mechanism, seed=seed)
    return next(
        r for r in results
        if r.claim == wanted or (wanted.curve is not None and r.claim.curve == wanted.curve)
    )  # fmt: skip


def row(group, name, target, audit, seeds):
    refuted, decided, draws, cpu = 0, [], [], []
    for seed in range(1 if group == "control" else seeds):
        start = time.process_time()
        result = audit(seed=seed)
        cpu.append(time.process_time() - start)
        draws.append(result.draws)
        refuted += result.refuted
        if result.evidence.decided_after is not None:
            decided.append(result.evidence.decided_after)
    return {
        "group": group, "case": name, "refuted": refuted, "of": len(draws),
        "decided": round(float(np.mean(decided))) if decided else None,
        "draws": round(float(np.mean(draws))), "most draws": max(draws), "target": target,
        "cpu": round(float(np.mean(cpu)), 2), "date": datetime.now(UTC).date().isoformat(),
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--group", help="only given pair, by search or control")
    parser.add_argument("--json", type=Path)
    parser.add_argument("case", nargs="*", help="only these; others stay in the file")
    asked = parser.parse_args()
    rows = {}
    if asked.json and asked.json.exists():  # what is not asked for stays
        known = json.loads(asked.json.read_text("utf-8"))["rows"]
        rows = {(one["group"], one["case"]): one for one in known}
    order = [(group, name) for group, name, *_ in cases()]
    about = {
        "seeds": asked.seeds, "alpha": ALPHA, "machine": platform.machine(),
        "python": platform.python_version(), "numpy": np.__version__,
        "date": datetime.now(UTC).date().isoformat(),
    }  # fmt: skip
    for group, name, target, audit in cases():
        if asked.group not in (None, group) or (asked.case and name not in asked.case):
            continue
        one = row(group, name, target, audit, asked.seeds)
        rows[group, name] = one
        print(
            f"{group:11}{name:42}{one['refuted']:>3}/{one['of']:<3}decided {one['decided']}, "
            f"draws {one['draws']:,} (at most {one['most draws']:,}), {one['cpu']} s",
            flush=True,
        )
        if asked.json:
            every = [rows[place] for place in order if place in rows]
            asked.json.write_text(json.dumps({**about, "rows": every}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
