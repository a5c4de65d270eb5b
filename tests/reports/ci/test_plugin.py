"""The pytest plugin: budget, failures, witnesses, refusals; mostly in this process."""

import json
import re
from xml.etree import ElementTree

import pytest

from dpwitness.reports.ci import audits

from .conftest import PLUGIN

MECHANISMS = """
import numpy as np
import pytest

def shape(size):
    return () if size is None else np.shape(np.empty(size))

def sound(x, rng, *, size=None):
    return x + rng.laplace(size=shape(size))

def broken(x, rng, *, size=None):
    return x + rng.laplace(scale=0.2, size=shape(size))

CLAIM = dict(pair=(0, 1), epsilon=1.0)
"""


def records(result):
    """What the audits of a run put into their user properties."""
    return {
        report.nodeid.partition("::")[2]: [
            json.loads(value) for name, value in report.user_properties if name == "dpwitness"
        ]
        for report in result.reprec.getreports("pytest_runtest_logreport")
        if report.when == "call"
    }


def write_tests(project, text):
    project.makepyfile(test_it=MECHANISMS + text)


@pytest.mark.long
def test_a_broken_mechanism_fails_with_its_witness_and_a_sound_one_does_not(project):
    write_tests(
        project,
        """
def test_sound(dp_audit):
    assert not dp_audit(sound, **CLAIM).refuted

def test_broken(dp_audit):
    dp_audit(broken, **CLAIM)
""",
    )
    result = project.run_here()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*PrivacyViolation: Refuted: broken does not keep epsilon 1 (replace-one): privacy*",
            "*event *output*",
            "*D  *",
            "*bound *",
            "*dpwitness replay .dpwitness/witnesses/test-broken-*.json*",
            "*differential privacy*",
            "REFUTED *broken, epsilon 1*",
            "not refuted *sound, epsilon 1*",
            "alpha 0.01 for all audits, 0.01 used by these*",
        ]
    )


@pytest.mark.long
def test_shares_follow_the_weights_and_selection_does_not_shift_them(project):
    write_tests(
        project,
        """
@pytest.mark.dp(weight=3)
def test_heavy(dp_audit):
    dp_audit(sound, **CLAIM)

def test_light(dp_audit):
    dp_audit(sound, **CLAIM)

@pytest.mark.dp(audits=2)
def test_twice(dp_audit):
    dp_audit(sound, **CLAIM)
    dp_audit(sound, **CLAIM)
""",
    )
    found = records(project.run_here())
    assert found["test_heavy"][0]["alpha"] == pytest.approx(0.006)
    assert found["test_light"][0]["alpha"] == pytest.approx(0.002)
    assert [r["alpha"] for r in found["test_twice"]] == pytest.approx([0.001, 0.001])
    assert found["test_twice"][0]["seed"] != found["test_twice"][1]["seed"]
    alone = records(project.run_here("-k", "light"))
    assert alone == {"test_light": alone["test_light"]}
    for key in ("alpha", "seed", "epsilon_lower", "draws", "p_value"):
        assert alone["test_light"][0][key] == found["test_light"][0][key]


@pytest.mark.long
def test_a_lock_keeps_the_shares_when_tests_are_added(project):
    write_tests(project, "\ndef test_one(dp_audit):\n    dp_audit(sound, **CLAIM)\n")
    before = records(project.run_here("--dp-lock"))["test_one"][0]["alpha"]
    write_tests(
        project,
        "\ndef test_one(dp_audit):\n    dp_audit(sound, **CLAIM)\n"
        "\ndef test_new(dp_audit):\n    dp_audit(sound, **CLAIM)\n",
    )
    found = records(project.run_here())
    assert found["test_one"][0]["alpha"] == before == pytest.approx(0.005)
    assert found["test_new"][0]["alpha"] == pytest.approx(0.005)


@pytest.mark.slow
def test_selecting_tests_beside_a_lock_shifts_no_share(project):
    audit = "dp_audit(sound, **CLAIM, trials=100)"
    write_tests(
        project,
        f"\ndef test_one(dp_audit):\n    {audit}\n    pytest.fail('on purpose')\n"
        f"\n@pytest.mark.dp(weight=3)\ndef test_two(dp_audit):\n    {audit}\n",
    )
    project.makepyfile(test_more=f"{MECHANISMS}\ndef test_three(dp_audit):\n    {audit}\n")

    def run(*options):
        return project.runpytest_inprocess(*PLUGIN, "-p", "no:xdist", *options)

    whole = records(run("--dp-lock"))
    lock = (project.path / "dpwitness.lock").read_bytes()
    counts = {}
    for options in (("-k", "two"), ("-x",), ("--lf",), ("--ff", "-x"), ("--collect-only",)):
        found = records(run(*options))
        counts[options[0]] = len(found)
        for name, (audited,) in found.items():
            assert audited["alpha"] == whole[name][0]["alpha"], options
    assert counts == {"-k": 1, "-x": 1, "--lf": 1, "--ff": 1, "--collect-only": 0}
    refused = run("--dp-lock", "--lf")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["*--dp-lock is to list every test*"])
    assert (project.path / "dpwitness.lock").read_bytes() == lock


@pytest.mark.long
def test_a_witness_is_kept_counted_first_and_retired_when_mended(project):
    text = "\ndef test_it(dp_audit):\n    dp_audit({}, **CLAIM)\n"
    write_tests(project, text.format("broken"))
    project.run_here().assert_outcomes(failed=1)
    folder = project.path / ".dpwitness"
    (kept,) = (folder / "witnesses").iterdir()
    data = json.loads(kept.read_text())
    assert data["findings"][0]["verdict"] == "refuted"
    assert data["test"] == "test_it.py::test_it"
    assert (folder / ".gitignore").read_text().startswith("*\n")

    again = project.run_here()
    again.assert_outcomes(failed=1)
    again.stdout.fnmatch_lines(["*a witness of an earlier run, counted again*"])
    again.stdout.fnmatch_lines(["*the witness of an earlier run still holds*"])
    assert list((folder / "witnesses").iterdir()) == [kept]

    write_tests(project, text.format("sound"))
    mended = project.run_here()
    mended.assert_outcomes(passed=1)
    mended.stdout.fnmatch_lines(
        ["*the code changed and the witness of an earlier run no longer holds: retired*"]
    )
    assert not list((folder / "witnesses").iterdir())
    assert [p.name for p in (folder / "retired").iterdir()] == [kept.name]


@pytest.mark.long
def test_a_marginal_witness_is_kept_until_the_code_changes_or_a_limit_lies_below(project):
    """`marginal` loses .9; 2,000 draws neither bear out a claim of 1 nor rule it out."""
    text = (
        "\ndef {}(database, rng):\n    return float(database + rng.laplace(0, 1 / 0.9))\n"
        "\ndef test_it(dp_audit):\n    dp_audit({}, **CLAIM)\n"
    )
    write_tests(project, text.format("marginal", "broken"))
    project.run_here().assert_outcomes(failed=1)
    (kept,) = (project.path / ".dpwitness" / "witnesses").iterdir()
    data = json.loads(kept.read_text())
    write_tests(project, text.format("marginal", "marginal"))
    project.run_here()
    kept.parent.mkdir(exist_ok=True)
    # As if it had been found by luck on this very code, whatever its source is called.
    data["results"][0]["source"] = ""
    kept.write_text(json.dumps(data))
    same = project.run_here()
    same.assert_outcomes(passed=1)
    same.stdout.fnmatch_lines(["*was not confirmed this time; the code is the same, so it is*"])
    assert kept.exists()
    ruled_out = project.run_here("--dp-trials", "400000", "-k", "test_it")
    ruled_out.assert_outcomes(passed=1)
    ruled_out.stdout.fnmatch_lines(["*now shows less than the claim: retired*"])
    assert not kept.exists()


@pytest.mark.long
def test_a_new_test_on_a_machine_without_listed_tests_has_no_share(project):
    project.makepyfile(test_new="")
    write_tests(project, "\ndef test_one(dp_audit):\n    dp_audit(sound, **CLAIM)\n")
    project.run_here("--dp-lock").assert_outcomes(passed=1)
    text = (project.path / "test_it.py").read_text().replace("test_one", "test_another")
    (project.path / "test_new.py").write_text(text)
    alone = project.run_here("test_new.py")
    alone.assert_outcomes(errors=1)
    alone.stdout.fnmatch_lines(["*dpwitness.lock does not list this test, and no test that it*"])
    project.run_here("test_it.py", "test_new.py").assert_outcomes(passed=2)


@pytest.mark.parametrize("name", ["retries", "reruns", "force_flaky"])
@pytest.mark.parametrize("place", ["option", "file"])
def test_every_way_to_run_a_failed_test_again_is_refused(project, name, place):
    flag = f"--{name.replace('_', '-')}"
    project.makeconftest(
        "def pytest_addoption(parser):\n"
        f"    if not any({flag!r} in one.names() for g in parser._groups for one in g.options):\n"
        f"        parser.addoption({flag!r}, type=int)\n"
        f"    if {name!r} not in parser._inidict:\n"
        f"        parser.addini({name!r}, 'help', default=0)\n"
    )
    write_tests(project, "\ndef test_it(dp_audit):\n    dp_audit(sound, **CLAIM)\n")
    given = (flag, "2") if place == "option" else ("-o", f"{name}=2")
    result = project.run_here(*given)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*dpwitness: {flag} gives a refuted audit further chances*"])


@pytest.mark.long
def test_a_damaged_witness_costs_nothing_but_itself(project):
    write_tests(project, "\ndef test_it(dp_audit):\n    dp_audit(broken, **CLAIM)\n")
    project.run_here().assert_outcomes(failed=1)
    (kept,) = (project.path / ".dpwitness" / "witnesses").iterdir()
    for text in ("", "{}", '{"results": [{"verdict": "refuted"}]}', "[" * 10_000):
        kept.write_text(text)
        project.run_here().assert_outcomes(failed=1)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ("dp_audit(sound, alpha=0.1, **CLAIM)", "takes no alpha; set it in [[]tool.dpwitness[]]"),
        ("dp_audit(sound, **CLAIM); dp_audit(sound, **CLAIM)", "mark it @pytest.mark.dp(audits=2)"),
        ("dp_audit(sound, pair=(0, 1))", "carries no privacy claim"),
        ("dp_audit(3, **CLAIM)", "expected a function of (database, rng) or a Mechanism, got int"),
    ],
)
def test_a_wrong_call_is_a_sentence(project, call, sentence):
    write_tests(project, f"\ndef test_it(dp_audit):\n    {call}\n")
    result = project.run_here()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*{sentence}*"])


def test_a_failure_shows_the_test_and_the_mechanism_and_no_frame_of_ours(project, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    write_tests(
        project,
        """
def helper(x):
    raise ValueError("no good")

def raises(x, rng):
    return helper(x)

def test_raises(dp_audit):
    dp_audit(raises, **CLAIM)

def test_misspelt(dp_audit):
    dp_audit(sound, epsilonn=1.0)

def test_broken(dp_audit):
    dp_audit(broken, **CLAIM)
""",
    )
    result = project.run_here()
    result.assert_outcomes(failed=3)
    result.stdout.no_fnmatch_line("*auditors/*.py:*")
    result.stdout.no_fnmatch_line("*reports/*.py:*")
    result.stdout.no_fnmatch_line("*contextlib.py*")
    result.stdout.fnmatch_lines(["*return helper(x)*", "*raise ValueError(*"])
    result.stdout.fnmatch_lines(
        [
            "FAILED test_it.py::test_raises - MechanismRaised: the mechanism raised ValueError*",
            "FAILED test_it.py::test_misspelt - UnknownArgument: dp_audit takes no 'epsilonn'*",
            "FAILED test_it.py::test_broken - PrivacyViolation: broken loses *",
        ]
    )


@pytest.mark.parametrize(
    ("mark", "sentence"),
    [
        ("weight=0", "weight must be a positive number, got 0"),
        ("audits=0", "audits must be a whole number from 1, got 0"),
        ("trials='soon'", "trials takes runs per database"),
        ("seconds='20s'", "seconds must be a positive number"),
        ("wait=1", "it takes weight, audits, trials and seconds"),
    ],
)
def test_a_wrong_marker_stops_the_run_in_a_sentence(project, mark, sentence):
    write_tests(project, f"\n@pytest.mark.dp({mark})\ndef test_it(dp_audit):\n    pass\n")
    result = project.run_here()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert re.search(f"dpwitness: marker dp of test_it.py::test_it: {sentence}", str(result.stderr))


def test_budgets_of_the_run_and_of_a_test(project):
    write_tests(
        project,
        """
def test_run(dp_audit):
    dp_audit(sound, **CLAIM)

@pytest.mark.dp(trials=1000)
def test_own(dp_audit):
    dp_audit(sound, **CLAIM)

@pytest.mark.dp(seconds=0.2)
def test_seconds(dp_audit):
    dp_audit(sound, **CLAIM)
""",
    )
    found = records(project.run_here("--dp-trials", "4e3"))
    run, own = (found[name][0]["draws"] for name in ("test_run", "test_own"))
    # All draws of an audit that refutes nothing, and never more than four times the trials a side.
    assert 2 * 1000 <= own <= 8 * 1000
    assert 2 * 4000 <= run <= 8 * 4000
    assert own < run
    assert project.run_here("--dp-trials", "much").ret == pytest.ExitCode.USAGE_ERROR


def test_who_draws_is_taken_from_the_options_and_changes_no_count(project):
    write_tests(
        project,
        """
def one_by_one(x, rng):
    return x + rng.laplace()

one_by_one.block = 64

@pytest.mark.dp(audits=2)
def test_it(dp_audit, monkeypatch):
    from dpwitness.auditors.workers.door import Door

    workers, started = [], Door._started

    def noted(door):
        workers.append(door.workers)
        return started(door)

    monkeypatch.setattr(Door, "_started", noted)
    alone = dp_audit(one_by_one, trials=300, seed=5, workers=1, **CLAIM)
    assert set(workers) == {1}
    found = dp_audit(one_by_one, trials=300, seed=5, **CLAIM)
    assert set(workers) == {1, 2}
    assert found.evidence.counts == alone.evidence.counts
""",
    )
    result = project.run_here("--dp-workers", "2")
    result.assert_outcomes(passed=1)


def test_inconclusive_audits_pass_unless_strict(project):
    write_tests(project, "\ndef test_it(dp_audit):\n    dp_audit(sound, trials=12, **CLAIM)\n")
    plain = project.run_here()
    plain.assert_outcomes(passed=1)
    plain.stdout.fnmatch_lines(["inconclusive *sound*", "*too few trials*"])
    strict = project.run_here("--dp-strict")
    strict.assert_outcomes(failed=1)
    strict.stdout.fnmatch_lines(["*Inconclusive: this run cannot say whether sound keeps*"])


def test_reruns_are_refused_in_a_sentence(project):
    write_tests(
        project, "\n@pytest.mark.flaky\ndef test_it(dp_audit):\n    dp_audit(sound, **CLAIM)\n"
    )
    result = project.run_here("-W", "ignore::pytest.PytestUnknownMarkWarning")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*dpwitness: the marker flaky gives a refuted audit further*"])


def test_a_random_seed_is_told_and_repeats_the_run(project):
    write_tests(project, "\ndef test_it(dp_audit):\n    dp_audit(sound, **CLAIM)\n")
    first = project.run_here("--dp-seed", "random")
    seed = re.search(r"; seed (\d+),", str(first.stdout)).group(1)
    again = records(project.run_here("--dp-seed", seed))
    assert again["test_it"][0]["seed"] == records(first)["test_it"][0]["seed"]
    assert project.run_here("--dp-seed", "soon").ret == pytest.ExitCode.USAGE_ERROR


def test_reports_and_junit_carry_every_audit(project):
    write_tests(project, "\ndef test_it(dp_audit):\n    dp_audit(sound, **CLAIM)\n")
    project.run_here("--dp-report", "out", "--junit-xml", "junit.xml").assert_outcomes(passed=1)
    names = sorted(path.suffix for path in (project.path / "out").iterdir())
    assert names == [".html", ".json"]
    (suite,) = ElementTree.parse(project.path / "junit.xml").getroot()
    # The schema of xunit2 has no properties in a testcase.
    assert suite.find("testcase/properties") is None
    (told,) = suite.findall("properties/property")
    assert told.get("name").split()[1].endswith("::test_it")
    assert json.loads(told.get("value"))["verdict"] == "not_refuted"


def test_the_older_junit_form_has_the_properties_in_the_testcase(project):
    write_tests(project, "\ndef test_it(dp_audit):\n    dp_audit(sound, **CLAIM)\n")
    project.run_here("-o", "junit_family=xunit1", "--junit-xml", "junit.xml")
    (suite,) = ElementTree.parse(project.path / "junit.xml").getroot()
    assert suite.find("properties") is None
    (told,) = suite.findall("testcase/properties/property")
    assert json.loads(told.get("value"))["verdict"] == "not_refuted"


def test_a_run_without_audits_hears_nothing_of_us(project):
    project.makepyfile(test_plain="def test_it():\n    pass\n")
    result = project.run_here()
    result.assert_outcomes(passed=1)
    assert "differential privacy" not in str(result.stdout)
    assert not (project.path / ".dpwitness").exists()


@pytest.mark.slow
def test_holm_can_fail_a_run_whose_tests_all_passed(project, monkeypatch):
    """Gross refutations leave the whole alpha to one more that its own share did not reject.

    Its p-value is put between the two: that of a seed would change with every way of counting.
    """
    known = audits.p_value
    monkeypatch.setattr(
        audits, "p_value", lambda result: 0.1 if "slightly" in result.mechanism else known(result)
    )
    write_tests(
        project,
        """
def slightly(x, rng, *, size=None):
    return x + rng.laplace(size=shape(size))

@pytest.mark.parametrize("number", range(10))
def test_gross(dp_audit, number):
    with pytest.raises(AssertionError):
        dp_audit(broken, trials=400, **CLAIM)

def test_slight(dp_audit):
    dp_audit(slightly, trials=400, **CLAIM)
""",
    )
    result = project.run_here("--dp-alpha", "0.3")
    found = records(result)["test_slight"][0]
    assert found["verdict"] == "not_refuted"
    assert found["alpha"] < found["p_value"] <= 0.3
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*by Holm's procedure over the run*"])


@pytest.mark.slow
def test_a_run_is_recorded_once_by_the_controller(project):
    from dpwitness.reports.history.store import open_store
    from dpwitness.reports.history.verify import verify

    text = """
def test_sound(dp_audit):
    dp_audit(sound, **CLAIM)

def test_broken(dp_audit):
    dp_audit(broken, **CLAIM)
"""
    write_tests(project, text)
    project.run_here("--dp-seed", "1")
    project.run_apart("-n", "2", "--dp-seed", "2")
    again = project.run_here("--dp-seed", "2", "-k", "sound")
    again.stdout.fnmatch_lines(["history: 1 of 1 audits used the same seed (2) as an earlier*"])
    store = open_store(project.path / ".dpwitness")
    rows = store.connection.execute(
        "SELECT test, mechanism, verdict, counted, length(source) FROM audits "
        "JOIN capital USING (sequence) ORDER BY sequence"
    ).fetchall()
    assert verify(store) == ""
    store.close()
    broken = ("test_it.py::test_broken", "broken", "refuted", 1, 32)
    sound = ("test_it.py::test_sound", "sound", "not_refuted", 1, 32)
    assert rows == [broken, sound, broken, sound, (*sound[:3], 0, 32)]


@pytest.mark.long
def test_types_are_told_of_and_judged_for_who_asks(project):
    write_tests(
        project,
        """
def zero(database, rng):
    return 0 if not database else np.float64(0)

def test_values(dp_audit):
    dp_audit(zero, pair=([], [1]), epsilon=1.0)

def test_types(dp_audit):
    dp_audit(zero, pair=([], [1]), epsilon=1.0, attacker="types")

def test_counts(dp_audit):
    counts = lambda database, rng: [one + rng.laplace() for one in database]
    dp_audit(counts, pair=([3, 7], [4, 7]), epsilon=1.0, histogram=True)
""",
    )
    result = project.run_here()
    result.assert_outcomes(passed=2, failed=1)
    text = " ".join(result.stdout.str().split())
    assert "the Python type of the outputs alone breaks the claim" in text
    assert "zero seen through its Python types" in text


@pytest.mark.long
def test_exact_verdicts_are_told_with_the_pairs_that_they_cover(project):
    write_tests(
        project,
        """
def response(x, rng):
    return x if rng.random() < 0.7310585786300049 else 1 - x

def leaking(x, rng):
    return (x, "leak") if rng.random() < 1e-9 else response(x, rng)

def test_proved(dp_audit):
    assert dp_audit(response, exact=True, **CLAIM).verdict.value == "proved"

def test_leak(dp_audit):
    dp_audit(leaking, **CLAIM)
""",
    )
    result = project.run_here()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*Refuted: leaking does not keep epsilon 1 (replace-one): epsilon = infinity, exactly*",
            "*exactly 1e-09 of all runs*",
            "REFUTED * leaking, *epsilon = infinity*",
            "proved * response, *only here: this pair*",
        ]
    )


def test_a_test_that_never_calls_the_fixture_is_named(project):
    project.makepyfile(
        test_idle="""
        import pytest

        def test_forgets(dp_audit):
            pass

        def test_skips(dp_audit):
            pytest.skip("not today")
        """
    )
    done = project.runpytest_inprocess("test_idle.py")
    done.stdout.fnmatch_lines(["*test_forgets takes dp_audit and never calls it*"])
    assert "test_skips takes" not in done.stdout.str()
