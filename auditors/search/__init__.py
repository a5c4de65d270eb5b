"""Where to look: the hunt for the worst pair, and the way down to the smallest.

Read `hunt`, then `scout` (what is seen of a pair), `probe` (frozen runs) and `stages` (which pairs
to look at, in which order). The stages are `corners`, `dictionary` (constants), `ladder` (sizes and
rows, from a `bank` of rows) and `evolution`; `tries` keeps what was made and `suggestions` what may
be worth choosing. `choices` makes databases from the choices of the user's strategy, `constants`
reads the mechanism's code and `comparisons` what meets its conditions, `reach` says what the search
did not run, `shrink` goes down. Where there are no frozen runs, Hypothesis's own search looks
(`databases.examples`).
"""
