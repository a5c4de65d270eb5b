"""Boosting for queries with one part wrong: it loses privacy or accuracy."""

from collections.abc import Callable
from functools import partial
from math import ceil, log

import numpy as np

from ..model import Array, BrokenStatement, InvariantClaim, NegativeControl
from .boosting import BOOK, SOURCE, base_mechanism, mean_answers
from .boosting_cases import (
    answer_margin,
    case_domain,
    near_edge,
    normaliser_margin,
    potential_margin,
)
from .query_weights import (
    indicator_queries,
    lower_agreement,
    sampled_query_counts_mechanism,
    sampled_query_mechanism,
)
from .theorems_base_synopsis import favouring_weights
from .theorems_boosting_privacy import (
    EDGES,
    ERRORS,
    accurate_as_inaccurate,
    agreements_margin,
    one_against_many,
)

QUERIES, ADVANTAGE, ROUNDS = 64, 0.25, 15


def unclipped_agreement(errors: Array, *, accuracy: float, attenuation: float) -> Array:
    """The falling line of the attenuated agreement, without its two flat ends."""
    return 1 - 2 * (errors - accuracy) / attenuation


def unnormalised_weights(agreed: Array, rate: float) -> Array:
    """exp(-rate agreed), which does not add up to 1."""
    return np.exp(-rate * agreed)


def too_few_rounds(*, queries: int, advantage: float) -> int:
    """Ln |Q| rounds, whatever the advantage."""
    return ceil(log(queries))


def _about_runs(
    number: int, statement: str, defect: str, margin: Callable[..., float], **variant: object
) -> BrokenStatement:
    identifier = f"MUT-BQ-{number}"
    claim = InvariantClaim(
        identifier=identifier,
        statement=statement,
        reference=SOURCE,
        cases=case_domain(queries=QUERIES),
        margin=partial(margin, queries=QUERIES, advantage=ADVANTAGE, **variant),
        examples=near_edge(queries=QUERIES),
    )
    return BrokenStatement(identifier=identifier, claim=claim, defect=defect)


# Errors of 0.1 and 0.05 beside each other: one record takes answers from one side of accuracy to
# the other, and attenuation would hardly notice.
AGREEMENT_NOT_ATTENUATED = NegativeControl(
    mechanism=sampled_query_mechanism(
        weights=one_against_many(10),
        synopses=((0.0,) * 10,),
        records=20,
        accuracy=0.12,
        attenuation=5.0,
        agreement=lower_agreement,
        name="sampled-query-unattenuated",
        identifier="MUT-BQ-1",
    ),
    defect="agreement jumps at lambda: one record costs up to 2 alpha, whatever mu and n",
)

WEIGHTS_SIGN_FLIPPED = _about_runs(
    2,
    "potential <= (1 - 4 eta^2)^(T/2)",
    "the exponent's sign is flipped: queries answered well gain weight",
    potential_margin,
    rounds=ROUNDS,
    reweight=favouring_weights,
)

ROUNDS_TOO_FEW = _about_runs(
    3,
    "after T rounds no median errs by more than lambda + mu",
    "T = ln |Q| rounds, without the division by eta^2",
    answer_margin,
    rounds=too_few_rounds,
)

MEAN_OF_SYNOPSES = _about_runs(
    4,
    "after T rounds no answer errs by more than lambda + mu",
    "the mean of the synopses is released: one wild synopsis spoils it",
    answer_margin,
    combine=mean_answers,
)

CALIBRATED_WITH_BETA = NegativeControl(
    mechanism=sampled_query_counts_mechanism(
        weights=one_against_many(2),
        synopses=((0.0,) * 2,),
        records=91,
        samples=1000,
        epsilon=1.0,
        delta=1e-6,
        accuracy=0.0,
        calibration_delta=0.05,
        name="sampled-query-counts-calibrated-with-beta",
        identifier="MUT-BQ-5",
    ),
    defect="mu is calculated from the failure probability .05 in the place of delta",
    detectable=False,
)

AGREEMENT_NOT_CLIPPED = _about_runs(
    6,
    "in every round the normaliser is at most sqrt(1 - 4 eta^2)",
    "agreement falls below -1 for large errors",
    normaliser_margin,
    rounds=ROUNDS,
    agreement=unclipped_agreement,
)

WEIGHTS_NOT_NORMALISED = _about_runs(
    7,
    "in every round the normaliser is at most sqrt(1 - 4 eta^2)",
    "the weights are not divided by their sum",
    normaliser_margin,
    rounds=ROUNDS,
    reweight=unnormalised_weights,
)

BASE_NOISE_OF_ONE_QUERY = NegativeControl(
    mechanism=base_mechanism(
        weights=indicator_queries(4),
        sampled=(1, 3, 5, 7, 9, 11),
        small=4,
        records=20,
        epsilon=0.5,
        scale=1 / 20 / 0.5,
        search=False,
        name="noisy-sampled-answers-noise-of-one",
        identifier="MUT-BQ-8",
    ),
    defect="noise of scale rho / epsilon on each of k answers: k times the loss promised",
)

UPPER_AGREEMENT_EXCHANGED = BrokenStatement(
    identifier="MUT-BQ-9",
    claim=InvariantClaim(
        identifier="MUT-BQ-9",
        statement="attenuated agreement <= upper agreement",
        reference=BOOK,
        cases=ERRORS,
        margin=partial(agreements_margin, upper=accurate_as_inaccurate),
        examples=EDGES,
    ),
    defect="the upper agreement is -1 where the answer is accurate, as printed",
)
