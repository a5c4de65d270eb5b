"""Exponential mechanisms that lose more than they claim, or choose worse: wrong weights."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from .._checks import label_array, sample_shape
from ..model import (
    Array,
    Choices,
    Database,
    Mechanism,
    NegativeControl,
    PrivacyClaim,
    Relation,
    Rows,
    Size,
)
from ..queries import counts, histogram
from .exponential import (
    by_counts,
    by_occurrences,
    by_votes,
    exponential,
    exponential_by_weights,
    exponential_mechanism,
    scaled_scores,
)

# Half the true sensitivity cancels the factor 2 in the weights.
NAIVE = NegativeControl(
    mechanism=exponential_mechanism(
        by_occurrences(2, relation=Relation.REPLACE_ONE, sensitivity=0.5),
        epsilon=1.0,
        name="EM-NAIVE",
        identifier="EM-NAIVE",
    ),
    defect="weights exp(epsilon score / sensitivity) without the factor 2: the loss is up to 2",
)


def as_if_monotone(
    build: Callable[..., Mechanism], name: str, identifier: str, defect: str
) -> NegativeControl:
    """A selection of voters who lower some scores, with the noise for monotone ones."""
    sound = build(by_votes(5), epsilon=1.0, name=name, identifier=identifier)
    broken = replace(sound, run=partial(sound.run, monotone=True), law=None)
    return NegativeControl(mechanism=broken, defect=defect)


NAIVE_OF_VOTERS = as_if_monotone(
    exponential_mechanism,
    "exponential-naive-of-voters",
    "MUT-EM-1",
    "no factor 2 although a voter lowers some scores: the normaliser loses epsilon as well",
)


def reweighed(mechanism: Mechanism, **weights: object) -> Mechanism:
    """The mechanism and its law with some keywords of `exponential` changed."""
    assert isinstance(mechanism.law, partial)
    run, law = partial(mechanism.run, **weights), partial(mechanism.law, **weights)
    return replace(mechanism, run=run, law=law)


MONOTONE_UNDER_REPLACEMENT = NegativeControl(
    mechanism=reweighed(
        exponential_mechanism(
            by_counts(2, relation=Relation.REPLACE_ONE, total=3),
            epsilon=1.0,
            name="exponential-monotone-under-replacement",
            identifier="MUT-EM-2",
        ),
        monotone=True,
    ),
    defect="counts are monotone, but a replaced record raises one and lowers another",
)


def occurrences(database: Database, *, values: tuple[object, ...]) -> Array:
    """How often each value occurs; whole numbers of shape (len(values),)."""
    return np.array([list(database).count(value) for value in values])


def data_dependent_range(
    database: Database,
    rng: np.random.Generator,
    *,
    epsilon: float,
    sensitivity: float = 1.0,
    score: Callable[..., Array] = occurrences,
    size: Size = None,
) -> Array:
    """Choose among the values that occur in the database, by how often they do.

    `score(database, *, values)` may be another. Returns values, objects of shape `size`; None
    stands for no value, in an empty database.
    """
    present = tuple(sorted(set(database)))
    if not present:
        return np.full(sample_shape(size), None)[()]
    chosen = exponential(
        database,
        rng,
        score=partial(score, values=present),
        sensitivity=sensitivity,
        epsilon=epsilon,
        size=size,
    )
    return label_array([*present, None])[chosen]


DATA_DEPENDENT_RANGE = NegativeControl(
    identifier="MUT-EM-3",
    mechanism=Mechanism(
        trust_rows=True,
        name="EM-DDR",
        identifier="EM-DDR",
        run=partial(data_dependent_range, epsilon=1.0),
        databases=Rows(row=Choices(values=(0, 1, 2))),
        claims=(
            PrivacyClaim(
                epsilon=1.0,
                relation=Relation.ADD_REMOVE,
                reference="Dwork and Roth (2014), Theorem 3.10",
            ),
        ),
        reference="McSherry and Talwar (2007)",
    ),
    defect="the candidates are read off the database: a value only one database has gives it away",
)


def _negative_counts(database: Database) -> Array:
    return -counts(database)


WORST_CANDIDATE = NegativeControl(
    mechanism=reweighed(
        exponential_mechanism(
            by_counts(4, relation=Relation.REPLACE_ONE, total=40),
            epsilon=1.0,
            name="exponential-worst-candidate",
            identifier="MUT-EM-6",
        ),
        score=_negative_counts,
    ),
    claim=2,
    defect="the sign of the scores is flipped: the worst candidate is the likeliest",
)


def overflowing_weights(
    scores: Array, *, sensitivity: float, epsilon: float, monotone: bool = False
) -> Array:
    """Shares of the weights exp(score / scale), which overflow from some 709 scales on."""
    scaled = scaled_scores(scores, sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    with np.errstate(over="ignore", invalid="ignore"):
        weights = np.exp(scaled)
        return weights / weights.sum()


def _large_less_errors(database: Database) -> Array:
    return 1418.5 - histogram(database, categories=2)


OVERFLOW = NegativeControl(
    mechanism=replace(
        exponential_mechanism(
            replace(by_occurrences(2), score=_large_less_errors),
            epsilon=1.0,
            name="exponential-overflow",
            identifier="MUT-EM-7",
        ),
        run=partial(
            exponential_by_weights,
            score=_large_less_errors,
            sensitivity=1.0,
            epsilon=1.0,
            weigh=overflowing_weights,
        ),
        law=None,
    ),
    defect="the greatest score is not subtracted first: the sum of the weights overflows",
)
