"""Noisy arg-max mechanisms with too little noise, or with noise of the wrong kind.

They stand apart from the other broken selections, which need no law of a noisy maximum.
"""

from dataclasses import replace
from functools import partial

from ..model import EqualityClaim, NegativeControl
from .broken_selection import as_if_monotone
from .exponential import by_counts, exponential
from .report_noisy_max import one_sided_noisy_arg_max_mechanism, report_noisy_max_mechanism

HALF_THE_NOISE = "half the noise, although a voter lowers some scores and raises others"
REPORT_AS_IF_MONOTONE = as_if_monotone(
    report_noisy_max_mechanism, "report-noisy-max-as-if-monotone", "MUT-EM-4", HALF_THE_NOISE
)
ONE_SIDED_AS_IF_MONOTONE = as_if_monotone(
    one_sided_noisy_arg_max_mechanism,
    "one-sided-noisy-arg-max-as-if-monotone",
    "",
    HALF_THE_NOISE,
)
_claimed = EqualityClaim(
    other=partial(exponential, **by_counts(2).given(1.0)),
    databases=([0, 2],),
    identifier="MUT-EM-5",
    statement="one-sided noisy arg-max selects as the exponential mechanism does",
    reference="Dwork and Roth (2014), Theorem 3.13",
)
_one_sided = one_sided_noisy_arg_max_mechanism(
    by_counts(2, max_count=20),
    epsilon=1.0,
    name="one-sided-noise-sold-as-gumbel",
    identifier="MUT-EM-5",
)
NOISE_OF_THE_WRONG_KIND = NegativeControl(
    mechanism=replace(_one_sided, claims=(*_one_sided.claims, _claimed)),
    claim=-1,
    defect="exponential noise where Gumbel noise belongs: .184 instead of .269 for the worse of 2",
)
