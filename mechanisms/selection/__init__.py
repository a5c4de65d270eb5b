"""Choosing a candidate: the exponential mechanism and its relatives with noisy scores.

Read `exponential` (candidates, utilities, sensitivities, the mechanism), then `report_noisy_max`.
"""
