"""Children that keep to protocol 1, and every way in which one can break it."""

import os
import sys
import textwrap

import cloudpickle
import numpy as np
import pytest

from dpwitness import audit
from dpwitness.auditors.errors import ContractError, InvalidArgument, MechanismHangs
from dpwitness.auditors.privacy import judge
from dpwitness.auditors.remote import RemoteRun, from_command, from_python
from dpwitness.auditors.remote.mechanism import RemoteFailure
from dpwitness.auditors.sampling.sampling import REQUEST

CHILD = """
import json, struct, sys, time
def say(data, body=b""):
    sys.stdout.buffer.write(json.dumps(data).encode() + b"\\n" + body)
    sys.stdout.buffer.flush()
sys.stdin.readline()
say({"dpwitness": 1, "name": "child"})
for line in sys.stdin:
    asked = json.loads(line)
    name, size, seed, database = (asked[k] for k in ("id", "size", "seed", "database"))
"""


@pytest.fixture
def child(tmp_path):
    def made(answer, head=CHILD, limit=5.0):
        path = tmp_path / "child.py"
        path.write_text(head + textwrap.indent(textwrap.dedent(answer), "    "))
        return RemoteRun([sys.executable, "-S", str(path)], limit)

    return made


def rng():
    return np.random.default_rng(3)


@pytest.mark.parametrize(
    ("dtype", "code", "values"),
    [
        ("<f8", "d", [0.5, float("nan"), -0.0]),
        ("<f4", "f", [0.5, 1.5, -2.0]),
        ("<i8", "q", [-(2**62), 3, 0]),
        ("<u8", "Q", [2**63, 3, 0]),
        ("<i2", "h", [-7, 300, 0]),
        ("|u1", "B", [0, 255, 1]),
        ("|b1", "?", [True, False, True]),
    ],
)
def test_raw_numbers_arrive_bit_for_bit(child, dtype, code, values):
    text = repr(values).replace("nan", "float('nan')")
    run = child(
        f'say({{"id": name, "dtype": "{dtype}", "shape": [3]}}, struct.pack("<3{code}", *{text}))'
    )
    found = run([1], rng(), size=3)
    assert found.dtype == np.dtype(dtype)
    assert found.tobytes() == np.array(values, dtype).tobytes()


def test_lines_carry_anything_that_json_does_and_what_it_lacks(child):
    run = child(
        """
        say({"id": name, "working": True})
        say({"id": name, "lines": size})
        for i in range(size):
            say([{"a": None, "b": {"$float": "nan"}}, {"$tuple": [1, "x"]}, database][i % 3])
        """
    )
    first, second, third = run({"k": [1, 2]}, rng(), size=3)
    assert (first["a"], np.isnan(first["b"])) == (None, True)
    assert (second, third) == ((1, "x"), {"k": [1, 2]})
    assert run((), rng())["a"] is None  # one output without a size


def test_the_seed_comes_from_the_rng_and_blocks_are_as_small_as_the_child_wants(child):
    head = CHILD.replace('"name": "child"', '"name": "child", "block": 4, "seeded": False')
    run = child(
        """
        say({"id": name, "dtype": "<i8", "shape": [size, 2]},
            struct.pack(f"<{2 * size}q", *[seed, size] * size))
        """,
        head,
    )
    assert (run.block, run.seeded, run.name) == (4, False, "child")
    found = run([], rng(), size=10)
    assert found[:, 1].tolist() == [4] * 8 + [2] * 2
    drawn = rng()
    assert sorted(set(found[:, 0].tolist())) == sorted(drawn.integers(2**53) for _ in range(3))


def test_a_copy_for_a_worker_starts_a_child_of_its_own(child):
    run = child('say({"id": name, "dtype": "<i8", "shape": [1]}, struct.pack("<q", seed))')
    again = cloudpickle.loads(cloudpickle.dumps(run))
    assert again.words == run.words
    assert again([], rng()) == run([], rng())


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ("raise SystemExit(7)", r"ended with status 7 while .* nothing to standard error"),
        ("raise KeyError('no such row')", r"last words: KeyError: 'no such row'"),
        ("import os; os.kill(os.getpid(), 9)", "killed by signal 9"),
        ("print('noisy', flush=True)", r"wrote 'noisy' where .* print to standard error"),
        ("print('[1]', flush=True)", r"wrote '\[1\]' where"),
        ("say({})", r"expected \"id\": 1"),
        ('say({"id": name + 7})', r"expected \"id\": 1"),
        ('say({"id": name})', 'the number of "lines" that follow'),
        ('say({"id": name, "lines": size + 1})', "asked for 3 outputs and announces 4 lines"),
        ('say({"id": name, "lines": size}); print("NaN", flush=True)', "as one line of JSON"),
        ('say({"id": name, "lines": size}); say({"$what": 1})', "cannot be read"),
        ('say({"id": name, "dtype": "|O", "shape": [3]})', "one of <f4"),
        ('say({"id": name, "dtype": "<f8", "shape": [-3]})', "expected whole numbers"),
        ('say({"id": name, "dtype": "<f8", "shape": [2]})', r"an array of shape \[2\]"),
        ('say({"id": name, "dtype": "<f8", "shape": [3, 2**40]})', "smaller blocks"),
        ('say({"id": name, "dtype": "<f8", "shape": [3]}, b"12"); raise SystemExit', "22 bytes"),
    ],
)
def test_what_a_child_does_wrong_is_said_in_one_sentence(child, answer, sentence):
    run = child(answer)
    with pytest.raises(ContractError, match=sentence) as caught:
        run([1], rng(), size=3)
    assert "\n" not in str(caught.value)
    with pytest.raises(ContractError):  # from a new child, with no half answer in the way
        run([1], rng(), size=3)


def test_a_silent_child_hangs_and_one_that_says_it_works_does_not(child):
    with pytest.raises(MechanismHangs, match=r"silent for 0\.3 s"):
        child("time.sleep(60)", limit=0.3)([], rng(), size=1)
    run = child(
        """
        for _ in range(8):
            time.sleep(0.2)
            say({"id": name, "working": True})
        say({"id": name, "dtype": "|u1", "shape": [1]}, b"5")
        """,
        limit=1.2,
    )
    assert run([], rng(), size=1).tolist() == [ord("5")]


DRIPS = """
import sys, time
while True:
    sys.stdout.write(" ")
    sys.stdout.flush()
    time.sleep(0.05)
"""


def test_a_child_that_only_drips_is_silent(child):
    with pytest.raises(MechanismHangs, match=r"silent for 0\.5 s"):
        child("", head=DRIPS, limit=0.5)([], rng(), size=1)
    with pytest.raises(MechanismHangs, match=r"silent for 0\.5 s"):
        child(DRIPS, limit=0.5)([], rng(), size=1)


def test_a_mechanism_that_raises_is_called_by_the_name_of_its_error(child):
    run = child('say({"id": name, "type": "ValueError", "error": "empty"})')
    with pytest.raises(ContractError, match=r"ValueError: empty"):
        audit(run, pair=([], [1]), epsilon=1.0, trials=100)


@pytest.mark.parametrize(
    ("greeting", "sentence"),
    [
        ('say({"dpwitness": 2})', "answered the handshake"),
        ('say({"dpwitness": 1, "block": 0})', "blocks of 0"),
        ("pass", "ended with status 0"),
    ],
)
def test_the_handshake_is_checked_before_anything_is_drawn(child, greeting, sentence):
    head = CHILD.split("sys.stdin.readline()")[0] + f"sys.stdin.readline()\n{greeting}\nif 1:\n"
    with pytest.raises(ContractError, match=sentence):
        child("pass", head)


@pytest.mark.parametrize(
    ("command", "sentence"),
    [("", "is empty"), ("'", "cannot be split"), ("./no-such-program", "could not be started")],
)
def test_a_command_that_makes_no_sense(command, sentence):
    with pytest.raises(InvalidArgument, match=sentence):
        from_command(command)


TARGET = """
import os
import random
import numpy
print("a print must not reach the protocol")
def noisy(db, rng, *, size=None):
    return rng.laplace(sum(db), 1.0, size=size)
def mixed(db, rng):
    print("nor this one")
    return {"kind": "ab"[random.random() < 0.5], "count": (len(db), None), "at": rng.random()}
def fails(db, rng):
    raise LookupError("no rows") if not db else KeyError(db[0])
def legacy(db, rng):
    return numpy.random.random() + random.random()
def process(db, rng):
    return os.getpid() if db else fails(db, rng)
"""


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "target.py"
    path.write_text(TARGET)
    return str(path)


@pytest.mark.long
def test_another_python_gives_the_same_verdict_and_bound(target, monkeypatch):
    remote = from_python(sys.executable, f"{target}:noisy")

    def twin(db, rng, *, size=None):
        own = np.random.default_rng(int(rng.integers(2**53)))
        return own.laplace(sum(db), 1.0, size=size)

    for epsilon in (0.7, 1.0):
        options = {"pair": ([0], [0, 1]), "epsilon": epsilon, "trials": 20_000, "trust_rows": True}
        # A client is asked for so many draws that decide; here also where nothing is decided.
        twin.block = remote.run.block = REQUEST
        monkeypatch.setattr(judge, "MOST_WEIGHED", 0)  # no tape goes to a client
        there, here = audit(remote, **options), audit(twin, **options)
        assert there.refuted == here.refuted == (epsilon < 1)
        assert there.epsilon_lower == here.epsilon_lower
        assert there.evidence.counts == here.evidence.counts


def test_outputs_of_any_kind_and_global_states_replay(target):
    mixed = from_python(sys.executable, f"{target}:mixed").run
    first = mixed([1, 2], rng(), size=1500)
    assert first == mixed([1, 2], rng(), size=1500)
    assert len(first) == 1500
    assert {row["kind"] for row in first} == {"a", "b"}
    assert first[0]["count"] == (2, None)
    legacy = from_python(sys.executable, f"{target}:legacy").run
    assert legacy([], rng(), size=10) == legacy([], rng(), size=10)


def test_an_error_of_the_target_is_told_with_its_name(target):
    run = from_python(sys.executable, f"{target}:fails")
    with pytest.raises(ContractError, match="LookupError: no rows"):
        audit(run, pair=([], [1]), epsilon=1.0, trials=100)


def test_the_child_lives_on_when_the_target_raises(target):
    run = from_python(sys.executable, f"{target}:process").run
    before = run([1], rng())
    with pytest.raises(RemoteFailure, match="no rows"):
        run([], rng())
    assert run([1], rng()) == before


def test_a_target_that_cannot_be_imported_quotes_its_last_words(tmp_path):
    (tmp_path / "bad.py").write_text("import there_is_no_such_module")
    with pytest.raises(ContractError, match="No module named 'there_is_no_such_module'"):
        from_python(sys.executable, f"{tmp_path}/bad.py:f")
    with pytest.raises(InvalidArgument, match=r"file\.py:NAME"):
        from_python(sys.executable, "laplace")


def test_nothing_but_the_client_file_is_copied(target):
    run = from_python(sys.executable, f"{target}:noisy").run
    folder = os.path.dirname(run.words[1])
    # Python may keep what it compiled of them beside them.
    assert {*os.listdir(folder)} - {"__pycache__"} == {
        "client_libraries.py", "client_tables.py", "dpwitness_client.py",
    }  # fmt: skip
    with open(run.words[1], encoding="utf-8") as client:
        lines = client.read().splitlines()
    assert not any(line.startswith(("import dpwitness", "from dpwitness")) for line in lines)
    del run
    assert not os.path.exists(folder)


@pytest.mark.parametrize("code", ["print(3.5)", "pass", "raise SystemExit(2)"])
def test_a_program_that_knows_no_protocol_is_told_of_it(child, code):
    with pytest.raises(ContractError, match=r"docs/protocol.md .* `dpwitness judge`"):
        child("pass", head=f"{code}\nfor line in ():\n")([1], rng())
