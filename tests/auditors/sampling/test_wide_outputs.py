"""Outputs of many numbers are drawn in blocks that fit in memory, and compared in full."""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from dpwitness import ContractError, Mechanism, Subject, UtilityClaim, audit
from dpwitness.auditors.claims.check import check
from dpwitness.auditors.outputs.outputs import Outputs
from dpwitness.auditors.sampling.blocks import digest, digest_of_rows
from dpwitness.auditors.sampling.draws import KEPT, OUTPUTS, Draws

WIDTH = 10_000


def wide(database, rng, *, size=None):
    return rng.random((size, WIDTH))


def counted(database, rng, *, calls, size=None):
    """The last of the numbers says how many calls came before."""
    made = rng.random((size, WIDTH))
    made[:, -1] = len(calls)
    calls.append(size)
    return made


def test_a_block_holds_no_more_bytes_than_it_may_and_all_draws_are_made():
    blocks = list(Draws(run=wide, seed=1, trust_rows=True).blocks([], "claim", 0, 500))
    assert max(one.nbytes for one in blocks) <= OUTPUTS
    assert sum(len(one) for one in blocks) == 500
    assert len(np.unique(np.concatenate(blocks)[:, 0])) == 500


def test_what_is_kept_of_wide_outputs_is_little_and_still_tells_a_memory():
    draws = Draws(run=partial(counted, calls=[]), seed=1, trust_rows=True)
    list(draws.blocks([], "claim", 0, 500))
    assert sum(first.nbytes for *_, first in draws.counted.entered) <= max(KEPT, 64 * 8 * WIDTH)
    with pytest.raises(ContractError, match="came out in two ways"):
        draws.gate(refuted=True)


OPTIONS = {"epsilon": 0.05, "relation": "add-remove", "pair": ([], [1]), "trials": 1500}


def numbers(database, rng):
    return len(database) / 2 + rng.laplace(size=20)


def of_the_global_generator(database, rng):
    return len(database) / 2 + np.random.laplace(size=20)  # noqa: NPY002


def of_many_forms(database, rng):
    """None, a list, a dict or an array of another length."""
    made = numbers(database, rng)
    form = rng.integers(4)
    return [None, made.tolist(), {f"key {n}": x for n, x in enumerate(made)}, made[:18]][form]


@pytest.mark.long
@pytest.mark.parametrize("run", [numbers, of_the_global_generator, of_many_forms])
def test_wide_draws_of_every_form_come_out_as_they_did(run):
    """Not refuted and refuted, so that few are made again, many, and some of them alone."""
    assert not audit(run, **{**OPTIONS, "epsilon": 40.0}).refuted
    assert audit(run, **OPTIONS).refuted


def late(database, rng):
    """One of the last numbers remembers, from the hundredth call on, how many calls there were."""
    late.calls += 1
    made = numbers(database, rng)
    made[-2] += 1e-12 * (late.calls > 100)
    return made


late.calls = 0


def test_a_wide_draw_of_which_one_number_differs_is_told():
    with pytest.raises(ContractError, match="it gave one output when it was counted, and it gave"):
        audit(late, **OPTIONS)


def rows_of(run):
    """Rows of a `size=` call that are the mechanism, each with its number of calls added."""

    def many(database, rng, *, size=None):
        return np.stack([run(database, rng) for _ in range(size or 1)])[() if size else 0]

    return many


@pytest.mark.long
def test_wide_rows_are_compared_by_a_digest_of_their_call():
    """What rows of one call were is not kept, and still one number that differs is told."""
    late.calls = 0
    with pytest.raises(ContractError, match="it gave one output when it was counted, and it gave"):
        audit(rows_of(late), **OPTIONS, trust_rows=True)
    assert audit(rows_of(numbers), **OPTIONS, trust_rows=True).refuted


def test_rows_of_every_form_have_one_digest_and_it_tells_one_number():
    made = np.random.default_rng(5).laplace(size=(30, 20))
    other = made.copy()
    other[17, 3] += 1e-12
    names = [f"key {place}" for place in range(20)]
    forms = [
        lambda rows: rows.copy(),
        lambda rows: tuple(rows.T),
        lambda rows: dict(zip(names, rows.T, strict=True)),
        lambda rows: [dict(zip(names, row, strict=True)) for row in rows.tolist()],
        lambda rows: [[*row[:19], None] if row[0] > 0 else row for row in rows.tolist()],
    ]
    for form in forms:
        one, again, two = (
            digest_of_rows(Outputs.of(form(rows), 30)) for rows in (made, made, other)
        )
        assert one == again != two


PEAK = """
import resource
import sys

import numpy as np
from hypothesis import strategies as st

from dpwitness import audit


def wide(database, rng, *, size=None):
    return len(database) / 1e4 + rng.laplace(size=10_000 if size is None else (size, 10_000))


def narrow(database, rng, *, size=None):
    return len(database) + rng.laplace(size=size)


run = {"wide": wide, "narrow": narrow}[sys.argv[1]]
databases = st.lists(st.integers(0, 9), max_size=5)
audit(run, epsilon=2, relation="add-remove", trials=20_000, databases=databases)
used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(max(one.ru_maxrss for one in used) / 1024)
"""


@pytest.mark.slow
def test_an_audit_of_ten_thousand_numbers_takes_no_more_than_some_hundred_megabytes():
    """An audit of one number takes 85 MB, one of 10,000 some 260 (752 before rooms were bytes).

    20,000 draws of them all are 3,200 MB.
    """
    peaks = [float(subprocess.run([sys.executable, "-c", PEAK, name], check=True, text=True,
                                  capture_output=True).stdout)
             for name in ("narrow", "wide")]  # fmt: skip
    assert peaks[1] < peaks[0] + 300


def test_digests_are_equal_where_outputs_are():
    forms = [np.zeros(20), np.zeros(20, dtype=int), np.zeros((4, 5)), [0.0] * 20,
             {str(n): 0.0 for n in range(20)}, np.full(20, -0.0)]  # fmt: skip
    assert len(set(map(digest, forms))) == len(forms)
    assert [digest(one) for one in forms] == [digest(one.copy()) for one in forms]
    keys = {"".join(["1", "2"]): 1.0, **{str(n): 0.0 for n in range(20)}}
    assert digest(keys) == digest({key[:1] + key[1:]: value for key, value in keys.items()})
    assert digest(np.arange(20.0)[::2]) == digest(np.arange(0.0, 20, 2))


def test_aggregates_of_wide_outputs_are_the_same_in_stretches(monkeypatch):
    from dpwitness.auditors.outputs import outputs
    from dpwitness.auditors.outputs.features import Feature

    made = np.random.default_rng(1).laplace(size=(101, 30))
    made[3, 7] = np.nan
    whole = {kind: Outputs.of(made, 101).column(Feature(kind, ())).values
             for kind in ("sum", "argmax")}  # fmt: skip
    monkeypatch.setattr(outputs, "STRETCH", 100)
    for kind, values in whole.items():
        found = Outputs.of(made, 101).column(Feature(kind, ())).values
        assert found.tobytes() == values.tobytes()


class LargeAsAnArray:
    def __array__(self, dtype=None, copy=None):
        return np.zeros(2**18)


LARGE_OUTPUTS = {
    "text": lambda: "x" * 2**21, "list": lambda: [0] * 2**16, "array": lambda: np.zeros(2**18),
    "object": LargeAsAnArray,
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE_OUTPUTS)
def test_a_claim_about_outputs_that_take_much_room_is_refused_before_a_block_is_made(name):
    """A block of 1,024 of them would take gigabytes."""
    claim = UtilityClaim(
        loss=lambda database, output: np.zeros(len(output)), bound=lambda beta: 1.0, databases=([],)
    )
    calls = []

    def run(database, rng):
        calls.append(1)
        assert name == "object" or len(calls) < 9, "the block went on"
        return LARGE_OUTPUTS[name]()

    with pytest.raises(ContractError, match="more than 1 MB"):
        check(Subject(claim=claim, mechanism=Mechanism(name="large", run=run)), trials=5000)
