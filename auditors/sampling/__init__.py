"""Drawing outputs, the same bits for the same seed, and the contract a mechanism must keep.

Read `sampling` (blocks and workers) and `calls` (the stream of a block, and its calls), then `kept`
(what is kept of an output), `gate` and `unseeded` (what breaks the contract) and `fingerprint` (the
identity of the code that was run).
"""
