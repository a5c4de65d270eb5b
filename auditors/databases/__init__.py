"""Where pairs of neighbouring databases come from.

Read `steps` (what each relation is) and `neighbours` (pairs from a domain, a strategy or a table,
for which `telling` ranks the rows), then `domains` (what a declared domain holds, all pairs of a
small one among it), `records` (databases of any other make), `distance` (how far two are apart) and
`schema` (databases described in JSON).
`examples` makes what a strategy yields, and `cases` draws the cases of an invariant.
"""
