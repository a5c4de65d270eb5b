"""What a mechanism, or a statement about mechanisms, claims.

Everything here is plain, frozen data. The meaning of a published claim type never changes:
a different promise gets a different type, so that an old evidence file keeps its meaning.

Every claim type says its `kind`, the word for it in every report. Every claim has an `identifier`,
the catalogue's short code such as EM-3.12, a `statement` in one line, and a `reference`, the
theorem that promises it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from numbers import Real
from typing import Any, ClassVar

from .curves import Curve, lines_of
from .domains import Array, Database, Domain, InvariantCase, Output, Relation, Row
from .laws import FiniteLaw

USUAL = 6
"""Place, among the lines of a curve, of the one that touches it at a probability near .1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyClaim:
    """(epsilon, delta)-differential privacy under one neighbouring relation.

    For every pair of databases `distance` steps of `relation` apart, in both orders, and
    every event E: P[M(D) in E] <= exp(k epsilon) P[M(D') in E] + delta_k with k = `distance`
    and delta_k = delta (exp(k epsilon) - 1) / (exp(epsilon) - 1), which is the claim itself at
    distance 1 and its group-privacy consequence beyond. `epsilon` is in nats and always the
    one of a single step; `reference` is the theorem that promises it. `examples` are pairs of
    neighbours on which the claim is nearly tight, or false; `outputs` are outputs on which their
    densities differ most, for a mechanism with `log_probability`. Claims that differ only in
    examples and outputs are equal.

    With a `curve` the promise is the whole curve, of a single step, and (epsilon, delta) is one
    of its points, which a curve promises at this very distance (`PrivacyClaim.of_curve`).
    """

    kind: ClassVar[str] = "privacy"
    epsilon: float
    relation: Relation
    delta: float = 0.0
    distance: int = 1
    identifier: str = ""
    statement: str = ""
    reference: str = ""
    examples: tuple[tuple[Database, Database], ...] = field(default=(), compare=False)
    outputs: tuple[Any, ...] = field(default=(), compare=False)
    curve: Curve | None = None

    @classmethod
    def of_curve(cls, curve: Curve, relation: Relation, **fields: Any) -> "PrivacyClaim":
        """The claim of a whole curve, at the point that is judged if nothing else is known."""
        lines = lines_of(curve, fields.get("distance", 1))
        epsilon, delta = lines[min(USUAL, len(lines) - 1)]
        return cls(epsilon=epsilon, delta=delta, relation=relation, curve=curve, **fields)

    @property
    def steps(self) -> int:
        """Over how many steps (epsilon, delta) add up; the points of a curve hold as they are."""
        return 1 if self.curve is not None else self.distance

    def __post_init__(self) -> None:
        """Reject numbers outside the definition's range, and a relation that is none.

        A relation may be its word, "add-remove", as everywhere else.
        """
        if self.relation not in (*Relation, *(one.value for one in Relation)):
            known = ", ".join(repr(one.value) for one in Relation)
            raise ValueError(f"relation must be one of {known}, got {self.relation!r}")
        object.__setattr__(self, "relation", Relation(self.relation))
        if not (isinstance(self.epsilon, Real) and 0 <= self.epsilon < float("inf")):
            raise ValueError(f"epsilon must be finite and at least 0 (nats), got {self.epsilon!r}")
        if not (isinstance(self.delta, Real) and 0 <= self.delta < 1):
            raise ValueError(f"delta must be in [0, 1), got {self.delta!r}")
        if self.distance != int(self.distance) or self.distance < 1:
            raise ValueError(f"distance must be a whole number >= 1, got {self.distance!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilityClaim:
    """P[loss(database, output) >= bound(beta)] <= beta, on every database it is promised for.

    `loss` takes a database and outputs with any leading shape and returns losses of that
    shape; `bound` maps beta to the loss level the theorem names, for every beta in (0, 1) or,
    where the theorem speaks of a few levels only, for those in `levels`. If they are all 1 or more
    the claim is vacuous. `databases` are the instances on which it is best tested, the tightest
    first.
    """

    kind: ClassVar[str] = "utility"
    loss: Callable[[Database, Output], Array]
    bound: Callable[[float], float]
    levels: tuple[float, ...] = (0.5, 0.2, 0.1, 0.05, 0.01)
    databases: tuple[Database, ...] = ()
    identifier: str = ""
    statement: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectationClaim:
    """E[quantity(database, output)] <= bound, on each of `databases`.

    `quantity` takes a database and outputs with any leading shape and returns numbers of that
    shape, all in [low, high]; `variance` is an upper bound on their variance where the theorem
    or a calculation gives one.
    """

    kind: ClassVar[str] = "expectation"
    quantity: Callable[[Database, Output], Array]
    bound: float
    databases: tuple[Database, ...]
    low: float = 0.0
    high: float = inf
    variance: float = inf
    identifier: str = ""
    statement: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InvariantClaim:
    """margin(case) >= 0 for every case of `cases`, up to `tolerance` of rounding.

    A case is made of plain values (a record of numbers, choices, lists). Where the statement is
    conditional on a noise event, the noise is part of the case and its domain is the event, so
    that the edge of the event is reached and not only its likely middle. The margin is the
    bound minus the measured quantity: the smaller, the nearer to a counterexample.
    `examples` are cases near the edge, tried first. Where the margin is `high` less a quantity, or
    a quantity less `low`, saying so tells how much smaller or larger the bound could be made.
    """

    kind: ClassVar[str] = "invariant"
    cases: Row | Domain
    margin: Callable[[InvariantCase], float]
    examples: tuple[Any, ...] = ()
    high: float | None = None
    low: float | None = None
    tolerance: float = 1e-9
    identifier: str = ""
    statement: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualityClaim:
    """The mechanism's output has exactly the law of another sampler, on each of `databases`.

    `other(database, rng, *, size=None)` samples it; `law`, where known, is its exact law, to be
    set beside the mechanism's own.
    """

    kind: ClassVar[str] = "equality"
    other: Callable[..., Any]
    databases: tuple[Database, ...]
    law: Callable[[Database], FiniteLaw] | None = None
    identifier: str = ""
    statement: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdClaim:
    """With n >= `needed` records, P[loss(database, output) > level] <= beta.

    `instance(n)` is the mechanism's `run` for n records, bound to its parameters, and a hard
    database of that size. `trust_rows` is that of the mechanism. `counted` is what n counts,
    "records" unless it is something else, such as "samples".
    """

    kind: ClassVar[str] = "threshold"
    needed: int
    instance: Callable[[int], tuple[Callable[..., Any], Database]]
    loss: Callable[[Database, Output], Array]
    level: float
    beta: float
    trust_rows: bool = False
    counted: str = "records"
    identifier: str = ""
    statement: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthClaim:
    """A mean grows with x as its bound does: by the exponent of the bound, `slack` more or less.

    `instance(x)` is the mechanism's `run` and a hard database at x, one of `points`, and
    `quantity(x, database, outputs)` numbers from 0 to `high(x)`, whose mean `bound(x)` is stated
    to be no less than. The exponent of either is the slope of the line fitted to its logarithm
    against that of x. Where the growth is not `attained` the mean may grow more slowly. `grows` and
    `over` say in words what grows with what. `trust_rows` is that of the mechanism.
    """

    kind: ClassVar[str] = "growth"
    points: tuple[float, ...]
    instance: Callable[[float], tuple[Callable[..., Any], Database]]
    quantity: Callable[[float, Database, Any], Array]
    bound: Callable[[float], float]
    high: Callable[[float], float]
    grows: str
    over: str
    slack: float = 0.15
    attained: bool = True
    trust_rows: bool = False
    identifier: str = ""
    statement: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityClaim:
    """compute() equals `stated` within `tolerance`: arithmetic, without randomness."""

    kind: ClassVar[str] = "identity"
    compute: Callable[[], float]
    stated: float
    tolerance: float = 1e-12
    identifier: str = ""
    statement: str = ""
    reference: str = ""


Claim = (
    PrivacyClaim
    | UtilityClaim
    | ExpectationClaim
    | InvariantClaim
    | EqualityClaim
    | ThresholdClaim
    | GrowthClaim
    | IdentityClaim
)
