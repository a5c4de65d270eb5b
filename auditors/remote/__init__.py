"""Mechanisms that run in another process: the harness's side of docs/protocol.md.

`process` speaks to a child, `mechanism` makes it a function of (database, rng) and claims of what
it states, and `dpwitness_client` is the other side for Python, in a file that can be copied.
`libraries` makes functions of the objects of other libraries on either side.
"""

from . import libraries
from .mechanism import VERSION, RemoteRun, claims_of, from_command, from_python

__all__ = ["VERSION", "RemoteRun", "claims_of", "from_command", "from_python", "libraries"]
