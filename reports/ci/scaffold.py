"""`dpwitness init`: a table of settings, a first test and pipelines for a mechanism.

What nobody has said yet is written as "?" in the settings and as `...` in the test. Neither is
green then: an audit of databases that nobody has chosen would say nothing of the mechanism.
"""

import json
import keyword
import re
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path

from ...auditors.asked import RELATIONS
from ..settings.settings import SettingsError, find_table
from .gate import OPEN

HEAD = """
[tool.dpwitness]
alpha = 1e-3        # chance that anything sound fails a run
profile = "ci"
"""

CONFTEST = '''"""Here, so that pytest finds the modules of this folder."""
'''

INSTALL = "{dpwitness}    # and what your mechanism imports"
NOWHERE = (
    'echo "dpwitness is in no package index: put here pip install and where you have it from" && '
    "exit 2"
)

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
      - run: |
          INSTALL
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
    - |
      INSTALL
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What is known of a target: what it promises, and on which databases that is tested.

    None is what nobody has said. A mechanism that carries claims and databases of its `own` needs
    none of it; one that is `marked` with them is a test already. `pair` are two JSON texts,
    `offered` databases that stand beside the target.
    """

    epsilon: float | None = None
    delta: float | None = None
    relation: str | None = None
    databases: str | None = None
    pair: tuple[str, str] | None = None
    own: bool = False
    marked: bool = False
    offered: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """What is still to be said."""
        chosen = self.databases or self.pair
        known = {"databases": chosen, "epsilon": self.epsilon, "relation": self.relation}
        return () if self.own else tuple(key for key, value in known.items() if value is None)


def pipelines(services: Sequence[str], root: Path) -> list[tuple[Path, str]]:
    """(file, its text) of every service that has no such file yet; nothing is overwritten."""
    wanted = [(root / PIPELINES[name][0], PIPELINES[name][1]) for name in services]
    found = origin()
    install = INSTALL.format(dpwitness=f'pip install "{found}"') if found else NOWHERE
    return [(path, text.replace("INSTALL", install)) for path, text in wanted if not path.exists()]


def origin() -> str:
    """What pip installs this dpwitness from elsewhere; "" if only this machine has it."""
    try:
        found = metadata.distribution("dpwitness")
    except metadata.PackageNotFoundError:
        return ""
    text = found.read_text("direct_url.json")
    if text is None:
        return f"dpwitness=={found.version}"  # pip had it from an index
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        direct = json.loads(text)
        url, commit = str(direct["url"]), direct.get("vcs_info", {}).get("commit_id", "")
        if url.startswith("file://"):
            url, commit = _remote(url.removeprefix("file://")), ""
        address = _address(url)
        return f"dpwitness @ git+{address}" + (f"@{commit}" if commit else "") if address else ""
    return ""


def _remote(folder: str) -> str:
    """Where the clone in a folder comes from."""
    with suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(
            ["git", "-C", folder, "config", "--get", "remote.origin.url"],
            capture_output=True, text=True, check=True, timeout=10,
        ).stdout.strip()  # fmt: skip
    return ""


def _address(url: str) -> str:
    """The address as every machine can read it; "" for a place on this machine."""
    if found := re.fullmatch(r"git@([\w.-]+):([\w./~-]+)", url):
        return f"https://{found[1]}/{found[2]}"
    # A password or token in an address is not for a file that is committed.
    return url if re.fullmatch(r"(https|ssh)://([\w-]+@)?[\w.:-]+/[\w./~-]+", url) else ""


def scaffold(target: str, root: Path, promise: Promise) -> list[tuple[Path, str]]:
    """(file, its new text) for everything that is still to be written; nothing is overwritten.

    `target` is package.module:function or path/to/file.py:function. A target that is listed
    already is not listed again, so that a second call has nothing to write. The `conftest.py`
    puts the project's root on pytest's path, where plain `pytest` would not look. Raises
    SettingsError where a file cannot be added to or written.
    """
    test = () if promise.marked else _test(target, root, promise)
    files = [*_settings(target, root, promise), *test]
    for path, _ in files:
        require_place(path, root)
    return files


def require_place(path: Path, root: Path) -> None:
    """SettingsError if a file is no place to write to: nothing may be written then."""
    for one in (path, *path.parents):
        if one == root:
            return
        name = one.relative_to(root)
        if one.is_symlink() and not one.exists():
            raise SettingsError(f"{name} is a link that leads nowhere; remove it; nothing was done")
        if one != path and one.exists() and not one.is_dir():
            raise SettingsError(
                f"{name} is a file, and a folder of that name is needed for "
                f"{path.relative_to(root)}; rename it; nothing was done"
            )


def _settings(target: str, root: Path, promise: Promise) -> Iterator[tuple[Path, str]]:
    table, where = find_table(root)
    listed = table.get("gate", [])
    known = [entry.get("target") for entry in listed if isinstance(entry, dict)]
    if target in known or (promise.marked and target.rpartition(":")[0] in known):
        return
    text = ("" if table else HEAD) + "\n" + _entry(target, promise)
    path = root / where
    # As it stands, with the ends of its lines.
    old = path.read_bytes().decode("utf-8") if path.is_file() else ""
    if where == "dpwitness.toml":
        text = text.replace("tool.dpwitness.", "").replace("[tool.dpwitness]\n", "")
    new = old.rstrip("\r\n") + "\n" + text if old else text.lstrip()
    if "\r\n" in old:
        new = old.rstrip("\r\n") + "\r\n" + text.replace("\n", "\r\n")
    try:
        tomllib.loads(new)
    except tomllib.TOMLDecodeError:
        raise SettingsError(
            f"{where} writes a table in one line ({{...}} or [...]), to which nothing can be "
            f"appended; write gate as tables under [[tool.dpwitness.gate]], or add there the "
            f"target {target!r} yourself; nothing was done"
        ) from None
    yield path, new


def _entry(target: str, promise: Promise) -> str:
    lines = ["[[tool.dpwitness.gate]]", f"target = {_quoted(target)}"]
    if not promise.own:
        said = promise.epsilon is not None
        lines.append(
            f"epsilon = {promise.epsilon!r}" if said
            else f"epsilon = {OPEN}              # say which: what it promises, in nats"
        )  # fmt: skip
        lines += [f"delta = {promise.delta!r}"] if promise.delta is not None else []
        lines.append(
            f"relation = {_quoted(promise.relation)}" if promise.relation
            else f"relation = {OPEN}             # say which: {_relations()}"
        )  # fmt: skip
        if promise.pair:
            lines.append(f"pair = [{', '.join(map(_quoted, promise.pair))}]")
        elif promise.databases:
            lines.append(f"databases = {_quoted(promise.databases)}")
        else:
            lines.append(f"databases = {OPEN}            # say which: {_choices(promise)}")
    return "\n".join(lines) + "\n"


def _relations() -> str:
    return " or ".join(map(_quoted, RELATIONS))


def _choices(promise: Promise) -> str:
    offered = " or ".join(_quoted(one).replace("\n", " ") for one in promise.offered)
    return offered or 'a strategy, "file.py:NAME", or pair = ["[]", "[1]"]'


def _test(target: str, root: Path, promise: Promise) -> Iterator[tuple[Path, str]]:
    name = target.rpartition(":")[2]
    label = re.sub(r"\W", "_", name)
    path = root / "tests" / f"test_{label}_privacy.py"
    if path.exists():
        return
    imports: dict[str, set[str]] = {}

    def expression(text: str) -> str:
        """What the test writes for a target or databases: a name, or the text that names it."""
        where, _, attribute = text.rpartition(":")
        module = _module(where, root)
        if not module or not all(map(_is_name, attribute.split("."))):
            return _quoted(text)
        imports.setdefault(module, set()).add(attribute.split(".")[0])
        return attribute

    words = [expression(target)]
    if not promise.own:
        words.append(f"epsilon={'...' if promise.epsilon is None else repr(promise.epsilon)}")
        words += [f"delta={promise.delta!r}"] if promise.delta is not None else []
        words.append(f"relation={json.dumps(promise.relation) if promise.relation else '...'}")
        if promise.pair:
            words.append(f"pair=({', '.join(repr(json.loads(side)) for side in promise.pair)})")
        else:
            words.append(
                "databases=" + (expression(promise.databases) if promise.databases else "...")
            )
    hints = {
        "epsilon=...": "say which: what it promises, in nats",
        "relation=...": f"say which: {_relations()}",
        "databases=...": f"say which: {_choices(promise)}",
    }
    call = f"    dp_audit({', '.join(words)})\n"
    if promise.missing or len(call) > 88:
        lines = (
            f"        {word},{f'  # {hints[word]}' if word in hints else ''}" for word in words
        )
        call = "    dp_audit(\n" + "\n".join(lines) + "\n    )\n"
    head = "".join(
        f"from {module} import {', '.join(sorted(names))}\n"
        for module, names in sorted(imports.items())
    )
    yield (
        path,
        '"""The mechanism keeps what it promises."""\n\n'
        + (f"{head}\n\n" if head else "\n")
        + f"def test_{label}_keeps_its_claim(dp_audit):\n{call}",
    )
    if imports and not (root / "conftest.py").exists():
        yield root / "conftest.py", CONFTEST


def _module(place: str, root: Path) -> str:
    """The name that a test imports a module or file by; "" if it can be named by its path only."""
    parts = place.removesuffix(".py").replace("\\", "/").removeprefix("./").split("/")
    names = ".".join(parts).split(".")
    if not all(map(_is_name, names)) or names[0] in {*sys.stdlib_module_names, "conftest"}:
        return ""
    # An installed module of the name would be imported instead.
    if place.endswith(".py") and PathFinder.find_spec(names[0], [sysconfig.get_path("purelib")]):
        return ""
    return ".".join(names)


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)


def _quoted(text: str) -> str:
    # A text of JSON is one of TOML, but for one character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
