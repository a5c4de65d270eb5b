"""Pairs of databases in evidence: each whole, and of two long ones the second as a difference.

Two neighbours of a million records differ in one, so the file holds the first whole, of the second
what it has instead, and the digest by which a reader knows that it put the same database together.
A finding that follows from the counts names the databases of its pair and does not repeat them.
"""

from hashlib import blake2b
from typing import Any

import numpy as np

from ...mechanisms.model import Database, Pair
from ..databases.records import alike, part
from ..errors import EvidenceFormatError
from ..outputs.decoding import from_json
from ..outputs.encoding import canonical, is_long, to_json
from ..results.results import Witness
from .record import PairRecord

CHANGED = "$changed"
"""The key of a neighbour that is told as a difference: records `start` to `start` + `gone` of the
database are replaced by `come`, and the whole has the digest `digest`."""
OF_PAIR = "$pair"
"""The key of a database that is one of those of the pair that was judged, and of which."""


def pair_record(pair: Pair | Witness) -> PairRecord:
    """The two databases, whole."""
    return {"database": to_json(pair.database), "neighbour": to_json(pair.neighbour)}


def judged_record(pair: Pair) -> PairRecord:
    """The two databases; of long ones the neighbour as its difference."""
    one, two = pair.database, pair.neighbour
    both = alike(one, two) if is_long(one) and type(one) in (list, np.ndarray) else None
    if both is None or 2 * sum(both) < len(two):
        return pair_record(pair)
    start, end = both
    changed = {
        "digest": digest(two),
        "start": start,
        "gone": len(one) - start - end,
        "come": to_json(part(two, start, len(two) - end)),
    }
    return {"database": to_json(one), "neighbour": {CHANGED: changed}}


def named_record(found: Pair | Witness, judged: Pair) -> PairRecord:
    """The two databases, or their names where they are the long ones of the pair judged."""
    if not is_long(judged.database):
        return pair_record(found)
    sides = (("database", judged.database), ("neighbour", judged.neighbour))

    def named(database: Database) -> Any:
        names = [name for name, side in sides if side is database]
        return {OF_PAIR: names[0]} if names else to_json(database)

    return {"database": named(found.database), "neighbour": named(found.neighbour)}


def read_pair(data: PairRecord) -> Pair:
    """The two databases of a pair; EvidenceFormatError for a difference that does not fit."""
    one, told = from_json(data["database"]), data["neighbour"]
    if not (isinstance(told, dict) and list(told) == [CHANGED]):
        return Pair(one, from_json(told))
    changed = told[CHANGED]
    start, gone, come = changed["start"], changed["gone"], from_json(changed["come"])
    whole = all(type(number) is int and number >= 0 for number in (start, gone))
    if type(one) not in (list, np.ndarray) or type(come) is not type(one) or not whole:
        raise EvidenceFormatError(
            "a neighbour that is told as a difference has start, gone and come, and stands beside "
            "a list or an array"
        )
    parts = [part(one, 0, start), come, part(one, start + gone, len(one))]
    two = [*parts[0], *parts[1], *parts[2]] if type(one) is list else np.concatenate(parts)
    if digest(two) != changed["digest"]:
        raise EvidenceFormatError(
            "the neighbour of a pair is told as a difference and does not have the digest that "
            "stands beside it: the file was edited"
        )
    return Pair(one, two)


def digest(database: Database) -> str:
    """128 bits of a database's JSON form, in hexadecimal digits: equal for equal databases."""
    return blake2b(canonical(database), digest_size=16).hexdigest()
