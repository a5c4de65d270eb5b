"""docs/architecture.md says what is there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MOST_STEPS = 12


def test_every_room_has_its_sentence_and_no_other_is_named():
    rooms = {
        path.parent.relative_to(ROOT).as_posix()
        for floor in ("mechanisms", "auditors", "reports")
        for path in (ROOT / floor).glob("*/**/__init__.py")
    }
    figures = r" [\d,]+ \| [\d,]+ \| [\d,]+ \|"
    told = re.findall(
        rf"^\| `((?:mechanisms|auditors|reports)/[\w/]+)` \|{figures} (.+) \|$", PAGE, re.M
    )
    assert len(told) == len(rooms)
    assert {room for room, _ in told} == rooms
    assert all(len(sentence) > 10 for _, sentence in told)


def test_the_way_of_an_audit_is_short_and_names_files_that_exist():
    way = PAGE.partition("## The way of an audit")[2].partition("## ")[0]
    steps = re.findall(r"^(\d+)\. ", way, re.M)
    assert steps == [str(number) for number in range(1, len(steps) + 1)]
    assert len(steps) <= MOST_STEPS
    for name in re.findall(
        r"`((?:mechanisms|auditors|reports)/[\w/.]+)`", PAGE.replace("as_NAME", "table")
    ):
        assert (ROOT / name).exists(), name


def test_the_glossary_defines_the_words_of_the_field():
    glossary = PAGE.partition("## Glossary")[2]
    for word in ("false alarm", "null hypothesis", "statistical power", "hockey-stick divergence",
                 "trials", "draws", "alpha", "share", "level", "witness"):  # fmt: skip
        assert f"| {word} |" in glossary


def test_what_is_to_be_changed_is_where_the_page_says():
    """Each function, class or constant that a row names stands in one of its files."""
    rows = PAGE.partition("## Where to change something")[2].partition("## ")[0].splitlines()
    rows = [row for row in rows if row.startswith("| another")]
    assert len(rows) == 6
    for row in rows:
        files = re.findall(r"`([\w/]+\.(?:py|html))`", row)
        code = "".join((ROOT / name).read_text("utf-8") for name in files)
        for name in re.findall(r"`(\w+)`", row):
            made = rf"^ *(?:def|class) {name}\b|^{name}(?:: .*)? = "
            assert re.search(made, code, re.M), name
