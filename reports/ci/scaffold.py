"""`dpwitness init`: a table of settings and a first test for a mechanism."""

from collections.abc import Sequence
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


GITHUB = """name: privacy
on: [push, pull_request]
permissions:
  contents: read
jobs:
  gate:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {python-version: "3.11"}
      - run: pip install dpwitness    # and what your mechanism imports
      - run: dpwitness gate --github --html privacy.html --json privacy.json
      - id: page
        if: always()
        uses: actions/upload-artifact@v4
        with: {name: privacy, path: "privacy.*", if-no-files-found: ignore}
      - if: failure() && steps.page.outputs.artifact-url != ''
        env: {PAGE: "${{ steps.page.outputs.artifact-url }}"}
        run: |
          echo "::error title=dpwitness::The whole report is in $PAGE"
          echo "[The whole report]($PAGE)" >> "$GITHUB_STEP_SUMMARY"
"""

GITLAB = """privacy:
  image: python:3.11
  script:
    - pip install dpwitness    # and what your mechanism imports
    - dpwitness gate --junit privacy.xml --html privacy.html --json privacy.json
  artifacts:
    when: always
    expose_as: privacy report
    reports:
      junit: privacy.xml
    paths: [privacy.html, privacy.json]
"""

PIPELINES = {
    "github": (".github/workflows/privacy.yml", GITHUB),
    "gitlab": (".gitlab-ci.yml", GITLAB),
}
"""Where a service looks for what it runs. A red run leads to the page it uploads."""


def pipelines(services: Sequence[str], root: Path) -> list[tuple[Path, str]]:
    """(file, its text) of every service that has no such file yet; nothing is overwritten."""
    wanted = [(root / PIPELINES[name][0], PIPELINES[name][1]) for name in services]
    return [(path, text) for path, text in wanted if not path.exists()]


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
