"""What composition costs: the calculus of privacy losses that other systems stand on.

Read `privacy_loss` first (the law of the loss, its hockey-stick divergence), then `composition`
(basic, advanced and optimal composition, group privacy), then `tails`. Theorems: `theorems_*`.
"""
