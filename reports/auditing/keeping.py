"""The draws of an audit that ended before its verdict, as a file that `judge` takes."""

import os
import re
import shlex
from itertools import count

from ...auditors.sampling.kept import KeptDraws
from ..shell.console import Console
from ..writing import files

LONGEST = 40
SUFFIX = ".jsonl"


def keep(console: Console, draws: KeptDraws) -> None:
    """Write the draws to a new file of this folder, or where that cannot be, and say where."""
    name = re.sub(r"[^A-Za-z0-9_]+", "-", draws.mechanism).strip("-")[:LONGEST] or "mechanism"
    names = (f"draws-of-{name}{f'-{n}' if n > 1 else ''}{SUFFIX}" for n in count(1))
    path: str | None = next(one for one in names if not os.path.lexists(one))
    text = draws.text()
    try:
        files.write_atomically(path or "", text)
    except OSError:
        path = files.keep_elsewhere(text, SUFFIX)
    if path is None:
        console.warn("the draws that were made could not be kept: no folder can be written to")
        return
    console.warn(
        f"{len(draws.pairs):,} runs per database of one pair were made before the end and are "
        f"kept: dpwitness judge {shlex.quote(path)}"
    )
