"""Every kind of page in a browser without a network: on a phone and a desk, by day and by night."""

from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

from dpwitness.reports.faces.as_html import render as audit_page
from dpwitness.reports.history.page import render as history_page
from dpwitness.reports.history.reading import AuditedClaim
from dpwitness.reports.record import evidence

pytestmark = pytest.mark.quality

UNFOLD = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
WIDEST = """
[document.documentElement.scrollWidth,
 [...document.querySelectorAll("body *")]
   .filter((one) => !one.closest(".scroll, svg, .diff, thead") && one.offsetParent)
   .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
   .map((one) => `${one.tagName}.${one.className} ${one.textContent.slice(0, 40)}`).slice(0, 5)]
"""
CONTRAST = """
(() => {
  const parse = (text) => {
    const found = text.match(/[\\d.]+/g).map(Number);
    return [found[0], found[1], found[2], found.length > 3 ? found[3] : 1];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[3] * top[i] + (1 - top[3]) * below[i]);
  const light = (colour) => {
    const [r, g, b] = colour.map((v) => v / 255).map(
      (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (one) => {
    if (!one) return parse(getComputedStyle(document.body).backgroundColor).slice(0, 3);
    const colour = parse(getComputedStyle(one).backgroundColor);
    return colour[3] === 0 ? behind(one.parentElement) : over(colour, behind(one.parentElement));
  };
  const poor = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const one = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim()) continue;
    if (one.closest("script, style, title, desc, option") || !one.getClientRects().length) continue;
    const style = getComputedStyle(one);
    const ink = parse(one.closest("svg") ? style.fill : style.color);
    const paper = behind(one);
    const shades = [light(over(ink, paper)), light(paper)].sort((a, b) => b - a);
    const ratio = (shades[0] + 0.05) / (shades[1] + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) poor.push([ratio.toFixed(2), one.textContent.slice(0, 40)]);
  }
  return poor.slice(0, 8);
})()
"""
LINKS = "[...document.querySelectorAll('[href], [src]')].map((one) => one.href || one.src)"
IDS = "[...document.querySelectorAll('[id]')].map((one) => one.id)"
UNSEEN = """
[...document.querySelectorAll(".unseen")].map((one) => {
  const about = one.closest("article") || document.body;
  // The histogram of the outputs stands beside the witness; all other pictures come later.
  const figure = [...about.querySelectorAll("figure")].find((one) => !one.closest(".two"));
  return [one.querySelector("h3").textContent, one.querySelectorAll("dd p").length,
          !figure || !!(one.compareDocumentPosition(figure) & Node.DOCUMENT_POSITION_FOLLOWING)];
})
"""


def an_audit(run, **changes):
    return {
        "run": f"run-{run}", "verdict": "not_refuted", "recorded": f"2026-11-{run:02}T08:30:00Z",
        "epsilon_lower": 0.6 + 0.02 * run, "joint_bound": 0.05 * run, "joint_log_wealth": 0.1,
        "draws": 123_456, "test": f"tests/privacy/test_releases.py::test_histogram[{run}]",
        "source": "5" * 32, "remark": "", "counted": 1, **changes,
    }  # fmt: skip


@pytest.fixture(scope="session")
def pages(sound, refuted, written, tmp_path_factory):
    """A file for each kind of page."""
    folder = tmp_path_factory.mktemp("pages")
    results = [sound, refuted]
    document = evidence.document(results, replay="dpwitness replay evidence.json release.py:f")
    claim = {"epsilon": 1.0, "delta": 1e-6, "relation": "add-remove", "distance": 1}
    audits = [an_audit(run) for run in range(1, 13)]
    for place in (3, 4):
        audits[place] |= {"verdict": "refuted", "epsilon_lower": 1.4, "joint_bound": None}
    audits[7] |= {"epsilon_lower": float("-inf")}
    audits[9:] = [
        {**one, "source": "6" * 32, "remark": "repeated seed", "counted": 0} for one in audits[9:]
    ]
    told = [AuditedClaim("noisy_histogram", claim, tuple(audits)),
            AuditedClaim("a_name_that_is_longer_than_most_" * 3, {**claim, "delta": 0.0},
                    (an_audit(1, verdict="inconclusive", source=""),))]  # fmt: skip
    made = {
        "audit": audit_page(results, document, ["dpwitness audit release.py:f --epsilon 1"] * 2),
        "one": audit_page([refuted], evidence.document([refuted], replay="dpwitness replay e"), []),
        "history": history_page(told, ""),
    }
    for name, text in made.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in made} | {"gallery": written / "index.html"}


@pytest.fixture(params=["audit", "one", "history", "gallery"])
def kind(request):
    return request.param


@pytest.fixture(params=[(390, False), (390, True), (1280, False), (1280, True)],
                ids=["phone", "phone by night", "desk", "desk by night"])  # fmt: skip
def opened(request, browser, pages, kind):
    """The page with everything unfolded; gives the browser, the file and the width."""
    width, dark = request.param
    browser.open(pages[kind].as_uri(), width=width, dark=dark)
    browser.evaluate(UNFOLD)
    return browser, pages[kind], width


def test_a_page_fits_is_legible_and_keeps_to_itself(opened):
    browser, path, width = opened
    widest, beyond = browser.evaluate(WIDEST)
    assert (widest <= width, beyond) == (True, [])
    assert browser.evaluate(CONTRAST) == []
    assert not browser.heard(
        "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"
    )
    asked = {one["request"]["url"] for one in browser.heard("Network.requestWillBeSent")}
    assert asked - {"data:,"} == {path.as_uri()}


def test_every_link_leads_somewhere(browser, pages, kind):
    browser.open(pages[kind].as_uri(), width=1280)
    ids = set(browser.evaluate(IDS))
    for link in browser.evaluate(LINKS):
        found = urlparse(link)
        if found.scheme == "data":
            continue
        assert found.scheme == "file", link
        assert Path(unquote(found.path)).is_file(), link
        assert not found.fragment or unquote(found.fragment) in ids, link


def test_what_the_run_could_not_see_stands_in_every_page(browser, pages, kind):
    browser.open(pages[kind].as_uri(), width=1280)
    told = browser.evaluate(UNSEEN)
    assert told
    for heading, sentences, in_place in told:
        assert heading == "What was and was not examined"
        assert sentences >= 2
        assert in_place
    assert browser.evaluate("document.querySelectorAll('#not-looked-at li').length") >= 10


def test_day_and_night_have_looks_of_their_own(browser, pages, kind):
    look = (
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    looks = []
    for dark in (False, True):
        browser.open(pages[kind].as_uri(), width=1280, dark=dark)
        looks.append(browser.evaluate(look))
    assert looks[0][0] != looks[1][0]
    assert looks[0][1] != looks[1][1]
