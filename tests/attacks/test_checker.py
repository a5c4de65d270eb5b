"""The stand-alone checker gives the product's bounds and verdicts, without anything of the product.

It is a second implementation of the test, so where the two agree on hundreds of counts neither has
a slip of its own. The counts are drawn with a fixed seed: a difference comes back.
"""

import copy
import importlib.util
import json
import random
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import strategies as st

from dpwitness.auditors.bounds.two_sample import epsilon_lower
from dpwitness.auditors.privacy.replay import recount
from dpwitness.auditors.privacy.run import audit_claims
from dpwitness.reports.record import evidence
from dpwitness.reports.targets.targets import find_target

FILE = Path(__file__).resolve().parents[2] / "docs" / "check_evidence.py"


def loaded():
    spec = importlib.util.spec_from_file_location("check_evidence", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def asked(path):
    """As somebody without dpwitness, numpy or site-packages runs it."""
    return subprocess.run(
        [sys.executable, "-I", "-S", str(FILE), str(path)],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def counts(rng):
    """Hits, trials, level and claim of one look, the extremes among them."""
    n = int(10 ** rng.uniform(0.5, 5.5))
    m = n if rng.random() < 0.7 else int(10 ** rng.uniform(0.5, 5.5))
    p = rng.choice([0.0, 1.0, rng.random(), 10 ** rng.uniform(-4, 0)])
    q = min(1.0, p * 2.71828 ** -rng.uniform(-0.5, 4)) if rng.random() < 0.9 else 0.0
    hits = tuple(
        min(size, max(0, round(size * rate + rng.gauss(0, (size * rate * (1 - rate)) ** 0.5))))
        for size, rate in ((n, p), (m, q))
    )
    delta = rng.choice([0.0, 0.0, 1e-6, 0.01, 0.2])
    claim = (rng.choice([0.0, 0.3333333, 1.0, 2.5]), delta, rng.choice([1, 1, 2, 5]))
    return hits, (n, m), rng.choice([1e-3, 2.7e-4, 0.04]), claim


def compared(seed, number):
    check, rng, different = loaded(), random.Random(seed), []
    for _ in range(number):
        hits, trials, level, claim = counts(rng)
        epsilon, delta, distance = claim
        theirs = epsilon_lower(
            hits, trials, delta=delta, level=level, distance=distance, also=(epsilon,)
        )
        ours = check.bound_of(hits, trials, level, claim)
        if ours != theirs and abs(ours - theirs) > 1e-9:
            different.append((hits, trials, level, claim, theirs, ours))
    print(f"{number} counts, {len(different)} different bounds")
    return different


def test_the_bounds_are_those_of_the_product():
    assert compared(seed=1, number=12) == []


@pytest.mark.slow
def test_the_bounds_of_many_counts_are_those_of_the_product():
    assert compared(seed=2, number=200) == []


def noisy(database, rng, *, size=None):
    return sum(database) + rng.laplace(0, 0.5, size=size)


def sound(database, rng, *, size=None):
    return sum(database) + rng.laplace(0, 1.0, size=size)


def gauss(database, rng, *, size=None):
    return sum(database) + rng.normal(0, 1.0, size=size)


def flips(database, rng):
    bit = sum(database) % 2
    return int(bit if rng.random() < 0.6 else 1 - bit)


PAIR = {"pair": ([0], [0, 1]), "relation": "add-remove"}
AUDITS = {
    "soon": lambda: audit_claims(noisy, epsilon=1.0, **PAIR, trials=40_000),
    "looks": lambda: audit_claims(noisy, epsilon=1.8, **PAIR, trials=60_000),
    "stands": lambda: audit_claims(sound, epsilon=1.0, **PAIR, trials=40_000),
    "close": lambda: audit_claims(sound, epsilon=0.95, **PAIR, trials=100_000, seed=3),
    "few": lambda: audit_claims(sound, epsilon=1.0, **PAIR, trials=60),
    "hasty": lambda: audit_claims(noisy, epsilon=1.0, **PAIR, trials=50_000, alpha=0.05, seed=1,
                                  precision=None),
    "hasty smaller pair": lambda: audit_claims(
        lambda database, rng: len(database) + rng.laplace(0, 0.5), epsilon=1.0, alpha=0.05, seed=1,
        databases=st.lists(st.integers(0, 3), max_size=6), relation="add-remove", trials=20_000,
    ),
    "delta": lambda: audit_claims(flips, epsilon=0.2, delta=0.01, pair=([0], [1]),
                                  relation="replace-one", trials=8_000),
    "group": lambda: audit_claims(noisy, epsilon=1.0, delta=1e-4, distance=3,
                                  pair=([0], [0, 1, 1, 1]), relation="add-remove", trials=20_000),
    "curve": lambda: audit_claims(gauss, mu=0.7, **PAIR, trials=10_000),
    "two steps of a curve": lambda: audit_claims(
        gauss, rho=0.5, delta=0.01, distance=2, pair=([0], [1, 0, 1]), relation="add-remove",
        trials=8_000,
    ),
    "orders": lambda: audit_claims(gauss, renyi=((2, 0.3), (8, 1.5)), **PAIR, trials=8_000),
    "moments": lambda: audit_claims(gauss, rho=0.38, **PAIR, trials=30_000),
    "moments, parts left out": lambda: audit_claims(gauss, rho=0.3, delta=0.001, **PAIR,
                                                    trials=30_000),
    "points": lambda: audit_claims(gauss, curve=((1, 0.001), (0.5, 0.05)), **PAIR, trials=8_000),
    "smaller pair": lambda: audit_claims(find_target("EM-NAIVE").mechanism),
    "catalogue": lambda: audit_claims(find_target("EM-NAIVE").mechanism, trials=8_000),
}  # fmt: skip


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """The evidence file of an audit by its name, made when it is first asked for."""
    folder = tmp_path_factory.mktemp("files")

    def path(name):
        made = folder / f"{name}.json"
        if not made.exists():
            made.write_text(evidence.to_text(evidence.document(AUDITS[name](), replay="")))
        return made

    return path


def follow(paths):
    """The results of files that the checker confirms, each with the same verdict."""
    for path in paths:
        done = asked(path)
        assert done.returncode == 0, (path, done.stdout, done.stderr)
        data = json.loads(path.read_text())
        for result, told in zip(data["results"], data["findings"], strict=True):
            assert (": refuted," in done.stdout) == (told["verdict"] == "refuted")
            yield result, told


@pytest.mark.slow
def test_files_follow_from_their_counts(file):
    assert len([*follow(map(file, ("few", "hasty", "hasty smaller pair", "delta", "group",
                                   "curve")))]) == 6  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", ["curve", pytest.param("orders", marks=pytest.mark.slow),
                                  pytest.param("points", marks=pytest.mark.slow)])  # fmt: skip
def test_a_point_that_the_curve_does_not_promise_is_named(file, name, tmp_path):
    data = json.loads(file(name).read_text())
    claim = data["results"][0]["claim"]
    for key, change in (("epsilon", 0.9), ("delta", 0.9)):
        forged = {**claim, key: change * claim[key]}
        (tmp_path / "f.json").write_text(
            json.dumps({**data, "results": [{**data["results"][0], "claim": forged}]})
        )
        assert "does not promise" in asked(tmp_path / "f.json").stdout
        found = recount(gauss, {**data["results"][0], "claim": forged})
        assert any("no point of the curve" in one for one in found.differences)


@pytest.mark.slow
def test_files_of_every_kind_follow_from_their_counts(file):
    results = [*follow(map(file, AUDITS))]
    # The law is empty where a kind is missing.
    verdicts = {told["verdict"] for _, told in results}
    assert verdicts == {"refuted", "not_refuted", "inconclusive"}
    assert max(len(one["evidence"]["counts"]) for one, _ in results) > 2
    assert any(one["smaller"] for one, _ in results)


def changed(data):
    """(words, file) for each number of the first result that counts, changed alone."""
    refuted = data["findings"][0]["verdict"] == "refuted"

    def put(path, change):
        new = copy.deepcopy(data)
        place = new
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = change(place[path[-1]])
        return ".".join(map(str, path)), new

    told, result = ("findings", 0), ("results", 0)
    yield put((*told, "verdict"), lambda _: "not_refuted" if refuted else "refuted")
    yield put((*told, "epsilon_lower"), lambda x: 0.01 if x == "-inf" else x + 0.01)
    if (bound := data["findings"][0]["epsilon_lower"]) != "-inf":
        # Without any bound another claim is not refuted either.
        yield put((*result, "claim", "epsilon"), lambda x: 4 * x if refuted else bound / 2)
    places = [("evidence",), *([("smaller",)] if data["results"][0]["smaller"] else [])]
    for (place,) in places:
        made = data["results"][0][place]
        for number, count in enumerate(made["counts"]):
            if count["level"]:
                yield put((*result, place, "counts", number, "level"), lambda x: 1.1 * x)
        if "bets" in made:
            yield put((*result, place, "bets", "level"), lambda x: 1.1 * x)
    yield put((*result, "evidence", "alpha"), lambda x: 0.9 * x)


@pytest.mark.long
@pytest.mark.parametrize(
    "names",
    [("few", "delta"), pytest.param(("soon", "smaller pair", "group"), marks=pytest.mark.slow)],
    ids=["two", "three more"],
)
def test_every_forged_number_is_named(file, names):
    check, missed, cases = loaded(), [], 0
    known, bound_of = {}, check.bound_of

    def once(*asked):
        if str(asked) not in known:
            known[str(asked)] = bound_of(*asked)
        return known[str(asked)]

    check.bound_of = once  # most bounds of a forged file are those of the file before
    for name in names:
        for words, forged in changed(json.loads(file(name).read_text())):
            cases += 1
            with suppress(ValueError):  # counts that cannot be: `main` says so and ends with 2
                _, _, wrong = check.checked(forged, 0)
                if not wrong:
                    missed.append((name, words))
    print(f"{cases} forgeries, {len(missed)} missed")
    assert missed == []


def test_it_is_short_and_says_what_it_cannot_read(tmp_path):
    # An auditor reads it whole; ruff keeps its lines at 100 characters.
    assert len(FILE.read_text().splitlines()) < 300
    for number, text in enumerate(
        ["", "[]", '{"results": 3}', '{"results": [{}]}', "[" * 100_000, '{"results": [1e999]}']
    ):
        path = tmp_path / f"{number}.json"
        path.write_text(text)
        done = asked(path)
        assert done.returncode == 2, (text[:40], done)
        assert done.stderr.count("\n") == 1
        assert "cannot be checked" in done.stderr
