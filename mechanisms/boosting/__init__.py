"""Boosting for queries: from a weak synopsis of many queries to a strong one.

Read `base_synopsis`, then `boosting`; `query_weights` has one round of reweighting, and
`sampled_queries` the two lemmas about samples of queries.
"""
