"""The table of rooms counts what is there, and `--write` leaves its sentences as they are."""

from importlib import util
from pathlib import Path

import pytest

PLACE = Path(__file__).parents[2] / "benchmarks" / "rooms.py"
SPEC = util.spec_from_file_location("rooms", PLACE)
ROOMS = util.module_from_spec(SPEC)
SPEC.loader.exec_module(ROOMS)


def house(root):
    """Two floors: auditors.a has three modules in a row, reports.b imports two of them."""
    files = {
        "auditors/__init__.py": "",
        "auditors/a/__init__.py": "from .two import x\n",
        "auditors/a/one.py": "x = 1\n",
        "auditors/a/two.py": "def f():\n    from .one import x\n",
        "reports/b/__init__.py": "import auditors\nfrom ...auditors.a import one\n",
        "reports/b/other.py": "from ...auditors.a.two import f\nfrom . import other\n",
        "mechanisms/__init__.py": "",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_lines_files_importers_and_chains_are_counted(tmp_path):
    house(tmp_path)
    rooms, arrows = ROOMS.read(tmp_path)
    told = {name: (room.lines, room.files, room.importers) for name, room in rooms.items()}
    assert told["auditors.a"] == (4, 3, {"reports.b"})
    assert told["reports.b"] == (4, 2, set())
    assert ROOMS.longest(arrows, "auditors") == ("auditors.a", "auditors.a.two", "auditors.a.one")


def test_figures_are_put_into_the_rows_and_nothing_else_changes(tmp_path):
    house(tmp_path)
    rooms, _ = ROOMS.read(tmp_path)
    before = "1 lines in 1 files and 1 rooms.\n| `auditors/a` | 9 | 9 | 9 | what `a` | is |\nrest\n"
    after = ROOMS.page(rooms, before, "7 lines.")
    assert after == "7 lines.\n| `auditors/a` | 4 | 3 | 1 | what `a` | is |\nrest\n"


@pytest.mark.long
def test_every_room_of_the_page_is_one_that_is_counted():
    rooms, _ = ROOMS.read()
    rows = [
        row[1] for line in ROOMS.PAGE.read_text().splitlines() if (row := ROOMS.ROW.match(line))
    ]
    assert len(rows) > 40
    assert {name.replace("/", ".") for name in rows} <= rooms.keys()
