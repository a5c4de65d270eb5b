"""Where to look: the hunt for the worst pair, and the way down to the smallest.

Read `hunt`, then `scout` (what is seen of a pair), `probe` (frozen runs) and `stages` (which pairs
to look at); `choices` makes databases from the choices of the user's strategy, `constants` reads
the mechanism's code, `reach` says what the search did not run, `shrink` goes down. `explore` is
Hypothesis's own search, where there are no frozen runs.
"""
