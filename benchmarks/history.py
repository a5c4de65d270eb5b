"""CPU time of `dpwitness history`, of its page and of recording one more run, in a long history.

    python benchmarks/history.py --runs 10000

The history is made as real ones are, one run after the other with seeds of their own, five
mechanisms in turn; only the disk is not waited for. Prints CPU seconds.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from dpwitness.reports.cli import main
from dpwitness.reports.history.entry import entries_of
from dpwitness.reports.history.recorder import record
from dpwitness.reports.history.store import add, open_store


def result(number: int) -> dict[str, Any]:
    """A sound audit of four counts; its hits differ a little from run to run."""
    counts = [
        {
            "stage": "attempt", "chunk": chunk, "reversed": False,
            "event": {"kind": "half-line", "threshold": 0.5, "upper": True},
            "hits": [600 + (7 * number + chunk) % 30, 230 + (5 * number + chunk) % 20],
            "trials": [1000, 1000], "predicted": 1.0, "spread": 0.1, "rates": [0.61, 0.24],
        }
        for chunk in range(4)
    ]  # fmt: skip
    return {
        "mechanism": f"noisy_{number % 5}", "target": "file.py:noisy", "verdict": "not_refuted",
        "claim": {"epsilon": 1.0, "delta": 0.0, "relation": "replace-one", "distance": 1},
        "epsilon_lower": 0.7, "detectable_epsilon": "inf", "draws": 8000, "seed": number,
        "pair": {"database": [0], "neighbour": [1]}, "seconds": 0.25, "seeded": True, "note": "",
        "evidence": {"alpha": 1e-3, "counts": counts}, "source": "5" * 32,
    }  # fmt: skip


def measure(runs: int) -> None:
    """Print what a history of that many runs costs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = open_store(folder)
        store.connection.execute("PRAGMA synchronous = OFF")
        begun = time.process_time()
        for number in range(runs):
            add(store, entries_of(f"r{number}", [result(number)], ["t"], "1")[0])
        store.close()
        spent = time.process_time() - begun
        print(f"{runs} runs made in {spent:.1f} CPU s, {1000 * spent / runs:.1f} ms each")
        for words in (["history"], ["history", "-o", str(folder / "page.html")]):
            begun = time.process_time()
            done = CliRunner().invoke(main, [*words, "--directory", name])
            print(f"{words[0]}: {time.process_time() - begun:.2f} CPU s, status {done.exit_code}")
        begun = time.process_time()
        told = record(folder, "one more", [result(runs)], ["t"], runs)
        print(f"one more: {1000 * (time.process_time() - begun):.1f} CPU ms {told}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    measure(parser.parse_args().runs)
