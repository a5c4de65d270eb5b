"""The sweep of releases on packages made here: what changed, what failed, what is gone on from."""

import json
import sys

import pytest

from dpwitness.auditors.errors import InvalidArgument
from dpwitness.reports.releases import releases

SCALES = {"1.0": 1, "1.1": 0.2}
"""Noise of scale 1 keeps epsilon 1 for a sum of one bit; 0.2 loses five."""


def rows(*verdicts):
    return [{"version": str(n), "verdict": verdict} for n, verdict in enumerate(verdicts)]


GOOD, BAD, NONE = "not refuted", "refuted", "no verdict"


@pytest.mark.parametrize(
    ("verdicts", "told"),
    [
        ((GOOD, BAD, BAD, GOOD), "came with 1; left with 3"),
        ((BAD, GOOD), "there in 0, the first that was judged; left with 1"),
        ((GOOD, BAD), "came with 1; there in 1, the last that was judged"),
        ((GOOD, NONE, BAD, "inconclusive", GOOD),
         "came with 2 or after 0, with no verdict between; left with 4 or after 2, with no "
         "verdict between"),
        ((GOOD, GOOD), "No release was refuted."),
        ((NONE, "not installed"), "No release has a verdict."),
    ],
)  # fmt: skip
def test_what_changed_names_the_releases_of_entry_and_exit(verdicts, told):
    assert told in releases.what_changed(rows(*verdicts))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"package": "x y"}, "no name of a package"),
        ({"package": "--index-url=http://y"}, "no name of a package"),
        ({"versions": "1,1"}, "neither a range"),
        ({"versions": "-e"}, "neither a range"),
        ({"alpha": 2}, "between 0 and 1"),
        ({"asked": ["--python", "here"]}, "set by sweep itself"),
        ({"asked": ["--python=here"]}, "set by sweep itself"),
        ({"asked": ["--markdown", "here.md"]}, "set by sweep itself"),
        ({"asked": ["-o", "here.json"]}, "set by sweep itself"),
        ({"asked": ["-ohere.json"]}, "set by sweep itself"),
        ({"target": "nowhere.py:f"}, "there is no file"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_installed(changed, said):
    given = {
        "package": "x", "asked": (), "versions": "1", "target": f"{__file__}:f", "npm": False,
        "beside": (), "alpha": 1e-3, "environments": None, "checkpoint": None, "paths": {},
    }  # fmt: skip
    with pytest.raises(InvalidArgument, match=said):
        releases.run(Said(), **{**given, **changed})


class Said(list):
    """A console of which only the lines count."""

    line = list.append


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Each release is a folder with a module of its own; 1.5 cannot be installed."""

    def environment(request, number, folder):
        if number not in SCALES:
            return [], {}, "no such release"
        home = tmp_path / number
        home.mkdir(exist_ok=True)
        (home / "noisy.py").write_text(f"SCALE = {SCALES[number]}\n")
        return [request["target"], "--python", sys.executable], {"PYTHONPATH": str(home)}, ""

    monkeypatch.setattr(releases, "_environment", environment)
    target = tmp_path / "call.py"
    target.write_text(
        "import noisy\ndef f(bits, rng):\n    return sum(bits) + rng.laplace(0, noisy.SCALE)\n"
    )
    return f"{target}:f"


ASKED = ("--epsilon", "1", "--relation", "add-remove", "--pair", "[]", "[1]", "--trials", "3000")


def swept(target, path, numbers, asked=ASKED):
    said = Said()
    status = releases.run(
        said, "made-here", asked, versions=numbers, target=target, npm=False, beside=(),
        alpha=1e-6, environments=None, checkpoint=str(path), 
        paths={"markdown": str(path) + ".md"},
    )  # fmt: skip
    return status, said


@pytest.mark.slow
def test_each_release_gets_its_row_and_the_next_run_goes_on_from_them(installed, tmp_path):
    path = tmp_path / "rows.json"
    status, said = swept(installed, path, "1.0,1.5,1.1")
    assert status == 1
    whole = json.loads(path.read_text())
    assert [row["verdict"] for row in whole["rows"]] == [GOOD, "not installed", BAD]
    assert "came with 1.1 or after 1.0" in said[-1]
    assert whole["rows"][2]["epsilon_lower"] > 1
    assert (tmp_path / "rows.json.md").read_text().count("\n| ") == 4
    whole["rows"] = whole["rows"][:1]
    whole["rows"][0]["verdict"] = BAD
    path.write_text(json.dumps(whole))
    _, more = swept(installed, path, "1.0,1.5,1.1")
    assert [line[:3] for line in more] == ["1.5", "1.1", "The"]
    with pytest.raises(InvalidArgument, match="something else"):
        swept(installed, path, "1.0,2.0")


@pytest.mark.long
def test_a_release_whose_target_fails_is_a_row_and_a_mistake_in_all_is_a_usage_error(
    installed, tmp_path
):
    status, said = swept(installed, tmp_path / "a.json", "1.0", (*ASKED, "--nonsense"))
    assert (status, "nonsense" in said[0]) == (2, True)
    status, said = swept(installed.replace(":f", ":g"), tmp_path / "b.json", "1.0")
    assert said[0].startswith("1.0: no verdict (")
