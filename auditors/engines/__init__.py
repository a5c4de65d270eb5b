"""Who does the drawing: the processes and machines that blocks of draws are sent to.

No scheduler is written here. A block is a function of its name, so that any engine, in any order,
with any block done twice, gives the same counts.
"""

from .engine import BACKENDS, Book, Engine

__all__ = ["BACKENDS", "Book", "Engine"]
