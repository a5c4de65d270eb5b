"""A test for every function that carries its claim: collected without being written."""

from collections.abc import Iterator
from typing import Any

import pytest

from ...auditors.errors import DpWitnessError
from ..adapters.marked import marked_file

OURS = (AssertionError, DpWitnessError)


class MarkedFile(pytest.File):
    """A file in which functions are marked with `dpwitness.claims`."""

    def collect(self) -> Iterator["MarkedTest"]:
        """One test for each; nothing is imported yet."""
        for target in marked_file(self.path, self.config.rootpath):
            yield MarkedTest.from_parent(self, name=target.rpartition(":")[2], target=target)


class MarkedTest(pytest.Item):
    """The audit of one marked function."""

    fixturenames = ("dp_audit",)

    def __init__(self, *, target: str, **given: object) -> None:
        super().__init__(**given)  # type: ignore[arg-type]
        self.target = target

    def runtest(self) -> None:
        """Audit it as a test with the fixture would."""
        __tracebackhide__ = True
        from .audits import audit_of

        audit_of(self)(self.target)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """The sentence or the witness; there is no line of a test that could be shown."""
        return (
            excinfo.getrepr(style="value")
            if isinstance(excinfo.value, OURS)
            else (super().repr_failure(excinfo, style))
        )

    def reportinfo(self) -> tuple[str, int | None, str]:
        """Where it stands, for pytest."""
        return str(self.path), None, self.target
