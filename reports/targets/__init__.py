"""From the text that names a mechanism to the mechanism, and whether it may be run."""
