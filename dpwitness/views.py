"""How a result shows itself: `print` gives its report, `repr` one line, a notebook its text."""

from .auditors.errors import HarnessError


class Shown:
    """A result with a headline and a report."""

    __slots__ = ()

    def _head(self) -> str:
        """The headline, one sentence."""
        raise HarnessError(f"{type(self).__name__} has no headline")

    def __repr__(self) -> str:
        """The headline in a line."""
        return f"<{' '.join(self._head().split()).rstrip('.')}>"

    def _repr_html_(self) -> str:
        """The report for a notebook."""
        from .reports.faces.templates import page

        head, _, rest = str(self).partition("\n\n")
        return page("notebook_text.html", headline=" ".join(head.split()), text=rest)
