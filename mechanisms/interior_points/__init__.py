"""Finding a point between the smallest and the largest record, and learning boxes from such points.

Read `interior_point`, then `boxes`.
"""
