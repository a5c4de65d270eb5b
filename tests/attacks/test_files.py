"""The law of files: a file of somebody else is data.

Whatever stands in it, a command that reads it opens nothing but the files it was given, imports
nothing, connects to nothing and starts nothing; it ends in bounded time and memory; and it ends
with a result or with status 2 or 4 and a sentence, which never calls it a bug in dpwitness. Files
of every kind are changed by structure and by bytes; a seed decides how, so a failure comes back.
The check sums of the changed files fit: whoever forges a file can work them out.
"""

import copy
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dpwitness.auditors.sampling.kept import KeptDraws
from dpwitness.auditors.shards import checkpoint
from dpwitness.auditors.shards.running import Identity
from dpwitness.mechanisms.model import Pair, PrivacyClaim, Relation
from dpwitness.reports.sharding.documents import _checksum

CHANGES = int(os.environ.get("DPWITNESS_CHANGES", "200"))
"""Changes of each kind of file in the longer test; 2000 is a thorough run."""
FEW = 6

OWN = """
from hypothesis import strategies as st

def noisy(database, rng):
    return len(database) + rng.laplace()

noisy.block = 64
BITS = st.lists(st.integers(0, 1), max_size=3)
"""
HATCHED = "from pathlib import Path\nPath(__file__).with_suffix('.hatched').touch()\n"
OPENDP = """
from canary import hatch
def enable_features(*names): pass
class Measurement:
    output_measure, input_metric = "MaxDivergence", "SymmetricDistance()"
    def __init__(self, **asked):
        self.asked = asked
    def map(self, d_in):
        return d_in * 1.0
    def __call__(self, rows):
        return len(rows)
"""
AUDIT = ["own.py:noisy", "--epsilon", "0.2", "--pair", "[]", "[1]", "--trials", "1200"]

MODULES = ("canary", "canary:run", "antigravity", "this:s", "turtledemo.clock:main")
PLACES = ("canary.py:run", "canary.json", "canary.npy", "/etc/hostname", "../canary.txt",
          "dateutil//etc/hostname", "opendp:canary.json", "bits=canary:run")  # fmt: skip
REACH = ("tcp://127.0.0.1:9", "ray://127.0.0.1:9", "command=touch canary.hatched",
         f"python={sys.executable} canary.py:run")  # fmt: skip
NUMBERS = (-1, 0, 2, 300_000_000, 10**9, 10**30, 2**53, 2**63, 10**299, 10**400, 1e308, 0.5, True)
ODD = (None, [], {}, "", "x" * 30_000, "nan", "inf", "1_2", "2026-13-45", [[[[]]]], ["x"] * 50,
       {"$object": ["canary:Thing", {}]}, {"$dataclass": ["canary:Thing", {}]},
       {"$enum": ["canary:Thing", "A"]}, {"$fraction": "1e999999999"}, {"$decimal": "1e999999999"},
       {"$ndarray": {"dtype": "<f8", "shape": [10**9, 0], "data": []}},
       {"$pandas.Timestamp": [0, "dateutil//etc/hostname"]},
       {"__function__": "deserialize", "__module__": "domains",
        "__kwargs__": {"dp_json": "canary"}},
       {"__function__": "import_optional_dependency", "__module__": "domains",
        "__kwargs__": {"name": "canary"}},
       {"__lazyframe__": "canary"}, {"__expr__": "canary"})  # fmt: skip
ADDED = {
    "scheduler": "tcp://127.0.0.1:9", "address": "127.0.0.1:9", "backend": "dask", "workers": 4,
    "timeout": 1e9, "shard": "1/2", "name": "canary", "target": "canary:run", "seconds": 1e9,
    "databases": "canary.json", "checkpoint": "canary.json", "show_output": True, "seeded": False,
    "pair": ["[]", "[1]"], "attackers": ["clock"], "claims": "privacy", "precision": "none",
}  # fmt: skip


def places(value, path=()):
    """The paths of all values in JSON data, the containers among them."""
    yield path
    inner = value.items() if isinstance(value, dict) else (
        enumerate(value) if isinstance(value, list) else ()
    )  # fmt: skip
    for key, item in inner:
        yield from places(item, (*path, key))


def changed_json(data, rng):
    """The data with a few values replaced, added, taken away or nested."""
    data = json.loads(json.dumps(data))
    for _ in range(rng.choice([1, 1, 2, 5])):
        # By the names on the way, so that what there is much of is not all that is changed.
        by_name = {}
        for path in places(data):
            by_name.setdefault(tuple(key for key in path if isinstance(key, str)), []).append(path)
        path = rng.choice(by_name[rng.choice(sorted(by_name))])
        value = copy.deepcopy(rng.choice([*NUMBERS, *ODD, *MODULES, *PLACES, *REACH]))
        found = data
        for key in path:
            found = found[key]
        if isinstance(found, dict) and rng.random() < 0.5:
            key = rng.choice(sorted(ADDED))
            found[key] = rng.choice([copy.copy(ADDED[key]), value])
            continue
        if not path:
            return value
        inside = data
        for key in path[:-1]:
            inside = inside[key]
        how = rng.random()
        if how < 0.1:
            del inside[path[-1]]
        elif how < 0.2:
            inside[path[-1]] = [copy.deepcopy(found) for _ in range(3)]
        elif how < 0.25 and type(found) in (int, float):
            inside[path[-1]] = str(found)
        else:
            inside[path[-1]] = value
    return data


def dumped(data, rng):
    """As JSON text; now and then with numbers and nesting that no data has."""
    text = json.dumps(data)
    how = rng.random()
    if how < 0.05:
        return text.replace("1", "1" * 5000, 1)
    if how < 0.1:
        return "[" * 100_000 + text
    if how < 0.15:
        return text.replace("0", "NaN", 1)
    return text


def changed_bytes(data, rng):
    """The bytes, cut, doubled, filled, flipped, or of another encoding."""
    place = rng.randrange(len(data) + 1)
    how = rng.randrange(8)
    if how == 0:
        return data[:place]
    if how == 1:
        return data + data
    if how == 2:
        return data[:place] + b"\0" * 64 + data[place + 64 :]
    if how == 3:
        return b"\xef\xbb\xbf" + data
    if how == 4:
        return data.decode("latin-1").encode("utf-16")
    if how == 5:
        return data[:place] + b'"' + b"9" * 140_000 + data[place:]
    flipped = bytearray(data)
    for _ in range(rng.choice([1, 4, 40])):
        if flipped:
            flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
    return bytes(flipped)


def forged_shard(data, rng):
    data = changed_json(data, rng)
    if isinstance(data, dict):
        data.pop("checksum", None)
        content = data.get("content")
        if rng.random() < 0.5 and isinstance(content, list):
            data["identity"] = Identity(tuple(map(str, content))).digest
        data["checksum"] = _checksum(data)
    return data


def forged_checkpoint(text, rng):
    lines = [checkpoint._parsed(line) for line in text.splitlines()]
    which = rng.randrange(len(lines)) if rng.random() < 0.8 else 0
    lines[which] = changed_json(lines[which], rng)
    return b"".join(map(checkpoint._line, lines))


def forged_draws(text, rng):
    lines = text.splitlines()
    which = rng.randrange(len(lines)) if rng.random() < 0.5 else 0
    lines[which] = dumped(changed_json(json.loads(lines[which]), rng), rng).encode()
    return b"\n".join(lines) + b"\n"


def forged_array(data, rng):
    """An array whose header says something else."""
    shapes = ["(1000000000, 0)", "(100000000000,)", "(-5,)", "(1,) * 9**9", "()", "(" * 500]
    kinds = ["'<U500000000'", "'|O'", "'<f8'", "[('a', '|O')]", "'canary'"]
    header = f"{{'descr': {rng.choice(kinds)}, 'fortran_order': False, 'shape': "
    text = (header + f"{rng.choice(shapes)}, }}").ljust(117) + "\n"
    return data[:8] + len(text).to_bytes(2, "little") + text.encode() + data[128:]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a good file of every kind, and canaries beside them."""
    here = tmp_path_factory.mktemp("files")
    (here / "own.py").write_text(OWN)
    (here / "canary.py").write_text(HATCHED)
    (here / "canary.json").write_text('{"columns": {"a": {"type": "boolean"}}}')
    np.save(here / "canary.npy", np.zeros(3))
    package = here / "opendp"
    package.mkdir()
    # Code of this package is a mechanism's, whose imports are read for its fingerprint.
    hatch = "def hatch(*a, **k):\n    open('opendp.hatched', 'w').close()\n"
    (package / "__init__.py").write_text("")
    (package / "prelude.py").write_text(hatch + OPENDP.replace("from canary import hatch\n", ""))
    (package / "measurements.py").write_text(
        hatch + "from .prelude import Measurement\n"
        "def make_laplace(**asked): return Measurement(**asked)\n"
        "make_gaussian = make_user_measurement = hatch\n"
    )
    for name in ("domains", "measures", "metrics", "core", "combinators", "transformations"):
        (package / f"{name}.py").write_text(
            hatch + "deserialize = import_optional_dependency = atom_domain = hatch\n"
        )
    rng = np.random.default_rng(1)
    draws = rng.laplace(size=400)
    for name, found in (("sample", draws.tolist()), ("other", (draws + 1).tolist())):
        np.save(here / f"{name}.npy", found)
        rows = [f"{one!r},{int(one > 0)},{'a' if one < 0 else 'b'}" for one in found]
        (here / f"{name}.csv").write_text("\n".join(["noise,count,label", *rows]) + "\n")
        lines = [json.dumps({"a": [one], "b": "x"}) for one in found]
        (here / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    (here / "draws.jsonl").write_text(KeptDraws(
        mechanism="noisy", target="own.py:noisy", pair=Pair([], [1]), seed=0, spent=1e-3,
        claim=PrivacyClaim(epsilon=0.2, relation=Relation.ADD_REMOVE),
        pairs=tuple((repr(x), repr(x + 5)) for x in draws.tolist())).text())  # fmt: skip
    (here / "schema.json").write_text(json.dumps({
        "columns": {"age": {"type": "integer", "low": 0, "high": 9, "outside": True},
                    "city": {"type": "category", "values": ["Oslo", "Rome"], "rare": ["Vaduz"]},
                    "seen": {"type": "date", "low": "2020-01-01", "missing": True},
                    "name": {"type": "text", "longest": 3}},
        "rows": {"least": 0, "most": 4}, "as": "records"}))  # fmt: skip
    (here / "opendp.json").write_text(json.dumps({
        "__function__": "make_laplace", "__module__": "measurements",
        "__kwargs__": {"scale": 2.0, "bounds": {"__tuple__": [0, 1]}}}))  # fmt: skip
    (here / "dpwitness.toml").write_text(
        'alpha = 0.001\nprofile = "ci"\ntrials = 1200\nseed = 3\nlock = "a.lock"\n'
        'inconclusive = "warn"\n[profiles.ci]\nprecision = 0.05\n[[gate]]\n'
        'target = "own.py:noisy"\nepsilon = 0.2\npair = ["[]", "[1]"]\n'
    )
    return here


class Commands:
    """The watched process; `run` sends it a command."""

    def __init__(self, here):
        self.here = here
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("watched.py"))], cwd=here, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "DPWITNESS_DEBUG": ""},
        )  # fmt: skip

    def run(self, *words, files=()):
        self.process.stdin.write(json.dumps([words, list(files)]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"the process ended: {words}"
        return json.loads(line)


@pytest.fixture(scope="module")
def commands(folder):
    """Every command was run once on good files, so that what it needs is loaded."""
    made = Commands(folder)

    def good(status, *words):
        done = made.run(*words)
        assert done["status"] == status, (words, done)

    with made.process:
        good(1, "audit", *AUDIT, "--json", "evidence.json", "--quiet")
        good(1, "audit", *AUDIT, "--json", "gated.json")
        good(0, "audit", "laplace", "--trials", "400", "--json", "claims.json")
        for number in (1, 2):
            good(0, "audit", *AUDIT, "--shard", f"{number}/2", "--json", f"shard{number}.json")
        good(1, "audit", *AUDIT, "--checkpoint", "kept")
        good(0, "gate", "--baseline", "baseline.json", "--accept")
        for kind in KINDS.values():
            good(kind["status"], *kind["words"])
        yield made


def kind(name, status, change, *words, beside=()):
    return {"name": name, "status": status, "change": change, "words": words,
            "files": (name, *beside)}  # fmt: skip


KINDS = {
    "evidence": kind("evidence.json", 1, changed_json, "replay", "evidence.json", "own.py:noisy",
                     beside=["own.py"]),
    "claims": kind("claims.json", 0, changed_json, "replay", "claims.json"),
    "shard": kind("shard1.json", 1, forged_shard, "tools", "merge", "shard1.json", "shard2.json",
                  "--target", "own.py:noisy", beside=["own.py", "shard2.json"]),
    "checkpoint": kind("kept", 1, forged_checkpoint, "audit", *AUDIT, "--checkpoint", "kept",
                       beside=["own.py"]),
    "baseline": kind("baseline.json", 0, changed_json, "gate", "--baseline", "baseline.json",
                     beside=["own.py"]),
    "opendp": kind("opendp.json", 1, changed_json, "audit", "opendp:opendp.json", "--pair", "[]",
                   "[1]", "--trials", "200", beside=["opendp/__init__.py"]),
    "array": kind("sample.npy", 1, forged_array, "judge", "sample.npy", "other.npy", "--epsilon",
                  "0.1", beside=["other.npy"]),
    "table": kind("sample.csv", 1, None, "judge", "sample.csv", "other.csv", "--epsilon", "0.1",
                  beside=["other.csv"]),
    "lines": kind("sample.jsonl", 1, None, "judge", "sample.jsonl", "other.jsonl", "--epsilon",
                  "0.1", beside=["other.jsonl"]),
    "draws": kind("draws.jsonl", 1, forged_draws, "judge", "draws.jsonl"),
    "settings": kind("dpwitness.toml", 1, None, "gate", beside=["own.py"]),
    "schema": kind("schema.json", 1, changed_json, "audit", *AUDIT[:3], "--relation", "add-remove",
                   "--databases", "schema.json", "--trials", "2000", beside=["own.py"]),
}  # fmt: skip


def attacked(commands, name, seed, number):
    """Every change of a file of this kind that breaks the law, with the seed that makes it."""
    it, here = KINDS[name], commands.here
    place = here / it["name"]
    good, broken = place.read_bytes(), []
    kept = {path: path.read_bytes() for path in here.iterdir() if path.is_file()}
    for turn in range(number):
        rng = random.Random(f"{seed} {turn}")
        if it["change"] is None or rng.random() < 0.2:
            place.write_bytes(changed_bytes(good, rng))
        elif name in ("checkpoint", "array", "draws"):
            place.write_bytes(it["change"](good, rng))
        else:
            place.write_text(dumped(it["change"](json.loads(good), rng), rng))
        written = [str(here / one) for one in it["files"]]
        if it["words"][0] == "gate":  # it looks, as text, for mechanisms that no entry lists
            written += map(str, here.rglob("*.py"))
        done = commands.run(*it["words"], files=[*written, *BESIDE(here)])
        if why := unlawful(it, done):
            broken.append(f"turn {turn} of {name}: {why}")
        for path, content in kept.items():
            path.write_bytes(content)
        if list(here.glob("*.hatched")):
            broken.append(f"turn {turn} of {name}: the canary was imported")
            for hatched in here.glob("*.hatched"):
                hatched.unlink()
    return broken


def BESIDE(here):
    """What a command may always open: the settings, what it writes, and itself."""
    names = ("dpwitness.toml", "pyproject.toml", "gated.json", ".hypothesis", "setup.cfg")
    return [str(here / name) for name in names]


def unlawful(it, done):
    said = done["said"] + done["told"]
    for word in ("bug in dpwitness", "Traceback", "MemoryError", "too long"):
        if word in said:
            return f"{word}: {said[-300:]}"
    # The gate names the commit that it ran on.
    git = ["subprocess.Popen", "('git', ['git', '-c', 'core.fsmonitor=false', '-C', "]
    touched = [
        one for one in done["seen"]
        if "/.dpwitness" not in one[1] and [one[0], one[1][: len(git[1])]] != git
    ]  # fmt: skip
    if touched:
        return f"it touched {touched[:3]}"
    differs = done["status"] == 4 and done["told"].startswith("Differs from the record")
    if done["status"] in (2, 4) and not (
        differs or done["said"].startswith(("dpwitness: ", "Usage"))
    ):
        return f"status {done['status']} without a sentence: {said[-300:]}"
    if done["status"] not in (0, 1, 2, 3, 4):
        return f"status {done['status']}: {said[-300:]}"
    if it["name"].startswith(("shard", "kept")) and done["status"] not in (it["status"], 2, 4):
        return f"a forged count made the verdict {done['status']}: {said[-300:]}"
    return ""


def forged(here, **changes):
    """The first shard with other fields at the top, in its options or in its first row."""
    data = json.loads((here / "shard1.json").read_text())
    row = data["claims"][0]["rows"][0]
    for key, value in changes.items():
        (row if key in row else data if key in data else data["options"])[key] = value
    data.pop("checksum")
    return json.dumps({**data, "checksum": _checksum(data)})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"scheduler": "tcp://127.0.0.1:9"}, "options has 'scheduler'"),
        ({"address": "127.0.0.1:9", "backend": "ray"}, "options has 'address'"),
        ({"timeout": 1e9}, "options has 'timeout'"),
        ({"shards": 10**30}, "a shard of"),
        ({"shard": 3}, "from 1 to n"),
        ({"versions": {"dpwitness": "0", "numpy": "1.26"}}, "drawn with dpwitness 0, numpy 1.26"),
        ({"first": 3 * 10**8}, "are missing"),
        ({"hits": [10**9]}, "hits in 64 draws"),
        ({"trials": 10**12}, "trials 1000000000000 where most"),
        ({"alpha": 0.4}, "alpha 0.4 where most"),
        ({"databases": "canary.json"}, "databases given where most"),
        ({"content": ["another audit"]}, "its identity is not that of its content"),
    ],
)
def test_nothing_of_a_shard_but_its_counts_reaches_the_engine(commands, changes, sentence):
    here = commands.here
    (here / "forged.json").write_text(forged(here, **changes))
    files = [str(here / name) for name in ("own.py", "forged.json", "shard2.json")]
    words = ("--target", "own.py:noisy", "--databases", "own.py:BITS")
    for order in (["forged.json", "shard2.json"], ["shard2.json", "forged.json"]):
        done = commands.run("tools", "merge", *order, *words, files=[*files, *BESIDE(here)])
        assert (done["status"], done["seen"]) == (2, []), done
    assert sentence in done["said"] or "where most have" in done["said"], done


@pytest.mark.long
def test_one_shard_that_asks_for_endless_draws_is_refused(commands):
    here = commands.here
    for number in (1, 2):
        data = json.loads((here / f"shard{number}.json").read_text())
        data["options"]["trials"] = 10**15
        data.pop("checksum")
        text = json.dumps({**data, "checksum": _checksum(data)})
        (here / f"endless{number}.json").write_text(text)
    done = commands.run(
        "tools", "merge", "endless1.json", "endless2.json", "--target", "own.py:noisy"
    )
    assert done["status"] == 2
    assert "nearly all of them would be made here" in done["said"]


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
@pytest.mark.parametrize("name", [name for name in KINDS if name != "settings"])
def test_what_has_no_end_is_no_file(commands, name):
    it, here = KINDS[name], commands.here
    strange = here / f"strange{Path(it['name']).suffix}"
    words = [word.replace(it["name"], strange.name) for word in it["words"]]
    for make in (os.mkfifo, lambda place: place.symlink_to("/dev/zero"), os.mkdir):
        make(strange)
        done = commands.run(*words)
        assert done["status"] == 2, done
        assert unlawful(it, {**done, "seen": []}) == ""
        os.rmdir(strange) if make is os.mkdir else strange.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_a_changed_file_is_data(commands, name):
    assert attacked(commands, name, "few", FEW) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_many_changed_files_are_data(commands, name):
    assert attacked(commands, name, "many", CHANGES) == []
