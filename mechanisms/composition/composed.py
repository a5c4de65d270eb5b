"""Mechanisms made of mechanisms: a list of them, an analyst who adapts, a stream under a budget.

Several mechanisms on one database are a single mechanism that releases all outputs. Basic
composition adds up epsilons and deltas, Dwork and Roth (2014), Theorem 3.16 and, where later
mechanisms depend on earlier outputs, Corollary B.2. `drill_down` is that at work: two noisy
counts, the second of which depends on the first.

In a stream the analyst chooses what to run after each answer, and what a mechanism costs may depend
on the answers so far; the session refuses whatever would exceed the budget. For pure privacy such
a filter loses no more than the budget, Rogers, Roth, Ullman and Vadhan (2016).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import fsum, inf, log, prod

import numpy as np

from .._checks import require_delta, require_positive, require_whole, sample_shape
from ..accounting.composition import basic_composition, zcdp_composition
from ..accounting.privacy_loss import compose_losses
from ..model import (
    Analyst,
    Array,
    Database,
    Domain,
    FiniteLaw,
    GaussianLaw,
    Interaction,
    Interval,
    LaplaceLaw,
    Law,
    LossLaw,
    Mechanism,
    Output,
    PrivacyClaim,
    ProductLaw,
    Relation,
    Rows,
    SessionOver,
    Size,
    asked_mechanism,
)
from ..noise.laplace import laplace_mechanism
from ..queries import count, histogram, total

Step = Callable[..., Output]
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


def _leaves(laws: Sequence[Law]) -> tuple[FiniteLaw | LaplaceLaw | GaussianLaw, ...]:
    """Laws of the parts in order, those of products taken apart."""
    return tuple(
        leaf for law in laws for leaf in (law.parts if isinstance(law, ProductLaw) else (law,))
    )


def _joint_log_probability(
    mechanisms: Sequence[Mechanism],
) -> Callable[[Database, Output], Array] | None:
    functions = [part.log_probability for part in mechanisms if part.log_probability]
    if len(functions) < len(mechanisms):
        return None

    def log_probability(database: Database, outputs: Output) -> Array:
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


def compare_halves(
    database: Database,
    rng: np.random.Generator,
    *,
    epsilon: float,
    earlier: Array,
    size: Size = None,
) -> Array:
    """How many more rows are 2 or 3 than 0 or 1, with Laplace(1 / epsilon) noise.

    Floats of shape `size`. The first step: nothing has been released `earlier`.
    """
    return _difference(database) + rng.laplace(scale=1 / epsilon, size=sample_shape(size))


def count_at_end(
    database: Database,
    rng: np.random.Generator,
    *,
    epsilon: float,
    earlier: Array,
    size: Size = None,
) -> Array:
    """How many rows are 3, or 0, whichever end the earlier answer points to, with noise.

    The noise is Laplace(1 / epsilon). Floats of shape `size`, as `earlier` without its last axis.
    """
    return _end(database, earlier) + rng.laplace(scale=1 / epsilon, size=sample_shape(size))


def drill_down_mechanism(
    *, epsilons: tuple[float, float], name: str = "drill-down", identifier: str = ""
) -> Mechanism:
    """`compare_halves`, then `count_at_end`, on rows 0, 1, 2 and 3, with the privacy of the two.

    The exact log-density of a pair of outputs is known: the second is centred by the first.
    """
    first, second = epsilons
    require_positive(**{"epsilons[0]": first, "epsilons[1]": second})
    mechanism = compose_adaptively(
        steps=(partial(compare_halves, epsilon=first), partial(count_at_end, epsilon=second)),
        epsilons=epsilons,
        relation=Relation.ADD_REMOVE,
        databases=Rows(row=Interval(low=0, high=3, integer=True)),
        name=name,
        identifier=identifier,
    )

    def log_probability(database: Database, outputs: Output) -> Array:
        outputs = np.asarray(outputs)
        errors = np.abs(outputs[..., 0] - _difference(database)) * first
        errors += np.abs(outputs[..., 1] - _end(database, outputs)) * second
        return np.log(first * second / 4) - errors

    return replace(mechanism, log_probability=log_probability)


def _difference(database: Database) -> Array:
    return histogram(database, categories=4) @ [-1, -1, 1, 1]


def _end(database: Database, earlier: Array) -> Array:
    counts = histogram(database, categories=4)
    return np.where(earlier[..., 0] > 0, counts[3], counts[0])


DRILL_DOWN = drill_down_mechanism(epsilons=(0.5, 0.5))
ROGERS = "Rogers, Roth, Ullman and Vadhan (2016), Theorem 4.1"
ROUNDING = 1e-9
"""Sums of a budget's parts differ from it by rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamState:
    """The data and the epsilons that were spent, in nats."""

    data: Database
    spent: tuple[float, ...] = ()


def budgeted_stream(*, epsilon: float) -> Interaction:
    """Run the mechanisms asked for, one after another, for `epsilon` nats in all.

    A query is a `Mechanism` with one pure privacy claim, its answer the mechanism's output.
    Raises ValueError on an `epsilon` that is not positive; asking raises it for a mechanism whose
    loss is not known to be pure, and SessionOver where the budget does not pay for it.
    """
    require_positive(epsilon=epsilon)
    return Interaction(start=_start, answer=partial(_answer, epsilon=epsilon))


def cost_of(mechanism: Mechanism) -> float:
    """The epsilon that one run loses; ValueError where no single pure claim says it."""
    claims = [claim for claim in mechanism.claims if isinstance(claim, PrivacyClaim)]
    fits = [claim for claim in claims if claim.delta == 0 and claim.distance == 1]
    if len(claims) != 1 or not fits or fits[0].relation is Relation.DECLARED:
        raise ValueError(
            f"{mechanism.name} must have one privacy claim, of delta 0 and distance 1 under "
            "add-remove or replace-one, to be charged for"
        )
    return claims[0].epsilon


def _start(database: Database, rng: np.random.Generator) -> StreamState:
    return StreamState(data=database)


def _answer(
    state: StreamState, query: Mechanism, rng: np.random.Generator, *, epsilon: float
) -> tuple[StreamState, object]:
    spent = (*state.spent, cost_of(query))
    if fsum(spent) > epsilon * (1 + ROUNDING):
        left = epsilon - fsum(state.spent)
        raise SessionOver(
            f"{query.name} costs {spent[-1]:g} and {max(left, 0):.4g} of {epsilon:g} are left"
        )
    return replace(state, spent=spent), query(state.data, rng)


BITS = Rows(row=Interval(low=0, high=1, integer=True), max_size=8)


def budgeted_counts(
    *,
    epsilon: float,
    prices: Sequence[float],
    length: int = 5,
    filter_of: Callable[..., Interaction] = budgeted_stream,
    name: str = "budgeted-stream",
    identifier: str = "",
) -> Mechanism:
    """Noisy counts under one budget: an analyst buys the next at a price that answers decide.

    A count costs one of `prices`, in nats, and has Laplace noise of scale 1 / price.
    `filter_of(epsilon=...)` is the session, to be replaced by a broken one.
    """
    require_positive(epsilon=epsilon)
    require_whole(length=length)
    counts = tuple(
        laplace_mechanism(
            query=total,
            sensitivity=1.0,
            epsilon=price,
            relation=Relation.ADD_REMOVE,
            databases=BITS,
        )
        for price in prices
    )

    def density(data: Database, steps: Array, refused: int | None) -> float:
        """Each count by its Laplace density, until the budget does not pay for the next."""
        bought = [prices[int(asked)] for asked in steps[:, 0]]
        most = epsilon * (1 + ROUNDING)
        if fsum(bought) > most or (
            refused is not None and fsum([*bought, prices[refused]]) <= most
        ):
            return -inf
        errors = np.abs(steps[:, 1] - sum(data))
        return fsum(log(e / 2) - e * far for e, far in zip(bought, errors.tolist(), strict=True))

    # The dearest as long as answers are low, the cheapest once one was high.
    greedy = Analyst(asks=(len(prices) - 1, 0), moves=((0, 1), (0, 1)))
    return asked_mechanism(
        filter_of(epsilon=epsilon),
        data=BITS,
        relation=Relation.ADD_REMOVE,
        queries=counts,
        epsilon=epsilon,
        length=length,
        cuts=(0.5,),
        states=2,
        name=name,
        trust_rows=True,
        identifier=identifier,
        reference=ROGERS,
        examples=(([[], greedy.written()], [[1], greedy.written()]),),
        density=density,
    )


BUDGETED_STREAM = budgeted_counts(epsilon=1.0, prices=(0.2, 0.5), identifier="COMP-FILTER")
