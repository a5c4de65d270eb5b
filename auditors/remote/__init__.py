"""Mechanisms that run in another process: the harness's side of docs/protocol.md.

`process` speaks to a child, `mechanism` makes it a function of (database, rng), and
`dpwitness_client` is the other side for Python, in a file that can be copied.
"""

from .mechanism import VERSION, RemoteRun, from_command, from_python

__all__ = ["VERSION", "RemoteRun", "from_command", "from_python"]
