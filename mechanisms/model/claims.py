"""What a mechanism is, which law its outputs have, and what is claimed of it.

Everything here is plain, frozen data. The meaning of a published claim type never changes:
a different promise gets a different type, so that an old evidence file keeps its meaning.

Every claim type says its `kind`, the word for it in every report. Every claim has an `identifier`,
the catalogue's short code such as EM-3.12, a `statement` in one line, and a `reference`, the
theorem that promises it. A function that carries its claims (`marks.py`) becomes a mechanism at
the end.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from numbers import Real
from typing import Any, ClassVar, TypedDict, Unpack

import numpy as np

from .curves import Curve, curve_of, lines_of
from .domains import Array, Database, Domain, InvariantCase, Output, Relation, Row, misfit


@dataclass(frozen=True, slots=True, kw_only=True)
class FiniteLaw:
    """Output `outcomes[i]` with log-probability `log_probabilities[i]`, in nats.

    `outcomes` has shape (m, *output shape), as m draws would have, and the same entries in the
    same order for every database; the log-probabilities have shape (m,), -inf allowed.
    """

    outcomes: Array
    log_probabilities: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceLaw:
    """`centres` plus independent Laplace noise of one `scale`, the same for every database."""

    centres: Array
    scale: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianLaw:
    """`centres` plus independent Gaussian noise of one standard deviation `scale`."""

    centres: Array
    scale: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductLaw:
    """Independent parts of one output, each with a law of its own."""

    parts: "tuple[FiniteLaw | LaplaceLaw | GaussianLaw, ...]"


class NotListable(ValueError):
    """An exact law has more outcomes than are listed; whoever asks goes on without the law."""


Law = FiniteLaw | LaplaceLaw | GaussianLaw | ProductLaw


@dataclass(frozen=True, slots=True, kw_only=True)
class LossLaw:
    """Law of the privacy loss ln(p/q) of outputs drawn from p, where it takes finitely many values.

    `losses` in nats and `probabilities` under p have shape (m,); with probability `infinite`
    the loss is infinite. The three together make up probability 1.
    """

    losses: Array
    probabilities: Array
    infinite: float = 0.0


class CurveClaimFields(TypedDict, total=False):
    """What a claim of a whole curve may say beside its curve and its relation."""

    distance: int
    identifier: str
    statement: str
    reference: str
    examples: tuple[tuple[Database, Database], ...]
    outputs: tuple[object, ...]


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
    outputs: tuple[object, ...] = field(default=(), compare=False)
    curve: Curve | None = None

    @classmethod
    def of_curve(
        cls, curve: Curve, relation: Relation, **fields: Unpack[CurveClaimFields]
    ) -> "PrivacyClaim":
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
    examples: tuple[object, ...] = ()
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
    other: Callable[..., Output]
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
    instance: Callable[[int], tuple[Callable[..., Output], Database]]
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
    instance: Callable[[float], tuple[Callable[..., Output], Database]]
    quantity: Callable[[float, Database, Output], Array]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """A randomised function of a database, with what it promises.

    `run(database, rng)` or `run(database, rng, *, size=None)`: with `size` the result has that
    leading shape. `databases` is a `Domain`, a Hypothesis strategy of databases or of pairs, or
    None. `seeded` is False when the mechanism draws from the operating system instead of `rng`.
    With `trust_rows` the author declares that a call with `size=n` is n independent single calls;
    auditors then count its rows, and single calls otherwise.
    `identifier` is the catalogue's short code for the entry, such as EM-3.10.

    Where the law of the output is known exactly, one of three says so, all in nats:
    `law(database)`; `privacy_loss(database, neighbour)`, the law of the privacy loss; and
    `log_probability(database, outputs)`, the log-probability or log-density of given outputs
    (with any leading shape) with respect to a measure that is the same for all databases,
    Lebesgue or counting, and -inf for outputs that cannot come.
    """

    name: str
    run: Callable[..., Output]
    claims: tuple[Claim, ...] = ()
    databases: Any = None
    reference: str = ""
    seeded: bool = True
    trust_rows: bool = False
    identifier: str = ""
    law: Callable[[Database], Law] | None = None
    privacy_loss: Callable[[Database, Database], LossLaw] | None = None
    log_probability: Callable[[Database, Output], Array] | None = None

    def __call__(self, database: Database, rng: np.random.Generator, **keywords: object) -> Output:
        """Run the mechanism once, or `size` times.

        Raises ValueError on a record outside the stated domain, before anything is released: the
        privacy claims are about databases of that domain.
        """
        if isinstance(self.databases, Domain):
            wrong = misfit(self.databases, database)
            if wrong:
                raise ValueError(f"{self.name}: {wrong}")
        return self.run(database, rng, **keywords)


@dataclass(frozen=True, slots=True, kw_only=True)
class NegativeControl:
    """A mechanism known to break one of its claims, kept to test the auditors.

    `claim` is the place, among the mechanism's claims, of the one that must be refuted; -1 is the
    last. `defect` says in a line what is wrong. `identifier` is that of the mechanism where no
    other is given. `detectable` is False where sampling at the default budget cannot show the
    defect and only an exact method does.
    """

    mechanism: Mechanism
    defect: str
    claim: int = 0
    identifier: str = ""
    detectable: bool = True

    def __post_init__(self) -> None:
        """Take the identifier of the mechanism where no other is given."""
        object.__setattr__(self, "identifier", self.identifier or self.mechanism.identifier)

    @property
    def breaks(self) -> Claim:
        """The claim that must be refuted."""
        return self.mechanism.claims[self.claim]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenStatement:
    """A false statement without a mechanism, an invariant or an identity, kept for the same end."""

    identifier: str
    claim: Claim
    defect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is checked: a claim, and the mechanism it is about, if it is about one."""

    claim: Claim
    mechanism: Mechanism | None = None


MARK = "__dpwitness_claims__"
"""Where `claims` puts them; `mechanisms.marks`, which loads nothing, has the same word."""


def carried(function: Any, name: str = "") -> Mechanism | None:
    """The mechanism that a marked function is; None for one that carries no mark.

    Raises ValueError for numbers that are no claim, or marks that name different databases.
    """
    try:
        marks = getattr(function, MARK, ())
    except Exception:  # noqa: BLE001 - an attribute that is asked for is code of its author
        return None
    # A mock or a proxy answers whatever it is asked for; a mark is known by the name of its type.
    if type(marks) is not tuple or {type(one).__name__ for one in marks} != {"Mark"}:
        return None
    made = []
    for one in marks:
        relation = Relation(one.relation)
        points = {"points" if key == "curve" else key: value for key, value in one.curve.items()}
        curve = curve_of(**points, delta=one.delta) if points else None
        if curve is not None:
            made.append(PrivacyClaim.of_curve(curve, relation, distance=one.distance))
        else:
            made.append(
                PrivacyClaim(
                    epsilon=one.epsilon if one.epsilon is not None else 0.0,
                    delta=one.delta or 0.0,
                    relation=relation,
                    distance=one.distance,
                )
            )
    found = [one.databases for one in marks if one.databases is not None]
    if any(one is not found[0] for one in found):
        raise ValueError(f"the claims of {name or function.__name__} name different databases")
    return Mechanism(
        name=name or getattr(function, "__name__", "mechanism"),
        run=function,
        claims=tuple(made),
        databases=found[0] if found else None,
        seeded=all(one.seeded for one in marks),
        trust_rows=all(one.trust_rows for one in marks),
    )
