"""Private multiplicative weights: many linear queries on one histogram.

Read `pmw_updates` (one step, its potential, and how likely noise spoils it), then `pmw` (who asks,
the algorithm, its exact law and the numbers of the theorem) and `pmw_session`. `pmw_cases` feeds
the theorems.
"""
