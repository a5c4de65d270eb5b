"""Where pairs of neighbouring databases come from.

Read `neighbours` (strategies of pairs), then `rows`; `universe` lists all pairs of a small domain
and `cases` draws the cases of an invariant.
"""
