import errno
import os
import stat
import sys
from types import SimpleNamespace

import pytest

from dpwitness.auditors.errors import EvidenceFormatError, InvalidArgument
from dpwitness.reports.formats import table
from dpwitness.reports.formats.told import Told
from dpwitness.reports.writing import files


def test_writes_the_text_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "a.json"
    files.write_atomically(str(path), "é\ud800")
    assert path.read_text(encoding="utf-8") == "é\\ud800"
    assert os.listdir(tmp_path) == ["a.json"]


def test_replaces_a_file_and_keeps_its_permissions(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("old")
    path.chmod(0o640)
    files.write_atomically(str(path), "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    files.write_atomically(str(tmp_path / "link.json"), "new")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_text() == "new"


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_a_failure_half_way_leaves_the_old_file(tmp_path, monkeypatch, error):
    path = tmp_path / "a.json"
    path.write_text("old")
    write = os.write

    def breaks_off(handle, data):
        write(handle, bytes(data[:2]))
        raise error

    monkeypatch.setattr(os, "write", breaks_off)
    with pytest.raises(type(error)):
        files.write_atomically(str(path), "new and longer")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.json"]


def test_a_device_is_written_to_and_not_replaced():
    files.write_atomically(os.devnull, "text")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@pytest.mark.parametrize("name", ["none/such/a.json", ".", "\0", "x" * 300])
def test_a_place_that_cannot_be_written_is_named(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgument, match="cannot write"):
        files.require_writable(name, (".json",), ("ours",))


def test_a_place_that_can_be_written_is_left_as_it_was(tmp_path):
    files.require_writable(str(tmp_path / "a.json"), (".json",), ("ours",))
    assert os.listdir(tmp_path) == []


TOLD = Told(
    command="judge", cases=(), reasons=(), closing="", document={"dpwitness": "0"}, text="bare",
    page=lambda: "<h1>dpwitness</h1>",
)  # fmt: skip
NEW = table.Format("tap", "what a test harness reads", ".tap", "# dpwitness", others=(".t",))


@pytest.mark.parametrize("made", [*table.FORMATS, NEW], ids=lambda one: one.name)
def test_a_format_of_the_table_is_written_over_its_own_files_and_over_no_other(
    made, tmp_path, monkeypatch
):
    """A row of the table is all that it takes, whatever `render` writes."""
    monkeypatch.setattr(table, "FORMATS", (*table.FORMATS, NEW))
    bare = SimpleNamespace(render=lambda told: f"ok 1 {told.text}")
    monkeypatch.setitem(sys.modules, f"{table.__package__}.as_tap", bare)
    for ending in made.endings:
        path = tmp_path / f"a{ending}"
        for _ in range(2):
            table.require_places({made.name: str(path)})
            files.write_atomically(str(path), made.render(TOLD))
        path.write_text("1\n2\n")
        with pytest.raises(InvalidArgument, match="was not written as this kind of file"):
            table.require_places({made.name: str(path)})
    code = tmp_path / "release.py"
    code.write_text(made.render(TOLD))
    with pytest.raises(InvalidArgument, match="was not written as this kind of file"):
        table.require_places({made.name: str(code)})


def test_reading_stops_at_the_limit(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b"x" * 11)
    assert files.read_limited(str(path), 11) == "x" * 11
    with pytest.raises(EvidenceFormatError, match="larger"):
        files.read_limited(str(path), 10)


@pytest.mark.parametrize("name", ["none.json", ".", "\0"])
def test_reading_what_is_not_there(name):
    with pytest.raises(EvidenceFormatError, match="cannot read"):
        files.read_limited(name, 10)


def test_a_kept_result_can_be_read_back():
    path = files.keep_elsewhere("kept", ".json")
    try:
        assert files.read_limited(path, 10) == "kept"
    finally:
        os.unlink(path)
