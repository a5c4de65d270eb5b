"""From what a mechanism returned to columns of numbers and labels.

Read `outputs` (a batch of outputs, and the answers to what is asked of it), `features` (what events
may look at) and `questions` (what is worth asking). Below them lie `kinds` and `tables` (what one
value is made of, by type), `nodes` (many values as a tree of columns), `packing` (from values to
nodes, and to what lies at a path), `untyped` (values apart from their types) and `texts` (what a
text says). Beside them stand `encoding` (values as JSON) and `decoding` (and back).
`kinds.NOT_LOOKED_AT` lists what of an output no feature sees.
"""
