"""The folder of a gallery: one page that stands alone, pictures, tables with every digit."""

import csv
import errno
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO
from math import isnan
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from dpwitness import Estimate, Table, Verdict
from dpwitness.auditors.claims.claim_results import Finding
from dpwitness.auditors.errors import InvalidArgument
from dpwitness.reports.faces.claim_faces import counterexample, measured_phrase, number
from dpwitness.reports.gallery.gallery import gallery_page, plain_names, shortened, write_gallery
from dpwitness.reports.statements.statements import CONTROLS
from dpwitness.reports.writing import files

pytestmark = pytest.mark.quality

VOID = {"meta", "link", "input", "br", "path", "circle"}
HOSTILE = "<script>alert(1)</script>\"'&\x1b[31m</style>"


class Page(HTMLParser):
    """Checks that elements close in order; collects ids, links and elements."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.links, self.elements, self.words = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        known = dict(attributes)
        self.elements.append((tag, known))
        self.ids += [known["id"]] if "id" in known else []
        self.links += [known[name] for name in ("href", "src", "xlink:href") if name in known]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.words.append(data)


@pytest.fixture(scope="module")
def text(written):
    return (written / "index.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_ids_are_unique_and_every_anchor_has_a_target(page):
    assert len(page.ids) == len(set(page.ids))
    inside = [unquote(link[1:]) for link in page.links if link.startswith("#")]
    assert inside
    assert set(inside) <= set(page.ids)


def test_every_file_linked_is_there_and_every_file_is_linked(page, written):
    linked = {link for link in page.links if not link.startswith(("#", "data:"))}
    there = {path.relative_to(written).as_posix() for path in written.rglob("*") if path.is_file()}
    assert linked == there - {"index.html"}


def test_nothing_is_fetched(text, page):
    assert not [link for link in page.links if re.match(r"[a-z]+:(?!,)|//", link)]
    assert not re.search(r"@import|url\((?!#)", text)
    addresses = set(re.findall(r"https?://[^\s\"'<]+", text))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_every_statement_has_a_section_a_row_and_its_pictures(few, page):
    names = plain_names(section.identifier for section in few.sections)
    rows = [known["data-of"] for tag, known in page.elements if tag == "tr" and "data-of" in known]
    assert rows == list(names.values())
    for section in few.sections:
        assert names[section.identifier] in page.ids
        for picture in section.pictures:
            assert f"{names[section.identifier]}:{picture.key}" in page.ids


def test_both_verdicts_stand_side_by_side(page):
    words = " ".join(" ".join(page.words).split())
    assert re.search(r"Proved\s?, as expected · by draws: Not refuted · exactly: Proved", words)
    assert "not used" in words


def test_the_printed_statements_are_told_with_counterexample_and_corrected_form(few, text):
    part = text[text.index('id="errata"') : text.index('id="summary"')]
    for section in few.sections:
        assert (f'href="#{section.identifier}"' in part) == (
            section.printed_wrongly or section.identifier in {s.corrected for s in few.sections}
        )
    assert "Stated is 0.3678794412, but it comes out as 0.1839397206." in part
    assert "occurs in" in part
    assert "the margin is" in part


def test_works_without_scripts(text):
    assert '<form id="filter" hidden>' in text
    assert not re.search(r"<[^>]+ on[a-z]+=", text)


def test_pictures_are_written_as_they_are(few, written):
    for section in few.sections:
        name = plain_names([section.identifier])[section.identifier]
        for picture in section.pictures:
            assert (written / f"figures/{name}-{picture.key}.pdf").read_bytes() == picture.pdf
            root = ElementTree.parse(written / f"figures/{name}-{picture.key}.svg").getroot()
            assert {"width", "height", "viewBox"} <= set(root.keys())


def test_tables_have_every_digit(few, written):
    for section in few.sections:
        name = plain_names([section.identifier])[section.identifier]
        rows = list(csv.reader(StringIO((written / f"tables/{name}.csv").read_text("utf-8"))))
        found = [one.result.finding for one in section.reproductions]
        tables = [one.table for one in found if one.table]
        if not tables:
            continue
        names = sorted(section.reproductions[0].parameters)
        assert rows[0] == [*names, *tables[0].columns]
        expected = [
            [*(one.parameters[name] for name in names), *row]
            for one in section.reproductions
            for row in one.result.finding.table.rows
        ]
        assert len(rows) == 1 + len(expected)
        for row, values in zip(rows[1:], expected, strict=True):
            for cell, value in zip(row, values, strict=True):
                assert cell == "" if value is None else read_back(cell, value)


def read_back(cell, value):
    if isinstance(value, bool | str):
        return cell == str(value)
    return float(cell) == value or isnan(value)


def test_the_summary_table_has_every_setting(few, written):
    rows = list(csv.DictReader(StringIO((written / "summary.csv").read_text("utf-8"))))
    results = [one.result for section in few.sections for one in section.reproductions]
    assert [row["verdict"] for row in rows] == [one.verdict.value for one in results]
    assert [float(row["bound"]) for row in rows] == [one.finding.claimed for one in results]
    assert [float(row["low"]) for row in rows] == [one.finding.measured.low for one in results]
    assert rows[[r["identifier"] for r in rows].index("T-LAP-3")]["parameters"]


def hostile(few):
    one = few.sections[0]
    known = one.reproductions[0].result
    finding = replace(
        known.finding,
        method=HOSTILE, scope=HOSTILE, note=HOSTILE,
        table=Table(columns=(HOSTILE,), rows=((HOSTILE,),)),
        sampled=Verdict.NOT_REFUTED, proved=None,
    )  # fmt: skip
    result = replace(known, statement=HOSTILE, reference=HOSTILE, finding=finding)
    section = replace(
        one,
        identifier=f"../{HOSTILE}", group=HOSTILE, statement=HOSTILE, reference=HOSTILE,
        corrected=HOSTILE, remark=HOSTILE, holds=False, meanings={HOSTILE: HOSTILE},
        reproductions=(
            replace(one.reproductions[0], parameters={HOSTILE: 1.0}, result=result),
        ),
    )  # fmt: skip
    return replace(few, sections=(section,), command=HOSTILE)


def test_hostile_text_stays_text(few, tmp_path):
    write_gallery(hostile(few), tmp_path / "out")
    text = (tmp_path / "out/index.html").read_text(encoding="utf-8")
    page = Page(text)
    assert sum(tag == "script" for tag, _ in page.elements) == 1
    assert "\x1b" not in text
    assert any("<script>alert(1)</script>" in words for words in page.words)
    inside = {os.path.realpath(path) for path in (tmp_path / "out").rglob("*")}
    assert all(path.startswith(os.path.realpath(tmp_path / "out")) for path in inside)
    assert {path.name for path in tmp_path.iterdir()} == {"out"}


def test_what_is_not_as_expected_comes_first(few):
    section = few.sections[0]
    odd = replace(section.reproductions[0], expected=Verdict.REFUTED)
    changed = replace(few, sections=(replace(section, reproductions=(odd,)), *few.sections[1:]))
    text = gallery_page(changed, plain_names(one.identifier for one in few.sections))
    assert "1 came out otherwise than expected" in text
    assert text.index('id="unexpected"') < text.index('id="errata"')
    assert 'id="unexpected"' not in gallery_page(
        few, plain_names(one.identifier for one in few.sections)
    )


def test_negative_controls_are_not_called_printed_statements(few):
    wrong = next(one for one in few.sections if not one.holds)
    made = replace(wrong, group=CONTROLS)
    text = gallery_page(replace(few, sections=(made,)), plain_names([made.identifier]))
    assert "0 statements, and 1 negative control: every verdict is as expected." in text
    assert 'id="errata"' not in text
    assert "as printed, false" not in text


def test_an_empty_gallery_is_a_page(few, tmp_path):
    write_gallery(replace(few, sections=()), tmp_path)
    Page((tmp_path / "index.html").read_text(encoding="utf-8"))


def test_the_same_gallery_gives_the_same_bytes(few, written, tmp_path):
    write_gallery(few, tmp_path)
    for path in written.rglob("*"):
        if path.is_file():
            assert (tmp_path / path.relative_to(written)).read_bytes() == path.read_bytes()


def test_a_file_in_the_way_is_one_sentence(few, tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(InvalidArgument, match=r"^cannot write the gallery to .*out': file exists$"):
        write_gallery(few, tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine"


def test_a_full_disk_leaves_no_half_file(few, tmp_path, monkeypatch):
    real, made = files._write_all, []

    def full(handle, data):
        made.append(handle)
        if len(made) == 5:
            real(handle, data[:10])
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle, data)

    monkeypatch.setattr(files, "_write_all", full)
    with pytest.raises(InvalidArgument, match=r"no space left on device$"):
        write_gallery(few, tmp_path)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) == 4
    assert not any(path.suffix == ".part" for path in written)
    assert not (tmp_path / "index.html").exists()


@pytest.mark.parametrize(
    ("identifiers", "names"),
    [
        (["T-COMP-HET", "T-COMP-HET*"], ["T-COMP-HET", "T-COMP-HET-star"]),
        (["C-6", "summary", "../x"], ["C-6", "S-summary", "S-_x"]),
        (["A-b", "a-B", "A-b!"], ["A-b", "a-B-2", "A-b_"]),
        (["EM-3.10"], ["EM-3.10"]),
    ],
)
def test_names_are_plain_and_differ(identifiers, names):
    assert list(plain_names(identifiers).values()) == names


@pytest.mark.parametrize(
    ("value", "told"),
    [(None, ""), (True, "yes"), (-0.0, "0"), (12345, "12,345"), (0.123456, "0.1235"), ("a", "a")],
)
def test_numbers_in_words(value, told):
    assert number(value) == told


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("D is [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5].", "D is [0.5] * 7."),
        ("[0, 0, 1]", "[0, 0, 1]"),
        (f"{list(range(30))}", "[0, 1, 2, 3, 4, … 24 more …, 29]"),
        ("(1, 1, 1, 1, 1, 1, 1, 2)", "(1, 1, 1, 1, 1, 1, 1, 2)"),
        ("[[0, 0, 0, 0, 0, 0, 0], [1]]", "[[0] * 7, [1]]"),
        ("no list, only words", "no list, only words"),
    ],
)
def test_long_vectors_are_shortened(long, short):
    assert shortened(long) == short


def test_a_page_alone_links_to_no_file(few):
    names = plain_names(one.identifier for one in few.sections)
    links = Page(gallery_page(few, names, alone=True)).links
    assert all(link.startswith(("#", "data:")) for link in links)


def test_an_open_interval_is_told_as_one(few):
    result = replace(
        few.sections[0].reproductions[0].result,
        kind="expectation",
        finding=Finding(
            claimed=1.0,
            measured=Estimate(value=1.0, low=float("-inf"), high=float("inf"), error=0.1),
        ),
    )
    assert measured_phrase(result) == "1 [−∞, ∞]"


def test_a_statement_that_stands_has_no_counterexample(few):
    for section in few.sections:
        for one in section.reproductions:
            assert bool(counterexample(one.result)) == one.result.refuted
