"""Evidence files that somebody changed: every change is refused or named, in bounded time.

The changes are made by structure: each visits one field of a real record and writes another value
of the same kind there, or one of another kind. A seed decides which, so a failure comes back.
"""

import copy
import json
import os
import random
from collections import Counter

import pytest

from dpwitness.auditors.errors import DpWitnessError
from dpwitness.auditors.privacy.replay import recount
from dpwitness.auditors.privacy.retrace import INPUTS, NOT_RECOMPUTED
from dpwitness.auditors.privacy.run import audit_claims
from dpwitness.reports.record import evidence
from dpwitness.reports.replaying import BELIEVED as UNDECIDED
from dpwitness.reports.replaying import replay
from dpwitness.reports.targets import find_target

SEARCHED = {"target", *INPUTS, *NOT_RECOMPUTED}
"""Fields of which a change may go unseen where the pair was searched for; the target is compared
where one is looked up."""
GIVEN = {*UNDECIDED, "environment", "plan.precision"}
"""The same where the pair was given: the whole audit is made again. Another wish for precision may
lead to the same audit."""


MANY = int(os.environ.get("DPWITNESS_CHANGES", "300"))
"""Changes of the longer test; 3000 is a thorough run."""


def noisy(database, rng):
    return sum(database) + rng.laplace(0, 0.5)


def flips(database, rng):
    bit = sum(database) % 2
    return int(bit if rng.random() < 0.6 else 1 - bit)


def written(*arguments, **options):
    data = evidence.document(audit_claims(*arguments, **options), replay="")
    return json.loads(evidence.to_text(data))


@pytest.fixture(scope="module")
def records():
    """(mechanism, evidence file) of refuted and not refuted claims, delta 0 and above."""
    naive = find_target("EM-NAIVE").mechanism
    pair = {"pair": ([0], [0, 1]), "relation": "add-remove"}
    return [
        (naive, written(naive, name="EM-NAIVE", trials=4_000)),
        (noisy, written(noisy, epsilon=1.0, **pair, trials=4_000)),
        (flips, written(flips, epsilon=0.5, delta=0.01, pair=([0], [1]), relation="replace-one",
                        trials=8_000)),
    ]  # fmt: skip


def places(value, path=()):
    """The paths of all leaves, lists of numbers included one by one."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from places(inner, (*path, index))
    else:
        yield path


def other(value, rng):
    """Another value of the same kind, or now and then of another."""
    strange = [None, -1, 1e308, "inf", "x" * 30_000, [], {}, {"$fraction": "1e999999999"}, 2**70,
               {"$ndarray": {"dtype": "U500000000", "shape": [1], "data": ["x"]}}]  # fmt: skip
    if rng.random() < 0.25:
        return rng.choice(strange)
    match value:
        case bool():
            return not value
        case int():
            return value + rng.choice([1, -1, 7])
        case float():
            return value * rng.choice([0.5, 1.01, 2.0]) + 0.001
        case str():
            return rng.choice(["", value + "x", "not_refuted", "refuted", "inconclusive"])
        case _:
            return rng.choice(strange)


def put(data, path, value):
    changed = copy.deepcopy(data)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return changed


def field_of(path):
    return ".".join(str(key) for key in path if not isinstance(key, int))


def believed(path, data):
    field = field_of(path)
    free = SEARCHED if "reached" in data["results"][0] else GIVEN
    return any(field == name or field.startswith(name + ".") for name in free)


def outcome(mechanism, data, path):
    """ "refused", "named" or "unseen"; anything else raises."""
    try:
        path.write_text(evidence.to_text(data))
        (again, *_) = replay(path, mechanism)
    except DpWitnessError:
        return "refused"
    return "unseen" if again.same else "named"


def record_name(mechanism):
    return getattr(mechanism, "name", "") or mechanism.__name__


def attacked(records, place, seed, number, only=None):
    rng, seen, failures = random.Random(seed), Counter(), []
    for _ in range(number):
        mechanism, data = rng.choice(records)
        paths = [path for path in places(data["results"][0]) if only is None or only(path)]
        path = rng.choice(paths)
        old = data["results"][0]
        for key in path:
            old = old[key]
        new = other(old, rng)
        same = type(new) is type(old) and new == old
        changed = put(data, ("results", 0, *path), new)
        try:
            found = outcome(mechanism, changed, place)
        except Exception as error:  # noqa: BLE001 - whatever escapes is a failure of the reader
            failures.append((record_name(mechanism), path, new, repr(error)[:200]))
            continue
        seen[found] += 1
        if found == "unseen" and not same and not believed(path, data):
            failures.append((record_name(mechanism), path, old, new))
    print(f"{number} changed files: {dict(seen)}; {len(failures)} failures")
    return failures


def test_what_was_not_changed_replays(records):
    for mechanism, data in records:
        again = recount(mechanism, data["results"][0], name=record_name(mechanism))
        assert again.same, again.differences
        assert again.verdict.value == data["results"][0]["verdict"]


def test_every_change_is_refused_or_named(records, tmp_path):
    assert attacked(records, tmp_path / "changed.json", seed=12, number=20) == []


@pytest.mark.parametrize(
    ("path", "value", "word"),
    [
        (("verdict",), "not_refuted", "verdict"),
        (("verdict",), "proved", "verdict"),
        (("verdict",), "inconclusive", "verdict"),
        (("epsilon_lower",), 9.0, "epsilon_lower"),
        (("mechanism",), "laplace", "mechanism"),
        (("source",), "0" * 32, "source"),
        (("evidence", "alpha"), 0.49, "level"),
        (("evidence", "hits"), [1, 2], "evidence.hits"),
        (("evidence", "trials"), [1, 2], "evidence.trials"),
        (("evidence", "level"), 9e-4, "level"),
        (("witness", "event", "description"), "output is lovely", "witness.event"),
        (("pair", "neighbour"), [0, 1, 1, 1], "pair"),
    ],
)
def test_a_forged_field_is_named(records, path, value, word):
    mechanism, data = records[1]
    record = put(data, ("results", 0, *path), value)["results"][0]
    again = recount(mechanism, record, name="noisy")
    assert not again.same
    assert word in " ".join(again.differences)


@pytest.mark.slow
def test_every_change_of_many_is_refused_or_named(records, tmp_path):
    assert attacked(records, tmp_path / "changed.json", seed=13, number=MANY) == []
