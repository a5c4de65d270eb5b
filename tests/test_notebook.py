"""Results in Python's hands: shown, drawn, written to files and read back."""

import json
from dataclasses import fields
from html.parser import HTMLParser

import numpy as np
import pytest

import dpwitness
from dpwitness.auditors.privacy import run
from dpwitness.auditors.results.results import AuditResult


def noisy(database, rng, *, size=None):
    return sum(database) + rng.laplace(scale=0.2, size=size)


ASKED = {"epsilon": 1.0, "relation": "add-remove", "pair": ([], [1]), "trials": 2000, "seed": 3}


@pytest.fixture(scope="module")
def report():
    return dpwitness.audit(noisy, **ASKED)


class Closed(HTMLParser):
    """Elements that close in order; their texts and ids."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.tags, self.ids = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.tags.append(tag)
        self.ids += [value for name, value in attributes if name == "id"]

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.mark.slow
def test_a_report_is_the_result_of_the_audit(report):
    plain = run.audit(noisy, **ASKED)
    assert isinstance(report, AuditResult)
    assert isinstance(report, dpwitness.AuditReport)
    for one in fields(AuditResult):
        if one.name != "seconds":
            assert getattr(report, one.name) == getattr(plain, one.name), one.name
    every = dpwitness.audit_claims(noisy, **ASKED)
    assert [type(one) for one in every] == [dpwitness.AuditReport]


@pytest.mark.long
def test_what_is_saved_is_the_evidence_and_replays(report, tmp_path):
    path = tmp_path / "evidence.json"
    report.save(path)
    written = json.loads(path.read_text())
    assert json.loads(report.to_json()) == report.to_dict()
    told = report.to_dict()
    assert str(path) in written["results"][0]["replay"]
    told["results"][0]["replay"] = written["results"][0]["replay"]
    assert written == json.loads(json.dumps(told))
    (outcome,) = dpwitness.replay(path, noisy)
    assert outcome.same


@pytest.mark.long
def test_a_page_is_saved_where_the_name_says_html(report, tmp_path):
    report.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")


def test_other_names_and_places_are_answered_in_a_sentence(report, tmp_path):
    with pytest.raises(dpwitness.InvalidArgument, match=r"ends in \.html, got \.txt"):
        report.save(tmp_path / "result.txt")
    with pytest.raises(dpwitness.InvalidArgument, match="no ending"):
        report.save(tmp_path / "result")
    with pytest.raises(dpwitness.InvalidArgument, match=r"cannot write .*no such file"):
        report.save(tmp_path / "none" / "result.json")
    assert list(tmp_path.iterdir()) == []


def test_a_notebook_shows_the_witness_and_both_histograms(report):
    page = Closed(report._repr_html_())
    told = " ".join(page.texts)
    assert "Refuted: noisy does not keep epsilon 1" in " ".join(told.split()).replace("\xa0", " ")
    assert page.tags.count("svg") == 1
    assert "script" not in page.tags
    assert "What was and was not examined" in told
    counts = report.witness.evidence or report.evidence
    hits, trials = counts.hits, counts.trials
    for number in (*hits, *trials):
        assert f"{number:,}" in told


@pytest.mark.long
def test_hostile_names_stay_text_in_a_notebook():
    def leak(database, rng):
        return f"<script>{len(database)}</script>"

    leak.__name__ = "<img src=x>"
    result = dpwitness.audit(leak, epsilon=1.0, relation="declared", pair=([], ["<b>"]), trials=500)
    assert not {"script", "img", "b"} & set(Closed(result._repr_html_()).tags)


def test_a_figure_has_both_histograms_and_the_growth(report):
    drawing = report.plot()
    histogram, growth = drawing.axes
    names = [text.get_text() for text in histogram.get_legend().get_texts()]
    assert {"D", "D'"} <= set(names)
    assert growth.get_ylabel() == "epsilon (nats)"
    drawing.canvas.draw()


def test_a_report_without_a_picture_is_shown_and_drawn(report):
    bare = dpwitness.AuditReport(
        **{one.name: getattr(report, one.name) for one in fields(report)} | {"sketch": None}
    )
    assert "svg" not in Closed(bare._repr_html_()).tags
    assert len(bare.plot().axes) == 1


@pytest.mark.long
def test_arrays_as_databases_are_shown(report):
    result = dpwitness.audit(
        lambda rows, rng: float(np.sum(rows)) + rng.laplace(),
        epsilon=1.0, relation="declared", pair=(np.zeros(3), np.ones(3)), trials=200,
    )  # fmt: skip
    Closed(result._repr_html_())
    assert json.loads(result.to_json())["results"]


@pytest.fixture(scope="module")
def tail():
    claim = dpwitness.UtilityClaim(
        loss=lambda database, output: np.abs(np.asarray(output) - sum(database)),
        bound=lambda beta: 0.1 * np.log(1 / beta),
        databases=([1],),
        identifier="TAIL",
    )
    mechanism = dpwitness.Mechanism(
        name="noisy",
        run=noisy,
        claims=(claim,),
        databases=dpwitness.Rows(row=dpwitness.Interval(low=0, high=1)),
    )
    return dpwitness.check(dpwitness.Subject(claim=claim, mechanism=mechanism), trials=2000)


@pytest.mark.long
def test_a_claim_of_another_kind_is_shown_drawn_and_written(tail, tmp_path):
    assert isinstance(tail, dpwitness.ClaimResult)
    assert tail.refuted
    page = Closed(tail._repr_html_())
    told = " ".join(page.texts)
    for part in ("Refuted: noisy, TAIL (utility)", "On the database [1], the loss reaches"):
        assert part in told
    assert page.tags.count("svg") == 1
    assert repr(tail).startswith("<Refuted: noisy, TAIL (utility): P ≤ ")
    assert json.loads(tail.to_json())["verdict"] == "refuted"
    assert tail.plot().axes
    tail.save(tmp_path / "tail.html")
    assert (tmp_path / "tail.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    tail.save(tmp_path / "tail.json")
    assert json.loads((tmp_path / "tail.json").read_text()) == tail.to_dict()
    with pytest.raises(dpwitness.InvalidArgument, match="ends in"):
        tail.save(tmp_path / "tail.txt")


def test_results_of_several_claims_are_shown_one_below_the_other(report):
    from dpwitness.notebook import AuditReports

    page = Closed(AuditReports([report, report])._repr_html_())
    assert page.tags.count("table") == 2
    assert Closed(AuditReports()._repr_html_()).tags == []
