"""One audit of a privacy claim from end to end.

Read `run`, then in the order of the steps: `request`, `planning`, `preparing`, `curves`, `judge`,
`attempt`, `shown`. `replay`, `rerun` and `accumulate` use what an audit left behind.
"""
