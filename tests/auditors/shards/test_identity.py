"""An identity is the content of an audit and nothing else."""

import os
import subprocess
import sys

import pytest
from hypothesis import strategies as st

from dpwitness.auditors.shards.running import identify
from dpwitness.mechanisms.noise.laplace import LAPLACE

from .conftest import SMALL, noisy_count


def digest(**changes):
    return identify(noisy_count, **{**SMALL, "epsilon": 1.0, **changes}).digest


@pytest.mark.parametrize(
    "budget",
    [{"trials": 9}, {"seconds": 3.0}, {"workers": 2}, {"timeout": 1.0}, {"target": "a/b.py:f"}],
)
def test_budgets_and_places_are_no_part_of_it(budget):
    assert digest(**budget) == digest()


@pytest.mark.parametrize(
    "content",
    [{"seed": 6}, {"epsilon": 1.5}, {"delta": 0.1}, {"alpha": 0.01}, {"precision": None},
     {"pair": ([], [2])}, {"exceptions": "output"}],
)  # fmt: skip
def test_everything_that_decides_counts_is(content):
    assert digest(**content) != digest()


def test_another_mechanism_and_other_databases_are_another_audit():
    def other(database, rng):
        return 2 * len(database) + rng.laplace()

    lists = {"databases": st.lists(st.integers(0, 1)), "relation": "add-remove", "pair": None}
    longer = {**lists, "databases": st.lists(st.integers(0, 2))}
    assert identify(other, **{**SMALL, "epsilon": 1.0}).digest != digest()
    assert digest(**lists) != digest(**longer)


def test_it_is_the_same_in_every_process_and_folder(tmp_path):
    # Hashes of texts are salted anew in every process, and so would be a set written as text.
    code = (
        "from dpwitness.auditors.shards.running import identify\n"
        "from dpwitness.mechanisms.noise.laplace import LAPLACE\n"
        "print(identify(LAPLACE).digest)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONHASHSEED": "7"},
    )  # fmt: skip
    assert done.stdout.strip() == identify(LAPLACE).digest


def test_the_first_difference_is_told():
    one = identify(noisy_count, **{**SMALL, "epsilon": 1.0})
    two = identify(noisy_count, **{**SMALL, "epsilon": 1.0, "seed": 6})
    assert one.differences(two.lines) == "it has 'seed 6' where this audit has 'seed 5'"
    assert one.differences(one.lines) == ""
