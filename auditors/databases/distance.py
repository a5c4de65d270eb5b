"""How far two databases are apart under a relation, and whether a claim protects such a pair.

A pair that was given by hand is not neighbouring by construction, so it is looked at here.
"""

from collections import Counter

import numpy as np

from ...mechanisms.model import Array, Database, Histogram, Pair, Relation, Value
from ..errors import InvalidArgument
from ..outputs.encoding import canonical, identity, show
from .records import SINGLE, records, said, unlike
from .steps import STEPS, step_of

HISTOGRAMS = Histogram(bins=1)
"""Says that lists are counts, of however many bins."""


def apart(pair: Pair, relation: Relation, domain: object = None) -> int | None:
    """Steps of the relation between the two databases; None where no number of steps suffices.

    What a list of whole numbers means is said and never guessed: the domain `Histogram` reads it
    as counts of records, `Value` as one record, and anything else as a list of records.
    """
    one, two = pair.database, pair.neighbour
    if isinstance(domain, Value):
        return _single(one, two, relation)
    if isinstance(domain, Histogram):
        return _counts_apart(one, two, relation)
    return _rows_apart(one, two, relation)


def relation_of(pair: Pair, distance: int, domain: object = None) -> Relation:
    """The relation under which a pair is at most `distance` apart; else it is only declared."""
    for relation in STEPS:
        steps = apart(pair, relation, domain)
        if steps is not None and steps <= distance:
            return relation
    return Relation.DECLARED


def require_meaning(pair: Pair, distance: int) -> None:
    """Raise InvalidArgument where both readings of two lists make neighbours of them.

    Nobody has said a relation, so nothing tells whether [3] and [4] are one record replaced or the
    counts of one record more.
    """
    counted = apart(pair, Relation.ADD_REMOVE, HISTOGRAMS)
    lists = all(np.ndim(side) > 0 for side in (pair.database, pair.neighbour) if counted)
    if counted is None or counted > distance or not lists:
        return
    known = relation_of(pair, distance)
    if known in (Relation.ADD_REMOVE, Relation.DECLARED):
        return
    raise InvalidArgument(
        f"the databases {show(pair.database)} and {show(pair.neighbour)} may be lists of records, "
        f"{known.value} neighbours, or counts of records, add-remove neighbours; say "
        f'relation="{known.value}" for records, or histogram=True for counts',
        keywords=("relation", "histogram"),
    )


def require_neighbours(
    pair: Pair, relation: Relation, distance: int, domain: object = None
) -> None:
    """Raise InvalidArgument where a pair is not one that the claim protects, naming its distance.

    A relation that is only declared is not checked, but its two databases must differ.
    """
    if identity(pair.database) == identity(pair.neighbour):
        raise InvalidArgument(
            f"the two databases of the pair are equal, {show(pair.database)}; no claim says "
            "anything about such a pair, so give two that differ",
            keywords=("pair",),
        )
    if relation is Relation.DECLARED:
        return
    steps = apart(pair, relation, domain)
    if steps is not None and steps <= distance:
        return
    sides = f"{show(pair.database)} and {show(pair.neighbour)}"
    claimed = f"the claim protects {distance} step{'s' if distance > 1 else ''}"
    if steps is None:
        found = f"are no {relation.value} neighbours at any distance"
        others = {one: apart(pair, one, domain) for one in STEPS if one is not relation}
        fitting = (
            f'relation="{one.value}" ({far} apart there), or '
            for one, far in others.items()
            if far is not None
        )
        advice = next(fitting, "")
    else:
        found = f"are {steps} steps of {relation.value} apart"
        advice = f"distance={steps} for a claim about such groups, or "
    counted = None if isinstance(domain, Histogram) else apart(pair, relation, HISTOGRAMS)
    if counted is not None and counted <= distance:
        advice = (
            "histogram=True if the numbers count records, one number for each bin (they are "
            f"{counted} apart then), or {advice}"
        )
        found += " as lists of records"
    raise InvalidArgument(
        f"the databases {sides} {found}, and {claimed}; give a pair of neighbours, {advice}"
        'relation="declared" if they are neighbours in a sense that only you know',
        keywords=("relation", "distance", "pair", "histogram"),
    )


def _single(one: Database, two: Database, relation: Relation) -> int | None:
    """Two single records: one step of replacing, whatever they are."""
    if not step_of(relation).keeps_places:
        return None
    return int(canonical(one) != canonical(two))


def _rows_apart(one: Database, two: Database, relation: Relation) -> int | None:
    one, two = unlike(one, two)
    first, second = records(one), records(two)
    if first is None or second is None:
        if first is None and second is None and _comparable(one, two):
            return _single(one, two, relation)
        return None
    if first.kind != second.kind and not {first.kind, second.kind} <= {"list", "tuple"}:
        return None
    ours, theirs = first.rows, second.rows
    a, b = Counter(map(said, ours)), Counter(map(said, theirs))
    step = step_of(relation)
    steps = step.between((a - b).total(), (b - a).total())
    if steps == 0 and step.keeps_places:
        # The same records in another order: every place that changed has been replaced.
        steps = sum(said(x) != said(y) for x, y in zip(ours, theirs, strict=True))
    return steps


def _comparable(one: Database, two: Database) -> bool:
    return isinstance(one, SINGLE) or isinstance(two, SINGLE) or type(one) is type(two)


def _counts_apart(one: Database, two: Database, relation: Relation) -> int | None:
    """Steps between two lists of counts, or between two numbers of records."""
    first, second = _counts(one), _counts(two)
    if first is None or second is None or first.shape != second.shape:
        return None
    more = int(np.maximum(second - first, 0).sum())
    fewer = int(np.maximum(first - second, 0).sum())
    return step_of(relation).between(fewer, more)


def _counts(database: Database) -> Array | None:
    if isinstance(database, (bool, np.bool_, str, bytes)) or database is None:
        return None
    if isinstance(database, (list, tuple)) and not all(
        isinstance(item, (int, np.integer)) and not isinstance(item, bool) for item in database
    ):
        return None
    if not isinstance(database, (int, np.integer, list, tuple, np.ndarray)):
        return None
    counts = np.asarray(database)
    whole = counts.dtype.kind in "iu" and counts.size > 0
    return counts.astype(object) if whole and (counts >= 0).all() else None
