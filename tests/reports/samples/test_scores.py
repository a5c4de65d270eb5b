"""`scores` on files: verdict, status, JSON and words."""

import json

import numpy as np
import pytest

RNG = np.random.default_rng(1)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("in.npy", RNG.normal(1, 1, 3000))
    (tmp_path / "out.csv").write_text("score\n" + "\n".join(map(str, RNG.normal(0, 1, 3000))))
    (tmp_path / "words.csv").write_text("\n".join("ab" * 30))
    (tmp_path / "two.csv").write_text("\n".join(["1,2"] * 30))
    (tmp_path / "curve.csv").write_text("0.1,0.01\n1,0.001\n")
    return tmp_path


def test_bounds_without_a_claim(run, here):
    done = run("scores", "in.npy", "out.csv", "--delta", 0.1)
    assert done.exit_code == 0
    for word in ("prove a loss", "at delta 0.1", "mu at least", "rho at least", "in.npy"):
        assert word in done.output
    data = json.loads(run("scores", "in.npy", "out.csv", "--delta", 0.1, "--json", "-").stdout)
    assert data["verdict"] is None
    assert 0.6 < data["epsilon_lower"] < 1.16
    assert data["samples"][0]["name"] == "in.npy"
    assert data["event"]["hits"] <= data["event"]["trials"] == 2880


@pytest.mark.long
@pytest.mark.parametrize(
    ("claim", "status"),
    [(("--mu", 0.7), 1), (("--mu", 1), 0), (("--rho", 0.1), 1), (("--renyi", "2:0.3"), 1),
     (("--curve", "curve.csv"), 1), (("--epsilon", 0.5, "--delta", 0.01), 1),
     (("--epsilon", 5), 0)],
)  # fmt: skip
def test_the_status_is_that_of_the_verdict(run, here, claim, status):
    done = run("scores", "in.npy", "out.csv", *claim)
    assert done.exit_code == status, done.output
    assert ("Refuted" in done.output) == (status == 1)
    assert ("with probability .9" in " ".join(done.output.split())) == (status == 0)


def test_the_claim_stands_in_the_json(run, here):
    data = json.loads(run("scores", "in.npy", "out.csv", "--mu", 0.5, "--json", "-").stdout)
    assert data["verdict"] == "refuted"
    assert data["claim"]["curve"] == {"mu": 0.5}
    assert 0.5 < data["mu_lower"] < 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(("words.csv", "out.csv"), "single numbers"), (("two.csv", "out.csv"), "single numbers"),
     (("gone.csv", "out.csv"), "gone.csv"), (("-", "-"), "pipe"),
     (("in.npy", "out.csv", "--mu", 1, "--rho", 1), "one way")],
)  # fmt: skip
def test_bad_input_is_told(run, here, arguments, words):
    done = run("scores", *arguments)
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.csv", "score,member\n{}"), ("b.csv", "{}"), ("c.csv", "{}"), ("d.csv", "{}")],
)
def test_one_run_reads_membership_as_it_is_written(run, here, name, text):
    rng = np.random.default_rng(5)
    member = rng.random(600) < 0.5
    values = rng.normal(2.0 * member, 1)
    words = {"a.csv": "{x},{b:d}", "b.csv": "{x},{b}", "c.csv": "{x},{w}", "d.csv": "{b:d},{x}"}
    rows = [
        words[name].format(x=x, b=bool(b), w="in" if b else "out")
        for x, b in zip(values.tolist(), member, strict=True)
    ]
    (here / name).write_text(text.format("\n".join(rows)))
    done = run("scores", name, "--one-run", "--mu", 0.5)
    assert done.exit_code == 1, done.output
    assert "fair coin" in done.output
    data = json.loads(run("scores", name, "--one-run", "--delta", 1e-8, "--json", "-").stdout)
    assert data["canaries"] == 600
    assert 0 < data["epsilon_lower"]
    assert data["mu_lower"] < 2
    assert data["epsilon_lower_if_gaussian"] > data["epsilon_lower"]


def test_counted_guesses_need_no_file(run, here):
    assert run("scores", "--guesses", 1000, 200, 150, "--epsilon", 0.5).exit_code == 1
    assert run("scores", "--guesses", 1000, 200, 150, "--epsilon", 1).exit_code == 0
    done = run("scores", "--guesses", 1000, 200, 150)
    assert "mu at least" in done.output
    assert run("scores", "in.npy", "--guesses", 1000, 200, 150).exit_code == 2
    assert run("scores", "in.npy").exit_code == 2
    assert run("scores", "in.npy", "--one-run").exit_code == 2
    (here / "bad.csv").write_text("1,2\n3,4\n" * 20)
    assert "whether it was in" in run("scores", "bad.csv", "--one-run").stderr
