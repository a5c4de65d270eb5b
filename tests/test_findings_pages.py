"""The pages of docs/findings as experiments: each can be run, and says what a maintainer asks."""

import pytest

from docs.findings.__main__ import COMMAND, HERE, LOST, MARK, names, read, run_again, verdict, write

SAID = ("| Claim |", "| Its address |", "| Neighbours |", "| Upstream |", "| Earlier reports |",
        "**Cause.**", "**Mend", "**Who uses it meanwhile**", "no violation**")  # fmt: skip


@pytest.mark.parametrize("name", names())
def test_a_page_has_its_files_its_commands_and_what_a_maintainer_asks(name):
    text = (HERE / f"{name}.md").read_text(encoding="utf-8")
    page = read(name)
    assert [part for part in SAID if part not in text] == []
    assert f"]({name}.md)" in (HERE / "index.md").read_text(encoding="utf-8")
    audits = [(line, told) for line, told in page.commands if line.startswith("dpwitness ")]
    assert all(verdict(told) for _, told in audits)
    assert "Refuted" in [verdict(told) for _, told in audits]
    for line, _ in audits:
        assert "--seed 0" in line
        assert any(file in line for file in page.files)


def test_a_page_that_does_not_say_what_comes_is_told(tmp_path, monkeypatch):
    text = "`a.py`:\n\n```python\nprint('Refuted: x')\n```\n\n```console\n$ python3 \\\n    a.py\n"
    monkeypatch.setattr("docs.findings.__main__.HERE", tmp_path)
    for told, wrong in (("Refuted: x, at least 2", 0), ("Not refuted: y", 1), ("", 1)):
        (tmp_path / "page.md").write_text(f"{text}{told}\n```\n")
        assert len(run_again("page")) == wrong


def test_a_page_whose_environment_cannot_be_made_says_so_and_is_not_judged(tmp_path, monkeypatch):
    monkeypatch.setattr("docs.findings.__main__.HERE", tmp_path)
    text = "```console\n$ echo no such release >&2; exit 3\n$ dpwitness audit x\nRefuted: y\n```\n"
    (tmp_path / "page.md").write_text(text)
    (told,) = run_again("page")
    assert LOST in told
    assert "no such release" in told


def test_the_table_keeps_the_rows_of_pages_that_were_not_run(tmp_path, monkeypatch):
    monkeypatch.setattr("docs.findings.__main__.HERE", tmp_path)
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.md").write_text("```console\n$ true\n```\n")
    (tmp_path / "index.md").write_text(f"# Pages\n\n{MARK}\n")
    write({"c": "| c | 1 |"})
    write({"a": "| a | 2 |"})
    write({"c": "| c | 3 |", "gone": "| gone | 3 |"})
    head, rows = (tmp_path / "index.md").read_text().split(MARK)
    assert head == "# Pages\n\n"
    assert rows.splitlines()[4:] == ["| a | 2 |", "| c | 3 |"]


def test_a_command_goes_on_after_a_backslash_and_ends_before_what_it_printed():
    assert COMMAND.findall("$ a \\\n  b\nRefuted: 1\nmore\n$ c\n") == [
        ("a \\\n  b", "Refuted: 1\nmore\n"), ("c", ""),
    ]  # fmt: skip
