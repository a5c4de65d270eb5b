"""The randomness of a mechanism as a tape: recorded, replayed on the neighbour, enumerated.

A mechanism asks one generator for all its randomness. So its draws can be recorded under D and
given again under D', changed as little as hides the change of the data.
"""
