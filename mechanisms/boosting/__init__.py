"""Boosting for queries: from a weak synopsis of many queries to a strong one.

Read `query_weights` (one round of reweighting, and the two lemmas about samples of queries), then
`boosting`, the base synopses first. `boosting_cases` feeds the theorems and the broken twins.
"""
