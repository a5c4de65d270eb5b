"""Private learners: finite classes and conjunctions.

Read `labelled` (examples with labels), `finite_class`, then `conjunctions` and
`greedy_conjunctions`, whose transcripts and invariants have files of their own.
"""
