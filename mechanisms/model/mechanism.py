"""A mechanism with what it promises, and its broken twins."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .claims import Claim
from .domains import Array, Database, Domain, Output, misfit
from .laws import Law, LossLaw


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
    run: Callable[..., Any]
    claims: tuple[Claim, ...] = ()
    databases: Any = None
    reference: str = ""
    seeded: bool = True
    trust_rows: bool = False
    identifier: str = ""
    law: Callable[[Database], Law] | None = None
    privacy_loss: Callable[[Database, Database], LossLaw] | None = None
    log_probability: Callable[[Database, Output], Array] | None = None

    def __call__(self, database: Database, rng: np.random.Generator, **keywords: Any) -> Any:
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
