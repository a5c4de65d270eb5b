"""A result as plain JSON data: `record` is its shape, `write` makes it, `read` reads it back."""
