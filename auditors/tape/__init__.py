"""The randomness of a mechanism as a tape: recorded, replayed on the neighbour, enumerated.

A mechanism asks one generator for all its randomness. So its draws can be recorded under D and
given again under D', changed as little as hides the change of the data: read `generator` (what a
mechanism asks), `held` (what its draws become under D', and how likely that is), `weighing` (what
that tells of both databases) and `explain` (which lines spend the loss).

If all draws are finite, every answer can be tried: read `uniforms`, `enumeration` (all paths of a
mechanism) and `exact` (a claim decided by its laws).
"""
