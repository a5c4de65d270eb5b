"""Choosing a candidate: the exponential mechanism and its relatives with noisy scores.

Read `selection` (candidates, utilities, sensitivities), then `exponential`, then the noisy maxima.
"""
