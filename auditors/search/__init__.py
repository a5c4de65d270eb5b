"""Where to look: the hunt for the worst pair, and the way down to the smallest.

Read `hunt`, then `scout` (the budget, and what is seen of a pair), `probe` (frozen runs, and which
lines ran in them), `promise` (what few draws say of a bound) and `stages` (which pairs to look at,
in which order). The stages take what they try from `proposals`, and these what may be worth
choosing from `suggestions`. `choices` makes databases from the choices of the user's strategy,
`constants` reads the mechanism's code, `shrink` goes down. If there are no frozen runs,
Hypothesis's own search looks (`databases.examples`).
"""
