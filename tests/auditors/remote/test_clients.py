"""The published clients, each against its twin in numpy on the same seeds."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from dpwitness import audit
from dpwitness.auditors.remote import from_command

CLIENTS = Path(__file__).resolve().parents[3] / "clients"
MOST_LINES = 100
TOOLS = {
    "laplace.c": "cc -std=c99 -Wall -Werror -O2 -o {out} {src} -lm",
    "laplace.rs": "rustc -O -D warnings -o {out} {src}",
    "laplace.go": "go build -o {out} {src}",
    "laplace.js": "node",
    "laplace_async.js": "node",
    "laplace.pl": "perl",
    "Laplace.java": "java",
    "laplace.R": "Rscript",
    "response.sh": "awk",
}
"""What each client needs; those of OWN draw from generators of their own and have no twin."""
OWN = ("laplace.R", "response.sh")
START = {
    "laplace.js": "node {src}",
    "laplace_async.js": "node {src}",
    "laplace.pl": "perl {src}",
    "Laplace.java": "java {src}",
    "laplace.R": "Rscript {src}",
    "response.sh": "sh {src}",
}


def built(name, folder):
    """The command that runs a client, compiled where it has to be."""
    tool, *arguments = TOOLS[name].split()
    if shutil.which(tool) is None:
        pytest.skip(f"this machine has no {tool} to run clients/{name} with")
    places = {"src": CLIENTS / name, "out": folder / "client"}
    if arguments:
        words = [word.format(**places) for word in (tool, *arguments)]
        settings = {**os.environ, "GO111MODULE": "off", "GOCACHE": str(folder)}
        subprocess.run(words, check=True, cwd=folder, env=settings)
    return START.get(name, "{out}").format(**places)


def twin(database, rng, *, size=1):
    """SplitMix64 and the inverse of Laplace's distribution function, as the clients have them."""
    seed = np.uint64(int(rng.integers(2**53)))
    with np.errstate(over="ignore"):
        z = seed + np.arange(1, size + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = (z ^ (z >> np.uint64(31))) >> np.uint64(11)
    u = (z + 0.5) * 2.0**-53
    return sum(database) + np.where(u < 0.5, np.log(2 * u), -np.log(2 - 2 * u))


class Twin:
    """The twin as a client that is asked: what stands alone is a request and not a call."""

    words, block, seeded = ("twin",), 32_768, True

    def __reduce__(self):
        return Twin, ()

    def __call__(self, database, rng, *, size=None):
        return twin(database, rng, size=size or 1)


@pytest.mark.parametrize("name", TOOLS)
def test_a_client_is_short_and_all_are_tested(name):
    assert len((CLIENTS / name).read_text(encoding="utf-8").splitlines()) <= MOST_LINES
    assert {path.name for path in CLIENTS.iterdir()} == {*TOOLS, "README.md"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TOOLS if name not in OWN])
def test_a_client_draws_what_its_twin_draws_and_gets_its_verdict(name, tmp_path):
    remote = from_command(built(name, tmp_path), 60.0)
    for database in ([], [0], [0.5, -2, 1e3]):
        seeds = np.random.default_rng(1), np.random.default_rng(1)
        there, here = remote.run(database, seeds[0], size=4000), twin(database, seeds[1], size=4000)
        # The logarithms of two libraries may differ in the last bit.
        np.testing.assert_allclose(there, here, rtol=1e-14, atol=1e-14)
    options = {"pair": ([0], [0, 1]), "epsilon": 0.7, "trials": 20_000}
    there, here = audit(remote, **options), audit(Twin(), **options)
    assert there.refuted
    # Beside the counts more is drawn of a program, whose source nobody can read.
    assert (there.epsilon_lower, there.evidence.looks) == (here.epsilon_lower, here.evidence.looks)
    assert not audit(remote, **{**options, "epsilon": 1.0}).refuted
    assert audit(twin, **options).refuted


@pytest.mark.slow
def test_c_and_shell_are_audited(tmp_path):
    # The seed is fixed, so no verdict depends on luck; the shell's epsilon is ln 3 = 1.0986.
    remote = from_command(built("response.sh", tmp_path), 60.0)
    assert audit(remote, pair=(0, 1), epsilon=0.8, trials=8000).refuted
    assert not audit(remote, pair=(0, 1), epsilon=1.0987, trials=2000).refuted
    remote = from_command(built("laplace.c", tmp_path), 60.0)
    options = {"pair": ([0], [1]), "relation": "replace-one", "epsilon": 0.7, "trials": 20_000}
    assert audit(remote, **options).refuted


@pytest.mark.slow
def test_r_is_audited(tmp_path):
    remote = from_command(built("laplace.R", tmp_path), 60.0)
    rng = np.random.default_rng
    for database in ([], [0], [0.5, -2, 1e3]):
        found = np.array(remote.run(database, rng(1), size=4000))
        assert found.tolist() == remote.run(database, rng(1), size=4000)
        # The median of 4,000 draws has a standard deviation of 0.016.
        assert abs(np.median(found) - sum(database)) < 0.1
        assert len({*found.tolist()}) == 4000
    options = {"pair": ([0], [0, 1]), "trials": 8000}
    assert audit(remote, epsilon=0.7, **options).refuted
    assert not audit(remote, epsilon=1.0, **options).refuted


def test_the_asynchronous_client_tells_a_rejected_promise_and_what_json_cannot_say(tmp_path):
    if shutil.which("node") is None:
        pytest.skip("this machine has no node to run clients/laplace_async.js with")
    text = (CLIENTS / "laplace_async.js").read_text(encoding="utf-8")
    release = tmp_path / "release.js"
    release.write_text(
        text.replace(
            "async function draw(database, uniform) {",
            "async function draw(database, uniform) {\n"
            "  await new Promise(setImmediate);\n"
            "  if (database.length === 0) throw new RangeError('nothing there');\n"
            "  if (database.length === 2) return { noisy: -1 / 0, top: [NaN, 'b'] };",
        )
    )
    remote = from_command(f"node {release}", 60.0)
    rng = np.random.default_rng(0)
    (found,) = remote.run([1, 1], rng, size=1)
    assert found["noisy"] == -np.inf
    assert np.isnan(found["top"][0])
    assert found["top"][1] == "b"
    with pytest.raises(Exception, match="nothing there"):
        remote.run([], rng, size=1)
    assert len(remote.run([1], rng, size=3)) == 3
