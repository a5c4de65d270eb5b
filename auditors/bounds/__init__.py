"""The statistics: what counts on fresh draws say, each with its proof in docs/statistics.md.

Read `two_sample` first: the exact test everything rests on. `binomial_tails` is its arithmetic,
`grid` and `block_bound` invert it, `chunked` combines chunks, `e_process` stops early, `holm`,
`means` and `permutation` serve claims of other kinds.
"""
