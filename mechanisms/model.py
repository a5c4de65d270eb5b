"""What a mechanism is, over which databases it works, and what it claims.

Everything here is plain, frozen data. The meaning of a published claim type never changes:
a different promise gets a different type, so that an old evidence file keeps its meaning.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Array",
    "Choices",
    "Claim",
    "Database",
    "Domain",
    "Histogram",
    "Interval",
    "Mechanism",
    "NegativeControl",
    "Neighbouring",
    "PrivacyClaim",
    "Record",
    "Row",
    "Rows",
    "Size",
    "UtilityClaim",
    "Value",
]

Array = NDArray[Any]
Database = Any
Size = int | tuple[int, ...] | None


class Neighbouring(Enum):
    """The relation between two databases that a privacy claim protects."""

    ADD_REMOVE = "add-remove"
    """One record is added or removed."""
    REPLACE_ONE = "replace-one"
    """Exactly one record is replaced; the number of records is public."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A number in [low, high]; whole numbers only when `integer`."""

    low: float
    high: float
    integer: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """One of finitely many values, simplest first."""

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record with named fields (a dict), each with a row domain of its own."""

    fields: Mapping[str, "Row"]


Row = Interval | Choices | Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Databases that are lists of between `least` and `most` rows."""

    row: Row
    least: int = 0
    most: int = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Databases that are lists of `bins` counts, each at most `most`."""

    bins: int
    most: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """Databases that are a single record, as in local differential privacy."""

    row: Row


Domain = Rows | Histogram | Value


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyClaim:
    """(epsilon, delta)-differential privacy under one neighbouring relation.

    For every pair of databases `distance` steps of `neighbouring` apart, in both orders, and
    every event E: P[M(D) in E] <= exp(k epsilon) P[M(D') in E] + delta_k with k = `distance`
    and delta_k = delta (exp(k epsilon) - 1) / (exp(epsilon) - 1), which is the claim itself at
    distance 1 and its group-privacy consequence beyond. `epsilon` is in nats and always the
    one of a single step; `reference` is the theorem that promises it.
    """

    epsilon: float
    neighbouring: Neighbouring
    delta: float = 0.0
    distance: int = 1
    reference: str = ""

    def __post_init__(self) -> None:
        """Reject numbers outside the definition's range."""
        if not (0 <= self.epsilon < float("inf")):
            raise ValueError(f"epsilon must be finite and at least 0 (nats), got {self.epsilon!r}")
        if not (0 <= self.delta < 1):
            raise ValueError(f"delta must be in [0, 1), got {self.delta!r}")
        if self.distance != int(self.distance) or self.distance < 1:
            raise ValueError(f"distance must be a whole number >= 1, got {self.distance!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilityClaim:
    """P[loss(database, output) >= bound(beta)] <= beta for every beta in (0, 1).

    `loss` takes a database and outputs with any leading shape and returns losses of that
    shape; `bound` maps beta to the loss level the theorem names.
    """

    loss: Callable[[Database, Any], Array]
    bound: Callable[[float], float]
    reference: str = ""


Claim = PrivacyClaim | UtilityClaim


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """A randomised function of a database, with what it promises.

    `run(database, rng)` or `run(database, rng, *, size=None)`: with `size` the result has that
    leading shape. `databases` is a `Domain`, a Hypothesis strategy of databases or of pairs, or
    None. `seeded` is False when the mechanism draws from the operating system instead of `rng`.
    `identifier` is the catalogue's short code for the entry, such as EM-3.10.
    """

    name: str
    run: Callable[..., Any]
    claims: tuple[Claim, ...] = ()
    databases: Any = None
    reference: str = ""
    seeded: bool = True
    identifier: str = ""

    def __call__(self, database: Database, rng: np.random.Generator, **keywords: Any) -> Any:
        """Run the mechanism once, or `size` times."""
        return self.run(database, rng, **keywords)


@dataclass(frozen=True, slots=True, kw_only=True)
class NegativeControl:
    """A mechanism known to break one of its claims, kept to test the auditors.

    `breaks` is the claim that must be refuted and `defect` says in a line what is wrong.
    """

    mechanism: Mechanism
    breaks: Claim
    defect: str
