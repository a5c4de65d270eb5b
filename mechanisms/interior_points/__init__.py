"""A point between the data, and boxes made of such points.

Read `interior_point`, then `rec_concave`, then `boxes`.
"""
