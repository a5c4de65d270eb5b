"""What the mechanisms of dependent.py promise, each exactly true of a first call, in every kind.

`claims_of(name)` has them by kind and `mechanism_of(name)` the mechanism that carries them.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import dependent
import numpy as np

from dpwitness import (
    Choices,
    EqualityClaim,
    ExpectationClaim,
    Interval,
    InvariantClaim,
    Mechanism,
    PrivacyClaim,
    Record,
    Relation,
    Rows,
    ThresholdClaim,
    UtilityClaim,
)

E = math.e
HEADS = E / (1 + E)
DATABASES = Rows(row=Choices(values=(0, 1)), max_size=3)
CALLS = Record(fields={"rows": DATABASES, "seed": Interval(low=0, high=2**32 - 1, integer=True)})


@dataclass(frozen=True)
class Law:
    """The law of one fresh call: privacy, P[loss >= t] on [1], moments of the loss, a sampler."""

    epsilon: float
    tail: Callable[[float], float]
    marks: tuple[float, ...]
    mean: float
    square: float
    sampler: Callable
    log_probability: Callable
    whole: bool = False


def loss(database, output):
    return np.abs(np.asarray(output, dtype=float) - bool(sum(database)))


def large(mark, database, output):
    return (loss(database, output) >= mark).astype(float)


def laplace(database, rng, *, size=None):
    return float(sum(database)) + rng.laplace(size=size)


def laplace_density(database, outputs):
    return -np.abs(np.asarray(outputs, dtype=float) - sum(database)) - math.log(2)


def bit(database, rng, *, size=None):
    return (rng.random(() if size is None else size) < HEADS) == bool(sum(database))


def bit_mass(database, outputs):
    right = np.asarray(outputs) == bool(sum(database))
    return np.where(right, math.log(HEADS), math.log(1 - HEADS))


def geometric(database, rng, *, size=None):
    first, second = (rng.geometric(1 - 1 / E, size=size) for _ in range(2))
    return sum(database) + first - second


def geometric_mass(database, outputs):
    away = np.abs(np.asarray(outputs, dtype=float) - sum(database))
    return math.log((1 - 1 / E) / (1 + 1 / E)) - away


def rounded(database, rng, *, size=None):
    return np.round(laplace(database, rng, size=size))


def rounded_mass(database, outputs):
    away = np.abs(np.asarray(outputs, dtype=float) - sum(database))
    return np.where(away == 0, math.log(-math.expm1(-0.5)), math.log(math.sinh(0.5)) - away)


def sampled(database, rng, *, size=None):
    kept = rng.binomial(sum(database), 0.5, size=size)
    return kept + rng.laplace(size=size)


def sampled_density(database, outputs):
    n, outputs = sum(database), np.asarray(outputs, dtype=float)
    terms = [
        math.log(math.comb(n, k)) - n * math.log(2) - np.abs(outputs - k) - math.log(2)
        for k in range(n + 1)
    ]
    return np.logaddexp.reduce(terms, axis=0)


def sampled_tail(t):
    """Of a loss of at least 1: half of the time the record is missing."""
    return (2 * math.exp(-t) + math.exp(-t - 1) + math.exp(1 - t)) / 4


def moments(tail):
    """E[X] and E[X^2] of a whole number by its tails."""
    return tuple(
        sum(w(k) * tail(k) for k in range(1, 200)) for w in (lambda k: 1, lambda k: 2 * k - 1)
    )


def geometric_tail(k):
    return 2 * math.exp(-k) / (1 + 1 / E)


def rounded_tail(k):
    return math.exp(0.5 - k)


def exponential_tail(t):
    return math.exp(-t)


def bit_tail(t):
    return 1 - HEADS


LAWS = {
    "bit": Law(1.0, bit_tail, (1,), 1 - HEADS, 1 - HEADS, bit, bit_mass, whole=True),
    "geometric": Law(
        1.0, geometric_tail, (1, 2, 4), *moments(geometric_tail), geometric, geometric_mass,
        whole=True,
    ),
    "rounded": Law(
        1.0, rounded_tail, (1, 2, 4), *moments(rounded_tail), rounded, rounded_mass, whole=True
    ),
    "sampled": Law(
        math.log((1 + E) / 2), sampled_tail, (1.0, 1.5, 4.0), 1 + 1 / (2 * E), 2.5, sampled,
        sampled_density,
    ),
    "": Law(1.0, exponential_tail, (0.5, 1.0, 4.0), 1.0, 2.0, laplace, laplace_density),
}  # fmt: skip
NAMES = [
    name
    for name, made in vars(dependent).items()
    if not name.startswith("_") and name != "forget" and callable(made)
    and not inspect.isclass(made) and getattr(made, "__module__", "") == dependent.__name__
]  # fmt: skip
BEYOND_THE_PROCESS = {"file_of_all", "sqlite_of_all", "shared_memory_by_name"}
"""Their memory is a file, or a block of memory, that every process reads."""
BY_IDENTITY = {name for name in NAMES if name.startswith("identity_of_")}
"""Their noise is a function of an address or number that this process gives: no law of its own."""


def law_of(name):
    return LAWS.get(name.partition("_")[0], LAWS[""])


def curve_of(name):
    """Two points that every mechanism of this epsilon promises, tight for randomised response."""
    epsilon = law_of(name).epsilon
    half = (math.exp(epsilon) - math.exp(epsilon / 2)) / (math.exp(epsilon) + 1)
    return [(epsilon, 0.0), (epsilon / 2, half)]


def instance(run, records):
    return run, [1] * records


SOURCE = compile(Path(dependent.__file__).read_text("utf-8"), dependent.__file__, "exec")


def margin(name, run, case):
    """Below 0 by how far a call differs from the same call of a module made anew."""
    module = {"__name__": dependent.__name__}
    exec(SOURCE, module)
    answers = [
        float(one(list(case["rows"]), np.random.default_rng(case["seed"])))
        for one in (run, module[name])
    ]
    for loop in module["_LOOP"]:
        loop.close()
    return -abs(answers[0] - answers[1])


def claims_of(name, run=None):
    """The claims by kind."""
    law, run = law_of(name), run or getattr(dependent, name)
    tails = {law.tail(mark): mark for mark in law.marks}
    first = law.marks[0]
    on = {"databases": ([1],)}
    return {
        "privacy": PrivacyClaim(epsilon=law.epsilon, relation=Relation.ADD_REMOVE),
        "tails": UtilityClaim(loss=loss, bound=tails.get, levels=tuple(tails), **on),
        "mean": ExpectationClaim(
            quantity=partial(large, first), bound=law.tail(first), high=1.0, **on
        ),
        "mean with a variance": ExpectationClaim(
            quantity=loss, bound=law.mean, variance=law.square - law.mean**2, **on
        ),
        "equality": EqualityClaim(other=law.sampler, **on),
        "sample size": ThresholdClaim(
            needed=1, instance=partial(instance, run), loss=loss,
            level=first - law.whole / 2, beta=law.tail(first),
        ),
        "invariant": InvariantClaim(cases=CALLS, margin=partial(margin, name, run)),
    }  # fmt: skip


def mechanism_of(name, run=None, *kinds):
    """The mechanism with the claims of these kinds, all if none is named, and with its density."""
    claims = claims_of(name, run)
    return Mechanism(
        name=name, run=run or getattr(dependent, name), databases=DATABASES,
        claims=tuple(claims[kind] for kind in kinds or claims),
        log_probability=law_of(name).log_probability,
    )  # fmt: skip


ALL = {name: mechanism_of(name) for name in NAMES}
globals().update(ALL)
