"""What a caller may ask of an audit and what the audit may spend, with all checks of it.

**Asked** are a mechanism, its claims, and a pair or databases.

**Spent** are draws, time and error probability. A `Budget` is what the caller allows. `Errors` is
the error probability that is left; it only ever gives away whole amounts, before the draws they pay
for.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ...mechanisms.model import (
    ConcentratedCurve,
    Curve,
    Database,
    Mechanism,
    NegativeControl,
    Pair,
    PrivacyClaim,
    Relation,
    RenyiCurve,
    carried,
    curve_of,
)
from ..arguments import meant
from ..asked import Neighbours, default, require
from ..attackers import ATTACKERS, seen_by
from ..databases.records import relation_of, require_meaning
from ..engines.engine import Engine
from ..errors import InvalidArgument, UnsupportedClaim
from ..sampling.kept import Keeping

GROSS = 20_000
"""Outputs, of both sides, that a whole audit may cost when the violation is gross."""
WORST = 0.9
"""Part of alpha for the worst pair of a search; the rest is for a smaller pair."""
LEARNING = 0.25
"""Part of the draws that may teach: more of them would teach less than they would count."""
LITTLE, LEARNING_OF_LITTLE = 1024, 1 / 3
"""Draws a side up to which this part of them may teach, since an event must be found at all."""
MOST_TAUGHT = 4_000_000
"""Draws a side that teach, at most."""
BESIDE, HALF, MOST = 0.1, 0.5, 0.9
"""Part of the error probability for the bets: beside a count that gives the bound, against a curve,
of which bets see what no event shows, and where nothing follows a refutation."""
Progress = Callable[[str, int, int], None]
News = Callable[[str, str], None]
"""Told of ("plan", what can be seen in the time) and ("known", what is known so far)."""


# What may be spent. ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What one call of the auditor may spend, passed whole from the caller to the last step.

    `alpha` bounds the probability of refuting any true claim. `trials` is the number of draws a
    side for the pair that decides, learning included; searching and shrinking may add as many
    again, so that an audit never makes more than 4 times `trials` draws a side. `seed` decides all
    randomness. `precision` says when to stop once the claim is refuted: None at once, a share such
    as 0.05 when the bound is known to this part of itself, 0 when all trials are used.
    `seconds` is a wall-clock limit for everything.

    Raises InvalidArgument for a number outside its range.
    """

    alpha: float = default("alpha")
    trials: int = default("trials")
    seed: int = default("seed")
    precision: float | None = default("precision")
    seconds: float | None = None

    def __post_init__(self) -> None:
        """Reject numbers outside their range, naming the number."""
        require(alpha=self.alpha, trials=self.trials, seed=self.seed, precision=self.precision,
                seconds=self.seconds)  # fmt: skip

    @property
    def searching(self) -> int:
        """Most outputs, of both sides, that the search for a pair may draw."""
        return 4 * self.trials

    @property
    def deciding(self) -> int:
        """Most outputs, of both sides, drawn from the pair that decides, to learn and to count."""
        return 2 * self.trials

    @property
    def shrinking(self) -> int:
        """Most outputs, of both sides, drawn to find a smaller pair and to count it."""
        return 2 * self.trials

    @property
    def everything(self) -> int:
        """Most outputs, of both sides, that the whole audit may draw."""
        return self.searching + self.deciding + self.shrinking


class Errors:
    """The error probability of one audit, and what of it is not spent yet.

    What is taken is spent whether or not the looks it pays for are made: a look that is reached
    only when those before it were favourable may err more often than its own level, so nothing
    comes back. This is the one place that keeps the sum of all attempts within alpha.
    """

    def __init__(self, alpha: float) -> None:
        """All of alpha is left."""
        self.alpha = alpha
        self.left = alpha

    def take(self, amount: float) -> float:
        """Spend `amount`, which must be positive and left; returns it."""
        if not 0 < amount <= self.left * (1 + 1e-12):
            raise ValueError(f"cannot spend {amount!r} of an error probability of {self.left!r}")
        self.left = max(0.0, self.left - amount)
        return amount


def most_taught(trials: int) -> int:
    """Draws a side, of so many, that may teach before the last attempt."""
    part = LEARNING if trials > LITTLE else LEARNING_OF_LITTLE
    return max(1, min(int(part * trials), MOST_TAUGHT))


def share(
    precision: float | None, claim: PrivacyClaim, *, seeded: bool, bounding: bool = False
) -> float:
    """The part of the error probability that the bets have.

    None where the largest bound is wanted, which is counted. Deciding draws of a mechanism with
    randomness of its own come from several fresh processes a count, so it is bet against only
    where the claim is about moments, which no count shows; mu is about events.
    """
    shared = seeded or isinstance(claim.curve, ConcentratedCurve | RenyiCurve)
    if bounding or precision == 0 or not shared:
        return 0.0
    if precision is None:
        return MOST
    return BESIDE if claim.curve is None else HALF


# What may be asked. ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What every function that judges a mechanism takes, stated once; `ASKED` explains it."""

    mechanism: Any = field(kw_only=False)
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
                "nobody said what neighbouring databases differ in, add-remove or replace-one; "
                "give it with relation=",
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
            "relation must be add-remove or replace-one, or declared for pairs that are neighbours "
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
