"""Evidence files that somebody changed: every change is refused or named, in bounded time.

The changes are made by structure: each visits one field of a real record and writes another value
of the same kind there, or one of another kind. A seed decides which, so a failure comes back.
"""

import copy
import json
import os
import random
from collections import Counter
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import strategies as st

from dpwitness import (
    Interval,
    Mechanism,
    PrivacyClaim,
    Relation,
    Rows,
    UtilityClaim,
    session_mechanism,
)
from dpwitness.auditors.asked import Budget
from dpwitness.auditors.bounds import power, two_sample
from dpwitness.auditors.claims.check import check_within, claims_beside
from dpwitness.auditors.claims.claim_results import ClaimCheck
from dpwitness.auditors.errors import DpWitnessError
from dpwitness.auditors.privacy.replay import recount
from dpwitness.auditors.privacy.run import audit_claims
from dpwitness.mechanisms.sparse_vector.sparse_vector_variants import sparse_vector_interaction
from dpwitness.reports.auditing.replaying import claims_again, claims_of, findings_of, replay
from dpwitness.reports.faces.claim_faces import claims_part
from dpwitness.reports.record import evidence
from dpwitness.reports.targets.targets import Target, find_target

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


def shaky(database, rng):
    return sum(database) + np.random.default_rng().laplace(0, 3)


TWO = Mechanism(
    name="two", run=noisy, databases=Rows(row=Interval(low=0, high=1, integer=True), max_size=3),
    claims=(PrivacyClaim(epsilon=1.0, relation=Relation.ADD_REMOVE),
            PrivacyClaim(epsilon=2.5, relation=Relation.REPLACE_ONE)),
)  # fmt: skip


def session():
    core = sparse_vector_interaction(
        threshold=2.0, sensitivity=1.0, threshold_epsilon=0.5, query_epsilon=0.5
    )
    return session_mechanism(
        core, data=Rows(row=Interval(low=0, high=1, integer=True), max_size=3), queries=(len, sum),
        epsilon=1.5, relation="add-remove", length=2, states=1,
    )  # fmt: skip


@pytest.fixture(scope="module")
def once():
    """Bounds and powers of one file are worked out once: most of a changed file are the same."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((two_sample, "epsilon_lower"), (power, "refutable_epsilon")):
            patch.setattr(module, name, lru_cache(maxsize=1000)(getattr(module, name)))
        yield


@pytest.fixture(scope="module")
def small_records(once):
    """(mechanism, evidence file) about given pairs, few draws."""
    return [
        (noisy, written(noisy, epsilon=1.0, pair=([0], [0, 1]), relation="add-remove", trials=400)),
        (flips, written(flips, epsilon=0.5, delta=0.01, pair=([0], [1]), relation="replace-one",
                        trials=400)),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def records(once):
    """(mechanism, evidence file) of refuted and not refuted claims, delta 0 and above, about a
    pair that was given or searched for among the mechanism's own databases."""
    naive = find_target("EM-NAIVE").mechanism
    pair = {"pair": ([0], [0, 1]), "relation": "add-remove"}
    return [
        (naive, written(naive, name="EM-NAIVE", trials=4_000)),
        (noisy, written(noisy, epsilon=1.0, **pair, trials=4_000)),
        (flips, written(flips, epsilon=0.5, delta=0.01, pair=([0], [1]), relation="replace-one",
                        trials=8_000)),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def more_records(records):
    """These, and other databases, several claims, randomness of its own, a session."""
    others = st.lists(st.integers(0, 1), max_size=3)
    asked, arrays = session(), find_target("laplace-vector").mechanism
    return [
        *records,
        (noisy, written(noisy, epsilon=1.0, relation="add-remove", databases=others, trials=2_000)),
        (noisy, written(noisy, epsilon=4.0, relation="add-remove", databases=others, trials=2_000)),
        (TWO, written(TWO, trials=2_000)),
        (arrays, written(arrays, name="laplace-vector", trials=2_000)),
        (shaky, written(shaky, epsilon=1.0, pair=([0], [0, 1]), relation="add-remove",
                        trials=2_000, seeded=False)),
        (asked, written(asked, trials=1_000)),
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


def outcome(mechanism, data, path):
    """(what came of replaying it, fields that replay says it compared with nothing): "refused",
    "named" or "unseen"; anything else raises."""
    try:
        path.write_text(evidence.to_text(data))
        again = replay(path, mechanism)
    except DpWitnessError:
        return "refused", ()
    return "unseen" if all(one.same for one in again) else "named", again


def believed(path, again):
    field = field_of(path)
    return any(field == name or field.startswith(name + ".") for name in again.believed)


def record_name(mechanism):
    return getattr(mechanism, "name", "") or mechanism.__name__


def attacked(records, place, seed, number):
    rng, seen, failures = random.Random(seed), Counter(), []
    for _ in range(number):
        mechanism, data = rng.choice(records)
        which = rng.randrange(len(data["results"]))
        path = rng.choice([*places(data["results"][which])])
        old = data["results"][which]
        for key in path:
            old = old[key]
        new = other(old, rng)
        same = type(new) is type(old) and new == old
        changed = put(data, ("results", which, *path), new)
        changed["results"] = [changed["results"][which]]
        changed["findings"] = [changed["findings"][which]]
        try:
            found, again = outcome(mechanism, changed, place)
        except Exception as error:  # noqa: BLE001 - whatever escapes is a failure of the reader
            failures.append((record_name(mechanism), path, new, repr(error)[:200]))
            continue
        seen[found] += 1
        if found == "unseen" and not same and not believed(path, again[0]):
            failures.append((record_name(mechanism), path, old, new))
        seen["believed"] += found == "unseen" and not same and believed(path, again[0])
    print(f"{number} changed files: {dict(seen)}; failures: {failures}")
    return failures


@pytest.mark.slow
def test_what_was_not_changed_replays(records, tmp_path):
    for mechanism, data in records:
        assert outcome(mechanism, data, tmp_path / "same.json")[0] == "unseen"


@pytest.mark.slow
def test_what_was_not_changed_replays_of_every_kind(more_records, tmp_path):
    kinds = set()
    for mechanism, data in more_records:
        found, again = outcome(mechanism, data, tmp_path / "same.json")
        assert found == "unseen", [one.differences for one in again]
        for one, record, told in zip(again, data["results"], data["findings"], strict=True):
            assert one.verdict.value == told["verdict"]
            kinds.add((told["verdict"], "reached" in record, one.seeded, len(one.believed) > 6))
    assert len(kinds) >= 6  # the law is empty where a kind is missing


@pytest.mark.slow
def test_every_change_is_refused_or_named(small_records, tmp_path):
    assert attacked(small_records, tmp_path / "changed.json", seed=12, number=40) == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("path", "value", "word"),
    [
        (("mechanism",), "laplace", "mechanism"),
        (("source",), "0" * 32, "source"),
        (("evidence", "alpha"), 0.49, "level"),
        (("evidence", "counts", 0, "level"), 9e-4, "level"),
        (("evidence", "counts", 0, "cost"), 1, "cost"),
        (("evidence", "counts", 0, "attempt"), 7, "attempt"),
        (("pair", "neighbour"), [0, 1, 1, 1], "pair"),
        (("remark",), "found to be lovely", "remark"),
    ],
)
def test_a_forged_field_is_named(records, path, value, word):
    mechanism, data = records[1]
    record = put(data, ("results", 0, *path), value)["results"][0]
    again = recount(mechanism, record, name="noisy")
    assert not again.same
    assert word in " ".join(again.differences)


@pytest.mark.long
@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("verdict",), "not_refuted"),
        (("verdict",), "proved"),
        (("verdict",), "inconclusive"),
        (("epsilon_lower",), 9.0),
        (("hits",), [1, 2]),
        (("trials",), [1, 2]),
        (("level",), 1e-5),
        (("witness", "event", "description"), "output is lovely"),
        (("growth",), []),
    ],
)
def test_what_other_programs_are_told_follows_from_the_counts(records, path, value):
    mechanism, data = records[1]
    (again,) = replay(put(data, ("findings", 0, *path), value), mechanism)
    assert f"findings[0].{'.'.join(path)}" in " ".join(again.differences)


def inner_nodes(value, path=()):
    """The paths of everything in the data, leaves or not."""
    if path:
        yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from inner_nodes(inner, (*path, key))


def without(data, path):
    changed = copy.deepcopy(data)
    place = changed
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return changed


def removed(records, place, seed, number):
    """Remove one thing at a time; the failures."""
    rng, seen, failures = random.Random(seed), Counter(), []
    for _ in range(number):
        mechanism, data = rng.choice(records)
        which = rng.randrange(len(data["results"]))
        paths = [*inner_nodes(data["results"][which])]
        fields = [path for path in paths if isinstance(path[-1], str)]
        path = rng.choice(rng.choice([paths, fields]))
        changed = without(data, ("results", which, *path))
        changed["results"] = [changed["results"][which]]
        changed["findings"] = [changed["findings"][which]]
        found, again = outcome(mechanism, changed, place)
        seen[found] += 1
        if found == "unseen" and (isinstance(path[-1], str) or not believed(path, again[0])):
            failures.append((record_name(mechanism), path))
    print(f"{number} files with something removed: {dict(seen)}; failures: {failures}")
    return failures


@pytest.mark.slow
def test_every_fact_of_a_plan_and_a_claim_is_missed(more_records, tmp_path):
    """Each field that has a name, in every kind of file; none is optional for who wrote it."""
    failures, cases = [], 0
    for mechanism, data in more_records:
        for part in ("plan", "claim"):
            for key in data["results"][0][part]:
                changed = without(data, ("results", 0, part, key))
                changed["results"], changed["findings"] = (
                    changed["results"][:1],
                    data["findings"][:1],
                )
                cases += 1
                if outcome(mechanism, changed, tmp_path / "less.json")[0] == "unseen":
                    failures.append((record_name(mechanism), part, key))
    assert cases > 100
    assert failures == []


@pytest.mark.long
def test_whatever_is_removed_is_missed(small_records, tmp_path):
    assert removed(small_records, tmp_path / "less.json", seed=14, number=40) == []


@pytest.mark.slow
def test_whatever_is_removed_from_many_is_missed(more_records, tmp_path):
    assert removed(more_records, tmp_path / "less.json", seed=15, number=MANY) == []


def beside(database, rng, *, size=None):
    return len(database) + rng.laplace(scale=2.0, size=size)


USEFUL = Mechanism(
    name="useful", run=beside, databases=Rows(row=Interval(low=0, high=1)),
    claims=tuple(
        UtilityClaim(
            loss=lambda database, output: np.abs(np.asarray(output) - len(database)),
            bound=lambda beta, scale=scale: scale * np.log(1 / beta), databases=([],),
            identifier=f"TAIL-{scale}",
        )
        for scale in (1, 2)
    ),
)  # fmt: skip


def checked_beside(mechanism):
    """What an evidence file holds of the claims that a mechanism makes beside its privacy."""
    budget = Budget(trials=400, seed=3)
    checks = [
        ClaimCheck(
            mechanism=mechanism.name, target="", budget=budget, result=check_within(budget, one)
        )
        for one in claims_beside(mechanism)
    ]
    return json.loads(json.dumps(claims_part(checks)))


@pytest.mark.slow
@pytest.mark.parametrize("most", [30, 10**6])
def test_every_change_of_a_claim_beside_privacy_is_refused_or_named(most):
    """The seconds that it took, and the words of the target, are believed, and must be there."""
    found = Target(text="", name="useful", mechanism=USEFUL)
    data = checked_beside(USEFUL)
    told = data["claim_findings"]
    claims = data["claims"]
    assert [one.differences for one in claims_again(claims, found, told)] == [(), ()]
    rng, failures, cases = random.Random(16), [], 0
    paths = [*inner_nodes(data)]
    for path in rng.sample(paths, min(most, len(paths))):
        old = data
        for key in path:
            old = old[key]
        changes = [without(data, path)] if path[0] != "claim_findings" or len(path) > 1 else []
        if not isinstance(old, dict | list):
            new = other(old, rng)
            same = type(new) is type(old) and new == old
            if not same and path[-1] not in ("seconds", "target"):
                changes.append(put(data, path, new))
        for changed in changes:
            cases += 1
            try:
                records = claims_of(changed)
                again = [
                    *claims_again(records, found, findings_of(records, changed["claim_findings"]))
                ]
            except DpWitnessError:
                continue
            if not any(one.differences for one in again):
                failures.append(path)
    print(f"{cases} changed claims; failures: {failures}")
    assert failures == []


BOTH = Mechanism(
    name="both", run=beside, databases=Rows(row=Interval(low=0, high=1)),
    claims=(PrivacyClaim(epsilon=1.0, relation=Relation.ADD_REMOVE), *USEFUL.claims),
)  # fmt: skip


@pytest.fixture(scope="module")
def with_claims(once):
    """An evidence file of a mechanism that claims more than its privacy."""
    return {**written(BOTH, trials=400, seed=3), **checked_beside(BOTH)}


@pytest.mark.long
def test_replay_in_python_checks_the_claims_beside_privacy_too(with_claims):
    (again,) = replay(with_claims, BOTH)
    assert again.same, again.differences
    assert "claims" not in again.believed
    forged = put(with_claims, ("claim_findings", 1, "verdict"), "refuted")
    (again,) = replay(forged, BOTH)
    assert "verdict" in " ".join(again.differences)
    hits = with_claims["claims"][1]["evidence"]["tails"]["rows"][0]["hits"]
    edited = put(with_claims, ("claims", 1, "evidence", "tails", "rows", 0, "hits"), hits - 1)
    (again,) = replay(edited, BOTH)
    assert "rows[0].hits: recorded" in " ".join(again.differences)
    for kind in ("growth", "no kind"):
        with pytest.raises(DpWitnessError, match="nothing follows from 'TAIL-2'"):
            replay(put(with_claims, ("claims", 1, "kind"), kind), BOTH)
    less = {
        **with_claims,
        "claims": with_claims["claims"][:1],
        "claim_findings": with_claims["claim_findings"][:1],
    }
    with pytest.raises(DpWitnessError, match="which makes 2"):
        replay(less, BOTH)
    for data, mechanism in (
        ({**with_claims, "claims": [], "claim_findings": []}, BOTH),
        ({**with_claims, "environment": {**with_claims["environment"], "numpy": "0"}}, BOTH),
    ):
        assert "claims" in replay(data, mechanism)[0].believed
    with pytest.raises(DpWitnessError, match="no result to count again"):
        replay({**with_claims, "results": []}, BOTH)


@pytest.mark.slow
def test_many_changes_of_claims_in_a_file_are_refused_or_named(with_claims):
    """The whole file, as somebody sends it: one field of its claims is another or is gone."""
    rng, failures, seen = random.Random(17), [], Counter()
    paths = [*inner_nodes(with_claims["claims"])]
    for _ in range(MANY):
        path = rng.choice(paths)
        old = with_claims["claims"]
        for key in path:
            old = old[key]
        place = ("claims", *path)
        if rng.random() < 0.5:
            changed = without(with_claims, place)
        else:
            new = other(old, rng)
            same = type(new) is type(old) and new == old
            if same or path[-1] in ("seconds", "target"):
                continue
            changed = put(with_claims, place, new)
        try:
            again = replay(changed, BOTH)
        except DpWitnessError:
            seen["refused"] += 1
            continue
        except Exception as error:  # noqa: BLE001 - whatever escapes is a failure of the reader
            failures.append((path, repr(error)[:200]))
            continue
        named = not all(one.same for one in again)
        seen["named" if named else "unseen"] += 1
        if not named:
            failures.append(path)
    print(f"{sum(seen.values())} changed files: {dict(seen)}; failures: {failures}")
    assert failures == []


@pytest.mark.slow
def test_every_change_of_many_is_refused_or_named(more_records, tmp_path):
    assert attacked(more_records, tmp_path / "changed.json", seed=13, number=MANY) == []
