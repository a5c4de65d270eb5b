"""Bound of an audit over that of the best event, by kind of output: texts, lists, atoms, tails.

    python benchmarks/sight.py [--only NAME ...] [--seeds 10] [--first 0] [--json FILE]

Each instance has an exact law. The pair is given and claimed at its true epsilon, precision is 0
and alpha .05, so that nothing stops early. The oracle is the best event of the law, tested with
all draws of a side by the normal law; its probabilities are read off 3,000,000 draws a side.
A bound of `-inf` counts as 0 in the mean.
"""

import argparse
import json
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from math import inf, isfinite, log
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import laplace

import dpwitness

ALPHA = 0.05
LAW = 3_000_000
LETTERS = "abcd"
LAST = 14


@dataclass(frozen=True, kw_only=True)
class Sight:
    """A mechanism of databases 0 and 1, and the log-ratio of (n) draws made apart from it."""

    run: Callable[..., Any]
    losses: Callable[[int, np.random.Generator, int], np.ndarray]
    trials: int
    delta: float = 0.0


def chain(database: int) -> np.ndarray:
    """Transitions from each letter to each letter, and to the end of the text."""
    rows = np.array([
        [0.30, 0.25, 0.15, 0.15, 0.15], [0.20, 0.20, 0.25, 0.20, 0.15],
        [0.25, 0.15, 0.20, 0.25, 0.15], [0.20, 0.25, 0.20, 0.20, 0.15],
    ])  # fmt: skip
    if database:
        rows[0], rows[2] = [0.20, 0.35, 0.15, 0.15, 0.15], [0.25, 0.25, 0.20, 0.15, 0.15]
    return rows


def walk(database: int, rng: np.random.Generator, size: int, last: int) -> np.ndarray:
    """States of `size` walks, 4 and more for ended ones; the last letter always ends."""
    ends = chain(database).cumsum(axis=1)
    states = np.full((size, last + 1), 4)
    states[:, 0] = rng.integers(0, 4, size)
    for place in range(1, last):
        before = states[:, place - 1]
        drawn = (rng.random((size, 1)) > ends[np.minimum(before, 3)][:, :4]).sum(axis=1)
        states[:, place] = np.where(before < 4, drawn, 4)
    return states


def markov(last: int) -> Sight:
    """A text whose letters follow each other by a law with two rows that differ."""

    def run(database: int, rng: np.random.Generator, size: int) -> list[str]:
        states = walk(database, rng, size, last)
        return ["".join(LETTERS[s] for s in row if s < 4) for row in states.tolist()]

    def losses(database: int, rng: np.random.Generator, size: int) -> np.ndarray:
        states = walk(database, rng, size, last)
        ratios = np.vstack([np.log(chain(0) / chain(1)), np.zeros(5)])
        total = np.zeros(size)
        for place in range(last - 1):
            total += ratios[states[:, place], states[:, place + 1]]
        return total

    return Sight(run=run, losses=losses, trials=200_000)


def shifted(run: Callable[..., Any], trials: int = 200_000) -> Sight:
    """Laplace noise of scale 1 around 0 or 1 is all of it that tells."""

    def losses(database: int, rng: np.random.Generator, size: int) -> np.ndarray:
        drawn = database + rng.laplace(size=size)
        return np.abs(drawn - 1) - np.abs(drawn)

    return Sight(run=run, losses=losses, trials=trials)


def sentence(database: int, rng: np.random.Generator, size: int) -> list[str]:
    mean = 40 + database + rng.laplace(size=size)
    runs = rng.integers(1000, 9999, size)
    return [
        f"Run {name}: the mean age of the group is {value:.3f} years."
        for name, value in zip(runs.tolist(), mean.tolist(), strict=True)
    ]


def as_json(database: int, rng: np.random.Generator, size: int) -> list[str]:
    noisy = 100 + rng.laplace(size=size)
    ids = rng.integers(0, 10**6, size)
    return [
        json.dumps({"release": {"noisy": value, "rows": 100 + database}, "request": name})
        for value, name in zip(noisy.tolist(), ids.tolist(), strict=True)
    ]


def as_fields(database: int, rng: np.random.Generator, size: int) -> list[str]:
    noisy = rng.laplace(size=size)
    kinds = rng.integers(0, 3, size).tolist()
    return [
        f"count={100 + database} noise={value:.6f}" + f" retries={kind}" * (kind > 0)
        for value, kind in zip(noisy.tolist(), kinds, strict=True)
    ]


def as_csv(database: int, rng: np.random.Generator, size: int) -> list[str]:
    """Lines of a letter and a noisy count, some missing; only that of b is shifted."""
    values = rng.laplace(size=(size, 3)) + 20
    values[:, 1] += database
    there = (rng.random((size, 3)) < 0.7).tolist()
    return [
        "\n".join(
            f"{name},{value:.4f}"
            for name, value, kept in zip("abc", row, line, strict=True) if kept
        )
        for row, line in zip(values.tolist(), there, strict=True)
    ]  # fmt: skip


def csv_losses(database: int, rng: np.random.Generator, size: int) -> np.ndarray:
    drawn = database + rng.laplace(size=size)
    there = rng.random(size) < 0.7
    return np.where(there, np.abs(drawn - 1) - np.abs(drawn), 0.0)


def parts(database: int, rng: np.random.Generator, size: int) -> tuple[np.ndarray, ...]:
    """Lengths, labels and numbers of lists of 1 to 4 entries; only the first b is shifted."""
    lengths = rng.integers(1, 5, size)
    labels = rng.integers(0, 5, (size, 4))
    values = rng.laplace(size=(size, 4))
    mine = (labels == 1) & (np.arange(4) < lengths[:, None])
    first = mine & (mine.cumsum(axis=1) == 1)
    return lengths, labels, values + database * first, first


def ragged(database: int, rng: np.random.Generator, size: int) -> list[list[tuple[str, float]]]:
    lengths, labels, values, _ = parts(database, rng, size)
    return [
        [("abcde"[label], value) for label, value in zip(names[:n], row[:n], strict=True)]
        for n, names, row in zip(lengths.tolist(), labels.tolist(), values.tolist(), strict=True)
    ]


def ragged_losses(database: int, rng: np.random.Generator, size: int) -> np.ndarray:
    _, _, values, first = parts(database, rng, size)
    drawn = np.where(first, values, 0).sum(axis=1)
    return np.where(first.any(axis=1), np.abs(drawn - 1) - np.abs(drawn), 0.0)


def atom(trials: int) -> Sight:
    """A value that comes back with probability .001 or .0001 amid Laplace noise."""

    def run(database: int, rng: np.random.Generator, size: int) -> np.ndarray:
        drawn = rng.laplace(size=size)
        drawn[rng.random(size) < (1e-4 if database else 1e-3)] = 0.25
        return drawn

    def losses(database: int, rng: np.random.Generator, size: int) -> np.ndarray:
        return np.where(rng.random(size) < (1e-4 if database else 1e-3), log(10), -9e-4)

    return Sight(run=run, losses=losses, trials=trials)


SIGMA = 3.7303
"""At which a shift of 1 has delta 1e-5 at epsilon 1."""


def gaussian(trials: int) -> Sight:
    """Gaussian noise around 0 or 1."""

    def run(database: int, rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.normal(database, SIGMA, size)

    def losses(database: int, rng: np.random.Generator, size: int) -> np.ndarray:
        return (0.5 - rng.normal(database, SIGMA, size)) / SIGMA**2

    return Sight(run=run, losses=losses, trials=trials, delta=1e-5)


SIDE = 8
DIRECTION = np.diag(np.eye(SIDE)[0])


def covariance(database: int, rng: np.random.Generator, size: int) -> np.ndarray:
    """A mirrored 8 x 8 matrix with Gaussian noise, one entry of the diagonal shifted."""
    noise = rng.normal(0, SIGMA, (size, SIDE, SIDE))
    upper = np.triu(noise)
    found = upper + np.swapaxes(np.triu(noise, 1), 1, 2)
    found[:, 0, 0] += database * 0.8
    found[:, 0, 1] += database * 0.6
    found[:, 1, 0] += database * 0.6
    return found


def geometric(trials: int) -> Sight:
    """Two-sided geometric noise around 0 or 1."""

    def run(database: int, rng: np.random.Generator, size: int) -> np.ndarray:
        p = 1 - np.exp(-1.0)
        return rng.geometric(p, size) - rng.geometric(p, size) + database

    def losses(database: int, rng: np.random.Generator, size: int) -> np.ndarray:
        return np.where(run(database, rng, size) <= 0, 1.0, -1.0)

    return Sight(run=run, losses=losses, trials=trials)


SIGHTS: dict[str, Callable[[], Sight]] = {
    "Markov text to 14 letters": lambda: markov(14),
    "Markov text to 6 letters": lambda: markov(6),
    "sentence": lambda: shifted(sentence),
    "JSON": lambda: Sight(run=as_json, losses=exact, trials=200_000),
    "key=value": lambda: Sight(run=as_fields, losses=exact, trials=200_000),
    "lines": lambda: Sight(run=as_csv, losses=csv_losses, trials=200_000),
    "ragged list": lambda: Sight(run=ragged, losses=ragged_losses, trials=200_000),
    "atom, 2e5": lambda: atom(200_000),
    "atom, 1e6": lambda: atom(1_000_000),
    "Gaussian, 2e5": lambda: gaussian(200_000),
    "Gaussian, 1e6": lambda: gaussian(1_000_000),
    "covariance": lambda: Sight(
        run=covariance, losses=gaussian(1).losses, trials=1_000_000, delta=1e-5
    ),
    "geometric, 1e6": lambda: geometric(1_000_000),
    "geometric, 1e7": lambda: geometric(10_000_000),
    "Laplace, 1e6": lambda: shifted(
        lambda database, rng, size: database + rng.laplace(size=size), 1_000_000
    ),
}


def exact(database: int, rng: np.random.Generator, size: int) -> np.ndarray:
    """One side gives what the other never does."""
    return np.full(size, -inf if database else inf)


def bound(p: np.ndarray, q: np.ndarray, trials: int, delta: float) -> np.ndarray:
    """The bound that hits of these probabilities are expected to give."""
    excess = p - delta
    noise = p * (1 - p) / excess**2 + (1 - q) / q
    found: np.ndarray = np.log(excess / q) + ndtri(ALPHA) * np.sqrt(noise / trials)
    return found


@cache
def oracle(name: str) -> float:
    """The bound of the best event of the law, either way round."""
    sight = SIGHTS[name]()
    if sight.losses is exact:
        # No hit of `trials` on one side: the exact limit.
        return log(sight.trials / -log(ALPHA))
    if name.startswith("Laplace"):
        cuts = np.linspace(-3, 1, 401)
        return float(bound(laplace.cdf(cuts), laplace.cdf(cuts, 1), sight.trials, 0).max())
    if sight.delta:
        cuts = np.linspace(-30, 3, 3301)
        p, q = ndtr(cuts / SIGMA), ndtr((cuts - 1) / SIGMA)
        kept = p > sight.delta
        return float(bound(p[kept], q[kept], sight.trials, sight.delta).max())
    rng = np.random.default_rng(20_261_123)
    sides = [np.sort(sight.losses(database, rng, LAW)) for database in (0, 1)]
    best = -inf
    for one, two in (sides, [-side[::-1] for side in sides[::-1]]):
        cuts = np.unique(one[:: LAW // 5000])
        p, q = (1 - np.searchsorted(side, cuts) / LAW for side in (one, two))
        kept = (p * LAW > 50) & (q * LAW > 50)
        best = max(best, float(bound(p[kept], q[kept], sight.trials, 0).max()))
    return best


def row(name: str, seeds: range) -> dict[str, Any]:
    """The audits of one instance."""
    sight, found, cpu = SIGHTS[name](), [], 0.0

    def run(database: int, rng: np.random.Generator, *, size: int | None = None) -> Any:
        drawn = sight.run(database, rng, size or 1)
        return drawn if size else drawn[0]

    claim = 12.0 if sight.losses is exact else 1.0 if "Markov" not in name else 2.0
    claim = log(10) if name.startswith("atom") else claim
    for seed in seeds:
        start = time.process_time()
        result = dpwitness.audit(
            run, epsilon=claim, delta=sight.delta, pair=(0, 1), trials=sight.trials,
            precision=0, alpha=ALPHA, seed=seed, name=name, relation="declared", exact=False,
        )  # fmt: skip
        cpu += time.process_time() - start
        found.append(float(result.epsilon_lower))
    best = oracle(name)
    ratios = [value / best if isfinite(value) else 0.0 for value in found]
    return {
        "name": name, "trials": sight.trials, "oracle": best, "of": len(found),
        "some": sum(map(isfinite, found)), "ratio": float(np.mean(ratios)),
        "worst": min(ratios), "ratios": ratios, "cpu": cpu / len(found),
        "date": datetime.now(UTC).date().isoformat(),
    }  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=list(SIGHTS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    seeds = range(asked.first, asked.first + asked.seeds)
    about = {
        "seeds": asked.seeds, "first seed": asked.first, "alpha": ALPHA,
        "machine": platform.machine(), "python": platform.python_version(),
        "numpy": np.__version__, "date": datetime.now(UTC).date().isoformat(),
    }  # fmt: skip
    rows = []
    for name in asked.only:
        rows.append(row(name, seeds))
        last = rows[-1]
        print(
            f"{name:26} oracle {last['oracle']:7.4f}  some {last['some']} of {last['of']}  "
            f"ratio {last['ratio']:.3f}  worst {last['worst']:.3f}  {last['cpu']:.1f} s",
            flush=True,
        )
        if asked.json:
            text = json.dumps({**about, "rows": rows}, indent=1)
            asked.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
