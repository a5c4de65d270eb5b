"""Interactive sessions under audit: the analyst is a part of the database that neighbours share.

Read `databases.domains` (all strategies of a size, and pairs of databases that carry one), then
`session_mechanism`.
"""

from .session_mechanism import session_mechanism

__all__ = ["session_mechanism"]
