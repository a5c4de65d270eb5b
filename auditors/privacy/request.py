"""What a caller may ask of an audit, and all checks of it: the mechanism, its claims and a pair."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ...mechanisms.model import (
    Curve,
    Database,
    Mechanism,
    NegativeControl,
    Pair,
    PrivacyClaim,
    Relation,
    carried,
    curve_of,
)
from ..arguments import meant
from ..asked import RELATIONS, Budget, Neighbours, default, require
from ..attackers.seen import ATTACKERS, seen_by
from ..databases.distance import relation_of, require_meaning
from ..engines.engine import Engine
from ..errors import InvalidArgument, UnsupportedClaim
from ..looking import attribute, is_a
from ..sampling.kept import Keeping

Progress = Callable[[str, int, int], None]
News = Callable[[str, str], None]
"""Told of ("plan", what can be seen in the time) and ("known", what is known so far)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What every function that judges a mechanism takes, stated once; `ASKED` explains it."""

    mechanism: object = field(kw_only=False)
    delta: float | None = None
    relation: Relation | Neighbours | None = None
    distance: int | None = None
    databases: Any = None
    pair: Pair | tuple[Database, Database] | None = None
    histogram: bool = default("histogram")
    trials: int = default("trials")
    notice: float | None = None
    seconds: float | None = None
    precision: float | None = default("precision")
    alpha: float = default("alpha")
    seed: int = default("seed")
    workers: int = default("workers")
    seeded: bool | None = None
    timeout: float = default("timeout")
    progress: Progress | None = None
    news: News | None = None
    kept: Keeping | None = None
    target: str = ""
    name: str = ""
    exceptions: Literal["error", "output"] = default("exceptions")
    attacker: Literal["values", "bits", "types"] = default("attacker")
    show_output: bool = default("show_output")
    trust_rows: bool | None = None
    in_process: bool = default("in_process")
    explain: bool | None = default("explain")
    exact: bool | None = None
    engine: Engine | None = None

    @property
    def stated_curve(self) -> Curve | None:
        """The curve that is claimed; None where nothing is, or epsilon and delta."""
        return None

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
    """A request to judge claims: those of the mechanism, or the one with this `epsilon` (nats).

    A whole curve is claimed by `mu`, `rho`, `renyi` or `curve` instead.
    """

    epsilon: float | None = None
    mu: float | None = None
    rho: float | None = None
    renyi: Any = None
    curve: Any = None

    @property
    def stated_curve(self) -> Curve | None:
        """The curve that is claimed; InvalidArgument for several claims or a bad one."""
        words = {"epsilon": self.epsilon, "mu": self.mu, "rho": self.rho, "renyi": self.renyi,
                 "curve": self.curve}  # fmt: skip
        stated = [name for name, value in words.items() if value is not None]
        if len(stated) > 1:
            raise InvalidArgument(
                "one claim is stated in one way; give one of "
                f"{', '.join(f'{one}=' for one in stated)}",
                keywords=tuple(stated),
            )
        if not stated or stated == ["epsilon"]:
            return None
        try:
            return curve_of(
                mu=self.mu, rho=self.rho, renyi=self.renyi, points=self.curve, delta=self.delta
            )
        except ValueError as error:
            raise InvalidArgument(str(error), keywords=tuple(stated)) from None


def subject(mechanism: object, name: str, target: str, seeded: bool | None) -> Mechanism:
    """The mechanism under audit; a bare callable becomes one without claims.

    A `target` that begins with an attacker and "=" is seen as that attacker sees it.
    """
    if is_a(mechanism, NegativeControl):
        mechanism = mechanism.mechanism
    if not is_a(mechanism, Mechanism):
        if not callable(mechanism):
            raise InvalidArgument(
                "expected a function of (database, rng) or a Mechanism, got "
                f"{type(mechanism).__name__}"
            )
        named = attribute(mechanism, "__name__")
        label = name or (named if is_a(named, str) else "") or target or "mechanism"
        mechanism = of_marks(mechanism, label) or Mechanism(name=label, run=mechanism)
    if seeded is not None:
        mechanism = replace(mechanism, seeded=seeded)
    return seen_by(attacker_of(target), mechanism)


def of_marks(function: object, name: str) -> Mechanism | None:
    """The mechanism that a function marked with `claims` is; None for another."""
    try:
        return carried(function, name)
    except (ValueError, TypeError) as error:
        raise InvalidArgument(f"the claims of {name}: {error}") from None


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
    domain: object = None,
    curve: Curve | None = None,
) -> tuple[PrivacyClaim, ...]:
    """The privacy claims to audit: the mechanism's own, or the one the caller states.

    A claim about given pairs, or a strategy `of_pairs`, may come without a relation: it is then
    the one under which the pair is near, or only declared.
    """
    require(epsilon=epsilon, delta=delta, distance=distance)
    own = [claim for claim in mechanism.claims if isinstance(claim, PrivacyClaim)]
    if not own:
        if epsilon is None and curve is None:
            raise UnsupportedClaim(
                f"{mechanism.name} carries no privacy claim; state one with epsilon=, or with mu=, "
                "rho=, renyi= or curve=",
                keywords=("epsilon", "mu", "rho", "renyi", "curve"),
            )
        if relation is None and pair is None and not of_pairs:
            raise InvalidArgument(
                "nobody said what neighbouring databases differ in, "
                f"{' or '.join(RELATIONS)}; give it with relation=",
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
    stated = {"epsilon": epsilon, "delta": delta} if curve is None else {}
    for key, value in (*stated.items(), ("distance", distance)):
        if value is not None:
            changes[key] = value
    try:
        if curve is not None:
            own = [PrivacyClaim(epsilon=0.0, relation=one.relation, distance=one.distance,
                                examples=one.examples, curve=curve) for one in own]  # fmt: skip
        elif epsilon is not None or delta is not None:
            own = _points(own, stated=epsilon is not None)
        changed = [_pointed(replace(claim, **changes)) for claim in own]
    except (ValueError, TypeError) as error:
        raise InvalidArgument(str(error)) from None
    return tuple(dict.fromkeys(changed))


def _points(own: list[PrivacyClaim], *, stated: bool) -> list[PrivacyClaim]:
    """The claims of which an epsilon or a delta that somebody states takes the place.

    These are the ones of a single epsilon. Curves beside them are other claims; if there is nothing
    but curves, each lends its relation and databases, and its epsilon unless that is `stated`.
    """
    return [claim for claim in own if claim.curve is None] or [
        replace(claim, curve=None, identifier="", statement="", reference="",
                delta=0.0 if stated else claim.delta) for claim in own
    ]  # fmt: skip


def _pointed(claim: PrivacyClaim) -> PrivacyClaim:
    """A claim of a curve at the point that its distance gives it; another claim as it is."""
    if claim.curve is None:
        return claim
    known = PrivacyClaim.of_curve(claim.curve, claim.relation, distance=claim.distance)
    return replace(claim, epsilon=known.epsilon, delta=known.delta)


def _relation(relation: Relation | str) -> Relation:
    try:
        return Relation(relation)
    except ValueError:
        words = {known.value: known.value for known in Relation}
        raise InvalidArgument(
            f"relation must be {' or '.join(RELATIONS)}, or declared for pairs that are neighbours "
            f"because you say so, got {relation!r}"
            f"{meant(str(relation).casefold(), words)}"
        ) from None


def given_pair(pair: Pair | tuple[Database, Database] | None) -> Pair | None:
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


def require_one(pair: object, databases: object) -> None:
    """Reject a pair beside databases: nothing of the databases would be looked at."""
    if pair is not None and databases is not None:
        raise InvalidArgument(
            "pair= and databases= exclude each other, since a pair that is given is the only one "
            "judged; give one of them",
            keywords=("pair", "databases"),
        )
