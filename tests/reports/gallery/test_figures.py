"""The pictures are well-formed, small, the same every time, and show what they should."""

import re
from dataclasses import replace
from typing import get_args
from xml.etree import ElementTree

import numpy as np
import pytest

from dpwitness import InvalidArgument, check
from dpwitness.mechanisms.catalogue import THEOREMS
from dpwitness.mechanisms.model import (
    Axis,
    IdentityClaim,
    Plot,
    Series,
    Subject,
    Theorem,
    ThresholdClaim,
)
from dpwitness.mechanisms.model.theorem import Meaning, Style
from dpwitness.reports.drawing.svg import CLAIM, FIRST
from dpwitness.reports.figures.marks import EXACT
from dpwitness.reports.figures.tails_figures import records_figure
from dpwitness.reports.gallery.figures import at_one_level, pictures_of, swept_parameter
from dpwitness.reports.gallery.gallery import standalone
from dpwitness.reports.statements.statements import PaperStyle, Reproduction, Statement, style_from

pytestmark = pytest.mark.quality

MOST_BYTES = 40_000
BY_NAME = {theorem.identifier: theorem for theorem in THEOREMS}


def words_of(svg):
    """The words of a picture as they are read."""
    root = ElementTree.fromstring(svg)
    return " ".join(" ".join(node.itertext()) for node in root.iter() if node.tag.endswith("text"))


def picture(few, identifier, key):
    section = next(one for one in few.sections if one.identifier == identifier)
    return next(one for one in section.pictures if one.key == key)


def test_every_picture_is_well_formed_and_small(few):
    pictures = [one for section in few.sections for one in section.pictures]
    assert len(pictures) >= len(few.sections)
    for one in pictures:
        ElementTree.fromstring(one.svg)
        assert len(one.svg) < MOST_BYTES
        assert one.pdf.startswith(b"%PDF")
        assert one.pdf.rstrip().endswith(b"%%EOF")
        assert b"CreationDate" not in one.pdf
        assert one.caption.endswith((".", "}", "]", "…")), one.caption


def test_ids_are_unique_in_a_page(few):
    text = "".join(one.svg for section in few.sections for one in section.pictures)
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    used = re.findall(r'(?:url\(#|href="#)([^)"]+)', text)
    assert set(used) <= set(ids)


def test_keys_are_unique_in_a_section(few):
    for section in few.sections:
        keys = [one.key for one in section.pictures]
        assert len(keys) == len(set(keys))


def test_every_axis_has_a_name(few):
    for section in few.sections:
        for one in section.pictures:
            words = words_of(one.svg)
            assert len(re.findall(r"[a-zA-Z]{3,}", words)) >= 2, (section.identifier, one.key)


@pytest.mark.parametrize("identifier", ["T-LAP-1", "T-COMP-BASIC", "PAC-EML-UTILITY"])
def test_the_same_results_give_the_same_bytes(few, identifier):
    section = next(one for one in few.sections if one.identifier == identifier)
    again = pictures_of(BY_NAME[identifier], section.reproductions, seed=1)
    assert again == section.pictures


def test_the_seed_changes_fresh_draws_only(few):
    section = next(one for one in few.sections if one.identifier == "T-LAP-1")
    (other,) = pictures_of(BY_NAME["T-LAP-1"], section.reproductions, seed=2)
    assert other.svg != section.pictures[0].svg
    assert words_of(other.svg) == words_of(section.pictures[0].svg)


def test_bound_measurement_and_exact_value_keep_their_colours(few):
    loss = picture(few, "EM-NAIVE", "loss").svg.lower()
    for colour, word in ((CLAIM, "claim"), (FIRST, "lower bound"), (EXACT, "exact")):
        assert colour.lower() in loss
        assert word in words_of(loss)


def test_numbers_on_an_axis_are_whole(few):
    # Coordinates are cut after two places; the labels of a logarithmic axis must not be.
    assert "0.001" in words_of(picture(few, "T-LAP-1", "tail").svg)


def test_a_refuted_statement_shows_its_counterexample(few):
    assert "counterexample" in words_of(picture(few, "ERR-PMW-4", "potential").svg)
    assert "counterexample" in words_of(picture(few, "ERR-PMW-4", "margins").svg)
    assert "counterexample" in words_of(picture(few, "ERR-EM-3", "values").svg)
    assert "refuted" in words_of(picture(few, "ERR-EM-2", "loss").svg)
    assert "event" in words_of(picture(few, "ERR-EM-2", "outputs").svg)


def test_a_sweep_is_one_picture(few):
    section = next(one for one in few.sections if one.identifier == "T-LAP-3")
    sweep, *others = section.pictures
    assert sweep.key == "sweep"
    assert "epsilon" in sweep.title
    assert {one.key for one in others} == {"loss"}


def test_the_parameter_with_most_values_is_swept(few):
    one = few.sections[0].reproductions[0]
    grid = [
        replace(one, parameters={"first": first, "second": second})
        for first in (1.0, 2.0)
        for second in (1.0, 2.0, 3.0)
    ]
    assert swept_parameter(grid) == "second"
    assert swept_parameter([one, one]) is None


def uniform_claim(level):
    """A loss that is uniform on [0, 1] for any number of records."""

    def instance(records):
        return lambda database, rng, *, size=None: rng.uniform(size=size), [0] * records

    return ThresholdClaim(
        needed=64, instance=instance, loss=lambda database, outputs: outputs, level=level, beta=0.1
    )


def test_the_limits_of_a_quantile_hold_it():
    # A fixed seed: by luck the limits miss the quantile with probability 0.01.
    claim = uniform_claim(0.95)
    theorem = Theorem(
        identifier="U", statement="uniform", reference="", subject=lambda: Subject(claim=claim)
    )
    result = check(theorem, trials=1000, seed=1)
    found = Statement(
        theorem=theorem, parameters={}, result=result, subject=Subject(claim=claim), seed=1
    )
    seen = {}

    class Axes:
        """Remembers the band and takes everything else."""

        def fill_between(self, x, low, high, **how):
            seen.update(x=x, low=low, high=high)

        def __getattr__(self, name):
            return Axes() if name.endswith("axis") else lambda *given, **how: None

    records_figure(found).paint(Axes())
    assert len(seen["x"]) == 7
    assert (np.asarray(seen["low"]) <= 0.9).all()
    assert (np.asarray(seen["high"]) >= 0.9).all()


def test_a_hostile_name_is_drawn_as_it_is(few):
    section = next(one for one in few.sections if one.identifier == "T-LAP-3")
    first = section.reproductions[0].parameters
    odd = [
        Reproduction(
            parameters={"$x_1$ <b>": value, **first},
            expected=section.reproductions[0].expected,
            result=section.reproductions[0].result,
        )
        for value in (1.0, 2.0)
    ]
    from dpwitness.reports.figures.marks import picture as make
    from dpwitness.reports.gallery.figures import sweep_figure

    made = make(sweep_figure(BY_NAME["T-LAP-3"], odd, "$x_1$ <b>"), prefix="p")
    assert "$x_1$ <b>" in words_of(made.svg)


@pytest.mark.parametrize(
    ("identifier", "key", "breaks"),
    [
        ("BQ-APM", "agreement", False),
        ("ERR-BQ-1", "agreement", True),
        ("BQ-POT", "potential", False),
        ("ERR-BQ-4", "potential", True),
    ],
)
def test_boosting_has_figures_of_its_own(identifier, key, breaks):
    theorem = BY_NAME[identifier]
    result = check(theorem, trials=10_000, seed=1)
    parameters = {name: parameter.default for name, parameter in theorem.parameters.items()}
    one = Reproduction(parameters=parameters, expected=result.verdict, result=result)
    first, *_ = pictures_of(theorem, (one,), seed=1)
    assert first.key == key
    assert ("counterexample" in words_of(first.svg)) == breaks


def own_plot(identifier):
    """The picture that a theorem brings with it, at its defaults."""
    theorem = BY_NAME[identifier]
    found = theorem.plot_at()
    assert found is not None
    return theorem, found


HAVE_PLOTS = [name for name, theorem in BY_NAME.items() if theorem.plot is not None]


@pytest.mark.parametrize("identifier", HAVE_PLOTS)
def test_a_picture_brought_along_shows_a_counterexample_exactly_where_there_is_one(identifier):
    theorem, plot = own_plot(identifier)
    broken = [one for one in plot.series if one.meaning == "counterexample" and len(one.x)]
    assert bool(broken) != theorem.holds
    assert any(one.meaning == "bound" for one in plot.series)
    for one in plot.series:
        assert np.shape(one.x) == np.shape(one.y)


@pytest.mark.parametrize("meaning", get_args(Meaning))
def test_every_look_of_a_series_can_be_drawn(meaning):
    theorem = Theorem(
        identifier="U",
        statement="drawn",
        reference="",
        subject=lambda: IdentityClaim(compute=lambda: 1.0, stated=1.0),
        plot=lambda: every_look(meaning),
    )
    result = check(theorem, seed=1)
    one = Reproduction(parameters={}, expected=result.verdict, result=result)
    first, *_ = pictures_of(theorem, (one,), seed=1)
    words = words_of(first.svg)
    assert all(style in words for style in get_args(Style))
    assert "halfway" in words


def every_look(meaning):
    """A picture with points of one meaning in every style."""
    at = np.array([1.0, 2.0, 3.0])
    return Plot(
        key="looks",
        title="Looks",
        caption="All of them.",
        x=Axis(label="place", ticks={"halfway": 2.0}),
        y=Axis(label="height", log=True),
        series=tuple(
            Series(meaning=meaning, style=style, x=at, y=at + number, label=style)
            for number, style in enumerate(get_args(Style))
        ),
    )


@pytest.mark.parametrize(
    ("text", "style"),
    [
        ("", PaperStyle()),
        ("width=3.3,size=8,serif", PaperStyle(width=3.3, size=8.0, serif=True)),
        (" serif ", PaperStyle(serif=True)),
    ],
)
def test_a_style_is_read(text, style):
    assert style_from(text) == style


@pytest.mark.parametrize("text", ["width=1", "size=40", "width", "colour=red", "size=nan", "a=b=c"])
def test_another_style_is_answered_in_a_sentence(text):
    with pytest.raises(InvalidArgument, match="--style takes width=INCHES"):
        style_from(text)


def test_a_paper_gets_its_width_letters_and_fonts(few):
    section = next(one for one in few.sections if one.identifier == "T-LAP-1")
    style = PaperStyle(width=3.3, size=8.0, serif=True)
    (one,) = pictures_of(BY_NAME["T-LAP-1"], section.reproductions, seed=1, style=style)
    box = re.search(rb"/MediaBox *\[ *0 +0 +([\d.]+)", one.pdf)
    assert float(box[1]) == pytest.approx(3.3 * 72, abs=1)
    assert b"DejaVuSerif" in one.pdf
    for made in (one, section.pictures[0]):
        assert b"/CIDFontType2" in made.pdf
        assert b"/Type3" not in made.pdf
    assert "font-family:'DejaVu Serif'" in standalone(one.svg, serif=True)
    # A narrow axis has other numbers on it, and the same names.
    plain = section.pictures[0].svg
    assert re.findall("[a-z]+", words_of(one.svg)) == re.findall("[a-z]+", words_of(plain))


def test_a_sweep_of_tails_is_at_one_level():
    """Each setting is told at its own headline; a line through several would mean nothing."""
    found = [
        check("EM-3.12", parameters={"epsilon": epsilon}, trials=2_000) for epsilon in (0.5, 2.0)
    ]
    points = at_one_level(found)
    (level,) = {one.claimed for one in points}
    assert points[0].loss > points[1].loss
    for one, point in zip(found, points, strict=True):
        columns = one.finding.table.columns
        rows = [dict(zip(columns, row, strict=True)) for row in one.finding.table.rows]
        assert (level, point.loss) in [(row["beta"], row["bound"]) for row in rows]
        assert point.low <= point.value <= point.high
