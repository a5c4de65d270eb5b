"""The sparse vector technique with several positive answers: privacy and accuracy."""

from functools import partial
from typing import Any

from ..model import Histogram, Mechanism, Parameter, Relation, Subject, Theorem, number, whole
from .above_threshold import above_threshold_mechanism, take
from .numeric_sparse_vector import numeric_sparse_vector_mechanism
from .sparse_vector_session import sparse_vector_session_mechanism

POSITIVES = whole(2, 1, 3, "answers above after which it halts, c")
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


def _numbers(answer_epsilon: float, **bits: Any) -> Mechanism:
    """One count, asked for again and again: a record moves all answers the same way."""
    return numeric_sparse_vector_mechanism(
        queries=partial(take, bins=(0, 0, 0)),
        length=3,
        threshold=10.0,
        sensitivity=1.0,
        answer_epsilon=answer_epsilon,
        relation=Relation.REPLACE_ONE,
        databases=Histogram(bins=2, total=20),
        **bits,
    )


def _answers(**parameters: Any) -> Subject:
    made = _numbers(**parameters)
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
        identifier="SVT-NUMERIC",
        statement="with answers of scale c D / e3 the bits and c answers lose e1 + e2 + e3",
        reference=f"{LYU}, Algorithm 7",
        subject=_numbers,
        parameters={**BITS, "answer_epsilon": _epsilon(2.0, "the answers")},
    ),
    Theorem(
        identifier="SVT-NUMERIC-ACC",
        statement="P[one of c answers errs by (c D / e3) ln(c / beta) or more] <= beta",
        reference="Dwork and Roth (2014), Theorem 3.28",
        subject=_answers,
        parameters={**BITS, "answer_epsilon": _epsilon(2.0, "the answers")},
    ),
    Theorem(
        identifier="SVT-SESSION",
        weak="a whole session is one dear draw, and few are made; its density shows the loss",
        costly=10,
        statement="a session loses e1 + e2 whoever asks, the next query chosen by the answers",
        reference=f"{LYU}, Theorem 4",
        subject=sparse_vector_session_mechanism,
        parameters={**BITS, "positives": whole(3, 1, 3, "answers above after which it is over, c")},
    ),
)
