"""Drawing outputs, the same bits for the same seed, and the contract a mechanism must keep.

Read `calls` (the stream of a draw, and its call), `blocks` (what came of many, and what of them
decides) and `sampling` (blocks and workers), then `gate` and `unseeded` (what breaks the contract,
by the rules of `again` and the tests of `alike`), `captured` and `kept` (outputs as they were, and
those that outlive a run) and `fingerprint` (the identity of the code that was run).
"""
