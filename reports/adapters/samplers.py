"""Any callable of (dataset, number of samples), the form that other auditors of privacy use."""

from collections.abc import Callable
from functools import partial

import numpy as np

from ...mechanisms.model import Database, Mechanism, Output, PrivacyClaim, Relation


def from_sampler(
    sampler: Callable[[Database, int], Output],
    *,
    epsilon: float,
    relation: Relation | str,
    delta: float = 0.0,
) -> Mechanism:
    """`sampler(dataset, n)`, which returns n outputs, as a mechanism; `epsilon` is in nats.

    It gets no generator, so it draws randomness of its own and runs cannot be repeated.
    """
    return Mechanism(
        name=getattr(sampler, "__name__", type(sampler).__name__),
        run=partial(_sampled, sampler),
        seeded=False,
        claims=(PrivacyClaim(epsilon=epsilon, delta=delta, relation=Relation(relation)),),
    )


def _sampled(
    sampler: Callable[[Database, int], Output],
    database: Database,
    rng: np.random.Generator,
    *,
    size: int | None = None,
) -> object:
    found = sampler(database, 1 if size is None else size)
    return found[0] if size is None else found
