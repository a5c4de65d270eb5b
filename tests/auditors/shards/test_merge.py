"""Shards put together are one process, bit for bit, and what does not fit is named."""

from contextlib import contextmanager
from itertools import permutations

import pytest

from dpwitness.auditors.errors import ContractError, HarnessError, InvalidArgument
from dpwitness.auditors.shards.checkpoint import opened
from dpwitness.auditors.shards.running import audit_in, draw_shard
from dpwitness.auditors.shards.shard import Collected, Contradiction, Shard, blocks_in

from .conftest import SMALL, essence, noisy_count


def drawn(mechanism, options, shard):
    _, books = draw_shard(shard, mechanism, **options)
    return [book.to_json() for book in books]


def collected(mechanism, options, shards):
    found = Collected()
    for shard in shards:
        for data in drawn(mechanism, options, shard):
            found.add(shard, f"{shard}", blocks_in(data, shard.count))
    return found


def merged(mechanism, options, found):
    @contextmanager
    def book(identity):
        yield found

    return essence(audit_in(book, mechanism, **options))


def all_of(count):
    return [Shard(number, count) for number in range(1, count + 1)]


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3])
def test_all_shards_are_one_process(small, count):
    mechanism, options, alone = small
    found = collected(mechanism, options, all_of(count))
    assert merged(mechanism, options, found) == alone
    assert len(found.counts) > 0


@pytest.mark.long
def test_neither_order_nor_repetition_nor_another_way_to_split_matters():
    options = {**SMALL, "epsilon": 1.0, "trials": 2000}
    parts = {shard: drawn(noisy_count, options, shard) for shard in [*all_of(2), Shard(1, 3)]}
    seen = []
    for order in permutations(parts):
        found = Collected()
        for shard in (*order, order[0]):
            for data in parts[shard]:
                found.add(shard, str(shard), blocks_in(data, shard.count))
        seen.append(merged(noisy_count, options, found))
    assert all(results == seen[0] for results in seen)


@pytest.mark.long
def test_what_was_counted_is_not_drawn_again(asked):
    options = {**SMALL, "epsilon": 1.0, "trials": 400_000}

    def run(database, rng, *, size=None):
        return len(database) + rng.laplace(size=size)

    run.block = 4096
    found = collected(run, options, all_of(2))
    asked.clear()
    (result,) = merged(run, options, found)
    # What teaches and what is looked at once more is drawn here again.
    assert sum(asked) < 0.7 * result.draws


@pytest.mark.long
def test_a_checkpoint_of_the_lessons_serves_every_shard(tmp_path, monkeypatch, asked):
    monkeypatch.setattr("dpwitness.auditors.sampling.sampling.LONG", 0.0)
    options, kept = {**SMALL, "epsilon": 1.0}, tmp_path / "kept"
    alone = audit_in(lambda identity: opened(str(kept), identity), noisy_count, **options)
    copy = kept.read_bytes()
    asked.clear()
    found = Collected()
    for shard in all_of(2):
        kept.write_bytes(copy)
        _, (book,) = draw_shard(
            shard, noisy_count, inner=lambda identity: opened(str(kept), identity), **options
        )
        found.add(shard, str(shard), blocks_in(book.to_json(), 2))
    # What checks that it can be called is drawn every time.
    assert 0 < sum(asked) < 200
    (result,) = merged(noisy_count, options, found)
    assert result.evidence == alone[0].evidence


@pytest.mark.long
def test_missing_shards_are_named():
    options = {**SMALL, "epsilon": 1.0}
    found = collected(noisy_count, options, [Shard(2, 5), Shard(4, 5)])
    with pytest.raises(InvalidArgument, match=r"shards 1/5, 3/5, 5/5 are missing .* blocks"):
        merged(noisy_count, options, found)


@pytest.mark.long
def test_a_block_with_two_counts_names_the_file():
    options = {**SMALL, "epsilon": 1.0}
    data = drawn(noisy_count, options, Shard(1, 2))
    found = Collected()
    found.add(Shard(1, 2), "a.json", blocks_in(data[0], 2))
    data[0]["rows"][0]["hits"][0] += 1
    with pytest.raises(Contradiction, match=r"b\.json contradicts a file given before it"):
        found.add(Shard(1, 2), "b.json", blocks_in(data[0], 2))


@pytest.mark.long
def test_an_edited_count_of_what_is_drawn_here_too_names_its_shard():
    options = {**SMALL, "epsilon": 1.0}
    found = Collected()
    for shard in all_of(3):
        data = drawn(noisy_count, options, shard)
        if shard.number == 2:
            data[0]["rows"][0]["hits"][0] -= 1
        found.add(shard, f"{shard.number}.json", blocks_in(data[0], shard.count))
    with pytest.raises(HarnessError, match=r"^2\.json says .* drawn again here"):
        merged(noisy_count, options, found)


@pytest.mark.slow
def test_every_block_is_in_exactly_one_shard():
    options = {**SMALL, "epsilon": 1.0}
    whole = drawn(noisy_count, options, Shard(1, 1))
    rows = sorted(blocks_in(whole[0], 1))
    parts = [
        row for shard in all_of(7) for row in blocks_in(drawn(noisy_count, options, shard)[0], 7)
    ]
    assert sorted(parts) == rows
    assert len(rows) == whole[0]["planned"]


@pytest.mark.long
def test_more_shards_than_blocks_leave_some_of_them_empty():
    options = {**SMALL, "epsilon": 1.0, "trials": 200}
    assert drawn(noisy_count, options, Shard(500, 500))[0]["rows"] == []


@pytest.mark.long
def test_a_shard_of_a_mechanism_that_keeps_state_is_refused():
    made = []

    def drifting(database, rng):
        made.append(1)
        return len(database) + rng.laplace() + (0 if len(made) < 1000 else 5)

    with pytest.raises(ContractError, match="keeps state between calls"):
        draw_shard(Shard(1, 1), drifting, **{**SMALL, "epsilon": 1.0})


@pytest.mark.slow
def test_a_thousand_shards_are_one_process():
    # Drawn once and dealt out: a thousand audits would search and learn a thousand times.
    options = {**SMALL, "epsilon": 1.0, "trials": 40_000}
    whole = drawn(noisy_count, options, Shard(1, 1))[0]
    rows = list(blocks_in(whole, 1))
    found = Collected()
    for shard in all_of(1000):
        found.add(shard, str(shard), rows[shard.number - 1 :: 1000])
    assert len(rows) > 800
    (result,) = merged(noisy_count, options, found)
    from dpwitness.auditors.privacy.run import audit_claims

    assert [result] == essence(audit_claims(noisy_count, **options))
