import re
import shlex
from dataclasses import replace
from math import inf

import pytest

from dpwitness.auditors.privacy.verdicts import NO_RETURN
from dpwitness.auditors.results import Evidence, Pair, Verdict
from dpwitness.reports.console import Console
from dpwitness.reports.faces import as_text, wording

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


def test_a_refutation_is_told_in_full(refuted):
    text = " ".join(as_text.render(refuted, replay="dpwitness replay e.json").split())
    for part in (
        "Refuted: EM-NAIVE does not keep epsilon 1 (add-remove); it loses at least 1.234.",
        "D [0, 1] D' [0, 0]",
        "output is 1",
        "in 500 of 1,000 outputs from D (50 %) in 119 of 1,000 outputs from D' (11.9 %)",
        "epsilon >= 1.234, with confidence 99.9 %",
        "after 512 draws a side",
        "12,345 outputs drawn in 1.2 s, seed 7",
        "Replay it: dpwitness replay e.json",
    ):
        assert part in text


def test_not_refuted_says_what_could_have_been_seen(sound):
    text = " ".join(as_text.render(sound).split())
    for part in (
        "Not refuted: no draw contradicts that laplace keeps epsilon 1 (add-remove).",
        "probability 0.5 or more would have been refuted with probability 0.9 if the other gave it "
        "with probability 0.149 or less (epsilon 1.21); so would 0.01 against 0.00082 (epsilon "
        "2.5). One of probability 0.001 could not be refuted.",
        "probability 0.004 or more",
        "low-order bits of floating-point outputs, and running time",
        "the draws show epsilon >= 0.871",
        "in 1,500 of 3,000 outputs from D (50 %)",
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
    assert "it loses more than 1." in wording.headline(replace(refuted, epsilon_lower=1.0))


def test_rare_events_are_told_as_one_in_so_many(sound):
    told = wording.power_sentences(replace(sound, detectable_probability=5.3e-5))
    assert "1 in 18,867 or more" in told[1]
    none = replace(sound, detectable_probability=1.0, power=((0.5, inf),), learning=None)
    assert len(wording.power_sentences(none)) == 1


def test_names_cannot_steer_the_terminal(refuted):
    claim = replace(refuted.claim, reference="\x07")
    odd = replace(refuted, mechanism="a\x1b[2Jb", note="c\rd\u202e", claim=claim)
    assert re.findall(r"[^\x20-\x7e\n]", as_text.render(odd, replay="x")) == []


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_broken_command_is_still_the_command(width):
    lines = as_text.command_lines(COMMAND, width)
    assert all(len(line) <= width for line in lines)
    assert shlex.split("\n".join(lines).replace("\\\n", " ")) == shlex.split(COMMAND)


def test_counts_are_followed_by_what_they_alone_show(refuted):
    small = Evidence(counts=refuted.evidence.counts, alpha=1e-3, level=1e-4)
    witness = replace(refuted.witness, evidence=small, epsilon_lower=1.1)
    told = dict(wording.story(replace(refuted, pair=Pair([5], [6]), witness=witness)))
    assert told["bound"].startswith("epsilon >= 1.1 from these counts")
    assert told["worst"].startswith("epsilon >= 1.234 for [")
    both = replace(refuted, pair=Pair([5], [6]), witness=witness)
    assert "the smallest witness is the event" in wording.sentence(both)


def test_who_forgot_to_return_is_not_told_to_draw_more(sound):
    none = replace(sound, verdict=Verdict.INCONCLUSIVE, note=NO_RETURN)
    assert wording.next_step(none, "x") == "let the mechanism return what it releases, and run x"


@pytest.mark.parametrize("sized", [False, True])
def test_a_line_is_whole_in_a_log_and_folded_on_a_terminal(sized):
    said = []
    speak = Console(say=said.append, warn=said.append, progress=lambda *_: None,
                    paint=lambda text, _: text, width=40, sized=sized)  # fmt: skip
    speak.line("word " * 30 + "\nrefuted: forged")
    (text,) = said
    lines = text.splitlines()
    assert len(lines) > 1 if sized else len(lines) == 1
    assert all(line.startswith("  ") and len(line) <= 40 for line in lines[1:])
