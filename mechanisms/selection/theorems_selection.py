"""The exponential mechanism and noisy arg-max: what they lose, and how well they select.

Where the factor 2 in the exponential mechanism's weights is needed; what each kind of noise costs
an arg-max, and which mechanism it makes; how good a candidate the exponential mechanism selects,
and its examples.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import exp, log, log1p

import numpy as np

from .._checks import refuses, sample_shape
from ..model import (
    Array,
    Database,
    EqualityClaim,
    FiniteLaw,
    IdentityClaim,
    Interval,
    InvariantCase,
    InvariantClaim,
    Mechanism,
    Output,
    PrivacyClaim,
    Product,
    Record,
    Relation,
    Rows,
    Size,
    Subject,
    Theorem,
    number,
    whole,
)
from ..queries import revenue
from .broken_selection import data_dependent_range, reweighed
from .exponential import (
    AUCTION,
    ROUNDING,
    Selection,
    by_counts,
    by_votes,
    exponential,
    exponential_by_weights,
    exponential_mechanism,
    log_probabilities,
    probabilities,
)
from .report_noisy_max import (
    laplace_max_one_by_one,
    one_sided_log_probabilities,
    one_sided_noisy_arg_max_mechanism,
    permute_and_flip,
    permute_and_flip_log_probabilities,
    permute_and_flip_mechanism,
    report_gumbel_max_mechanism,
    report_noisy_max_mechanism,
)

BOOK = "Dwork and Roth (2014)"
ADD_REMOVE, REPLACE_ONE = Relation.ADD_REMOVE, Relation.REPLACE_ONE
CLAIMED = number(1.0, 0.1, 2, "nats, of the claim")
UNVOTED = whole(9, 2, 30, "candidates beside the one that a voter moves against them")


def _opposed(others: int) -> tuple[tuple[Database, Database], ...]:
    """One candidate a vote ahead of all others, and a vote behind after one voter more."""
    ahead = [1] + [0] * others
    return (([ahead], [ahead, [-1] + [1] * others]),)


def _private(epsilon: float, others: int) -> Subject:
    """Votes count 2, so that the sensitivity is not 1."""
    made = exponential_mechanism(
        by_votes(others + 1).times(2.0), epsilon=epsilon, name="exponential-of-voters"
    )
    claim = PrivacyClaim(epsilon=epsilon, relation=ADD_REMOVE, examples=_opposed(others))
    return Subject(claim=claim, mechanism=made)


def _concentrated(epsilon: float, others: int) -> Subject:
    """One vote moves one candidate against all others, from half the weight to a little less."""
    made = exponential_mechanism(
        by_votes(others + 1), epsilon=epsilon, name="exponential-of-voters"
    )
    claim = next(
        one for one in made.claims if isinstance(one, PrivacyClaim) and one.curve is not None
    )
    return Subject(claim=replace(claim, examples=_opposed(others)), mechanism=made)


def _naive(multiple: float, epsilon: float, others: int) -> Subject:
    claim = PrivacyClaim(epsilon=multiple * epsilon, relation=ADD_REMOVE, examples=_opposed(others))
    mechanism = exponential_mechanism(
        by_votes(others + 1), epsilon=epsilon, name="exponential-of-voters"
    )
    return Subject(claim=claim, mechanism=reweighed(mechanism, monotone=True))


def _monotone(epsilon: float, candidates: int) -> Subject:
    problem = replace(by_counts(candidates), monotone=True)
    return Subject(
        claim=PrivacyClaim(epsilon=epsilon, relation=ADD_REMOVE),
        mechanism=exponential_mechanism(problem, epsilon=epsilon, name="exponential-of-counts"),
    )


def _monotone_replaced(epsilon: float, records: int) -> Subject:
    problem = by_counts(2, relation=REPLACE_ONE, total=records)
    mechanism = exponential_mechanism(problem, epsilon=epsilon, name="exponential-of-counts")
    return Subject(
        claim=PrivacyClaim(epsilon=epsilon, relation=REPLACE_ONE),
        mechanism=reweighed(mechanism, monotone=True),
    )


def _bids_offered(database: Database, *, values: tuple[float, ...]) -> Array:
    return revenue(database, prices=values)


def _prices_from_bids(epsilon: float) -> Subject:
    claim = PrivacyClaim(epsilon=epsilon, relation=ADD_REMOVE)
    run = partial(data_dependent_range, epsilon=epsilon, sensitivity=3.01, score=_bids_offered)
    mechanism = replace(AUCTION, run=run, law=None, identifier="", name="auction-at-bids")
    return Subject(claim=claim, mechanism=mechanism)


def _bounded_range(epsilon: float) -> InvariantClaim:
    def margin(case: InvariantCase) -> float:
        scores, moves = np.array(case, dtype=float).T
        logs = log_probabilities(
            np.array([scores, scores + moves]), sensitivity=1.0, epsilon=epsilon
        )
        return float(epsilon - np.ptp(logs[1] - logs[0]))

    pair = Product(parts=(Interval(low=0, high=20), Interval(low=-1, high=1)))
    return InvariantClaim(
        cases=Rows(row=pair, min_size=2, max_size=12),
        margin=margin,
        examples=([[1, -1]] + [[0, 1]] * 9, [[0, 1], [0, -1]], [[3, 1], [0, -1], [9, 0]]),
    )


def _never_lower() -> InvariantClaim:
    prices = tuple(np.linspace(0.25, 4, 16))

    def margin(case: InvariantCase) -> float:
        more = [*case["bids"], case["bid"]]
        return float(np.min(revenue(more, prices=prices) - revenue(case["bids"], prices=prices)))

    bid = Interval(low=0, high=4)
    return InvariantClaim(
        cases=Record(fields={"bids": Rows(row=bid, max_size=8), "bid": bid}),
        margin=margin,
        examples=({"bids": [], "bid": 0.0}, {"bids": [1.0, 1.0], "bid": 3.01}),
    )


def _half_elsewhere() -> IdentityClaim:
    """How many relations but add-remove take monotone scores, and with them half of the noise."""

    def taken() -> float:
        made = by_votes(2, least_vote=0, monotone=True)
        others = [one for one in Relation if one is not ADD_REMOVE]
        return [refuses(partial(replace, made, relation=one)) for one in others].count(False)

    return IdentityClaim(compute=taken, stated=0.0)


DING = "Ding et al. (2021)"
EPSILON = number(1.0, 0.1, 2, "nats")
GAP = whole(1, 0, 10, "between one count and the next")
AHEAD = whole(2, 1, 20, "c, the greater count")
MONOTONE = whole(
    1, 0, 1, "1 for votes from 0 on, add-remove, and half the noise; 0 for votes of either sign"
)
OTHERS = whole(2, 1, 12, "candidates but one")
VOTE = 2.0
"""What a vote counts, so that no sensitivity is 1."""


def _of_voters(
    build: Callable[..., Mechanism], epsilon: float, others: int, monotone: int
) -> Subject:
    candidates = others + 1
    problem = by_votes(candidates, least_vote=0 if monotone else -1, monotone=bool(monotone))
    problem = problem.times(VOTE)
    ahead, behind = [1] + [0] * others, [0] + [1] * others
    # One voter more for all but the first candidate, who is behind; or who is ahead, and loses.
    example = [behind] * 3 if monotone else [ahead]
    one_more = behind if monotone else [-1] + [1] * others
    claim = PrivacyClaim(
        epsilon=epsilon, relation=Relation.ADD_REMOVE, examples=((example, [*example, one_more]),)
    )
    return Subject(claim=claim, mechanism=build(problem, epsilon=epsilon))


def _same_law(
    build: Callable[..., Mechanism],
    other: Callable[..., Output],
    other_log_probabilities: Callable[..., Array],
    epsilon: float,
    database: list[int],
) -> Subject:
    """The law that `build`'s mechanism has on `database` is that of `other`."""
    problem = by_counts(len(database), max_count=30).times(VOTE)
    claim = EqualityClaim(
        other=partial(other, **problem.given(epsilon)),
        law=problem.law(other_log_probabilities, epsilon),
        databases=(database,),
    )
    return Subject(claim=claim, mechanism=build(problem, epsilon=epsilon))


def _regret(build: Callable[..., Mechanism], epsilon: float, candidates: int) -> Subject:
    """What the mechanism claims of its regret, where all candidates but the best are alike."""
    made = build(by_counts(candidates, max_count=4), epsilon=epsilon)
    return Subject(claim=made.claims[1], mechanism=made)


def _steps(gap: int) -> list[int]:
    """Four counts, each `gap` above the one before."""
    return [step * gap for step in range(4)]


def _gumbel(epsilon: float, gap: int) -> Subject:
    return _same_law(
        report_gumbel_max_mechanism,
        exponential_by_weights,
        log_probabilities,
        epsilon,
        _steps(gap),
    )


def _one_sided(epsilon: float, gap: int) -> Subject:
    return _same_law(
        one_sided_noisy_arg_max_mechanism,
        permute_and_flip,
        permute_and_flip_log_probabilities,
        epsilon,
        _steps(gap),
    )


def _one_sided_printed(epsilon: float, ahead: int) -> Subject:
    return _same_law(
        one_sided_noisy_arg_max_mechanism, exponential, log_probabilities, epsilon, [0, ahead]
    )


def _exponential_differences(
    database: Database,
    rng: np.random.Generator,
    *,
    counts: list[int],
    epsilon: float,
    size: Size = None,
) -> Array:
    """The arg-max of counts with Laplace noise of scale 2 / epsilon, made in another way."""
    noise = rng.exponential(2 / epsilon, size=(2, *sample_shape(size), len(counts)))
    return np.argmax(noise[0] - noise[1] + counts, axis=-1)


def _two_halves(epsilon: float, candidates: int) -> Subject:
    counts = [place % 5 for place in range(candidates)]
    logs = laplace_max_one_by_one(np.array(counts) * epsilon / 2)
    claim = EqualityClaim(
        other=partial(_exponential_differences, counts=counts, epsilon=epsilon),
        law=lambda _: FiniteLaw(outcomes=np.arange(candidates), log_probabilities=logs),
        databases=(counts,),
    )
    problem = by_counts(candidates, max_count=4)
    return Subject(claim=claim, mechanism=report_noisy_max_mechanism(problem, epsilon=epsilon))


def _less_regret(epsilon: float) -> InvariantClaim:
    def margin(case: InvariantCase) -> float:
        scores = np.asarray(case, dtype=float)
        behind = scores.max() - scores
        flips = np.exp(permute_and_flip_log_probabilities(scores, sensitivity=1, epsilon=epsilon))
        return float((probabilities(scores, sensitivity=1, epsilon=epsilon) - flips) @ behind)

    return InvariantClaim(
        cases=Rows(row=Interval(low=0, high=20), min_size=1, max_size=12),
        margin=margin,
        examples=([0, 1, 2, 3], [5, 5, 5], [0, 20], [0] * 11 + [1]),
    )


def _worse_of_two(factor: float, rate: float, ahead: float) -> IdentityClaim:
    def compute() -> float:
        logs = one_sided_log_probabilities(
            np.array([0.0, ahead]), sensitivity=1.0, epsilon=2 * rate
        )
        return float(np.exp(logs[0]))

    return IdentityClaim(compute=compute, stated=factor * exp(-rate * ahead))


_RATE = {
    "rate": number(0.5, 0.05, 2, "1 / mean of the noise"),
    "ahead": AHEAD,
}
_VOTERS = {"epsilon": EPSILON, "others": OTHERS, "monotone": MONOTONE}
# No default is 1 here: what is multiplied by 1, or is its own square, would not be looked at.
_ODD = replace(EPSILON, default=0.7)
_MANY = {"epsilon": EPSILON, "candidates": whole(20, 2, 40, "candidates, m")}
BIDS = (1.0, 1.0, 1.0, 3.01)
LEVELS = (0.5, 0.2, 0.1, 0.05, 0.01)
EPSILON_TO_4 = number(1.0, 0.1, 4, "nats")
CANDIDATES = whole(50, 10, 200, "their number")
LEAD = whole(10, 1, 30, "by how much the best candidates are ahead of all others")
NEARLY = 10
"""Candidates that are one behind the best, and do not share its score."""


def _regret_of_exponential(epsilon: float, candidates: int, best: int, gap: int) -> Subject:
    """The best candidates are `gap` ahead of all others, which are as good as each other.

    If several are, a second database has a single best one and others that are nearly as good.
    """
    ties = best > 1
    nearly = min(NEARLY, candidates - 2) if ties else 0
    level = candidates * exp(-gap * epsilon / 2) / best * (1 + 1e-9)
    problem = by_counts(candidates, max_count=40)
    alike = [0] * (candidates - best) + [gap] * best
    apart = [0] * (candidates - 1 - nearly) + [gap - 1] * nearly + [gap]
    # At these levels the bound is just the regret of all candidates but the best; the second would
    # be that of the second database if those nearly as good were counted among the best.
    reached = (level, level * best / (1 + nearly)) if ties else (level,)
    claim = problem.regret_claim(
        epsilon,
        ties=ties,
        levels=(*(one for one in reached if one < 1), *LEVELS),
        databases=(alike, apart) if ties else (alike,),
    )
    return Subject(claim=claim, mechanism=_of(problem, epsilon))


def _reached(epsilon: float, candidates: int) -> IdentityClaim:
    """How far, in logarithms, a claim is asked at other levels than those at which it is hard."""

    def apart() -> float:
        claim = by_counts(candidates, max_count=40).regret_claim(epsilon)
        asked = np.log(claim.levels)
        # The first candidate is ahead; each other one is selected with chance exp(-lead / scale).
        most = log(candidates) + log1p(ROUNDING)
        hard = [most - database[0] * epsilon / 2 for database in claim.databases]
        return max(float(np.abs(asked - one).min()) for one in hard if one < 0)

    return IdentityClaim(compute=apart, stated=0.0)


def _gumbel_sampler(epsilon: float, gap: int) -> Subject:
    problem = by_counts(4, max_count=40)
    claim = EqualityClaim(
        other=partial(exponential_by_weights, **problem.given(epsilon)),
        law=problem.law(log_probabilities, epsilon),
        databases=([step * gap for step in range(4)],),
    )
    return Subject(claim=claim, mechanism=_of(problem, epsilon))


def _of(problem: Selection, epsilon: float) -> Mechanism:
    return exponential_mechanism(problem, epsilon=epsilon, name="exponential-of-counts")


def _price(price: float) -> IdentityClaim:
    def compute() -> float:
        return float(revenue(BIDS, prices=(price,))[0])

    buyers = 4 if price <= 1 else 1 if price <= 3.01 else 0
    return IdentityClaim(compute=compute, stated=price * buyers)


def _price_printed() -> IdentityClaim:
    return IdentityClaim(compute=lambda: float(revenue(BIDS, prices=(1.0,))[0]), stated=3.0)


THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="EM-3.10",
        statement="weights exp(epsilon u / (2 Du)) lose at most epsilon",
        reference=f"{BOOK}, Theorem 3.10",
        subject=_private,
        parameters={"epsilon": CLAIMED, "others": UNVOTED},
    ),
    Theorem(
        identifier="EM-3.10-BR",
        statement="the log-ratios of two neighbouring laws lie in an interval of length epsilon",
        reference="Dong, Durfee and Rogers (2020)",
        subject=_bounded_range,
        parameters={"epsilon": CLAIMED},
    ),
    Theorem(
        identifier="EM-RHO",
        statement="weights exp(epsilon u / (2 Du)) are (epsilon^2 / 8)-zCDP",
        reference="Cesar and Rogers (2021), Lemma 3.4",
        subject=_concentrated,
        parameters={"epsilon": CLAIMED, "others": replace(UNVOTED, default=2)},
    ),
    Theorem(
        identifier="EM-DDR",
        statement="candidates may be read off the data: the prices are the bids",
        reference=f"{BOOK}, Section 3.4",
        subject=_prices_from_bids,
        parameters={"epsilon": CLAIMED},
        corrected="EM-3.10",
        remark="the candidates must not depend on the data: a bid only one database has shows",
    ),
    Theorem(
        identifier="EM-MONO",
        statement="for monotone scores, add-remove, weights exp(epsilon u / Du) lose epsilon",
        reference=f"{BOOK}, Section 3.4",
        subject=_monotone,
        parameters={
            "epsilon": CLAIMED,
            "candidates": whole(4, 2, 20, "bins"),
        },
    ),
    Theorem(
        identifier="EM-MONO-DEF",
        statement="revenue at fixed prices is monotone: a further bid lowers it at none",
        reference=f"{BOOK}, Section 3.4",
        subject=_never_lower,
    ),
    Theorem(
        identifier="EM-MONO-ONLY",
        statement="half of the noise is given to monotone scores under add-remove, and under no "
        "other relation: a replaced record lowers one score and raises another",
        reference=f"{BOOK}, Section 3.4",
        subject=_half_elsewhere,
    ),
    Theorem(
        identifier="EM-NAIVE",
        statement="weights exp(epsilon u / Du) lose at most 2 epsilon",
        reference=f"{BOOK}, Section 3.4",
        subject=partial(_naive, 2),
        parameters={"epsilon": CLAIMED, "others": UNVOTED},
    ),
    Theorem(
        identifier="ERR-EM-2",
        slow=True,
        statement="weights exp(epsilon u / Du) lose at most epsilon",
        reference=f"{BOOK}, Section 3.4",
        subject=partial(_naive, 1),
        parameters={"epsilon": CLAIMED, "others": UNVOTED},
        corrected="EM-NAIVE",
        remark="the normaliser, which the heuristic leaves out, loses epsilon as well",
    ),
    Theorem(
        identifier="ERR-EM-6",
        statement="for monotone scores, replace-one, weights exp(epsilon u / Du) lose epsilon",
        reference=f"{BOOK}, Section 3.4",
        subject=_monotone_replaced,
        parameters={
            "epsilon": CLAIMED,
            "records": whole(3, 2, 40, "their number"),
        },
        corrected="EM-MONO",
        remark="the saving is for add-remove: replacing a record raises one score, lowers another",
    ),
    Theorem(
        identifier="EM-RNM",
        statement="Laplace noise of scale 2 Du / epsilon, half of it if monotone, loses epsilon",
        reference=f"{BOOK}, Claim 3.9",
        subject=partial(_of_voters, report_noisy_max_mechanism),
        parameters=_VOTERS,
    ),
    Theorem(
        identifier="EM-RNM-LAW",
        statement="Laplace noise of scale b selects like differences of two noises of mean b",
        reference="Kotz, Kozubowski and Podgorski (2001), Section 2.2",
        subject=_two_halves,
        parameters={"epsilon": _ODD, "candidates": whole(40, 21, 200, "candidates")},
    ),
    Theorem(
        identifier="EM-RNM-ACC",
        statement="P[Laplace noise of scale b selects one that is b x behind] <= "
        "m (2 + x) exp(-x) / 4",
        reference="Kotz, Kozubowski and Podgorski (2001), chapter 2, and a union bound",
        subject=partial(_regret, report_noisy_max_mechanism),
        parameters=_MANY,
    ),
    Theorem(
        identifier="EM-PF-ACC",
        statement="P[permute-and-flip selects one that is b ln(m / beta) behind] <= beta",
        reference="McKenna and Sheldon (2020), with Dwork and Roth (2014), Corollary 3.12",
        subject=partial(_regret, permute_and_flip_mechanism),
        parameters={**_MANY, "epsilon": _ODD},
    ),
    Theorem(
        identifier="EM-OSNM-ACC",
        statement="P[exponential noise of mean b selects one that is b ln(m / beta) behind] <= "
        "beta",
        reference=f"{BOOK}, Section 3.4, and a union bound",
        subject=partial(_regret, one_sided_noisy_arg_max_mechanism),
        parameters=_MANY,
    ),
    Theorem(
        identifier="EM-OSNM",
        statement="exponential noise of mean 2 Du / epsilon, half of it if monotone, loses epsilon",
        reference=f"{BOOK}, Section 3.4",
        subject=partial(_of_voters, one_sided_noisy_arg_max_mechanism),
        parameters=_VOTERS,
    ),
    Theorem(
        identifier="EM-OSNM-3.6",
        statement="counts 0 and c, noise of rate l: the worse one is selected with exp(-l c) / 2",
        reference=f"{BOOK}, after Example 3.6",
        subject=partial(_worse_of_two, 0.5),
        parameters=_RATE,
    ),
    Theorem(
        identifier="EM-3.13a",
        statement="report noisy max with Gumbel(2 Du / epsilon) noise is the exponential mechanism",
        reference="Durfee and Rogers (2019)",
        subject=_gumbel,
        parameters={"epsilon": _ODD, "gap": GAP},
    ),
    Theorem(
        identifier="EM-3.13b",
        statement="noisy arg-max with exponential noise of mean 2 Du / epsilon is permute-and-flip",
        reference=DING,
        subject=_one_sided,
        parameters={"epsilon": _ODD, "gap": GAP},
    ),
    Theorem(
        identifier="EM-3.13c",
        statement="permute-and-flip has no more expected regret than the exponential mechanism",
        reference="McKenna and Sheldon (2020)",
        subject=_less_regret,
        parameters={"epsilon": EPSILON},
    ),
    Theorem(
        identifier="ERR-EM-3",
        statement="counts 0 and c, noise of rate l: the worse one is selected with exp(-l c)",
        reference=f"{BOOK}, after Example 3.6",
        subject=partial(_worse_of_two, 1.0),
        parameters=_RATE,
        corrected="EM-OSNM-3.6",
        remark="the difference of two such noises is Laplace, whose tail has half that weight",
    ),
    Theorem(
        identifier="ERR-EM-4",
        statement="noisy arg-max with exponential noise is the exponential mechanism",
        reference=f"{BOOK}, Theorem 3.13",
        subject=_one_sided_printed,
        parameters={
            "epsilon": replace(EPSILON, within=Interval(low=0.5, high=2)),
            "ahead": replace(AHEAD, within=Interval(low=1, high=4, integer=True)),
        },
        corrected="EM-3.13b",
        remark="exponential noise makes permute-and-flip; Gumbel noise makes this one",
    ),
    Theorem(
        identifier="EM-3.4",
        statement="the argmax of scores with Gumbel noise falls as the weights "
        "exp(epsilon u / 2 Du)",
        reference=f"{BOOK}, Definition 3.4",
        subject=_gumbel_sampler,
        parameters={
            "epsilon": replace(EPSILON_TO_4, default=0.7),
            "gap": whole(1, 0, 10, "between one count and the next"),
        },
    ),
    Theorem(
        identifier="EM-3.5",
        statement="four bids of 1, 1, 1 and 3.01: the revenue at a price is price times buyers",
        reference=f"{BOOK}, Example 3.5",
        subject=_price,
        parameters={"price": number(1.0, 0.01, 5, "price")},
    ),
    Theorem(
        identifier="EM-3.6",
        statement="two counts, 0 and c: P[the worse one] <= 2 exp(-c epsilon / 2)",
        reference=f"{BOOK}, Example 3.6",
        subject=partial(_regret_of_exponential, candidates=2, best=1),
        parameters={"epsilon": EPSILON_TO_4, "gap": replace(LEAD, default=4, meaning="c")},
    ),
    Theorem(
        identifier="EM-3.11",
        statement="P[u <= best - (2 Du / epsilon) (ln(candidates / best ones) + t)] <= exp(-t)",
        reference=f"{BOOK}, Theorem 3.11",
        subject=_regret_of_exponential,
        parameters={
            "epsilon": EPSILON_TO_4,
            "candidates": CANDIDATES,
            "best": whole(5, 1, 9, "candidates that share the best score"),
            "gap": LEAD,
        },
    ),
    Theorem(
        identifier="EM-3.12",
        statement="P[u <= best - (2 Du / epsilon) (ln(candidates) + t)] <= exp(-t)",
        reference=f"{BOOK}, Corollary 3.12",
        subject=partial(_regret_of_exponential, best=1),
        parameters={"epsilon": EPSILON_TO_4, "candidates": CANDIDATES, "gap": LEAD},
    ),
    Theorem(
        identifier="EM-3.12-LEVELS",
        statement="the regret of the worst candidates is asked for at N exp(-lead epsilon / 2 Du)",
        reference=f"{BOOK}, Corollary 3.12",
        subject=_reached,
        parameters={
            "epsilon": EPSILON_TO_4,
            "candidates": replace(
                CANDIDATES, default=5, within=Interval(low=2, high=200, integer=True)
            ),
        },
    ),
    Theorem(
        identifier="ERR-EM-1",
        statement="four bids of 1, 1, 1 and 3.01: the revenue at 1.00 is 3.00",
        reference=f"{BOOK}, Example 3.5",
        subject=_price_printed,
        corrected="EM-3.5",
        remark="at 1.00 all four buy: 4.00, the best revenue",
    ),
)
