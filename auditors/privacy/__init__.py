"""One audit of a privacy claim from end to end.

Read `run`, then in the order of the steps: `request`, `judge`, `confirm`, `verdicts`,
`power`. `replay`, `recheck`, `p_value` and `accumulate` use what an audit left behind.
"""
