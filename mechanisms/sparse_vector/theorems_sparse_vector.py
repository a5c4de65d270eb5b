"""The sparse vector technique with several positive answers: privacy and accuracy."""

from dataclasses import replace
from functools import partial
from math import ceil, log
from typing import TypedDict, Unpack

import numpy as np

from ..accounting.privacy_loss import log_laplace_cdf
from ..model import (
    Analyst,
    Array,
    Database,
    EqualityClaim,
    FiniteLaw,
    Histogram,
    IdentityClaim,
    Mechanism,
    Parameter,
    PrivacyClaim,
    Relation,
    Size,
    Subject,
    Theorem,
    UtilityClaim,
    number,
    whole,
)
from .above_threshold import (
    ABOVE,
    BELOW,
    HALTED,
    above_threshold_mechanism,
    log_transcripts,
    take,
    transcripts,
)
from .sparse_vector_variants import numeric_sparse_vector_mechanism, sparse_vector_session_mechanism

POSITIVES = whole(2, 1, 3, "answers above after which it halts, c")
MISSED = 9
"""Queries that stay below before those that do not: enough that nearly e1 + e2 is lost."""
LYU = "Lyu, Su and Li (2017)"


def _epsilon(default: float, meaning: str) -> Parameter:
    return number(default, 0.05, 4, f"nats, of {meaning}")


BITS = {
    "threshold_epsilon": _epsilon(0.5, "the threshold"),
    "query_epsilon": _epsilon(1.0, "the comparisons"),
    "positives": POSITIVES,
}


def _bits(threshold_epsilon: float, query_epsilon: float, positives: int) -> Mechanism:
    return above_threshold_mechanism(
        queries=partial(take, bins=(1,) * (5 - positives) + (0,) * positives),
        length=5,
        threshold=10.0,
        sensitivity=1.0,
        threshold_epsilon=threshold_epsilon,
        query_epsilon=query_epsilon,
        relation=Relation.REPLACE_ONE,
        databases=Histogram(bins=2, total=20),
        positives=positives,
    )


def _stream(threshold_epsilon: float, query_epsilon: float, length: int) -> Mechanism:
    """All queries but the last move with a record one way: that all stay below costs e1."""
    return above_threshold_mechanism(
        queries=partial(take, bins=(1,) * (length - 1) + (0,)),
        length=length,
        threshold=10.0,
        sensitivity=1.0,
        threshold_epsilon=threshold_epsilon,
        query_epsilon=query_epsilon,
        relation=Relation.REPLACE_ONE,
        databases=Histogram(bins=2, total=20),
    )


def _wrong_side(threshold_epsilon: float, query_epsilon: float, length: int = 1) -> Subject:
    """Queries just so far below the threshold or above it that an error counts."""
    threshold, levels = 1000, (0.5, 0.2, 0.05, 0.01, 1e-3)
    made = above_threshold_mechanism(
        queries=partial(take, bins=(0,) * length),
        length=length,
        threshold=float(threshold),
        sensitivity=1.0,
        threshold_epsilon=threshold_epsilon,
        query_epsilon=query_epsilon,
        relation=Relation.REPLACE_ONE,
        databases=Histogram(bins=2, total=2 * threshold),
    )
    claim = made.claims[1]
    assert isinstance(claim, UtilityClaim)
    far = [min(ceil(claim.bound(beta)), threshold) for beta in levels]
    hard = [threshold + side * one for one in far for side in (1, -1)]
    databases = tuple([one, 2 * threshold - one] for one in hard)
    return Subject(claim=replace(claim, levels=levels, databases=databases), mechanism=made)


IN_TURN = (0, 0, 1, 0, 1, 1)
"""Which bin a session is asked for whose analyst heeds no answer."""
APART = [8, 12]
"""Counts on either side of the threshold: transcripts tell the noises apart best."""


UNIT = 2.0
"""What a record counts in sessions and where answers are numbers, so that it is not 1."""


def _units(database: Database, *, bins: tuple[int, ...]) -> Array:
    return UNIT * take(database, bins=bins)


class ComparisonLosses(TypedDict):
    """What a run or a session loses, and after how many answers above it is over."""

    threshold_epsilon: float
    query_epsilon: float
    positives: int


def _unheeding(
    **losses: Unpack[ComparisonLosses],
) -> tuple[Mechanism, Mechanism, tuple[Database, ...]]:
    """A session whose analyst heeds no answer, the same queries in one run, and their data."""
    session = sparse_vector_session_mechanism(
        length=len(IN_TURN), threshold=10 * UNIT, sensitivity=UNIT, **losses
    )
    at_once = above_threshold_mechanism(
        queries=partial(_units, bins=IN_TURN),
        length=len(IN_TURN),
        threshold=10 * UNIT,
        sensitivity=UNIT,
        relation=Relation.REPLACE_ONE,
        databases=Histogram(bins=2, total=20),
        **losses,
    )
    return session, at_once, ([10, 10], [9, 11], APART)


def _session(**losses: Unpack[ComparisonLosses]) -> Mechanism:
    return sparse_vector_session_mechanism(
        length=MISSED + losses["positives"], threshold=10 * UNIT, sensitivity=UNIT, **losses
    )


def as_session(kinds: Array) -> Array:
    """Kinds (..., k) as a session whose analyst heeds no answer is heard: (..., k, 2)."""
    heard = np.stack([np.broadcast_to(IN_TURN, kinds.shape), kinds], axis=-1).astype(float)
    heard[kinds == HALTED] = np.nan
    return heard


def _sessions_law(**losses: Unpack[ComparisonLosses]) -> Subject:
    session, at_once, _ = _unheeding(**losses)

    def other(database: Database, rng: np.random.Generator, *, size: Size = None) -> Array:
        return as_session(at_once.run(database[0], rng, size=size))

    asked = [APART, Analyst.scripted(*IN_TURN).written()]
    return Subject(claim=EqualityClaim(other=other, databases=(asked,)), mechanism=session)


def _sessions_density(**losses: Unpack[ComparisonLosses]) -> IdentityClaim:
    def apart() -> float:
        session, at_once, databases = _unheeding(**losses)
        assert session.log_probability is not None
        assert at_once.law is not None
        worst = 0.0
        for data in databases:
            law = at_once.law(data)
            assert isinstance(law, FiniteLaw)
            asked = [data, Analyst.scripted(*IN_TURN).written()]
            chances = np.exp(session.log_probability(asked, as_session(law.outcomes)))
            worst = max(worst, float(np.abs(chances - np.exp(law.log_probabilities)).max()))
        return worst

    return IdentityClaim(compute=apart, stated=0.0, tolerance=1e-9)


def _unlike(ratio: float, positives: int) -> IdentityClaim:
    """How far the law is from a plain sum over the noise of the threshold, in steps of its own.

    The larger noise is that of the threshold, then that of the queries.
    """
    margins = np.array([0.0, 3.0, -2.0, 8.0])
    kinds = transcripts(len(margins), positives)

    def summed(threshold_scale: float, query_scale: float, parts: int) -> Array:
        # The kinks, at whole numbers, are ends of steps.
        step = 1 / np.ceil(parts / min(threshold_scale, query_scale))
        reach = np.ceil(35 * threshold_scale)
        noise = np.arange(-reach, reach, step) + step / 2
        weights = np.exp(-np.abs(noise) / threshold_scale) * step / (2 * threshold_scale)
        scores = (noise - margins[:, None]) / query_scale
        tails = np.exp(-np.abs(scores)) / 2
        below = np.where(scores < 0, tails, 1 - tails)
        found = []
        for row in kinds:
            chances = weights
            for place, answer in enumerate(row):
                if answer != HALTED:
                    chances = chances * (below[place] if answer == BELOW else 1 - below[place])
            found.append(chances.sum())
        return np.array(found)

    def apart() -> float:
        worst = 0.0
        for one, other in ((ratio, 1.0), (1.0, ratio)):
            law = log_transcripts(
                kinds, margins.tolist(), threshold_scale=one, query_scale=other, positives=positives
            )
            # The error of sums falls with the square of the step: two steps tell it.
            exact = (4 * summed(one, other, 80) - summed(one, other, 40)) / 3
            worst = max(worst, float(np.abs(np.exp(law) - exact).max()))
        return worst

    return IdentityClaim(compute=apart, stated=0.0, tolerance=1e-8)


def _numbers(
    bins: tuple[int, ...], answer_epsilon: float, **losses: Unpack[ComparisonLosses]
) -> Mechanism:
    return numeric_sparse_vector_mechanism(
        queries=partial(_units, bins=bins),
        length=len(bins),
        threshold=10 * UNIT,
        sensitivity=UNIT,
        answer_epsilon=answer_epsilon,
        relation=Relation.REPLACE_ONE,
        databases=Histogram(bins=2, total=20),
        **losses,
    )


def _numbers_lose(answer_epsilon: float, **losses: Unpack[ComparisonLosses]) -> Subject:
    """Queries that rise with a record stay below, those that fall are above, with far answers."""
    positives = losses["positives"]
    made = _numbers((1,) * MISSED + (0,) * positives, answer_epsilon, **losses)
    claim = made.claims[0]
    assert isinstance(claim, PrivacyClaim)
    output = np.array([[BELOW, np.nan]] * MISSED + [[ABOVE, 100 * UNIT]] * positives)
    # Bits lose nearly all where what stays below is expected far above, and the other way round.
    pairs = tuple(([one + 1, 19 - one], [one, 20 - one]) for one in (10, 1))
    claim = replace(claim, examples=pairs, outputs=(output,))
    return Subject(claim=claim, mechanism=replace(made, claims=(claim, *made.claims[1:])))


def _numbers_density(answer_epsilon: float, **losses: Unpack[ComparisonLosses]) -> IdentityClaim:
    """The law of the bits times the Laplace density of every answer, by a law of its own."""
    bins, data = (0, 1, 0), [11, 9]

    def apart() -> float:
        made = _numbers(bins, answer_epsilon, **losses)
        bits = above_threshold_mechanism(
            queries=partial(_units, bins=bins),
            length=len(bins),
            threshold=10 * UNIT,
            sensitivity=UNIT,
            relation=Relation.REPLACE_ONE,
            databases=Histogram(bins=2, total=20),
            **losses,
        )
        assert bits.law is not None
        assert made.log_probability is not None
        law = bits.law(data)
        assert isinstance(law, FiniteLaw)
        scale = losses["positives"] * UNIT / answer_epsilon
        errors = np.array([0.3, -2.0, 5.0])
        above = law.outcomes == ABOVE
        answers = np.where(above, UNIT * np.array(data)[list(bins)] + errors, np.nan)
        each = np.where(above, -np.abs(errors) / scale - log(2 * scale), 0.0)
        found = made.log_probability(data, np.stack([law.outcomes, answers], axis=-1))
        return float(np.abs(found - law.log_probabilities - each.sum(axis=-1)).max())

    return IdentityClaim(compute=apart, stated=0.0, tolerance=1e-9)


def _quiet(scale: float) -> IdentityClaim:
    """The law of a run whose queries have no noise of their own, on data on every side."""
    bins = (0, 1, 0, 1)

    def apart() -> float:
        worst = 0.0
        for data in ([4, 1], [1, 4], [-1, -4], [-4, -1], [3, -2], [-2, 3], [0, 0]):
            margins = np.array(data, dtype=float)[list(bins)]
            kinds = transcripts(len(bins), len(bins))
            logs = log_transcripts(
                kinds,
                margins.tolist(),
                threshold_scale=scale,
                query_scale=0.0,
                positives=len(bins),
            )
            for row, found in zip(kinds, np.exp(logs), strict=True):
                low = margins[row == BELOW].max(initial=-np.inf) / scale
                high = margins[row == ABOVE].min(initial=np.inf) / scale
                ends = np.exp(log_laplace_cdf(np.array([low, high])))
                worst = max(worst, abs(float(found) - max(0.0, float(ends[1] - ends[0]))))
        return worst

    return IdentityClaim(compute=apart, stated=0.0, tolerance=1e-9)


def _answers(answer_epsilon: float, **losses: Unpack[ComparisonLosses]) -> Subject:
    """One count, asked for again and again: a record moves all answers the same way."""
    made = _numbers((0, 0, 0), answer_epsilon, **losses)
    return Subject(claim=made.claims[2], mechanism=made)


THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="SVT-PRIV",
        statement="noise D / e1 on the threshold, 2 c D / e2 on queries: c positives lose e1 + e2",
        reference=f"{LYU}, Theorem 4",
        subject=_bits,
        parameters=BITS,
    ),
    Theorem(
        identifier="SVT-STREAM",
        statement="e1 + e2 is lost however many queries stay below before one is above",
        reference=f"{LYU}, Theorem 4",
        subject=_stream,
        parameters={
            "threshold_epsilon": BITS["threshold_epsilon"],
            "query_epsilon": BITS["query_epsilon"],
            "length": whole(12, 1, 40, "queries"),
        },
    ),
    Theorem(
        identifier="SVT-QUIET",
        statement="without noise on the queries a transcript has the chance that the noise of the "
        "threshold lies above all queries that stay below it and at most at those that reach it",
        reference=f"{LYU}, Algorithm 5",
        subject=_quiet,
        parameters={"scale": number(1.5, 0.1, 10, "of the noise on the threshold")},
    ),
    Theorem(
        identifier="SVT-UNLIKE",
        statement="the law of transcripts is the comparisons' chances, summed over the noise of "
        "the threshold, however unlike the two noises are",
        reference=f"{LYU}, Algorithm 7",
        subject=_unlike,
        parameters={
            "ratio": number(40.0, 1, 100, "of the larger scale to the smaller"),
            "positives": POSITIVES,
        },
    ),
    Theorem(
        identifier="SVT-NUMERIC",
        statement="with answers of scale c D / e3 the bits and c answers lose e1 + e2 + e3",
        reference=f"{LYU}, Algorithm 7",
        subject=_numbers_lose,
        parameters={**BITS, "answer_epsilon": _epsilon(2.0, "the answers")},
    ),
    Theorem(
        identifier="SVT-NUMERIC-DENSITY",
        statement="the density is the law of the bits times that of the noise of each answer",
        reference=f"{LYU}, Algorithm 7",
        subject=_numbers_density,
        parameters={**BITS, "answer_epsilon": _epsilon(1.6, "the answers")},
    ),
    Theorem(
        identifier="SVT-NUMERIC-ACC",
        statement="P[one of c answers errs by (c D / e3) ln(c / beta) or more] <= beta",
        reference="Dwork and Roth (2014), Theorem 3.28",
        subject=_answers,
        parameters={**BITS, "answer_epsilon": _epsilon(1.6, "the answers")},
    ),
    Theorem(
        identifier="SVT-ACC",
        statement="P[a query is D ln(2 / beta) / e1 + 2 D ln(2 / beta) / e2 on the wrong side] "
        "<= beta",
        reference="Dwork and Roth (2014), Theorem 3.24",
        subject=_wrong_side,
        parameters={
            # The threshold's noise is far wider than that of the query, and its part of the bound
            # all that keeps the promise; SVT-ACC-MANY is the other way round.
            "threshold_epsilon": _epsilon(0.05, "the threshold"),
            "query_epsilon": _epsilon(4.0, "the comparison"),
        },
    ),
    Theorem(
        identifier="SVT-ACC-MANY",
        statement="P[one of k queries is D ln(2 / beta) / e1 + 2 D ln(2 k / beta) / e2 on the "
        "wrong side] <= beta",
        reference="Dwork and Roth (2014), Theorem 3.24",
        subject=_wrong_side,
        parameters={
            "threshold_epsilon": _epsilon(2.0, "the threshold"),
            "query_epsilon": _epsilon(0.5, "the comparisons"),
            "length": whole(20, 1, 100, "queries, k"),
        },
    ),
    Theorem(
        identifier="SVT-SESSION-LAW",
        costly=2,
        statement="a session whose analyst heeds no answer is the mechanism on those queries",
        reference=f"{LYU}, Algorithm 7",
        subject=_sessions_law,
        parameters=(
            sharp := {
                "threshold_epsilon": BITS["threshold_epsilon"],
                "query_epsilon": _epsilon(4.0, "the comparisons"),
                "positives": whole(2, 1, 3, "answers above after which it is over, c"),
            }
        ),
    ),
    Theorem(
        identifier="SVT-SESSION-DENSITY",
        statement="the density of such a session is the law of the mechanism",
        reference=f"{LYU}, Algorithm 7",
        subject=_sessions_density,
        parameters=sharp,
    ),
    Theorem(
        identifier="SVT-SESSION",
        weak="a whole session is one dear draw, and few are made; its density shows the loss",
        costly=10,
        statement="a session loses e1 + e2 for any analyst, the next query chosen by the answers",
        reference=f"{LYU}, Theorem 4",
        subject=_session,
        parameters={**BITS, "positives": whole(3, 1, 3, "answers above after which it is over, c")},
    ),
)
