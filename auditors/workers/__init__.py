"""The only door to code that is not ours: streams, worker processes, and draws made again.

A mechanism is called in a child process that was forked from this one, never in this one. So what
it does to its process is the operating system's business, and a fresh process is one that no call
has touched. `streams` names the randomness of a draw, `children` starts and ends processes,
`door` asks them.
"""

from .door import Door, Worker, is_client
from .streams import Key, Stream

__all__ = ["Door", "Key", "Stream", "Worker", "is_client"]
