"""The pages of docs/findings as experiments: each can be run, and says what a maintainer asks."""

import pytest

from docs.findings.__main__ import COMMAND, HERE, names, read, run_again, verdict

SAID = ("| Claim |", "| Neighbours |", "| Upstream |", "| Earlier reports |",
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
    (tmp_path / "page.md").write_text("```console\n$ exit 3\n```\n")
    (told,) = run_again("page")
    assert "exit 3" in told


def test_a_command_goes_on_after_a_backslash_and_ends_before_what_it_printed():
    assert COMMAND.findall("$ a \\\n  b\nRefuted: 1\nmore\n$ c\n") == [
        ("a \\\n  b", "Refuted: 1\nmore\n"), ("c", ""),
    ]  # fmt: skip
