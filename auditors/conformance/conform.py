"""Tests of one sample against one declared law, all decided by the law alone beforehand.

Four tests share alpha, and each is valid at any sample size:

1. the largest distance of the empirical distribution function, by the inequality of Dvoretzky,
   Kiefer and Wolfowitz with Massart's constant (valid for every law, also with atoms);
2. cells fixed by the law (its likeliest atoms, equal shares, tails that halve), each an exact
   binomial count;
3. values that the law cannot take: a single one refutes;
4. independence: outputs next to each other, and half a sample apart, are below the law's
   quantiles together as often as the product says, an exact binomial count on disjoint pairs.
"""

from dataclasses import dataclass
from math import inf, log, sqrt

import numpy as np
from numpy.typing import NDArray

from ..asked import require
from ..bounds.two_sample import at_least, at_most
from ..errors import InvalidArgument
from ..results.results import Verdict
from .sampled_laws import Bracket, Floats, SampledLaw

SHARES = {"distribution": 0.4, "cells": 0.5, "independence": 0.1}
"""Parts of alpha that the tests spend; a value that the law cannot take refutes and spends none."""
MOST_ATOMS = 64
"""Values of a lattice around the median that are counted each by itself."""
EVEN = 32
"""Cells of equal probability by the law."""
TAILS = 24
"""Powers of 1/2: tails from 2^-5 down to the one before this are cells too."""
MOST_POINTS = 512
"""Points at which the distribution functions are compared; of more numbers, evenly spread ones."""
QUANTILES = (0.25, 0.5, 0.75)
"""Quantiles of the law at which two neighbouring numbers are cut, to see whether they depend."""
FEWEST = 20
"""Numbers of a sample, at least."""
NEAR = 1e-9
"""Part of itself by which a number may lie beside the lattice by rounding."""
WEAK = 0.2
"""A distance of distribution functions; a test that cannot see one this large says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discrepancy:
    """One thing the law forbids: what, how likely it should be, how often it was, and the error.

    `error` is the probability of a deviation this large in this place if the law is followed,
    before the number of places looked at is paid for; `spent` is the part of alpha that
    this place had.
    """

    test: str
    what: str
    expected: tuple[float, float]
    seen: float
    error: float
    spent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Conformance:
    """Whether a sample contradicts a law; a true law is refuted with probability <= `alpha`.

    `visible` is a distance of distribution functions (largest difference of P(X <= x)): a sampler
    farther away than this would have been refuted with probability at least 1 - alpha.
    """

    verdict: Verdict
    law: str
    size: int
    alpha: float
    visible: float
    findings: tuple[Discrepancy, ...]


def conform(sample: Floats, law: SampledLaw, *, name: str, alpha: float = 1e-6) -> Conformance:
    """Test whether independent outputs of shape (n,) follow the law.

    Raises InvalidArgument for fewer than 20 numbers, for what is no number and for an alpha
    outside (0, 0.5).
    """
    values = np.asarray(sample)
    require(alpha=alpha)
    if values.ndim != 1 or values.dtype.kind not in "biuf":
        raise InvalidArgument("expected a sample of single numbers; a law is of one number")
    if len(values) < FEWEST:
        raise InvalidArgument(f"{len(values)} numbers were recorded; expected at least {FEWEST}")
    values = values.astype(float)
    findings = [*_impossible(values, law)]
    if not np.isnan(values).any():
        findings += _distribution(values, law, alpha * SHARES["distribution"])
        findings += _cells(values, law, alpha * SHARES["cells"])
        findings += _independence(values, law, alpha * SHARES["independence"])
    visible = 2 * _radius(len(values), alpha * SHARES["distribution"])
    weak = Verdict.INCONCLUSIVE if visible > WEAK else Verdict.NOT_REFUTED
    return Conformance(
        verdict=Verdict.REFUTED if findings else weak,
        law=name,
        size=len(values),
        alpha=alpha,
        visible=visible,
        findings=tuple(sorted(findings, key=lambda f: f.error / max(f.spent, 1e-300))),
    )


def _impossible(values: Floats, law: SampledLaw) -> list[Discrepancy]:
    wrong: NDArray[np.bool_] = ~np.isfinite(values)
    what = "is a finite number"
    if not wrong.any() and law.lattice is not None:
        start, step = law.lattice
        places = (values - start) / step
        wrong = np.abs(places - np.round(places)) > NEAR * np.maximum(1, np.abs(places))
        what = (
            f"is {start % step:g} plus a multiple of {step:g}"
            if start % step
            else (f"is a multiple of {step:g}")
        )
    if not wrong.any():
        return []
    example = values[wrong][0]
    return [
        Discrepancy(
            test="support",
            what=f"every output {what}, and {int(wrong.sum()):,} are not, "
            f"such as {float(example)!r}",
            expected=(0.0, 0.0),
            seen=float(wrong.mean()),
            error=0.0,
            spent=0.0,
        )
    ]


def _radius(size: int, level: float) -> float:
    return sqrt(log(2 / level) / (2 * size))


def _distribution(values: Floats, law: SampledLaw, level: float) -> list[Discrepancy]:
    size, radius = len(values), _radius(len(values), level)
    points, counts = np.unique(values, return_counts=True)
    if len(points) > MOST_POINTS:
        # The supremum over some points is no larger than over all.
        keep = np.unique(np.linspace(0, len(points) - 1, MOST_POINTS).round().astype(int))
        sums = np.cumsum(counts)[keep]
        firsts = (np.cumsum(counts) - counts)[keep]
        points = points[keep]
    else:
        sums, firsts = np.cumsum(counts), np.cumsum(counts) - counts
    found: list[tuple[float, float, float, Bracket, str]] = []
    for seen, bracket, sign in ((sums, law.up_to(points), "<="), (firsts, law.below(points), "<")):
        share = seen / size
        excess = np.maximum(share - bracket[1], bracket[0] - share)
        worst = int(np.argmax(excess))
        found.append((
            float(excess[worst]), float(points[worst]), float(share[worst]),
            (bracket[0][worst], bracket[1][worst]), sign,
        ))  # fmt: skip
    excess_, point, share_, (low, high), sign = max(found, key=lambda item: item[0])
    if excess_ <= radius:
        return []
    return [
        Discrepancy(
            test="distribution function",
            what=f"output {sign} {point:.6g}",
            expected=(float(low), float(high)),
            seen=share_,
            error=min(1.0, 2 * float(np.exp(-2 * size * excess_**2))),
            spent=level,
        )
    ]


def _edges(law: SampledLaw) -> tuple[list[tuple[float, float]], list[float]]:
    """Cells (from, to] and the atoms, chosen from the law alone."""
    shares = [i / EVEN for i in range(1, EVEN)]
    even = sorted({law.quantile(share) for share in shares})
    cells = list(zip([-inf, *even], [*even, inf], strict=True))
    tails = sorted({law.quantile(2.0**-k) for k in range(5, TAILS)})
    tops = sorted({law.quantile(1 - 2.0**-k) for k in range(5, TAILS)})
    cells += [(-inf, t) for t in tails] + [(t, inf) for t in tops]
    atoms: list[float] = []
    if law.lattice is not None:
        step, middle = law.lattice[1], law.quantile(0.5)
        atoms = [middle + step * k for k in range(-MOST_ATOMS // 2, MOST_ATOMS // 2 + 1)]
    return list(dict.fromkeys(cells)), atoms


def _cells(values: Floats, law: SampledLaw, level: float) -> list[Discrepancy]:
    cells, atoms = _edges(law)
    ordered = np.sort(values)
    each = level / (2 * (len(cells) + len(atoms)))
    found = []
    ends = np.array(sorted({end for cell in cells for end in cell if abs(end) < inf}))
    lows, highs = law.up_to(ends)
    bounds = dict(zip(ends.tolist(), zip(lows.tolist(), highs.tolist(), strict=True), strict=True))
    bounds |= {-inf: (0.0, 0.0), inf: (1.0, 1.0)}
    for low, high in cells:
        least, most = bounds[high][0] - bounds[low][1], bounds[high][1] - bounds[low][0]
        start = np.searchsorted(ordered, low, "right") if low > -inf else 0
        end = np.searchsorted(ordered, high, "right") if high < inf else len(ordered)
        parts = [f"{low:.6g} < " * (low > -inf), "output", f" <= {high:.6g}" * (high < inf)]
        found += _counted("cell", "".join(parts), int(end - start), len(values), least, most, each)
    for atom in atoms:
        upper, lower = law.up_to(np.array([atom])), law.below(np.array([atom]))
        step = (law.lattice or (0.0, 1.0))[1]
        places = np.searchsorted(ordered, [atom - step / 4, atom + step / 4])
        least, most = float(upper[0][0] - lower[1][0]), float(upper[1][0] - lower[0][0])
        found += _counted(
            "cell",
            f"output = {atom:.6g}",
            int(places[1] - places[0]),
            len(values),
            least,
            most,
            each,
        )
    return found


def _counted(
    test: str, what: str, hits: int, size: int, least: float, most: float, level: float
) -> list[Discrepancy]:
    """A two-sided exact binomial count, each tail at `level` and at the bound that spares it."""
    least, most = max(0.0, float(least)), min(1.0, float(most))
    error = min(float(at_least(hits, size, most)), float(at_most(hits, size, least)))
    if error > level:
        return []
    return [
        Discrepancy(
            test=test, what=what, expected=(least, most), seen=hits / size,
            error=2 * error, spent=2 * level,
        )
    ]  # fmt: skip


def _independence(values: Floats, law: SampledLaw, level: float) -> list[Discrepancy]:
    size = len(values)
    half = size // 2
    pairs = {
        "an output and the next": (values[0 : 2 * half : 2], values[1 : 2 * half : 2]),
        "an output and that half a sample later": (values[:half], values[half : 2 * half]),
    }
    each = level / (2 * len(pairs) * len(QUANTILES))
    found = []
    for name, (one, two) in pairs.items():
        for share in QUANTILES:
            cut = law.quantile(share)
            low, high = (float(bound[0]) for bound in law.up_to(np.array([cut])))
            hits = int(np.count_nonzero((one <= cut) & (two <= cut)))
            what = f"{name} are both <= {cut:.6g}"
            found += _counted("independence", what, hits, half, low**2, high**2, each)
    return found
