"""Auditors for claims of every kind, and the one way in, `check`.

Read `check`, which has the privacy claim and purity too, then a kind: `tails` (utility, sample
size), `means` (expectation, growth), `invariant` (and identity), `equality`. `exact` is the method
without draws, `follows_law` sets draws against the law.
"""
