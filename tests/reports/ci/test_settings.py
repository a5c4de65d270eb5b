"""Settings: where they stand, which wins, and what a bad one says."""

import pytest

from dpwitness.reports.settings.settings import PROFILES, Settings, SettingsError, read_settings


def project(tmp_path, text, name="pyproject.toml"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_without_a_file_the_defaults_hold(tmp_path):
    assert read_settings(tmp_path) == Settings(**PROFILES["ci"])


def test_own_keys_win_over_the_built_in_profile_and_options_over_all(tmp_path):
    root = project(tmp_path, "[tool.dpwitness]\nprofile = 'nightly'\ntrials = 1000\n")
    assert read_settings(root).trials == 1000
    assert read_settings(root).seed is None
    assert read_settings(root, {"trials": 50, "seed": 7, "alpha": None}) == Settings(
        profile="nightly", trials=50, seed=7
    )


def test_a_profile_of_the_project_wins_over_its_plain_keys(tmp_path):
    root = project(
        tmp_path,
        "[tool.dpwitness]\ntrials = 1000\n[tool.dpwitness.profiles.night]\nseconds = 60\n"
        "[tool.dpwitness.profiles.ci]\ntrials = 5\n",
    )
    assert read_settings(root).trials == 5
    night = read_settings(root, {"profile": "night"})
    assert (night.seconds, night.trials) == (60, 1000)
    assert read_settings(root, {"profile": "night", "trials": 9}).seconds is None


def test_a_file_of_its_own_goes_before_pyproject(tmp_path):
    project(tmp_path, "[tool.dpwitness]\nalpha = 0.1\n")
    assert read_settings(project(tmp_path, "alpha = 0.2\n", "dpwitness.toml")).alpha == 0.2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("alpha = 2", "alpha must be a number from 1e-100 to below 0.5, got 2"),
        ("alpha = true", "alpha must be"),
        ("trials = 1.5", "trials must be a whole number from 2, got 1.5"),
        ("seconds = -1", "seconds must be a positive number, got -1"),
        ("seed = 'often'", 'seed must be a whole number from 0, or "random"'),
        ("inconclusive = 'maybe'", 'inconclusive must be "warn" or "fail"'),
        ("lock = ''", "lock must be the name of a file"),
        (
            "aplha = 0.1",
            "has the setting 'aplha', which dpwitness does not know (did you mean alpha",
        ),
        (
            "audit = [{target = 'a:b'}]",
            "what the gate audits stands in tables",
        ),
        ("profile = 'weekly'", "there is no profile 'weekly'; there are ci, dev, nightly"),
        ("profiles = 3", "profiles in pyproject.toml must be tables"),
    ],
)
def test_a_bad_setting_is_a_sentence(tmp_path, text, sentence):
    with pytest.raises(SettingsError, match=sentence.replace("(", r"\(")):
        read_settings(project(tmp_path, f"[tool.dpwitness]\n{text}\n"))


def test_text_that_is_no_toml_is_a_sentence(tmp_path):
    with pytest.raises(SettingsError, match=r"pyproject\.toml is not TOML"):
        read_settings(project(tmp_path, "[tool"))


def test_what_is_to_be_noticed_stands_for_trials_until_a_deeper_layer_says_them(tmp_path):
    (tmp_path / "dpwitness.toml").write_text("notice = 1.2\n[profiles.long]\ntrials = 1000000\n")
    assert read_settings(tmp_path).notice == 1.2
    assert read_settings(tmp_path, {"profile": "long"}).notice is None
    assert read_settings(tmp_path, {"trials": 500}).notice is None
    (tmp_path / "dpwitness.toml").write_text("notice = 0.9\n")
    with pytest.raises(SettingsError, match="above 1"):
        read_settings(tmp_path)
