"""Where pairs of neighbouring databases come from.

Read `neighbours` (strategies of pairs), then `rows` (lists of rows), `records` (databases of any
other make) and `schema` (databases described in JSON). `distance` checks a pair that was given,
`examples` makes what a strategy yields, `universe` lists all pairs of a small domain and `cases`
draws the cases of an invariant.
"""
