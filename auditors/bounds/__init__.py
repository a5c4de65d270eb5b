"""The statistics: what counts on fresh draws say, each with its proof in docs/statistics.md.

Read `two_sample` first: the exact test everything rests on. `binomial_tails` is its arithmetic,
`grid` and `block_bound` turn it into a bound. `e_process` carries evidence from run to run,
`dispersion` notices draws that come in clumps, and `holm`, `means` and `permutation` serve claims
of other kinds.
"""
