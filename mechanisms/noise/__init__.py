"""Noise added to numbers and answers: where to start reading the catalogue.

Read `laplace`, then `geometric` and `grid_laplace` (the same in whole numbers and on a grid), then
`randomized_response`. `theorems_noise` and `broken_noise` stand beside them.
"""
