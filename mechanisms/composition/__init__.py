"""Mechanisms made of mechanisms: a fixed list of them, or an analyst who adapts.

Read `composed` first. `theorems_composition` and `broken_composed` follow.
"""
