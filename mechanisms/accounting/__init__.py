"""What composition costs: the calculus of privacy losses that other systems stand on.

Read `privacy_loss` first (the law of the loss, its hockey-stick divergence, how far Laplace noise
reaches), then `composition` (basic, advanced and optimal composition, group privacy, what the steps
of a mechanism spend). Theorems: `theorems_accounting`.
"""
