"""Noise added to numbers and answers: where to start reading the catalogue.

Read `laplace`, then `geometric` and `grid_laplace` (the same in whole numbers and on a grid), then
`randomized_response` and `leaky_response`. `theorems_*` and `broken_*` stand beside them.
"""
