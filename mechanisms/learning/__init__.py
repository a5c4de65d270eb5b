"""Private learners: finite classes and conjunctions.

Read `labelled` (examples with labels, and conjunctions), `finite_class`, then `conjunctions` and
`greedy_conjunctions`, whose invariants have a file of their own.
"""
