"""Do the draws follow the law, or the density, that the mechanism states?

**A finite law.** Each outcome of a list fixed by the law is counted, and all the others together;
exact binomial tests share the level evenly.

**Laplace and Gaussian noise.** The draws of each coordinate are compared with the distribution
function; sup |F_n - F| >= sqrt(ln(2 / level) / (2 n)) has probability at most `level` (Massart
1990). Their size is tested exactly: absolute values of Laplace noise, in scales, add up to a
Gamma(n) variable, half of the squares of Gaussian noise, in deviations, to a Gamma(n / 2) variable.
Signs of two coordinates agree with probability 1/2, by exact binomial tests of all pairs of the
first 64 and of neighbours beyond, which share the level evenly.

**A product.** Each part is compared on its own, over the numbers of the output that are its; an
event of one part and one of the next come together as often as independence says.

**A density.** Let p and q be the densities on two databases with respect to one measure and
L = ln(p / q). For every s, P(L <= s) = E_Q[exp(L) 1{L <= s}]: draws of one database, weighted by
what the densities say, must tell how often the other gives an event. The weights are at most
exp(s). Thresholds s are chosen on other draws and the two confidence bounds share the level. A
drawn output of density zero refutes with certainty. The same holds where q is the density of the
mechanism's own outputs with one number moved by a constant, q(x) = p(x + h): that sees noise of
another scale, which both databases of a pair may have alike. Outputs that come again are atoms of
the measure: some are chosen on other draws, and of the draws that fall on them each has its share
of the density, by exact binomial tests.

**A loss.** The law of the privacy loss between two databases is stated once more, beside the law
of the outputs or their density. Its largest loss and the delta at two epsilons are compared: with
those of the two laws exactly, with the log-ratios of drawn outputs by bounds on the mean of
(1 - exp(epsilon - L))+, which lies in [0, 1].

**Alarms.** Whoever has draws and an exact law of the same mechanism compares them: they must agree,
or the harness is wrong. These are not tests of a claim. Each is wrong with probability at most
ERROR, so a failure means that the sampler, the law or the auditor has a defect, and no verdict is
worth printing.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations, pairwise
from math import exp, inf, log, prod, sqrt
from time import monotonic

import numpy as np
from scipy.special import gammainc, gammaincc, ndtr

from ...mechanisms.model import (
    Array,
    Database,
    FiniteLaw,
    GaussianLaw,
    LaplaceLaw,
    Law,
    Mechanism,
    NotListable,
    Pair,
    PrivacyClaim,
)
from ..bounds.tails_and_means import betting_lower, betting_upper, intervals
from ..bounds.two_sample import at_least, at_most
from ..databases.neighbours import pair_source
from ..errors import HarnessError, InvalidArgument
from ..outputs.encoding import canonical, codes, show
from ..results.results import Verdict
from ..sampling.draws import Draws, some_databases
from .claim_results import ClaimResult, Finding, Table
from .exact import Loss, delta_bounds, epsilon_of, losses_of

ERROR = 1e-9
"""Probability that a comparison of draws with an exact law raises an alarm although both are
right."""
CLOSE = 1e-12
"""Rounding of a sum of chances."""
COLUMNS = ("database", "what", "stated", "drawn", "contradicted")
MOST_OUTCOMES = 64
"""Outcomes of a law that are counted each by itself, the likeliest; all others are one."""
QUANTILES = (0.1, 0.5, 0.9)
"""Of the log-ratios of the pilot draws: the thresholds of a density."""
PILOT = 2000
"""Draws that choose thresholds, at most; never more than a fifth of all."""
MOST_PAIRS, MOST_NAMED, MOST_MOVED = 3, 4, 4
"""Pairs of a domain, databases of claims, and moved numbers of an output that are compared, at
most."""
NEAR = 1e-9
"""A threshold stands this far above a log-ratio, so that equal ones are not torn apart."""
MOST_ATOMS, SEEN_OFTEN = 32, 5
"""Outputs whose shares are compared, at most, and how often the pilot draws show each at least."""
MOST_COUPLED = 64
"""Coordinates whose signs are compared pair by pair; of more, each with the next."""
MOST_WEIGHT = 20.0
"""The heaviest weight of a draw: beyond it a few draws would decide."""
MOST_DRAWS = 50_000
"""Draws that are compared, at most, where a claim or an audit has them beside its own. Of 58
planted faults that contradict a law or a density (docs/planted.md) 57 show with 10,000."""
STATEMENT = "draws follow the stated law"
Row = tuple[str, str, float, float, bool]
"""(database, what, stated, measured, contradicted)."""


# Alarms. -----------------------------------------------------------------------------------------


def credible(hits: int, draws: int, chance: float, level: float) -> bool:
    """Whether neither tail of the count, at an exact probability, is below half of `level`."""
    # Exact laws are sums of rounded terms: a chance of 1 - 1e-16 is certain, one of 1e-17 is not.
    above = at_least(hits, draws, min(chance + CLOSE, 1.0))
    below = at_most(hits, draws, max(chance - CLOSE, 0.0))
    return min(float(above), float(below)) >= level / 2


def require_frequency(hits: int, draws: int, chance: float, what: str) -> None:
    """Raise HarnessError unless `hits` of `draws` is credible for an exact probability `chance`."""
    p = min(max(chance, 0.0), 1.0)
    if not credible(hits, draws, p, ERROR):
        raise HarnessError(
            f"{what} is {chance:.6g} by the exact law but happened {hits} times in {draws} draws; "
            "the sampler, the law or the loss is wrong"
        )


def require_law(law: FiniteLaw, outputs: Array, what: str) -> None:
    """Raise HarnessError unless the draws are credible for the law.

    The total variation between the frequencies of n draws and a law on K outcomes has mean at
    most sqrt(K / n) / 2 and passes it by t with probability at most exp(-2 n t^2) (McDiarmid).
    """
    known, drawn = codes(np.asarray(law.outcomes), np.asarray(outputs))
    size, n = int(known.max()) + 1, len(drawn)
    chances = np.zeros(max(size, int(drawn.max()) + 1))
    np.add.at(chances, known, np.exp(np.asarray(law.log_probabilities, dtype=float)))
    frequencies = np.bincount(drawn, minlength=len(chances)) / n
    distance = float(np.abs(frequencies - chances).sum()) / 2
    allowed = sqrt(len(chances) / n) / 2 + sqrt(log(1 / ERROR) / (2 * n))
    strange = float(frequencies[chances < CLOSE].sum())
    if distance > allowed or strange > 0:
        raise HarnessError(
            f"{what}: {n} draws are {distance:.3g} in total variation from the exact law "
            f"({strange:.3g} of them impossible under it); the sampler or the law is wrong"
        )


# The test of a law or a density. -----------------------------------------------------------------


def follows_law(
    mechanism: Mechanism, *, alpha: float = 1e-6, draws: int = 100_000, seed: int = 0
) -> ClaimResult:
    """Compare `draws` draws in all with the law or the density that the mechanism states.

    A sampler that follows it is refuted with probability at most `alpha`. Raises InvalidArgument
    where the mechanism states none, or no databases to draw on.
    """
    started = monotonic()
    if mechanism.law is None and mechanism.log_probability is None:
        raise InvalidArgument(f"{mechanism.name} states neither a law nor a density of its output")
    source = Draws.of(mechanism, seed)
    made = 0
    rows: list[Row] = []
    if mechanism.law is not None:
        databases = {
            canonical(one): one for one in (*_databases(mechanism), *_stated(mechanism))
        }.values()
        each, share = max(2, draws // len(databases)), alpha / len(databases)
        for database in databases:
            outputs = source.array(database, "claim", 0, each)
            made += each
            rows += _by_law(_listed(mechanism.law, database), outputs, share, show(database))
        rows += _loss_of_laws(mechanism)
    else:
        rows, made = _by_density(mechanism, source, draws, alpha)
    wrong = [row for row in rows if row[4]]
    source.gate(refuted=bool(wrong), unlike=_unlike(wrong))
    verdict = Verdict.REFUTED if wrong else Verdict.NOT_REFUTED
    return ClaimResult(
        identifier=f"{mechanism.identifier or mechanism.name}:law",
        statement=f"{mechanism.name}: {STATEMENT}",
        reference="",
        kind="law",
        finding=Finding(
            claimed=wrong[0][2] if wrong else 0.0,
            sampled=verdict,
            weak=not rows,
            draws=made,
            error=alpha,
            method="exact binomial tests, Massart's bound, draws of one database reweighted",
            note=f"{wrong[0][1]}: stated {wrong[0][2]:.4g}, drawn {wrong[0][3]:.4g}"
            if wrong
            else "",
            table=Table(columns=COLUMNS, rows=tuple(rows)),
            witness=wrong[0][0] if wrong else None,
        ),
        seconds=monotonic() - started,
        seed=seed,
    )


def _listed(law: Callable[[Database], Law], database: Database) -> Law:
    try:
        return law(database)
    except NotListable as error:
        raise InvalidArgument(f"the law cannot be compared with draws: {error}") from None


def _by_density(
    mechanism: Mechanism, source: Draws, draws: int, alpha: float
) -> tuple[list[Row], int]:
    """All tests of the density, and how many draws they took."""
    pairs, alone = _pairs(mechanism), _stated(mechanism)
    each = max(2, draws // (2 * len(pairs) + len(alone)))
    drawn = [(pair.database, source.array(pair.database, "claim", 0, each)) for pair in pairs]
    drawn += [(database, source.array(database, "claim", 0, each)) for database in alone]
    compared = [
        (one, (pair.neighbour, source.array(pair.neighbour, "claim", 1, each)))
        for one, pair in zip(drawn, pairs, strict=False)
    ]
    # Far from each other two databases differ in more than neighbours, and in the noise's scale.
    compared += pairwise(drawn)
    share = alpha / (len(compared) + 2 * len(drawn) + len(pairs))
    rows: list[Row] = []
    for pair, (_, outputs) in zip(pairs, drawn, strict=False):
        rows += _loss_of_draws(mechanism, pair, outputs, share)
    for one, two in compared:
        rows += _dense(mechanism, (one[0], two[0]), (one[1], two[1]), share)
    for database, outputs in drawn:
        rows += _moved(mechanism, database, outputs, share)
        rows += _atoms(mechanism, database, outputs, share)
    return rows, each * (2 * len(pairs) + len(alone))


def contradicted(mechanism: Mechanism, *, trials: int, seed: int) -> str:
    """What of the stated law or density the draws contradict, in a sentence; "" for nothing.

    As many draws as trials are compared, and MOST_DRAWS at most. "" also where no law is stated, or
    no database is known to draw on. A sampler that follows its law is accused with probability at
    most ERROR.
    """
    if mechanism.law is None and mechanism.log_probability is None:
        return ""
    try:
        found = follows_law(mechanism, alpha=ERROR, draws=min(trials, MOST_DRAWS), seed=seed)
    except InvalidArgument:
        return ""
    if not found.refuted:
        return ""
    return (
        f"the draws of {mechanism.name} contradict the law it states on database "
        f"{found.finding.witness} ({found.finding.note}); the sampler or the law is wrong"
    )


def _databases(mechanism: Mechanism) -> tuple[Database, ...]:
    """Some of the mechanism's domain, else those that its privacy claims name."""
    try:
        return some_databases(mechanism)
    except InvalidArgument:
        named = [
            database
            for claim in mechanism.claims
            if isinstance(claim, PrivacyClaim)
            for pair in claim.examples
            for database in pair
        ]
        if not named:
            raise
        return tuple(named[:MOST_NAMED])


def _stated(mechanism: Mechanism) -> tuple[Database, ...]:
    """Databases that other claims than privacy name, as those on which their bounds are near."""
    named = [
        database
        for claim in mechanism.claims
        for database in tuple(getattr(claim, "databases", None) or ())[:MOST_NAMED]
    ]
    return tuple({canonical(one): one for one in named}.values())[:MOST_NAMED]


def _pairs(mechanism: Mechanism) -> list[Pair]:
    """Pairs that are near, so that the weights of one database's draws for the other stay small."""
    for claim in mechanism.claims:
        if isinstance(claim, PrivacyClaim) and mechanism.databases is not None:
            found = pair_source(mechanism.databases, claim.relation, claim.distance, 0).templates
            places = np.unique(np.linspace(0, len(found) - 1, MOST_PAIRS).round().astype(int))
            if found:
                return [found[place] for place in places.tolist()]
    raise InvalidArgument(f"no neighbouring databases of {mechanism.name} can be made up")


def _unlike(wrong: Sequence[Row]) -> float:
    """How often a draw is otherwise than what contradicts the law, if that gives probabilities."""
    shares = [1 - stated if drawn > stated else stated for *_, stated, drawn, _ in wrong]
    return max((one for one in shares if 0 < one < 1), default=0.5)


def _by_law(law: Law, outputs: Array, alpha: float, what: str) -> list[Row]:
    match law:
        case FiniteLaw():
            return _finite(law, outputs, alpha, what)
        case LaplaceLaw() | GaussianLaw():
            return _noise(law, outputs, alpha, what)
    flat, used = outputs.reshape(len(outputs), -1), 0
    share = alpha / (2 * len(law.parts))
    rows: list[Row] = []
    events: list[tuple[Array, float]] = []
    for place, part in enumerate(law.parts):
        shape = part.outcomes.shape[1:] if isinstance(part, FiniteLaw) else np.shape(part.centres)
        own = flat[:, used : used + prod(shape)].reshape(len(flat), *shape)
        used += prod(shape)
        rows += _by_law(part, own, share, f"{what}, part {place}")
        events.append(_event(part, own))
    for place, ((one, first), (two, second)) in enumerate(pairwise(events)):
        both = int(np.count_nonzero(one & two))
        wrong = not credible(both, len(flat), first * second, share)
        told = f"an event of part {place} and one of part {place + 1}"
        rows.append((what, told, first * second, both / len(flat), wrong))
    return rows


def _event(part: FiniteLaw | LaplaceLaw | GaussianLaw, drawn: Array) -> tuple[Array, float]:
    """Which draws of a part show an event, and the probability that its law gives it."""
    if isinstance(part, LaplaceLaw | GaussianLaw):
        above = drawn.reshape(len(drawn), -1)[:, 0] > np.ravel(part.centres)[0]
        return above, 0.5
    place = int(np.argmax(part.log_probabilities))
    same = (drawn == part.outcomes[place]).reshape(len(drawn), -1).all(axis=1)
    alike = (part.outcomes == part.outcomes[place]).reshape(len(part.outcomes), -1).all(axis=1)
    return same, float(np.exp(np.asarray(part.log_probabilities)[alike]).sum())


def _finite(law: FiniteLaw, outputs: Array, alpha: float, what: str) -> list[Row]:
    known, drawn = codes(np.asarray(law.outcomes), np.asarray(outputs))
    size, n = max(int(known.max()), int(drawn.max())) + 1, len(drawn)
    chances = np.zeros(size)
    np.add.at(chances, known, np.exp(np.asarray(law.log_probabilities, dtype=float)))
    counts = np.bincount(drawn, minlength=size)
    likely = np.argsort(-chances, kind="stable")[:MOST_OUTCOMES]
    likely = likely[chances[likely] > CLOSE]
    names = {int(code): show(law.outcomes[place]) for place, code in enumerate(known)}
    rest = n - int(counts[likely].sum())
    impossible = int(counts[chances <= CLOSE].sum())
    tests = [(names[int(k)], float(chances[k]), int(counts[k])) for k in likely]
    tests.append(("any other outcome", max(0.0, 1 - float(chances[likely].sum())), rest))
    level = alpha / len(tests)
    rows = [
        (what, f"P[{name}]", chance, hits / n, not credible(hits, n, chance, level))
        for name, chance, hits in tests
    ]
    return [*rows, (what, "P[an impossible outcome]", 0.0, impossible / n, impossible > 0)]


def _noise(law: LaplaceLaw | GaussianLaw, outputs: Array, alpha: float, what: str) -> list[Row]:
    centres = np.asarray(law.centres, dtype=float).reshape(-1)
    noise = (np.asarray(outputs, dtype=float).reshape(len(outputs), -1) - centres) / law.scale
    n, coordinates = noise.shape
    level = alpha / (3 * coordinates)
    allowed = sqrt(log(2 / level) / (2 * n))
    rows = []
    for place in range(coordinates):
        values = np.sort(noise[:, place])
        if isinstance(law, GaussianLaw):
            stated = ndtr(values)
            shape, size = n / 2, float((values**2).sum()) / 2
        else:
            tail = np.exp(-np.abs(values)) / 2
            stated = np.where(values < 0, tail, 1 - tail)
            shape, size = float(n), float(np.abs(values).sum())
        steps = np.arange(n + 1) / n
        gap = float(max((steps[1:] - stated).max(), (stated - steps[:-1]).max()))
        rows.append((what, f"sup |F_n - F| of number {place}", allowed, gap, gap > allowed))
        strange = bool(min(gammainc(shape, size), gammaincc(shape, size)) < level / 2)
        rows.append((what, f"size of number {place} over the stated", 1.0, size / shape, strange))
    # Noise used again comes a step later, which may be any number of coordinates.
    signs = np.where(noise > 0, 1.0, -1.0)
    products = signs[:, :MOST_COUPLED].T @ signs[:, :MOST_COUPLED]
    couples = {pair: products[pair] for pair in combinations(range(len(products)), 2)}
    for one, two in pairwise(range(MOST_COUPLED - 1, coordinates)):
        couples[one, two] = signs[:, one] @ signs[:, two]
    level = alpha / (3 * max(1, len(couples)))
    for (one, two), product in couples.items():
        same = round((n + float(product)) / 2)
        wrong = not credible(same, n, 0.5, level)
        if wrong or two == one + 1:
            rows.append((what, f"signs of numbers {one}, {two} agree", 0.5, same / n, wrong))
    return rows


def _dense(
    mechanism: Mechanism,
    databases: tuple[Database, Database],
    outputs: tuple[Array, Array],
    alpha: float,
) -> list[Row]:
    """Draws of the second database, reweighted, against those of the first, both ways round."""
    assert mechanism.log_probability is not None
    density = mechanism.log_probability
    logs = [
        [np.asarray(density(database, drawn), dtype=float) for database in databases]
        for drawn in outputs
    ]
    rows: list[Row] = []
    for side in (0, 1):
        what = show(databases[side])
        own = logs[side][side]
        impossible = int(np.count_nonzero(np.isneginf(own)))
        rows.append((what, "P[an output of density 0]", 0.0, impossible / len(own), impossible > 0))
        if impossible:
            continue
        # ln of the density here over that there, at draws from either side.
        with np.errstate(invalid="ignore"):
            here = own - logs[side][1 - side]
            there = logs[1 - side][side] - logs[1 - side][1 - side]
        if np.isnan(there).any():
            continue
        rows += _reweighted(here, there, alpha / 2, what, show(databases[1 - side]))
    return rows


def _loss_of_draws(mechanism: Mechanism, pair: Pair, outputs: Array, alpha: float) -> list[Row]:
    """The stated law of the loss against log-ratios of the density at outputs of the first side."""
    if mechanism.privacy_loss is None or mechanism.log_probability is None:
        return []
    sides = (pair.database, pair.neighbour)
    stated: list[Loss] = [mechanism.privacy_loss(*sides)]
    own, other = (
        np.asarray(mechanism.log_probability(side, outputs), dtype=float) for side in sides
    )
    if not np.isfinite(own).all() or np.isnan(other).any():
        return []  # the tests of the density tell
    losses, most = own - other, epsilon_of(stated)
    what = f"{show(sides[0])} against {show(sides[1])}"
    beyond = float((losses > most + NEAR * max(1.0, most)).mean())
    rows: list[Row] = [(what, "P[a loss above the largest]", 0.0, beyond, beyond > 0)]
    for level in _levels(most):
        gains = -np.expm1(np.minimum(level - losses, 0.0))
        least, largest = betting_lower(gains, 0.0, alpha / 4), betting_upper(gains, 1.0, alpha / 4)
        low, high = delta_bounds(stated, level)
        wrong = low > largest + NEAR or high < least - NEAR
        rows.append((what, f"delta at {level:.4g}", high, float(gains.mean()), wrong))
    return rows


def _loss_of_laws(mechanism: Mechanism) -> list[Row]:
    """The stated law of the loss against the two laws of the outputs, which say it exactly."""
    if mechanism.privacy_loss is None or mechanism.law is None:
        return []
    try:
        pairs = _pairs(mechanism)
    except InvalidArgument:
        return []
    rows: list[Row] = []
    for pair in pairs:
        sides = (pair.database, pair.neighbour)
        stated: list[Loss] = [mechanism.privacy_loss(*sides)]
        try:
            found = losses_of(*(mechanism.law(side) for side in sides))
        except (NotListable, HarnessError):
            continue  # laws of another scale or other outcomes: their loss is only stated
        for level in _levels(epsilon_of(found)):
            (low, high), (least, largest) = (delta_bounds(one, level) for one in (stated, found))
            wrong = low > largest + NEAR or high < least - NEAR
            what = f"{show(sides[0])} against {show(sides[1])}"
            rows.append((what, f"delta at {level:.4g}", high, largest, wrong))
    return rows


def _levels(most: float) -> tuple[float, float]:
    """Two epsilons, in nats, at which losses of at most so much are compared."""
    return (0.0, most / 2) if 0 < most < inf else (0.0, 1.0)


def _moved(mechanism: Mechanism, database: Database, outputs: Array, alpha: float) -> list[Row]:
    """Draws against themselves with one number moved, reweighted by what the density says."""
    assert mechanism.log_probability is not None
    density = partial(mechanism.log_probability, database)
    if outputs.dtype.kind not in "iuf":
        return []
    flat = outputs.reshape(len(outputs), -1)
    found = [(place, _range(flat, place)) for place in range(flat.shape[1])]
    movable = [(place, known) for place, known in found if known is not None]
    some = np.unique(np.linspace(0, len(movable) - 1, MOST_MOVED).round().astype(int)).tolist()
    own = np.asarray(density(outputs), dtype=float)
    rows: list[Row] = []
    for place, (step, inside) in [movable[one] for one in some] if movable else []:
        shift = np.zeros_like(flat[0])
        shift[place] = step
        here, there = (
            np.asarray(density((flat + way).reshape(outputs.shape)), dtype=float)
            for way in (-shift, shift)
        )
        if np.isfinite(own).all() and not np.isnan([here, there]).any():
            numbers = flat[:, place]
            held = inside(numbers)
            here = np.where(held & inside(numbers - step), own - here, inf)
            there = np.where(held & inside(numbers + step), there - own, -inf)
            what = f"{show(database)}, number {place} moved by {step:.4g}"
            rows += _reweighted(here, there, alpha / len(some), what, "itself")
    return rows


def _atoms(mechanism: Mechanism, database: Database, outputs: Array, alpha: float) -> list[Row]:
    """How the draws that fall on outputs that come again are shared out among these.

    Only ratios of the density are used, so that all atoms may weigh alike in any measure.
    """
    assert mechanism.log_probability is not None
    few = min(PILOT, len(outputs) // 5)
    pilot, counted = codes(outputs[:few], outputs[few:])
    seen, first, counts = np.unique(pilot, return_index=True, return_counts=True)
    likely = np.argsort(-counts, kind="stable")[:MOST_ATOMS]
    likely = likely[counts[likely] >= SEEN_OFTEN]
    if len(likely) < 2:
        return []
    atoms = outputs[first[likely]]
    logs = np.asarray(mechanism.log_probability(database, atoms), dtype=float)
    if not np.isfinite(logs).all():
        return []
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    hits = [int(np.count_nonzero(counted == code)) for code in seen[likely]]
    n, what = sum(hits), show(database)
    return [
        (what, f"share of {show(atom)}", float(share), hit / max(n, 1), wrong)
        for atom, share, hit in zip(atoms, shares, hits, strict=True)
        for wrong in [not credible(hit, n, float(share), alpha / len(atoms))]
    ]


def _range(flat: Array, place: int) -> tuple[float, Callable[[Array], Array]] | None:
    """How far to move a number of the outputs, and where its density has been seen to hold.

    A density need not be right where the mechanism never comes. A number that takes few values
    stays among those of the first draws, and is moved only where it is the whole output: others
    may belong to a value of it. Of a continuous one the values that occur again are left out.
    """
    numbers = flat[:, place]
    few = numbers[: max(1, min(PILOT, len(numbers) // 5))]
    values, counts = np.unique(numbers[np.isfinite(numbers)], return_counts=True)
    again = values[counts > 1]
    continuous = 5 * np.count_nonzero(counts == 1) >= max(1, counts.sum())
    few = few[np.isfinite(few) & ~(continuous & np.isin(few, again))]
    if few.size < 2 or not (continuous or flat.shape[1] == 1):
        return None
    low, high = np.quantile(few, (0.25, 0.75), method="nearest")
    step = high - low or few.max() - few.min()
    least, most, known = few.min(), few.max(), np.unique(few)

    def inside(points: Array) -> Array:
        if not continuous:
            return np.isin(points, known)
        between = (points >= least) & (points <= most) & ~np.isin(points, again)
        return between | np.isnan(points)

    return (step, inside) if step else None


def _reweighted(here: Array, there: Array, alpha: float, what: str, other: str) -> list[Row]:
    """P(L <= s) on this side, counted, and by E[exp(L) 1{L <= s}] on the other."""
    few = min(PILOT, len(here) // 5)
    pilot, counted, weighed = here[:few], here[few:], there[few:]
    finite = pilot[np.isfinite(pilot)]
    if not finite.size or not counted.size:
        return []
    # Equal ratios differ by rounding, and a cut between them would tear them apart.
    cuts = sorted({float(cut) + NEAR for cut in np.quantile(finite, QUANTILES, method="nearest")})
    level = alpha / (2 * len(cuts))
    rows: list[Row] = []
    for cut in cuts:
        hits, n = int(np.count_nonzero(counted <= cut)), len(counted)
        most = exp(min(cut, 50.0))
        values = np.where(weighed <= cut, np.exp(np.minimum(weighed, cut)), 0.0)
        if most > MOST_WEIGHT:
            # A few heavy weights decide: nothing could be told from so many draws.
            continue
        ((low, high),) = intervals([hits], n, level)
        least, largest = (
            betting_lower(values, 0.0, level / 2),
            betting_upper(values, most, level / 2),
        )
        wrong = low > largest or high < least
        mean = float(values.mean())
        rows.append((what, f"P[ratio <= {cut:.4g}] from {other}", mean, hits / n, wrong))
    return rows
