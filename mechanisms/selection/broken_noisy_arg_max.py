"""Noisy arg-max mechanisms with too little noise, or with noise of the wrong kind."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ..model import EqualityClaim, Mechanism, NegativeControl
from .exponential import exponential
from .one_sided_noisy_arg_max import one_sided_noisy_arg_max_mechanism
from .report_noisy_max import report_noisy_max_mechanism
from .selection import by_counts, by_votes


def _as_if_monotone(
    build: Callable[..., Mechanism], identifier: str, **described: Any
) -> NegativeControl:
    """The mechanism over voters who lower some scores, with the noise for monotone ones."""
    sound = build(by_votes(5), epsilon=1.0, identifier=identifier, **described)
    return NegativeControl(
        identifier=identifier,
        mechanism=replace(sound, run=partial(sound.run, monotone=True), law=None),
        breaks=sound.claims[0],
        defect="half the noise, although a voter lowers some scores and raises others",
    )


REPORT_AS_IF_MONOTONE = _as_if_monotone(
    report_noisy_max_mechanism, "MUT-EM-4", name="report-noisy-max-as-if-monotone"
)

ONE_SIDED_AS_IF_MONOTONE = _as_if_monotone(
    one_sided_noisy_arg_max_mechanism, "", name="one-sided-noisy-arg-max-as-if-monotone"
)

_claimed = EqualityClaim(
    other=partial(exponential, **by_counts(2).given(1.0)),
    databases=([0, 2],),
    identifier="MUT-EM-5",
    statement="one-sided noisy arg-max selects as the exponential mechanism does",
    reference="Dwork and Roth (2014), Theorem 3.13",
)

_one_sided = one_sided_noisy_arg_max_mechanism(
    by_counts(2, most=20),
    epsilon=1.0,
    name="one-sided-noise-sold-as-gumbel",
    identifier="MUT-EM-5",
)

NOISE_OF_THE_WRONG_KIND = NegativeControl(
    identifier="MUT-EM-5",
    mechanism=replace(_one_sided, claims=(*_one_sided.claims, _claimed)),
    breaks=_claimed,
    defect="exponential noise where Gumbel noise belongs: .184 instead of .269 for the worse of 2",
)
