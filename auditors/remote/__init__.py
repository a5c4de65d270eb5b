"""Mechanisms that run in another process: the harness's side of docs/protocol.md.

`process` speaks to a child, `mechanism` makes it a function of (database, rng), and
`dpwitness_client` is the other side for Python, in a file that can be copied. `libraries` makes
functions of the objects of other libraries on either side, and `said` claims of what they state.
"""

from . import libraries
from .mechanism import VERSION, RemoteRun, from_command, from_python
from .said import claims_of

__all__ = ["VERSION", "RemoteRun", "claims_of", "from_command", "from_python", "libraries"]
