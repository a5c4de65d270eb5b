"""What a caller may ask of an audit, and all checks of it: the mechanism, its claims and a pair."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ...mechanisms.model import (
    Curve,
    Mechanism,
    NegativeControl,
    PrivacyClaim,
    Relation,
    carried,
    curve_of,
)
from ..arguments import meant
from ..attackers import ATTACKERS, seen_by
from ..databases.distance import relation_of, require_meaning
from ..engines.engine import Engine
from ..errors import InvalidArgument, UnsupportedClaim
from ..results.results import Pair
from ..sampling.kept import Keeping
from .budget import Budget

Progress = Callable[[str, int, int], None]
News = Callable[[str, str], None]
"""Told of ("plan", what can be seen in the time) and ("known", what is known so far)."""
Neighbours = Literal["add-remove", "replace-one", "declared"]
"""A relation in a word; an editor underlines any other."""


ARGUMENTS = {
    "mechanism": "A function f(database, rng) or f(database, rng, *, size=None), a `Mechanism`, or "
    "the text that names one, such as file.py:function or a name of the catalogue.",
    "epsilon": "The claimed privacy loss in nats; by default the mechanism's own claims.",
    "delta": "The probability with which the loss may be larger than epsilon.",
    "mu": "In place of epsilon: Gaussian differential privacy with this parameter is claimed.",
    "rho": "In place of epsilon: zero-concentrated differential privacy; with delta approximate.",
    "renyi": "In place of epsilon: one or several (alpha, epsilon) of Renyi differential privacy.",
    "curve": "In place of epsilon: several (epsilon, delta) that are claimed at once, or an "
    "accountant of dp_accounting, jax_privacy or Opacus that tells them.",
    "relation": 'What neighbouring databases differ in: "add-remove", "replace-one" or "declared".',
    "distance": "How many records they differ in, 1 unless said; epsilon is for one step.",
    "databases": "A Hypothesis strategy of databases or of `Pair`, a domain, or a table.",
    "pair": "Two databases in place of a search; only these are judged.",
    "histogram": "Whether the lists of `pair` count records, one number for each bin.",
    "trials": "Runs per database of the pair that decides; never more than 4 times as many in all.",
    "notice": "In place of trials: as many as detect a loss of so many times the claim (`plan`).",
    "seconds": "Wall-clock time for everything; the number of runs then depends on the machine.",
    "precision": "When to stop once the claim is refuted: 0.05 when the bound is known to 5 %, "
    "None at once, 0 when all trials are used.",
    "alpha": "The probability of refuting any true claim in this call is at most this.",
    "seed": "Decides all randomness: the same seed gives the same bits for any number of workers.",
    "workers": "Processes that make the runs.",
    "seeded": "False declares a mechanism that ignores the generator it is given.",
    "timeout": "The longest that one call may take, in seconds.",
    "progress": "Called with (stage, done, total) while runs are made.",
    "news": 'Called with ("plan", what slow calls can show in `seconds`) before any is judged, '
    'and with ("known", what is known so far).',
    "kept": "Called with the `KeptDraws` of a slow mechanism if the audit ends before its verdict; "
    "their `text()` is a file for `dpwitness judge`.",
    "target": "The text that names the mechanism in reports and replay commands.",
    "name": "What the mechanism is called in reports.",
    "exceptions": '"output" makes the type of what a call raises its output; with "error" an '
    "exception ends the audit.",
    "attacker": 'What is judged of the outputs: their "values", also the "bits" of their numbers, '
    'or also their Python "types".',
    "show_output": "Whether what the mechanism prints is shown.",
    "trust_rows": "True declares that the rows of a size= call are independent single calls, so "
    "that they are counted; by default they only help to search.",
    "in_process": "Call the mechanism in this process, for a debugger; no run is made again.",
    "explain": "Name the lines of the mechanism that spend the loss, as `cause`; None does so if "
    "the claim is refuted.",
    "exact": "Enumerate the exact laws of discrete randomness: True asks for them, None tries "
    "where it costs little, False leaves them out.",
    "engine": "An `Engine` that says where runs are made; it changes no count.",
}
"""Every argument in a sentence, for the documentation of all functions of a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What every function that judges a mechanism takes, stated once; `ARGUMENTS` explains it."""

    mechanism: Any = field(kw_only=False)
    delta: float | None = None
    relation: Relation | Neighbours | None = None
    distance: int | None = None
    databases: Any = None
    pair: Pair | tuple[Any, Any] | None = None
    histogram: bool = False
    trials: int = 200_000
    notice: float | None = None
    seconds: float | None = None
    precision: float | None = 0.05
    alpha: float = 1e-3
    seed: int = 0
    workers: int = 1
    seeded: bool | None = None
    timeout: float = 10.0
    progress: Progress | None = None
    news: News | None = None
    kept: Keeping | None = None
    target: str = ""
    name: str = ""
    exceptions: Literal["error", "output"] = "error"
    attacker: Literal["values", "bits", "types"] = "values"
    show_output: bool = False
    trust_rows: bool | None = None
    in_process: bool = False
    explain: bool | None = False
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


def of_marks(function: Any, name: str) -> Mechanism | None:
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
    domain: Any = None,
    curve: Curve | None = None,
) -> tuple[PrivacyClaim, ...]:
    """The privacy claims to audit: the mechanism's own, or the one the caller states.

    A claim about given pairs, or a strategy `of_pairs`, may come without a relation: it is then
    the one under which the pair is near, or only declared.
    """
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
            own = [replace(claim, curve=None) for claim in own]
        changed = [_pointed(replace(claim, **changes)) for claim in own]
    except (ValueError, TypeError) as error:
        raise InvalidArgument(str(error)) from None
    return tuple(dict.fromkeys(changed))


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
