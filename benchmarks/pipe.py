"""How many scalar draws a second come through the pipe, and whether the verdict is the twin's.

    python benchmarks/pipe.py [--draws 20000000]

Builds clients/laplace.c and asks it for blocks, as an audit does; its twin draws the same numbers
in numpy in this process. Prints the rate on the clock, the processor time of both processes, and
the verdicts and bounds of both.
"""

import argparse
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from dpwitness import audit
from dpwitness.auditors.remote import from_command

SOURCE = Path(__file__).resolve().parents[1] / "clients" / "laplace.c"


def twin(database, rng, *, size=1):
    """SplitMix64 and the inverse of Laplace's distribution function, as the client has them."""
    seed = np.uint64(int(rng.integers(2**53)))
    with np.errstate(over="ignore"):
        z = seed + np.arange(1, size + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = (z ^ (z >> np.uint64(31))) >> np.uint64(11)
    u = (z + 0.5) * 2.0**-53
    return sum(database) + np.where(u < 0.5, np.log(2 * u), -np.log(2 - 2 * u))


def rate(run, draws):
    """Seconds of this processor and of the clock that `draws` outputs took; the client ends."""
    rng, own, wall = np.random.default_rng(0), time.process_time(), time.perf_counter()
    for _ in range(draws // run.block):
        run([0, 1], rng, size=run.block)
    return time.process_time() - own, time.perf_counter() - wall


def spent_by_children():
    """Seconds of the processor that children have used who have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    """Build the client, ask it for draws, and audit both."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=20_000_000)
    draws = parser.parse_args().draws
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "client"
        subprocess.run(["cc", "-O2", "-o", str(program), str(SOURCE), "-lm"], check=True)
        before = spent_by_children()
        own, wall = rate(from_command(str(program), 60.0).run, draws)
        client = spent_by_children() - before
        options = {"pair": ([0], [0, 1]), "epsilon": 0.7, "trials": 20_000}
        there = audit(from_command(str(program), 60.0), **options)
        here = audit(twin, **options)
    print(f"{draws:,} draws in {wall:.1f} s: {draws / wall / 1e6:.1f} million a second")
    print(f"processor: {own:.1f} s here, {client:.1f} s in the client")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for name, found in (("client", there), ("twin", here)):
        print(f"{name}: {found.verdict.value}, epsilon >= {found.epsilon_lower}")


if __name__ == "__main__":
    main()
