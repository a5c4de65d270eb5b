"""CPU time of `dpwitness history`, of its page and of recording one more run, in a long history.

    python benchmarks/history.py --runs 10000

The history is made as real ones are, one run after the other with seeds of their own, five
mechanisms in turn; only the disk is not waited for. Prints CPU seconds.
"""

import argparse
import tempfile
import time
from math import inf
from pathlib import Path

from click.testing import CliRunner

from dpwitness.auditors.events.events import HalfLine
from dpwitness.auditors.outputs.features import Feature
from dpwitness.auditors.results.results import AuditResult, Count, Evidence, Verdict
from dpwitness.mechanisms.model import Pair, PrivacyClaim, Relation
from dpwitness.reports.cli import main
from dpwitness.reports.history.recorder import entries_of, record
from dpwitness.reports.history.store import add, open_store


def result(number: int) -> AuditResult:
    """A sound audit of four counts; its hits differ a little from run to run."""
    counts = tuple(
        Count(
            stage="attempt", chunk=chunk, reversed=False, event=HalfLine(Feature(), 0.5, True),
            hits=(600 + (7 * number + chunk) % 30, 230 + (5 * number + chunk) % 20),
            trials=(1000, 1000), predicted=1.0, spread=0.1, rates=(0.61, 0.24),
        )
        for chunk in range(4)
    )  # fmt: skip
    return AuditResult(
        mechanism=f"noisy_{number % 5}", target="file.py:noisy", verdict=Verdict.NOT_REFUTED,
        claim=PrivacyClaim(epsilon=1.0, relation=Relation.REPLACE_ONE), alpha=1e-3, judged=counts,
        evidence=Evidence(counts=counts, alpha=1e-3, level=1e-3), witness=None, epsilon_lower=0.7,
        detectable_epsilon=inf, detectable_probability=inf, draws=8000, seed=number,
        pair=Pair([0], [1]), seconds=0.25, source="5" * 32,
    )  # fmt: skip


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
