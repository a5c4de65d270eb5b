"""The commands about mechanisms: audit, estimate, replay, merge, list."""
