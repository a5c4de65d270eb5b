"""Learning an event that tells two databases apart, from draws that do not judge it.

Read `events` (what an event is and how it is said), then `choosing.choose` (from draws to an
event); `ledger` (counts of all draws), `bins` and `estimates` are its steps, `learners/` the
families of events. `rebuilding` has events back from a file, and `quick_score` ranks pairs.
"""
