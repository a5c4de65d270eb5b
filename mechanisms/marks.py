"""The claim beside the code: a mark on a function that audit, gate, pytest and init read.

    @dpwitness.claims(epsilon=1, relation="add-remove", databases=ages)
    def noisy_sum(database, rng): ...

The function stays as it is, but for one attribute. Nothing but the standard library is loaded here,
so that code which marks its functions costs nothing where nobody audits it; `model.carried` makes a
mechanism of what is marked.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from typing import Any, Literal, ParamSpec, TypeVar, get_args

Neighbours = Literal["add-remove", "replace-one", "declared"]
MARK = "__dpwitness_claims__"
"""Where they are put; `model.carried` reads it."""
F = TypeVar("F", bound=Callable[..., object])
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One claim as `claims` was given it."""

    epsilon: float | None
    delta: float | None
    relation: str
    distance: int
    curve: dict[str, object]
    databases: object
    seeded: bool
    trust_rows: bool

    def __reduce__(self) -> tuple[object, ...]:
        """Without the databases: a process that calls the function needs no strategy of them."""
        bare = replace(self, databases=None)
        return _made, (tuple(getattr(bare, name) for name in self.__dataclass_fields__),)


def _made(values: tuple[Any, ...]) -> Mark:
    return Mark(**dict(zip(Mark.__dataclass_fields__, values, strict=True)))


def _answered(make: Callable[P, R]) -> Callable[P, R]:
    """`claims`, which answers a call with wrong arguments in words."""
    known = tuple(signature(make).parameters)

    @wraps(make)
    def asked(*args: P.args, **kwargs: P.kwargs) -> R:
        form = 'write @dpwitness.claims(epsilon=1, relation="add-remove", databases=ages)'
        if args:
            raise ValueError(f"claims takes its arguments by name, in parentheses; {form}")
        for name in kwargs.keys() - known:
            near = get_close_matches(name, known, 1)
            meant = f" (did you mean {near[0]}?)" if near else ""
            raise ValueError(f"claims takes no {name!r}{meant}; it takes {', '.join(known)}")
        if "relation" not in kwargs:
            raise ValueError(
                f"claims needs relation=, what neighbouring databases differ in; {form}"
            )
        return make(*args, **kwargs)

    return asked


@_answered
def claims(
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    relation: Neighbours,
    distance: int = 1,
    mu: float | None = None,
    rho: float | None = None,
    renyi: Sequence[tuple[float, float]] | None = None,
    curve: Sequence[tuple[float, float]] | None = None,
    databases: object = None,
    seeded: bool = True,
    trust_rows: bool = False,
) -> Callable[[F], F]:
    """State beside a function of (database, rng) what it claims.

    `epsilon` (nats) with `delta`, or one curve: `mu` of Gaussian differential privacy, `rho` of
    zero-concentrated, `renyi` as several (alpha, epsilon), `curve` as several (epsilon, delta).
    `relation` says what neighbouring databases differ in, `distance` in how many records.
    `databases` is a Hypothesis strategy of databases or of pairs, a domain or a table.
    `seeded=False` declares a function that draws its own randomness, `trust_rows` one whose rows
    of a `size=` call are independent single calls.

    The function is returned as it was, with the claim in an attribute. Several claims may be
    stacked; they share their databases. Raises ValueError for a claim that is none.
    """
    stated = {"epsilon": epsilon, "mu": mu, "rho": rho, "renyi": renyi, "curve": curve}
    given: dict[str, object] = {name: one for name, one in stated.items() if one is not None}
    if len(given) != 1:
        raise ValueError(
            "claims takes one of epsilon=, mu=, rho=, renyi= and curve=, got "
            f"{' and '.join(given) or 'none'}; stack two decorators for two claims"
        )
    if relation not in get_args(Neighbours):
        raise ValueError(
            f"relation must be {', '.join(get_args(Neighbours)[:-1])} or declared, got {relation!r}"
        )
    given.pop("epsilon", None)
    mark = Mark(
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        distance=distance,
        curve=given,
        databases=databases,
        seeded=seeded,
        trust_rows=trust_rows,
    )

    def marked(function: F) -> F:
        if not callable(function):
            raise ValueError(f"claims marks a function, got {type(function).__name__}")
        before: object = ()
        with suppress(Exception):  # an attribute that is asked for is code of its author
            before = getattr(function, MARK, ())
        # A mock or a proxy answers whatever it is asked for.
        own = [one for one in before if type(one) is Mark] if type(before) is tuple else []
        try:
            setattr(function, MARK, (mark, *own))
        except Exception:  # noqa: BLE001 - what sets an attribute may be code of its author too
            raise ValueError(
                "claims marks a function of (database, rng) that Python code defines, got "
                f"{function!r:.60}; define one that calls it"
            ) from None
        return function

    return marked
