import re
import shlex
from dataclasses import replace
from math import inf

import pytest

from dpwitness.auditors.evidence.derive import NO_RETURN
from dpwitness.auditors.results.results import Evidence, Reach, Verdict
from dpwitness.mechanisms.model import Pair
from dpwitness.reports.faces import as_text, wording
from dpwitness.reports.shell.console import Console

COMMAND = "dpwitness audit 'my file.py:f' --pair '[1, 2]' '[1, 2, 3]' --epsilon 0.5 --seed 0"


@pytest.fixture(params=["sound", "refuted"])
def result(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal(result, width):
    long = replace(
        result,
        mechanism="m" * 30 + " " + "n" * 30,
        pair=Pair([{"name": "x" * 150}] * 3, list(range(300))),
        witness=None,
        note="word " * 40,
    )
    for told in (result, long):
        text = as_text.render(told, replay=COMMAND, width=width)
        assert max(map(len, text.splitlines())) <= min(width, 100)


@pytest.mark.parametrize("detail", [False, True])
def test_a_refutation_is_told_with_both_databases_and_how_to_check(refuted, detail):
    text = as_text.render(refuted, replay="dpwitness replay e.json", rerun="again", detail=detail)
    for part in (
        "Refuted: EM-NAIVE does not keep epsilon 1 (add-remove): privacy loss >= 1.234.",
        "event output is 1",
        f"D [0, 1] {'#' * 20} 50 % 500 of 1,000 runs",
        f"D' [0, 0] {'#' * 5} 11.9 % 119 of 1,000 runs",
        "epsilon >= 1.234, with 99.9 % confidence",
        "12,345 runs, 1.2 s, seed 7",
        "trials, precision 0.05) may raise it, and the true loss may be larger",
        "check dpwitness replay e.json",
    ):
        assert part in " ".join(text.split())
    assert ("then run: again" in text) is detail
    assert ("512 runs per database were enough" in text) is detail


def test_the_bars_stand_in_the_ratio_of_the_shares(refuted):
    one, two = (line.count("#") for line in as_text.render(refuted).splitlines() if "#" in line)
    assert (one, two) == (20, round(20 * 119 / 500))


def test_a_report_is_about_fourteen_lines_and_the_whole_of_it_no_less(refuted, sound):
    reached = Reach(databases=25, pairs=14, smallest=0, largest=11, unreached=("f.py line 3",))
    for result in (refuted, sound):
        found = replace(result, reached=reached, plan={**result.plan, "made_again": True})
        short, whole = (as_text.render(found, replay="dpwitness replay e.json", detail=detail)
                        for detail in (False, True))  # fmt: skip
        assert len(short.splitlines()) <= 17
        assert len(short.splitlines()) < len(whole.splitlines())


def test_lines_never_executed_are_told_of_the_users_own_files_alone(refuted):
    reached = Reach(databases=2, pairs=1, smallest=1, largest=1, unreached=("f.py line 3",))
    found = replace(refuted, reached=reached)
    assert "Not executed" not in as_text.render(found)
    for told in (
        as_text.render(found, detail=True),
        as_text.render(replace(found, target="f.py:g")),
    ):
        assert "are not followed: f.py line 3." in " ".join(told.split())


def test_not_refuted_says_what_could_have_been_seen(sound):
    text = " ".join(as_text.render(sound).split())
    for part in (
        "Not refuted: no violation of epsilon 1 (add-remove) found in laplace.",
        "epsilon >= 0.871 of the claimed 1, with 99.9 % confidence; no proof.",
        "If chosen, an event of a row refutes the claim 9 times in 10: "
        "under one database >= 0.5 >= 0.01 >= 0.004 >= 0.001 "
        "under the other <= 0.149 <= 0.00082 0 0 privacy loss 1.21 2.5 infinite not detected",
        "low-order bits of floats, running time",
        "1,500 of 3,000 runs",
    ):
        assert part in text


@pytest.mark.parametrize("verdict", list(Verdict))
def test_nothing_ever_passes(result, verdict):
    text = as_text.render(replace(result, verdict=verdict), replay="x")
    assert "pass" not in text.lower()
    assert text.startswith(wording.verdict_word(verdict))


def test_numbers_are_rounded_to_the_safe_side():
    assert wording.at_least(1.23499) == "1.234"
    assert wording.at_most(1.23401) == "1.235"
    assert wording.at_least(1.0001239, 1.0) == "1.000123"
    assert wording.at_least(2.0) == "2"
    assert wording.at_least(1e-9) == "1e-09"
    assert wording.at_least(inf) == "infinity"
    assert wording.at_least(-inf) == "minus infinity"


def test_a_bound_at_the_claim_itself_is_more_than_it(refuted):
    assert wording.headline(replace(refuted, epsilon_lower=1.0)).endswith("privacy loss > 1.")


def test_rare_events_are_told_as_one_in_so_many(sound):
    told = wording.power_rows(replace(sound, detectable_probability=5.3e-5))
    assert told[-1] == (">= 1 in 18,867", "0", "infinite")
    none = replace(sound, detectable_probability=1.0, power=((0.5, inf),), learning=None)
    assert wording.power_rows(none) == ()
    assert "could not have refuted any epsilon" in as_text.render(none)


def test_names_cannot_steer_the_terminal(refuted):
    claim = replace(refuted.claim, reference="\x07")
    odd = replace(refuted, mechanism="a\x1b[2Jb", note="c\rd\u202e", claim=claim)
    assert re.findall(r"[^\x20-\x7e\n]", as_text.render(odd, replay="x")) == []


def test_a_refutation_of_a_large_epsilon_tells_what_draws_made_alone_leave_open(refuted):
    def told(again=True, **changes):
        claim = replace(refuted.claim, **changes)
        plan = {**refuted.plan, "made_again": again}
        return wording.assumed(replace(refuted, claim=claim, plan=plan), detail=False)

    assert "differs in one process of 2,982, may not show" in told(epsilon=8.0)
    assert "differs in one process of 2,982, may not show" in told(epsilon=2.0, distance=4)
    assert "differs in one process of 1.1e+13, may" in told(epsilon=30.0)
    assert "one process" not in told(epsilon=4.5)
    assert "one process" not in told(again=False, epsilon=8.0)


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_broken_command_is_still_the_command(width):
    lines = as_text.command_lines(COMMAND, width)
    assert all(len(line) <= width for line in lines)
    assert shlex.split("\n".join(lines).replace("\\\n", " ")) == shlex.split(COMMAND)


def test_counts_are_followed_by_what_they_alone_show(refuted):
    small = Evidence(counts=refuted.evidence.counts, alpha=1e-3, level=1e-4)
    witness = replace(refuted.witness, evidence=small, epsilon_lower=1.1)
    judged = replace(refuted, pair=Pair([5], [6]), witness=witness)
    told = dict(wording.story(judged, detail=True))
    assert told["bound"].startswith("epsilon >= 1.1 on this pair, the smallest pair found")
    assert told["worst"].startswith("epsilon >= 1.234 on [6] and [5], the largest bound found:")
    both = replace(refuted, pair=Pair([5], [6]), witness=witness)
    assert "the smallest witness is the event" in wording.sentence(both)


def test_who_forgot_to_return_is_not_told_to_draw_more(sound):
    none = replace(sound, verdict=Verdict.INCONCLUSIVE, note=NO_RETURN)
    assert wording.next_step(none, "x") == "Let the mechanism return what it releases, then run: x"


@pytest.mark.parametrize("sized", [False, True])
def test_a_line_is_whole_in_a_log_and_folded_on_a_terminal(sized):
    said = []
    speak = Console(say=said.append, numbers=said.append, warn=said.append,
                    progress=lambda *_: None, paint=lambda text, _: text, width=40,
                    sized=sized)  # fmt: skip
    speak.line("word " * 30 + "\nrefuted: forged")
    (text,) = said
    lines = text.splitlines()
    assert len(lines) > 1 if sized else len(lines) == 1
    assert all(line.startswith("  ") and len(line) <= 40 for line in lines[1:])


def test_noise_that_hides_its_loss_and_foreign_generators_are_told(refuted, sound):
    """Of Gaussian noise only a claim without delta that stands is remarked."""

    def told(result, **plan):
        return " ".join(as_text.render(replace(result, plan={**result.plan, **plan})).split())

    gaussian = "claim a delta, mu or rho"
    assert gaussian in told(sound, rng=["normal"])
    assert gaussian in told(sound, rng=[], globals=["normal"])
    assert gaussian not in told(sound, rng=["laplace"])
    assert gaussian not in told(refuted, rng=["normal"])
    approximate = replace(sound, claim=replace(sound.claim, delta=1e-6))
    assert gaussian not in told(approximate, rng=["normal"])
    assert "Gaussian noise keeps no epsilon alone" in told(sound, rng=None)
    assert "global generators" not in told(sound, rng=["laplace"])
    assert "and not from the rng" in told(refuted, rng=[], globals=["bits"])
    assert "beside the rng" in told(sound, rng=["uniform"], globals=["laplace"])
