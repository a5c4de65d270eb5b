"""Which shard a process is, by the variables of the schedulers that set them."""

import pytest

from dpwitness.auditors.errors import InvalidArgument
from dpwitness.auditors.shards.shard import Shard
from dpwitness.reports.sharding.pieces import shard_of


@pytest.mark.parametrize(
    ("environment", "shard"),
    [
        ({"DPWITNESS_SHARD": "2/8"}, Shard(2, 8)),
        ({"TEST_SHARD_INDEX": "0", "TEST_TOTAL_SHARDS": "3"}, Shard(1, 3)),
        ({"GTEST_SHARD_INDEX": "2", "GTEST_TOTAL_SHARDS": "3"}, Shard(3, 3)),
        ({"CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "4"}, Shard(1, 4)),
        (
            {"SLURM_ARRAY_TASK_ID": "14", "SLURM_ARRAY_TASK_COUNT": "5",
             "SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_STEP": "2"},
            Shard(3, 5),
        ),
        # What was typed for dpwitness goes before what a scheduler says of the test around it.
        ({"DPWITNESS_SHARD": "1/1", "TEST_SHARD_INDEX": "1", "TEST_TOTAL_SHARDS": "2"},
         Shard(1, 1)),
    ],
)  # fmt: skip
def test_every_scheduler_is_understood(environment, shard):
    assert shard_of("auto", environment) == shard


def test_all_shards_of_a_scheduler_are_all_shards():
    found = {
        shard_of("auto", {"TEST_SHARD_INDEX": str(index), "TEST_TOTAL_SHARDS": "9"})
        for index in range(9)
    }
    assert found == {Shard(number, 9) for number in range(1, 10)}


def test_bazel_is_told_that_shards_are_understood(tmp_path):
    status = tmp_path / "status"
    shard_of("auto", {"TEST_SHARD_INDEX": "0", "TEST_TOTAL_SHARDS": "2",
                      "TEST_SHARD_STATUS_FILE": str(status)})  # fmt: skip
    assert status.exists()


@pytest.mark.parametrize(
    ("text", "environment", "sentence"),
    [
        ("auto", {}, "found no shard in the environment"),
        ("auto", {"SLURM_ARRAY_TASK_ID": "3"}, "SLURM_ARRAY_TASK_COUNT and .* is not"),
        ("auto", {"TEST_SHARD_INDEX": "2", "TEST_TOTAL_SHARDS": "2"}, "outside the 2 shards"),
        ("auto", {"CI_NODE_INDEX": "0", "CI_NODE_TOTAL": "2"}, "outside the 2 shards"),
        ("auto", {"TEST_SHARD_INDEX": "x", "TEST_TOTAL_SHARDS": "2"}, "must be a whole number"),
        ("0/3", {}, "with i from 1 to n"),
        ("4/3", {}, "with i from 1 to n"),
        ("3", {}, "with i from 1 to n"),
        ("a/b", {}, "with i from 1 to n"),
    ],
)
def test_anything_else_is_a_sentence(text, environment, sentence):
    with pytest.raises(InvalidArgument, match=sentence):
        shard_of(text, environment)
