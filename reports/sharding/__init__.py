"""The commands about audits in pieces: `id`, `merge`, and what `audit` takes for them."""
