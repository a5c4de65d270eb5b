"""What `pyproject.toml` says to the gate and to pytest."""
