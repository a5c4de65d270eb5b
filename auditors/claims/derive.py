"""What follows from the counts of a claim of another kind than privacy: verdict, bounds, table.

An auditor counts and ends here. An evidence file holds what was counted, and whoever reads it comes
here too: a verdict that the counts do not give can be written nowhere. A mean is the one thing that
is measured and not counted: its bounds need every value, and nobody keeps those. They are stored,
and a replay makes them again.

Numbers of a record are floats, or "inf", "-inf" and "nan"; `float` reads both.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import inf, isfinite, isnan

import numpy as np
from numpy.typing import NDArray

from ..asked import Budget
from ..bounds.one_law import largest_log_ratio, p_value, total_variation_upper
from ..bounds.tails_and_means import detectable, intervals, looks, rejected
from ..errors import EvidenceFormatError
from ..evidence.record import (
    CellsRecord,
    ClaimCheckRecord,
    ClaimCountsRecord,
    ComparisonsRecord,
    IdentityRecord,
    MarginsRecord,
    MeanRecord,
    MeansRecord,
    PointsRecord,
    TailRecord,
    TailsRecord,
)
from ..results.results import Verdict
from ..workers.streams import generator
from .claim_results import ClaimCheck, ClaimResult, Edge, Estimate, Finding, Table, edge_of, hardest

WEAK = 1 / 20
"""A check whose exact probability is below this share of the bound says little."""
ROUNDING = 1e-9
"""Part of itself by which a sum of rounded terms may pass its bound."""
EQUAL = 1e-9
"""Exact laws this close in total variation are equal: both are sums of rounded terms."""
MOST_CELLS = 12
"""Cells of one database in a table: those with the most hits."""
TAILS = (
    "database", "beta", "bound", "hits", "draws", "measured", "low", "high", "exact",
    "detectable", "refuted",
)  # fmt: skip
MEANS = ("database", "bound", "mean", "low", "high", "exact", "draws", "refuted", "confirmed")
POINTS = ("x", "bound", "mean", "low", "high", "share", "draws")
CELLS = ("database", "cell", "mechanism", "other", "exact mechanism", "exact other")

Floats = NDArray[np.float64]


def revived(record: ClaimCheckRecord) -> ClaimCheck:
    """What follows from one entry of `claims` in an evidence file.

    A damaged one raises KeyError, TypeError, ValueError or EvidenceFormatError.
    """
    plan, seed = record["plan"], int(record["seed"])
    budget = Budget(alpha=float(plan["alpha"]), trials=int(plan["trials"]), seed=seed)
    result = ClaimResult(
        identifier=record["identifier"],
        statement=record["statement"],
        reference=record["reference"],
        kind=record["kind"],
        finding=derive(record["evidence"], budget),
        seconds=float(record["seconds"]),
        seed=seed,
    )
    return ClaimCheck(
        mechanism=record["mechanism"], target=record["target"], budget=budget, result=result
    )


def record_of(check: ClaimCheck) -> ClaimCheckRecord:
    """The record of what was asked and counted, which `revived` reads."""
    result, counts = check.result, check.result.finding.counts
    if counts is None:
        raise TypeError(f"a {result.kind} claim is not counted as one beside privacy")
    return {
        "mechanism": check.mechanism,
        "target": check.target,
        "kind": result.kind,
        "identifier": result.identifier,
        "statement": result.statement,
        "reference": result.reference,
        "plan": {"trials": check.budget.trials, "alpha": check.budget.alpha},
        "seed": result.seed,
        "seconds": round(result.seconds, 4),
        "evidence": counts,
    }


def derive(counts: ClaimCountsRecord, budget: Budget) -> Finding:
    """What was found, from what was counted within this budget; its witness is in words.

    EvidenceFormatError for counts that no check can have made.
    """
    if len(counts.keys() - {"remark"}) != 1:
        raise EvidenceFormatError(f"expected the counts of one claim, got {sorted(counts)}")
    if "vacuous" in counts:
        chance = float(counts["vacuous"]["chance"])
        if chance < 1:
            raise EvidenceFormatError(f"a chance of {chance:g} is not vacuous")
        return Finding(claimed=chance, most=1.0, sampled=Verdict.NOT_REFUTED, counts=counts)
    if "tails" in counts:
        return _of_tails(counts, counts["tails"], budget)
    if "means" in counts:
        return _of_means(counts, counts["means"], budget)
    if "points" in counts:
        return _of_points(counts, counts["points"], budget)
    if "comparisons" in counts:
        return _of_comparisons(counts, counts["comparisons"], budget)
    if "margins" in counts:
        return _of_margins(counts, counts["margins"])
    return _of_identity(counts, counts["identity"])


def _remarked(counts: ClaimCountsRecord, note: str = "") -> str:
    return "; ".join(filter(None, (note, counts.get("remark", ""))))


def _known(value: float | str | None) -> float | None:
    return None if value is None else float(value)


# Tails: P[loss is bad] <= beta on each database. -----------------------------------------------


def _of_tails(counts: ClaimCountsRecord, tails: TailsRecord, budget: Budget) -> Finding:
    """Exact binomial tests with Holm's correction, at the look where the draws ended."""
    rows, made, alpha = tails["rows"], tails["draws"], budget.alpha
    sizes, hits = tails["databases"], [row["hits"] for row in tails["rows"]]
    if sum(sizes) != len(rows) or max(hits) > made:
        raise EvidenceFormatError("every row is of one database and has no more hits than draws")
    planned = looks(max(1, budget.trials // len(sizes)), alpha)
    level = next((look.level for look in planned if look.draws == made), None)
    if level is None:
        raise EvidenceFormatError(f"no look is planned after {made:,} draws")
    refuted = rejected(hits, made, [row["beta"] for row in rows], level)
    limits = intervals(hits, made, level)
    shares = [
        (row["hits"] / made if row["exact"] is None else row["exact"]) / row["beta"] for row in rows
    ]
    loudest = _loudest(rows, limits, refuted, shares)
    row, (low, high) = rows[loudest], limits[loudest]
    wrong = [
        row["exact"] is not None and row["exact"] > row["beta"] * (1 + ROUNDING) for row in rows
    ]
    proved = None
    if all(row["exact"] is not None for row in rows):
        proved = Verdict.REFUTED if any(wrong) else Verdict.PROVED
    sampled = Verdict.REFUTED if refuted.any() else Verdict.NOT_REFUTED
    table = tuple(
        (
            row["database"],
            row["beta"],
            float(row["bound"]),
            row["hits"],
            made,
            row["hits"] / made,
            *limit,
            row["exact"],
            detectable(made, row["beta"], level / len(rows)),
            bool(no),
        )
        for row, limit, no in zip(rows, limits, refuted, strict=True)
    )
    details: dict[str, object] = {"bound": float(row["bound"]), "headline": loudest}
    edge = _edge_of_tails(tails)
    if "needed" in tails:
        details |= {"needed": tails["needed"], "counted": tails["counted"]}
        if "edge" in tails and Verdict.REFUTED not in (sampled, proved):
            told = tails["edge"]
            edge = Edge(share=float(told["share"]), of=told["of"], method=told["method"])
    return Finding(
        claimed=row["beta"],
        measured=Estimate(value=row["hits"] / made, low=low, high=high, error=alpha),
        exact=row["exact"],
        sampled=sampled,
        proved=proved,
        weak=max(shares) < WEAK,
        most=1.0,
        edge=edge,
        draws=made * len(sizes),
        error=alpha,
        method="exact binomial tests with Holm's correction, planned doubling looks",
        scope=""
        if proved is None
        else f"{_counted(len(sizes), 'database')} at {_counted(len(rows), 'level')}",
        note=_remarked(counts, _rising(rows)),
        table=Table(columns=TAILS, rows=table),
        shown=row["database"] if refuted.any() or any(wrong) else "",
        details=details,
        counts=counts,
    )


def _rising(rows: Sequence[TailRecord]) -> str:
    """A remark on a bound that grows with beta: a smaller chance of error needs a larger bound."""
    for one, two in pairwise(sorted(rows, key=lambda row: (row["database"], row["beta"]))):
        low, high = float(one["bound"]), float(two["bound"])
        if one["database"] == two["database"] and low < high * (1 - ROUNDING) and high > 0:
            return (
                f"the bound is {low:.4g} at beta {one['beta']:g} and {high:.4g} at beta "
                f"{two['beta']:g}: it should fall as beta grows, since a level that is reached "
                "less often is higher; perhaps bound(1 - beta) was meant"
            )
    return ""


def _edge_of_tails(tails: TailsRecord) -> Edge | None:
    """The level that the losses need, as a share of the bound, where they need most of it.

    A loss that is 0 but for a chance below beta needs no level: there the chance is told.
    """
    draws, edges = tails["draws"], list[Edge | None]()
    for row in tails["rows"]:
        method = f"{draws:,} draws" if row["exact"] is None else "exact law"
        if row["reached"] is None:
            continue
        if (level := float(row["reached"])) > 0:
            edges.append(edge_of(level, float(row["bound"]), "loss", method))
        else:
            chance = row["hits"] / draws if row["exact"] is None else row["exact"]
            edges.append(edge_of(chance, row["beta"], "chance", method))
    return hardest(*edges)


def _loudest(
    rows: Sequence[TailRecord],
    limits: Sequence[tuple[float, float]],
    refuted: NDArray[np.bool_],
    shares: Sequence[float],
) -> int:
    """The row that speaks loudest: refuted by most, else nearest to its bound."""

    def loudness(place: int) -> tuple[bool, float]:
        if refuted.any():
            return bool(refuted[place]), limits[place][0] / rows[place]["beta"]
        return False, shares[place]

    return max(range(len(rows)), key=loudness)


# Means: E[quantity] <= bound on each database. -------------------------------------------------


def _of_means(counts: ClaimCountsRecord, means: MeansRecord, budget: Budget) -> Finding:
    """Refuted if a lower confidence bound passes the claim, or the bets against it won."""
    rows, bound, floor = means["rows"], means["bound"], float(means["floor"])
    refuted = [row["stopped"] or float(row["low"]) > bound for row in rows]
    confirmed = [float(row["high"]) <= bound for row in rows]
    loudest = max(
        range(len(rows)),
        key=lambda place: (
            refuted[place],
            float(rows[place]["low"]) - bound,
            float(rows[place]["mean"]),
        ),
    )
    worst = rows[loudest]
    known = [float(row["exact"]) for row in rows if row["exact"] is not None]
    proved = None
    if len(known) == len(rows):
        wrong = max(known) > bound + ROUNDING * max(1.0, abs(bound))
        proved = Verdict.REFUTED if wrong else Verdict.PROVED
    return Finding(
        claimed=bound,
        measured=Estimate(
            value=float(worst["mean"]),
            low=float(worst["low"]),
            high=float(worst["high"]),
            error=2 * budget.alpha,
        ),
        exact=max(known) if proved is not None else None,
        sampled=Verdict.REFUTED if any(refuted) else Verdict.NOT_REFUTED,
        proved=proved,
        weak=_weak(rows, bound, floor),
        most=float(means.get("ceiling", inf)),
        edge=hardest(
            *(
                edge_of(float(row["mean"]), bound, "mean", f"{row['draws']:,} draws")
                if row["exact"] is None
                else edge_of(float(row["exact"]), bound, "mean", "exact law")
                for row in rows
            )
        ),
        draws=sum(row["draws"] for row in rows),
        error=budget.alpha,
        method="betting" if isfinite(floor) else "Catoni's bound",
        scope="" if proved is None else _counted(len(rows), "database"),
        note=_remarked(
            counts, "an upper confidence bound is below the claim" if all(confirmed) else ""
        ),
        table=Table(
            columns=MEANS,
            rows=tuple(
                (
                    row["database"],
                    bound,
                    float(row["mean"]),
                    float(row["low"]),
                    float(row["high"]),
                    _known(row["exact"]),
                    row["draws"],
                    no,
                    yes,
                )
                for row, no, yes in zip(rows, refuted, confirmed, strict=True)
            ),
        ),
        shown=worst["database"] if any(refuted) or proved is Verdict.REFUTED else "",
        details={"confirmed": all(confirmed)},
        counts=counts,
    )


def _weak(rows: Sequence[MeanRecord], bound: float, floor: float) -> bool:
    """Whether the mean, seen from the lower end, is below a twentieth of the bound."""
    if not isfinite(floor) or bound <= floor:
        return False
    values = [float(row["mean"] if row["exact"] is None else row["exact"]) for row in rows]
    return max(values) - floor < WEAK * (bound - floor)


# Growth: the exponent of means at several points. ------------------------------------------------


def slope_weights(points: Floats) -> Floats:
    """What each logarithm of a value counts in the slope of the line of least squares."""
    logs = np.log(points) - np.log(points).mean()
    return logs / (logs @ logs)


def _of_points(counts: ClaimCountsRecord, told: PointsRecord, budget: Budget) -> Finding:
    """The slope and its interval, of which `means` has the proof."""
    points, bounds, means, lows, highs = (
        np.array([point[name] for point in told["points"]], dtype=float)
        for name in ("x", "bound", "mean", "low", "high")
    )
    if (points <= 0).any() or len(np.unique(points)) < len(points):
        raise EvidenceFormatError("points of growth are positive and all different")
    weights, each = slope_weights(points), told["draws"]
    stated = float(weights @ np.log(bounds))
    with np.errstate(divide="ignore"):
        slope = float(weights @ np.log(means)) if (means > 0).all() else -inf
        ends = np.log([lows, highs])
    # A point of weight 0 has no part in the slope, however little is known of it.
    rising, part = weights >= 0, weights != 0
    least = float(weights[part] @ np.where(rising, ends[0], ends[1])[part])
    most = float(weights[part] @ np.where(rising, ends[1], ends[0])[part])
    slower = told["attained"] and most < stated - told["slack"]
    above = lows > bounds
    refuted = least > stated + told["slack"] or slower or bool(above.any())
    return Finding(
        claimed=stated,
        measured=Estimate(value=slope, low=least, high=most, error=budget.alpha),
        sampled=Verdict.REFUTED if refuted else Verdict.NOT_REFUTED,
        edge=hardest(
            *(
                edge_of(float(mean), float(bound), "mean", f"{each:,} draws")
                for mean, bound in zip(means, bounds, strict=True)
            )
        ),
        draws=each * len(points),
        error=budget.alpha,
        method="a line through logarithms of means, each within its bounds by betting",
        note=_remarked(counts),
        table=Table(
            columns=POINTS,
            rows=tuple(
                (float(x), float(bound), float(mean), float(low), float(high), float(share), each)
                for x, bound, mean, low, high, share in zip(
                    points, bounds, means, lows, highs, means / bounds, strict=True
                )
            ),
        ),
        shown=repr(float(points[int(np.argmax(lows / bounds))])) if refuted else "",
        details={
            "grows": told["grows"], "over": told["over"], "slack": told["slack"],
            "attained": told["attained"], "above_bound": bool(above.any()),
        },
        counts=counts,
    )  # fmt: skip


# Comparisons: two samplers on the same cells. ----------------------------------------------------


def _of_comparisons(counts: ClaimCountsRecord, told: ComparisonsRecord, budget: Budget) -> Finding:
    """Permutations or Fisher's test on each database, at its share of alpha (`one_law`)."""
    found, alpha = told["databases"], budget.alpha
    share = alpha / len(found)
    hits = [np.array([cell["hits"] for cell in one["cells"]]).T for one in found]
    if not all((both.sum(axis=1) > 0).all() for both in hits):
        raise EvidenceFormatError("a comparison of two samplers has draws of both")
    p_values = [p_of_cells(both, share, budget.seed) for both in hits]
    apart = [total_variation_upper(one, two, share) for one, two in hits]
    ratios = [largest_log_ratio(one, two, share) for one, two in hits]
    refuted = any(p <= share for p in p_values)
    known = [one["distance"] for one in found if one["distance"] is not None]
    proved = None
    if len(known) == len(found):
        proved = Verdict.REFUTED if max(known) > EQUAL else Verdict.PROVED
    worst = min(range(len(found)), key=lambda place: (p_values[place], -apart[place][0]))
    distance, upper = apart[worst]
    shown = found[worst]["database"] if refuted or proved is Verdict.REFUTED else ""
    return Finding(
        claimed=0.0,
        measured=Estimate(value=distance, low=0.0, high=upper, error=alpha),
        exact=max(known) if proved is not None else None,
        sampled=Verdict.REFUTED if refuted else Verdict.NOT_REFUTED,
        proved=proved,
        draws=2 * told["draws"] * len(found),
        error=alpha,
        method="permutations of chi-square, or Fisher's test, on cells learnt from pilot draws",
        scope=f"{_counted(len(found), 'database')}, laws compared up to {EQUAL:g}"
        if proved
        else "",
        note=_remarked(counts, f"on these cells no log-ratio is above {max(ratios):.4g}"),
        table=Table(
            columns=CELLS,
            rows=tuple(
                row for one, both in zip(found, hits, strict=True) for row in _cells(one, both)
            ),
        ),
        shown=shown,
        details={
            "p_value": min(p_values),
            "total_variation_upper": max(upper for _, upper in apart),
            "log_ratio_upper": max(ratios),
        },
        counts=counts,
    )


def p_of_cells(hits: NDArray[np.int64], level: float, seed: int) -> float:
    """The p-value of equal laws, from the hits (2, K) of both sides; `seed` permutes them."""
    return p_value(hits[0], hits[1], level, generator(seed, 0, "claim", 2))


def _cells(one: CellsRecord, hits: NDArray[np.int64]) -> list[tuple[object, ...]]:
    """The cells of one database with the most hits, as rows of a table."""
    pooled = hits.sum(axis=0)
    order = [k for k in np.argsort(-pooled, kind="stable")[:MOST_CELLS].tolist() if pooled[k]]
    return [
        (
            one["database"],
            one["cells"][k]["cell"],
            *(float(side[k] / side.sum()) for side in hits),
            *one["cells"][k]["exact"],
        )
        for k in order
    ]


# Margins and identities. -------------------------------------------------------------------------


def _of_margins(counts: ClaimCountsRecord, told: MarginsRecord) -> Finding:
    """The worst case of a search; a counterexample if its margin is below the tolerance."""
    worst = tuple((float(one["margin"]), one["case"]) for one in told["worst"])
    least, case = worst[0]
    refuted = not least >= -told["tolerance"]
    return Finding(
        claimed=0.0,
        measured=Estimate(value=least, low=-np.inf, high=least, error=0.0),
        sampled=Verdict.REFUTED if refuted else Verdict.NOT_REFUTED,
        edge=_edge_of_margins(told, least),
        draws=told["cases"],
        method=told["method"],
        note=_remarked(counts),
        table=Table(columns=("margin", "case"), rows=worst),
        shown=case if refuted else "",
        details={"cases": told["cases"]},
        counts=counts,
    )


def _edge_of_margins(told: MarginsRecord, least: float) -> Edge | None:
    """How much of the bound the worst case needs, if the claim says what its margin is from."""
    method, low, high = "the worst case of the search", told["low"], told["high"]
    if high is not None:
        return edge_of(high - least, high, "quantity", method)
    if low is not None and low > 0:
        reached = low + least
        return Edge(share=low / reached if reached > 0 else inf, of="quantity", method=method)
    return None


def _of_identity(counts: ClaimCountsRecord, told: IdentityRecord) -> Finding:
    """Whether a number comes out as stated."""
    stated, found, tolerance = float(told["stated"]), float(told["computed"]), told["tolerance"]
    gap = abs(found - stated) if found != stated else 0.0
    holds = not isnan(gap) and gap <= tolerance
    return Finding(
        claimed=stated,
        measured=Estimate(value=found, low=found, high=found, error=0.0),
        exact=found,
        proved=Verdict.PROVED if holds else Verdict.REFUTED,
        method="arithmetic in double precision",
        scope=f"equal up to {tolerance:g}",
        note=_remarked(counts),
        table=Table(
            columns=("stated", "computed", "difference", "tolerance"),
            rows=((stated, found, found - stated, tolerance),),
        ),
        shown="" if holds else repr(found),
        counts=counts,
    )


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")
