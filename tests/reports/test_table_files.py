"""Tables in files become what the mechanism is given, and their mistakes get one sentence."""

import pandas as pd
import pytest

from dpwitness import InvalidArgument
from dpwitness.reports.targets.targets import find_databases

TEXT = "age,pay,city,well\n30,1.5,Oslo,true\n,2,Rome,FALSE\n41,3,,true\n"
ROWS = [
    {"age": 30, "pay": 1.5, "city": "Oslo", "well": True},
    {"age": None, "pay": 2.0, "city": "Rome", "well": False},
    {"age": 41, "pay": 3.0, "city": None, "well": True},
]


def written(folder, text, name="people.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_csv_file_is_a_list_of_dicts(tmp_path):
    assert find_databases(written(tmp_path, TEXT)).rows == ROWS
    assert find_databases(written(tmp_path, "\ufeff" + TEXT)).rows == ROWS


@pytest.mark.parametrize("separator", [";", "\t", "|"])
@pytest.mark.parametrize("form", ["", ":pandas"])
def test_columns_are_separated_by_what_the_first_line_has_most_of(tmp_path, separator, form):
    text = TEXT.replace(",", separator).replace("age", '"age, in, full, years"')
    rows = find_databases(written(tmp_path, text) + form).rows
    names = list(rows.columns) if form else list(rows[0])
    assert names == ["age, in, full, years", "pay", "city", "well"]
    assert len(rows) == 3


def test_other_forms(tmp_path):
    place = written(tmp_path, TEXT)
    assert find_databases(f"{place}:rows").rows == [list(row.values()) for row in ROWS]
    assert find_databases(f"{place}:columns").rows["age"] == [30, None, 41]
    assert isinstance(find_databases(f"{place}:pandas").rows, pd.DataFrame)
    numbers = written(tmp_path, "n\n1\n2\n", "numbers.csv")
    assert find_databases(f"{numbers}:values").rows == [1, 2]


@pytest.mark.parametrize(
    ("text", "form", "words"),
    [
        (TEXT, ":frames", "and not as 'frames'"),
        (TEXT, ":values", "4 columns, and the form values is for one"),
        ("a,b\n1,2\n3\n", "", "row 3 of .* has 1 entries, and the first line names 2"),
        ("a,a\n1,2\n", "", "two columns of one name"),
        ("a\n1\n", "", "at least 2 records"),
        ("", "", "has no rows"),
        ("a\n1\n2\n", ".missing.csv", "there is no file"),
    ],
)
def test_mistakes_get_one_sentence(tmp_path, text, form, words):
    with pytest.raises(InvalidArgument, match=words):
        find_databases(written(tmp_path, text) + form)


@pytest.mark.parametrize("form", ["", ":pandas"])
def test_a_file_that_is_not_utf_8_says_what_to_do(tmp_path, form):
    path = tmp_path / "people.csv"
    path.write_bytes("name,age\nJos\u00e9,33\nAna,3\n".encode("latin-1"))
    with pytest.raises(InvalidArgument, match="no text in UTF-8; save it as UTF-8"):
        find_databases(f"{path}{form}")


def test_what_is_no_table_is_refused(tmp_path):
    path = tmp_path / "people.parquet"
    path.write_bytes(b"no parquet")
    with pytest.raises(InvalidArgument, match=r"cannot be read by|needs the package"):
        find_databases(str(path))


@pytest.mark.parametrize(
    ("column", "read"),
    [
        (["0012", "0345"], ["0012", "0345"]),
        (["1_000", "2"], ["1_000", "2"]),
        (["0", "-7", "+12"], [0, -7, 12]),
        ([".5", "1e3", "007.5"], [".5", "1e3", "007.5"]),
        ([".5", "1e3", "-0.25"], [0.5, 1000.0, -0.25]),
        (["nan", "1"], None),
    ],
)
def test_codes_stay_as_they_are_written(tmp_path, column, read):
    rows = find_databases(written(tmp_path, "\n".join(["x", *column]) + "\n")).rows
    found = [row["x"] for row in rows]
    assert found == read if read else (found[0] != found[0] and found[1] == 1)
