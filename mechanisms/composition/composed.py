"""Several mechanisms on one database as a single mechanism that releases all outputs.

Basic composition adds up epsilons and deltas, Dwork and Roth (2014), Theorem 3.16 and, where
later mechanisms depend on earlier outputs, Corollary B.2.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from .._checks import require_delta, sample_shape
from ..accounting.composition import basic_composition, zcdp_composition
from ..accounting.privacy_loss import compose_losses
from ..model import (
    Array,
    Database,
    Domain,
    Interval,
    Law,
    LossLaw,
    Mechanism,
    Output,
    PrivacyClaim,
    ProductLaw,
    Relation,
    Rows,
    Size,
)
from ..noise.laplace import laplace_mechanism
from ..queries import count, total

Step = Callable[..., Any]

BOOK = "Dwork and Roth (2014)"


def composed(
    database: Database,
    rng: np.random.Generator,
    *,
    mechanisms: Sequence[Mechanism],
    size: Size = None,
) -> Array:
    """Run all mechanisms on the database, independently of each other.

    Each must take `size` and return numbers. Returns an array of shape `size` + (k,): the k
    numbers of all outputs side by side, in the order of the mechanisms, arrays flattened.
    """
    leading = sample_shape(size)
    parts = [mechanism.run(database, rng, size=size) for mechanism in mechanisms]
    return np.concatenate([_flat(part, leading) for part in parts], axis=-1)


def composed_adaptively(
    database: Database,
    rng: np.random.Generator,
    *,
    steps: Sequence[Step],
    size: Size = None,
) -> Array:
    """Run the steps in order, each told what the earlier ones released.

    `step(database, rng, *, earlier, size)` gets in `earlier` the numbers released so far, floats
    of shape `size` + (k,), a row for every run, and returns numbers of shape `size` + s; it may
    look at the database through its own mechanism only.
    Returns floats of shape `size` + (k,), the numbers of all steps side by side.
    """
    leading = sample_shape(size)
    released = np.empty((*leading, 0))
    for step in steps:
        output = step(database, rng, earlier=released, size=size)
        released = np.concatenate([released, _flat(output, leading)], axis=-1)
    return released


def compose(
    *mechanisms: Mechanism, delta: float = 0.0, name: str = "composed", identifier: str = ""
) -> Mechanism:
    """The mechanism that runs all of `mechanisms` and releases all their outputs.

    It claims basic composition under each relation that all parts have a claim for, the first
    such claim of each; with `delta` positive, also composition through zero-concentrated
    differential privacy at that additional delta. The exact law, that of the privacy loss, and
    the log-probability are there where all parts have them; the law lists the parts' own.
    Raises ValueError without mechanisms, where their databases differ, or where no relation is
    common to all.
    """
    if not mechanisms:
        raise ValueError("mechanisms must be at least one, got none")
    require_delta(delta=delta)
    if any(part.databases != mechanisms[0].databases for part in mechanisms):
        raise ValueError(f"databases of {[part.name for part in mechanisms]} differ")

    def law(database: Database) -> ProductLaw:
        return ProductLaw(parts=_leaves([part.law(database) for part in mechanisms if part.law]))

    def privacy_loss(database: Database, neighbour: Database) -> LossLaw:
        losses = [part.privacy_loss for part in mechanisms if part.privacy_loss]
        return compose_losses([loss(database, neighbour) for loss in losses])

    return Mechanism(
        trust_rows=all(one.trust_rows for one in mechanisms),
        name=name,
        identifier=identifier,
        run=partial(composed, mechanisms=mechanisms),
        databases=mechanisms[0].databases,
        claims=tuple(_claims(mechanisms, delta)),
        reference=f"{BOOK}, Theorem 3.16",
        law=law if all(part.law for part in mechanisms) else None,
        privacy_loss=privacy_loss if all(part.privacy_loss for part in mechanisms) else None,
        log_probability=_joint_log_probability(mechanisms),
    )


def compose_adaptively(
    *,
    steps: Sequence[Step],
    epsilons: Sequence[float],
    relation: Relation,
    databases: Domain,
    deltas: Sequence[float] = (),
    name: str = "composed-adaptively",
    identifier: str = "",
) -> Mechanism:
    """The mechanism of `composed_adaptively`, with the privacy of basic composition.

    Step i is (epsilons[i], deltas[i])-differentially private under `relation` for every
    fixed `earlier`; no deltas means pure. Raises ValueError unless there is one for each step.
    """
    if len(epsilons) != len(steps):
        raise ValueError(f"epsilons must be one for each of {len(steps)} steps, got {epsilons}")
    epsilon, delta = basic_composition(epsilons, deltas)
    return Mechanism(
        name=name,
        identifier=identifier,
        run=partial(composed_adaptively, steps=tuple(steps)),
        databases=databases,
        claims=(
            PrivacyClaim(
                epsilon=epsilon,
                delta=delta,
                relation=relation,
                identifier="T-COMP-BASIC",
                reference=f"{BOOK}, Corollary B.2",
            ),
        ),
        reference=f"{BOOK}, section 3.5",
    )


def _flat(output: Output, leading: tuple[int, ...]) -> Array:
    """The output's numbers along one last axis."""
    array = np.asarray(output)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"mechanisms must give numbers, got {array.dtype}")
    # -1 would be undefined for no runs at all.
    return array.reshape((*leading, prod(array.shape[len(leading) :])))


def _claims(mechanisms: Sequence[Mechanism], delta: float) -> list[PrivacyClaim]:
    claims = []
    for relation in Relation:
        parts = [_privacy(part, relation) for part in mechanisms]
        known = [claim for claim in parts if claim]
        if len(known) < len(parts):
            continue
        epsilons, deltas = [c.epsilon for c in known], [c.delta for c in known]
        basic, leaked = basic_composition(epsilons, deltas)
        totals = [("T-COMP-BASIC", f"{BOOK}, Theorem 3.16", basic, leaked)]
        if delta > 0:
            through_zcdp = zcdp_composition(epsilons, delta)
            source = "Bun and Steinke (2016), Propositions 1.3 and 1.4, Lemma 1.7"
            totals.append(("T-COMP-HET*", source, through_zcdp, leaked + delta))
        claims += [
            PrivacyClaim(
                epsilon=whole,
                delta=slack,
                relation=relation,
                identifier=identifier,
                reference=reference,
            )
            for identifier, reference, whole, slack in totals
            if slack < 1  # more promises nothing
        ]
        if leaked >= 1:
            raise ValueError(f"the deltas of the parts must add up to less than 1, got {leaked:g}")
    if not claims:
        raise ValueError(f"{[part.name for part in mechanisms]} share no neighbouring relation")
    return claims


def _privacy(mechanism: Mechanism, relation: Relation) -> PrivacyClaim | None:
    for claim in mechanism.claims:
        if isinstance(claim, PrivacyClaim) and claim.distance == 1:
            if claim.relation is relation:
                return claim
    return None


def _leaves(laws: Sequence[Law]) -> tuple[Any, ...]:
    """Laws of the parts in order, those of products taken apart."""
    return tuple(
        leaf for law in laws for leaf in (law.parts if isinstance(law, ProductLaw) else (law,))
    )


def _joint_log_probability(
    mechanisms: Sequence[Mechanism],
) -> Callable[[Database, Any], Array] | None:
    functions = [part.log_probability for part in mechanisms if part.log_probability]
    if len(functions) < len(mechanisms):
        return None

    def log_probability(database: Database, outputs: Any) -> Array:
        outputs = np.asarray(outputs)
        leading, used, joint = outputs.shape[:-1], 0, np.zeros(outputs.shape[:-1])
        for part, function in zip(mechanisms, functions, strict=True):
            # No draws at all still have the shape of one.
            shape = np.shape(part.run(database, np.random.default_rng(0), size=0))[1:]
            width = prod(shape)
            own = outputs[..., used : used + width].reshape(leading + shape)
            joint, used = joint + function(database, own), used + width
        return joint

    return log_probability


_rows = Rows(row=Interval(low=0, high=1, integer=True))

COMPOSED = compose(
    *(
        laplace_mechanism(
            query=query,
            sensitivity=1.0,
            epsilon=0.5,
            relation=Relation.ADD_REMOVE,
            databases=_rows,
        )
        for query in (total, count)
    ),
)
