"""The statistics: what counts on fresh draws say, each with its proof in docs/statistics.md.

Read `two_sample` first: the exact test everything rests on, and the bound on epsilon that it gives.
`power` plans its looks and says what they would have noticed, `wealth` bets on all outputs at once.
`ranks` judges scores and guesses of others, `tails_and_means` and `one_law` serve claims of other
kinds; the second also notices draws that come in clumps.
"""
