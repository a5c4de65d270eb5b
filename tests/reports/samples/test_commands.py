"""`judge` and `conform` on files of every kind and through a pipe."""

import json

import numpy as np
import pytest

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


@pytest.mark.parametrize(
    ("first", "second"),
    [("zero.npy", "one.npy"), ("zero.csv", "one.csv"), ("zero.txt", "column.npy"),
     ("zero.jsonl", "one.jsonl")],
)  # fmt: skip
def test_samples_of_any_kind_give_one_verdict(run, here, first, second):
    assert run("judge", first, second, "--epsilon", 0.5).exit_code == 1
    assert run("judge", first, second, "--epsilon", 1).exit_code == 0
    done = run("judge", first, second, "--epsilon", 0.5, "--json")
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
    assert run("conform", "-", "--law", "1 + laplace(1)", input=lines).exit_code == 0
    assert run("conform", "-", "--law", "laplace(1)", input=lines).exit_code == 1
    assert run("judge", "-", "-", "--epsilon", 0.5, input=lines).exit_code == 2


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.txt", b"1\ntwo\n", "line 2: expected a number or a JSON value"),
        ("a.csv", b"1,2\n3\n", "record 2 has 1 cells"),
        ("a.npy", b"not an array", "not a numpy array"),
        ("a.bin", b"\xff\xfe\x00", "is not text"),
        ("a.csv", b"", "expected at least 100"),
    ],
)
def test_a_file_that_cannot_be_read_gets_a_sentence(run, here, name, content, sentence):
    (here / name).write_bytes(content)
    done = run("judge", name, "one.npy", "--epsilon", 1)
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert done.stderr.startswith("dpwitness: ")
    assert run("judge", "gone.npy", "one.npy", "--epsilon", 1).exit_code == 2


def test_conform_tells_the_place_and_the_flake_rate(run, here):
    text = " ".join(run("conform", "one.csv", "--law", "laplace(1)").stdout.split())
    assert "distribution function: output" in text
    assert "at most 1e-06" in text
    data = json.loads(run("conform", "one.csv", "--law", "laplace(1)", "--json").stdout)
    assert data["verdict"] == "refuted"
    assert run("conform", "zero.jsonl", "--law", "laplace(1)").exit_code == 2
    assert run("conform", "one.csv", "--law", "laplac(1)").exit_code == 2
