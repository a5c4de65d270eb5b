"""How near the bound of an audit comes to that of the best event there is.

    python benchmarks/power.py {given,sniper,held-out,weak} [--search] [--only NAME]
                               [--trials 1000000] [--seeds 3] [--json FILE] [--figure FILE]

Each mechanism is audited at its true epsilon (so that nothing stops early) and alpha .05 on the
pair where it is tight; with --search the pair is found by the default search instead. The oracle
is the best event of the exact law on the same pair, tested on all draws at alpha: its
probabilities are importance-weighted over 200,000 draws. The luck of one count is much larger than
what an event is worth where losses are weak, so that `expected` is the bound that the audit's
event, level and draws promise, with the event's probabilities weighted likewise, and `part` is the
mean of it over the oracle's. Rows are appended to the JSON file as they come, so that a run can be
taken up again; --figure draws what the file holds.
"""

import argparse
import json
import platform
import time
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path

import numpy as np
from scipy.special import ndtri
from subjects import TABLES

import dpwitness
from dpwitness.auditors.outputs.outputs import Outputs

ALPHA = 0.05
WEIGHTED = 200_000
FEWEST = 50
LARGEST_CLAIM = 20.0


def oracle(subject, trials):
    """(bound, log-ratio, probability) of the best event; None without a law."""
    if subject.law is None:
        return None
    return max(
        one_way(subject, first, second, trials)
        for first, second in (subject.pair, subject.pair[::-1])
    )


def one_way(subject, first, second, trials):
    rng = np.random.default_rng(20_261_122)
    outputs = subject.run(first, rng, size=WEIGHTED)
    with np.errstate(invalid="ignore"):
        loss = np.round(subject.law(outputs, first) - subject.law(outputs, second), 7)
    loss = np.sort(loss)[::-1]
    hits = np.arange(1, WEIGHTED + 1)
    p, q = hits / WEIGHTED, np.cumsum(np.exp(-loss)) / WEIGHTED
    ends = np.append(loss[1:] < loss[:-1], True) & (hits >= FEWEST) & (p > subject.delta)
    p, q = p[ends], np.maximum(q[ends], 3 / trials)
    excess = p - subject.delta
    noise = p * (1 - p) / excess**2 + (1 - q) / q
    bound = np.log(excess / q) + ndtri(ALPHA) * np.sqrt(np.maximum(noise, 0) / trials)
    best = int(np.argmax(bound))
    return float(bound[best]), float(np.log(excess / q)[best]), float(p[best])


def audited(subject, trials, seed, search):
    claim = subject.true if isfinite(subject.true) else LARGEST_CLAIM
    where = {"databases": subject.pairs.map(as_pair)} if search else {"pair": subject.pair}
    start = time.process_time()
    result = dpwitness.audit(
        subject.run, epsilon=claim, delta=subject.delta, trials=trials, alpha=ALPHA, seed=seed,
        name=subject.name, exact=False, **({"relation": "declared"} if search else {}), **where,
    )  # fmt: skip
    return result, time.process_time() - start


def expected(subject, result):
    """The bound that the event counted last promises by the exact law; None without one."""
    look, count = result.evidence.looks[-1], result.evidence.counts[-1]
    if subject.law is None or result.evidence.bets is not None:
        return None
    pair = result.pair.reversed() if count.reversed else result.pair
    rng = np.random.default_rng(20_261_124)
    drawn = subject.run(pair.database, rng, size=WEIGHTED)
    inside = count.event.contains(Outputs.of(drawn, WEIGHTED))
    loss = subject.law(drawn, pair.database) - subject.law(drawn, pair.neighbour)
    p, q = inside.mean(), (inside * np.exp(-loss)).mean()
    excess, draws = p - subject.delta, look.trials[0]
    if excess <= 0 or q <= 0:
        return float("-inf")
    noise = p * (1 - p) / excess**2 + (1 - q) / q
    return float(np.log(excess / q) + ndtri(look.level) * np.sqrt(noise / draws))


def as_pair(databases):
    return dpwitness.Pair(*databases)


def sampling_seconds(subject, trials):
    rng = np.random.default_rng(0)
    start = time.process_time()
    for database in subject.pair:
        for _ in range(0, trials, 32_768):
            subject.run(database, rng, size=32_768)
    return time.process_time() - start


def row(subject, trials, seeds, search):
    best = oracle(subject, trials)
    found = [audited(subject, trials, seed, search) for seed in range(seeds)]
    bounds = [result.epsilon_lower for result, _ in found]
    mean = float(np.mean(bounds))
    promised = [expected(subject, result) for result, _ in found]
    return {
        "name": subject.name,
        "true": subject.true if isfinite(subject.true) else "infinite",
        "oracle": best[0] if best else None,
        "oracle probability": best[2] if best else None,
        "bounds": [bound if isfinite(bound) else "none" for bound in bounds],
        "expected": [value if value is None or isfinite(value) else "none" for value in promised],
        "part": float(np.mean([max(value, 0) for value in promised]) / best[0])
        if best and None not in promised
        else None,
        "mean": mean if isfinite(mean) else "none",
        "ratio": mean / best[0] if best and isfinite(mean) else None,
        "draws": float(np.mean([result.draws for result, _ in found])),
        "cpu": float(np.mean([spent for _, spent in found])),
        "sampling cpu": sampling_seconds(subject, trials),
        "published": subject.published,
        "event": found[0][0].description if hasattr(found[0][0], "description") else "",
    }


def show(entry):
    def said(value):
        return f"{value:.4f}" if isinstance(value, float) else str(value or "-")

    bounds = " ".join(said(bound) for bound in entry["bounds"])
    print(
        f"{entry['name']:22}{said(entry['true']):>9}{said(entry['oracle']):>9}"
        f"{said(entry['mean']):>9}{said(entry['ratio']):>8}{said(entry['part']):>8}  ({bounds})  "
        f"{entry['draws']:.3g} draws  {entry['cpu']:.2f} s, sampling {entry['sampling cpu']:.2f} s",
        flush=True,
    )


def figure(entries, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    told = [entry for entry in entries if entry["ratio"] is not None]
    fig, axes = plt.subplots(figsize=(7, 0.35 * len(told) + 1.2))
    axes.barh([e["name"] for e in told], [max(e["ratio"], 0) for e in told], color="#4477aa")
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.invert_yaxis()
    axes.set_xlabel("mean bound / bound of the best event")
    fig.tight_layout()
    fig.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--trials", type=float, default=1e6)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--figure", type=Path)
    asked = parser.parse_args()
    trials = int(asked.trials)
    subjects = [s for s in TABLES[asked.table]() if not asked.only or s.name in asked.only]
    if asked.search:
        subjects = [subject for subject in subjects if subject.pairs is not None]
    entries = []
    if asked.json and asked.json.exists():
        entries = json.loads(asked.json.read_text(encoding="utf-8"))["rows"]
    done = {entry["name"] for entry in entries}
    about = {
        "table": asked.table, "search": asked.search, "trials": trials, "seeds": asked.seeds,
        "alpha": ALPHA, "machine": platform.machine(), "python": platform.python_version(),
        "numpy": np.__version__, "date": datetime.now(UTC).date().isoformat(),
    }  # fmt: skip
    print(f"{trials:,} draws a side, seeds 0 to {asked.seeds - 1}, alpha {ALPHA}")
    print(
        f"{'mechanism':22}{'true':>9}{'oracle':>9}{'bound':>9}{'ratio':>8}{'part':>8}  (each seed)"
    )
    for subject in subjects:
        if subject.name in done:
            continue
        entries.append(row(subject, trials, asked.seeds, asked.search))
        show(entries[-1])
        if asked.json:
            text = json.dumps({**about, "rows": entries}, indent=1)
            asked.json.write_text(text + "\n", encoding="utf-8")
    if asked.figure:
        figure(entries, asked.figure)


if __name__ == "__main__":
    main()
