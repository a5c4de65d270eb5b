"""One audit of a privacy claim from end to end.

Read `run`, then in the order of the steps: `request`, `budget`, `judge`, `attempt`, `verdicts`,
`cause`. `replay`, `recheck` and `accumulate` use what an audit left behind.
"""
