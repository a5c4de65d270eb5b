import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from math import inf, nan

import pytest

from dpwitness.auditors.results.results import Sketch, Verdict, Witness
from dpwitness.mechanisms.model import Pair
from dpwitness.reports.drawing.svg import growth_figure, sketch_figure
from dpwitness.reports.faces import as_html
from dpwitness.reports.faces.difference import difference
from dpwitness.reports.record import evidence

VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """Tags that close in order, ids that are unique, links that stay in the page."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.tags, self.data, self.addresses = [], [], [], "", []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            assert not name.startswith("on"), f"{tag} has {name}"
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "xlink:href", "action"):
                self.addresses.append(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.data += data


def page_of(*results):
    return as_html.render(results, evidence.document(results, replay="dpwitness replay e.json"))


def checked(text):
    page = Page(text)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert all(address.startswith(("#", "data:,")) for address in page.addresses)
    assert {address[1:] for address in page.addresses if address[0] == "#"} <= set(page.ids)
    return page


def test_the_page_holds_together_and_stays_at_home(sound, refuted):
    text = page_of(sound, refuted)
    page = checked(text)
    assert len(text.encode()) < 300_000
    outside = set(re.findall(r"https?://[^\s\"'<>)]+", text))
    assert outside <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "@import" not in text
    assert "url(http" not in text
    assert page.tags.count("svg") == 6
    assert page.tags.count("script") == 1
    assert json.loads(page.data)["findings"][1]["verdict"] == "refuted"
    for part in ('name="viewport"', "prefers-color-scheme", "@media print", 'role="img"'):
        assert part in text


def test_the_same_results_give_the_same_bytes(sound):
    assert page_of(sound) == page_of(sound)


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>&\"'$\\frac{\x1b\ud800"


def test_hostile_text_stays_text(refuted):
    labels = (HOSTILE, "1")
    result = replace(
        refuted,
        mechanism=HOSTILE,
        target=HOSTILE,
        note=HOSTILE,
        claim=replace(refuted.claim, reference=HOSTILE),
        pair=Pair([HOSTILE], {HOSTILE: HOSTILE}),
        witness=replace(refuted.witness, database=[HOSTILE, 1], neighbour=[1]),
        sketch=replace(refuted.sketch, labels=labels, feature=HOSTILE),
    )
    page = checked(page_of(result))
    assert page.tags.count("script") == 1
    assert "img" not in page.tags
    assert json.loads(page.data)["results"][0]["mechanism"] == HOSTILE


@pytest.mark.long
def test_a_large_database_does_not_make_a_large_page(sound):
    rows = [{"name": f"row {n}", "value": n} for n in range(20_000)]
    text = page_of(replace(sound, pair=Pair(rows, rows[1:])))
    assert len(text.encode()) < 300_000
    assert "omitted" in checked(text).data


@pytest.mark.long
def test_many_claims_do_not_make_a_large_page(sound, refuted):
    text = page_of(*[sound, refuted] * 10)
    checked(text)
    assert len(text.encode()) < 300_000


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_has_its_page(sound, verdict):
    bare = replace(
        sound,
        verdict=verdict,
        epsilon_lower=-inf,
        detectable_epsilon=inf,
        growth=(),
        sketch=None,
        evidence=replace(sound.evidence, counts=()),
    )
    checked(page_of(bare))


@pytest.mark.parametrize(
    "edges", [(-inf, inf), (0.0, 1.0), (-inf, 0.0, inf), (1e300, 1.1e300), (0.0, 1e-300, 1.0)]
)
def test_odd_axes_are_drawn(edges):
    bins = len(edges) - 1
    sketch = Sketch(
        feature="$x_$", edges=edges, labels=(), counts=((1,) * bins, (0,) * bins),
        inside=(True,) * bins,
    )  # fmt: skip
    assert sketch_figure(sketch, ("D", "D'"), key="k").startswith("<svg")


def test_a_bound_that_never_was_is_no_point(sound):
    odd = replace(sound, growth=((10, -inf), (20, nan), (30, 0.5)), epsilon_lower=inf)
    assert growth_figure(odd, key="k").startswith("<svg")


@pytest.mark.parametrize(
    ("database", "neighbour", "lines"),
    [
        ([], [7], ["+7"]),
        ([1, 0], [0, 0], ["-1", "+0", " 0"]),
        ([3] * 30, [3] * 29, [" 3x29", "-3"]),
        ([0, 1] * 9, [0, 1] * 9 + [7], [" ... 16 rows that both have", " 0", " 1", "+7"]),
        ({"a": 1}, {"a": 2}, ["-'a': 1", "+'a': 2"]),
        (4, 5, ["-4", "+5"]),
        ([], [], [" (both empty)"]),
        ("yes", "no", ["-'yes'", "+'no'"]),
        ([1], (1,), ["-[1]", "+(1,)"]),
    ],
)
def test_the_difference_of_two_databases(database, neighbour, lines):
    told = difference(Pair(database, neighbour))
    assert [f"{d.mark}{d.text}" + (f"x{d.times}" * (d.times > 1)) for d in told] == lines


def test_a_long_difference_is_cut_short():
    told = difference(Pair(list(range(0, 1000)), list(range(1000, 1999))))
    assert len(told) == 61
    assert "more lines" in told[-1].text
    assert len(difference(Pair([0] * 5000, [0] * 5001))) == 2


def test_a_witness_of_arrays(refuted):
    import numpy as np

    witness = Witness(
        database=np.arange(4.0), neighbour=np.arange(3.0), event=refuted.witness.event
    )
    checked(page_of(replace(refuted, witness=witness)))
