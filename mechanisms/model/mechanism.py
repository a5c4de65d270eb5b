"""A mechanism with what it promises, its broken twins, and the theorems about it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .claims import Claim, PrivacyClaim
from .domains import Array, Database, Domain, Interval, misfit
from .laws import Law, LossLaw


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """A randomised function of a database, with what it promises.

    `run(database, rng)` or `run(database, rng, *, size=None)`: with `size` the result has that
    leading shape. `databases` is a `Domain`, a Hypothesis strategy of databases or of pairs, or
    None. `seeded` is False when the mechanism draws from the operating system instead of `rng`.
    `identifier` is the catalogue's short code for the entry, such as EM-3.10.

    Where the law of the output is known exactly, one of three says so, all in nats:
    `law(database)`; `privacy_loss(database, neighbour)`, the law of the privacy loss; and
    `log_probability(database, outputs)`, the log-probability or log-density of given outputs
    (with any leading shape) with respect to a measure that is the same for all databases.
    """

    name: str
    run: Callable[..., Any]
    claims: tuple[Claim, ...] = ()
    databases: Any = None
    reference: str = ""
    seeded: bool = True
    identifier: str = ""
    law: Callable[[Database], Law] | None = None
    privacy_loss: Callable[[Database, Database], LossLaw] | None = None
    log_probability: Callable[[Database, Any], Array] | None = None

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

    `breaks` is the claim that must be refuted and `defect` says in a line what is wrong.
    `detectable` is False where sampling at the default budget cannot show the defect and only
    an exact method does.
    """

    mechanism: Mechanism
    breaks: Claim
    defect: str
    identifier: str = ""
    detectable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenStatement:
    """A false statement without a mechanism, an invariant or an identity, kept for the same end."""

    identifier: str
    claim: Claim
    defect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A number a theorem depends on: its default, the range it is stated for, what it means."""

    default: float
    within: Interval
    meaning: str


def number(default: float, low: float, high: float, meaning: str) -> Parameter:
    """A parameter that is any number in [low, high]."""
    return Parameter(default=default, within=Interval(low=low, high=high), meaning=meaning)


def whole(default: int, low: float, high: float, meaning: str) -> Parameter:
    """A parameter that is a whole number from `low` to `high`."""
    within = Interval(low=low, high=high, integer=True)
    return Parameter(default=default, within=within, meaning=meaning)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A theorem at fixed parameters: a claim, and the mechanism it is about, if it is about one."""

    claim: Claim
    mechanism: Mechanism | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Theorem:
    """A published statement, as a row: what it says, who says it, and at which parameters.

    `identifier` is the catalogue's code and `statement` one line. `subject(**parameters)` is what
    is claimed at given parameters, of a mechanism or of none; ask `at` for it, which fills in the
    defaults and writes the theorem's labels on the claim. A statement printed wrongly is a
    theorem with `holds` False, expected to be refuted; `corrected` then names the identifier of
    the one that says it right and `remark` what the print gets wrong. `part` is the part of the
    catalogue it belongs to; where it says none the catalogue sets that of its module.
    `slow` says that its check is one of the longest, so that a run starts it first.
    """

    identifier: str
    statement: str
    reference: str
    subject: Callable[..., Subject | Claim]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    holds: bool = True
    corrected: str = ""
    remark: str = ""
    part: str = ""
    slow: bool = False

    def at(self, **parameters: float) -> Subject:
        """The claim at these parameters, at the defaults where they say nothing.

        Its mechanism claims this, and beside a claim of another kind what it loses: the relation
        of a privacy claim says which databases it works on.
        """
        made = self.subject(
            **{
                name: int(value) if parameter.within.integer else value
                for name, parameter in self.parameters.items()
                for value in (parameters.pop(name, parameter.default),)
            },
            **parameters,
        )
        subject = made if isinstance(made, Subject) else Subject(claim=made)
        claim = replace(
            subject.claim,
            identifier=self.identifier,
            statement=self.statement,
            reference=self.reference,
        )
        mechanism = subject.mechanism
        if mechanism is not None:
            private = [one for one in mechanism.claims if isinstance(one, PrivacyClaim)]
            kept = [] if isinstance(claim, PrivacyClaim) else private
            mechanism = replace(mechanism, claims=(*kept, claim))
        return Subject(claim=claim, mechanism=mechanism)
