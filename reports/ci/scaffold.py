"""`dpwitness init`: a table of settings and a first test for a mechanism."""

from pathlib import Path

from .settings import find_table

TABLE = """
[tool.dpwitness]
alpha = 1e-3        # chance that anything sound fails a run
profile = "ci"

[[tool.dpwitness.gate]]
target = {target}
epsilon = 1.0                # what the mechanism promises, in nats
relation = "add-remove"      # or "replace-one"
pair = ["[]", "[1]"]         # two neighbouring databases as JSON; or databases = "file.py:NAME"
"""

CONFTEST = '''"""Here, so that pytest finds the modules of this folder."""
'''

TEST = '''"""The mechanism keeps what it promises."""

{imports}

def test_{name}_keeps_its_claim(dp_audit):
    dp_audit({name}, epsilon=1.0, relation="add-remove", pair=([], [1]))
'''


def scaffold(target: str, root: Path) -> list[tuple[Path, str]]:
    """(file, its new text) for everything that is still to be written; nothing is overwritten.

    `target` is package.module:function or path/to/file.py:function. A target that is listed
    already is not listed again, so that a second call has nothing to write. The `conftest.py`
    puts the project's root on pytest's path, where plain `pytest` would not look.
    """
    place, _, name = target.rpartition(":")
    table, where = find_table(root)
    files: list[tuple[Path, str]] = []
    text = TABLE.format(target=_quoted(target))
    path = root / where
    old = path.read_text(encoding="utf-8") if path.is_file() else ""
    if where == "dpwitness.toml":
        text = text.replace("tool.dpwitness.", "").replace("[tool.dpwitness]\n", "")
    if table:
        start = text.index("[[")
        text = "\n" + text[start:]
    listed = table.get("gate", [])
    known = [entry.get("target") for entry in listed if isinstance(entry, dict)]
    if target not in known:
        before = old.rstrip("\n") + "\n" if old else ""
        files.append((path, before + (text if old else text.lstrip())))
    module = place.removesuffix(".py").replace("\\", "/").strip("/").replace("/", ".")
    test = root / "tests" / f"test_{name}_privacy.py"
    if not test.exists():
        imports = f"from {module} import {name}\n"
        files.append((test, TEST.format(imports=imports, name=name)))
        if not (root / "conftest.py").exists():
            files.append((root / "conftest.py", CONFTEST))
    return files


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
