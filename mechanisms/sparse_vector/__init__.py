"""Answering only what lies above a threshold, and paying for that alone.

Read `above_threshold`, then `numeric_sparse_vector`; `sparse_vector_law` has their exact law.
"""
