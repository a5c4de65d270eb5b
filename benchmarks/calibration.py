"""How often a true claim is refuted, and a planted violation, against what is promised.

    python benchmarks/calibration.py alarms [--portion 20] [--trials 600] [--minutes 60] [NAME ...]
    python benchmarks/calibration.py power [--portion 10] [--trials 20000] [NAME ...]
    python benchmarks/calibration.py stated [--portion 20] [--trials 20000] [NAME ...]
    python benchmarks/calibration.py catalogue [--portion 1] [--minutes 60] [NAME ...]
    python benchmarks/calibration.py claims [--portion 100] [--runs 2000] [NAME ...]
    python benchmarks/calibration.py page

`alarms`: every subject is exactly at its claim, so that each refutation is a false alarm; at alpha
.05 and .2. `power`: the same subjects losing 5, 10, 20 and 50 % more than claimed. `stated`:
randomized response, an event handed to the count, and an impossible value in outputs of several
forms, planted exactly at the figure that an audit states as refuted with probability .9.
`catalogue`: every mechanism with a privacy claim and every negative control of one, at the default
budget. `claims`: each kind of privacy claim at its edge, by audits of a given pair, by scores and
by guesses about canaries.

Each writes to a file of its name in benchmarks/results, a line for every portion of runs, and goes
round the subjects until each has so many `--runs`, or `--minutes` are over; called again it goes on
with the seeds that are left. A line carries version, first seed, machine and date. `page` writes
docs/calibration.md from these files; a test compares.
"""

import argparse
import csv
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from math import exp, inf
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy.special import bdtrc, ndtr

from dpwitness import (
    ConcentratedCurve,
    EqualityClaim,
    ExpectationClaim,
    GaussianCurve,
    Mechanism,
    Pair,
    PointsCurve,
    PrivacyClaim,
    Relation,
    RenyiCurve,
    Subject,
    ThresholdClaim,
    UtilityClaim,
    __version__,
    audit_claims,
    check,
)
from dpwitness.auditors.asked import Budget
from dpwitness.auditors.bounds.power import refutable_epsilon
from dpwitness.auditors.bounds.ranks import of_curve, of_epsilon
from dpwitness.auditors.bounds.two_sample import rejects
from dpwitness.auditors.choosing.choose import Lesson
from dpwitness.auditors.privacy.attempt import Test
from dpwitness.auditors.privacy.curves import at_point
from dpwitness.auditors.privacy.judge import Judging
from dpwitness.auditors.recorded.canaries import refuted_by_scores, stated_claim
from dpwitness.auditors.recorded.one_run import refuted_by_guesses
from dpwitness.auditors.sampling.sampling import Sampler
from dpwitness.mechanisms.catalogue import CATALOGUE, NEGATIVE_CONTROLS

FIELDS = (
    "subject", "planted", "alpha", "trials", "runs", "refuted",
    "version", "seed", "machine", "date",
)  # fmt: skip
RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "docs" / "calibration.md"
EXCESS = (1.05, 1.1, 1.2, 1.5)


@dataclass(frozen=True, kw_only=True)
class Tight:
    """A mechanism that loses `epsilon` times its argument, with the options of its audit."""

    make: Callable[[float], Callable[..., Any]]
    options: dict[str, Any] = field(default_factory=dict)


def answer(loss: float) -> Callable[..., Any]:
    """Randomized response of a number."""

    def run(database, rng, *, size=None):
        return np.where(rng.random(size) < 1 / (1 + exp(-loss)), database, 1 - database)

    return run


def word(loss: float) -> Callable[..., Any]:
    """Randomized response of a text, one answer a call."""
    keep = 1 / (1 + exp(-loss))

    def run(database, rng):
        return ("no", "yes")[database if rng.random() < keep else 1 - database]

    return run


def noisy(loss: float) -> Callable[..., Any]:
    """Laplace noise."""

    def run(database, rng, *, size=None):
        return database + rng.laplace(scale=1 / loss, size=() if size is None else size)

    return run


def counted(loss: float) -> Callable[..., Any]:
    """Two-sided geometric noise."""
    decay = 1 - exp(-loss)

    def run(database, rng, *, size=None):
        shape = () if size is None else size
        return database + rng.geometric(decay, shape) - rng.geometric(decay, shape)

    return run


def rare(loss: float) -> Callable[..., Any]:
    """An output of probability .03 or exp(-loss) of it."""

    def run(database, rng, *, size=None):
        return rng.random(size) < (0.03 if database else 0.03 * exp(-loss))

    return run


def leaky(loss: float) -> Callable[..., Any]:
    """A bit that is tight at (loss, .05)."""

    def run(database, rng, *, size=None):
        return rng.random(size) < (0.2, exp(loss) * 0.2 + 0.05)[database]

    return run


def pair_of(loss: float) -> Callable[..., Any]:
    """A tuple of two noisy numbers, of which the first shows the loss."""

    def run(database, rng):
        return database + rng.laplace(scale=1 / loss), rng.laplace()

    return run


def named(loss: float) -> Callable[..., Any]:
    """A dict with a noisy number, and a flag that says nothing."""

    def run(database, rng):
        return {"x": database + rng.laplace(scale=1 / loss), "flag": rng.random() < 0.5}

    return run


def sometimes(loss: float) -> Callable[..., Any]:
    """None or a number; how often it is None shows the loss."""

    def run(database, rng):
        return None if rng.random() < (0.3 * exp(-loss), 0.3)[database] else rng.random()

    return run


def vector(loss: float) -> Callable[..., Any]:
    """Laplace noise on each of three coordinates, which share the loss."""

    def run(database, rng, *, size=None):
        shape = (3,) if size is None else (size, 3)
        return database / 3 + rng.laplace(scale=1 / loss, size=shape)

    return run


def gaussian(loss: float) -> Callable[..., Any]:
    """Gaussian noise of standard deviation 1 over `loss`."""

    def run(database, rng, *, size=None):
        return database + rng.normal(scale=1 / loss, size=() if size is None else size)

    return run


def summed(loss: float) -> Callable[..., Any]:
    """A noisy sum of bits, whose pairs must be searched for."""

    def run(database, rng, *, size=None):
        return sum(database) + rng.laplace(scale=1 / loss, size=() if size is None else size)

    return run


def raising(loss: float) -> Callable[..., Any]:
    """Randomized response whose answer no is an exception."""

    def run(database, rng):
        if rng.random() < 1 / (1 + exp((2 * database - 1) * loss)):
            raise LookupError
        return "yes"

    return run


def claiming(loss: float) -> Mechanism:
    """Two independent randomized responses, with a tight claim of each kind about both."""
    keep = 1 / (1 + exp(-loss))

    def run(database, rng, *, size=None):
        shape = (2,) if size is None else (size, 2)
        return np.where(rng.random(shape) < keep, database, 1 - database)

    claims = (
        PrivacyClaim(epsilon=2.0, relation=Relation.DECLARED),
        # At epsilon 1 only two answers that both speak for one database exceed the claim.
        PrivacyClaim(
            epsilon=1.0,
            delta=(1 / (1 + exp(-1.0))) ** 2 - exp(1.0) * (1 / (1 + exp(1.0))) ** 2,
            relation=Relation.DECLARED,
        ),
    )
    return Mechanism(name="two responses", run=run, claims=claims)


GIVEN: dict[str, Any] = {"pair": (0, 1), "epsilon": 1.0}
BITS = st.lists(st.integers(0, 1), max_size=4)
SEARCHED: dict[str, Any] = {"databases": BITS, "epsilon": 1.0, "relation": "add-remove"}
PRIVACY = {
    "response, number": Tight(make=answer, options=GIVEN),
    "response, text, single calls": Tight(make=word, options=GIVEN),
    "geometric, integer": Tight(make=counted, options=GIVEN),
    "laplace, float": Tight(make=noisy, options=GIVEN),
    "rare output": Tight(make=rare, options=GIVEN),
    "delta .05": Tight(make=leaky, options={**GIVEN, "delta": 0.05}),
    "gaussian, its own delta": Tight(
        # Balle and Wang (2018): delta at epsilon 1 for a shift of one standard deviation.
        make=gaussian,
        options={**GIVEN, "delta": float(ndtr(-0.5) - exp(1.0) * ndtr(-1.5))},
    ),
    "tuple, single calls": Tight(make=pair_of, options=GIVEN),
    "dict, single calls": Tight(make=named, options=GIVEN),
    "None or a number": Tight(make=sometimes, options=GIVEN),
    "vector of three": Tight(make=vector, options=GIVEN),
    "two steps apart": Tight(
        make=summed,
        options={"pair": ([], [1, 1]), "epsilon": 1.0, "distance": 2, "relation": "add-remove"},
    ),
    "precision none": Tight(make=answer, options={**GIVEN, "precision": None}),
    "precision 0": Tight(make=answer, options={**GIVEN, "precision": 0.0}),
    "unseeded": Tight(make=answer, options={**GIVEN, "seeded": False}),
    "exceptions as outputs": Tight(
        make=raising, options={**GIVEN, "exceptions": "output", "whole": True}
    ),
    "two claims, one alpha": Tight(make=claiming, options={"pair": (0, 1), "whole": True}),
    "searched": Tight(make=summed, options={**SEARCHED, "whole": True}),
    "whole audit, given pair": Tight(make=answer, options={**GIVEN, "whole": True}),
}


def _shape(size: Any) -> Any:
    return () if size is None else size


def _uniform(database: Any, rng: Any, *, size: Any = None) -> Any:
    return rng.random(_shape(size))


def _plain(database: Any, output: Any) -> Any:
    return np.asarray(output, dtype=float)


def other_claims() -> dict[str, Subject]:
    """One exactly tight claim of each kind that draws decide, privacy apart."""
    uniform = Mechanism(name="uniform", run=_uniform)
    exponential = Mechanism(
        name="exponential",
        run=lambda database, rng, *, size=None: rng.exponential(size=_shape(size)),
    )
    return {
        "utility": Subject(
            claim=UtilityClaim(loss=_plain, bound=lambda beta: 1 - beta, databases=([],)),
            mechanism=uniform,
        ),
        "sample size": Subject(
            claim=ThresholdClaim(
                needed=1, instance=lambda n: (_uniform, []), loss=_plain, level=0.9, beta=0.1
            )
        ),
        "mean": Subject(
            claim=ExpectationClaim(quantity=_plain, bound=1.0, databases=([],)),
            mechanism=exponential,
        ),
        "mean with a variance": Subject(
            claim=ExpectationClaim(
                quantity=_plain, bound=1.0, databases=([],), low=-inf, variance=1.0
            ),
            mechanism=exponential,
        ),
        "equality": Subject(
            claim=EqualityClaim(other=_uniform, databases=([],)),
            mechanism=uniform,
        ),
    }


def audits(name: str, loss: float, *, alpha: float, trials: int, seeds: range) -> int:
    """Refutations of a subject of PRIVACY that loses `loss` where 1 is claimed.

    Given pairs are judged by the very steps of an audit, without those before and after it (the
    checks of the contract, the fingerprint, the figures of power), unless the `whole` is wanted.
    An audit of several claims refutes if it refutes one of them.
    """
    tight, refuted = PRIVACY[name], 0
    options = {"trials": trials, "alpha": alpha, **tight.options}
    whole = options.pop("whole", False)
    for seed in seeds:
        mechanism = tight.make(loss)
        if whole:
            found = audit_claims(mechanism, seed=seed, **options)
            refuted += any(one.refuted for one in found)
            continue
        claim = PrivacyClaim(
            epsilon=1.0,
            delta=options.get("delta", 0.0),
            distance=options.get("distance", 1),
            relation=Relation.DECLARED,
        )
        judging = Judging(
            Sampler(run=mechanism, seed=seed, seeded=options.get("seeded", True)),
            Pair(*options["pair"]),
            Test(claim=claim, trials=trials, alpha=alpha),
            precision=options.get("precision", 0.05),
        )
        judging.run()
        refuted += judging.refuted
    return refuted


Cell = tuple[str, float, float, Callable[[range], int]]
"""Subject, what is planted, alpha, and how many of these seeds refute."""


def alarms(options: argparse.Namespace) -> Iterator[Cell]:
    """Cells of the table of false alarms."""
    others = other_claims()
    for alpha in (0.05, 0.2):
        for name in PRIVACY:
            yield (
                name,
                1.0,
                alpha,
                lambda seeds, name=name, alpha=alpha: audits(
                    name, 1.0, alpha=alpha, trials=options.trials, seeds=seeds
                ),
            )
        for name, subject in others.items():
            yield (
                name,
                1.0,
                alpha,
                lambda seeds, subject=subject, alpha=alpha: sum(
                    check(subject, alpha=alpha, trials=options.trials, seed=seed).refuted
                    for seed in seeds
                ),
            )


def power(options: argparse.Namespace) -> Iterator[Cell]:
    """Cells of the table of planted violations."""
    for name in PRIVACY:
        for excess in EXCESS:
            yield (
                name,
                excess,
                0.05,
                lambda seeds, name=name, excess=excess: audits(
                    name, excess, alpha=0.05, trials=options.trials, seeds=seeds
                ),
            )


def stated(options: argparse.Namespace) -> Iterator[Cell]:
    """Cells of violations planted exactly at the figure that is stated with power .9."""
    trials = options.trials
    for alpha in (0.05, 1e-3):
        for p in (0.5, 0.05):
            planted = refutable_epsilon(p, (trials, trials), epsilon=1.0, delta=0, level=alpha)
            yield (
                f"event of probability {p} handed over",
                planted,
                alpha,
                _handed(p, planted, trials, alpha),
            )
        given = {**GIVEN, "trials": trials, "alpha": alpha}
        figure = quiet(answer(1.0), given).detectable_epsilon
        yield "response, whole audit", figure, alpha, _whole(answer(figure), given)
        for name, make in IMPOSSIBLE.items():
            chance = quiet(make(0.0), given).detectable_probability
            yield f"impossible value, {name}", chance, alpha, _whole(make(chance), given)


def _handed(p: float, planted: float, trials: int, alpha: float) -> Callable[[range], int]:
    def refuted(seeds: range) -> int:
        rng = np.random.default_rng(seeds.start)
        hits = zip(
            rng.binomial(trials, p, len(seeds)).tolist(),
            rng.binomial(trials, p * exp(-planted), len(seeds)).tolist(),
            strict=True,
        )
        return sum(rejects(xy, (trials, trials), epsilon=1.0, delta=0, level=alpha) for xy in hits)

    return refuted


def _whole(mechanism: Any, options: dict[str, Any]) -> Callable[[range], int]:
    def refuted(seeds: range) -> int:
        return sum(
            audit_claims(mechanism, seed=seed, **options, precision=None)[0].refuted
            for seed in seeds
        )

    return refuted


def quiet(mechanism: Callable[..., Any], options: dict[str, Any]) -> Any:
    """The first audit that refutes nothing; its seeds are used for nothing else."""
    audits = (audit_claims(mechanism, seed=10**6 + n, **options)[0] for n in range(100))
    return next(one for one in audits if not one.refuted)


def impossible(chance: float) -> Callable[..., Any]:
    """Ten numbers of Laplace noise; the first is 1000 with this chance under one database."""

    def run(database, rng, *, size=None):
        rows = 1 if size is None else size
        out = rng.laplace(size=(rows, 10))
        out[(rng.random(rows) < chance) & bool(database), 0] = 1000.0
        return out[0] if size is None else out

    return run


def hidden(chance: float) -> Callable[..., Any]:
    """Three numbers of Laplace noise in a tuple; the last is 0 with this chance."""

    def run(database, rng):
        one, two, three = rng.laplace(size=3).tolist()
        return one, two, 0.0 if database and rng.random() < chance else three

    return run


def worded(chance: float) -> Callable[..., Any]:
    """One of a hundred words; with this chance a word that one database never gives."""

    def run(database, rng):
        leak = rng.random() < chance
        return "leak" if database and leak else f"word {rng.integers(100)}"

    return run


IMPOSSIBLE = {"first of ten numbers": impossible, "last of a tuple": hidden, "a text": worded}


def catalogue(options: argparse.Namespace) -> Iterator[Cell]:
    """Cells of the catalogue at the default budget: a true claim, or a planted break of one."""
    default = Budget()

    def refuted(mechanism: Mechanism, claim: PrivacyClaim | None) -> Callable[[range], int]:
        def broken(seed: int) -> bool:
            found = audit_claims(mechanism, seed=seed)
            return any(one.refuted for one in found if claim in (None, one.claim))

        return lambda seeds: sum(map(broken, seeds))

    options.trials = default.trials
    for mechanism in CATALOGUE:
        if any(isinstance(claim, PrivacyClaim) for claim in mechanism.claims):
            yield mechanism.name, 1.0, default.alpha, refuted(mechanism, None)
    for control in NEGATIVE_CONTROLS:
        if isinstance(control.breaks, PrivacyClaim) and control.detectable:
            name = f"control {control.mechanism.name}"
            yield name, inf, default.alpha, refuted(control.mechanism, control.breaks)


def coins(p: float, q: float) -> Callable[..., Any]:
    """One bit, 1 with probability p of database 1 and q of 0."""

    def run(database, rng, *, size=None):
        return (rng.random(size) < (p if database else q)).astype(int)

    return run


def touching(curve: Any, q: float, steps: int = 1) -> Callable[..., Any]:
    """Two coins on the curve at q, by its own line there; f is iterated for several steps."""
    p = q
    for _ in range(steps):
        epsilon, delta = curve.line(p)
        p = min(exp(epsilon) * p + delta, 1.0)
    return coins(p, q)


MU, RHO = GaussianCurve(1.0), ConcentratedCurve(0.2)
PART, POINTS = ConcentratedCurve(0.2, 0.05), PointsCurve(((0.8, 0.02), (0.4, 0.1)))
ORDERS = RenyiCurve(((2.0, 0.5), (6.0, 2.0)))
EDGES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "epsilon": (answer(1.0), {"epsilon": 1.0}),
    "epsilon and delta": (leaky(1.0), {"epsilon": 1.0, "delta": 0.05}),
    "epsilon, two steps": (answer(2.0), {"epsilon": 1.0, "distance": 2}),
    "mu, an event": (touching(MU, 0.1), {"mu": 1.0}),
    "mu, Gaussian": (gaussian(1.0), {"mu": 1.0}),
    "mu, two steps": (touching(GaussianCurve(0.5), 0.1, 2), {"mu": 0.5, "distance": 2}),
    "rho, an event": (touching(RHO, 0.2), {"rho": 0.2}),
    "rho, moments of a Gaussian": (gaussian(1.0), {"rho": 0.5}),
    "rho with delta": (touching(PART, 0.1), {"rho": 0.2, "delta": 0.05}),
    "Renyi, an event": (touching(ORDERS, 0.25), {"renyi": ORDERS.bounds}),
    "Renyi, moment of a Gaussian": (gaussian(1.0), {"renyi": ((2.0, 1.0),)}),
    "points": (touching(POINTS, 0.15), {"curve": POINTS.points}),
}
"""Mechanisms on (0, 1) exactly at what is claimed: at one event, or at a moment of all outputs."""
SCORED: dict[str, tuple[Any, float]] = {
    "scores: epsilon": (of_epsilon(0.0), 1.0),
    "scores: epsilon and delta": (of_epsilon(0.02), 1.0),
    "scores: epsilon, two steps": (of_epsilon(0.01, 2), 0.5),
    "scores: mu": (of_curve(MU), 1.0),
    "scores: rho": (of_curve(ConcentratedCurve(1.0)), 0.5),
    "scores: rho with delta": (of_curve(ConcentratedCurve(1.0, 0.02)), 0.5),
    "scores: Renyi": (of_curve(RenyiCurve(((2.0, 1.0), (8.0, 4.0)))), 1.0),
    "scores: points": (of_curve(PointsCurve(((0.5, 0.1), (2.0, 1e-3)))), 1.0),
}
"""Families of claims and the parameter of one; scores of both sides lie on its edge."""
GUESSED: dict[str, dict[str, Any]] = {
    "one run: epsilon": {"epsilon": 1.0},
    "one run: epsilon and delta": {"epsilon": 1.0, "delta": 1e-3},
    "one run: mu": {"mu": 1.0},
    "one run: rho": {"rho": 0.2},
    "one run: points": {"curve": [(1.0, 0.0), (0.4, 0.1)]},
}
"""Claims about one canary, each put in by a coin; its score is as telling as the claim allows."""
UNSTATED = {
    "epsilon": None, "delta": None, "mu": None, "rho": None, "renyi": None, "curve": None,
    "distance": 1,
}  # fmt: skip
SCORES = 300


def edge_of(family: Any, size: float) -> tuple[Any, Any]:
    """Chances (q, p) of the events {score > t} of two laws on a claim's edge in both orders."""
    q = np.concatenate([[0.0], np.geomspace(1e-9, 0.5, 50_000)])
    q = np.concatenate([q, 1 - q[-2::-1]])
    p = np.min([slope * q + rest for slope, rest in zip(*family(size), strict=True)], axis=0)
    p = np.maximum.accumulate(np.minimum(p, 1))
    # 1 - q <= f(1 - p), as the claim says of the complements in the other order.
    first = int(np.argmax(p >= 1))
    other = 1 - np.interp(1 - q, p[: first + 1], q[: first + 1], left=0.0)
    return q, np.maximum.accumulate(np.minimum(p, other))


def scored(name: str, alpha: float, seeds: range) -> int:
    """Refutations by the scores of laws on the edge, by the same steps as `scores`."""
    family, size = SCORED[name]
    (q, p), refuted = edge_of(family, size), 0
    for seed in seeds:
        rng = np.random.default_rng([28, seed])
        inside, outside = -np.interp(rng.random(SCORES), p, q, left=0.0), -rng.random(SCORES)
        refuted += refuted_by_scores(inside, outside, family, size, alpha=alpha, seed=seed)
    return refuted


def guessed(name: str, alpha: float, seeds: range) -> int:
    """Refutations by guesses about canaries at the edge, by the same steps as `scores_of_one_run`.

    A score is Gaussian for mu. Else it tells the canary's side truly with the largest chance that
    the claim allows, and gives it away with probability delta.
    """
    claim, refuted = GUESSED[name], 0
    delta = claim.get("delta", 0.0)
    keep = 1 / (1 + exp(-1.0))
    if "rho" in claim or "curve" in claim:
        curve = ConcentratedCurve(claim["rho"]) if "rho" in claim else PointsCurve(claim["curve"])
        # Truly with chance p and falsely with 1 - p, where p = f(1 - p).
        keep = min(
            (exp(e) + d) / (1 + exp(e))
            for e, d in (curve.line(q) for q in np.linspace(0.001, 0.499, 499))
        )
    stated = stated_claim(**{**UNSTATED, **claim})
    for seed in seeds:
        rng = np.random.default_rng([29, seed])
        member = rng.random(SCORES) < 0.5
        values = rng.normal(member, 1)
        if "mu" not in claim:
            values = np.where(rng.random(SCORES) < keep, member, ~member).astype(float)
            values = np.where(rng.random(SCORES) < delta, 3.0 * member - 1, values)
        refuted += refuted_by_guesses(values, member, stated, alpha=alpha, seed=seed)
    return refuted


def judged(
    run: Callable[..., Any], claim: PrivacyClaim, alpha: float, trials: int, seed: int
) -> bool:
    """Whether the steps of an audit refute the claim on (0, 1), the choice of a point included."""
    sampler = Sampler(run=run, seed=seed, trust_rows=True, in_process=True)
    pair, pilot = Pair(0, 1), None
    if claim.curve is not None:
        draw = partial(sampler.draw, pair, "pilot")
        claim, pilot = at_point(claim, Lesson(), draw, trials=trials, level=alpha)
    judging = Judging(sampler, pair, Test(claim=claim, trials=trials, alpha=alpha), precision=0.05)
    judging.run(opening=pilot)
    return judging.refuted


def edges(options: argparse.Namespace) -> Iterator[Cell]:
    """Cells of the table of each kind of claim at its edge."""

    def audited(name: str, alpha: float, seeds: range) -> int:
        run, stated = EDGES[name]
        claim = stated_claim(**{**UNSTATED, **stated})
        assert claim is not None
        return sum(judged(run, claim, alpha, options.trials, seed) for seed in seeds)

    for names, judge in ((EDGES, audited), (SCORED, scored), (GUESSED, guessed)):
        for name in names:
            for alpha in (0.05, 0.2):
                yield name, 1.0, alpha, partial(judge, name, alpha)


def row(options: argparse.Namespace, cell: Cell, seeds: range) -> dict[str, Any]:
    """One line of a file."""
    subject, planted, alpha, refuted = cell
    return {
        "subject": subject,
        "planted": f"{planted:.5g}",
        "alpha": alpha,
        "trials": options.trials,
        "runs": len(seeds),
        "refuted": refuted(seeds),
        "version": __version__,
        "seed": seeds.start,
        "machine": f"{platform.machine()}, Python {platform.python_version()}, "
        f"numpy {np.__version__}",
        "date": date.today().isoformat(),
    }


TABLES = {
    "alarms": (alarms, 20, 600),
    "power": (power, 10, 20_000),
    "stated": (stated, 20, 20_000),
    "catalogue": (catalogue, 1, 200_000),
    "claims": (edges, 100, 1000),
}
"""Who makes the cells of a table, runs of a line, and trials."""


def read(table: str) -> list[dict[str, str]]:
    """The lines of one table that are kept; none where there is no file."""
    place = RESULTS / f"{table}.csv"
    if not place.exists():
        return []
    with place.open(newline="") as file:
        return list(csv.DictReader(file))


def write(options: argparse.Namespace) -> None:
    """Add portions of runs to the file of a table, round after round."""
    make, portion, trials = TABLES[options.table]
    options.trials = options.trials or trials
    portion = options.portion or portion
    place = RESULTS / f"{options.table}.csv"
    place.parent.mkdir(exist_ok=True)
    done = {
        (line["subject"], line["planted"], float(line["alpha"]), int(line["trials"])): 0
        for line in read(options.table)
    }
    for line in read(options.table):
        key = (line["subject"], line["planted"], float(line["alpha"]), int(line["trials"]))
        done[key] = max(done[key], int(line["seed"]) + int(line["runs"]))
    cells = [
        cell
        for cell in make(options)
        if not options.names or any(part in cell[0] for part in options.names)
    ]
    started, new = monotonic(), not place.exists()
    with place.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if new:
            writer.writeheader()
        while cells:
            for cell in tuple(cells):
                if options.minutes and monotonic() - started > 60 * options.minutes:
                    return
                key = (cell[0], f"{cell[1]:.5g}", cell[2], options.trials)
                start = done.get(key, 0)
                if start >= options.runs:
                    cells.remove(cell)
                    continue
                writer.writerow(row(options, cell, range(start, start + portion)))
                file.flush()
                done[key] = start + portion


def page() -> str:
    """docs/calibration.md, from the files."""
    parts = [HEAD]
    for table, (title, text) in TOLD.items():
        lines = read(table)
        if not lines:
            continue
        cells: dict[tuple[str, ...], list[int]] = {}
        for line in lines:
            key = tuple(line[name] for name in ("subject", "planted", "alpha", "trials"))
            total = cells.setdefault(key, [0, 0])
            total[0] += int(line["runs"])
            total[1] += int(line["refuted"])
        made = sorted({(line["date"], line["version"], line["machine"]) for line in lines})
        parts.append(f"## {title}\n\n{text}\n")
        parts.append("| subject | planted | alpha | trials | runs | refuted | share | chance |")
        parts.append("|---|---|---|---|---|---|---|---|")
        for (subject, planted, alpha, trials), (runs, refuted) in cells.items():
            tight = table in ("alarms", "claims") or (table == "catalogue" and planted == "1")
            chance = (
                f"{float(bdtrc(refuted - 1, runs, float(alpha))):.2g}" if tight and refuted else ""
            )
            parts.append(
                f"| {subject} | {planted} | {alpha} | {int(trials):,} | {runs:,} | {refuted:,} | "
                f"{refuted / runs:.3f} | {chance} |"
            )  # fmt: skip
        if table == "alarms":
            for level in sorted({alpha for _, _, alpha, _ in cells}):
                both = np.sum([cells[key] for key in cells if key[2] == level], axis=0)
                runs, refuted = map(int, both)
                chance = float(bdtrc(refuted - 1, runs, float(level)))
                parts.append(
                    f"| **all together** | 1 | {level} |  | {runs:,} | {refuted:,} | "
                    f"{refuted / runs:.3f} | {chance:.2g} |"
                )
        told = "; ".join(f"{day}, dpwitness {version}, {machine}" for day, version, machine in made)
        parts.append(f"\nMeasured {told}. The seeds are in `benchmarks/results/{table}.csv`.\n")
    return "\n".join(parts)


HEAD = """# Calibration

How often true claims were refuted, and planted violations, against what is promised. This page is
written by `python benchmarks/calibration.py page` from the files in `benchmarks/results`, which the
same command makes; nothing in it is typed.
"""

TOLD = {
    "claims": (
        "Every kind of claim at its edge",
        "Audits of a pair that is given: two coins that touch the claim at one event, or Gaussian "
        "noise whose every moment is what the claim allows; the point of a curve, bets, looks and "
        "counts are chosen as ever. 300 scores a side, and 300 canaries of one run, exactly on the "
        "edge. Each refutation is a false alarm; `chance` as below.",
    ),
    "alarms": (
        "False alarms",
        "Every subject is exactly at its claim, so that each refutation is a false alarm. `chance` "
        "is the probability of so many or more if each run were a false alarm with probability "
        "alpha; where several dozen cells are looked at, a value below 1e-4 would speak against "
        "the promise.",
    ),
    "power": (
        "Planted violations",
        "The same subjects losing 1.05, 1.1, 1.2 and 1.5 where 1 is claimed: the share of runs "
        "that refute the claim. Where an event must be learnt, this is less than the figure of an "
        "event handed to the count.",
    ),
    "stated": (
        "Planted exactly at the stated figure",
        "What a run of the same budget that found nothing states as refuted with probability .9: a "
        "loss for events, a probability for values that one database never gives.",
    ),
    "catalogue": (
        "The whole catalogue at the default budget",
        "Mechanisms whose claims are true (planted 1) must not be refuted, negative controls "
        "(planted inf) must be.",
    ),
}


def main() -> None:
    """Write lines as they come, or the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("table", choices=(*TABLES, "page"))
    parser.add_argument("names", nargs="*", help="parts of names; all without any")
    parser.add_argument("--portion", type=int, default=0, help="runs of one line")
    parser.add_argument("--trials", type=int, default=0)
    parser.add_argument("--runs", type=float, default=inf, help="of each subject, with all before")
    parser.add_argument("--minutes", type=float, default=0.0, help="stop after so long")
    options = parser.parse_intermixed_args()
    if options.table == "page":
        PAGE.write_text(page(), "utf-8")
    else:
        write(options)


if __name__ == "__main__":
    main()
