"""Values that no constant of the code is, and what is proposed for them."""

import re
import unicodedata
from itertools import product

import pytest
from hypothesis import strategies as st

from dpwitness import Pair
from dpwitness.auditors.search.choices import ChoiceSpace, ExampleChoice
from dpwitness.auditors.search.constants import constants_of
from dpwitness.auditors.search.corners import corners, exhausted
from dpwitness.auditors.search.dictionary import conjunctions, runs, shaped
from dpwitness.auditors.search.suggestions import Suggestions, forms_of, in_turn

CITIES = ("Bergen", "Oslo", "Vaduz", "Rome")
CODE = re.compile(r"[A-Z]{2}-\d{4}")


def capitals_and_digits(text):
    return len(text) == 8 and text[:2].isupper() and text[2:].isdigit()


def matches(text):
    return CODE.fullmatch(text)


def not_normal(text):
    return unicodedata.normalize("NFC", text) != text


@pytest.mark.parametrize("meets", [capitals_and_digits, matches, not_normal])
def test_texts_of_a_form_are_among_the_proposals(meets):
    space = ChoiceSpace(st.text(max_size=12))
    choice = space.made([]).choices[0]
    assert any(map(meets, forms_of(constants_of(meets), choice)))


def test_a_form_is_permitted_by_the_choice():
    choice = ExampleChoice("integer", 0, {"min_value": 100, "max_value": 5000})
    found = forms_of((), choice)
    assert {128, 4096, 1000, 1023} <= set(found)
    assert all(100 <= value <= 5000 for value in found)


def on_a_day(rows):
    return any(day.toordinal() == 725_413 for day in rows)


def test_a_day_may_be_named_by_its_ordinal():
    space = ChoiceSpace(st.lists(st.dates(), max_size=2))
    example = space.made([True, 2000, 1, 1, False])
    found = runs(Suggestions(constants_of(on_a_day)), example)
    assert any(on_a_day(space.made(choices).value) for choices in found)


def on_a_leap_day(rows):
    return any(day.day == 29 and day.month == 2 for day in rows)


def test_a_day_may_be_named_by_month_and_day_in_any_order():
    space = ChoiceSpace(st.lists(st.dates(), max_size=2))
    example = space.made([True, 2001, 1, 1, False])
    found = runs(Suggestions(constants_of(on_a_leap_day)), example)
    assert any(on_a_leap_day(space.made(choices).value) for choices in found)


def test_an_extreme_may_come_a_second_time():
    """Of a long list the first and the row that comes are the largest, and no other is."""

    @st.composite
    def pairs(draw):
        rows = draw(st.lists(st.integers(0, 99), min_size=9, max_size=9))
        return Pair(rows, [*rows, draw(st.integers(0, 99))])

    example = ChoiceSpace(pairs()).made([])
    found = [
        ChoiceSpace(pairs()).made(choices).value for choices in corners(Suggestions(()), [example])
    ]
    assert any(p.database.count(99) == 1 and p.neighbour.count(99) == 2 for p in found)


def old_in_vaduz(rows):
    return any(r["age"] > 64 and r["city"] == "Vaduz" and r["pay"] > 90_000 for r in rows)


def below(rows):
    return any((a, city) == (7, "Rome") and c < -250 for a, city, c in rows)


STAFF = st.lists(
    st.fixed_dictionaries({
        "age": st.integers(16, 99), "city": st.sampled_from(CITIES), "pay": st.integers(0, 200_000),
    }),
    max_size=9,
)  # fmt: skip
TUPLES = st.lists(
    st.tuples(st.integers(0, 999), st.sampled_from(CITIES), st.integers(-500, 500)), max_size=9
)


@pytest.mark.parametrize(("meets", "rows"), [(old_in_vaduz, STAFF), (below, TUPLES)])
def test_conditions_on_three_fields_are_met_together(meets, rows):
    space = ChoiceSpace(rows)
    one_row = space.made([True, *space_of_one(space)])
    assert len(one_row.value) == 1
    proposed = conjunctions(Suggestions(constants_of(meets)), space, [one_row])
    tried = [space.made(choices).value for choices, _ in zip(proposed, range(105), strict=False)]
    assert any(map(meets, tried))


def space_of_one(space):
    """The choices of the simplest row, and no more rows."""
    plain = space.made([True])
    return [*[choice.value for choice in plain.choices[1:-1]], False]


def test_two_valued_lists_are_exhausted():
    bits = st.lists(st.integers(0, 1), max_size=4)
    pairs = st.tuples(bits, st.integers(0, 3)).map(lambda p: Pair(p[0], p[1]))
    space = ChoiceSpace(pairs)
    example = space.made([True, 1, False, 0])
    found = {
        (tuple(made.value.database), made.value.neighbour)
        for choices in exhausted(space, [example])
        if (made := space.made(choices)) is not None
    }
    lists = [rows for size in range(5) for rows in product((0, 1), repeat=size)]
    assert found == set(product(lists, range(4)))


def test_round_numbers_are_proposed_in_a_row():
    space = ChoiceSpace(st.lists(st.integers(0, 10**6), max_size=4))
    example = space.made([True, 5, False])
    found = [space.made(choices).value for choices in shaped(Suggestions(()), [example])]
    assert [2**19] in found
    assert list(in_turn([iter([[1]]), iter([])])) == [[1]]
