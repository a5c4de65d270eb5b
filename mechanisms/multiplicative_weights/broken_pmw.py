"""Private multiplicative weights with one part wrong, and statements with one constant wrong."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ..model import (
    Array,
    BrokenStatement,
    Interaction,
    InvariantCase,
    InvariantClaim,
    Mechanism,
    NegativeControl,
)
from .pmw import (
    PMW_ITERATION,
    SOURCE,
    asked_in_turn,
    no_query_noise,
    private_multiplicative_weights_mechanism,
)
from .pmw_cases import accuracy_margin, case_domain, drop_margin, mass_margin, near_edge
from .pmw_session import PmwState, pmw_interaction, pmw_session_mechanism


def reused_answers(
    draw: Callable[[int], Array], top: Array, exact: Array, estimate: Array, compared: Array
) -> Array:
    """Above the threshold the estimate plus the very noisy gap that was compared."""
    return estimate + np.where(top, np.sign(exact - estimate) * compared, 0.0)


def answers_below(
    draw: Callable[[int], Array], top: Array, exact: Array, estimate: Array, compared: Array
) -> Array:
    """The exact answer with fresh noise, above the threshold and below it."""
    return exact + draw(len(exact))


def direction_from_truth(answers: Array, estimate: Array, exact: Array) -> Array:
    """The direction in which the exact answer lies, +1 or -1."""
    return np.where(exact > estimate, 1.0, -1.0)


def _control(
    identifier: str, mechanism: Mechanism, defect: str, claim: int = 0, **changed: object
) -> NegativeControl:
    """The mechanism with some arguments of its run changed; it breaks claim number `claim`."""
    broken = replace(
        mechanism,
        identifier=identifier,
        run=partial(mechanism.run, **changed),
        log_probability=None if changed else mechanism.log_probability,
    )
    return NegativeControl(
        mechanism=broken, claim=claim, defect=defect, detectable=identifier != "MUT-PMW-2"
    )


# Much noise on the threshold, so that it is likely to fall between two gaps wherever they are.
UNNOISED_COMPARISONS = _control(
    "MUT-PMW-1",
    private_multiplicative_weights_mechanism(
        queries=partial(asked_in_turn, elements=(1, 0)),
        length=2,
        bins=4,
        records=40,
        accuracy=0.4,
        updates=1,
        epsilon=1.0,
        name="pmw-unnoised-comparisons",
    ),
    "comparisons have no noise of their own: the order of two gaps is revealed, infinite loss",
    noise=no_query_noise,
)
ANSWER_REUSES_NOISE = _control(
    "MUT-PMW-2",
    replace(PMW_ITERATION, name="pmw-answer-reuses-noise"),
    "the noisy gap that was compared is the answer: 5 times noise_epsilon after five below",
    release=reused_answers,
)
ANSWERS_BELOW = _control(
    "MUT-PMW-3",
    private_multiplicative_weights_mechanism(
        queries=partial(asked_in_turn, elements=(0,) * 10),
        length=10,
        bins=4,
        records=40,
        accuracy=0.9,
        updates=1,
        epsilon=2.0,
        name="pmw-answers-below",
    ),
    "queries below the threshold get a noisy answer too, each at the cost of noise_epsilon",
    release=answers_below,
)
BUDGET_OF_ONE_NOISE = _control(
    "MUT-PMW-4",
    private_multiplicative_weights_mechanism(
        queries=partial(asked_in_turn, elements=(1, 1, 1, 1, 1, 0)),
        length=6,
        bins=4,
        records=40,
        accuracy=0.4,
        updates=1,
        epsilon=1.0,
        noise_epsilon=1.0,
        name="pmw-budget-of-one-noise",
    ),
    "an iteration is charged noise_epsilon and costs up to 4 times that",
)
NOISE_OF_ONE_RECORD = _control(
    "MUT-PMW-8",
    replace(PMW_ITERATION, name="pmw-noise-of-one-record"),
    "noise is scaled to counts, not to shares: 40 times too much for the accuracy promised",
    claim=1,
    noise_epsilon=1.0 / 40,
)
# So much noise that a query without any error is often found above the threshold.
DIRECTION_FROM_TRUTH = _control(
    "MUT-PMW-10",
    private_multiplicative_weights_mechanism(
        queries=partial(asked_in_turn, elements=(0, 0)),
        length=2,
        bins=4,
        records=40,
        accuracy=0.4,
        updates=2,
        epsilon=0.8,
        name="pmw-direction-from-truth",
    ),
    "the distribution learns from the exact answer: the next estimate shows on which side it was",
    direction=direction_from_truth,
)


def slow_session(*, accuracy: float, noise_epsilon: float, updates: int) -> Interaction:
    """A session whose updates are those of a learning rate sixteen times too small."""
    sound, slow = (
        pmw_interaction(accuracy=rate, noise_epsilon=noise_epsilon, updates=updates)
        for rate in (accuracy, accuracy / 16)
    )

    def answer(state: PmwState, query: object, rng: np.random.Generator) -> tuple[PmwState, float]:
        limit = state.limit
        if limit is None:
            limit = accuracy / 2 + float(rng.laplace(scale=state.scale))
        return slow.answer(replace(state, limit=limit), query, rng)

    return Interaction(start=sound.start, answer=answer, over=sound.over)


SLOW_SESSION = NegativeControl(
    identifier="MUT-PMW-11",
    mechanism=replace(
        pmw_session_mechanism(
            accuracy=0.4,
            noise_epsilon=0.25,
            updates=2,
            records=400,
            opened=slow_session,
            name="pmw-session-slow",
        ),
        log_probability=None,
    ),
    claim=1,
    defect="a session learns sixteen times too slowly",
)
BINS, ACCURACY = 4, 0.5
SHARP_DROP = 15 * ACCURACY**2 / 512


def not_normalised(synthetic: Array, query: Array, direction: Array, learning_rate: float) -> Array:
    """The multiplicative update without its normalisation; arrays of shape (runs, bins)."""
    return synthetic * np.exp(learning_rate * direction[:, None] * query)


def _broken(
    number: int, statement: str, defect: str, margin: Callable[[InvariantCase], float]
) -> BrokenStatement:
    identifier = f"MUT-PMW-{number}"
    claim = InvariantClaim(
        identifier=identifier,
        statement=statement,
        reference=SOURCE,
        cases=case_domain(bins=BINS),
        margin=margin,
        examples=near_edge(bins=BINS),
    )
    return BrokenStatement(identifier=identifier, claim=claim, defect=defect)


_drop = partial(drop_margin, bins=BINS, accuracy=ACCURACY, least=SHARP_DROP)
SIGN_FLIPPED = _broken(
    5,
    "an update lowers KL(X || Xh) by 15 alpha^2 / 512 or more",
    "the distribution is moved away from the answer: the divergence rises",
    partial(_drop, learning_rate=-ACCURACY / 8),
)
HALF_LEARNING_RATE = _broken(
    6,
    "an update lowers KL(X || Xh) by 15 alpha^2 / 512 or more",
    "learning rate alpha / 16: the worst drop is 31 alpha^2 / 2048",
    partial(_drop, learning_rate=ACCURACY / 16),
)
THRESHOLD_TOO_HIGH = _broken(
    7,
    "no answer errs by more than 3 alpha / 4",
    "threshold alpha instead of alpha / 2: errors reach 5 alpha / 4",
    partial(accuracy_margin, bins=BINS, accuracy=ACCURACY, threshold=ACCURACY),
)
NOT_NORMALISED = _broken(
    9,
    "the public distribution adds up to 1",
    "the weights are not normalised after an update",
    partial(mass_margin, bins=BINS, accuracy=ACCURACY, update=not_normalised),
)
