"""Learning an event that tells two databases apart, from draws that do not judge it.

Read `events` (what an event is and how it is said), then `choose` (from draws to an event);
`ledger` (counts of all draws), `bins`, `scores` and `cuts` are its steps, `learners/` the families
of events, and `quick_score` ranks pairs.
"""
