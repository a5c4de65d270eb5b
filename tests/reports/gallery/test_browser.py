"""The gallery in a browser without a network, on a phone and on a desk."""

import json
import re
from dataclasses import replace

import pytest

from dpwitness.mechanisms.catalogue import THEOREMS
from dpwitness.reports.gallery.gallery import write_gallery

pytestmark = pytest.mark.quality

UNFOLD = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
FIGURES = """
[...document.querySelectorAll("figure svg")].map((svg) => {
  const box = svg.getBoundingClientRect();
  return [box.left, box.right, box.width, box.height];
})
"""
WIDEST = "document.documentElement.scrollWidth"
ANCHORS = """
[...document.querySelectorAll('a[href^="#"]')].map((link) => link.getAttribute("href"))
"""


@pytest.fixture(params=[390, 1280])
def opened(request, browser, written):
    """The page at both widths; gives the browser and the width."""
    browser.open((written / "index.html").as_uri(), width=request.param)
    return browser, request.param


def jump(browser, anchor):
    """Follow an anchor; how far its target is from the top, and how far there is to scroll."""
    return browser.evaluate(f"""
new Promise((done) => {{
  location.hash = "";
  location.hash = {json.dumps(anchor)};
  const settled = () => {{
    const target = document.getElementById(decodeURIComponent({json.dumps(anchor)}.slice(1)));
    const left = document.documentElement.scrollHeight - innerHeight - scrollY;
    done([target.getBoundingClientRect().top, left]);
  }};
  setTimeout(settled, 60);
}})
""")


def test_every_figure_is_seen_whole(opened, few):
    browser, width = opened
    browser.evaluate(UNFOLD)
    boxes = browser.evaluate(FIGURES)
    assert len(boxes) == sum(len(section.pictures) for section in few.sections)
    for left, right, wide, high in boxes:
        assert left >= 0
        assert right <= width
        assert wide > 250
        assert high > 140


def test_nothing_is_wider_than_the_page(opened):
    browser, width = opened
    browser.evaluate(UNFOLD)
    assert browser.evaluate(WIDEST) <= width


def test_no_statement_is_wider_than_a_phone(browser, few, tmp_path):
    # A formula is a row of boxes that do not wrap: whatever holds one must scroll by itself. The
    # figures of one statement stand for all, since the words and formulas are what is tried.
    first = few.sections[0]
    sections = tuple(
        replace(first, identifier=theorem.identifier, statement=theorem.statement,
                corrected=theorem.corrected, remark=theorem.remark, pictures=())
        for theorem in THEOREMS
    )  # fmt: skip
    assert len(sections) > 200
    write_gallery(replace(few, sections=sections), tmp_path / "out")
    browser.open((tmp_path / "out" / "index.html").as_uri(), width=390)
    assert browser.evaluate(WIDEST) <= 390
    browser.evaluate(UNFOLD)
    assert browser.evaluate(WIDEST) <= 390


def test_every_anchor_leads_to_its_target(opened):
    browser, _ = opened
    for anchor in dict.fromkeys(browser.evaluate(ANCHORS)):
        top, left = jump(browser, anchor)
        assert -2 <= top <= 40 or left <= 2, anchor


def test_the_console_is_silent_and_nothing_is_asked_for(opened, written):
    browser, _ = opened
    browser.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    assert not browser.heard(
        "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"
    )
    asked = {
        one["request"]["url"].partition("#")[0]
        for one in browser.heard("Network.requestWillBeSent")
    }
    assert asked - {"data:,"} == {(written / "index.html").as_uri()}


def test_the_filter_hides_what_does_not_fit_and_an_anchor_brings_it_back(opened):
    browser, _ = opened
    shown = "document.querySelectorAll('article:not([hidden])').length"
    every = browser.evaluate(shown)
    browser.evaluate("""
(() => {
  const form = document.getElementById("filter");
  form.elements.verdict.value = "refuted";
  form.elements.search.value = "err-em";
  form.dispatchEvent(new Event("input"));
})()
""")
    assert browser.evaluate(shown) == 2 < every
    assert browser.evaluate("document.querySelector('#filter output').value") == f"2 of {every}"
    assert not browser.evaluate("document.querySelector('#T-LAP-1 > details').open")
    top, _ = jump(browser, "#T-LAP-1")
    assert browser.evaluate("document.querySelector('#T-LAP-1 > details').open")
    assert browser.evaluate(shown) == every
    assert -2 <= top <= 40


def test_what_is_unfolded_is_printed_and_the_rest_is_not(opened):
    browser, _ = opened
    folded = browser.pdf()
    assert folded.startswith(b"%PDF")
    browser.evaluate(UNFOLD)
    assert pages(folded) < pages(browser.pdf())


def pages(pdf):
    return len(re.findall(rb"/Type */Page\b", pdf))


def test_a_printed_row_of_the_table_is_no_column_of_words(browser, written):
    # A4 less its margins, at 96 pixels an inch; every statement in a few lines.
    browser.open((written / "index.html").as_uri(), width=658)
    browser.ask("Emulation.setEmulatedMedia", media="print")
    heights = browser.evaluate(
        "[...document.querySelectorAll('.summary tbody tr')].map((row) => row.offsetHeight)"
    )
    browser.ask("Emulation.setEmulatedMedia", media="")
    assert heights
    assert max(heights) < 160
    assert sum(heights) / len(heights) < 90


def test_dark_and_light_have_different_ink(browser, written):
    ink = "getComputedStyle(document.body).color"
    found = []
    for dark in (False, True):
        browser.open((written / "index.html").as_uri(), width=1280, dark=dark)
        found.append(browser.evaluate(ink))
    assert found[0] != found[1]
