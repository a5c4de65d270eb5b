"""Interactive sessions under audit: the analyst is a part of the database that neighbours share.

Read `adversaries` (all strategies of a size, and pairs of databases that carry one), then
`session_mechanism`.
"""

from .adversaries import all_analysts, analysts, session_pairs
from .session_mechanism import session_mechanism

__all__ = ["all_analysts", "analysts", "session_mechanism", "session_pairs"]
