"""Pictures of theorems: bound and measurement as data, drawn by a few generic figures."""
