"""What it costs to audit in many pieces: `python -m benchmarks.scale [part ...] [--write]`.

Parts: simulation, overhead, shards, merging, catalogue, gate, travel, large, speed. The simulation
draws nothing: it lets a thousand workers fail and lag, and hands what they send to the real
collector. Times are CPU seconds, so that a busy machine hardly changes them; only `speed` takes the
clock as well, and wants two idle cores. With --write its table goes into docs/scale.md.
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

from dpwitness.auditors.events.events import HalfLine
from dpwitness.auditors.outputs.features import Feature
from dpwitness.auditors.shards.checkpoint import opened
from dpwitness.auditors.shards.running import Identity
from dpwitness.auditors.shards.shard import Collected, Shard, ShardBook
from dpwitness.auditors.workers.streams import Block
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
    from cloudpickle import dumps

    from dpwitness.auditors.engines import Engine
    from dpwitness.auditors.engines.engine import _Task

    with tempfile.TemporaryDirectory() as folder, opened(f"{folder}/kept", IDENTITY) as book:
        started = time.process_time()
        for place in range(100_000):
            book.enter(EVENT, block_of(place, 100_000, 1024), hits_of(place))
        kept = (time.process_time() - started) / 100_000
        size = os.path.getsize(f"{folder}/kept") / 100_000
    print(f"a block kept in a checkpoint: {1e6 * kept:.1f} us, {size:.0f} bytes")
    engine, jobs = Engine(), [(block_of(place, 20_000, 1024),) for place in range(20_000)]
    list(engine.results(len, jobs[:100], workers=2, patience=60))
    for seconds, some in ((1e-3, jobs), (1.0, jobs[:2000])):
        started = time.process_time()
        list(engine.results(len, some, workers=2, patience=60, seconds=seconds))
        through = (time.process_time() - started) / len(some)
        print(
            f"a block of {seconds:g} s through two workers of loky: {1e6 * through:.0f} us of "
            "this process"
        )
    bundle = [(place, (*job, False)) for place, job in enumerate(jobs[:50])]
    sent = len(dumps(_Task(b"", bundle)))
    back = len(dumps([(place, (1e-5, 500, None, None)) for place in range(50)]))
    print(f"a block in a bundle of 50: {sent / 50:.0f} bytes out, {back / 50:.0f} back")


TARGETS = """
def noisy(database, rng, *, size=None):
    return len(database) + rng.laplace(size=size)
noisy.block = 32
"""
ONE = ("--pair", "[]", "[1]", "--epsilon", "1", "--trials", "40000", "--quiet")


def spent_by(words, folder):
    """(CPU seconds, MB at most of any child so far) of a command of dpwitness, run in `folder`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "dpwitness", *words], cwd=folder, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, after.ru_maxrss / 1024


def results_in(path):
    """The results of an evidence file without what differs from run to run."""
    found = json.loads(Path(path).read_text())["results"]
    return [{k: v for k, v in one.items() if k not in ("seconds", "replay")} for one in found]


def merging(count=1000):
    """Shards drawn one by one, put together by the command, and compared with one process."""
    from click.testing import CliRunner

    from dpwitness.reports.cli import main

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "own.py").write_text(TARGETS)
        target, begun = f"{folder}/own.py:noisy", time.process_time()
        names = [f"{folder}/{number}.json" for number in range(1, count + 1)]
        for number, name in enumerate(names, start=1):
            words = ["audit", target, *ONE, "--shard", f"{number}/{count}", "--json", name]
            done = CliRunner().invoke(main, words)
            assert done.exit_code == 0, done.output
        drawn = time.process_time() - begun
        alone, _ = spent_by(["audit", target, *ONE, "--json", "alone.json"], folder)
        merged, memory = spent_by(
            ["tools", "merge", *names, "--target", target, "--quiet", "--json", "merged.json"],
            folder,
        )
        same = results_in(f"{folder}/merged.json") == results_in(f"{folder}/alone.json")
        size = sum(Path(name).stat().st_size for name in names)
        blocks = json.loads(Path(names[0]).read_text())["claims"][0]["planned"]
    print(
        f"{count:,} shards drawn of {blocks:,} blocks ({drawn:.0f} CPU s, {size:,} bytes); merged "
        f"in {merged:.1f} CPU s and {memory:.0f} MB at most, one process took {alone:.1f} CPU s; "
        f"bit for bit the same: {'yes' if same else 'NO'}"
    )


def gate_of(size, folder):
    """A file of this many mechanisms, each an entry of a gate."""
    functions = [TARGETS.replace("noisy", f"noisy_{number}") for number in range(size)]
    Path(folder, "own.py").write_text("\n".join(functions))
    entries = [
        f'[[gate]]\ntarget = "own.py:noisy_{number}"\nepsilon = 1\npair = ["[]", "[1]"]'
        for number in range(size)
    ]
    Path(folder, "dpwitness.toml").write_text("trials = 2000\n" + "\n".join(entries))


WITHOUT_AUDITS = """
import json, resource, sys, time
from dpwitness.reports.ci import gate
from dpwitness.reports.cli import main
kept = open("one.json").read()
gate._run = lambda words, root: (json.loads(kept), "")
try:
    main(["gate", "--quiet", "--json", "found.json", "--html", "found.html"])
except SystemExit:
    pass
print(time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def catalogue(small=10, large=2000):
    """A gate of a few entries as it is; then what many entries cost beside their audits."""
    with tempfile.TemporaryDirectory() as folder:
        gate_of(small, folder)
        used, memory = spent_by(["gate", "--quiet", "--json", "found.json"], folder)
        print(f"{small} entries: {used / small:.2f} CPU s an entry, {memory:.0f} MB at most")
        gate_of(large, folder)
        last = f"own.py:noisy_{large - 1}"
        words = ["audit", last, *ONE[:-3], "--trials", "2000", "--quiet", "--json", "one.json"]
        one, _ = spent_by(words, folder)
        print(f"the last of {large:,} mechanisms in one file: {one:.2f} CPU s")
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT_AUDITS], cwd=folder, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        own, most = map(float, done.stdout.split()[-2:])
        sizes = [Path(folder, f"found.{kind}").stat().st_size for kind in ("json", "html")]
    print(
        f"the gate's own process, {large:,} entries, no audits: {own:.1f} CPU s, {most:.0f} MB at "
        f"most, {sizes[0]:,} bytes of JSON, {sizes[1]:,} of HTML"
    )


MEASURED = """
import json, resource, sys, time
from dpwitness.reports.cli import main
begun = time.monotonic()
try:
    main(sys.argv[1:])
except SystemExit:
    pass
own, all_ = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(json.dumps([time.monotonic() - begun, own.ru_utime + own.ru_stime, own.ru_maxrss / 1024,
                  all_.ru_utime + all_.ru_stime, all_.ru_maxrss / 1024]))
"""
BROKEN = 100
"""One entry in so many of the whole gate has a tenth of the noise that its claim needs."""


def gate(size=2000, files=20, jobs=2):
    """A gate from end to end: every entry is audited, and just the broken ones are refuted."""
    with tempfile.TemporaryDirectory() as folder:
        entries, broken = [], set()
        for number in range(files):
            functions = []
            for place in range(number, size, files):
                text = TARGETS.replace("noisy", f"noisy_{place}")
                if place % BROKEN == 0:
                    text = text.replace("laplace(", "laplace(scale=0.1, ")
                    broken.add(f"part_{number}.py:noisy_{place}")
                functions.append(text)
                entries.append(
                    f'[[gate]]\ntarget = "part_{number}.py:noisy_{place}"\nepsilon = 1\n'
                    'pair = ["[]", "[1]"]'
                )
            Path(folder, f"part_{number}.py").write_text("\n".join(functions))
        Path(folder, "dpwitness.toml").write_text("trials = 2000\n" + "\n".join(entries))
        words = ["gate", "--quiet", "-j", str(jobs), "--json", "found.json", "--html", "f.html"]
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, *words], cwd=folder, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        clock, own, memory, audits, most = json.loads(done.stdout.splitlines()[-1])
        found = json.loads(Path(folder, "found.json").read_text())
        sizes = [Path(folder, name).stat().st_size for name in ("found.json", "f.html")]
    refuted = {
        one["target"]
        for one, told in zip(found["results"], found["findings"], strict=True)
        if told["verdict"] == "refuted"
    }
    print(
        f"{size:,} entries, --workers {jobs}: {clock / 60:.0f} minutes by the clock, {audits:,.0f} "
        f"CPU s in audits of {most:.0f} MB at most, {own:.0f} CPU s and {memory:.0f} MB in the "
        f"gate's own process, {sizes[0]:,} bytes of JSON, {sizes[1]:,} of HTML; "
        f"{len(refuted)} refuted of {len(found['results']):,}, just the {len(broken)} broken ones: "
        f"{'yes' if refuted == broken else 'NO'}"
    )


TRAVEL = """
import sys
from pickle import dumps
import numpy as np
from dpwitness.auditors.engines import Engine
from dpwitness.auditors.privacy.run import audit_claims

def scalar(database, rng, *, size=None):
    return len(database) + rng.laplace(size=size)

def vector(database, rng, *, size=None):
    return len(database) + rng.laplace(size=10 if size is None else (size, 10))

def fields(database, rng, *, size=None):
    regions = np.array(["north", "south", "east", "west"])
    return {"total": len(database) + rng.laplace(size=size),
            "large": rng.random(size=size) < 0.3, "region": regions[rng.integers(4, size=size)]}

class Weighed(Engine):
    counts, taught = [0, 0], [0, 0]
    def results(self, function, jobs, **options):
        for place, found in Engine.results(self, function, jobs, **options):
            one = self.counts if jobs[place][1] is None or jobs[place][1] is False else self.taught
            one[0] += 1
            one[1] += len(dumps(found))
            yield place, found

run, trials = globals()[sys.argv[1]], int(float(sys.argv[2]))
epsilon = 15.0 if run is vector else 1.5
(result,) = audit_claims(run, epsilon=epsilon, pair=([], [1]), trials=trials, workers=2,
                         engine=Weighed())
print(*Weighed.counts, *Weighed.taught, result.draws)
"""


def travel(trials=2e7):
    """Bytes that come back from workers, and what that makes for 1e9 draws."""
    print("| output | blocks that teach | bytes of them | blocks that judge | bytes of one |")
    print("|---|---|---|---|---|")
    for name in ("scalar", "vector", "fields"):
        done = subprocess.run(
            [sys.executable, "-c", TRAVEL, name, str(trials)], capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        judging, counts, teaching, taught, _ = map(int, done.stdout.split())
        print(f"| {name} | {teaching} | {taught:,} | {judging:,} | {counts / judging:.0f} |")


def large(trials=1e9):
    """One process and very many draws of a vectorised scalar: what it costs and holds."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "own.py").write_text(TARGETS.replace("noisy.block = 32\n", ""))
        words = ["audit", "own.py:noisy", *ONE[:-3], "--trials", str(trials), "--quiet"]
        used, memory = spent_by(words, folder)
    print(f"{trials:,.0f} draws a side: {used:.1f} CPU s, {memory:.0f} MB at most")


CALL = """
import json, sys, time
from dpwitness.auditors.evidence.conversion import record_of
from dpwitness.auditors.privacy.run import audit_claims
micro, trials, workers = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
def busy(database, rng):
    until = time.process_time() + micro * 1e-6
    while time.process_time() < until:
        pass
    return len(database) + rng.laplace()
if micro >= 10_000:
    busy.block = 16  # or a block would take ten seconds
def vectorised(database, rng, *, size=None):
    return len(database) + rng.laplace(size=size)
(result,) = audit_claims(vectorised if micro == 0 else busy, epsilon=1.0, pair=([], [1]),
                         trials=trials, workers=workers)
print(json.dumps([time.process_time(), {**record_of(result), "seconds": 0}]))
"""
CASES = ((1, 1_000_000), (100, 500_000), (10_000, 1000), (0, 100_000_000))
"""Microseconds of a call, 0 for a vectorised one, and trials a side."""
PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
MARKS = "<!-- speed: python -m benchmarks.scale speed --write -->\n", "<!-- end of speed -->\n"


def speed(write=False, part=1.0):
    """Two workers against one, on mechanisms whose calls burn this much CPU time.

    `part` of the draws are made; for a trial of the command itself.
    """
    load = os.getloadavg()[0]
    lines = [
        "| a call | draws a side | seconds, 1 worker | 2 workers | times as fast | CPU s, 1 worker "
        "| 2 workers, all processes | of it the parent | same JSON |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for micro, trials in CASES:
        rows = []
        for workers in (1, 2):
            before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
            done = subprocess.run(
                [sys.executable, "-c", CALL, str(micro), str(int(part * trials)), str(workers)],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            took, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
            spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            rows.append((took, spent, *json.loads(done.stdout)))
        (one, used, _, alone), (two, both, parent, result) = rows
        lines.append(
            f"| {f'{micro:,} us' if micro else 'vectorised'} | {int(part * trials):,} | {one:.1f} "
            f"| {two:.1f} | {one / two:.2f} | {used:.1f} | {both:.1f} | {parent:.1f} "
            f"| {'yes' if alone == result else 'NO'} |"
        )
        print(lines[-1], flush=True)
    said = f"The load of the machine was {load:.1f} when this began"
    said += "." if load < 0.5 else ": read the CPU seconds, not the clock."
    table = "\n".join([*lines, "", said]) + "\n"
    print("\n" + table)
    if write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
        _, mark, after = rest.partition(MARKS[1])
        assert mark, f"{PAGE} has no place for the table"
        PAGE.write_text(before + MARKS[0] + table + mark + after, encoding="utf-8")


PARTS = {
    "simulation": simulation,
    "overhead": overhead,
    "shards": shards,
    "merging": merging,
    "catalogue": catalogue,
    "gate": gate,
    "travel": travel,
    "large": large,
    "speed": speed,
}

if __name__ == "__main__":
    chosen = [word for word in sys.argv[1:] if word != "--write"]
    for part in chosen or PARTS:
        print(f"\n{part}\n", flush=True)
        PARTS[part](*([True] if part == "speed" and "--write" in sys.argv else []))
