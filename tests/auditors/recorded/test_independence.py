"""Independent draws of whatever law raise no doubt; files that hold none do."""

import numpy as np
import pytest

from dpwitness.auditors.outputs.outputs import Outputs
from dpwitness.auditors.recorded import judge_samples
from dpwitness.auditors.recorded.independence import doubts
from dpwitness.auditors.results.results import Verdict


def outputs(values):
    return Outputs.of(values, len(values))


SOUND = {
    "continuous": lambda r, n: r.laplace(size=n),
    "clamped": lambda r, n: np.clip(r.laplace(size=n), 0, 1),
    "clamped, mostly an atom": lambda r, n: np.maximum(0, r.laplace(size=n) - 3),
    "six atoms beside": lambda r, n: np.where(r.random(n) < 0.5, r.integers(0, 6, n), r.random(n)),
    "one decimal": lambda r, n: r.laplace(size=n).round(1),
    "four decimals": lambda r, n: r.laplace(size=n).round(4),
    "thirds": lambda r, n: (r.geometric(0.3, n) - r.geometric(0.3, n)) / 3,
    "multiples of pi": lambda r, n: (r.geometric(0.05, n) - r.geometric(0.05, n)) * np.pi,
    "a fine grid": lambda r, n: np.round(r.laplace(size=n) * 12345) / 12345,
    "powers of two": lambda r, n: np.round(r.laplace(size=n) * 1024) / 1024,
    "candidates": lambda r, n: r.choice(np.linspace(0, 1, 50), n),
    "single floats": lambda r, n: r.random(n, dtype=np.float32).astype(float),
    "half floats": lambda r, n: r.laplace(size=n).astype(np.float16).astype(float),
    "rare bits": lambda r, n: (r.random(n) < 0.01).astype(float),
    "whole numbers": lambda r, n: np.round(3 * r.normal(size=n)),
    "two columns": lambda r, n: np.clip(r.laplace(size=(n, 2)), -1, 1),
    "always one": lambda r, n: np.zeros(n),
}  # fmt: skip


@pytest.mark.parametrize("name", SOUND)
@pytest.mark.parametrize("size", [100, 20_000])
def test_independent_draws_raise_no_doubt(name, size):
    # What is sure has probability below 1e-9; these seeds are fixed for the other rules.
    rng = np.random.default_rng(size)
    one, two = (SOUND[name](rng, size) for _ in range(2))
    assert doubts(outputs(one), outputs(two)) == []


def labels(rng, size):
    return Outputs.of_list(sorted(rng.choice(list("abc"), size).tolist()))


def numbered(rng, size):
    rows = enumerate(rng.laplace(size=size).tolist())
    return Outputs.of_list([{"row": float(i), "x": x} for i, x in rows])


BROKEN = {
    "sorted": (True, lambda r, n: outputs(np.sort(r.laplace(size=n)))),
    "sorted downwards": (True, lambda r, n: outputs(-np.sort(np.round(3 * r.normal(size=n))))),
    "labels in order": (True, labels),
    "row numbers": (True, numbered),
    "row numbers in any order": (True, lambda r, n: outputs(7000.0 + r.permutation(n))),
    "every other row number": (True, lambda r, n: outputs(2.0 * r.permutation(n))),
    "copied": (True, lambda r, n: outputs(np.tile(r.laplace(size=n // 2), 2))),
    "clamped and copied": (
        True, lambda r, n: outputs(np.tile(np.clip(r.laplace(size=n // 2), 0, 1), 2))
    ),
    "rounded and copied": (
        True, lambda r, n: outputs(np.tile(r.laplace(size=n // 2).round(1), 2))
    ),
    "kept answers": (False, lambda r, n: outputs(r.choice(r.laplace(size=n // 8), n))),
    "copied and shuffled": (
        False, lambda r, n: outputs(r.permutation(np.tile(r.laplace(size=n // 2), 2)))
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("size", [400, 2000])
def test_files_that_hold_no_independent_draws_are_told(name, size):
    sure, make = BROKEN[name]
    rng = np.random.default_rng(size)
    broken, sound = make(rng, size), outputs(rng.laplace(size=size))
    for pair, which in (((broken, sound), "first"), ((sound, broken), "second")):
        (found,) = doubts(*pair)
        assert found.sure is sure
        assert found.sentence.startswith(f"in the {which} sample")
        judged = judge_samples(*pair, epsilon=0.1)
        assert judged.dependent is sure
        assert judged.verdict is Verdict.INCONCLUSIVE or not sure


def test_a_sample_beside_itself_is_told_where_no_number_comes_twice():
    rng = np.random.default_rng(1)
    both = outputs(rng.laplace(size=900))
    (found,) = doubts(both, both)
    assert (found.sure, "stand in both samples" in found.sentence) == (False, True)
    counts = outputs(rng.geometric(0.1, 900))
    assert doubts(counts, counts) == []


def test_rows_that_run_on_over_both_files_are_no_refutation():
    rng = np.random.default_rng(2)
    one, two = (
        Outputs.of(np.stack([np.arange(900) + start, rng.laplace(size=900)], axis=1), 900)
        for start in (0, 900)
    )
    judged = judge_samples(one, two, epsilon=1.0)
    assert judged.epsilon_lower > 1
    assert judged.verdict is Verdict.INCONCLUSIVE
    assert all("row numbers" in remark for remark in judged.remarks)


def test_a_text_that_only_names_the_file_is_told():
    rng = np.random.default_rng(3)

    def named(text):
        return Outputs.of_list([{"file": text, "x": x} for x in rng.laplace(size=900).tolist()])

    (found,) = doubts(named("d.csv"), named("other.csv"))
    assert (found.sure, "output['file'] is 'd.csv' in all of" in found.sentence) == (False, True)
    assert doubts(named("d.csv"), named("d.csv")) == []
    alone = [Outputs.of_list([text] * 900) for text in ("a", "b")]
    assert doubts(*alone) == []
