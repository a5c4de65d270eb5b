"""Small faults planted in a mechanism, to see which of them its claims notice.

Read `sources` (the functions a run reaches), `faults` (what can be wrong with them, and how a fault
is put in and taken out again) and `trial` (a mutant before its claims, in a process of its own, and
the smallest fault of each kind that is seen).
"""
