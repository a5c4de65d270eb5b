"""What it costs to audit in many pieces: `python -m benchmarks.scale [part ...]`.

Parts: simulation, overhead, shards, speed. The simulation draws nothing: it lets a thousand
workers fail and lag, and hands what they send to the real collector. All times are CPU seconds, so
that a busy machine does not change them.
"""

import heapq
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from dpwitness.auditors.engines.book import Block
from dpwitness.auditors.events.events import HalfLine
from dpwitness.auditors.outputs.features import Feature
from dpwitness.auditors.shards.checkpoint import opened
from dpwitness.auditors.shards.identity import Identity
from dpwitness.auditors.shards.merge import Collected
from dpwitness.auditors.shards.shard import Shard, ShardBook
from dpwitness.reports.sharding import documents

EVENT = HalfLine(Feature(), 1.0, False)
IDENTITY = Identity(("simulated",))


def block_of(place, planned, size):
    half = planned // 2
    return Block(0, 2**100 + 1, "attempt", place // half, 3, place % half, size)


def hits_of(place):
    """The same for a block whoever draws it."""
    return (place * 2654435761) % 997


def simulate(workers, planned, seconds, *, failing=0.05, lagging=0.05, factor=20, seed=0):
    """Blocks go to free workers; a lost one is sent again, a late one to a second worker.

    Gives (simulated seconds, CPU seconds of the collector, blocks sent, blocks that came twice).
    """
    random, events, waiting, number = Random(seed), [], list(range(planned))[::-1], 0
    sent, twice, spent, now = 0, 0, 0.0, 0.0
    done = bytearray(planned)

    def send(place, at):
        nonlocal number, sent
        number, sent = number + 1, sent + 1
        takes = seconds * random.uniform(0.9, 1.1) * (factor if random.random() < lagging else 1)
        if random.random() < failing:
            heapq.heappush(events, (at + takes * random.random(), number, place, "lost"))
            return
        heapq.heappush(events, (at + takes, number, place, "came"))
        if takes > 3 * seconds:
            heapq.heappush(events, (at + 3 * seconds, -number, place, "late"))

    with tempfile.TemporaryDirectory() as folder, opened(f"{folder}/kept", IDENTITY) as collector:
        for _ in range(min(workers, planned)):
            send(waiting.pop(), 0.0)
        while not all(done) if len(events) < 50 else True:
            now, _, place, what = heapq.heappop(events)
            if what == "came":
                block, hits = block_of(place, planned, 1024), hits_of(place)
                started = time.process_time()
                known = collector.known(EVENT, block)
                collector.enter(EVENT, block, hits)
                spent += time.process_time() - started
                twice += known is not None
                done[place] = 1
            elif not done[place]:
                waiting.append(place)
            while waiting and done[waiting[-1]]:
                waiting.pop()
            if waiting and what != "late":
                send(waiting.pop(), now)
        found = [collector.known(EVENT, block_of(p, planned, 1024)) for p in range(planned)]
    assert found == [hits_of(place) for place in range(planned)], "something was lost or doubled"
    return now, spent, sent, twice


def simulation():
    print("| a block takes | blocks | simulated s | collector, share of a core | sent | twice |")
    print("|---|---|---|---|---|---|")
    for seconds in (0.1, 1.0, 10.0):
        planned = 40_000
        took, spent, sent, twice = simulate(1000, planned, seconds)
        share = 100 * spent / took
        print(
            f"| {seconds:g} s | {planned:,} | {took:,.0f} | {share:.2g} % | {sent:,} | {twice:,} |"
        )


def shards(count=1000, planned=61_036):
    """Files of the counts of 1e9 draws in blocks of 32,768, and the time to put them together."""
    blocks = [block_of(place, planned, 32_768) for place in range(planned)]
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        sizes = []
        for number in range(1, count + 1):
            book = ShardBook(Shard(number, count))
            name, book.planned = book.counts.name(EVENT), planned
            for place in range(number - 1, planned, count):
                book.counts.put(name, blocks[place], hits_of(place))
            text = documents.written(book.shard, IDENTITY, "laplace", {"trials": 5}, [book])
            Path(folder, f"{number}.json").write_text(text)
            sizes.append(len(text))
        wrote = time.process_time() - started
        started = time.process_time()
        collected = Collected()
        for number in range(1, count + 1):
            path = f"{folder}/{number}.json"
            data = documents.read(path)
            collected.add(
                Shard(data["shard"], data["shards"]), path, documents.blocks_of(path, data)
            )
        collected.ahead(EVENT, blocks, lambda some: iter(()))
        read = time.process_time() - started
    assert collected.used
    assert [collected.known(EVENT, block) for block in blocks[:50]] == list(map(hits_of, range(50)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{count:,} shards of 1e9 draws ({planned:,} blocks): {sum(sizes):,} bytes, "
        f"{wrote:.1f} s to write, {read:.1f} s to read and check, {peak:.0f} MB at most"
    )


def overhead():
    """CPU seconds for a block that costs nothing: with a checkpoint, and through two workers."""
    from dpwitness.auditors.engines import Engine

    with tempfile.TemporaryDirectory() as folder, opened(f"{folder}/kept", IDENTITY) as book:
        started = time.process_time()
        for place in range(100_000):
            book.enter(EVENT, block_of(place, 100_000, 1024), hits_of(place))
        kept = (time.process_time() - started) / 100_000
        size = os.path.getsize(f"{folder}/kept") / 100_000
    print(f"a block kept in a checkpoint: {1e6 * kept:.1f} us, {size:.0f} bytes")
    engine, jobs = Engine(), [(block_of(place, 20_000, 1024),) for place in range(20_000)]
    list(engine.results(len, jobs[:100], workers=2, patience=60))
    started = time.process_time()
    list(engine.results(len, jobs, workers=2, patience=60))
    through = (time.process_time() - started) / len(jobs)
    print(f"a block through two workers of loky: {1e6 * through:.0f} us of this process")


CALL = """
import json, resource, sys, time
from dpwitness.auditors.privacy.run import audit_claims
micro, trials, workers = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
def busy(database, rng):
    until = time.process_time() + micro * 1e-6
    while time.process_time() < until:
        pass
    return len(database) + rng.laplace()
if micro >= 10_000:
    busy.block = 16  # or a block would take ten seconds, and a few hundred trials be one block
def vectorised(database, rng, *, size=None):
    return len(database) + rng.laplace(size=size)
begun = time.monotonic()
(result,) = audit_claims(vectorised if micro == 0 else busy, epsilon=1.0, pair=([], [1]),
                         trials=trials, workers=workers)
print(json.dumps([time.monotonic() - begun, time.process_time(),
                  repr((result.verdict, result.evidence, result.judged, result.draws))]))
"""


def speed():
    """Two workers against one, on mechanisms whose calls burn this much CPU time."""
    print(
        "| a call | trials a side | CPU s, 1 worker | 2 workers | of it the parent | same counts |"
    )
    print("|---|---|---|---|---|---|")
    for micro, trials in ((1, 200_000), (100, 30_000), (10_000, 300), (0, 20_000_000)):
        rows = []
        for workers in (1, 2):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(
                [sys.executable, "-c", CALL, str(micro), str(trials), str(workers)],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            rows.append((spent, *json.loads(done.stdout)))
        (one, *_), (two, _, parent, _) = rows
        name = f"{micro:g} us" if micro else "vectorised"
        same = "yes" if rows[0][3] == rows[1][3] else "NO"
        print(
            f"| {name} | {trials:,} | {one:.1f} | {two:.1f} | {parent:.1f} | {same} |", flush=True
        )


PARTS = {"simulation": simulation, "overhead": overhead, "shards": shards, "speed": speed}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        print(f"\n{part}\n")
        PARTS[part]()
