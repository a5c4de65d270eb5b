"""What `dpwitness scores` does, apart from reading its options."""

from collections.abc import Mapping, Sequence
from typing import TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from ...auditors.errors import InvalidArgument
from ...auditors.outputs.features import Feature
from ...auditors.recorded import OneRun, Scores, guesses_of_one_run, scores_of_one_run
from ...auditors.recorded import scores as judge_scores
from ...auditors.results.results import Verdict
from ..faces.as_text import told
from ..formats.plain import plain, tell
from ..formats.table import require_places
from ..formats.told import ToldClaim
from ..record.reading import renyi_from
from ..shell.computed import INCONCLUSIVE, REFUTED
from ..shell.console import Console
from ..targets.targets import find_curve
from ..writing.terminal import wrapped
from . import one_run_faces, score_faces
from .sample_files import PIPE, read_outputs, read_sample, same_file

MEMBER = {0: 0, 1: 1, "0": 0, "1": 1, "in": 1, "out": 0}
"""What stands for out and in."""
STATUS = {Verdict.REFUTED: REFUTED, Verdict.INCONCLUSIVE: INCONCLUSIVE}


class ScoresOptions(TypedDict):
    """The numbers that were typed of a claim; None for those that nobody stated."""

    epsilon: float | None
    delta: float | None
    mu: float | None
    rho: float | None
    distance: int
    alpha: float


def scores(
    console: Console,
    /,
    files: Sequence[str],
    *,
    paths: Mapping[str, str | None],
    renyi: Sequence[str],
    curve: str | None,
    one_run: bool,
    guesses: tuple[int, int, int] | None,
    seed: int,
    **given: Unpack[ScoresOptions],
) -> int:
    """Judge the scores of files, or counted guesses, tell it, and give the exit status."""
    require_places(paths)
    orders = renyi_from(renyi) if renyi else None
    points = find_curve(curve) if curve else None
    names = tuple("standard input" if one == PIPE else one for one in files)
    if list(files).count(PIPE) > 1:
        raise InvalidArgument("only one of the files can come through the pipe; name the other")
    if len(files) == 2 and (remark := same_file(*files)):
        console.warn(remark)
    made: Scores | OneRun
    if guesses is not None:
        if files:
            raise InvalidArgument("--guesses are counted already; leave the files out")
        made = guesses_of_one_run(*guesses, renyi=orders, curve=points, **given)
    elif one_run:
        made = scores_of_one_run(
            *canaries_of(files), renyi=orders, curve=points, seed=seed, **given
        )
    elif len(files) == 2:
        made = judge_scores(*map(numbers_of, files), renyi=orders, curve=points, seed=seed, **given)
    else:
        raise InvalidArgument(
            f"expected two files, the scores inside and those outside, got {len(files)}; one file "
            "with a column of membership goes with --one-run"
        )
    face = one_run_faces if isinstance(made, OneRun) else score_faces
    whole = told(face.headline(made), face.story(made, names), 80)
    text = told(face.headline(made), face.story(made, names), console.width)
    if console.quiet:
        text = "\n".join(wrapped(face.headline(made), console.width))
    status = STATUS.get(made.verdict, 0) if made.verdict else 0
    place = " and ".join(names) or "the guesses"
    one = None
    if made.claim is not None and made.verdict is not None:
        one = ToldClaim(
            mechanism=place, claim=score_faces.claim_words(made.claim),
            verdict=made.verdict.value, bound="", power="", draws=0, seconds=0.0,
            story=tuple(face.story(made, names)),
        )  # fmt: skip
    found = plain(
        "scores", whole, face.data(made, names), story=face.story(made, names), judged=one,
        place=place,
        sentence=face.headline(made).partition(": ")[2] if status else "",
    )  # fmt: skip
    return tell(console, paths, found, text, status)


def canaries_of(files: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Scores and membership of canaries, of one file with two columns or of IN and OUT."""
    if len(files) == 2:
        inside, outside = (numbers_of(place) for place in files)
        member = np.repeat([1, 0], [len(inside), len(outside)])
        return np.concatenate([inside, outside]), member
    if len(files) != 1:
        raise InvalidArgument(
            f"--one-run takes a file with a score and the membership of each canary, or two files, "
            f"got {len(files)}"
        )
    place = files[0]
    rows = read_sample(place).values
    rows = rows.tolist() if isinstance(rows, np.ndarray) else rows
    parts = [list(row.values()) if isinstance(row, dict) else row for row in rows]
    if not all(isinstance(row, list) and len(row) == 2 for row in parts):
        raise InvalidArgument(
            f"{place} must have two values for each canary, its score and whether it was in"
        )
    columns = list(zip(*parts, strict=True))
    odd = ""
    for who, score in ((1, 0), (0, 1)):
        if all(_folded(one) in MEMBER for one in columns[who]):
            member = np.array([MEMBER[_folded(one)] for one in columns[who]])
            try:
                return np.asarray(columns[score], dtype=float), member
            except (TypeError, ValueError):
                break
        told = [k for k, one in enumerate(columns[who]) if _folded(one) not in MEMBER]
        if len(told) < len(columns[who]) / 2:
            odd = f"; canary {told[0] + 1:,} has {columns[who][told[0]]!r:.40}"
    raise InvalidArgument(
        f"{place} must tell of each canary its score, a number, and whether it was in, as 1 and 0, "
        f"true and false, or in and out{odd}"
    )


def _folded(value: object) -> object:
    return value.casefold() if isinstance(value, str) else value


def numbers_of(place: str) -> NDArray[np.float64]:
    """The numbers of a file, one an output; InvalidArgument where it holds anything else."""
    sample = read_outputs(place)
    column = sample.column(Feature())
    if column.labelled().any() or sample.paths() != [()]:
        raise InvalidArgument(
            f"{place} holds other things than single numbers; give one score for each run"
        )
    return np.asarray(column.values, dtype=float)
