"""Values that no constant of the code is, and what is proposed for them."""

import math
import re
import unicodedata
from datetime import date
from decimal import Decimal
from ipaddress import ip_address
from itertools import product

import pytest
from hypothesis import strategies as st

from dpwitness import Pair
from dpwitness.auditors.search.choices import ChoiceSpace, ExampleChoice
from dpwitness.auditors.search.constants import constants_of
from dpwitness.auditors.search.proposals import (
    conjunctions,
    corners,
    exhausted,
    inner,
    repeated,
    runs,
    shaped,
)
from dpwitness.auditors.search.suggestions import Suggestions, forms_of, in_turn

CITIES = ("Bergen", "Oslo", "Vaduz", "Rome")
CODE = re.compile(r"[A-Z]{2}-\d{4}")


def capitals_and_digits(text):
    return len(text) == 8 and text[:2].isupper() and text[2:].isdigit()


def matches(text):
    return CODE.fullmatch(text)


def not_normal(text):
    return unicodedata.normalize("NFC", text) != text


def address(text):
    return "@" in text and text.endswith(".org")


def seen_through(text):
    return text != text.strip() and text.strip() == "vip"


def of_other_case(text):
    return text.lower() == "admin" and not text.islower()


def behind_a_text(text):
    return len(text) == 8 and text[:2] == "QX" and text[2:].isdecimal()


def matches_with_a_blank(text):
    return any(re.fullmatch(r"DE\d{2} ?\d{4}", one) for one in (text,))


@pytest.mark.parametrize(
    "meets",
    [capitals_and_digits, matches, not_normal, address, seen_through, of_other_case,
     behind_a_text, matches_with_a_blank],
)  # fmt: skip
def test_texts_of_a_form_are_among_the_proposals(meets):
    space = ChoiceSpace(st.text(max_size=12))
    choice = space.made([]).choices[0]
    assert any(map(meets, forms_of(constants_of(meets), choice)))


def test_a_form_is_permitted_by_the_choice():
    choice = ExampleChoice("integer", 0, {"min_value": 100, "max_value": 5000})
    found = forms_of((), choice)
    assert {128, 4096, 1000, 1023} <= set(found)
    assert all(100 <= value <= 5000 for value in found)


def a_power(number):
    return number in {3**k for k in range(5, 13)}


def of_nines(number):
    return number > 9 and sum(map(int, str(number))) == 45


@pytest.mark.parametrize("meets", [a_power, of_nines])
def test_whole_numbers_of_a_form_are_among_the_proposals(meets):
    choice = ExampleChoice("integer", 0, {"min_value": 0, "max_value": 10**6})
    assert any(map(meets, forms_of(constants_of(meets), choice)))


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


def on_a_friday(rows):
    return any(day.weekday() == 4 and day.day == 13 and day.month == 10 for day in rows)


def at_christmas(rows):
    return any(day.strftime("%m-%d") == "12-25" for day in rows)


def on_the_last_day_of_a_leap_year(rows):
    return any(day.timetuple().tm_yday == 366 for day in rows)


def on_a_day_whose_month_is_its_number(rows):
    return any(abs((day - date(2001, 9, 9)).days) < 2 for day in rows)


@pytest.mark.parametrize(
    "meets",
    [on_a_friday, at_christmas, on_the_last_day_of_a_leap_year, on_a_day_whose_month_is_its_number],
)
def test_a_day_may_be_named_by_what_it_is_in_week_month_and_year(meets):
    space = ChoiceSpace(st.lists(st.dates(), max_size=2))
    found = runs(Suggestions(constants_of(meets)), space.made([True, 2001, 1, 1, False]))
    assert any(meets(space.made(choices).value) for choices in found)


def of_a_product(rows):
    return len(rows) == 2 and rows[0] * rows[1] == 2021


def with_an_end(rows):
    return rows[-3:] == [5, 5, 9]


@pytest.mark.parametrize(("meets", "size"), [(of_a_product, 2), (with_an_end, 3)])
def test_constants_say_what_adjacent_rows_may_be(meets, size):
    space = ChoiceSpace(st.lists(st.integers(1, 99), max_size=5))
    example = space.made([*[True, 1] * size, False])
    found = runs(Suggestions(constants_of(meets)), example)
    assert any(meets(space.made(choices).value) for choices in found)


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


def marked(data):
    return data[:2] == b"\xff\xfe" and data.endswith(b"\x00")


def all_sevens(data):
    return len(data) == 4 and set(data) == {7}


@pytest.mark.parametrize("meets", [marked, all_sevens])
def test_bytes_of_a_form_are_among_the_proposals(meets):
    choice = ChoiceSpace(st.binary(max_size=12)).made([]).choices[0]
    assert any(map(meets, forms_of(constants_of(meets), choice)))


PRICE, HOST = Decimal("19.99"), ip_address("10.1.2.3")


def at_a_price(rows):
    return PRICE in rows


def at_a_written_price(rows):
    return Decimal("7.25") in rows


def from_a_host(rows):
    return HOST in rows


def from_a_written_host(rows):
    return any(str(row) == "10.1.2.4" for row in rows)


PRICES = st.lists(st.decimals(0, 100, places=2, allow_nan=False), max_size=3)
HOSTS = st.lists(st.ip_addresses(v=4, network="10.0.0.0/8"), max_size=3)
ANY_HOSTS = st.lists(st.ip_addresses(v=4), max_size=3)


@pytest.mark.parametrize(
    ("meets", "rows"),
    [(at_a_price, PRICES), (at_a_written_price, PRICES), (from_a_host, HOSTS),
     (from_a_host, ANY_HOSTS), (from_a_written_host, ANY_HOSTS)],
)  # fmt: skip
def test_what_stands_for_numbers_is_a_constant(meets, rows):
    """A decimal or an address, as an object or as its text, in the choice that makes it."""
    space, suggestions = ChoiceSpace(rows), Suggestions(constants_of(meets))
    example = space.made([True])
    found = [
        space.made([*example.values[:place], value, *example.values[place + 1 :]])
        for place, choice in enumerate(example.choices)
        for value in suggestions.fitting(choice)
    ]
    assert any(meets(made.value) for made in found if made is not None)


def at_a_minute(rows):
    return any(60 * hour + minute == 1000 for hour, minute in rows)


def test_a_number_may_be_two_by_its_quotient_and_remainder():
    space = ChoiceSpace(st.lists(st.tuples(st.integers(0, 23), st.integers(0, 59)), max_size=3))
    found = runs(Suggestions(constants_of(at_a_minute)), space.made([True, 1, 1, False]))
    assert any(at_a_minute(space.made(choices).value) for choices in found)


def in_a_box(rows):
    return any(48.8 < a < 48.9 and 2.2 < b < 2.3 for a, b in rows)


def test_the_limits_of_two_narrow_ranges_are_met_together():
    space = ChoiceSpace(st.lists(st.tuples(st.floats(-90, 90), st.floats(-180, 180)), max_size=3))
    found = conjunctions(
        Suggestions(constants_of(in_a_box)), space, [space.made([True, 1.0, 1.0, False])]
    )
    assert any(in_a_box(space.made(choices).value) for choices in found)


def holds_a_list(rows):
    return [1, 2, 3] in rows


def holds_a_set(rows):
    return frozenset({13, 31}) in rows


@pytest.mark.parametrize(
    ("meets", "rows", "choices"),
    [
        (holds_a_list, st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=3),
         [True, True, 5]),
        (holds_a_set, st.lists(st.frozensets(st.integers(0, 50), max_size=4), max_size=3),
         [True, True, 5]),
    ],
)  # fmt: skip
def test_a_collection_inside_a_row_is_one_of_the_code(meets, rows, choices):
    space = ChoiceSpace(rows)
    example = space.made(choices)
    assert example.inner is not None
    found = inner(Suggestions(constants_of(meets)), [example])
    assert any(meets(space.made(one).value) for one in found)


def test_a_flat_list_has_no_collection_inside():
    space = ChoiceSpace(st.lists(st.integers(), max_size=3))
    assert space.made([True, 5, True, 6, False]).inner is None
    assert not list(inner(Suggestions((1, 2)), [space.made([True, 5, False])]))


@pytest.mark.parametrize("times", [2, 3])
def test_what_no_number_is_comes_several_times(times):
    space = ChoiceSpace(st.lists(st.floats(), max_size=9))
    found = [space.made(one).value for one in repeated(Suggestions(()), [space.made([True, 0.5])])]
    assert any(len(rows) == times and all(map(math.isnan, rows)) for rows in found)
