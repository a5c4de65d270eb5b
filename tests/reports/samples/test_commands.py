"""`judge` and `conform` on files of every kind and through a pipe."""

import json

import numpy as np
import pytest

from dpwitness.auditors.errors import InvalidArgument
from dpwitness.reports.samples.sample_files import read_sample

RNG = np.random.default_rng(1)
ZERO, ONE = RNG.laplace(0, 1, 6000), RNG.laplace(1, 1, 6000)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("zero.npy", ZERO)
    np.save("one.npy", ONE)
    np.save("column.npy", ONE[:, None])
    (tmp_path / "zero.csv").write_text("\n".join(map(str, ZERO)))
    (tmp_path / "one.csv").write_text("noise\n" + "\n".join(map(str, ONE)))
    (tmp_path / "zero.txt").write_text("\n".join(map(str, ZERO)) + "\n")
    (tmp_path / "zero.jsonl").write_text("\n".join(json.dumps({"a": [z]}) for z in ZERO))
    (tmp_path / "one.jsonl").write_text("\n".join(json.dumps({"a": [z]}) for z in ONE))
    return tmp_path


@pytest.mark.long
@pytest.mark.parametrize(
    ("first", "second"),
    [("zero.npy", "one.npy"), ("zero.csv", "one.csv"), ("zero.txt", "column.npy"),
     ("zero.jsonl", "one.jsonl")],
)  # fmt: skip
def test_samples_of_any_kind_give_one_verdict(run, here, first, second):
    assert run("judge", first, second, "--epsilon", 0.5).exit_code == 1
    assert run("judge", first, second, "--epsilon", 1).exit_code == 0
    done = run("judge", first, second, "--epsilon", 0.5, "--json", "-")
    data = json.loads(done.stdout)
    assert (done.exit_code, data["verdict"]) == (1, "refuted")
    assert 0.5 < data["epsilon_lower"] < 1
    assert [sample["judged"] for sample in data["samples"]] == [4500, 4500]


def test_how_a_number_is_written_is_no_difference(run, here):
    whole = RNG.integers(0, 5, 800)
    np.save("int.npy", whole)
    np.save("float.npy", whole.astype(float))
    (here / "int.txt").write_text("\n".join(map(str, whole)))
    (here / "float.txt").write_text("\n".join(map(str, whole.astype(float))))
    (here / "int.csv").write_text("\n".join(map(str, whole)))
    for first in ("int.npy", "float.npy", "int.txt"):
        for second in ("float.txt", "int.csv", "float.npy"):
            assert run("judge", first, second, "--epsilon", 0.1).exit_code != 1


def records(seed):
    """Noisy releases of one law: a number, a truth value, a label, now and then nothing."""
    rng = np.random.default_rng(seed)
    return [
        {"x": float(x), "on": bool(x > 0), "kind": "a" if abs(x) < 1 else "b",
         "y": float(x) if i % 7 else float("nan")}
        for i, x in enumerate(rng.laplace(size=900))
    ]  # fmt: skip


def table(rows, *, names=("x", "on", "kind", "y"), true="true", gone="", header=True, start=""):
    cells = {True: true, False: true.replace("rue", "alse").replace("t", "f").replace("T", "F")}
    lines = [",".join(names)] if header else []
    for row in rows:
        y = gone if row["y"] != row["y"] else repr(row["y"])
        lines.append(f"{row['x']!r},{cells[row['on']]},{row['kind']},{y}")
    return start + "\n".join(lines) + "\n"


def lines(rows, *, keys=("x", "on", "kind", "y")):
    plain = [{k: None if row[k] != row[k] else row[k] for k in keys} for row in rows]
    return "".join(json.dumps(row) + "\n" for row in plain)


SAME = {
    "t.csv": table,
    "true.csv": lambda rows: table(rows, true="True"),
    "nan.csv": lambda rows: table(rows, gone="nan"),
    "mark.csv": lambda rows: table(rows, start="\ufeff"),
    "blanks.csv": lambda rows: table(rows, names=(" x", "on ", "kind", "y")),
    "keys.jsonl": lines,
    "order.jsonl": lambda rows: lines(rows, keys=("y", "kind", "x", "on")),
}
OTHER = {
    "words.csv": lambda rows: table(rows, names=("x_e", "on_e", "kind_e", "y_e")),
    "case.csv": lambda rows: table(rows, names=("X", "on", "kind", "y")),
    "order.csv": lambda rows: table(rows, names=("on", "x", "kind", "y")),
    "bare.csv": lambda rows: table(rows, header=False),
    "plain.csv": lambda rows: "".join(f"{row['x']!r}\n" for row in rows),
    "two.csv": lambda rows: "".join(f"{row['x']!r},{row['y']!r}\n" for row in rows),
    "flags.csv": lambda rows: table([{**row, "kind": "3"} for row in rows]),
    "rows.jsonl": lambda rows: "".join(json.dumps([row["x"], row["on"]]) + "\n" for row in rows),
    "keys2.jsonl": lambda rows: lines(rows, keys=("x", "on")),
}


@pytest.mark.parametrize("name", SAME)
def test_what_is_only_spelling_is_read_as_the_same(run, here, name):
    (here / "a.csv").write_text(table(records(1)))
    (here / name).write_text(SAME[name](records(2)))
    for pair in (("a.csv", name), (name, "a.csv")):
        # Of one law: refuted with probability at most .001.
        done = run("judge", *pair, "--epsilon", 0.4)
        assert done.exit_code in (0, 3), done.output
    (here / name).write_text(SAME[name]([{**row, "on": False} for row in records(2)]))
    assert run("judge", "a.csv", name, "--epsilon", 0.4).exit_code == 1


@pytest.mark.parametrize(
    "word", ["NA", "N/A", "#N/A", "<NA>", "NULL", "null", "None", "NaT", "-nan"]
)
def test_every_word_for_a_missing_value_is_one(here, word):
    samples = []
    for name, gone in (("a.csv", "nan"), ("b.csv", word)):
        (here / name).write_text(table(records(1), gone=gone))
        samples.append(read_sample(name))
    assert repr(samples[0].values) == repr(samples[1].values)
    assert samples[0].shape == samples[1].shape


@pytest.mark.parametrize("name", ["one.csv", "head.csv", "one.txt", "one.jsonl"])
def test_a_blank_line_among_single_outputs_is_asked_about_and_at_the_end_it_is_none(here, name):
    values = ["x"] * (name == "head.csv") + ["1", "2.5", "3"]
    (here / name).write_text("\n".join(values) + "\n\n\n")
    assert len(read_sample(name).values) == 3
    (here / name).write_text("\n".join([*values, "", "4"]) + "\n")
    with pytest.raises(InvalidArgument, match=rf"line {len(values) + 1}.*blank.*write nan"):
        read_sample(name)


@pytest.mark.parametrize("name", OTHER)
def test_files_of_other_shapes_are_not_compared(run, here, name):
    (here / "a.csv").write_text(table(records(1)))
    (here / name).write_text(OTHER[name](records(1)))
    for pair in (("a.csv", name), (name, "a.csv")):
        done = run("judge", *pair, "--epsilon", 0.4)
        assert done.exit_code == 2, done.output
        assert f"{pair[0]} has" in done.stderr
        assert f"{pair[1]} has" in done.stderr


def nested(seed):
    """Releases of one law with parts within parts."""
    rng = np.random.default_rng(seed)
    return [
        {"x": x, "in": {"n": int(abs(x)), "on": x > 0, "gone": x if x < 1 else None,
                        "said": "Yes" if x > 0 else "No", "list": [x, int(abs(x))],
                        "text": json.dumps({"u": x, "v": [x]})}}
        for x in rng.laplace(size=900).tolist()
    ]  # fmt: skip


def within(**changed):
    return lambda row: {"x": row["x"], "in": {
        key: changed[key](value) if key in changed else value for key, value in row["in"].items()
    }}  # fmt: skip


OTHERWISE = {
    "a name": lambda row: {**row, "in": {k.replace("on", "On"): v for k, v in row["in"].items()}},
    "a part more": lambda row: {**row, "in": {**row["in"], "new": None}},
    "a part less": lambda row: {**row, "in": {k: v for k, v in row["in"].items() if k != "n"}},
    "flat": lambda row: {"x": row["x"], **{f"in.{k}": v for k, v in row["in"].items()}},
    "deeper": lambda row: {**row, "in": {"in": row["in"]}},
    "a row for an object": lambda row: {**row, "in": list(row["in"].values())},
    "a number as text": within(n=str),
    "a number with a sign": within(n="{:d} %".format),
    "thousands": within(n=lambda n: f"{1000 + n:,}"),
    "a truth value as text": within(on=str),
    "a truth value as number": within(on=int),
    "null as text": within(gone=lambda x: "?" if x is None else x),
    "labels in other case": within(said=str.upper),
    "labels with a blank": within(said="{} ".format),
    "the row turned round": within(list=lambda row: row[::-1]),
    "a row as an object": within(list=lambda row: dict(zip("ab", row, strict=True))),
    "JSON in another order": within(
        text=lambda text: json.dumps(dict(reversed(json.loads(text).items())))
    ),
    "JSON without blanks": within(text=lambda t: t.replace(" ", "")),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_lies_within_outputs_has_a_shape_too(run, here, name):
    (here / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in nested(1)))
    rows = [json.dumps(OTHERWISE[name](row)) + "\n" for row in nested(2)]
    (here / "b.jsonl").write_text("".join(rows))
    for pair in (("a.jsonl", "b.jsonl"), ("b.jsonl", "a.jsonl")):
        done = run("judge", *pair, "--epsilon", 0.4)
        assert (done.exit_code, f"{pair[1]} has" in done.stderr) == (2, True), done.output


@pytest.mark.long
def test_a_value_within_outputs_is_no_shape(run, here):
    (here / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in nested(1)))
    changes = [
        within(), within(said=lambda _: "Yes"), within(n=lambda _: 0), within(gone=lambda _: None),
        within(gone=lambda _: 0.5), within(text=lambda _: json.dumps({"u": 1.5, "v": [2]})),
    ]  # fmt: skip
    statuses = []
    for change in changes:
        rows = [json.dumps(change(row)) + "\n" for row in nested(2)]
        (here / "b.jsonl").write_text("".join(rows))
        statuses.append(run("judge", "a.jsonl", "b.jsonl", "--epsilon", 0.4).exit_code)
    # The first is of one law: refuted with probability at most .001.
    assert statuses[0] in (0, 3)
    assert statuses[1:] == [1] * 5


def test_an_array_is_the_table_of_the_same_numbers_without_a_header(run, here):
    one, two = (np.random.default_rng(seed).laplace(size=(900, 2)) for seed in (1, 2))
    np.save("a.npy", one)
    (here / "b.csv").write_text("".join(f"{x!r},{y!r}\n" for x, y in two.tolist()))
    (here / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in two.tolist()))
    (here / "head.csv").write_text("x,y\n" + (here / "b.csv").read_text())
    (here / "lists.jsonl").write_text((here / "b.jsonl").read_text() + "[1.0]\n")
    for name in ("b.csv", "b.jsonl", "lists.jsonl"):
        assert run("judge", "a.npy", name, "--epsilon", 0.4).exit_code in (0, 3)
    assert run("judge", "a.npy", "head.csv", "--epsilon", 0.4).exit_code == 2


def test_what_varies_within_a_file_is_a_matter_of_statistics(run, here):
    (here / "a.jsonl").write_text('{"a": 1}\n' * 400 + '{"b": 1}\n' * 400)
    (here / "b.jsonl").write_text('{"a": 1}\n' * 800)
    (here / "none.jsonl").write_text("null\n" * 800)
    (here / "one.jsonl").write_text("1\n" * 800)
    shuffled = (here / "a.jsonl").read_text().splitlines()
    np.random.default_rng(1).shuffle(shuffled)
    (here / "a.jsonl").write_text("\n".join(shuffled))
    assert run("judge", "a.jsonl", "b.jsonl", "--epsilon", 0.1).exit_code == 1
    assert run("judge", "none.jsonl", "one.jsonl", "--epsilon", 1).exit_code == 1


def test_a_label_is_no_number_because_python_reads_it_as_one(run, here):
    (here / "a.csv").write_text("1_2\n" * 900)
    (here / "b.csv").write_text("12\n" * 900)
    (here / "c.csv").write_text("\uff11\uff12\n" * 900)
    for name in ("a.csv", "c.csv"):
        done = run("judge", name, "b.csv", "--epsilon", 1)
        assert (done.exit_code, "(texts)" in done.stderr) == (2, True)


def test_parquet_is_read_where_pyarrow_is(run, here):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    for name, values in (("zero", ZERO), ("one", ONE)):
        parquet.write_table(pyarrow.table({"x": values, "y": values}), f"{name}.parquet")
    assert run("judge", "zero.parquet", "one.parquet", "--epsilon", 0.5).exit_code == 1


def test_what_cannot_be_said_is_said_at_any_width(run, here, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    text = run("judge", "zero.npy", "one.npy", "--epsilon", 1).stdout
    assert max(map(len, text.splitlines())) <= 50
    flat = " ".join(text.split())
    for word in ("nothing was searched", "replayed", "neighbours", "independent draws"):
        assert word in flat


def test_a_pipe(run, here):
    lines = "\n".join(map(str, ONE))
    assert run("judge", "zero.npy", "-", "--epsilon", 0.5, input=lines).exit_code == 1
    assert run("judge", "-", "--law", "1 + laplace(1)", input=lines).exit_code == 0
    assert run("judge", "-", "--law", "laplace(1)", input=lines).exit_code == 1
    assert run("judge", "-", "-", "--epsilon", 0.5, input=lines).exit_code == 2


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.txt", b"1\ntwo\n", "line 2: expected a number or a JSON value"),
        ("a.csv", b"1,2\n3\n", "record 2 has 1 cells"),
        ("a.npy", b"not an array", "not a numpy array"),
        ("a.bin", b"\xff\xfe\x00", "is not text"),
        ("a.csv", b"", "expected at least 100"),
        ("a.csv", b"1\n" + b"2" * 140_000, "is a quote left open"),
        ("a.csv", b'1\n"2\n' + b"3\n" * 99_000, "is a quote left open"),
        ("a.csv", b"x,x\n1,2\n", "have one name"),
        ("a.txt", b"1\n" + b"7" * 4301, "line 2: expected a number"),
        ("a.txt", b"[" * 100_000, "line 1: expected a number"),
    ],
)
def test_a_file_that_cannot_be_read_gets_a_sentence(run, here, name, content, sentence):
    (here / name).write_bytes(content)
    done = run("judge", name, "one.npy", "--epsilon", 1)
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert done.stderr.startswith("dpwitness: ")
    assert run("judge", "gone.npy", "one.npy", "--epsilon", 1).exit_code == 2


def test_a_law_that_does_not_hold_is_told_with_its_place_and_alpha(run, here):
    text = " ".join(run("judge", "one.csv", "--law", "laplace(1)").stdout.split())
    assert "distribution function: output" in text
    assert "at most 1e-06" in text
    data = json.loads(run("judge", "one.csv", "--law", "laplace(1)", "--json", "-").stdout)
    assert data["verdict"] == "refuted"
    assert run("judge", "zero.jsonl", "--law", "laplace(1)").exit_code == 2
    assert run("judge", "one.csv", "--law", "laplac(1)").exit_code == 2


SLOW = """
import time

def leaks(database, rng):
    time.sleep(0.001)
    if rng.random() < 0.0005:
        raise ValueError("late")
    return float(len(database) and rng.random() < 0.5)
"""


@pytest.mark.long
@pytest.mark.parametrize("route", [[], ["--isolate"]], ids=["here", "isolated"])
def test_an_audit_that_raises_late_leaves_a_file_that_judge_takes(
    run, tmp_path, monkeypatch, route
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slow.py").write_text(SLOW)
    words = ("audit", "slow.py:leaks", "--epsilon", 3, "--pair", "[]", "[1]", "--no-exact", *route)
    for number in ("", "-2"):
        done = run(*words)
        assert done.exit_code == 4
        assert f"dpwitness judge draws-of-leaks{number}.jsonl" in done.stderr
        assert "late" in done.stderr
    assert len((tmp_path / "draws-of-leaks.jsonl").read_text().splitlines()) > 100
    # How many came back hangs on the machine, by a quarter of a second; 100 do for a claim of 1.
    done = run("judge", "draws-of-leaks.jsonl", "--epsilon", 1)
    assert done.exit_code == 1
    said = " ".join(done.stdout.split())
    assert "the draws in draws-of-leaks.jsonl contradict epsilon 1" in said
    assert "either of the two refutes a true claim with probability 0.002 at most" in said
    data = json.loads(run("judge", "draws-of-leaks.jsonl", "--json", "-").stdout)
    assert data["claim"] == {"epsilon": 3.0, "delta": 0.0, "distance": 1}
    assert data["kept"]["pair"] == [[], [1]]


def test_what_is_no_file_of_kept_draws_is_a_sentence(run, here):
    for words, sentence in (
        (("zero.npy",), "is no file of draws that an audit kept"),
        (("zero.npy", "one.npy"), "nobody said what is claimed"),
        (("kept.jsonl", "zero.npy", "--epsilon", 1), "judge it alone"),
        (("kept.jsonl",), "kept.jsonl, line 3: expected [output, output]"),
        (("other.jsonl",), "its first line is none that this version of dpwitness writes"),
    ):
        head = '{"format": "dpwitness draws 1", "mechanism": "m", "alpha_spent": 0.001, '
        claim = '"claim": {"epsilon": 1, "delta": 0, "distance": 1}}'
        (here / "kept.jsonl").write_text(f"{head}{claim}\n[0, 1]\n[0]\n")
        (here / "other.jsonl").write_text(f"{head}{claim.replace('1}', '1.5}')}\n[0, 1]\n")
        done = run("judge", *words)
        assert done.exit_code == 2
        assert sentence in done.stderr, words


def test_every_format_has_the_verdict(run, here):
    np.save("d.npy", RNG.laplace(size=4000))
    np.save("e.npy", 3 + RNG.laplace(size=4000))
    told = run("judge", "d.npy", "e.npy", "--epsilon", 1)
    files = [f"v{ending}" for ending in (".json", ".html", ".xml", ".sarif", ".md")]
    options = [word for file in files for word in ("-o", file)]
    done = run("judge", "d.npy", "e.npy", "--epsilon", 1, "-q", *options)
    assert done.exit_code == 1
    assert len(done.stdout) < len(told.stdout)
    head = "privacy loss >="
    for file in files:
        text = (here / file).read_text("utf-8")
        assert ("refuted" in text) if file == "v.json" else ("privacy loss" in text), file
    assert head in (here / "v.md").read_text("utf-8")
    assert (
        '<testsuites name="dpwitness judge" errors="0" failures="1"' in (here / "v.xml").read_text()
    )
    wrong = run("judge", "d.npy", "e.npy", "--epsilon", 1, "-o", "v.txt")
    assert (wrong.exit_code, "ends in one of .json" in wrong.output) == (2, True)


def test_a_law_is_the_whole_claim(run, here):
    np.save("one.npy", RNG.laplace(size=400))
    done = run("judge", "one.npy", "--law", "laplace(1)", "--epsilon", 1)
    assert (done.exit_code, "--law is about one sample" in done.output) == (2, True)
    done = run("judge", "one.npy", "one.npy", "--law", "laplace(1)")
    assert (done.exit_code, "a second sample, one.npy" in done.output) == (2, True)


@pytest.mark.parametrize("command", [("judge", "--epsilon", "1"), ("scores",)])
def test_one_file_given_twice_is_remarked(run, here, command):
    (here / "a.csv").write_text("\n".join(map(str, range(100))))
    (here / "b.csv").write_text("\n".join(map(str, range(1, 101))))
    (here / "copy.csv").write_bytes((here / "a.csv").read_bytes())
    for other, same in (("a.csv", True), ("copy.csv", True), ("b.csv", False)):
        done = run(command[0], "a.csv", other, *command[1:])
        assert ("are the same, byte by byte" in done.output) is same
