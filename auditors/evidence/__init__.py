"""A result as plain JSON data: `record` is its shape, `conversion` makes and reads it,
`derive` works out what follows.
"""
