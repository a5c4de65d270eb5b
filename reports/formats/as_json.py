"""The whole run as JSON: the evidence of audits, the numbers of reproductions."""

from ..record.evidence import to_text
from .told import Told


def render(told: Told) -> str:
    """The document of the run."""
    return to_text(told.document)
