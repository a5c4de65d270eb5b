"""Auditors for claims of every kind, and the one way in, `check`.

Read `check`, then a kind: `privacy_claim`, `utility`, `expectation`, `invariant`, `equality`,
`sample_size`, `identity`. `exact` and `loss_laws` are the methods without draws.
"""
