"""From what a mechanism returned to columns of numbers and labels.

Read `outputs` (a batch of outputs), `leaves` (one output taken apart), `features` (what events may
look at), `cells` and `encoding` (values as JSON).
"""
