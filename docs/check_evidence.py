"""Check a dpwitness evidence file without dpwitness: Python's standard library and this file.

    python3 -I -S check_evidence.py evidence.json

From the integers in the file it works out the lower bound on epsilon at each look, the wealth of
the bets, the error probability that each look may have spent and the verdict, and compares: the
tests of docs/statistics.md, a second time. It runs nothing that the file names. That the mechanism
gives these counts and any exact probabilities is for `dpwitness replay`; that these break the claim
is worked out here. Whether a claim that stands is "inconclusive" hangs on power, which is not.

Exit status: 0 everything follows from the counts, 1 something does not, 2 the file is unusable.
"""

import json
import sys
from fractions import Fraction
from functools import reduce
from itertools import accumulate, groupby, pairwise, takewhile
from math import asin, ceil, exp, hypot, inf, isclose, lgamma, log, log1p, pi, sin, sqrt
from statistics import NormalDist

NORMAL = NormalDist()
# The lattice's step, the box's part of the level, the largest score, the least cell and difference.
STEP, BETA, CAP, CLOSE, TIE = 0.02, 1 / 50, 37.0, 1e-15, 1e-9
EARLY, LAST = (0.15, 0.2, 0.35, 0.3), (0.05, 0.1, 0.15, 0.7)
MOST_EARLY, WORST, REST, MOST, MOST_LOOKS, LONGEST = 2, 0.9, 0.1, 10**10, 100, 64 * 2**20


def score(x, n, p, rest):
    """The normal score -Phi^-1(P[Bin(n, p) >= x]), at most CAP, where rest = 1 - p.

    The smaller tail, of hits or misses, is its first term times the sum of all ratios to that.
    """
    if x == 0 or min(p, rest) <= 0:
        return CAP if p <= 0 < x else -inf
    sign, a, b, size, log_first = -1, x, n - x + 1, n + 1, 0.0
    if p > (x + 1) / (n + 3):
        sign, a, b, p, rest = 1, b, a, rest, p
    for k, mean, times in ((size, size, 1), (a, size * p, -1), (b, size * rest, -1)):
        # What ln k! is above Stirling's approximation: large terms cancel by hand.
        above = lgamma(k + 1) - (k + 0.5) * log(k) + k - 0.5 * log(2 * pi)
        above, off = above if k < 1000 else (1 / 12 - 1 / 360 / k**2) / k, (mean - k) / k
        log_first += times * (above + k * (off - log1p(off)))
    total, ratio, k = 0.0, 1.0, 0
    while ratio > 1e-17 * total:
        total, k = total + ratio, k + 1
        ratio *= (b - k) / (a + k) * p / rest
    tail = exp(log_first) * sqrt(b / (2 * pi * a * size)) / rest * total
    return min(sign * (NORMAL.inv_cdf(tail) if tail > 0 else -inf), CAP)


def edge(holds, low, high):
    """The number between low and high up to which `holds` is true, found by halving."""
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high


def limits(x, n, beta):
    """Of Clopper and Pearson for x hits of n, each wrong with probability beta."""
    z = -NORMAL.inv_cdf(beta)
    low = edge(lambda p: score(x, n, p, 1 - p) >= z, 0.0, 1.0)
    return low, edge(lambda p: score(n - x, n, 1 - p, p) < z, 0.0, 1.0)


def at_distance(epsilon, delta, distance):
    """Group privacy: what (epsilon, delta) of one step promises `distance` steps away."""
    growth = sum(exp(min(step * epsilon, 700.0)) for step in range(distance))
    return min(distance * epsilon, 700.0), min(delta * growth, 1.0)


def allowed(curve, q):
    """The most that a curve allows one side of an event that the other gives with probability q."""
    if "mu" in curve:
        return NORMAL.cdf(NORMAL.inv_cdf(min(q, 1 - 1e-12)) + curve["mu"])
    if "points" in curve:
        return min(1.0, *(exp(min(one, 700.0)) * q + delta for one, delta in curve["points"]))
    orders = [1 + 10 ** (i / 12 - 3) for i in range(73)]
    bounds = curve.get("renyi") or [(order, curve["rho"] * order) for order in orders]
    rest = 1 - curve.get("delta", 0.0)
    q = min(q / rest, (1 + q) / 2, 1 - 1e-12)

    def close(p):  # whether the divergences of two Bernoulli laws keep to their bounds
        odds = [(log(p), log(q)), (log(1 - p), log(1 - q))]
        terms = ([one + (k - 1) * (one - two - most) for one, two in odds] for k, most in bounds)
        return all(max(pair) < 0 and sum(map(exp, pair)) <= 1 for pair in terms)

    return 1 - rest + rest * edge(close, q, 1.0)


def promised(curve, epsilon, delta, steps):
    """Whether a curve, `steps` times over, lies below the line of (epsilon, delta) everywhere."""
    low, high, ratio = 1e-9, 1 - 1e-9, exp(min(epsilon, 700.0))
    for _ in range(60):  # its excess over the line is concave in q
        ends = low + (high - low) / 3, high - (high - low) / 3
        excess = [reduce(lambda p, _: allowed(curve, p), range(steps), q) - ratio * q for q in ends]
        low, high = (ends[0], high) if excess[0] < excess[1] else (low, ends[1])
    return all(one <= delta + 1e-9 for one in excess)


def lattice(size, low, high, ratio=1.0, delta=0.0):
    """Edges of cells that cover q in [low, high], equally spaced in asin sqrt(ratio q + delta)."""
    scale = 2 * sqrt(size) / STEP
    i, j = (int(scale * asin(sqrt(min(ratio * q + delta, 1.0)))) for q in (low, high))
    return [(sin(min(k / scale, pi / 2)) ** 2 - delta) / ratio for k in range(max(0, i - 2), j + 4)]


def rejects(look, epsilon, delta):
    """Whether the null p <= e^epsilon q + delta is rejected, for each q that there may be."""
    (x, y), (n, m), (p_low, p_high), (q_low, q_high), needed = look
    ratio = exp(epsilon)
    start = max(q_low, (p_low - delta) / ratio)

    def least(left, right, low, high):
        """What no cell within [left, right] is below that has its middle from low to high.

        The score of x falls with q, that of y grows. Weights are in proportion to standard
        deviations, and only the extreme ones matter: of mixes above 0, one of them is least.
        """
        full = ratio * right + delta >= 1 - CLOSE
        p, q = min(ratio * right + delta, 1 - CLOSE, p_high), max(left, CLOSE)
        scores = score(x, n, p, 1 - p), score(m - y, m, 1 - q, q)
        points = [low, high, *(max(low, min(q, high)) for q in (0.5, (0.5 - delta) / ratio))]
        of_p = [sqrt(p * (1 - p) / n) for p in (min(ratio * q + delta, 1.0) for q in points)]
        of_q = [ratio * sqrt(q * (1 - q) / m) for q in points]
        weights = [(min(of_p), max(of_q)), (max(of_p), min(of_q))]
        if low == high and (full or left == 0):  # in this cell one of the tails says nothing
            weights = [(0.0, 1.0) if full else (1.0, 0.0)]
        mixes = (sum(w * z for w, z in zip(pair, scores) if w) for pair in weights)
        return min(mix / (hypot(*pair) or 1.0) for mix, pair in zip(mixes, weights))

    def passes(run):
        """Whether all cells of a run pass: by a bound for all, by halves, or cut by those of p."""
        left, right, half = run[0], run[-1], len(run) // 2
        if least(left, right, left, right) >= needed + 9 * TIE:
            return True
        if len(run) > 2:
            return passes(run[: half + 1]) and passes(run[half:])
        cuts = pairwise(lattice(n, max(left, start), min(right, q_high), ratio, delta))
        cuts = (b for a, b in cuts if b - max(a, left) > CLOSE and b < right)
        used = ((a, b) for a, b in pairwise([left, *cuts, right]) if b >= start and a <= q_high)
        return all(least(a, b, (a + b) / 2, (a + b) / 2) >= needed for a, b in used)

    return delta < 1 and epsilon <= 600 and (start > q_high or passes(lattice(m, start, q_high)))


def bound_of(hits, trials, level, claim):
    """The last epsilon before the first one of the grid that the test does not reject."""
    (x, y), (n, m), (epsilon, delta, distance) = hits, trials, claim
    legal = 0 <= x <= n <= MOST and 0 <= y <= m <= MOST and 0 < level < 0.5 <= n * m
    if not (legal and epsilon >= 0 <= delta and 1 <= distance <= 1000):
        raise ValueError(f"impossible: {hits} hits of {trials}, level {level} or claim {claim}")
    end = (min(10.0, log(m)) + 1) / distance
    grid = {epsilon, *(round(i * 0.001, 9) for i in range(ceil((min(end, 2.0) + 0.001) / 0.001)))}
    grid |= {round(2 + i * 0.005, 9) for i in range(ceil((end - 2) / 0.005))}
    box = [limits(*side, BETA * level / 4) for side in zip(hits, trials)]
    look = hits, trials, *box, TIE - NORMAL.inv_cdf(level - BETA * level)
    passed = takewhile(lambda one: rejects(look, *at_distance(one, delta, distance)), sorted(grid))
    return max(passed, default=-inf)


def paid(part, curve, steps):
    """(for D and for D' of each group, cost) of a bet against the moment of one order."""
    order, weight, h = part["order"], part["weight"], part["values"]
    loss = dict(map(tuple, curve.get("renyi", ()))).get(order, inf) if steps == 1 else inf
    if "mu" in curve or ("rho" in curve and (steps == 1 or not curve.get("delta"))):
        loss = order * steps**2 * curve.get("rho", curve.get("mu", 0.0) ** 2 / 2)
    if not (weight >= 0 and order >= 1 and (order - 1) * loss <= 700):
        raise ValueError(f"the claim bounds no moment of order {order}")
    if order == 1:
        bound, star = loss, [exp(one) - 1 for one in h]
    else:
        star = [(order - 1) * (max(one, 0.0) / order) ** (order / (order - 1)) for one in h]
        bound = exp((order - 1) * loss)
    bound += curve.get("delta", 0.0) * (max(h) - min(h) + max(star) - min(star))
    sides = [weight * one for one in h], [-weight * one for one in star]
    return *(sides[::-1] if part["turned"] else sides), weight * bound


def bound_of_bets(bets, claim, stated):
    """The claimed epsilon where f and g are bets whose wealth reached 1 / level, else -inf."""
    gains, (null, delta) = [0.0], at_distance(*claim)
    for batch in bets["batches"]:
        (a, b), (one, two), f, g = batch["bet"], batch["counts"], batch["f"], batch["g"]
        parts = [paid(part, *stated) for part in batch.get("parts", ())]
        rest_f = [whole - sum(part[0][i] for part in parts) for i, whole in enumerate(f)]
        rest_g = [whole - sum(part[1][i] for part in parts) for i, whole in enumerate(g)]
        u, v = [max(x - a, 0.0) for x in rest_f], [max(y - b, 0.0) for y in rest_g]
        spent_on = a + b + delta * (max(u) + max(v)) + sum(part[2] for part in parts)
        fair = all(min(x, a) + exp(null) * above <= a for x, above in zip(rest_f, v))
        fair &= all(min(y, b) + exp(null) * above <= b for y, above in zip(rest_g, u))
        columns = f, g, one, two, *(side for part in parts for side in part[:2])
        pairs = len({*map(len, columns)}) == 1 and sum(one) == sum(two) and min(*one, *two) >= 0
        if not (fair and pairs and spent_on <= 2):
            return -inf
        gains.append(sum(x * log(s) + y * log(t) for s, t, x, y in zip(f, g, one, two)))
    return claim[0] if max(accumulate(gains)) >= -log(bets["level"]) else -inf


def spent(attempts, alpha, early):
    """What is wrong with the levels of the looks at one pair, given by attempt; '' for nothing."""
    for number, levels in enumerate(attempts):
        for shares, cost in [(EARLY, early)] * (number < MOST_EARLY) + [(LAST, 1), ((1.0,), 1)]:
            rest = iter(shares)
            if all(any(isclose(one, cost * alpha * s) for s in rest) for one in levels):
                alpha -= cost * alpha
                break
        else:
            return f"attempt {number} spends {levels} where {alpha:.6g} of alpha is left"
    return ""


def judged(made, claim, stated, alphas, early, part):
    """(bounds of all looks at one pair, what is wrong with the error probabilities they spend)."""
    bounds, attempts, wrong, bets = [], [], [], made.get("bets")
    if not 0 < len(made["counts"]) <= MOST_LOOKS:
        raise ValueError(f"expected 1 to {MOST_LOOKS} counts")
    for kind, group in groupby(made["counts"], key=lambda one: (one["attempt"], one["stage"])):
        if bets and kind[1] == "bet":  # these counts show what the bets won on
            bounds.append(bound_of_bets(bets, claim, stated))
            continue
        levels, sums = [], [0, 0, 0, 0]
        for one in group:
            sides = [(key, side ^ one["reversed"]) for key in ("hits", "trials") for side in (0, 1)]
            sums = [total + one[key][side] for total, (key, side) in zip(sums, sides)]
            levels.append(one["level"])
            bounds.append(bound_of(sums[:2], sums[2:], one["level"], claim))
        attempts.append(levels)
    if bets and not any(isclose(bets["level"], part * alpha) for alpha in alphas):
        wrong.append(f"bets.level: {bets['level']} is not what bets may spend")
    told = [spent(attempts, (1 - part) * alpha, early) for alpha in alphas]
    return bounds, wrong + [f"level: {told[-1]}"] * all(told)


def checked(data, number):
    """(verdict, bound, what does not follow) of one entry of `results`."""
    result = data["results"][number]
    evidence, claim, small, plan = (result[key] for key in ("evidence", "claim", "smaller", "plan"))
    curve, alpha, precision = claim.get("curve"), evidence["alpha"], plan["precision"]
    numbers = float(claim["epsilon"]), float(claim["delta"]), 1 if curve else claim["distance"]
    stated, part = (curve or {}, claim["distance"]), plan.get("betting", 0)
    # A smaller pair with counts of its own is paid for with a part of alpha.
    alphas, rest = [alpha] * (not small) + [WORST * alpha], [REST * alpha]
    early, bets = (0.3, 0.5 if curve else 0.1) if precision else (0.5, 0.9)
    bets *= result["seeded"] or not {"rho", "renyi"}.isdisjoint(stated[0])
    bounds, wrong = judged(evidence, numbers, stated, alphas, early, part)
    wrong += [f"plan.betting: {part}"] * (part not in (0, bets) or (part > 0 and precision == 0))
    own, more = judged(small, numbers, stated, rest, early, bets) if small else (bounds, [])
    wrong += [f"smaller.{one}" for one in more]
    if curve and not promised(curve, *numbers[:2], claim["distance"]):
        wrong.append(f"claim: the curve {curve} does not promise epsilon and delta")
    verdict = "refuted" if min(max(bounds), max(own)) >= numbers[0] else "not refuted"
    bound, exact = max(bounds + own), result.get("exact")
    if exact and exact["event"]:  # exact laws refute the claim, by an event of these chances
        (null, delta), (p, q) = at_distance(*numbers), map(Fraction, exact["chances"])
        least = log(p / q) / numbers[2] if p > 0 < q else inf
        if not 0 <= q <= 1 >= p > Fraction(exp(null)) * q + Fraction(delta):
            wrong.append("exact.chances: these probabilities do not break the claim")
        elif not delta and not isclose(float(exact["epsilon"]), least, rel_tol=1e-6):
            wrong.append(f"exact.epsilon: {exact['epsilon']}, the chances give {least}")
        verdict, bound = "refuted", max(bound, float(exact["epsilon"]))
    elif exact and verdict != "refuted" and (exact["asked"] or plan.get("search") == "given"):
        verdict = "proved"
    if "findings" in data:  # what the file tells other programs
        told, lower = (data["findings"][number][key] for key in ("verdict", "epsilon_lower"))
        if told.replace("_", " ").replace("inconclusive", "not refuted") != verdict:
            wrong.append(f"findings.verdict: {told}, the counts give {verdict}")
        if not isclose(float(lower), bound, abs_tol=1e-9):
            wrong.append(f"findings.epsilon_lower: {lower}, the counts give {bound}")
    return verdict, bound, wrong


def main(path):
    """Print what follows and what does not, result by result; the exit status."""
    try:
        with open(path, encoding="utf-8") as file:
            data, status = json.loads(file.read(LONGEST)), 0
        for number, result in enumerate(data["results"]):
            verdict, bound, wrong = checked(data, number)
            told = f"results[{number}] {result['mechanism']!a}: "
            told += verdict.replace("not refuted", "not refuted or inconclusive")
            if verdict != "refuted" or "curve" not in result["claim"]:  # a curve, and no point
                told += f", epsilon >= {bound:.4g}"
            told += f", alpha {result['evidence']['alpha']:g}; "
            told += "DOES NOT FOLLOW:" if wrong else "follows from the counts"
            print(told, *(f"  {line!a}" for line in wrong), sep="\n")
            status |= bool(wrong)
        return status
    except Exception as error:  # noqa: BLE001 - damage of any kind, told in a line
        print(f"{path!a} cannot be checked: {error!r:.200}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else __doc__)
