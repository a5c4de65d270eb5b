"""Theorems on composition: what the parts' epsilon and delta promise for the whole.

They are put to the mechanism that loses the most of all, leaky randomized response, whose
privacy is known exactly; Kairouz, Oh and Viswanath (2015).
"""

from dataclasses import replace
from functools import partial
from itertools import product
from math import ceil, comb, exp, fsum, log, sqrt

import numpy as np

from .._checks import refuses
from ..accounting.composition import (
    advanced_calibration,
    advanced_composition,
    basic_composition,
    heterogeneous_composition,
    optimal_delta,
    zcdp_calibration,
    zcdp_composition,
)
from ..accounting.privacy_loss import compose_losses, hockey_stick
from ..model import (
    Array,
    Database,
    EqualityClaim,
    IdentityClaim,
    Interval,
    Mechanism,
    PrivacyClaim,
    Relation,
    Rows,
    Size,
    Subject,
    Theorem,
    number,
    whole,
)
from ..noise.geometric import geometric_mechanism
from ..noise.laplace import laplace_mechanism
from ..noise.randomized_response import leaky_response, leaky_response_mechanism
from ..queries import count, histogram
from .composed import ROGERS, budgeted_counts, compose, cost_of, drill_down_mechanism

BUN = "Bun and Steinke (2016)"
DRV = "Dwork, Rothblum and Vadhan (2010), Theorem III.3"
STEMMER = "Stemmer, lecture notes on differential privacy, lecture 10"

EPSILON = number(0.1, 0.001, 1, "of each part, nats")
ROUNDS = whole(100, 1, 1000, "number of parts")
DIGITS = number(4, 0.5, 12, "rounds * delta is 10**-digits")
TARGET = number(1.0, 0.01, 4, "of the whole, nats")
TARGET_DIGITS = number(6, 0.5, 12, "delta of the whole is 10**-digits")


def _recomposed(*, rounds: int, target: float, digits: float) -> IdentityClaim:
    """The parts, composed again by the theorem that calibrated them, stay within the whole.

    At the largest target, 2 ln(2 / delta), both terms of the theorem are half of it: of so many
    parts, but no fewer than keep their epsilon at most 1.
    """
    delta = 10**-digits
    largest = (1 - 1e-12) * 2 * log(2 / delta)

    def whole_of(epsilon: float, parts: int) -> float:
        each, leak = advanced_calibration(epsilon=epsilon, delta=delta, rounds=parts)
        spread, leaked = advanced_composition(epsilon=each, delta=leak, rounds=parts)
        return max(spread / epsilon, leaked / delta)

    def most() -> float:
        edge = whole_of(largest, max(rounds, ceil(largest)))
        # Stated is what the edge attains, and no target needs more.
        return max(edge, whole_of(target, rounds))

    return IdentityClaim(compute=most, stated=1.0, tolerance=1e-9)


def _zcdp_recomposed(*, rounds: int, target: float, digits: float) -> IdentityClaim:
    delta = 10**-digits

    def whole_of() -> float:
        each = zcdp_calibration(epsilon=target, delta=delta, rounds=rounds)
        return zcdp_composition([each] * rounds, delta)

    return IdentityClaim(compute=whole_of, stated=target, tolerance=1e-9 * target)


def _joint_density(*, first: float, second: float) -> IdentityClaim:
    """Three counts of three kinds and a whole count, by the density of each number."""

    def apart() -> float:
        rows = Rows(row=Interval(low=0, high=2, integer=True))
        noisy = partial(geometric_mechanism, relation=Relation.ADD_REMOVE, databases=rows)
        kinds = partial(histogram, categories=3)
        made = compose(
            noisy(query=kinds, sensitivity=2, epsilon=first),
            noisy(query=count, sensitivity=1, epsilon=second),
        )
        assert made.log_probability is not None
        outputs = np.array(list(product((-2, 0, 1), (0, 3), (1, 2), (-1, 4))))
        found = made.log_probability([0, 1, 1], outputs)
        each = np.array([first / 2] * 3 + [second])
        noise = np.abs(outputs - np.array([1, 2, 0, 3])) @ each
        stated = np.log(np.tanh(each / 2)).sum() - noise
        return float(np.abs(found - stated).max())

    return IdentityClaim(compute=apart, stated=0.0, tolerance=1e-9)


def _excess(rounds: int, epsilon: float, leak: float, level: float) -> float:
    """The delta of responses by binomial probabilities in plain arithmetic, outcome by outcome."""
    right = exp(epsilon) / (1 + exp(epsilon))
    ways = [comb(rounds, ones) for ones in range(rounds + 1)]
    first = [w * right**i * (1 - right) ** (rounds - i) for i, w in enumerate(ways)]
    kept = (1 - leak) ** rounds
    answers = sum(max(p - exp(level) * q, 0) for p, q in zip(first, first[::-1], strict=True))
    return 1 - kept + kept * answers


def _optimal(*, rounds: int, epsilon: float, leak: float, level: float) -> IdentityClaim:
    return IdentityClaim(
        compute=partial(_excess, rounds, epsilon, leak, level),
        stated=optimal_delta(epsilon=epsilon, delta=leak, rounds=rounds, level=level),
        tolerance=1e-9,
    )


def _losses_add_up(*, rounds: int, epsilon: float, leak: float, level: float) -> IdentityClaim:
    def excess() -> float:
        loss = leaky_response_mechanism(epsilon=epsilon, delta=leak).privacy_loss
        assert loss is not None
        return hockey_stick(compose_losses([loss(0, 1)] * rounds), level)

    stated = _excess(rounds, epsilon, leak, level)
    return IdentityClaim(compute=excess, stated=stated, tolerance=1e-9)


def _privacy(mechanism: Mechanism) -> Subject:
    """The mechanism with its last claim."""
    return Subject(claim=mechanism.claims[-1], mechanism=mechanism)


def _filtered(*, epsilon: float, price: float) -> Mechanism:
    # Longer than the cheaper count can be bought: who forgets what was spent goes too far.
    return budgeted_counts(epsilon=epsilon, prices=(0.2 * epsilon, price * epsilon), length=8)


def _charged() -> IdentityClaim:
    """How many mechanisms a filter charges for although what they lose is not known to be pure."""
    made = laplace_mechanism(
        query=count,
        sensitivity=1.0,
        epsilon=0.3,
        relation=Relation.ADD_REMOVE,
        databases=Rows(row=Interval(low=0, high=1, integer=True), max_size=8),
    )
    (pure,) = (claim for claim in made.claims if isinstance(claim, PrivacyClaim))
    unfit = (
        (),
        (pure, pure),
        (replace(pure, delta=1e-6),),
        (replace(pure, distance=2),),
        (replace(pure, relation=Relation.DECLARED),),
    )

    def taken() -> float:
        refused = [refuses(partial(cost_of, replace(made, claims=one))) for one in unfit]
        return refused.count(False) + abs(cost_of(made) - pure.epsilon)

    return IdentityClaim(compute=taken, stated=0.0)


def _promised() -> IdentityClaim:
    """How many compositions are promised something that no theorem gives."""
    bits = Rows(row=Interval(low=0, high=1, integer=True), max_size=8)

    def noisy(relation: Relation, rows: Rows = bits) -> Mechanism:
        return laplace_mechanism(
            query=count, sensitivity=1.0, epsilon=0.3, relation=relation, databases=rows
        )

    joins, replaces = noisy(Relation.ADD_REMOVE), noisy(Relation.REPLACE_ONE)
    others = noisy(Relation.ADD_REMOVE, replace(bits, max_size=4))
    asked = (
        partial(compose, joins, replaces),
        partial(compose, joins, others),
        partial(basic_composition, (0.1, 0.2), (1e-6,)),
    )

    def taken() -> float:
        promised = sum(isinstance(one, PrivacyClaim) for one in compose(joins, joins).claims)
        return [refuses(ask) for ask in asked].count(False) + abs(promised - 1)

    return IdentityClaim(compute=taken, stated=0.0)


def _alike(*, rounds: int, epsilon: float, leak: float) -> Subject:
    return _privacy(leaky_response_mechanism(epsilon=epsilon, delta=leak, rounds=rounds))


def _adaptive(*, first: float, second: float) -> Subject:
    made = drill_down_mechanism(epsilons=(first, second))
    (claim,) = made.claims
    assert isinstance(claim, PrivacyClaim)
    # A row more of 3 moves the first answer and, where that is positive, the second too.
    claim = replace(claim, examples=(([0], [0, 3]),))
    return Subject(claim=claim, mechanism=replace(made, claims=(claim,)))


def _basic(*, first: float, second: float, leak: float) -> Subject:
    parts = [leaky_response_mechanism(epsilon=e, delta=leak) for e in (first, second)]
    return _privacy(compose(*parts))


def _advanced(*, rounds: int, epsilon: float, digits: float) -> Subject:
    delta = 10**-digits / rounds
    mechanism = leaky_response_mechanism(
        epsilon=epsilon,
        delta=delta,
        rounds=rounds,
        promised=advanced_composition(epsilon=epsilon, delta=delta, rounds=rounds),
        reference=DRV,
    )
    return _privacy(mechanism)


def _advanced_calibrated(*, rounds: int, target: float, digits: float) -> Subject:
    delta = 10**-digits
    each, leak = advanced_calibration(epsilon=target, delta=delta, rounds=rounds)
    mechanism = leaky_response_mechanism(
        epsilon=each, delta=leak, rounds=rounds, promised=(target, delta), reference=DRV
    )
    return _privacy(mechanism)


def _told_at_once(*, rounds: int, epsilon: float, leak: float) -> Subject:
    """Responses one after the other, counted, or the truth as soon as one of them leaks."""

    def other(database: Database, rng: np.random.Generator, *, size: Size = None) -> Array:
        each = np.stack(
            [
                leaky_response(database, rng, epsilon=epsilon, delta=leak, size=size)
                for _ in range(rounds)
            ]
        )
        leaked = ((each < 0) | (each > 1)).any(axis=0)
        return np.where(leaked, (rounds + 1) if database else -1, each.sum(axis=0))

    mechanism = leaky_response_mechanism(
        epsilon=epsilon,
        delta=leak,
        rounds=rounds,
        promised=(rounds * epsilon, 1 - (1 - leak) ** rounds),
    )
    return Subject(claim=EqualityClaim(other=other, databases=(0, 1)), mechanism=mechanism)


def _spread(*, parts: int, smallest: float, largest: float) -> list[float]:
    return [float(epsilon) for epsilon in np.linspace(smallest, largest, parts)]


def _heterogeneous(*, parts: int, smallest: float, largest: float, digits: float) -> Subject:
    epsilons, delta = _spread(parts=parts, smallest=smallest, largest=largest), 10**-digits
    made = compose(*(leaky_response_mechanism(epsilon=epsilon) for epsilon in epsilons))
    claim = PrivacyClaim(
        epsilon=heterogeneous_composition(epsilons, delta),
        delta=delta,
        relation=Relation.REPLACE_ONE,
    )
    return Subject(claim=claim, mechanism=made)


def _composed(
    *, parts: int, smallest: float, largest: float, digits: float, leak: float
) -> Subject:
    epsilons = _spread(parts=parts, smallest=smallest, largest=largest)
    made = [leaky_response_mechanism(epsilon=epsilon, delta=leak) for epsilon in epsilons]
    return _privacy(compose(*made, delta=10**-digits))


def _claimed(
    *, parts: int, smallest: float, largest: float, digits: float, leak: float
) -> IdentityClaim:
    """How far what `compose` claims is from the sums, relatively, epsilons and deltas."""

    def apart() -> float:
        slack, epsilons = 10**-digits, _spread(parts=parts, smallest=smallest, largest=largest)
        made = [leaky_response_mechanism(epsilon=epsilon, delta=leak) for epsilon in epsilons]
        squares = fsum(epsilon**2 for epsilon in epsilons)
        wanted = [fsum(epsilons), len(made) * leak]
        wanted += [squares / 2 + sqrt(2 * log(1 / slack) * squares), len(made) * leak + slack]
        found = [
            number
            for one in compose(*made, delta=slack).claims
            if isinstance(one, PrivacyClaim)
            for number in (one.epsilon, one.delta)
        ]
        return max(abs(a / b - 1) for a, b in zip(found, wanted, strict=True))

    return IdentityClaim(compute=apart, stated=0.0, tolerance=1e-9)


def _through_zcdp(*, rounds: int, epsilon: float, digits: float) -> Subject:
    slack = 10**-digits
    promised = zcdp_composition([epsilon] * rounds, slack), 2 * slack
    mechanism = leaky_response_mechanism(
        epsilon=epsilon,
        delta=slack / rounds,
        rounds=rounds,
        promised=promised,
        reference=f"{BUN}, Propositions 1.3 and 1.4, Lemma 1.7",
    )
    return _privacy(mechanism)


def _zcdp_calibrated(*, rounds: int, target: float, digits: float) -> Subject:
    delta = 10**-digits
    each = zcdp_calibration(epsilon=target, delta=delta, rounds=rounds)
    mechanism = leaky_response_mechanism(
        epsilon=each, rounds=rounds, promised=(target, delta), reference=BUN
    )
    return _privacy(mechanism)


SPREAD = {
    "parts": whole(12, 1, 14, "number of parts"),
    "smallest": number(0.05, 0.001, 0.05, "least epsilon of a part"),
    "largest": number(0.2, 0.05, 2, "greatest epsilon of a part"),
    "digits": number(1, 0.1, 12, "delta is 10**-digits"),
}
ALIKE = {"rounds": ROUNDS, "epsilon": EPSILON, "digits": DIGITS}
WHOLE = {"rounds": ROUNDS, "target": TARGET, "digits": TARGET_DIGITS}
LEAKING = {
    "rounds": whole(20, 1, 100, "k"),
    "epsilon": number(0.3, 0.001, 2, "of each part, nats"),
    "leak": number(0.005, 0, 0.1, "delta of each part"),
    "level": number(1.0, 0, 4, "epsilon of the whole"),
}

THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="T-COMP-BASIC",
        statement="epsilons and deltas add up",
        reference="Dwork and Roth (2014), Theorem 3.16",
        subject=_basic,
        parameters={
            "first": replace(TARGET, default=0.5, meaning="epsilon of the first part"),
            "second": replace(TARGET, default=1.0, meaning="epsilon of the second part"),
            "leak": number(0.05, 0, 0.45, "delta of either part"),
        },
    ),
    Theorem(
        identifier="T-COMP-BASIC-ALIKE",
        statement="k parts of (epsilon, delta) are (k epsilon, k delta)-private",
        reference="Dwork and Roth (2014), Theorem 3.16",
        subject=_alike,
        parameters={
            "rounds": whole(5, 1, 40, "parts, k"),
            "epsilon": replace(EPSILON, default=0.3),
            "leak": number(0.02, 0, 0.02, "delta of each part"),
        },
    ),
    Theorem(
        identifier="T-COMP-BASIC-ADAPTIVE",
        statement="epsilons add up where the answer of one part decides what the next one asks",
        reference="Dwork and Roth (2014), Corollary B.2",
        subject=_adaptive,
        parameters={
            "first": replace(TARGET, default=0.4, meaning="epsilon of the first part"),
            "second": replace(TARGET, default=0.8, meaning="epsilon of the second part"),
        },
    ),
    Theorem(
        identifier="T-COMP-DENSITY",
        statement="the density of independent parts together is the product of theirs",
        reference="Dwork and Roth (2014), Theorem 3.14",
        subject=_joint_density,
        parameters={
            "first": replace(TARGET, default=0.5, meaning="epsilon of the first part"),
            "second": replace(TARGET, default=0.8, meaning="epsilon of the second part"),
        },
    ),
    Theorem(
        identifier="T-COMP-PARTS",
        statement="k responses told at once are those of k made one after the other",
        reference="Kairouz, Oh and Viswanath (2015)",
        subject=_told_at_once,
        parameters={
            "rounds": whole(4, 1, 50, "responses, k"),
            "epsilon": EPSILON,
            "leak": number(0.05, 0, 0.45, "delta of a response"),
        },
    ),
    Theorem(
        identifier="T-COMP-ADV",
        statement="k parts are (sqrt(2k ln(1/(k delta))) eps + 2k eps^2, 2k delta), k delta < 1",
        reference=DRV,
        subject=_advanced,
        parameters=ALIKE,
    ),
    Theorem(
        identifier="T-COMP-ADV-COR",
        statement="k parts of epsilon E / (2 sqrt(2k ln(2/D))) and delta D/(2k) make (E, D)",
        reference=DRV,
        subject=_advanced_calibrated,
        parameters={
            **WHOLE,
            # Up to 116 parts of these defaults are (1, D) by plain addition already.
            "rounds": replace(ROUNDS, default=400),
            "target": replace(TARGET, within=Interval(low=0.01, high=3.5)),
        },
    ),
    Theorem(
        identifier="T-COMP-HET",
        statement="pure parts are sum 2 eps_i^2 + sqrt(2 ln(1/delta) sum eps_i^2) at delta",
        reference=STEMMER,
        subject=_heterogeneous,
        parameters=SPREAD,
    ),
    Theorem(
        identifier="T-COMP-HET*",
        statement="parts are (sum eps_i^2 / 2 + sqrt(2 ln(1/D) sum eps_i^2), D + sum delta_i)",
        reference=BUN,
        subject=_composed,
        parameters={
            **SPREAD,
            # Wide enough that half of the bound is too little, and plain addition too.
            "largest": replace(SPREAD["largest"], default=0.8),
            "digits": replace(
                SPREAD["digits"], within=Interval(low=0.2, high=12), meaning="D is 10**-digits"
            ),
            # Together more than D: leaks that are not counted are noticed.
            "leak": number(0.02, 0, 0.02, "delta of each part"),
        },
    ),
    Theorem(
        identifier="T-COMP-HET-CLAIM",
        statement="parts put together claim the sums of epsilons and deltas, and T-COMP-HET*",
        reference=BUN,
        subject=_claimed,
        parameters={
            **SPREAD,
            # Leaks so small that D counts beside them.
            "leak": number(1e-3, 1e-9, 0.01, "delta of each part"),
        },
    ),
    Theorem(
        identifier="T-COMP-ADV-ZCDP",
        slow=True,
        statement="k parts are (k eps^2 / 2 + eps sqrt(2k ln(1/slack)), k delta + slack)",
        reference=f"{BUN}, Propositions 1.3 and 1.4, Lemma 1.7",
        subject=_through_zcdp,
        parameters=ALIKE,
    ),
    Theorem(
        identifier="T-COMP-ADV-ZCDP-CAL",
        statement="k pure parts of epsilon sqrt(2/k) s(E, D) make (E, D)",
        reference=BUN,
        subject=_zcdp_calibrated,
        parameters=WHOLE,
    ),
    Theorem(
        identifier="T-COMP-ADV-SPENT",
        statement="the parts of T-COMP-ADV-COR, composed again by T-COMP-ADV, stay within (E, D)",
        reference=DRV,
        subject=_recomposed,
        parameters=WHOLE,
    ),
    Theorem(
        identifier="T-COMP-ADV-ZCDP-SPENT",
        statement="the parts of T-COMP-ADV-ZCDP-CAL, composed again through zCDP, lose just E",
        reference=BUN,
        subject=_zcdp_recomposed,
        parameters=WHOLE,
    ),
    Theorem(
        identifier="T-COMP-OPT-EXACT",
        statement="the exact delta of k parts is that of k leaky responses",
        reference="Kairouz, Oh and Viswanath (2015), Theorem 3.3",
        subject=_optimal,
        parameters=LEAKING,
    ),
    Theorem(
        identifier="T-COMP-OPT-LOSS",
        statement="the losses of k leaky responses, infinite where one leaks, add up to that delta",
        reference="Kairouz, Oh and Viswanath (2015), Theorem 3.3",
        subject=_losses_add_up,
        parameters=LEAKING,
    ),
    Theorem(
        identifier="COMP-FILTER",
        weak="a whole session is one dear draw, and few are made; its density attains the loss",
        costly=10,
        statement="a filter that stops at epsilon loses no more, with prices chosen by the answers",
        reference=ROGERS,
        subject=_filtered,
        parameters={
            "epsilon": number(1.0, 0.2, 4, "the budget, nats"),
            "price": number(0.5, 0.1, 1, "of the dearer count, of the whole budget"),
        },
    ),
    Theorem(
        identifier="T-COMP-PROMISES",
        statement="a composition is promised under a relation that all parts have a claim for, on "
        "their common databases, with a delta for each part or for none",
        reference="Dwork and Roth (2014), Theorem 3.16",
        subject=_promised,
    ),
    Theorem(
        identifier="COMP-FILTER-PURE",
        statement="a filter charges for one pure claim about neighbours, and for nothing else: not "
        "with a delta, about databases two apart, under a relation of one's own",
        reference=ROGERS,
        subject=_charged,
    ),
)
