"""A function of a mechanism's output, which is as private as the mechanism.

Dwork and Roth (2014), Proposition 2.1.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..model import Array, Database, Law, Mechanism, PrivacyClaim, Size


def post_processed(
    database: Database,
    rng: np.random.Generator,
    *,
    mechanism: Mechanism,
    function: Callable[[Any], Array],
    size: Size = None,
) -> Array:
    """Run the mechanism and release a function of its output.

    `function` maps outputs of any leading shape to that shape. Returns what it gives for `size`
    outputs.
    """
    return function(mechanism.run(database, rng, size=size))


def post_process(
    mechanism: Mechanism,
    function: Callable[[Any], Array],
    *,
    name: str,
    law: Callable[[Database], Law] | None = None,
) -> Mechanism:
    """The mechanism that releases `function` of another's output, with the other's privacy claims.

    `function` does not look at the database; `law` is the exact law of the result, where known.
    """
    privacy = tuple(claim for claim in mechanism.claims if isinstance(claim, PrivacyClaim))
    return Mechanism(
        trust_rows=mechanism.trust_rows,
        name=name,
        run=partial(post_processed, mechanism=mechanism, function=function),
        claims=privacy,
        databases=mechanism.databases,
        reference="Dwork and Roth (2014), Proposition 2.1",
        seeded=mechanism.seeded,
        law=law,
    )
