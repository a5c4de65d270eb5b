"""The run as one page that needs nothing from elsewhere."""

from .told import Told


def render(told: Told) -> str:
    """The page of the run."""
    return told.page()
