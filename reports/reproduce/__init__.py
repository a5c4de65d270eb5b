"""Theorems and their measurements side by side."""
