"""An audit that is kept in a checkpoint, or of which one shard is drawn.

Which shard this process is follows from what was typed or from the variables of a scheduler.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ...auditors.errors import InvalidArgument
from ...auditors.shards import checkpoint as checkpoints
from ...auditors.shards import running
from ...auditors.shards.shard import Shard
from ..shell.computed import UNUSABLE
from ..shell.console import Console, save
from . import documents

OWN = "DPWITNESS_SHARD"
KNOWN = (
    ("TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS", 0),
    ("GTEST_SHARD_INDEX", "GTEST_TOTAL_SHARDS", 0),
    ("CI_NODE_INDEX", "CI_NODE_TOTAL", 1),
)
"""Variables of Bazel, googletest and GitLab: number, how many, and the first number."""


def shard_for(text: str, paths: Mapping[str, str | None]) -> Shard:
    """The shard that was asked for; InvalidArgument where its counts have no place to go."""
    found = shard_of(text, os.environ)
    others = [name for name, path in paths.items() if path is not None and name != "json"]
    if others:
        raise InvalidArgument(
            f"a shard has no verdict to write to --{others[0]}; give it to dpwitness tools merge"
        )
    if paths.get("json") is None:
        raise InvalidArgument("a shard writes its counts to a file; name it with --json FILE")
    return found


def require_one_attacker(attackers: Sequence[str]) -> None:
    """InvalidArgument where an audit cannot be kept or split, because of who looks."""
    if len(attackers) > 1 or "clock" in attackers:
        raise InvalidArgument(
            "checkpoints and shards are of one attacker, values, bits or types: what a clock "
            "measures is no function of the seed; run the others by themselves, with their part of "
            "alpha"
        )


def opening(console: Console, path: str) -> running.Opening:
    """The checkpoint at `path`, opened once the identity of the audit is known."""
    return lambda identity: checkpoints.opened(path, identity, console.warn)


def draw(
    console: Console,
    shard: Shard,
    mechanism: object,
    request: Mapping[str, object],
    *,
    given: Mapping[str, object],
    target: str,
    path: str,
    checkpoint: str | None,
) -> int:
    """Draw a shard, write its counts, say so; the exit status.

    `request` is what `audit_claims` takes, `given` what was typed.
    """
    identity, books = running.draw_shard(
        shard,
        mechanism,
        inner=opening(console, checkpoint) if checkpoint else None,
        progress=console.progress,
        **request,
    )
    text = documents.written(shard, identity, target, given, books)
    if not save(console, path, text, ".json"):
        return UNUSABLE
    drawn = sum(book.counts.draws for book in books)
    blocks, planned = sum(len(book.counts) for book in books), sum(book.planned for book in books)
    if not console.quiet:
        console.say(
            f"Shard {shard}: {drawn:,} draws counted in {blocks:,} of {planned:,} blocks, kept in "
            f"{path}. Nothing is judged before dpwitness tools merge has all shards."
        )
    return 0


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
