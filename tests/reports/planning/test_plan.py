"""`plan` on the command line, and `notice` wherever a budget is said."""

import json

import pytest


@pytest.mark.long
def test_the_budget_and_the_way_back(run):
    data = json.loads(run("tools", "plan", "--epsilon", 1, "--notice", 1.2, "--json", "-").stdout)
    assert data["notice"] == 1.2
    assert 0 < data["draws"] < data["trials"]
    assert data["alpha_in_all_runs"] == pytest.approx(1 - 0.999**10_000)
    back = json.loads(
        run("tools", "plan", "--epsilon", 1, "--trials", data["trials"], "--json", "-").stdout
    )
    assert back["notice"] == pytest.approx(1.2, rel=0.01)
    told = run("tools", "plan", "--mu", 1, "--notice", 1.1, "--alpha", 1e-9).stdout
    assert "mu 1.1 where 1 is claimed" in " ".join(told.split())
    assert "1e-09" in told
    assert "No such loss" in run("tools", "plan", "--epsilon", 1, "--trials", 10, "--quiet").stdout
    assert run("tools", "plan", "--epsilon", 1).exit_code == 2
    assert run("tools", "plan", "--epsilon", 1, "--notice", 2, "--runs", 0).exit_code == 2


def test_audit_takes_as_many_trials_as_notice_it(run, tmp_path):
    path = tmp_path / "found.json"
    words = ("audit", "laplace", "--claims", "privacy", "--epsilon", 1, "--pair", "[]", "[1]")
    assert run(*words, "--notice", 1.5, "--json", path).exit_code in (0, 3)
    (result,) = json.loads(path.read_text())["results"]
    planned = json.loads(
        run("tools", "plan", "--epsilon", 1, "--notice", 1.5, "--json", "-").stdout
    )
    assert result["draws"] <= 2 * 4 * planned["trials"]
    assert run("replay", path).exit_code == 0
    assert run(*words, "--notice", 1.5, "--trials", 100).exit_code == 2
    assert run(*words, "--notice", 0.5).exit_code == 2
    assert run(*words, "--notice", 1.5, "--checkpoint", tmp_path / "kept").exit_code == 2


@pytest.mark.long
def test_seconds_and_the_price_of_a_call_say_what_can_be_seen(run):
    words = ("tools", "plan", "--epsilon", 1, "--seconds", 300, "--call", 0.5)
    data = json.loads(run(*words, "--json", "-").stdout)
    assert data["given"]["trials"] > data["searched"]["trials"] > 100
    told = " ".join(run(*words).stdout.split())
    assert "With the pair given: about 600 calls in 300 s" in told
    assert told.count("0 on the other will be seen") == 2
    assert told.count("the search may miss the pair that shows it") == 1
    assert "too few to see" in run("tools", "plan", "--mu", 1, "--seconds", 5, "--call", 0.5).stdout
    for more in (("--trials", 100), ("--notice", 2), ("--call", -1), ("--alpha", 0.7)):
        assert run(*words, *more).exit_code == 2
    assert run("tools", "plan", "--epsilon", 1, "--seconds", 300).exit_code == 2
