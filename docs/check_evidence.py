"""Check a dpwitness evidence file without dpwitness: Python's standard library and this file.

    python3 -I -S check_evidence.py evidence.json

From the integers in the file it works out the lower bound on epsilon at each look, the wealth of
the bets, the error probability that each look may have spent, the largest bound and the verdict,
and compares. It runs nothing that the file names and imports nothing of dpwitness: the tests are
written here a second time, from docs/statistics.md, with binomial tails by a continued fraction.

That the mechanism gives these counts, and the exact probabilities that a file may state, is for
`dpwitness replay`; that stated probabilities break the claim is worked out here. Whether a claim
that stands is "not refuted" or "inconclusive" hangs on the power that the file states, not worked
out here.

Exit status: 0 everything follows from the counts, 1 something does not, 2 the file is unusable.
"""

import json
import sys
from fractions import Fraction
from functools import reduce
from itertools import groupby, pairwise
from math import asin, atan2, ceil, cos, exp, hypot, inf, isclose, lgamma, log, log1p, pi, sin, sqrt
from statistics import NormalDist

NORMAL = NormalDist()
STEP, BETA, CAP, CLOSE, TIE = 0.02, 1 / 50, 37.0, 1e-15, 1e-9
EARLY, LAST = (0.15, 0.2, 0.35, 0.3), (0.05, 0.1, 0.15, 0.7)
MOST_EARLY, WORST, MOST, MOST_LOOKS, LONGEST = 2, 0.9, 10**10, 100, 64 * 2**20


def stirling(n):
    """By how much ln n! exceeds its Stirling approximation: large terms cancel by hand."""
    if n < 1000:
        return lgamma(n + 1) - (n + 0.5) * log(n) + n - 0.5 * log(2 * pi)
    return (1 / 12 - 1 / 360 / n**2) / n


def lower_tail(a, b, x, y):
    """I_x(a, b) for whole a, b >= 1 and y = 1 - x, where x is left of the middle."""
    n = a + b
    density = stirling(n) - stirling(a) - stirling(b)
    for k, mean in ((a, n * x), (b, n * y)):
        density -= k * ((mean - k) / k - log1p((mean - k) / k))
    if density < -745:
        return 0.0
    c, d = 1.0, 1 / (1 - n * x / (a + 1) or 1e-300)
    fraction = d
    for m in range(1, 1_000_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        for term in (even, -(a + m) * (n + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d, c = 1 / (1 + term * d or 1e-300), 1 + term / c or 1e-300
            fraction *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return exp(density) * sqrt(n / (2 * pi * a * b)) * b / n * fraction


def score(a, b, x, y):
    """The normal score -Phi^-1(I_x(a, b)), from the smaller tail, at most CAP."""
    if a == 0 or min(x, y) <= 0:
        return CAP if x <= 0 < a else -inf
    left = x <= (a + 1) / (a + b + 2)
    tail = lower_tail(a, b, x, y) if left else lower_tail(b, a, y, x)
    z = -NORMAL.inv_cdf(tail) if tail > 0 else inf
    return min(z if left else -z, CAP)


def above(x, n, p):
    return score(x, n - x + 1, p, 1 - p)


def below(y, m, q):
    return score(m - y, y + 1, 1 - q, q)


def limits(x, n, beta):  # of Clopper and Pearson, each wrong with probability beta
    z, found = -NORMAL.inv_cdf(beta), []
    for holds in (lambda p: above(x, n, p) < z, lambda p: below(x, n, p) >= z):
        low, high = 0.0, 1.0
        while low < (middle := (low + high) / 2) < high:
            low, high = (low, middle) if holds(middle) else (middle, high)
        found.append(high)
    return found


def angle(p):
    return asin(sqrt(min(max(p, 0.0), 1.0)))


def at_distance(epsilon, delta, distance):
    """Group privacy: what (epsilon, delta) of one step promises `distance` steps away."""
    growth = sum(exp(min(step * epsilon, 700.0)) for step in range(distance))
    return distance * epsilon, min(delta * growth, 1.0)


def allowed(curve, q):
    """The most that a curve allows one side of an event that the other gives with probability q."""
    if "mu" in curve:
        return NORMAL.cdf(NORMAL.inv_cdf(q) + curve["mu"])
    if "points" in curve:
        return min(1.0, *(exp(epsilon) * q + delta for epsilon, delta in curve["points"]))
    orders = [1 + 10 ** (i / 12 - 3) for i in range(73)]
    bounds = curve.get("renyi") or [(order, curve["rho"] * order) for order in orders]
    rest, found = 1 - curve.get("delta", 0.0), []
    q = min(q / rest, (1 + q) / 2)
    for order, bound in bounds:  # p of two Bernoulli laws whose divergence is at most the bound
        low, high = q, 1.0
        for _ in range(50):
            p = (low + high) / 2
            sides = (p, q), (max(1 - p, 1e-300), 1 - q)
            terms = (order * log(a) + (1 - order) * log(b) for a, b in sides)
            one, two = (term - (order - 1) * bound for term in terms)
            low, high = (p, high) if max(one, two) < 0 and exp(one) + exp(two) <= 1 else (low, p)
        found.append(high)
    return 1 - rest + rest * min(found)


def promised(curve, epsilon, delta, steps):
    """Whether a curve, `steps` times over, lies below the line of (epsilon, delta) everywhere."""

    def excess(q):
        p = reduce(lambda p, _: min(allowed(curve, p), 1 - 1e-12), range(steps), q)
        return p - exp(epsilon) * q

    low, high = 1e-9, 1 - 1e-9
    for _ in range(60):  # the excess is concave
        one, two = low + (high - low) / 3, high - (high - low) / 3
        low, high = (one, high) if excess(one) < excess(two) else (low, two)
    return excess(low) <= delta + 1e-9


class Test:
    """The test of one event: hits (x, y) of trials (n, m)."""

    def __init__(self, hits, trials, level):
        self.hits, self.trials = hits, trials
        beta = BETA * level
        self.p_low, self.p_high = limits(hits[0], trials[0], beta / 4)
        self.q_low, self.q_high = limits(hits[1], trials[1], beta / 4)
        self.needed = -NORMAL.inv_cdf(level - beta)
        self.slack = STEP / (2 * sqrt(trials[1])) + 4e-8

    def rejects(self, epsilon, delta):
        """Whether the null is rejected, for all probabilities q of the other side."""
        if delta >= 1 or epsilon > 600:
            return False
        start = angle(max(self.q_low, (self.p_low - delta) * exp(-epsilon))) - self.slack
        end = angle(self.q_high) + self.slack
        if start > end - self.slack:
            return True
        self.ends = max(start, 0.0), min(end, pi / 2)
        parts = [self.ends]
        while parts:  # halved until a bound for all their cells passes, or few are left
            first, last = parts.pop()
            if self.bound(first, last, epsilon, delta) >= self.needed + 10 * TIE:
                continue
            if last - first >= 4 * self.slack:
                middle = (first + last) / 2
                parts += [(first, middle), (middle, last)]
            elif self.least(first, last, epsilon, delta) < self.needed + TIE:
                return False
        return True

    def bound(self, first, last, epsilon, delta):
        """What no lattice cell with its middle in this part of angles is below."""
        (x, y), (n, m), ratio = self.hits, self.trials, exp(epsilon)
        if x == 0 or y == m or epsilon > 20:
            return -inf  # no bound is known here
        bottom = sin(max(first - self.slack, self.ends[0])) ** 2
        top = ratio * sin(min(last + self.slack, self.ends[1])) ** 2 + delta
        one = max(above(x, n, min(top, 1 - CLOSE, self.p_high)), -1e300)
        two = max(below(y, m, max(bottom, CLOSE)), -1e300)
        ends = sin(first) ** 2, sin(last) ** 2
        least_p, most_p = variances(*(ratio * end + delta for end in ends))
        least_q, most_q = variances(*ends)
        from_ = 0.0 if top >= 1 - CLOSE else atan2(sqrt(least_p / n), ratio * sqrt(most_q / m))
        to = pi / 2 if bottom == 0 else atan2(sqrt(most_p / n), ratio * sqrt(least_q / m))
        inside = [min(max(atan2(-one, -two), from_), to)] if max(one, two) <= 0 else [from_, to]
        return min(sin(turn) * one + cos(turn) * two for turn in inside)

    def least(self, first, last, epsilon, delta):
        """The least value of the lattice cells in use that touch this part."""
        (x, y), (n, m), ratio = self.hits, self.trials, exp(epsilon)
        low, high = sin(max(first - self.slack, 0)) ** 2, sin(min(last + self.slack, pi / 2)) ** 2
        edges = {0.0, (1 - delta) / ratio, 1.0}
        for size, times, plus in ((m, 1.0, 0.0), (n, ratio, delta)):
            scale = 2 * sqrt(size) / STEP
            from_, to = (int(scale * angle(times * end + plus)) for end in (low, high))
            stops = (min(i / scale, pi / 2) for i in range(max(0, from_ - 2), to + 4))
            edges |= {(sin(stop) ** 2 - plus) / times for stop in stops}
        ordered = [-1.0, *sorted(edge for edge in edges if 0 <= edge <= 1)]
        kept = [right for left, right in pairwise(ordered) if right - left > CLOSE]
        least = inf
        for left, right in pairwise(kept):
            top, middle = ratio * right + delta, (left + right) / 2
            used = top >= self.p_low and right >= max(self.q_low, sin(first) ** 2)
            if not used or left > min(self.q_high, sin(last) ** 2):
                continue
            p = min(ratio * middle + delta, 1.0)
            weights = sqrt(p * (1 - p) / n), ratio * sqrt(middle * (1 - middle) / m)
            if top >= 1 - CLOSE or left == 0:
                weights = (0.0, 1.0) if top >= 1 - CLOSE else (1.0, 0.0)
            scores = above(x, n, min(top, 1.0, self.p_high)), below(y, m, left)
            mixed = sum(w * z for w, z in zip(weights, scores) if w)
            least = min(least, mixed / hypot(*weights))
        return least


def variances(low, high):
    low, high = min(low, 1.0), min(high, 1.0)
    ends = low * (1 - low), high * (1 - high)
    return min(ends), 0.25 if low <= 0.5 <= high else max(ends)


def bound_of(hits, trials, level, claim):
    """The last epsilon before the first one of the grid that the test does not reject."""
    (x, y), (n, m), (epsilon, delta, distance) = hits, trials, claim
    legal = 0 <= x <= n <= MOST and 0 <= y <= m <= MOST and 0 < level < 0.5 <= n * m
    if not (legal and epsilon >= 0 <= delta and 1 <= distance <= 1000):
        raise ValueError(f"impossible: {hits} hits of {trials}, level {level} or claim {claim}")
    end = (min(10.0, log(m)) + 1) / distance
    grid = {epsilon, *(round(i * 0.001, 9) for i in range(ceil((min(end, 2.0) + 0.001) / 0.001)))}
    grid |= {round(2 + i * 0.005, 9) for i in range(max(0, ceil((end - 2) / 0.005)))}
    test, best = Test(hits, trials, level), -inf
    for one in sorted(grid):
        if not test.rejects(*at_distance(one, delta, distance)):
            break
        best = one
    return best


def paid(part, stated):
    """(for D and for D' of each group, cost) of a bet against the moment of one order."""
    (curve, steps), order, weight, h = stated, part["order"], part["weight"], part["values"]
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
    wealth, most, (null, delta) = 0.0, 0.0, at_distance(*claim)
    for batch in bets["batches"]:
        (a, b), ratio, size = batch["bet"], exp(min(null, 700.0)), len(batch["f"])
        parts = [paid(part, stated) for part in batch.get("parts", ())]
        more = [[sum(part[side][i] for part in parts) for i in range(size)] for side in (0, 1)]
        rest = [(f - x, g - y) for f, g, x, y in zip(batch["f"], batch["g"], *more)]
        rows = [(f, g, max(f - a, 0.0), max(g - b, 0.0)) for f, g in rest]
        most_u, most_v = (max(column) for column in list(zip(*rows))[2:])
        fair = all(min(f, a) + ratio * v <= a and min(g, b) + ratio * u <= b for f, g, u, v in rows)
        one, two = batch["counts"]
        pairs = sum(one) == sum(two) and min(*one, *two) >= 0 and len(one) == len(two) == size
        pairs = pairs and len(batch["g"]) == size and all(len(part[0]) == size for part in parts)
        spent_on = a + b + delta * (most_u + most_v) + sum(part[2] for part in parts)
        if not (fair and pairs and spent_on <= 2):
            return -inf
        table = zip(batch["f"], batch["g"], one, two)
        wealth += sum(x * log(f) + y * log(g) for f, g, x, y in table)
        most = max(most, wealth)
    return claim[0] if most >= -log(bets["level"]) else -inf


def spent(attempts, alpha, early):
    """What is wrong with the levels of the looks at one pair, given by attempt; '' for nothing."""
    for number, levels in enumerate(attempts):
        for shares, cost in ((EARLY if number < MOST_EARLY else (), early), (LAST, 1), ((1.0,), 1)):
            rest = iter(shares)
            if all(any(abs(one - cost * alpha * s) <= 1e-9 * one for s in rest) for one in levels):
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
    for _, group in groupby(made["counts"], key=lambda one: (one["attempt"], one["stage"])):
        counts, sums = [*group], [0, 0, 0, 0]
        if bets and counts[0]["stage"] == "bet":  # they show what the bets won on
            bounds.append(bound_of_bets(bets, claim, stated))
            continue
        for one in counts:
            sides = [(key, side ^ one["reversed"]) for key in ("hits", "trials") for side in (0, 1)]
            sums = [total + one[key][side] for total, (key, side) in zip(sums, sides)]
            bounds.append(bound_of(sums[:2], sums[2:], one["level"], claim))
        attempts.append([one["level"] for one in counts])
    if bets and not any(isclose(bets["level"], part * alpha) for alpha in alphas):
        wrong.append(f"bets.level: {bets['level']} is not what bets may spend")
    told = [spent(attempts, (1 - part) * alpha, early) for alpha in alphas]
    return bounds, wrong + ([f"level: {told[-1]}"] if all(told) else [])


def by_law(exact, claim):
    """What is wrong with the fractions by which exact laws refute the claim."""
    (epsilon, delta), least = at_distance(*claim), inf
    p, q = map(Fraction, exact["chances"])
    if not 0 <= q <= 1 >= p > Fraction(exp(min(epsilon, 700.0))) * q + Fraction(delta):
        return ["exact.chances: these probabilities do not break the claim"]
    if q:
        least = log(p / q) / claim[2]
    wrong = not delta and not isclose(float(exact["epsilon"]), least, rel_tol=1e-6)
    return [f"exact.epsilon: {exact['epsilon']}, the chances give {least}"] * wrong


def checked(result):
    """(verdict, bound, what does not follow) of one entry of `results`."""
    evidence, claim, small, plan = (result[key] for key in ("evidence", "claim", "smaller", "plan"))
    numbers, curve = (float(claim["epsilon"]), float(claim["delta"])), claim.get("curve")
    numbers += (1 if curve else claim["distance"],)
    alpha, precision = evidence["alpha"], plan["precision"]
    stated = curve or {}, claim["distance"]
    # A smaller pair with counts of its own is paid for with a part of alpha.
    alphas = (WORST * alpha,) if small else (alpha, WORST * alpha)
    early, part = 0.3 if precision else 0.5, plan.get("betting", 0)
    bets = ((0.5 if curve else 0.1) if precision else 0.9) * (
        result["seeded"] or bool({"rho", "renyi"} & {*stated[0]})
    )
    bounds, wrong = judged(evidence, numbers, stated, alphas, early, part)
    wrong += [f"plan.betting: {part}"] * (part not in (0, bets) or (part > 0 and precision == 0))
    own = bounds
    if small:
        own, more = judged(small, numbers, stated, ((1 - WORST) * alpha,), early, bets)
        wrong += [f"smaller.{one}" for one in more]
    if curve and not promised(curve, *numbers[:2], claim["distance"]):
        wrong.append(f"claim: the curve {curve} does not promise epsilon and delta")
    verdict = "refuted" if min(max(bounds), max(own)) >= numbers[0] else "not refuted"
    bound, exact = max(bounds + own), result.get("exact")
    if exact and exact["event"]:
        wrong += by_law(exact, numbers)
        verdict, bound = "refuted", max(bound, float(exact["epsilon"]))
    elif exact and verdict != "refuted" and (exact["asked"] or plan.get("search") == "given"):
        verdict = "proved"
    return verdict, bound, wrong


def compared(found, verdict, bound):
    """What the file tells other programs and does not follow from its counts."""
    told = found["verdict"].replace("_", " ").replace("inconclusive", "not refuted")
    if told != verdict:  # what a run that refutes nothing could have seen is not worked out here
        yield f"findings.verdict: {found['verdict']}, the counts give {verdict}"
    if not isclose(float(found["epsilon_lower"]), bound, abs_tol=1e-9):
        yield f"findings.epsilon_lower: {found['epsilon_lower']}, the counts give {bound}"


def main(path):
    try:
        with open(path, encoding="utf-8") as file:
            data, status = json.loads(file.read(LONGEST)), 0
        for number, result in enumerate(data["results"]):
            verdict, bound, wrong = checked(result)
            if "findings" in data:
                wrong += compared(data["findings"][number], verdict, bound)
            whole = verdict == "refuted" and "curve" in result["claim"]  # a curve, and no point
            verdict = verdict.replace("not refuted", "not refuted or inconclusive")
            told = f"results[{number}] {result['mechanism']!a}: {verdict}"
            told += "" if whole else f", epsilon >= {bound:.4g}"
            ends = "DOES NOT FOLLOW:" if wrong else "follows from the counts"
            print(f"{told}, alpha {result['evidence']['alpha']:g}; {ends}")
            print(*(f"  {line!a}\n" for line in wrong), sep="", end="")
            status |= bool(wrong)
        return status
    except Exception as error:  # noqa: BLE001 - damage of any kind, told in a line
        print(f"{path!a} cannot be checked: {error!r:.200}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else __doc__)
