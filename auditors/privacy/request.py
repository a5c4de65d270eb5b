"""What a caller may ask of an audit, and all checks of it: the mechanism, its claims and a pair."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ...mechanisms.model import Mechanism, NegativeControl, PrivacyClaim, Relation
from ..arguments import meant
from ..attackers import ATTACKERS, seen_by
from ..databases.distance import relation_of, require_meaning
from ..engines.engine import Engine
from ..errors import InvalidArgument, UnsupportedClaim
from ..results import Pair
from .budget import Budget

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What every function that judges a mechanism takes, stated once; `audit_claims` explains it.

    `target` and `name` say where the mechanism was found and what it is called. `engine` is where
    the blocks of draws are made; it changes no count.
    """

    mechanism: Any = field(kw_only=False)
    delta: float | None = None
    relation: Relation | str | None = None
    distance: int | None = None
    databases: Any = None
    pair: Pair | tuple[Any, Any] | None = None
    histogram: bool = False
    trials: int = 200_000
    seconds: float | None = None
    precision: float | None = 0.05
    alpha: float = 1e-3
    seed: int = 0
    workers: int = 1
    seeded: bool | None = None
    timeout: float = 10.0
    progress: Progress | None = None
    target: str = ""
    name: str = ""
    exceptions: str = "error"
    attacker: str = "values"
    show_output: bool = False
    engine: Engine | None = None

    @property
    def budget(self) -> Budget:
        """What the audit may spend; InvalidArgument for a number outside its range."""
        return Budget(
            trials=self.trials,
            seconds=self.seconds,
            precision=self.precision,
            alpha=self.alpha,
            seed=self.seed,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest(Request):
    """A request to judge claims: those of the mechanism, or the one with this `epsilon` (nats)."""

    epsilon: float | None = None


def subject(mechanism: Any, name: str, target: str, seeded: bool | None) -> Mechanism:
    """The mechanism under audit; a bare callable becomes one without claims.

    A `target` that begins with an attacker and "=" is seen as that attacker sees it.
    """
    if isinstance(mechanism, NegativeControl):
        mechanism = mechanism.mechanism
    if not isinstance(mechanism, Mechanism):
        if not callable(mechanism):
            raise InvalidArgument(
                "expected a function of (database, rng) or a Mechanism, got "
                f"{type(mechanism).__name__}"
            )
        label = name or getattr(mechanism, "__name__", "") or target or "mechanism"
        mechanism = Mechanism(name=label, run=mechanism)
    if seeded is not None:
        mechanism = replace(mechanism, seeded=seeded)
    return seen_by(attacker_of(target), mechanism)


def attacker_of(target: str) -> str:
    """Who looks at a target: its text begins with the attacker, unless that is values."""
    attacker, sign, _ = target.partition("=")
    return attacker if sign and attacker in ATTACKERS else "values"


def target_seen(attacker: str, target: str) -> str:
    """The target's text with the attacker who looks at it."""
    seen = attacker in ("values", attacker_of(target))
    return target if seen else f"{attacker}={target}"


def claims(
    mechanism: Mechanism,
    epsilon: float | None,
    delta: float | None,
    relation: Relation | str | None,
    distance: int | None,
    pair: Any,
    *,
    of_pairs: bool = False,
    domain: Any = None,
) -> tuple[PrivacyClaim, ...]:
    """The privacy claims to audit: the mechanism's own, or the one the caller states.

    A claim about given pairs, or a strategy `of_pairs`, may come without a relation: it is then
    the one under which the pair is near, or only declared.
    """
    own = [claim for claim in mechanism.claims if isinstance(claim, PrivacyClaim)]
    if not own:
        if epsilon is None:
            raise UnsupportedClaim(
                f"{mechanism.name} carries no privacy claim; state one with epsilon=",
                keywords=("epsilon",),
            )
        if relation is None and pair is None and not of_pairs:
            raise InvalidArgument(
                "a privacy claim needs its neighbouring relation, add-remove or replace-one; give "
                "it with relation=",
                keywords=("relation",),
            )
        given = given_pair(pair)
        if given is not None and relation is None and domain is None:
            require_meaning(given, distance or 1)
        known = Relation.DECLARED if given is None else relation_of(given, distance or 1, domain)
        own = [PrivacyClaim(epsilon=0.0, relation=known)]
    changes: dict[str, Any] = {}
    if relation is not None:
        changes["relation"] = _relation(relation)
    if relation is not None or distance is not None:
        # Its examples may not be neighbours any more.
        changes["examples"] = ()
    for key, value in (("epsilon", epsilon), ("delta", delta), ("distance", distance)):
        if value is not None:
            changes[key] = value
    try:
        changed = [replace(claim, **changes) for claim in own]
    except (ValueError, TypeError) as error:
        raise InvalidArgument(str(error)) from None
    return tuple(dict.fromkeys(changed))


def _relation(relation: Relation | str) -> Relation:
    try:
        return Relation(relation)
    except ValueError:
        words = {known.value: known.value for known in Relation}
        raise InvalidArgument(
            "relation must be add-remove or replace-one, or declared for pairs that are neighbours "
            f"because you say so, got {relation!r}"
            f"{meant(str(relation).casefold(), words)}"
        ) from None


def given_pair(pair: Pair | tuple[Any, Any] | None) -> Pair | None:
    """The pair the caller gave, if any."""
    if pair is None or isinstance(pair, Pair):
        return pair
    try:
        one, two = pair
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"pair takes two databases, as in pair=([], [1]), got {type(pair).__name__}",
            keywords=("pair",),
        ) from None
    return Pair(one, two)


def require_one(pair: Any, databases: Any) -> None:
    """Reject a pair beside databases: nothing of the databases would be looked at."""
    if pair is not None and databases is not None:
        raise InvalidArgument(
            "pair= and databases= exclude each other, since a pair that is given is the only one "
            "judged; give one of them",
            keywords=("pair", "databases"),
        )


def require(workers: int, timeout: float) -> None:
    """Reject numbers outside their range, naming the number; `Budget` does so for its own."""
    if not (workers >= 1 and workers == int(workers)):
        raise InvalidArgument(f"workers must be at least 1, got {workers}")
    if not timeout > 0:
        raise InvalidArgument(f"timeout must be positive, got {timeout}")
