"""The types of files that hold recorded outputs: `--help` tells them, `read_sample` reads them.

Nothing else is here, so that `--help` loads no reader.
"""

from typing import Literal, get_args

Ending = Literal[".npy", ".csv", ".parquet"]
"""Any other file has one JSON value a line."""
ENDINGS: tuple[Ending, ...] = get_args(Ending)
TOLD = ", ".join(ENDINGS)
