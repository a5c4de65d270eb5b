"""Answering only what lies above a threshold, and paying for that alone.

Read `above_threshold` with its exact law, then `sparse_vector_variants`.
"""
