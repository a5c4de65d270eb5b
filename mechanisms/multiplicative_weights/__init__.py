"""Private multiplicative weights: many linear queries on one histogram.

Read `pmw` (the algorithm), then `pmw_updates` (one step and its potential), `pmw_bounds`
(the numbers of the theorem) and `pmw_law`. `pmw_adversaries` and `pmw_cases` feed the theorems.
"""
