"""How often a run of the plugin over sound mechanisms fails, against the alpha it promises.

    python benchmarks/family_wise.py [runs]

Each run is pytest with two workers of pytest-xdist over six mechanisms exactly at their claims,
at alpha 0.05 for the run and a seed of its own. Prints failing runs, and the probability of that
many or more if a run failed with probability alpha.
"""

import subprocess
import sys
import tempfile
from importlib.metadata import entry_points
from pathlib import Path

from scipy.special import bdtrc

ALPHA = 0.05
TESTS = """
import numpy as np
import pytest

def shape(size):
    return () if size is None else np.shape(np.empty(size))

def answer(x, rng, *, size=None):
    return np.where(rng.random(shape(size)) < np.e / (1 + np.e), x, 1 - x)

def noisy(x, rng, *, size=None):
    return x + rng.laplace(size=shape(size))

def counted(x, rng, *, size=None):
    decay = 1 - np.exp(-1.0)
    return x + rng.geometric(decay, shape(size)) - rng.geometric(decay, shape(size))

@pytest.mark.parametrize("mechanism", [answer, noisy, counted])
@pytest.mark.parametrize("turn", [(0, 1), (1, 0)])
def test_it(dp_audit, mechanism, turn):
    dp_audit(mechanism, pair=turn, epsilon=1.0)
"""


def main(runs):
    installed = any(
        e.value == "dpwitness.reports.ci.plugin" for e in entry_points(name="dpwitness")
    )
    plugin = [] if installed else ["-p", "dpwitness.reports.ci.plugin"]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_it.py").write_text(TESTS)
        Path(folder, "pyproject.toml").write_text(
            f"[tool.dpwitness]\nalpha = {ALPHA}\ntrials = 1000\n"
        )
        for seed in range(runs):
            command = [sys.executable, "-m", "pytest", *plugin, "-q", "-n", "2", "--dp-seed"]
            done = subprocess.run(
                [*command, str(seed)], cwd=folder, capture_output=True, text=True, check=False
            )
            if done.returncode not in (0, 1):
                raise SystemExit(done.stdout + done.stderr)
            failed += done.returncode
            for kept in Path(folder).glob(".dpwitness/*/*.json"):
                kept.unlink()  # runs of different seeds are to be independent
    chance = bdtrc(failed - 1, runs, ALPHA) if failed else 1.0
    print(f"{failed} of {runs} runs failed; as many or more by chance: {chance:.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
