"""Which shard this process is, from what was typed or from the variables of a scheduler."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ...auditors.errors import InvalidArgument
from ...auditors.shards.shard import Shard

OWN = "DPWITNESS_SHARD"
KNOWN = (
    ("TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS", 0),
    ("GTEST_SHARD_INDEX", "GTEST_TOTAL_SHARDS", 0),
    ("CI_NODE_INDEX", "CI_NODE_TOTAL", 1),
)
"""Variables of Bazel, googletest and GitLab: number, how many, and the first number."""


def shard_of(text: str, environment: Mapping[str, str]) -> Shard:
    """The shard that `text` names as i/n with i from 1, or that the environment does for "auto".

    Bazel is told that shards are understood, by touching the file it names. Raises InvalidArgument.
    """
    if text != "auto":
        return _typed(text, "--shard")
    status = environment.get("TEST_SHARD_STATUS_FILE")
    if status:
        with suppress(OSError):
            Path(status).touch()
    if environment.get(OWN):
        return _typed(environment[OWN], OWN)
    for number, count, first in KNOWN:
        if environment.get(count) and environment.get(number):
            index = _whole(environment, number) - first
            return _shard(index, _whole(environment, count), f"{number}={environment[number]}")
    if environment.get("SLURM_ARRAY_TASK_ID"):
        return _of_slurm(environment)
    raise InvalidArgument(
        "--shard auto found no shard in the environment: neither DPWITNESS_SHARD (as 2/8), nor "
        "TEST_SHARD_INDEX with TEST_TOTAL_SHARDS, GTEST_SHARD_INDEX with GTEST_TOTAL_SHARDS, "
        "CI_NODE_INDEX with CI_NODE_TOTAL, or SLURM_ARRAY_TASK_ID; type the shard, as --shard 2/8"
    )


def _of_slurm(environment: Mapping[str, str]) -> Shard:
    """Numbers of an array may begin anywhere and have a step."""
    missing = [
        name
        for name in ("SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN")
        if not environment.get(name)
    ]
    if missing:
        raise InvalidArgument(
            f"SLURM_ARRAY_TASK_ID is set but {' and '.join(missing)} is not, so how many shards "
            "there are is unknown; type the shard, as --shard 2/8"
        )
    low = _whole(environment, "SLURM_ARRAY_TASK_MIN")
    step = _whole(environment, "SLURM_ARRAY_TASK_STEP") if environment.get(
        "SLURM_ARRAY_TASK_STEP"
    ) else 1  # fmt: skip
    number = _whole(environment, "SLURM_ARRAY_TASK_ID")
    count = _whole(environment, "SLURM_ARRAY_TASK_COUNT")
    if step < 1 or (number - low) % step:
        raise InvalidArgument(
            f"SLURM_ARRAY_TASK_ID={number} is not in an array from {low} in steps of {step}; type "
            "the shard, as --shard 2/8"
        )
    return _shard((number - low) // step, count, f"SLURM_ARRAY_TASK_ID={number}")


def _shard(index: int, count: int, said: str) -> Shard:
    if not 0 <= index < count:
        raise InvalidArgument(
            f"{said} is outside the {count} shards that the environment names; correct it, or "
            "type the shard, as --shard 2/8"
        )
    return Shard(index + 1, count)


def _whole(environment: Mapping[str, str], name: str) -> int:
    try:
        return int(environment[name])
    except ValueError:
        raise InvalidArgument(
            f"{name} must be a whole number, got {environment[name]!r}; type the shard, as "
            "--shard 2/8"
        ) from None


def _typed(text: str, where: str) -> Shard:
    number, slash, count = text.partition("/")
    try:
        if not slash:
            raise ValueError
        return Shard(int(number), int(count))
    except ValueError:
        raise InvalidArgument(
            f"{where} is i/n with i from 1 to n, as in 2/8, got {text!r}"
        ) from None
