"""From what a mechanism returned to columns of numbers and labels.

Read `outputs` (a batch of outputs), `kinds` and `tables` (what one value is made of, by type),
`packing` and `nodes` (many values as a tree of columns), `features` (what events may look at),
`columns` (the answers) and `questions` (what is worth asking); then `cells`, `encoding` (values as
JSON) and `decoding` (and back). `kinds.NOT_LOOKED_AT` lists what of an output no feature sees.
"""
