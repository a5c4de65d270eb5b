"""Formulas of the statements: all are understood, nothing is lost, nothing is misread."""

import re
from xml.etree import ElementTree

import pytest

from dpwitness.mechanisms.catalogue import THEOREMS
from dpwitness.reports.gallery.mathml import GREEK, formulas

STATEMENTS = sorted({text for one in THEOREMS for text in (one.statement, one.remark) if text})
SPELT = {"≤": "<=", "≥": ">=", "−": "-", "‖": "||", "·": "*", "∑": "sum", "′": "'", "\xa0": "_"}


def tree(text):
    return ElementTree.fromstring(f"<p>{formulas(text)}</p>")


def letters(text):
    """What was said, whatever it was set with: brackets, strokes and spaces are layout."""
    text = text.replace("Δu", "Du").replace("X̂", "Xh")
    for sign, name in [*SPELT.items(), *((sign, name) for name, sign in GREEK.items())]:
        text = text.replace(sign, name)
    text = text.replace("eps", "epsilon")
    return re.sub(r"epsilon(ilon)+", "epsilon", re.sub(r"[\s(){}/^_*⁡]|sqrt", "", text))


@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_statement_keeps_its_letters_and_numbers(statement):
    said = "".join(tree(statement).itertext())
    assert sorted(letters(said)) == sorted(letters(statement))


@pytest.mark.parametrize(
    ("typed", "markup"),
    [
        ("loses epsilon", "<mi>ε</mi>"),
        ("scale 2 Du / epsilon here", "<mfrac>"),
        ("sqrt(2 k)", "<msqrt>"),
        ("|Q| rounds", "<mo form=\"prefix\">|</mo>"),
        ("||w_1 - w*||^2 is small", "<msup><mi>w</mi><mo>*</mo></msup>"),
        ("w_(t+1)", "<msub><mi>w</mi>"),
        ("2**i", "<msup><mn>2</mn><mrow><mi>i</mi></mrow></msup>"),
        ("sum eps_i^2", "<mo>∑</mo>"),
        ("noise_epsilon holds", "<msub><mi>ε</mi><mtext>noise</mtext></msub>"),
    ],
)  # fmt: skip
def test_what_is_typed_is_set(typed, markup):
    assert markup in formulas(typed)


@pytest.mark.parametrize(
    "prose",
    [
        "a function of a private output is as private",
        "a query's weight is one of four: 1, 1, 1 and 3.01",
        "log-ratios and permute-and-flip",
        "A record (or a row) is an entry.",
        "",
    ],
)
def test_prose_stays_prose(prose):
    assert "<math" not in formulas(prose)
    assert "".join(tree(prose).itertext()) == prose


@pytest.mark.parametrize("ambiguous", ["u / 2 Du", "a / b c", "1 / n m rows"])
def test_a_stroke_that_may_mean_two_things_stays_a_stroke(ambiguous):
    assert "mfrac" not in formulas(ambiguous)


@pytest.mark.parametrize(
    "odd",
    [
        "<script>x = 1 / 2</script>",
        "((",
        "x^",
        "1 /",
        "| |",
        ")",
        "a_b_",
        "x < y & \"z'",
        "/ 2",
        "^",
    ],
)
def test_anything_makes_harmless_markup(odd):
    found = tree(odd)
    assert {one.tag for one in found.iter()}.isdisjoint({"script", "img"})
    assert sorted(letters("".join(found.itertext()))) == sorted(letters(odd))
