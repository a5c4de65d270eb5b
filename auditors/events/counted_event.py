"""What drawing and counting need of an event: every kind of `events.py` has it."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..outputs.outputs import Outputs


class CountedEvent(Protocol):
    """A set of outputs that a batch can be counted in, told in words and written as plain data."""

    def contains(self, outputs: Outputs) -> NDArray[np.bool_]:
        """Which outputs lie in the event, shape (n,)."""

    def describe(self) -> str:
        """The event in words."""

    def to_json(self) -> Mapping[str, object]:
        """Plain data that `event_from_json` rebuilds the event from."""
