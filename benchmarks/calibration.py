"""How often a true claim is refuted, and a planted violation, against what is promised.

    python benchmarks/calibration.py alarms [--runs 1000] [--trials 2000] [--out FILE] [NAME ...]
    python benchmarks/calibration.py power [--runs 100] [--trials 20000] [--out FILE] [NAME ...]
    python benchmarks/calibration.py stated [--runs 300] [--trials 20000] [--out FILE]

`alarms`: every subject is exactly at its claim, so that each refutation is a false alarm; at alpha
.05 and .2. The column `chance` is the probability of so many or more if each run were a false alarm
with probability alpha: a value below 1e-4 would speak against the promise. `power`: the same
subjects losing 5, 10, 20 and 50 % more than claimed. `stated`: randomized response, an event handed
to the count, and an impossible output of a vector of ten, planted exactly at the figure that an
audit states as refuted with probability .9. Every row carries version, seed, machine and date.
docs/calibration.md reads the files in benchmarks/results.
"""

import argparse
import csv
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from math import exp, inf
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy.special import bdtrc, ndtr

from dpwitness import (
    EqualityClaim,
    ExpectationClaim,
    Mechanism,
    Pair,
    PrivacyClaim,
    Relation,
    Subject,
    ThresholdClaim,
    UtilityClaim,
    __version__,
    audit_claims,
    check,
)
from dpwitness.auditors.bounds.two_sample import rejects
from dpwitness.auditors.privacy.attempt import Test
from dpwitness.auditors.privacy.judge import Judging
from dpwitness.auditors.privacy.power import detectable_epsilon
from dpwitness.auditors.sampling.sampling import Sampler

FIELDS = (
    "table", "subject", "planted", "alpha", "trials", "runs", "refuted", "share", "chance",
    "version", "seed", "machine", "date",
)  # fmt: skip
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
    "searched": Tight(make=summed, options=SEARCHED),
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


def audits(name: str, loss: float, *, alpha: float, trials: int, runs: int, seed: int) -> int:
    """Refutations of a subject of PRIVACY that loses `loss` where 1 is claimed.

    Given pairs are judged by the very steps of an audit, without those before and after it: the
    checks of the contract, the fingerprint and the figures of power.
    """
    tight, refuted = PRIVACY[name], 0
    for run in range(seed, seed + runs):
        mechanism = tight.make(loss)
        options = {"trials": trials, "alpha": alpha, "seed": run, **tight.options}
        if "databases" in tight.options:
            refuted += audit_claims(mechanism, **options)[0].refuted
            continue
        claim = PrivacyClaim(
            epsilon=1.0,
            delta=options.get("delta", 0.0),
            distance=options.get("distance", 1),
            relation=Relation.DECLARED,
        )
        judging = Judging(
            Sampler(run=mechanism, seed=run, seeded=options.get("seeded", True)),
            Pair(*options["pair"]),
            Test(claim=claim, trials=trials, alpha=alpha),
            precision=options.get("precision", 0.05),
        )
        judging.run()
        refuted += judging.refuted
    return refuted


def alarms(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Rows of the table of false alarms."""
    others = other_claims()
    for alpha in (0.05, 0.2):
        for name in chosen([*PRIVACY, *others], options.names):
            if name in PRIVACY:
                refuted = audits(
                    name, 1.0, alpha=alpha, trials=options.trials, runs=options.runs,
                    seed=options.seed,
                )  # fmt: skip
            else:
                refuted = sum(
                    check(
                        others[name], alpha=alpha, trials=options.trials, seed=options.seed + run
                    ).refuted
                    for run in range(options.runs)
                )
            chance = float(bdtrc(refuted - 1, options.runs, alpha)) if refuted else 1.0
            yield row(options, "alarms", name, 1.0, alpha, refuted, f"{chance:.3g}")


def power(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Rows of the table of planted violations."""
    for name in chosen(list(PRIVACY), options.names):
        for excess in EXCESS:
            refuted = audits(
                name, excess, alpha=0.05, trials=options.trials, runs=options.runs,
                seed=options.seed,
            )  # fmt: skip
            yield row(options, "power", name, excess, 0.05, refuted, "")


def stated(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Rows of violations planted exactly at the figure that is stated with power .9."""
    rng = np.random.default_rng(options.seed)
    for alpha in (0.05, 1e-3):
        trials = options.trials
        counted_on = trials - trials // 4
        level = 0.7 * alpha
        planted = detectable_epsilon(
            (0.5, 0.5 * exp(-1.0)), (counted_on, counted_on), epsilon=1.0, delta=0, level=level
        )
        q = 0.5 * exp(-1.0)
        hits = zip(
            rng.binomial(counted_on, q * exp(planted), options.runs).tolist(),
            rng.binomial(counted_on, q, options.runs).tolist(),
            strict=True,
        )
        refuted = sum(
            rejects(xy, (counted_on, counted_on), epsilon=1.0, delta=0, level=level) for xy in hits
        )
        yield row(options, "stated", "event handed over", planted, alpha, refuted, "")

        planted = quiet(answer(1.0), {**GIVEN, "trials": trials, "alpha": alpha}).detectable_epsilon
        refuted = sum(
            audit_claims(
                answer(planted), trials=trials, alpha=alpha, seed=options.seed + run,
                **GIVEN, precision=None,
            )[0].refuted
            for run in range(options.runs)
        )  # fmt: skip
        yield row(options, "stated", "response, whole audit", planted, alpha, refuted, "")

        ten = {"pair": (0, 1), "epsilon": 1.0, "trials": trials, "alpha": alpha}
        chance = quiet(impossible(0.0), ten).detectable_probability
        refuted = sum(
            audit_claims(impossible(chance), seed=options.seed + run, precision=None, **ten)[
                0
            ].refuted
            for run in range(options.runs)
        )
        yield row(options, "stated", "impossible output of ten", chance, alpha, refuted, "")


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


def chosen(names: list[str], wanted: list[str]) -> list[str]:
    """The names that hold one of the parts wanted; all without any."""
    return [name for name in names if not wanted or any(part in name for part in wanted)]


def row(
    options: argparse.Namespace, table: str, subject: str, planted: float, alpha: float,
    refuted: int, chance: str,
) -> dict[str, Any]:  # fmt: skip
    """One line of a file."""
    return {
        "table": table,
        "subject": subject,
        "planted": f"{planted:.5g}",
        "alpha": alpha,
        "trials": options.trials,
        "runs": options.runs,
        "refuted": refuted,
        "share": f"{refuted / options.runs:.4f}",
        "chance": chance,
        "version": __version__,
        "seed": options.seed,
        "machine": f"{platform.machine()}, Python {platform.python_version()}, "
        f"numpy {np.__version__}",
        "date": date.today().isoformat(),
    }


def main() -> None:
    """Write the rows as they come."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("table", choices=("alarms", "power", "stated"))
    parser.add_argument("names", nargs="*", help="parts of names; all without any")
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--trials", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", help="a CSV file; the terminal without it")
    options = parser.parse_intermixed_args()
    tables = {"alarms": (alarms, 1000, 2000), "power": (power, 100, 20_000),
              "stated": (stated, 300, 20_000)}  # fmt: skip
    make, runs, trials = tables[options.table]
    options.runs, options.trials = options.runs or runs, options.trials or trials
    out = open(options.out, "w", newline="") if options.out else sys.stdout
    writer = csv.DictWriter(out, FIELDS)
    writer.writeheader()
    for one in make(options):
        writer.writerow(one)
        out.flush()
    if options.out:
        out.close()


if __name__ == "__main__":
    main()
